"""Routes and roles, moment by moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar_audit.jobs.network import Network, Step, Turn, network
from chapar_audit.recorded import load

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_routes_come_change_and_go() -> None:
    steps = [Step(30, 1, 3, None), Step(10, 1, 3, 2), Step(20, 1, 3, 4)]
    known = Network(steps, (), (1, 2, 3, 4))
    found = []
    for ts_us in (9, 10, 25, 30):
        known.until(ts_us)
        found.append(known.next_hops.get(1, {}).get(3))
    assert found == [None, 2, 4, None]


def test_a_next_hop_without_a_daemon_is_skipped() -> None:
    known = Network([Step(0, 1, 3, 2)], (), (1, 3))
    known.until(0)
    assert known.next_hops == {1: {3: 3}}


def test_brokers_are_appointed_and_dismissed() -> None:
    turns = [Turn(0, 1, is_broker=True), Turn(0, 2, is_broker=True), Turn(5, 1, is_broker=False)]
    known = Network((), turns, (1, 2))
    known.until(4)
    before = set(known.brokers)
    known.until(5)
    assert (before, known.brokers) == ({1, 2}, {2})


@pytest.mark.xdist_group("spark")
def test_a_recorded_run_has_its_network(spark: SparkSession, chain_run: Path) -> None:
    """Towards the homes that matter."""
    known = network(load(spark, chain_run), [4])
    assert known is not None
    known.until(20_000_000)
    assert known.next_hops == {1: {4: 2}, 2: {4: 3}, 3: {4: 4}}
    assert known.brokers >= {2, 3}
