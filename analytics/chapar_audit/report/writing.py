"""Writing the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit import drawing, page
from chapar_audit.report.plots import PLOTS
from chapar_audit.report.summaries import gathered
from chapar_audit.verdict import State, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from chapar_audit.recorded import Recorded
    from chapar_audit.report.summaries import Rows
    from chapar_audit.verdict import Finding

WORLDS: Final = {"sim": "simulated radio", "lab": "real daemons, emulated radio", "daemon": "real daemons and radio"}
NOT_IN_ALL: Final = {
    "traffic.event_cost": "events are costed one by one where they follow the mesh's own routes",
    "timeliness.waiting": "no waits of clients that come and go could be told",
    "break-even.alternatives": "there was nothing that could have been routed otherwise",
}
"""Tables that some runs cannot have, and why."""


class Listing(NamedTuple):
    """A table below the plots."""

    title: str
    needs: str
    rows: str
    columns: Sequence[tuple[str, str]]
    """Name of the column and its heading."""


LISTINGS: Final = (
    Listing("Latency in numbers", "delivery.latency", "latency",
            (("delivery", "class"), ("via", "via"), ("count", "deliveries"), ("p50_us", "p50 µs"), ("p95_us", "p95 µs"),
             ("p99_us", "p99 µs"), ("max_us", "longest µs"))),
    Listing("Why events were not delivered", "delivery.undelivered", "reasons",
            (("reason", "reason"), ("count", "deliveries"))),
    Listing("What daemons said and what the medium saw", "truth.told_and_seen", "told",
            (("kind", "kind"), ("told_frames", "frames said"), ("seen_frames", "frames seen"),
             ("told_bytes", "bytes said"), ("seen_bytes", "bytes seen"))),
)  # fmt: skip


def write(path: Path, recorded: Recorded, findings: Sequence[Finding], tables: Mapping[str, DataFrame]) -> None:
    """Write the report of an audit. Tables are named after their job, like `traffic.by_class`. Raises OSError."""
    path.write_text(text(recorded, findings, gathered(recorded, tables), frozenset(tables)), encoding="utf-8")


def text(recorded: Recorded, findings: Sequence[Finding], rows: Mapping[str, Rows], tables: frozenset[str]) -> str:
    """The whole page."""
    title = f"Audit of {recorded.run}"
    body = [page.heading(1, title), page.paragraph(_lead(findings), "lead"), page.overall(state_of(findings))]
    body += [
        page.heading(2, "Verdict"),
        page.verdict(findings),
        page.heading(2, "The run"),
        page.facts(_facts(recorded)),
    ]
    body += [page.paragraph(complaint, "error") for complaint in recorded.complaints]
    body.append(page.heading(2, "What happened"))
    for place, kind in enumerate(PLOTS):
        body.append(page.heading(3, kind.title))
        if kind.needs not in tables:
            body.append(page.paragraph(_why_not(kind.needs), "missing"))
        elif (plot := kind.draw({"links": [], **rows})) is None:
            body.append(page.paragraph("Not drawn: there was none of it in this run.", "missing"))
        else:
            body.append(page.figure(drawing.svg(plot.canvas, f"plot{place}"), plot.caption))
    for listing in LISTINGS:
        body.append(page.heading(3, listing.title))
        if listing.needs not in tables:
            body.append(page.paragraph(_why_not(listing.needs), "missing"))
        elif not rows[listing.rows]:
            body.append(page.paragraph("None.", "missing"))
        else:
            body.append(_listed(listing, rows[listing.rows]))
    return page.page(title, body)


def _lead(findings: Sequence[Finding]) -> str:
    count = {state: sum(finding.state is state for finding in findings) for state in State}
    deviating = f"{count[State.DEVIATES]} deviate" if count[State.DEVIATES] != 1 else "1 deviates"
    unsure = f"{count[State.OPEN]} {'is' if count[State.OPEN] == 1 else 'are'} open"
    return f"{len(findings)} checks of what was recorded: {count[State.HOLDS]} hold, {deviating}, {unsure}."


def _facts(recorded: Recorded) -> list[tuple[str, str]]:
    algorithms = sorted({str(each["routing"].get("algorithm", "")) for each in recorded.settings.values()} - {""})
    mode = recorded.mode if recorded.mode == "chapar" else f"{recorded.mode} ({', '.join(algorithms)})"
    pairs = [
        ("run", recorded.run),
        ("world", WORLDS.get(recorded.world, recorded.world)),
        ("routing", mode),
        ("nodes", str(len(recorded.settings))),
        ("rows recorded", page.shown(recorded.rows)),
    ]
    return [*pairs, ("not recorded", ", ".join(sorted(recorded.missing)))] if recorded.missing else pairs


def _why_not(table: str) -> str:
    return f"Not drawn: {NOT_IN_ALL.get(table, f'the audit gave no table {table}')}."


def _listed(listing: Listing, rows: Rows) -> str:
    names = [name for name, _ in listing.columns]
    cells = sorted(([row[name] for name in names] for row in rows), key=lambda row: str(row[0]))
    return page.table([heading for _, heading in listing.columns], cells)
