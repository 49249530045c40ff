"""What daemons say against what the medium saw: honest runs hold, and each planted lie is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.truth import judge
from chapar_audit.recorded import load, spark_schema
from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

AGREEING = [
    "frames sent, as daemons say and the medium saw",
    "bytes sent, as daemons say and the medium saw",
    "frames received, as daemons say and the medium saw",
    "bytes received, as daemons say and the medium saw",
]


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, chain_run: Path) -> Recorded:
    """The chain, held in memory: it is judged again and again."""
    found = load(spark, chain_run)
    return with_tables(found, **{name: found.tables[name].coalesce(1).cache() for name in ("frames", "air", "routes")})


def with_tables(recorded: Recorded, **tables: DataFrame) -> Recorded:
    return replace(recorded, tables={**recorded.tables, **tables})


def red(recorded: Recorded) -> dict[str, Finding]:
    return {each.subject: each for each in judge(recorded).findings if each.state is State.DEVIATES}


def test_an_honest_run_agrees_to_the_byte(recorded: Recorded) -> None:
    """In each count, and the table has them all."""
    findings, tables = judge(recorded)
    assert [(each.subject, each.state) for each in findings] == [(subject, State.HOLDS) for subject in AGREEING]
    assert {each.tolerance for each in findings} == {"exact for each node and kind"}
    assert all(each.measured == each.expected for each in findings)
    rows = tables["told_and_seen"].collect()
    assert sum(row.told_bytes for row in rows) == sum(row.seen_bytes for row in rows) == findings[1].measured
    assert {row.node for row in rows} == {1, 2, 3, 4}


def test_without_a_witness_it_is_open(recorded: Recorded) -> None:
    """In the field there is no medium that records; and frames may be left out."""
    for dataset in ("air", "frames"):
        (row,) = judge(replace(recorded, missing=frozenset({dataset}))).findings
        assert row.state is State.OPEN
        assert f"`{dataset}` was not recorded" in row.reason


def test_rows_that_are_missing_twice_or_invented_are_named(recorded: Recorded) -> None:
    """Of one node beacons are deleted, of another all is there twice, on a link is more than was sent, sizes differ."""
    frames = recorded.tables["frames"]
    invented = frames.where("node = 3 and direction = 'tx' and peer = 4").withColumn("ts_us", f.col("ts_us") + 1)
    size = f.when(f.expr("node = 4 and kind = 'ack'"), f.col("bytes") + 1).otherwise(f.col("bytes"))
    lies = (
        frames.where("not (node = 1 and kind = 'beacon' and direction = 'tx')")
        .unionAll(frames.where("node = 2"))
        .unionAll(invented)
        .withColumn("bytes", size.cast("int"))
    )
    found = red(with_tables(recorded, frames=lies))
    assert found["frames that node 1 sent"].reason.startswith("rows of node 1 are missing: ")
    assert found["frames that node 1 sent"].reason.endswith(" beacon")
    assert found["frames that node 1 sent"].measured == 0
    assert found["frames that node 2 sent"].reason.startswith("rows of node 2 are duplicated: ")
    assert found["frames that node 2 received"].reason.startswith("rows of node 2 are duplicated: ")
    assert found["frames that node 3 sent"].reason.startswith("node 3 says it sent what nobody heard on the air: ")
    assert " event" in found["frames that node 3 sent"].reason
    assert found["bytes that node 4 sent"].reason.startswith("sizes that node 4 recorded are not those on the air: ")
    assert len(found) == 5


def test_where_both_ends_agree_the_medium_is_doubted(recorded: Recorded) -> None:
    """The traffic of node 1 is there twice on the air only, that of node 4 not at all; 2 invents what it heard of 3."""
    air, frames = recorded.tables["air"], recorded.tables["frames"]
    lies = air.where("sender != 4").unionAll(air.where("sender = 1"))
    invented = frames.where("node = 2 and direction = 'rx' and peer = 3").withColumn("ts_us", f.col("ts_us") + 1)
    found = red(with_tables(recorded, air=lies, frames=frames.unionAll(invented)))
    assert found["frames that node 1 sent"].reason.startswith("rows of `air` of sender 1 are duplicated, ")
    assert found["frames that node 4 sent"].reason.startswith("rows of `air` of sender 4 are missing, ")
    assert found["frames that node 3 received"].reason.startswith("rows of `air` of sender 4 are missing, ")
    assert "node 2 says it received what was not on the air for it: " in found["frames that node 2 received"].reason
    assert "rows of `air` of sender 1 are duplicated, " in found["frames that node 2 received"].reason


def test_what_the_recorder_removed_is_the_reason(spark: SparkSession, recorded: Recorded) -> None:
    """Not that somebody lied; and what nobody of ours sent is told apart."""
    removals = spark.createDataFrame([(9, "frames", 7, 1, "chain", 2)], spark_schema("removals"))
    stranger: list[Any] = [(1, 9, [1], 99, 7701, [], ["garbage"], [57], None, "chain")]
    air = recorded.tables["air"].unionByName(spark.createDataFrame(stranger, spark_schema("air")))
    fewer = recorded.tables["frames"].where("node != 2 or ts_us > 12000000")
    found = {
        each.subject: each for each in judge(with_tables(recorded, frames=fewer, removals=removals, air=air)).findings
    }
    assert found["frames that node 2 sent"].reason.startswith("the recorder of node 2 removed 7 rows ")
    strange = found["datagrams that are no frames of chapard's"]
    assert (strange.state, strange.measured) == (State.OPEN, 1)
