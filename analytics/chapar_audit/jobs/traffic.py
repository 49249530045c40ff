"""What daemons transmitted: by time, by link, and against the model of how the run routed its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
    frames = recorded.tables["frames"]
    model = MODELS.get(recorded.mode)
    if model is None:
        reason = f"there is no model of how routing mode {recorded.mode} carries events"
        judged = Judgement([Finding(JOB, "traffic", State.OPEN, reason=reason)])
    else:
        judged = model(recorded)
    return Judgement(judged.findings, {"by_class": by_class(frames), "by_link": by_link(frames), **judged.tables})


def by_class(frames: DataFrame) -> DataFrame:
    """What all daemons transmitted, by kind, in windows: window_us (its begin), messages, bytes."""
    window = f.col("ts_us") - f.pmod("ts_us", f.lit(WINDOW_US))
    return _sums(_transmitted(frames).groupBy(window.alias("window_us"), "traffic_class", "kind"))


def by_link(frames: DataFrame) -> DataFrame:
    """What each daemon transmitted to each other one, or, without a peer, to all in range: messages, bytes."""
    return _sums(_transmitted(frames).groupBy("node", "peer", "traffic_class"))


def _transmitted(frames: DataFrame) -> DataFrame:
    return frames.where("direction = 'tx'")


def _sums(groups: GroupedData) -> DataFrame:
    return groups.agg(f.count("*").alias("messages"), f.sum("bytes").alias("bytes"))
