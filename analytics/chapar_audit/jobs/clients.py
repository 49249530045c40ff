"""What clients of a tree did in the time that is looked at: what they wanted when, and what they published."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

from chapar_audit.jobs import populations, wishes
from chapar_audit.jobs.overlay import OverlayError, overlay_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.overlay import Overlay
    from chapar_audit.jobs.populations import Local
    from chapar_audit.jobs.wishes import Span, Wanted
    from chapar_audit.recorded import Recorded

SETTLING_US: Final = 5_000_000
"""After the last daemon has started: links of the tree begin, and say what is wanted."""
DELAY_US: Final = 1_000_000
"""For how long at most a change of interest travels through the tree, where there is a medium."""
MOST_WISHES: Final = 5_000_000
"""Changes of clients' interest that are looked at one by one."""


class Clients(NamedTuple):
    """What clients did, as far as the models are concerned."""

    changes: Mapping[bytes, Wanted]
    """By filter."""
    locals: Mapping[bytes, Mapping[int, Local]]
    """By filter and broker."""
    published: Mapping[tuple[int, str | None], int]
    """Events within the span, by broker and subject."""
    kept: int
    """How many of them are memorised."""


class Look(NamedTuple):
    """What is looked at of a run."""

    overlay: Overlay
    span: Span
    clients: Clients


def look(recorded: Recorded) -> Look:
    """A run in tree mode. Raises OverlayError if there is nothing in it that the models can be held against."""
    overlay = overlay_of(recorded.settings)
    span = span_of(recorded, overlay)
    if span is None:
        raise OverlayError(f"the run is shorter than a refresh period of {overlay.period:g} s and the time to settle")
    changes = changes_of(recorded.tables["interests"])
    if changes is None:
        raise OverlayError(f"clients' interest changed more than {MOST_WISHES} times")
    return Look(overlay, span, clients_of(recorded, changes, span))


def span_of(recorded: Recorded, overlay: Overlay) -> Span | None:
    """Whole refresh periods, from when the tree has settled."""
    period = round(overlay.period * 1e6)
    angle = (f.col("ts_us") % period) * (2 * math.pi / period)
    is_refresh = (f.col("change") == "refresh") & (f.col("direction") == "tx")
    interests = recorded.tables["interests"].agg(
        f.max("ts_us").alias("last"),
        f.avg(f.when(is_refresh, f.sin(angle))).alias("sine"),
        f.avg(f.when(is_refresh, f.cos(angle))).alias("cosine"),
    )
    frames = recorded.tables["frames"].agg(f.max("ts_us").alias("last"))
    runs = recorded.tables["runs"].groupBy("node").agg(f.min("ts_us").alias("began")).agg(f.max("began").alias("began"))
    row, ended, began = interests.first(), frames.first(), runs.first()
    assert row is not None
    assert ended is not None
    assert began is not None
    last = max(row.last or 0, ended.last or 0)
    phase = 0 if row.sine is None else round(math.atan2(row.sine, row.cosine) / (2 * math.pi) * period)
    delay = delay_of(recorded)
    return wishes.periods(began.began + (SETTLING_US if delay else 0), last - delay, phase, period)


def delay_of(recorded: Recorded) -> int:
    """Where brokers are joined directly, all that follows from a change happens at once."""
    return 0 if recorded.world == "sim" and "air" in recorded.missing else DELAY_US


def changes_of(interests: DataFrame) -> dict[bytes, Wanted] | None:
    """What clients wanted when; None if that is too much."""
    rows = interests.where(f.col("client").isNotNull()).select("ts_us", "node", "client", "filter_id", "change")
    found = rows.limit(MOST_WISHES + 1).collect()
    if len(found) > MOST_WISHES:
        return None
    return wishes.wanted(
        wishes.Wish(row.ts_us, row.node, row.client, bytes(row.filter_id), row.change == "subscribe") for row in found
    )


def clients_of(recorded: Recorded, changes: Mapping[bytes, Wanted], span: Span) -> Clients:
    inside = f.col("ts_us").between(span.begin, span.end - 1)
    rows = recorded.tables["publishes"].where(inside).groupBy("node", "subject", "delivery").count().collect()
    published: Counter[tuple[int, str | None]] = Counter()
    for row in rows:
        published[row.node, row.subject] += row["count"]
    kept = sum(row["count"] for row in rows if row.delivery != "realtime")
    locals_ = {filter_id: populations.estimated(each, span) for filter_id, each in changes.items()}
    return Clients(changes, locals_, published, kept)


def name_of(filter_class: bytes, subjects: Mapping[bytes, str]) -> str:
    about = subjects.get(filter_class[:4], f"subject {filter_class[:4].hex()}") if any(filter_class[:4]) else "anything"
    return f"filters for {about}" + (f" of type {filter_class[4:].hex()}" if any(filter_class[4:]) else "")
