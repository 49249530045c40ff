"""How long events waited for clients that come and go, against theorem 2, with everything in it estimated from the run.

A station is the queue of one client at its home, or of several that are alike but for their node. Its arrivals and ON
and OFF times are taken from the first event to the last, so that the quiet at the end of a run does not count; clients
that left for good were not away. What is compared is the time until the application takes an event in hand; the service
itself is not in it. `ways` says how several such queues are one way.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as f
from pyspark.sql import types as sql

from chapar_audit.jobs import station, ways
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.station import Station
    from chapar_audit.recorded import Recorded

JOB: Final = "timeliness"
CLIENT: Final = ("node", "client")
BATCHES: Final = 20
"""Equal parts of the time of each client, whose means tell how sure the mean of all is."""
AT_ONCE_US: Final = 10_000
"""What an event waits on average in the queue of a client that is there is below this."""
NEEDED: Final = ("sessions", "deliveries", "acknowledgements")
WAITING: Final = sql.StructType(
    [
        sql.StructField("node", sql.IntegerType()),
        sql.StructField("client", sql.StringType(), nullable=False),
        sql.StructField("events", sql.LongType(), nullable=False),
        *(
            sql.StructField(name, sql.DoubleType(), nullable=False)
            for name in ("lam", "d_s", "t_on_s", "t_off_s", "measured_s", "half_width_s", "expected_s")
        ),
    ]
)


def judge(recorded: Recorded) -> Judgement:
    tables = recorded.tables
    if missing := sorted(recorded.missing & set(NEEDED)):
        reason = f"not recorded: {', '.join(missing)}"
        return Judgement([Finding(JOB, "waiting in ON/OFF queues", State.OPEN, reason=reason)])
    absences = periods(tables["sessions"])
    absent = absences.where("state = 'off' and end_us is not null").select(*CLIENT).distinct()
    handed = tables["deliveries"].join(f.broadcast(absent), list(CLIENT))
    came = arrivals(handed).cache()
    stretched, served = stretches(absences, came), services(tables["acknowledgements"], came)
    measured = station.stations(came.collect(), stretched.collect(), served.collect(), BATCHES)
    if not measured:
        return Judgement([_nobody_was_away(tables["deliveries"])])
    judged = [station.judged(JOB, each) for each in measured]
    theorems = [findings[0] for findings in judged]
    findings = [*itertools.chain(*judged), *_on_the_way(recorded, handed, absences, measured, theorems)]
    rows = [each.row() for each in measured]
    spark = tables["sessions"].sparkSession
    return Judgement(findings, {"waiting": spark.createDataFrame(rows, WAITING)})


def _on_the_way(
    recorded: Recorded, handed: DataFrame, absences: DataFrame, measured: Sequence[Station], theorems: Sequence[Finding]
) -> list[Finding]:
    """Of each station with its theorem's row: how long events waited from their publisher to there."""
    if "publishes" in recorded.missing:
        return [Finding(JOB, "waiting from end to end", State.OPEN, reason="not recorded: publishes")]
    publishes = recorded.tables["publishes"]
    found = ways.edges(handed, publishes).collect()
    turns = stretches(absences, ways.spans(publishes)).collect()
    findings = []
    for each, way, theorem in zip(measured, ways.ways(found, turns, measured), theorems, strict=True):
        if way is None:
            subject, why = f"wait from end to end to {each.name}", "its events come from several who come and go"
            findings.append(Finding(JOB, subject, State.OPEN, reason=why))
        else:
            findings += ways.judged(JOB, way, theorem)
    return findings


def periods(sessions: DataFrame) -> DataFrame:
    """ON and OFF periods of each client that was OFF: node, client, state, start_us, end_us; the last has no end."""
    by_time = Window.partitionBy(*CLIENT).orderBy("ts_us")
    rows = sessions.select(
        *CLIENT,
        "state",
        f.col("ts_us").alias("start_us"),
        f.lead("ts_us").over(by_time).alias("end_us"),
        f.max(f.when(f.col("state") == "off", 1)).over(Window.partitionBy(*CLIENT)).alias("was_off"),
    )
    return rows.where("was_off = 1").drop("was_off")


def arrivals(deliveries: DataFrame) -> DataFrame:
    """Of each client what came for it, and how long that was queued for its return.

    node, client, events, first_us, last_us, squares (of the gaps, in s²), queued_s.
    """
    at = deliveries.select(*CLIENT, "queued_us", (f.col("ts_us") - f.col("queued_us")).alias("at_us"))
    gap = (f.col("at_us") - f.lag("at_us").over(Window.partitionBy(*CLIENT).orderBy("at_us"))) / 1e6
    return (
        at.withColumn("gap", gap)
        .groupBy(*CLIENT)
        .agg(
            f.count("*").alias("events"),
            f.min("at_us").alias("first_us"),
            f.max("at_us").alias("last_us"),
            f.coalesce(f.sum(f.col("gap") * f.col("gap")), f.lit(0.0)).alias("squares"),
            (f.sum("queued_us") / 1e6).alias("queued_s"),
        )
    )


def stretches(absences: DataFrame, came: DataFrame) -> DataFrame:
    """Of each client its periods from its first event to its last: sums of their powers, and those that ended then.

    node, client, state, periods, seconds, squares, cubes (of all of them, cut to that time), ended.
    """
    start, end = f.greatest("start_us", "first_us"), f.least(f.coalesce("end_us", "last_us"), "last_us")
    length = (end - start) / 1e6
    cut = absences.join(f.broadcast(came), list(CLIENT)).withColumn("length", length).where("length > 0")
    ended = f.when(f.col("end_us") <= f.col("last_us"), 1).otherwise(0)
    return cut.groupBy(*CLIENT, "state").agg(
        f.count("*").alias("periods"),
        f.sum("length").alias("seconds"),
        f.sum(f.pow("length", f.lit(2))).alias("squares"),
        f.sum(f.pow("length", f.lit(3))).alias("cubes"),
        f.sum(ended).alias("ended"),
    )


def services(acknowledgements: DataFrame, came: DataFrame) -> DataFrame:
    """Of each client, in equal parts of its time: node, client, part, events, waited_s, served, busy_s."""
    part = f.least(
        f.lit(BATCHES - 1),
        f.floor(BATCHES * (f.col("ts_us") - f.col("first_us")) / (1 + f.col("last_us") - f.col("first_us"))),
    )
    spans = f.broadcast(came.select(*CLIENT, "first_us", "last_us"))
    return (
        acknowledgements.join(spans, list(CLIENT))
        .groupBy(*CLIENT, part.alias("part"))
        .agg(
            f.sum("events").alias("events"),
            (f.sum("waited_us") / 1e6).alias("waited_s"),
            f.sum("served").alias("served"),
            (f.sum("busy_us") / 1e6).alias("busy_s"),
        )
    )


def _nobody_was_away(deliveries: DataFrame) -> Finding:
    row: Any = deliveries.agg(f.avg("queued_us").alias("mean")).first()
    mean = 0.0 if row is None or row["mean"] is None else row["mean"]
    holds = mean < AT_ONCE_US
    return Finding(
        JOB,
        "waiting for clients that were never away",
        State.HOLDS if holds else State.DEVIATES,
        mean / 1e6,
        0.0,
        "s",
        f"on average below {AT_ONCE_US / 1000:g} ms",
        "" if holds else "clients take their events more slowly than they come: their windows are full",
    )
