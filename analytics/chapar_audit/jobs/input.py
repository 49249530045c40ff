"""Whether what was recorded is whole and fits together: files, datasets, what recorders gave up, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from chapar_audit.schema import DATASETS
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.recorded import Recorded

JOB: Final = "input"
MICRO: Final = 1e6
APART: Final = 60.0
"""Seconds by which the records of a node may miss those of all others before its clock is in doubt."""
EARLY: Final = 0.001
"""Seconds by which a clock may be off: what the finest unit of the wire hides."""


def judge(recorded: Recorded) -> Judgement:
    """A row for each complaint, and for each thing that was checked."""
    return Judgement([*_files(recorded), *_datasets(recorded), *_removals(recorded), *_clocks(recorded)])


def _files(recorded: Recorded) -> Iterator[Finding]:
    for complaint in recorded.complaints:
        yield Finding(JOB, "everything recorded can be read", State.DEVIATES, reason=complaint)
    if not recorded.complaints:
        yield Finding(JOB, "everything recorded can be read", State.HOLDS, recorded.rows, unit="rows")


def _datasets(recorded: Recorded) -> Iterator[Finding]:
    if recorded.missing:
        names = ", ".join(sorted(recorded.missing))
        left = len(DATASETS) - len(recorded.missing)
        why = f"not recorded: {names}; what rests on them stays open or is left out"
        yield Finding(JOB, "every dataset is there", State.OPEN, left, len(DATASETS), reason=why)


def _removals(recorded: Recorded) -> Iterator[Finding]:
    """What recorders themselves removed is known to be missing."""
    if "removals" in recorded.missing:
        return
    gone = recorded.tables["removals"].groupBy("node").agg(f.sum("rows").alias("rows")).orderBy("node").collect()
    if gone:
        some = ", ".join(f"{row.rows} of node {row.node}" for row in gone[:4]) + (", …" if len(gone) > 4 else "")
        why = f"recorders removed rows to keep to their disk budget: {some}; raise the budget, or collect more often"
        yield Finding(JOB, "recorders kept all", State.DEVIATES, sum(row.rows for row in gone), 0, "rows", "exact", why)


def _clocks(recorded: Recorded) -> Iterator[Finding]:
    stray = strays(recorded.spans)
    why = ""
    if stray:
        node, seconds = max(stray.items(), key=lambda item: item[1])
        why = f"node {node} recorded {seconds:.0f} s apart from all others: a wrong clock, or another run"
    state = State.DEVIATES if stray else State.HOLDS
    if len(recorded.spans) > 1:
        yield Finding(JOB, "nodes recorded at the same time", state, len(stray), 0, "nodes", f"{APART:g} s", why)
    early = early_deliveries(recorded.tables["deliveries"]).collect()
    late = ""
    if early:
        worst = max(early, key=lambda row: row.early_us)
        by = f"at least {worst.early_us / MICRO:.3g} s"
        late = f"the clock of node {worst.node} is {by} behind that of node {worst.origin}"
    if not {"deliveries", "publishes"} & recorded.missing:
        state = State.DEVIATES if early else State.HOLDS
        number = sum(row.deliveries for row in early)
        yield Finding(JOB, "nothing is delivered before it is published", state, number, 0, "", "1 ms", late)


def strays(spans: Mapping[int, tuple[int, int]]) -> dict[int, float]:
    """Nodes whose records lie apart from those of all others, and by how many seconds."""
    found = {}
    for node, (first, last) in spans.items():
        others = [span for other, span in spans.items() if other != node]
        gap = min((max(first - end, start - last) for start, end in others), default=0) / MICRO
        if gap > APART:
            found[node] = gap
    return found


def early_deliveries(deliveries: DataFrame) -> DataFrame:
    """By pair of nodes, how many deliveries came before their event was published, and by how much at most."""
    early = f.col("published_us") - f.col("ts_us")
    return (
        deliveries.where(early > EARLY * MICRO)
        .groupBy("origin", "node")
        .agg(f.count("*").alias("deliveries"), f.max(early).alias("early_us"))
    )
