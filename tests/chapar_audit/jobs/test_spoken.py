"""Counting in Spark what went over the links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from chapar_audit.jobs.spoken import OUTSIDE, Batches, batches, spoken
from chapar_audit.jobs.wishes import Span
from chapar_audit.recorded import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SECOND = 1_000_000
SPAN = Span(SECOND, 3 * SECOND, np.array([3 * SECOND // 2, 5 * SECOND // 2]))
FILTER = bytearray(range(20))


def test_messages_are_counted_by_way_kind_and_batch(spark: SparkSession) -> None:
    """Those within the span; repetitions and rows of clients apart, a fragmented event once."""
    interests = [
        (ts, client, peer, direction, FILTER, change, "r", 1)
        for ts, client, peer, direction, change in (
            (0, None, 2, "tx", "subscribe"),
            (SECOND, None, 2, "tx", "subscribe"),
            (2 * SECOND, None, 2, "tx", "refresh"),
            (2 * SECOND, None, 2, "rx", "refresh"),
            (2 * SECOND, "c", None, None, "subscribe"),
            (3 * SECOND, None, 2, "tx", "refresh"),
        )
    ]
    frames = [
        (ts, direction, 2, kind, traffic, 9, bytearray(10), None, retry, "r", 1)
        for ts, direction, kind, traffic, retry in (
            (0, "tx", "event", "data", 0),
            (SECOND, "tx", "event", "data", 0),
            (SECOND, "tx", "event", "data", 1),
            (2 * SECOND, "rx", "brief", "data", 0),
            (2 * SECOND, "tx", "fragment", "data", 0),
            (2 * SECOND + 5, "tx", "fragment", "data", 0),
            (2 * SECOND, "tx", "fragment", "control", 0),
            (2 * SECOND, "tx", "meet", "control", 0),
            (2 * SECOND, "tx", "beacon", "control", 0),
        )
    ]
    found = spoken(
        spark.createDataFrame(interests, spark_schema("interests")),
        spark.createDataFrame(frames, spark_schema("frames")),
        SPAN,
    )
    assert found.sent[1, 2] == {"subscribe": 1, "refresh": 1, "notification": 2}
    assert found.heard[2, 1] == {"refresh": 1, "notification": 1}
    assert (found.sent_in_all[1, 2], found.heard_in_all[2, 1], found.repeated[1, 2]) == (3, 1, 1)
    assert found.begun == {(1, 2): 1}
    about = bytes(FILTER[:4] + FILTER[12:16])
    assert found.by_class[about, "refresh"] == {1: 1}
    assert found.by_class[b"", "notification"] == {0: 1, 1: 1}


@pytest.mark.parametrize(("periods", "batch"), [(2, Batches(0, 7, 2)), (45, Batches(0, 14, 22))])
def test_batches_are_whole_periods(periods: int, batch: Batches) -> None:
    """At least one each; beyond twenty, several."""
    assert batches(Span(0, 7 * periods, np.arange(periods))) == batch
    assert OUTSIDE < 0
