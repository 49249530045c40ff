"""The traffic of a mesh with replicated tables, against the structural model: what routes, roles and pace demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql import functions as f
from pyspark.sql import types as sql

from chapar_audit.jobs import journeys, memory, multicast, pace, repeats
from chapar_audit.jobs.calm import Calm
from chapar_audit.jobs.multicast import Alike
from chapar_audit.jobs.network import network
from chapar_audit.jobs.protocol import protocol_of
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.multicast import Judged
    from chapar_audit.jobs.network import Network
    from chapar_audit.jobs.protocol import Protocol
    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
NEEDED: Final = ("frames", "publishes", "deliveries")
SETTLED_US: Final = 2_000_000
"""Before an event is published: what one daemon has learnt of a change, the others have, too."""
UNDER_WAY_US: Final = 1_000_000
"""After an event was last sent on, unless it was repeated."""
MOST_ALIKE: Final = 20_000
"""Journeys that differ, which are looked at one by one."""
COST: Final = sql.StructType(
    [
        sql.StructField("key", sql.LongType(), nullable=False),
        sql.StructField("measured", sql.LongType(), nullable=False),
        sql.StructField("expected", sql.LongType(), nullable=False),
    ]
)


def judge_chapar(recorded: Recorded) -> Judgement:
    """The traffic of a run in chapar mode."""
    if missing := sorted(recorded.missing & set(NEEDED)):
        why = f"not recorded: {', '.join(missing)}"
        return Judgement([Finding(JOB, "events and floods", State.OPEN, reason=why)])
    protocol = protocol_of(recorded.settings)
    if protocol is None:
        why = "the settings that daemons recorded do not say at which pace they send"
        return Judgement([Finding(JOB, "events and floods", State.OPEN, reason=why)])
    gone = removed(recorded, "frames")
    findings, table = _multicast(recorded, protocol, gone)
    findings += memory.served_rows(recorded, protocol.serve_retry, gone)
    findings += memory.flood_rows(recorded, gone)
    findings += memory.lease_rows(recorded, protocol.subscription_lease)
    findings += pace.rows(recorded, protocol, gone)
    findings += repeats.rows(recorded, gone)
    if not findings:
        findings = [Finding(JOB, "events and floods", State.OPEN, reason="no daemon transmitted anything")]
    return Judgement(findings, {"event_cost": table})


def removed(recorded: Recorded, dataset: str) -> int:
    """Rows that recorders gave up to keep to their budget."""
    row = recorded.tables["removals"].where(f.col("dataset") == dataset).agg(f.sum("rows").alias("rows")).first()
    return int(row.rows or 0) if row is not None else 0


def _multicast(recorded: Recorded, protocol: Protocol, gone: int) -> tuple[list[Finding], DataFrame]:
    """The rows on events in real time, and what each of them cost."""
    events = journeys.marked(recorded).where("is_kept = 0")
    repeated_us = round(protocol.retry_max * 1e6)
    end = f.col("last_us") + f.when(f.col("is_repeated") > 0, repeated_us).otherwise(UNDER_WAY_US)
    placed = Calm(recorded).marked(events, f.col("ts_us") - SETTLED_US, end)
    state = f.when(f.col("is_lost") == 0, f.col("state"))
    keyed = placed.withColumn("key", f.xxhash64("origin", *journeys.MARKS, state)).select(
        "key", "event_id", "origin", "ts_us", state.isNotNull().alias("is_calm")
    )
    keyed = keyed.persist(StorageLevel.DISK_ONLY)
    alike = keyed.groupBy("key").agg(
        f.first("event_id").alias("event_id"),
        f.first("origin").alias("origin"),
        f.first("is_calm").alias("is_calm"),
        f.count("*").alias("events"),
        f.min("ts_us").alias("first_us"),
    )
    alike = alike.limit(MOST_ALIKE + 1).persist()
    rows = alike.collect()
    if len(rows) > MOST_ALIKE:
        why = f"more than {MOST_ALIKE} events went each its own way"
        return [Finding(JOB, multicast.TREES, State.OPEN, reason=why)], _costs(recorded, keyed, ())
    full = journeys.in_full(recorded, alike)
    found = [Alike(row.key, full[bytes(row.event_id)], row.events, row.first_us, row.is_calm) for row in rows]
    judged = multicast.judge(found, _network(recorded, found), _silent(recorded))
    return multicast.rows(judged, gone), _costs(recorded, keyed, judged)


def _network(recorded: Recorded, found: Sequence[Alike]) -> Network | None:
    homes = {node for each in found for way in each.journey.sent for node in way}
    homes.update(node for each in found for node in each.journey.hops)
    return None if {"routes", "roles"} & recorded.missing else network(recorded, sorted(homes))


def _silent(recorded: Recorded) -> frozenset[int]:
    """Homes of clients that went OFF or ended an interest: what was meant for them, they may not have been given."""
    left = recorded.tables["sessions"].where("state = 'off'").select("node")
    ended = recorded.tables["interests"].where("client is not null and change = 'unsubscribe'").select("node")
    return frozenset(row.node for row in left.unionAll(ended).distinct().collect())


def _costs(recorded: Recorded, keyed: DataFrame, judged: Sequence[Judged]) -> DataFrame:
    """event_id, subject, published_us, measured, expected: of each event that routes put a price on."""
    rows = [(each.alike.key, each.alike.measured, each.price.most) for each in judged if each.price is not None]
    prices = keyed.sparkSession.createDataFrame(rows, COST)
    subjects = recorded.tables["publishes"].groupBy("event_id").agg(f.first("subject").alias("subject"))
    return (
        keyed.join(f.broadcast(prices), "key")
        .join(subjects.hint("shuffle_hash"), "event_id")
        .select("event_id", "subject", f.col("ts_us").alias("published_us"), "measured", "expected")
    )
