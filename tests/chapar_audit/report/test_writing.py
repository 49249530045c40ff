"""The report as a whole."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from chapar_audit.recorded import Recorded
from chapar_audit.report.plots import PLOTS
from chapar_audit.report.writing import LISTINGS, text
from chapar_audit.verdict import Finding, State, compared

if TYPE_CHECKING:
    from chapar_audit.report.summaries import Rows

ALL = frozenset(each.needs for each in (*PLOTS, *LISTINGS))
NASTY = "<script>alert('$x$')</script>"


def recorded(mode: str = "chapar", run: str = "demo") -> Recorded:
    settings = {node: {"routing": {"algorithm": "identity"}} for node in range(1, 10)}
    return Recorded(run=run, world="lab", mode=mode, settings=settings, tables={}, missing=frozenset({"air"}),
                    complaints=(f"clocks disagree {run}",))  # fmt: skip


FINDINGS = [
    compared("truth", "beacons", 9, 9, within=0),
    compared("delivery", "delivered", 8, 9, within=0, reason="a broker was killed"),
    Finding("timeliness", "c9", State.OPEN, reason="fewer than 30 events"),
]


class Reader(HTMLParser):
    """Checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[str] = []

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.met.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attrs: object) -> None:
        self.met.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_full_report_shows_everything(rows: dict[str, Rows]) -> None:
    """Every plot and listing, the verdict before all; it is well formed, loads nothing, runs nothing."""
    page = text(recorded(), FINDINGS, rows, ALL)
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert reader.met.count("svg") == len(PLOTS)
    assert "Not drawn" not in page
    assert not re.search(r"https?:|<script|<link|@import|src=", page)
    assert page.index("Verdict") < page.index("The run") < page.index("<svg")
    assert "3 checks of what was recorded: 1 hold, 1 deviates, 1 is open." in page
    assert "✗ deviates" in page
    assert len(page) < 250_000


@pytest.mark.parametrize("lacking", sorted(ALL))
def test_what_is_lacking_is_said(lacking: str, rows: dict[str, Rows]) -> None:
    """A missing table leaves its plots out, and says so."""
    page = text(recorded("tree" if lacking == "traffic.event_cost" else "chapar"), FINDINGS, rows, ALL - {lacking})
    assert page.count("<svg") == len(PLOTS) - sum(kind.needs == lacking for kind in PLOTS)
    assert "Not drawn: " in page


def test_what_did_not_happen_is_said(rows: dict[str, Rows]) -> None:
    """Empty tables give sentences."""
    page = text(recorded(), [], {name: [] for name in rows}, ALL)
    assert page.count("there was none of it in this run") == len(PLOTS)
    assert page.count(">None.<") == len(LISTINGS)


def test_names_are_shown_and_not_run(rows: dict[str, Rows]) -> None:
    """Of runs, kinds, classes, algorithms, reasons, wherever they come from."""
    for each in rows.values():
        for row in each:
            row.update({name: NASTY for name, value in row.items() if isinstance(value, str)})
    page = text(recorded(run=NASTY), [Finding(NASTY, NASTY, State.OPEN, reason=NASTY)], rows, ALL)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 12
