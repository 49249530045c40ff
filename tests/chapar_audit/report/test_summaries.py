"""What the report makes of the tables of the jobs, with Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.recorded import load
from chapar_audit.report import summaries, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def table(spark: SparkSession, schema: str, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), schema).coalesce(1)


BY_CLASS = "window_us long, traffic_class string, kind string, messages long, bytes long"
BY_LINK = "node int, peer int, traffic_class string, messages long, bytes long"


def test_time_is_cut_into_few_spans(spark: SparkSession) -> None:
    """However long the run; nothing is lost, and a span is a whole number of windows, whatever happened in each."""
    windows = [(1_000_000 * place, "data", "event", 1, 10) for place in range(1000) if place != 500]
    found = summaries.rows_of(summaries.over_time(table(spark, BY_CLASS, *windows)))
    assert len(found) <= summaries.MOST_BINS
    assert {row["width_s"] for row in found} == {9.0}
    assert sum(row["bytes"] for row in found) == 9_990


def test_a_single_window_is_a_span(spark: SparkSession) -> None:
    """Whatever its width is."""
    found = summaries.rows_of(summaries.over_time(table(spark, BY_CLASS, (5, "data", "event", 1, 10))))
    assert [(row["start_s"], row["bytes"]) for row in found] == [(0.0, 10)]


def test_links_join_both_directions(spark: SparkSession) -> None:
    """What has no peer is no link."""
    rows = ((1, 2, "data", 1, 10), (2, 1, "data", 1, 5), (1, None, "control", 1, 99))
    assert summaries.rows_of(summaries.links(table(spark, BY_LINK, *rows))) == [
        {"a": 1, "b": 2, "traffic_class": "data", "bytes": 15}
    ]


def test_costs_are_grouped_by_the_nodes_served(spark: SparkSession) -> None:
    """Two clients at one node are one; without sharing, each node costs its own hops."""
    costs = table(
        spark, "event_id binary, subject string, published_us long, measured long, expected double",
        (b"a", "s", 0, 3, 3.0), (b"b", "s", 0, 5, 4.0),
    )  # fmt: skip
    given = table(
        spark,
        "event_id binary, node int, hops short",
        (b"a", 2, 1),
        (b"a", 2, 1),
        (b"a", 3, 2),
        (b"b", 2, 1),
        (b"b", 4, 3),
    )
    (row,) = summaries.rows_of(summaries.costs(costs, given))
    assert (row["subscribers"], row["events"], row["measured"], row["expected"]) == (2, 2, 4.0, 3.5)
    assert row["alone"] == 3.5


def test_a_run_of_the_simulator_becomes_a_report(spark: SparkSession, chain_run: Path, tmp_path: Path) -> None:
    """The network from recorded routes and roles, and the tables that there are."""
    recorded = load(spark, chain_run)
    tables = {
        "traffic.by_class": table(spark, BY_CLASS, (0, "data", "event", 1, 10)),
        "traffic.by_link": table(spark, BY_LINK, (1, 2, "data", 1, 10), (2, 1, "data", 1, 5)),
        "delivery.undelivered": table(spark, "event_id binary, home int, client string, reason string",
                                      (b"a", 1, "c", "no_route"), (b"b", 1, "c", "no_route")),
        "truth.told_and_seen": table(
            spark, "node int, kind string, told_frames long, told_bytes long, seen_frames long, seen_bytes long",
            (1, "beacon", 1, 2, 3, 4), (2, "beacon", 1, 2, 3, 4)),
    }  # fmt: skip
    rows = summaries.gathered(recorded, tables)
    assert {(row["a"], row["b"]) for row in rows["neighbours"]} == {(1, 2), (2, 3), (3, 4)}
    assert {row["node"] for row in rows["brokers"]} == {1, 2, 3, 4}
    assert rows["reasons"] == [{"reason": "no_route", "count": 2}]
    assert rows["told"] == [{"kind": "beacon", "told_frames": 2, "seen_frames": 6, "told_bytes": 4, "seen_bytes": 8}]
    write(tmp_path / "report.html", recorded, [], tables)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert "no table delivery.latency" in page
