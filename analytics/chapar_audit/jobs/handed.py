"""What clients were given: how soon, how often, in which order, and whether it is what they had asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as f

from chapar_audit.jobs.fates import PAIR, REALTIME, asks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from chapar_audit.jobs.failures import Downs


CLIENT: Final = ("home", "client")
EXPIRED_US: Final = 10_000_000
"""How long after its expiry an event may still come: what is under way then, and what the way takes."""
PER_DOUBLING: Final = 4
"""Buckets of a histogram."""
UNKNOWN: Final = "of events that nobody published"
UNINVITED: Final = "to clients that had not asked for them"
IMPOSSIBLE: Final = "over a number of hops that cannot be"
EXPIRED: Final = "long after they had expired"


def latency(known: DataFrame) -> DataFrame:
    """From publisher to client, by class and way: delivery, via, count, p50_us, p95_us, p99_us, max_us."""
    share = {f"p{percent}_us": percent / 100 for percent in (50, 95, 99)}
    took = f.col("first_us") - f.col("published_us")
    return (
        _given(known)
        .groupBy("delivery", "via")
        .agg(
            f.count("*").alias("count"),
            *(f.percentile_approx(took, value).alias(name) for name, value in share.items()),
            f.max(took).alias("max_us"),
        )
    )


def histogram(known: DataFrame) -> DataFrame:
    """How many deliveries took how long: delivery, bucket_us (its lower bound; four double), count."""
    took = f.greatest(f.col("first_us") - f.col("published_us"), f.lit(1))
    bucket = f.pow(f.lit(2.0), f.floor(PER_DOUBLING * f.log2(took)) / PER_DOUBLING)
    return _given(known).groupBy("delivery", bucket.alias("bucket_us")).agg(f.count("*").alias("count"))


def totals(known: DataFrame, hop_limit: int) -> DataFrame:
    """By class, numbers of deliveries: delivery, given, unmet, repeated, unasked, strange.

    `unasked` is what no plain filter asked for at that time, `strange` what cannot have been whoever asked; what was
    published by nobody has no class.
    """
    is_given = f.col("times") > 0
    return known.groupBy("delivery").agg(
        f.count_if(is_given).alias("given"),
        f.count_if(~is_given).alias("unmet"),
        f.sum(f.greatest(_extra(), f.lit(0))).alias("repeated"),
        f.count_if(is_given & f.col("began_us").isNull()).alias("unasked"),
        f.count_if(_fault(hop_limit).isNotNull()).alias("strange"),
    )


def _extra() -> Column:
    """A home that was started again may repeat what was not acknowledged before."""
    return f.col("times") - f.col("lives")


def repeated(known: DataFrame) -> DataFrame:
    """By home and client, how often it was given what it had: home, client, extra."""
    return known.where(_extra() > 0).groupBy(*CLIENT).agg(f.sum(_extra()).alias("extra"))


def overtaken(known: DataFrame, patience_us: int, crashes: Downs) -> DataFrame:
    """Events that a client was given after a later one of the same publisher and class, in one life of its home.

    Of memorised events those are excused that took longer than a broker waits for what is missing, and those that
    were published when the daemon of their publisher may have crashed (by node, from when to when).
    """
    before = (
        Window.partitionBy(*CLIENT, "life", "origin", "delivery")
        .orderBy("first_us")
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    is_excused = f.col("first_us") - f.col("published_us") >= patience_us
    for node, stretches in crashes.items():
        for first, last in stretches:
            is_excused |= (f.col("origin") == node) & f.col("published_us").between(first, last)
    late = _given(known).withColumn("latest", f.max("event_id").over(before)).where("event_id < latest")
    return late.where((f.col("delivery") == REALTIME) | ~is_excused)


def unexcused(late: DataFrame, wishes: DataFrame, settling_us: int) -> DataFrame:
    """Without memorised events for which a client asked when they were there, or shortly before."""
    asked = wishes.select(*CLIENT, f.col("began_us").alias("asked_us"))
    begun = late.where(f.col("delivery") != REALTIME).join(asked, list(CLIENT))
    begun = begun.where(f.col("asked_us").between(f.col("published_us") - settling_us, f.col("first_us")))
    return late.join(begun.select(*PAIR).distinct(), list(PAIR), "left_anti")


def strangers(known: DataFrame, wishes: DataFrame, published: DataFrame, hop_limit: int) -> DataFrame:
    """What cannot have been: event_id, home, client, fault."""
    stood = wishes.select(*CLIENT, "asked_subject", "asked_sender", "began_us", "ended_us")
    unasked = _given(known).where("began_us is null").drop("began_us", "ended_us")
    invited = (
        unasked.join(published.select("event_id", "subject_element", "sender_element"), "event_id")
        .join(stood, list(CLIENT))
        .where(
            asks("asked_subject", "subject_element")
            & asks("asked_sender", "sender_element")
            & (f.col("began_us") <= f.col("first_us"))
            & (f.col("ended_us") >= f.col("published_us"))
        )
        .select(*PAIR)
        .distinct()
    )
    uninvited = unasked.select(*PAIR).join(invited, list(PAIR), "left_anti")
    wrong = known.select(*PAIR, _fault(hop_limit).alias("fault")).where("fault is not null")
    return wrong.unionByName(uninvited.withColumn("fault", f.lit(UNINVITED)))


def _fault(hop_limit: int) -> Column:
    """What is wrong with a delivery, whoever asked for it; null if nothing is, or there was none."""
    is_here = f.col("home") == f.col("origin")
    is_far = (f.col("hops") < 0) | (f.col("hops") > hop_limit) | (is_here & (f.col("hops") > 0))
    is_far |= (f.col("via") == REALTIME) & ~is_here & (f.col("hops") < 1)
    expiry = f.col("published_us") + 1000 * f.col("lifetime_ms")
    is_late = (f.col("delivery") == "lifetime") & (f.col("first_us") > expiry + EXPIRED_US)
    fault = f.when(f.col("published_us").isNull(), UNKNOWN).when(is_far, IMPOSSIBLE).when(is_late, EXPIRED)
    return f.when(f.col("times") > 0, fault)


def unrecorded(known: DataFrame, acknowledgements: DataFrame) -> DataFrame:
    """Clients that acknowledged more than they were given, by what was recorded: home, client, given, acknowledged."""
    given = known.groupBy(*CLIENT).agg(f.sum("times").alias("given"))
    taken = acknowledgements.groupBy(f.col("node").alias("home"), "client").agg(f.sum("events").alias("acknowledged"))
    both = taken.join(f.broadcast(given), list(CLIENT), "left").fillna(0, ["given"])
    return both.where("acknowledged > given")


def _given(known: DataFrame) -> DataFrame:
    """What was given of events that are known."""
    return known.where("times > 0 and published_us is not null")
