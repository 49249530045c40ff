"""A recorded run as Spark reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar_audit.recorded import RecordedError, load

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_a_run_of_the_simulator_is_read_whole(spark: SparkSession, chain_run: Path) -> None:
    """Every dataset is there under its schema, with the settings of every node."""
    recorded = load(spark, chain_run)
    assert (recorded.run, recorded.world, recorded.mode) == ("chain", "sim", "chapar")
    assert sorted(recorded.settings) == [1, 2, 3, 4]
    assert recorded.missing == frozenset()
    assert recorded.tables["publishes"].count() == 40
    assert recorded.tables["deliveries"].count() == 80
    assert "node" not in recorded.tables["air"].columns


def test_a_folder_without_runs_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """In one line that says what to do."""
    with pytest.raises(RecordedError, match="no dataset `runs` here; name a folder"):
        load(spark, tmp_path)


def test_a_run_that_is_not_there_is_named_with_those_that_are(spark: SparkSession, chain_run: Path) -> None:
    """So that the right one can be asked for."""
    with pytest.raises(RecordedError, match="no run 'other'; there are chain"):
        load(spark, chain_run, "other")
