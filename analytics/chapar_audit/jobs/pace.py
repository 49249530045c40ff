"""Whether nodes beacon at their pace (Trickle): soon after news, but not at once again, and never later than refreshed.

A beacon follows the one before it after a quarter of the shortest interval at least, and after the refresh period at
most. What a daemon says as it stops may follow at once. Across a start nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as f

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row

    from chapar_audit.jobs.protocol import Protocol
    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
SUBJECT: Final = "beacons"
SOONEST: Final = 0.25
"""Share of the shortest interval that lies between two beacons."""
LATE_US: Final = {"sim": 1_000}
"""By world how late a beacon may be recorded; in others, the processor is shared."""
LATE_ELSEWHERE_US: Final = 200_000


def rows(recorded: Recorded, protocol: Protocol, removed: int) -> list[Finding]:
    """One row on the beacons of all nodes; none, where none was recorded."""
    late = LATE_US.get(recorded.world, LATE_ELSEWHERE_US)
    soonest = round(SOONEST * protocol.beacon_min * 1e6) - late
    latest = round(protocol.refresh_period * 1e6) + late
    found = of_nodes(recorded.tables["frames"], recorded.tables["runs"], soonest, latest).collect()
    if not found:
        return []
    return [_finding(found, protocol, removed)]


def of_nodes(frames: DataFrame, runs: DataFrame, soonest_us: int, latest_us: int) -> DataFrame:
    """By node: beacons, spent_us (between one and the next), hasty, longest_us, overdue (of the times between two)."""
    is_beacon = f.lit(True).alias("is_beacon")  # noqa: FBT003
    heard = frames.where("direction = 'tx' and kind = 'beacon' and peer is null").select("node", "ts_us", is_beacon)
    began = runs.select("node", "ts_us", f.lit(False).alias("is_beacon"))  # noqa: FBT003
    by_time = Window.partitionBy("node").orderBy("ts_us", "is_beacon")
    gap = f.when(f.lag("is_beacon").over(by_time), f.col("ts_us") - f.lag("ts_us").over(by_time))
    is_last = ~f.coalesce(f.lead("is_beacon").over(by_time), f.lit(False))  # noqa: FBT003
    gaps = heard.unionAll(began).select("node", "is_beacon", gap.alias("gap"), is_last.alias("is_last"))
    return (
        gaps.where("is_beacon")
        .groupBy("node")
        .agg(
            f.count("*").alias("beacons"),
            f.coalesce(f.sum("gap"), f.lit(0)).alias("spent_us"),
            f.count_if((f.col("gap") < soonest_us) & ~f.col("is_last")).alias("hasty"),
            f.max("gap").alias("longest_us"),
            f.count_if(f.col("gap") > latest_us).alias("overdue"),
        )
    )


def _finding(found: Sequence[Row], protocol: Protocol, removed: int) -> Finding:
    period, soonest = protocol.refresh_period, SOONEST * protocol.beacon_min
    hasty = [row for row in found if row.hasty]
    overdue = [row for row in found if row.overdue]
    said = []
    if hasty:
        worst = max(hasty, key=lambda row: row.hasty)
        count = sum(row.hasty for row in hasty)
        said.append(
            f"{count} follow the one before sooner, of node {worst.node} {worst.hasty}: rows are there twice, or two "
            "daemons go by one number"
        )
    if overdue:
        worst = max(overdue, key=lambda row: row.longest_us)
        why = f"recorders removed {removed} rows" if removed else "rows are missing, the daemon hung, or saved power"
        said.append(f"node {worst.node} was silent for {worst.longest_us / 1e6:.3g} s: {why}")
    least = sum(row.spent_us for row in found) / 1e6 / period
    tolerance = f"of each node at least one in {period:g} s, none within {soonest:g} s of the one before"
    state = State.DEVIATES if said else State.HOLDS
    measured = float(sum(row.beacons for row in found))
    subject = f"{SUBJECT} of {len(found)} nodes"
    return Finding(JOB, subject, state, measured, least, "at least", tolerance, "; ".join(said))
