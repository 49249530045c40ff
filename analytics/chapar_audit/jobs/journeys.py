"""The journey of each event through a mesh: which daemon handed it to which, and which homes got it or lost it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from chapar_audit.recorded import Recorded

Way = tuple[int, int]
"""From which node to which."""
AT_HOME: Final = ("late", "no_client", "expired", "session_limit", "session_ended", "too_large")
"""Reasons for a loss that an event meets where it was bound for."""
NOT_SENT: Final = "unreachable"
"""Of a home that was not there when an event entered the network: nothing was spent on it."""


class Sent(NamedTuple):
    """What one daemon handed to another of one event, repetitions apart."""

    whole: int
    pieces: int
    """Of frames that are too large for a datagram."""
    publishes: int
    """Of the whole ones, those that brought the event from its publisher's home to its broker, and say so."""
    hasty: int = 0
    """The others, if they followed the one before sooner than a broker serves an event again."""


class Journey(NamedTuple):
    """Of one event, or of several that went alike."""

    origin: int
    sent: dict[Way, Sent]
    hops: dict[int, int]
    """Over how many hops it came, by home where a client was given it; the publisher's is not among them."""
    reached: frozenset[int]
    """Homes where it came to nothing."""
    is_lost: bool
    """Whether a daemon could not pass it on."""

    @property
    def times(self) -> dict[Way, int]:
        """How often it went each way. A frame is in as many pieces as on the way where there are fewest."""
        fewest = min((each.pieces for each in self.sent.values() if each.pieces), default=1)
        return {way: each.whole + -(-each.pieces // fewest) for way, each in self.sent.items()}


def journeys(recorded: Recorded, again_us: int) -> DataFrame:
    """By event: event_id, ts_us, origin, subject, is_kept; sent, given, reached, is_lost; last_us, is_repeated.

    Served again, an event is after `again_us` at the soonest.
    """
    tables = recorded.tables
    published = (
        tables["publishes"]
        .groupBy("event_id")
        .agg(
            f.min("ts_us").alias("ts_us"),
            f.first("node").alias("origin"),
            f.first("subject").alias("subject"),
            f.first(f.col("delivery") != "realtime").alias("is_kept"),
        )
    )
    given = tables["deliveries"].where("hops > 0").groupBy("event_id", "node").agg(f.max("hops").alias("hops"))
    lost = tables["losses"].where(f.col("client").isNull() & (f.col("reason") != NOT_SENT))
    is_at_home = f.col("reason").isin(*AT_HOME)
    came = given.groupBy("event_id").agg(f.array_sort(f.collect_list(f.struct("node", "hops"))).alias("given"))
    went_wrong = lost.groupBy("event_id").agg(
        f.array_sort(f.collect_set(f.when(is_at_home, f.col("home")))).alias("reached"),
        f.max(~is_at_home).alias("is_lost"),
    )
    return (
        published.join(_sent(tables["frames"], again_us).hint("shuffle_hash"), "event_id", "left")
        .join(came.hint("shuffle_hash"), "event_id", "left")
        .join(went_wrong.hint("shuffle_hash"), "event_id", "left")
        .fillna({"is_lost": False, "is_repeated": False})
        .withColumn("last_us", f.coalesce("last_us", "ts_us"))
    )


def _sent(frames: DataFrame, again_us: int) -> DataFrame:
    """By event: who handed it to whom. What goes to all in range at once is no part of it, nor its copies in memory."""
    is_first, is_piece = f.col("retry") == 0, f.col("kind") == "fragment"
    first_us = f.when(is_first & (f.col("kind") != "publish"), f.col("ts_us"))
    hasty = f.col("whole") - f.col("publishes") - 1 - f.floor(f.col("spread_us") / again_us)

    def count(condition: Column) -> Column:
        return f.count(f.when(is_first & condition, 1)).cast("int")

    by_way = (
        frames.where("direction = 'tx' and event_id is not null and peer is not null and kind != 'store'")
        .groupBy("event_id", "node", "peer")
        .agg(
            count(~is_piece).alias("whole"),
            count(is_piece).alias("pieces"),
            count(f.col("kind") == "publish").alias("publishes"),
            (f.max(first_us) - f.min(first_us)).alias("spread_us"),
            f.max("ts_us").alias("last_us"),
            f.max(~is_first).alias("is_repeated"),
        )
        .withColumn("hasty", f.greatest(f.lit(0), hasty).cast("int"))
    )
    return by_way.groupBy("event_id").agg(
        f.array_sort(f.collect_list(f.struct("node", "peer", "whole", "pieces", "publishes", "hasty"))).alias("sent"),
        f.max("last_us").alias("last_us"),
        f.max("is_repeated").alias("is_repeated"),
    )


def journey_of(row: Row) -> Journey:
    """Of a row that has the columns of `journeys`."""
    hops = {node: count for node, count in row.given or () if node != row.origin}
    sent = {(node, peer): Sent(*counts) for node, peer, *counts in row.sent or ()}
    return Journey(row.origin, sent, hops, frozenset(row.reached or ()), bool(row.is_lost))
