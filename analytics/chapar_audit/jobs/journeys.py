"""The journey of each event through a mesh: which daemon handed it to which, and which homes got it or lost it.

Most events go like others. So they are told apart by marks, numbers that add up whatever the order of rows, and only
one of those that went alike is looked at in full.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from chapar_audit.recorded import Recorded

Way = tuple[int, int]
"""From which node to which."""
AT_HOME: Final = ("late", "no_client", "expired", "session_limit", "session_ended", "too_large")
"""Reasons for a loss that an event meets where it was bound for."""
SENT: Final = "direction = 'tx' and event_id is not null and peer is not null and kind != 'store'"
"""Frames that hand an event to one neighbour; what goes to all in range, and copies for memory, are none."""
GIVEN: Final = "hops > 0"
"""Deliveries that are not the publisher's home's own."""
LOST: Final = "client is null and reason != 'unreachable'"
"""Losses on the way. On a home that was not there when an event entered the network, nothing was spent."""
SPARE_BITS: Final = 20
"""Of a mark, so that many add up."""
OF_EVENT: Final[Mapping[str, str]] = {
    "ts_us": "long",
    "origin": "int",
    "is_kept": "int",
    "sent": "long",
    "given": "long",
    "reached": "long",
    "is_lost": "int",
    "last_us": "long",
    "is_repeated": "int",
}
MARKS: Final = ("sent", "given", "reached")


class Sent(NamedTuple):
    """What one daemon handed to another of one event, repetitions apart."""

    whole: int
    pieces: int = 0
    """Of frames that are too large for a datagram."""


class Journey(NamedTuple):
    """Of one event, or of several that went alike."""

    origin: int
    sent: Mapping[Way, Sent]
    hops: Mapping[int, int]
    """Over how many hops it came, by home where a client was given it; the publisher's is not among them."""
    reached: frozenset[int] = frozenset()
    """Homes where it came to nothing."""

    @property
    def times(self) -> dict[Way, int]:
        """How often it went each way. A frame is in as many pieces as on the way where there are fewest."""
        fewest = min((each.pieces for each in self.sent.values() if each.pieces), default=1)
        return {way: each.whole + -(-each.pieces // fewest) for way, each in self.sent.items()}


def marked(recorded: Recorded) -> DataFrame:
    """By event that was published: event_id and OF_EVENT, with a mark of where it was sent, given and lost."""
    tables, is_first = recorded.tables, f.col("retry") == 0
    is_at_home = f.col("reason").isin(*AT_HOME)
    rows = _rows(
        tables["publishes"],
        ts_us=f.col("ts_us"),
        origin=f.col("node"),
        is_kept=f.col("delivery") != "realtime",
        last_us=f.col("ts_us"),
    )
    rows = rows.unionAll(
        _rows(
            tables["frames"].where(SENT),
            sent=f.when(is_first, _mark("node", "peer", f.col("kind") == "fragment")),
            last_us=f.col("ts_us"),
            is_repeated=~is_first,
        )
    )
    rows = rows.unionAll(_rows(tables["deliveries"].where(GIVEN), given=_mark("node", "hops")))
    rows = rows.unionAll(
        _rows(tables["losses"].where(LOST), reached=f.when(is_at_home, _mark("home")), is_lost=~is_at_home)
    )
    totals = [
        f.coalesce((f.sum if name in MARKS else f.max)(name), f.lit(0)).alias(name)
        for name in OF_EVENT
        if name not in ("ts_us", "origin")
    ]
    added = rows.groupBy("event_id").agg(f.min("ts_us").alias("ts_us"), f.min("origin").alias("origin"), *totals)
    return added.where("origin is not null")


def _rows(table: DataFrame, **columns: Column) -> DataFrame:
    """What rows of one dataset say of their event."""
    said = [columns.get(name, f.lit(None)).cast(kind).alias(name) for name, kind in OF_EVENT.items()]
    return table.select("event_id", *said)


def _mark(*columns: str | Column) -> Column:
    return f.shiftright(f.xxhash64(*columns), SPARE_BITS)


def in_full(recorded: Recorded, chosen: DataFrame) -> dict[bytes, Journey]:
    """The journeys of a few events, of which there are event_id and origin."""
    tables = recorded.tables
    few = f.broadcast(chosen.select("event_id"))
    origins = {bytes(row.event_id): row.origin for row in chosen.select("event_id", "origin").collect()}
    is_piece = f.col("kind") == "fragment"
    ways = (
        tables["frames"]
        .where(SENT)
        .join(few, "event_id")
        .groupBy("event_id", "node", "peer")
        .agg(f.count_if(~is_piece & (f.col("retry") == 0)), f.count_if(is_piece & (f.col("retry") == 0)))
    )
    sent: dict[bytes, dict[Way, Sent]] = defaultdict(dict)
    for event_id, node, peer, whole, pieces in ways.collect():
        sent[bytes(event_id)][node, peer] = Sent(whole, pieces)
    came = tables["deliveries"].where(GIVEN).join(few, "event_id")
    hops: dict[bytes, dict[int, int]] = defaultdict(dict)
    for event_id, node, count in came.groupBy("event_id", "node").agg(f.max("hops")).collect():
        if node != origins[bytes(event_id)]:
            hops[bytes(event_id)][node] = count
    ended = tables["losses"].where(LOST).where(f.col("reason").isin(*AT_HOME)).join(few, "event_id")
    reached: dict[bytes, set[int]] = defaultdict(set)
    for event_id, home in ended.select("event_id", "home").distinct().collect():
        reached[bytes(event_id)].add(home)
    return {
        each: Journey(origin, sent.get(each, {}), hops.get(each, {}), frozenset(reached.get(each, ())))
        for each, origin in origins.items()
    }
