"""Whether nodes beacon at their pace (Trickle): soon after news, but not at once again, and never later than refreshed.

A beacon follows the one before it after a quarter of the shortest interval at least, and after the refresh period at
most, which is also how soon a daemon says something at first. What it says as it stops may follow at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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


class Node(NamedTuple):
    """The beacons of one node."""

    node: int
    beacons: int
    spent_us: int
    """From each to the next, added up."""
    hasty: int
    longest_us: int
    is_overdue: bool


def rows(recorded: Recorded, protocol: Protocol, removed: int) -> list[Finding]:
    """One row on the beacons of all nodes; none, where none was recorded."""
    late = LATE_US.get(recorded.world, LATE_ELSEWHERE_US)
    soonest = round(SOONEST * protocol.beacon_min * 1e6) - late
    latest = round(protocol.refresh_period * 1e6) + late
    told = of_nodes(recorded.tables["frames"], recorded.tables["runs"], soonest).collect()
    found = [_to_the_end(row, recorded.spans.get(row.node, (0, row.last_us))[1], latest) for row in told]
    return [_finding(found, protocol, removed)] if any(each.beacons for each in found) else []


def of_nodes(frames: DataFrame, runs: DataFrame, soonest_us: int) -> DataFrame:
    """By node: beacons, and of the times from each to the next: spent_us, how many are hasty, longest_us; last_us."""
    is_beacon = f.lit(True).alias("is_beacon")  # noqa: FBT003
    heard = frames.where("direction = 'tx' and kind = 'beacon' and peer is null").select("node", "ts_us", is_beacon)
    began = runs.select("node", "ts_us", f.lit(False).alias("is_beacon"))  # noqa: FBT003
    by_time = Window.partitionBy("node").orderBy("ts_us", "is_beacon")
    gap = f.when(f.col("is_beacon"), f.col("ts_us") - f.lag("ts_us").over(by_time))
    is_inner = f.lag("is_beacon").over(by_time) & f.lead("is_beacon").over(by_time)
    gaps = heard.unionAll(began).select("node", "ts_us", "is_beacon", gap.alias("gap"), is_inner.alias("is_inner"))
    return gaps.groupBy("node").agg(
        f.count_if("is_beacon").alias("beacons"),
        f.coalesce(f.sum("gap"), f.lit(0)).alias("spent_us"),
        f.count_if((f.col("gap") < soonest_us) & f.col("is_inner")).alias("hasty"),
        f.coalesce(f.max("gap"), f.lit(0)).alias("longest_us"),
        f.max("ts_us").alias("last_us"),
    )


def _to_the_end(row: Row, end_us: int, latest_us: int) -> Node:
    """With the time from its last beacon to the end of what it recorded."""
    longest = max(row.longest_us, end_us - row.last_us)
    return Node(row.node, row.beacons, row.spent_us, row.hasty, longest, longest > latest_us)


def _finding(found: Sequence[Node], protocol: Protocol, removed: int) -> Finding:
    period, soonest = protocol.refresh_period, SOONEST * protocol.beacon_min
    hasty = [row for row in found if row.hasty]
    overdue = [row for row in found if row.is_overdue]
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
    return Finding(JOB, subject, state, measured, least, "beacons", tolerance, "; ".join(said))
