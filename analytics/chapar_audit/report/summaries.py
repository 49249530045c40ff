"""What plots need of the tables that the jobs leave: few rows, whatever the length of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as fn

from chapar_audit.jobs.traffic import WINDOW_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from chapar_audit.recorded import Recorded

MOST_BINS: Final = 120
"""In which a run is shown over time."""
MOST_POINTS: Final = 5000
"""Clients shown one by one."""

Rows = list[dict[str, Any]]


def rows_of(table: DataFrame) -> Rows:
    return [row.asDict() for row in table.collect()]


def over_time(by_class: DataFrame) -> DataFrame:
    """Bytes by class in at most MOST_BINS spans of time: start_s and width_s, from the first one on."""
    windows = by_class.agg(fn.min("window_us").alias("first"), fn.max("window_us").alias("last"))
    width = WINDOW_US * fn.ceil(((fn.col("last") - fn.col("first")) / WINDOW_US + 1) / MOST_BINS)
    place = fn.floor((fn.col("window_us") - fn.col("first")) / width)
    return (
        by_class.crossJoin(windows)
        .groupBy((place * width / 1e6).alias("start_s"), (width / 1e6).alias("width_s"), "traffic_class")
        .agg(fn.sum("bytes").alias("bytes"))
    )


def kinds(by_class: DataFrame) -> DataFrame:
    """All messages and bytes of each kind."""
    return by_class.groupBy("traffic_class", "kind").agg(
        fn.sum("messages").alias("messages"), fn.sum("bytes").alias("bytes")
    )


def links(by_link: DataFrame) -> DataFrame:
    """Bytes between two nodes, in both directions: a, b with a < b, by class. What is broadcast has no link."""
    ends = (fn.least("node", "peer").alias("a"), fn.greatest("node", "peer").alias("b"))
    return by_link.where("peer is not null").groupBy(*ends, "traffic_class").agg(fn.sum("bytes").alias("bytes"))


def costs(event_cost: DataFrame, deliveries: DataFrame) -> DataFrame:
    """What events cost on average, by how many nodes they were delivered at; `alone` is what separate ways would."""
    homes = deliveries.groupBy("event_id", "node").agg(fn.max("hops").alias("hops"))
    given = homes.groupBy("event_id").agg(fn.count("*").alias("subscribers"), fn.sum("hops").alias("alone"))
    return (
        event_cost.join(given.hint("shuffle_hash"), "event_id", "inner")
        .groupBy("subscribers")
        .agg(
            fn.count("*").alias("events"),
            fn.avg("measured").alias("measured"),
            fn.stddev_samp("measured").alias("deviation"),
            fn.avg("expected").alias("expected"),
            fn.avg("alone").alias("alone"),
        )
    )


def reasons(undelivered: DataFrame) -> DataFrame:
    """How many deliveries failed for each reason."""
    return undelivered.groupBy("reason").agg(fn.count("*").alias("count"))


def told(told_and_seen: DataFrame) -> DataFrame:
    """What all daemons said and what the medium saw, by kind."""
    names = ("told_frames", "seen_frames", "told_bytes", "seen_bytes")
    return told_and_seen.groupBy("kind").agg(*(fn.sum(name).alias(name) for name in names))


def neighbours(recorded: Recorded) -> DataFrame:
    """Pairs of nodes that a daemon had a route of one hop between: a, b with a < b."""
    near = recorded.tables["routes"].where("hops = 1 and next_hop is not null")
    return near.select(*_pair("node", "destination")).distinct()


def brokers(recorded: Recorded) -> DataFrame:
    """The last role of each node."""
    return recorded.tables["roles"].groupBy("node").agg(fn.max_by("role", "ts_us").alias("role"))


def _pair(one: str, other: str) -> Sequence[Column]:
    return fn.least(one, other).alias("a"), fn.greatest(one, other).alias("b")


def gathered(recorded: Recorded, tables: Mapping[str, DataFrame]) -> dict[str, Rows]:
    """The rows of everything that can be drawn, by what plots ask for."""
    made: dict[str, DataFrame] = {
        "neighbours": neighbours(recorded),
        "brokers": brokers(recorded),
    }
    if (by_class := tables.get("traffic.by_class")) is not None:
        made |= {"over_time": over_time(by_class), "kinds": kinds(by_class)}
    if (by_link := tables.get("traffic.by_link")) is not None:
        made["links"] = links(by_link)
    if (event_cost := tables.get("traffic.event_cost")) is not None:
        made["costs"] = costs(event_cost, recorded.tables["deliveries"])
    if (undelivered := tables.get("delivery.undelivered")) is not None:
        made["reasons"] = reasons(undelivered)
    if (told_and_seen := tables.get("truth.told_and_seen")) is not None:
        made["told"] = told(told_and_seen)
    for name, table in tables.items():
        if name in ("delivery.latency", "delivery.latency_histogram", "break-even.alternatives", "timeliness.waiting"):
            made[name.partition(".")[2]] = table.limit(MOST_POINTS)
    return {name: rows_of(table) for name, table in made.items()}
