"""Linear algebra with one thread: its matrices are small, and tests share the processors already. One Spark for all.

What uses Spark says `pytestmark = pytest.mark.xdist_group("spark")`, so that one worker runs it all and starts one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from chapar_audit import session
from chapar_sim.datasets import write
from chapar_sim.scenario import load
from chapar_sim.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CHAIN = """
name = "chain"
duration = 40
settle = 10
nodes = 4
[topology]
kind = "chain"
[[client]]
name = "source"
node = 1
publish = [{ subject = "sample", payload = 64, every = 0.5, start = 5, count = 40 }]
[[client]]
name = "sink"
nodes = [2, 4]
subscribe = [{ filter = 'subject = "sample"' }]
"""
"""Four nodes in a row, forty events from one end to the other and to the second."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        session.check_java()
    except session.NoSparkError as error:
        pytest.skip(str(error))
    started = session.start("local[2]")
    yield started
    started.stop()


@pytest.fixture(scope="session")
def chain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of CHAIN in the simulator, as Parquet. Nobody may write there."""
    folder = tmp_path_factory.mktemp("chain")
    (folder / "chain.toml").write_text(CHAIN, encoding="utf-8")
    scenario = load(folder / "chain.toml")
    write(World(scenario, record_rows=True).run(), "chain", folder)
    return folder
