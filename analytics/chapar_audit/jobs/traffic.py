"""What daemons transmitted: by time, by link, and against the model of how the run routed its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql import functions as f

from chapar_audit.jobs import chapar, interest
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, GroupedData

    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
WINDOW_US: Final = 1_000_000
"""In which traffic is added up over time."""
MODELS: Final[Mapping[str, Callable[[Recorded], Judgement]]] = {
    "tree": interest.judge_tree,
    "chapar": chapar.judge_chapar,
}
"""By routing mode: what judges the traffic of a run."""


def judge(recorded: Recorded) -> Judgement:
    """The traffic of a run, in tables whatever its mode, and the verdict of the model for it."""
    model = MODELS.get(recorded.mode)
    if model is None:
        reason = f"there is no model of how routing mode {recorded.mode} carries events"
        judged = Judgement([Finding(JOB, "traffic", State.OPEN, reason=reason)])
    else:
        judged = model(recorded)
    sums = transmitted(recorded.tables["frames"]).persist(StorageLevel.DISK_ONLY)
    return Judgement(judged.findings, {"by_class": by_class(sums), "by_link": by_link(sums), **judged.tables})


def transmitted(frames: DataFrame) -> DataFrame:
    """What daemons transmitted, in windows (window_us is where one begins), by link and kind: messages, bytes."""
    window = f.col("ts_us") - f.pmod("ts_us", f.lit(WINDOW_US))
    groups = frames.where("direction = 'tx'").groupBy(
        window.alias("window_us"), "node", "peer", "traffic_class", "kind"
    )
    return groups.agg(f.count("*").alias("messages"), f.sum("bytes").alias("bytes"))


def by_class(sums: DataFrame) -> DataFrame:
    """What all daemons transmitted, in windows."""
    return _added(sums.groupBy("window_us", "traffic_class", "kind"))


def by_link(sums: DataFrame) -> DataFrame:
    """What each daemon transmitted to each other one, or, without a peer, to all in range."""
    return _added(sums.groupBy("node", "peer", "traffic_class"))


def _added(groups: GroupedData) -> DataFrame:
    return groups.agg(f.sum("messages").alias("messages"), f.sum("bytes").alias("bytes"))
