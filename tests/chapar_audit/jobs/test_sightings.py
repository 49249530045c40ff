"""Frames told and seen, and what may keep them apart, from rows made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs import sightings
from chapar_audit.recorded import spark_schema
from chapar_audit.survey import Start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

MS = 1000
SECOND = 1_000_000


def frames(spark: SparkSession, *rows: tuple[int, int, str, int | None]) -> DataFrame:
    """Events of 10 bytes: when, at which node, in which direction, and the peer."""
    made: list[Any] = [(at, way, peer, "event", "data", 10, None, None, 0, "r", node) for at, node, way, peer in rows]
    return spark.createDataFrame(made, spark_schema("frames")).coalesce(1)


def air(spark: SparkSession, *rows: tuple[int, int, list[int], list[int], int]) -> DataFrame:
    """Datagrams of a header and an event: when, who sent, heard and missed them, and whose they are."""
    made: list[Any] = [
        (at, sender, heard, 63, 7701, lost, ["link", "event"], [11, 10], source, "r")
        for at, sender, heard, lost, source in rows
    ]
    return spark.createDataFrame(made, spark_schema("air")).coalesce(1)


def rows(found: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in found.collect())


def test_frames_are_counted_by_who_sent_and_who_heard_them(spark: SparkSession) -> None:
    """One from 1 to 3 by way of 2; then one to all, which 2 hears twice."""
    seen = sightings.aired(air(spark, (0, 1, [2], [], 1), (1, 2, [3], [], 1), (2, 1, [2, 2, 3], [4], 1)))
    events = seen.where("kind = 'event'")
    assert rows(sightings.sent(events)) == [(1, 1, "event", 2, 20), (2, 1, "event", 1, 10)]
    assert rows(sightings.heard(events)) == [(2, 1, "event", 3, 30), (3, 1, "event", 2, 20)]
    assert {row.kind for row in seen.collect()} == {"link", "event"}


def test_a_repetition_is_the_same_to_the_same_soon_after_a_loss(spark: SparkSession) -> None:
    """Not what was heard before, comes at once or a second later, or goes to another or to several."""
    seen = air(
        spark,
        (0, 1, [], [2], 1),
        (2 * MS, 1, [2], [], 1),
        (4 * MS, 1, [2], [], 1),
        (10 * MS, 1, [], [3], 1),
        (10 * MS, 1, [], [3], 1),
        (2 * SECOND, 1, [], [3], 1),
        (3 * SECOND, 2, [], [3], 1),
        (3 * SECOND + 1 * MS, 2, [], [3], 1),
        (4 * SECOND, 4, [], [1, 2], 4),
        (4 * SECOND + MS, 4, [], [1, 2], 4),
    )
    found = rows(sightings.repeated(seen).where("kind = 'event'"))
    assert found == [(1, 1, "event", 1, 10), (2, 1, "event", 1, 10)]


def test_what_is_sent_without_a_route(spark: SparkSession) -> None:
    """Before the first one, or after it went; broadcasts need none."""
    routes = spark.createDataFrame(
        [(5, 2, 2, 1, "r", 1), (9, 2, None, 0, "r", 1), (12, 2, 3, 2, "r", 1)], spark_schema("routes")
    )
    sent = frames(spark, *((at, 1, "tx", 2) for at in (1, 5, 8, 9, 11, 12, 99)), (1, 1, "tx", None), (7, 1, "rx", 2))
    assert rows(sightings.unrouted(sent, routes)) == [(1, "event", 3, 30)]


def test_daemons_are_silent_before_a_start_and_when_they_hang(spark: SparkSession) -> None:
    """Its rows end at 3 s before a start at 5 s; at 10 s it hangs for more than two periods of 4 s."""
    told = frames(spark, *((at * SECOND, 1, "tx", 2) for at in (1, 2, 3, 6, 10, 20, 27, 30)), (SECOND, 2, "tx", 1))
    starts = [Start(1, 0, "sim", {}), Start(1, 5 * SECOND, "sim", {}), Start(2, 0, "sim", {})]
    silent = sightings.silences(told, starts, {1: 4.0, 2: 4.0}).cache()
    found = {tuple(row)[1:] for row in silent.collect() if row.node == 1}
    assert found == {
        (None, SECOND),
        (3 * SECOND, 6 * SECOND),
        (10 * SECOND, 20 * SECOND),
        (30 * SECOND, None),
    }
    times = (0, 2 * SECOND, 4 * SECOND, 15 * SECOND, 25 * SECOND, 31 * SECOND)
    missed = sightings.unheard(air(spark, *((at, 2, [1], [], 2) for at in times)), silent)
    assert rows(missed.where("kind = 'event'")) == [(1, 2, "event", 4, 40)]
    assert rows(sightings.cut_off(told, silent)) == [(1, "event", 3, 30), (2, "event", 1, 10)]


def test_rows_that_are_there_more_than_once(spark: SparkSession) -> None:
    """How many are too many."""
    told = frames(spark, (1, 1, "tx", 2), (1, 1, "tx", 2), (1, 1, "tx", 2), (2, 1, "tx", 2))
    assert rows(sightings.doubled(told)) == [(1, "tx", "event", 2)]
