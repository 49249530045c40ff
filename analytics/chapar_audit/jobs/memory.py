"""Whether memorised events went as Chapar keeps them: flooded once by each broker, and served to each home.

A broker that learns of an event relays it once (STORE), as long as it holds its tables. Of each home its broker serves
it the event, one transmission for each hop, and once more after the time that the protocol gives the home to confirm.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
FLOODS: Final = "STORE floods, relayed once by each broker"
SERVED: Final = "memorised events, served to their homes"
LEASES: Final = "LEASE floods, relayed once by each broker"
MOST_REPEATED: Final = 100_000
"""Relays of one event by one broker that are looked at one by one."""
LEASE_SHARE: Final = 3
"""Renewals in the length of a lease."""
WITHOUT_TABLES: Final = "regular"


# Floods


def flood_rows(recorded: Recorded, removed: int) -> list[Finding]:
    """The row on STORE floods; none without a flood."""
    relays = relays_of(recorded.tables["frames"]).persist()
    total = relays.agg(
        f.sum("relayed").alias("relayed"),
        f.count_if(f.col("relayed") > 0).alias("brokers"),
        f.count_if(f.col("told") == 0).alias("missing"),
    ).first()
    assert total is not None
    if not total.brokers and not total.missing:
        return []
    repeated = relays.where("relayed > 1").limit(MOST_REPEATED).collect()
    spare, worst = _too_often(repeated, _fresh_starts(recorded)) if repeated else (0, None)
    said = []
    if worst is not None:
        said.append(f"{spare} relays are too many, of node {worst} most: its rows are there twice")
    if total.missing:
        why = f"recorders removed {removed} rows" if removed else "rows of their senders are missing"
        said.append(f"{total.missing} relays were received that nobody recorded to have sent: {why}")
    expected = (total.relayed or 0) - spare + total.missing
    state = State.DEVIATES if said else State.HOLDS
    return [
        Finding(
            JOB, FLOODS, state, float(total.relayed or 0), float(expected), "transmissions",
            "exact; once more by brokers that had given up their tables meanwhile", "; ".join(said),
        )
    ]  # fmt: skip


def relays_of(frames: DataFrame) -> DataFrame:
    """By event and broker: how often it relayed it to all in range, first_us and last_us of that, and told anybody."""
    is_told = f.col("direction") == "tx"
    is_relay = is_told & f.col("peer").isNull() & (f.col("retry") == 0)
    relayed_us = f.when(is_relay, f.col("ts_us"))
    return (
        frames.where("kind = 'store' and event_id is not null")
        .groupBy("event_id", f.when(is_told, f.col("node")).otherwise(f.col("peer")).alias("broker"))
        .agg(
            f.count_if(is_relay).alias("relayed"),
            f.count_if(is_told).alias("told"),
            f.min(relayed_us).alias("first_us"),
            f.max(relayed_us).alias("last_us"),
        )
    )


def _fresh_starts(recorded: Recorded) -> dict[int, list[int]]:
    """By node when it began, or was left, without tables: afterwards everything is news to it."""
    found: dict[int, list[int]] = defaultdict(list)
    for row in recorded.tables["roles"].where(f.col("role") == WITHOUT_TABLES).select("node", "ts_us").collect():
        insort(found[row.node], row.ts_us)
    for start in recorded.starts:
        insort(found[start.node], start.ts_us)
    return found


def _too_often(repeated: list[Row], fresh: dict[int, list[int]]) -> tuple[int, int | None]:
    """How many relays nothing accounts for, and the node with most of them."""
    spare: dict[int, int] = defaultdict(int)
    for row in repeated:
        times = fresh.get(row.broker, [])
        allowed = 1 + bisect_right(times, row.last_us) - bisect_right(times, row.first_us)
        spare[row.broker] += max(0, row.relayed - allowed)
    total = sum(spare.values())
    return total, max(spare, key=lambda node: spare[node]) if total else None


# Service


def served_rows(recorded: Recorded, again_s: float, removed: int) -> list[Finding]:
    """The row on memorised events; none without one."""
    tables = recorded.tables
    kept = tables["publishes"].where("delivery != 'realtime'").select("event_id").distinct()
    if kept.isEmpty():
        return []
    of_kept = tables["frames"].join(kept.hint("shuffle_hash"), "event_id", "left_semi")
    of_event = (
        kept.join(service_of(of_kept, round(again_s * 1e6)).hint("shuffle_hash"), "event_id", "left")
        .join(due_of(tables["deliveries"]).hint("shuffle_hash"), "event_id", "left")
        .fillna(0)
        .withColumn("hasty", f.when(f.col("farthest") > 1, 0).otherwise(f.col("hasty")))
    )
    whole = of_event.where("pieces = 0")
    row = of_event.agg(f.count("*").alias("events"), f.count_if(f.col("pieces") == 0).alias("whole")).first()
    assert row is not None
    if not row.whole:
        why = "all were too large for a datagram: of a piece it is not recorded whether it went to a broker or a home"
        return [Finding(JOB, SERVED, State.OPEN, reason=why)]
    total = whole.agg(
        *(f.sum(name).alias(name) for name in ("served", "due", "hasty")),
        f.sum(f.greatest(f.lit(0), f.col("due") - f.col("served"))).alias("missing"),
    ).first()
    assert total is not None
    return [_served(total, row.events - row.whole, again_s, removed)]


def service_of(frames: DataFrame, again_us: int) -> DataFrame:
    """By event: served (transmissions), pieces, and hasty: those that came again before a broker serves once more."""
    is_service = (f.col("kind") == "event") & (f.col("retry") == 0)
    served_us = f.when(is_service, f.col("ts_us"))
    ways = (
        frames.where("direction = 'tx' and kind in ('event', 'fragment') and event_id is not null and peer is not null")
        .groupBy("event_id", "node", "peer")
        .agg(
            f.count_if(is_service).alias("served"),
            f.count_if(f.col("kind") == "fragment").alias("pieces"),
            (f.max(served_us) - f.min(served_us)).alias("spread_us"),
        )
    )
    hasty = f.greatest(f.lit(0), f.col("served") - 1 - f.floor(f.col("spread_us") / again_us))
    sums = [f.sum(name).alias(name) for name in ("served", "pieces", "hasty")]
    return ways.withColumn("hasty", hasty).groupBy("event_id").agg(*sums)


def due_of(deliveries: DataFrame) -> DataFrame:
    """By event: due, the hops to all homes that were served it, and those to the farthest."""
    homes = (
        deliveries.where("via = 'memorised' and hops > 0").groupBy("event_id", "node").agg(f.max("hops").alias("hops"))
    )
    return homes.groupBy("event_id").agg(f.sum("hops").alias("due"), f.max("hops").alias("farthest"))


def _served(total: Row, cut: int, again_s: float, removed: int) -> Finding:
    """`cut` are the events in pieces."""
    more = total.served - total.due + total.missing - total.hasty
    said = []
    if total.missing:
        why = f"recorders removed {removed} rows" if removed else "rows of their brokers are missing"
        said.append(f"clients were given events that {total.missing} transmissions less brought to their homes: {why}")
    if total.hasty:
        said.append(f"{total.hasty} came again within {again_s:g} s: rows are there twice")
    tolerance = "of each event at least the hops to its homes"
    tolerance += f"; {more} again after {again_s:g} s, or to homes that had it or want it no more" if more else ""
    tolerance += f"; {cut} in pieces are left out" if cut else ""
    state = State.DEVIATES if said else State.HOLDS
    expected = total.served + total.missing - total.hasty
    return Finding(
        JOB, SERVED, state, float(total.served), float(expected), "transmissions", tolerance, "; ".join(said)
    )  # fmt: skip


# Leases


def lease_rows(recorded: Recorded, lease_s: float) -> list[Finding]:
    """The row on LEASE floods; none without one."""
    floods = recorded.tables["frames"].where("kind = 'lease' and direction = 'tx' and peer is null and retry = 0")
    row = floods.agg(f.count("*").alias("sent"), f.count_distinct("node").alias("brokers")).first()
    if row is None or not row.sent:
        return []
    period = lease_s / LEASE_SHARE
    renewals = sum(int((last - first) / 1e6 / period) + 1 for first, last in recorded.spans.values())
    most = renewals * row.brokers
    state = State.HOLDS if row.sent <= most else State.DEVIATES
    reason = "" if row.sent <= most else "brokers renew more often than their settings say, or rows are there twice"
    tolerance = f"at most: each broker once in {period:g} s, relayed by each of {row.brokers}"
    return [Finding(JOB, LEASES, state, float(row.sent), float(most), "transmissions", tolerance, reason)]
