"""What became of each event at each client: who wanted it, who was given it, how often, when and how.

Of a filter only its id is recorded. Whether an event satisfies it is known where it asks for a subject and a sender at
most, which is called plain here; conditions on attributes, on the type and the group leave it open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as f

from chapar_audit.jobs import ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

PAIR: Final = ("event_id", "home", "client")
BUCKETS: Final = 128
"""Parts of a run in which events meet the wishes of their time."""
FOR_EVER: Final = 2**62
REALTIME: Final = "realtime"
PERSISTENT: Final = "persistent"


class Span(NamedTuple):
    """From when to when a run went, microseconds."""

    begin: int
    end: int

    @property
    def bucket_us(self) -> int:
        return max(1, -(-(self.end - self.begin) // BUCKETS))


def spells(interests: DataFrame) -> DataFrame:
    """From when to when clients wanted what.

    home, client, subject, sender (as the id has them: zeros for any), is_plain, began_us, ended_us (far away while it
    stands). A client may subscribe to the same filter twice.
    """
    said = interests.where("client is not null and change in ('subscribe', 'unsubscribe')")
    by_time = Window.partitionBy("node", "client", "filter_id").orderBy("ts_us", "change")
    step = f.when(f.col("change") == "subscribe", 1).otherwise(-1)
    edges = said.select(
        f.col("node").alias("home"),
        "node",
        "client",
        "filter_id",
        "ts_us",
        "change",
        step.alias("step"),
        f.sum(step).over(by_time.rowsBetween(Window.unboundedPreceding, 0)).alias("standing"),
    ).where("(step = 1 and standing = 1) or (step = -1 and standing = 0)")
    part = {name: f.substring("filter_id", 1 + ids.ELEMENT * place, ids.ELEMENT) for place, name in enumerate(_PARTS)}
    asks_more = [part[name] != f.lit(ids.NOTHING) for name in ("content", "type", "group")]
    return edges.select(
        "home",
        "client",
        part["subject"].alias("asked_subject"),
        part["sender"].alias("asked_sender"),
        (~(asks_more[0] | asks_more[1] | asks_more[2])).alias("is_plain"),
        "step",
        f.col("ts_us").alias("began_us"),
        f.coalesce(f.lead("ts_us").over(by_time), f.lit(FOR_EVER)).alias("ended_us"),
    ).where("step = 1").drop("step")  # fmt: skip


_PARTS: Final = ("subject", "content", "sender", "type", "group")


def events(publishes: DataFrame, subjects: DataFrame, senders: DataFrame, end_us: int) -> DataFrame:
    """Each event once: who published it where and when, and until when it is kept.

    event_id, origin, publisher, subject, delivery, lifetime_ms, published_us, last_us (until when it can be wanted: of
    real-time events when they are published), copies (rows that say so), subject_element, sender_element.
    """
    life = (
        f.when(f.col("delivery") == REALTIME, f.col("published_us"))
        .when(f.col("delivery") == PERSISTENT, f.lit(end_us))
        .otherwise(f.least(f.col("published_us") + 1000 * f.col("lifetime_ms"), f.lit(end_us)))
    )
    once = publishes.groupBy("event_id").agg(
        f.max("node").alias("origin"),
        f.max("client").alias("publisher"),
        f.max("subject").alias("subject"),
        f.max("delivery").alias("delivery"),
        f.max("lifetime_ms").alias("lifetime_ms"),
        f.min("ts_us").alias("published_us"),
        f.count("*").alias("copies"),
    )
    return (
        once.withColumn("last_us", life)
        .join(f.broadcast(subjects), "subject", "left")
        .join(f.broadcast(senders), "origin", "left")
    )


def elements(publishes: DataFrame) -> tuple[DataFrame, DataFrame]:
    """What filter ids hold for the subjects and for the nodes of these events."""
    spark = publishes.sparkSession
    found = publishes.select("subject", "node").distinct().collect()
    subjects = [(name, ids.element(name)) for name in sorted({row.subject for row in found} - {None})]
    senders = [(node, ids.sender(node)) for node in sorted({row.node for row in found})]
    return (
        spark.createDataFrame(subjects, "subject string, subject_element binary"),
        spark.createDataFrame(senders, "origin int, sender_element binary"),
    )


def asks(asked: str, found: str) -> Column:
    """Whether a spell asks for what an event has, or for nothing."""
    return (f.col(asked) == f.lit(ids.NOTHING)) | (f.col(asked) == f.col(found))


def wanted(published: DataFrame, wishes: DataFrame, span: Span, how: str = "shuffle_hash") -> DataFrame:
    """Pairs of an event and a client that wanted it by a plain filter: event_id, home, client, began_us, ended_us.

    Of real-time events when they were published; of others in the end, be it theirs or that of the run. `how` wishes
    are joined is a hint: few of them are better broadcast.
    """
    width = span.bucket_us
    place = f.floor((f.greatest(f.lit(span.begin), f.least("last_us", f.lit(span.end))) - span.begin) / width)
    sought = f.array_compact(f.array(f.col("subject_element"), f.lit(ids.NOTHING)))
    asked = published.select(
        "event_id", "last_us", "sender_element", place.alias("place"), f.explode(sought).alias("asked_subject")
    )
    first = f.floor((f.greatest("began_us", f.lit(span.begin)) - span.begin) / width)
    last = f.floor((f.least("ended_us", f.lit(span.end)) - span.begin) / width)
    standing = wishes.where("is_plain").withColumn("place", f.explode(f.sequence(first, f.greatest(first, last))))
    return (
        asked.join(standing.hint(how), ["place", "asked_subject"])
        .where(asks("asked_sender", "sender_element") & f.col("last_us").between(f.col("began_us"), f.col("ended_us")))
        .select(*PAIR, "began_us", "ended_us")
    )


def lives(deliveries: DataFrame, starts: Mapping[int, Iterable[int]]) -> DataFrame:
    """With the column `life`: how often the node had been started by then, by the times of starts but the first."""
    life: Column = f.lit(0)
    for node, times in starts.items():
        for time in times:
            life += ((f.col("node") == node) & (f.col("ts_us") >= time)).cast("int")
    return deliveries.withColumn("life", life)


def fates(pairs: DataFrame, deliveries: DataFrame, published: DataFrame) -> DataFrame:
    """Of each event that was wanted or given, by client, what became of it.

    event_id, home, client, began_us and ended_us of the wish (null: by no plain filter at that time), times given and
    in how many lives of the home, first_us, via, hops, life of the first time; origin, delivery, lifetime_ms and
    published_us of the event, which are null if nobody published it.
    """
    nothing = [f.lit(None).cast(kind).alias(name) for name, kind in _GIVEN]
    asked = pairs.select(*PAIR, "began_us", "ended_us", *nothing)
    given = deliveries.select(
        "event_id",
        f.col("node").alias("home"),
        "client",
        f.lit(None).cast("long").alias("began_us"),
        f.lit(None).cast("long").alias("ended_us"),
        "ts_us",
        f.array_position(f.lit(list(VIAS)), f.col("via")).cast("int").alias("via"),
        f.col("hops").cast("int").alias("hops"),
        "life",
    )
    grouped = (
        asked.unionByName(given)
        .repartition("event_id")
        .groupBy(*PAIR)
        .agg(
            f.min("began_us").alias("began_us"),
            f.max("ended_us").alias("ended_us"),
            f.count("ts_us").alias("times"),
            f.bit_or(f.expr("shiftleft(1L, life)")).alias("lives"),
            f.min("ts_us").alias("first_us"),
            f.min_by("via", "ts_us").alias("way"),
            f.min_by("hops", "ts_us").alias("hops"),
            f.min_by("life", "ts_us").alias("life"),
        )
        .withColumn("via", f.coalesce(f.get(f.lit(list(VIAS)), f.col("way") - 1), f.lit("unknown")))
        .withColumn("lives", f.coalesce(f.bit_count("lives"), f.lit(0)))
        .drop("way")
    )
    event = published.select("event_id", "origin", "delivery", "lifetime_ms", "published_us")
    return grouped.join(event.hint("shuffle_hash"), "event_id", "left")


VIAS: Final = ("realtime", "memorised", "instant")
"""The ways of deliveries, of which any other is unknown."""
_GIVEN: Final = (("ts_us", "long"), ("via", "int"), ("hops", "int"), ("life", "int"))
