"""What was recorded is whole and fits together, or a row says what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.input import early_deliveries, judge, strays
from chapar_audit.recorded import load, spark_schema
from chapar_audit.verdict import State, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

MINUTE = 60_000_000


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, chain_run: Path) -> Recorded:
    return load(spark, chain_run)


def deviating(recorded: Recorded) -> list[tuple[str, str]]:
    found = judge(recorded).findings
    assert state_of(found) is State.DEVIATES
    return [(each.subject, each.reason) for each in found if each.state is State.DEVIATES]


def test_a_whole_run_holds(recorded: Recorded) -> None:
    """In every row."""
    found = judge(recorded).findings
    assert {each.state for each in found} == {State.HOLDS}
    assert len(found) == 3


def test_each_complaint_is_a_row(recorded: Recorded) -> None:
    """That deviates."""
    spoilt = replace(recorded, complaints=("this cannot be read", "nor this"))
    assert [reason for _, reason in deviating(spoilt)] == ["this cannot be read", "nor this"]


def test_what_was_not_recorded_is_open(recorded: Recorded) -> None:
    """A run in the field has no medium that records."""
    found = judge(replace(recorded, missing=frozenset({"air", "removals", "deliveries"}))).findings
    (row,) = (each for each in found if each.state is State.OPEN)
    assert row.reason.startswith("not recorded: air, deliveries, removals; ")
    assert state_of(found) is State.HOLDS


def test_what_recorders_removed_is_known_to_be_missing(spark: SparkSession, recorded: Recorded) -> None:
    """By node, and the verdict does not hold."""
    removed = spark.createDataFrame(
        [(1, "frames", 700, 9, "chain", 2), (2, "frames", 50, 9, "chain", 2), (2, "losses", 5, 9, "chain", 4)],
        spark_schema("removals"),
    )
    ((subject, reason),) = deviating(replace(recorded, tables={**recorded.tables, "removals": removed}))
    assert subject == "recorders kept all"
    assert reason.startswith("recorders removed rows to keep to their disk budget: 750 of node 2, 5 of node 4; ")


def test_a_node_of_another_time_is_noticed(recorded: Recorded) -> None:
    """One clock is an hour ahead."""
    first, last = recorded.spans[3]
    spans = {**recorded.spans, 3: (first + 60 * MINUTE, last + 60 * MINUTE)}
    ((subject, reason),) = deviating(replace(recorded, spans=spans))
    assert subject == "nodes recorded at the same time"
    assert reason.startswith("node 3 recorded 35")


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ({}, {}),
        ({1: (0, 1)}, {}),
        ({1: (0, MINUTE), 2: (MINUTE // 2, 2 * MINUTE)}, {}),
        ({1: (0, MINUTE), 2: (2 * MINUTE, 3 * MINUTE)}, {}),
        ({1: (0, MINUTE), 2: (0, MINUTE), 3: (3 * MINUTE, 4 * MINUTE)}, {3: 120}),
        ({1: (0, MINUTE), 2: (0, 3 * MINUTE), 3: (3 * MINUTE, 4 * MINUTE)}, {}),
    ],
)
def test_a_node_may_come_late_but_not_alone(spans: dict[int, tuple[int, int]], found: dict[int, float]) -> None:
    """A minute of nobody else's records is too much."""
    assert strays(spans) == found


def test_deliveries_before_their_event_are_counted_by_pair(spark: SparkSession) -> None:
    """A millisecond is forgiven; an event of an unknown time is not compared."""
    event = bytes(10)
    rows: list[tuple[Any, ...]] = [
        (now, "c", event, origin, published, 1, "realtime", 0, "run", 2)
        for now, origin, published in ((10_000, 1, 9_000), (10_000, 1, 10_900), (10_000, 1, 12_000), (10_000, 3, None))
    ]
    rows.append((0, "c", event, 1, 5_000, 1, "realtime", 0, "run", 2))
    found = early_deliveries(spark.createDataFrame(rows, spark_schema("deliveries"))).collect()
    assert [row.asDict() for row in found] == [{"origin": 1, "node": 2, "deliveries": 2, "early_us": 5_000}]


def test_a_clock_that_is_behind_is_named(recorded: Recorded) -> None:
    """By its node, and by how much."""
    early = recorded.tables["deliveries"].withColumn(
        "ts_us", f.when(f.col("node") == 4, f.col("ts_us") - 3_000_000).otherwise(f.col("ts_us"))
    )
    ((subject, reason),) = deviating(replace(recorded, tables={**recorded.tables, "deliveries": early}))
    assert subject == "nothing is delivered before it is published"
    assert reason.startswith("the clock of node 4 is at least ")
    assert reason.endswith("s behind that of node 1")
