"""Runs that are made up, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.recorded import Recorded, spark_schema
from chapar_audit.schema import DATASETS
from chapar_audit.survey import Start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession


@pytest.fixture
def made(spark: SparkSession) -> Callable[..., Recorded]:
    """Makes a run of 20 seconds of nodes 1 and 2 from rows by dataset, and when which daemons started."""

    def make(starts: Sequence[tuple[int, int]] = ((1, 0), (2, 0)), **rows: Sequence[tuple[Any, ...]]) -> Recorded:
        return Recorded(
            run="r",
            world="sim",
            mode="chapar",
            settings={},
            tables={name: spark.createDataFrame(rows.get(name, []), spark_schema(name)) for name in DATASETS},
            missing=frozenset(set(DATASETS) - set(rows)),
            starts=tuple(Start(node, ts_us, "sim", {}) for node, ts_us in starts),
            spans={1: (0, 20_000_000), 2: (0, 20_000_000)},
        )

    return make
