"""What went over the links of a tree: interest messages and notifications, counted in Spark.

Of both, in batches of the time that is looked at; what lies outside of it is batch OUTSIDE.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from chapar_audit.jobs.overlay import Way
    from chapar_audit.jobs.wishes import Span

OUTSIDE: Final = -1
MOST_BATCHES: Final = 20
"""Over which rates are averaged; with more, they are no longer independent of each other."""
EVENT_KINDS: Final = ("event", "brief")
"""Frames that carry one event each."""
ALL_KINDS: Final = (*EVENT_KINDS, "fragment", "meet")
NOTIFICATION: Final = "notification"


@dataclass(frozen=True, slots=True)
class Batches:
    """Stretches of equal length, of whole refresh periods each."""

    begin: int
    length: int
    """Microseconds."""
    count: int

    @property
    def seconds(self) -> float:
        """Of one."""
        return self.length / 1e6


def batches(span: Span) -> Batches:
    """At most MOST_BATCHES of them; what is left at the end is in none."""
    periods = len(span.refreshes)
    each = max(1, periods // MOST_BATCHES)
    return Batches(span.begin, each * ((span.end - span.begin) // periods), periods // each)


@dataclass(slots=True)
class Spoken:
    """Messages by way and kind: a change of interest, or a notification."""

    sent: dict[Way, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Within the span."""
    heard: dict[Way, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The same as the receiver recorded it."""
    sent_in_all: Counter[Way] = field(default_factory=Counter)
    """Notifications of the whole run."""
    heard_in_all: Counter[Way] = field(default_factory=Counter)
    repeated: Counter[Way] = field(default_factory=Counter)
    """Repetitions of notifications: among those sent they are not counted, among those heard they are."""
    begun: Counter[Way] = field(default_factory=Counter)
    """How often a link was begun within the span."""
    by_class: dict[tuple[bytes, str], Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """By class of filters, or b"" for notifications, and kind: by batch, over all ways."""


def interest_tally(interests: DataFrame, span: Span, cut: Batches) -> DataFrame:
    """Interest messages by node, peer, direction, class of filters (subject and type), change and batch."""
    filter_id = f.col("filter_id")
    return (
        interests.where(f.col("peer").isNotNull() & f.col("ts_us").between(span.begin, span.end - 1))
        .select(
            "node",
            "peer",
            "direction",
            f.concat(f.substring(filter_id, 1, 4), f.substring(filter_id, 13, 4)).alias("filter_class"),
            "change",
            _batch(cut),
        )
        .groupBy("node", "peer", "direction", "filter_class", "change", "batch")
        .count()
    )


def frame_tally(frames: DataFrame, span: Span, cut: Batches) -> DataFrame:
    """Frames of events and of links that begin, by node, peer, direction, kind and batch: first ones and others."""
    of_data = (f.col("kind") != "fragment") | (f.col("traffic_class") == "data")
    inside = f.col("ts_us").between(span.begin, span.end - 1)
    return (
        frames.where(f.col("kind").isin(*ALL_KINDS) & f.col("peer").isNotNull() & of_data)
        .select("node", "peer", "direction", "kind", inside.alias("inside"), _batch(cut), "retry")
        .groupBy("node", "peer", "direction", "kind", "inside", "batch")
        .agg(f.count_if(f.col("retry") == 0).alias("first"), f.count_if(f.col("retry") > 0).alias("again"))
    )


def fragmented(frames: DataFrame, span: Span, cut: Batches) -> DataFrame:
    """Events in fragments, each counted once, with its first fragment."""
    rows = frames.where((f.col("kind") == "fragment") & (f.col("traffic_class") == "data") & (f.col("retry") == 0))
    return (
        rows.groupBy("node", "peer", "direction", "event_id")
        .agg(f.min("ts_us").alias("ts_us"))
        .select(
            "node", "peer", "direction", f.col("ts_us").between(span.begin, span.end - 1).alias("inside"), _batch(cut)
        )
        .groupBy("node", "peer", "direction", "inside", "batch")
        .agg(f.count("*").alias("first"))
    )


def _batch(cut: Batches) -> Column:
    number = f.floor((f.col("ts_us") - f.lit(cut.begin)) / f.lit(cut.length)).cast("int")
    return f.when(number.between(0, cut.count - 1), number).otherwise(f.lit(OUTSIDE)).alias("batch")


def spoken(interests: DataFrame, frames: DataFrame, span: Span) -> Spoken:
    """All of it, collected: a few rows for each link and batch."""
    cut, found = batches(span), Spoken()
    for row in interest_tally(interests, span, cut).collect():
        if row.direction == "tx":
            found.sent[row.node, row.peer][row.change] += row["count"]
            found.by_class[bytes(row.filter_class), row.change][row.batch] += row["count"]
        else:
            found.heard[row.peer, row.node][row.change] += row["count"]
    rows = frame_tally(frames, span, cut).collect()
    for row in rows:
        if row.kind in EVENT_KINDS:
            _notified(found, row)
            if row.direction == "tx":
                found.repeated[row.node, row.peer] += row.again
        elif row.kind == "meet" and row.direction == "tx" and row.inside:
            found.begun[row.node, row.peer] += row.first
    if any(row.kind == "fragment" for row in rows):
        for row in fragmented(frames, span, cut).collect():
            _notified(found, row)
    return found


def _notified(found: Spoken, row: Row) -> None:
    """Count a row of either tally of frames."""
    if row.direction == "tx":
        found.sent_in_all[row.node, row.peer] += row.first
        if row.inside:
            found.sent[row.node, row.peer][NOTIFICATION] += row.first
            found.by_class[b"", NOTIFICATION][row.batch] += row.first
    else:
        found.heard_in_all[row.peer, row.node] += row.first
        if row.inside:
            found.heard[row.peer, row.node][NOTIFICATION] += row.first
