"""Traffic in tables, whatever the mode, and the model that judges it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chapar_audit.jobs import traffic
from chapar_audit.recorded import load, spark_schema
from chapar_audit.report import summaries
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def sums(spark: SparkSession, *rows: tuple[int, str, int | None, str, int]) -> DataFrame:
    """Of frames of node 1: time, direction, peer, kind, bytes."""
    filled = [
        (ts_us, direction, peer, kind, "control", size, None, None, 0, "run", 1)
        for ts_us, direction, peer, kind, size in rows
    ]
    return traffic.transmitted(spark.createDataFrame(filled, spark_schema("frames")))


def test_what_daemons_transmitted_is_added_up_by_kind_in_windows_of_a_second(spark: SparkSession) -> None:
    """What they received is not; a window begins at a whole second, before the epoch as well."""
    table = traffic.by_class(
        sums(
            spark, (-1, "tx", None, "beacon", 30), (0, "tx", None, "beacon", 40), (999_999, "tx", 2, "beacon", 50),
            (5, "rx", 2, "beacon", 40), (1_000_000, "tx", 2, "ack", 9),
        )
    )  # fmt: skip
    assert sorted(map(tuple, table.collect())) == [
        (-1_000_000, "control", "beacon", 1, 30),
        (0, "control", "beacon", 2, 90),
        (1_000_000, "control", "ack", 1, 9),
    ]


def test_what_daemons_transmitted_is_added_up_by_link_and_without_one_if_it_was_broadcast(spark: SparkSession) -> None:
    table = traffic.by_link(sums(spark, (0, "tx", 2, "ack", 9), (1, "tx", 2, "nack", 8), (2, "tx", None, "hello", 7)))
    assert {tuple(row) for row in table.collect()} == {(1, 2, "control", 2, 17), (1, None, "control", 1, 7)}


def test_the_tables_are_what_the_report_draws(spark: SparkSession, chain_run: Path) -> None:
    """All bytes over time are all bytes by kind; nothing but links of the chain carried anything to one node."""
    recorded = load(spark, chain_run)
    tables = {f"traffic.{name}": table for name, table in traffic.judge(recorded).tables.items()}
    drawn = summaries.gathered(recorded, tables)
    assert sum(row["bytes"] for row in drawn["over_time"]) == sum(row["bytes"] for row in drawn["kinds"])
    assert {(row["a"], row["b"]) for row in drawn["links"]} == {(1, 2), (2, 3), (3, 4)}


def test_a_mode_without_a_model_is_open_and_still_has_its_tables(spark: SparkSession, chain_run: Path) -> None:
    judged = traffic.judge(replace(load(spark, chain_run), mode="pigeon"))
    assert [each.state for each in judged.findings] == [State.OPEN]
    assert set(judged.tables) == {"by_class", "by_link"}


def test_the_traffic_of_trees_is_judged_by_their_model(spark: SparkSession, chain_run: Path) -> None:
    """A run that has no tree is told apart from one that has, by the rows there are."""
    recorded = replace(load(spark, chain_run), mode="tree")
    assert "tree" in " ".join(each.subject for each in traffic.judge(recorded).findings)
