"""What daemons say they sent and received, and what the medium saw of it: frames and bytes, counted in Spark.

The medium sees transmissions. A datagram that goes over several hops is one for each, and its sender may hear it again
where routes make a loop; one that the link layer repeats is one for each try; one for a node without a route is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.survey import Start

GARBAGE: Final = "garbage"
"""What the medium calls a datagram on chapard's port that is no frame of ours; one from no node is none either."""
NOBODY: Final = -1
"""The source of what a daemon says it received from no node."""
REPEAT_US: Final = (999, 100_000)
"""After a frame was lost, the link layer repeats it between so soon and so late; daemons themselves do so later."""
EDGE_US: Final = 100_000
"""What a daemon says in this time before it ends may not have reached the air, nor what was on the air reached it."""
QUIET_PERIODS: Final = 2
"""Refresh periods without any row after which a daemon is known to hang or to be down: it sends beacons in each."""
BUCKETS: Final = 4
"""Parts of a refresh period in which rows are looked for."""
AMOUNT: Final = ("frames", "bytes")


# Told


def told(frames: DataFrame) -> DataFrame:
    """By node, direction, source (of what was received) and kind."""
    same = frames.groupBy("node", "direction", "peer", "kind", "bytes").agg(f.count("*").alias("frames"))
    source = f.when(f.col("direction") == "rx", f.coalesce("peer", f.lit(NOBODY)))
    sizes = same.withColumn("bytes", f.col("bytes") * f.col("frames")).withColumn("source", source)
    return _added(sizes, "node", "direction", "source", "kind")


def doubled(frames: DataFrame) -> DataFrame:
    """Rows that are there more than once, by node, direction and kind: how many are too many, if they are the same."""
    same = frames.groupBy(*frames.columns).count().where("count > 1")
    return same.groupBy("node", "direction", "kind").agg(f.sum(f.col("count") - 1).alias("frames"))


def ways(routes: DataFrame) -> DataFrame:
    """When a node knew a route to a peer: node, peer, hops, from_us, until_us; null is for ever."""
    by_time = Window.partitionBy("node", "destination").orderBy("ts_us")
    spans = routes.select("*", f.lead("ts_us").over(by_time).alias("until_us")).where("next_hop is not null")
    return spans.select("node", f.col("destination").alias("peer"), "hops", f.col("ts_us").alias("from_us"), "until_us")


def unrouted(frames: DataFrame, routes: DataFrame) -> DataFrame:
    """What was sent to a node to which the sender knew no route then: by node and kind."""
    known = ways(routes)
    during = (
        (frames.node == known.node)
        & (frames.peer == known.peer)
        & (frames.ts_us >= known.from_us)
        & (known.until_us.isNull() | (frames.ts_us < known.until_us))
    )
    sent = frames.where("direction = 'tx' and peer is not null")
    return _summed(sent.join(f.broadcast(known), during, "left_anti"), "node", "kind")


# Seen


def aired(air: DataFrame) -> DataFrame:
    """Frames of chapard's on the air, by sender, source, receivers and kind. One that hears twice is there twice."""
    same = air.where(f.size("kinds") > 0).groupBy("sender", "source", "receivers", "kinds", "kind_bytes").count()
    content = f.inline(f.arrays_zip("kinds", "kind_bytes")).alias("kind", "size")
    each = same.select("sender", "source", "receivers", f.col("count").alias("frames"), content)
    kind = f.when(f.col("source").isNull(), GARBAGE).otherwise(f.col("kind"))
    sizes = each.withColumn("bytes", f.col("size") * f.col("frames")).withColumn("kind", kind)
    return _added(sizes, "sender", "source", "receivers", "kind")


def sent(seen: DataFrame) -> DataFrame:
    """Of what was aired, by node, source and kind, what each sent: its own, or what it passed on."""
    return _added(seen.withColumnRenamed("sender", "node"), "node", "source", "kind")


def heard(seen: DataFrame) -> DataFrame:
    """Of what was aired, by node, source and kind, what each heard: for itself, to pass on, or its own in a loop."""
    each = seen.select(f.explode("receivers").alias("node"), "source", "kind", *AMOUNT)
    return _added(each, "node", "source", "kind")


