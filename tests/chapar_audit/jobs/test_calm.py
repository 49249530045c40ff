"""When the network stood still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.calm import SECOND_US, Calm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")


def test_what_begins_and_ends_between_two_changes_met_one_state(
    spark: SparkSession, made: Callable[..., Recorded]
) -> None:
    """A route changes in second 5 and a broker comes in second 8, node 2 starts again in 13 and was heard of in 11.

    A regular node that drops its tables changes nothing; beyond the end nothing is known.
    """
    acks = ("rx", 1, "ack", "control", 9, None, None, 0, "r", 2)
    recorded = made(
        starts=[(1, 0), (2, 0), (2, 13_500_000)],
        routes=[(5_100_000, 3, 2, 2, "r", 1)],
        roles=[(8_200_000, "broker", "mpr", "r", 1), (9_500_000, "regular", "none", "r", 2)],
        frames=[(ts_us, *acks) for ts_us in (3_000_000, 11_900_000, 14_000_000)],
    )
    still = {(1, 4), (6, 7), (9, 10), (12, 12), (14, 19), (15, 16)}
    spans = [*still, (4, 5), (7, 9), (10, 12), (13, 14), (19, 20), (15, 25)]
    rows = spark.createDataFrame(spans, "begin long, end long")
    marked = Calm(recorded).marked(rows, f.col("begin") * SECOND_US, f.col("end") * SECOND_US)
    states = {(row.begin, row.end): row.state for row in marked.collect()}
    assert {span for span in spans if states[span] is not None} == still
    assert states[14, 19] == states[15, 16] != states[9, 10]
