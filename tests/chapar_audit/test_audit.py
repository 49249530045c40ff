"""All jobs over one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar_audit.audit import JOBS, audit
from chapar_audit.recorded import load

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_every_job_is_run_and_told_of(spark: SparkSession, chain_run: Path) -> None:
    """In the order in which they are shown."""
    told: list[str] = []
    done = audit(load(spark, chain_run), told.append)
    assert told == [name for name, _ in done] == list(JOBS)