def repeated(air: DataFrame) -> DataFrame:
    """What may be repetitions of the link layer, by node, source and kind: the same to the same, soon after a loss."""
    ends = f.array_union("receivers", "lost")
    content = ("sender", "source", "end", "kinds", "kind_bytes")
    by_time = Window.partitionBy(*content).orderBy("ts_us")
    single = air.where((f.size("kinds") > 0) & (f.size(ends) == 1)).withColumn("end", ends[0])
    gap = f.col("ts_us") - f.lag("ts_us").over(by_time)
    was_lost = f.lag(f.size("receivers") == 0).over(by_time)
    again = single.withColumn("is_again", was_lost & gap.between(*REPEAT_US)).where("is_again")
    each = again.select("sender", "source", f.inline(f.arrays_zip("kinds", "kind_bytes")).alias("kind", "bytes"))
    return _summed(each.withColumnRenamed("sender", "node"), "node", "source", "kind")


# Silences of daemons


def silences(frames: DataFrame, starts: Iterable[Start], periods: Mapping[int, float]) -> DataFrame:
    """When daemons recorded nothing, since they were down or hung: node, from_us, until_us; null: from or for ever.

    Each ends with a start, or lasts longer than a daemon is ever still. `periods` are refresh periods by node, seconds.
    """
    spark = frames.sparkSession
    still = spark.createDataFrame(
        [(node, round(1e6 * each)) for node, each in periods.items()], "node int, period long"
    )
    begun = spark.createDataFrame([(each.node, each.ts_us) for each in starts], "node int, ts_us long")
    bucket = f.floor(f.col("ts_us") * BUCKETS / f.col("period"))
    alive = (
        frames.join(f.broadcast(still), "node")
        .join(
            f.broadcast(begun.groupBy("node").agg(f.sort_array(f.collect_list("ts_us")).alias("begun"))), "node", "left"
        )
        .withColumn("life", f.size(f.filter("begun", lambda start: start <= f.col("ts_us"))))
        .groupBy("node", "period", "life", bucket.alias("bucket"))
        .agg(f.min("ts_us").alias("first_us"), f.max("ts_us").alias("last_us"))
    )
    by_time = Window.partitionBy("node").orderBy("first_us")
    gaps = alive.select(
        "node",
        "period",
        f.lag("last_us").over(by_time).alias("from_us"),
        f.col("first_us").alias("until_us"),
        (f.col("life") != f.lag("life").over(by_time)).alias("restarted"),
    ).where("from_us is null or restarted or until_us - from_us > period * " + str(QUIET_PERIODS))
    ends = alive.groupBy("node").agg(f.max("last_us").alias("from_us")).withColumn("until_us", f.lit(None).cast("long"))
    return gaps.select("node", "from_us", "until_us").unionByName(ends)


def unheard(air: DataFrame, silent: DataFrame) -> DataFrame:
    """What was on the air for nodes while their daemons were silent: by node, source and kind."""
    each = air.where(f.size("kinds") > 0).select(
        "ts_us", "source", "kinds", "kind_bytes", f.explode("receivers").alias("node")
    )
    late = f.col("from_us").isNull() | (f.col("ts_us") >= f.col("from_us") - EDGE_US)
    early = f.col("until_us").isNull() | (f.col("ts_us") <= f.col("until_us"))
    missed = each.join(f.broadcast(silent), "node").where(late & early)
    frames = missed.select("node", "source", f.inline(f.arrays_zip("kinds", "kind_bytes")).alias("kind", "bytes"))
    return _summed(frames, "node", "source", "kind")


def cut_off(frames: DataFrame, silent: DataFrame) -> DataFrame:
    """What daemons say they sent in the last moments before they fell silent: by node and kind."""
    last = f.col("ts_us").between(f.col("from_us") - EDGE_US, f.col("from_us"))
    return _summed(frames.where("direction = 'tx'").join(f.broadcast(silent), "node").where(last), "node", "kind")


def _summed(rows: DataFrame, *keys: Any) -> DataFrame:
    return rows.groupBy(*keys).agg(f.count("*").alias("frames"), f.sum("bytes").alias("bytes"))


def _added(rows: DataFrame, *keys: str) -> DataFrame:
    return rows.groupBy(*keys).agg(*(f.sum(name).alias(name) for name in AMOUNT))
