"""The pace of beacons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from chapar_audit.jobs import pace
from chapar_audit.jobs.protocol import Protocol
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

PROTOCOL: Final = Protocol(beacon_min=1.0, refresh_period=4.0, serve_retry=3.0, retry_max=3.0, subscription_lease=600.0)
STEADY: Final = (0.5, 1.0, 2.5, 6.4)
ENDED: Final = {1: (0, 10_000_000), 2: (0, 13_000_000)}
"""When node 1 ended, and node 2."""


def beacons(node: int, *times: float, peer: int | None = None) -> list[tuple[Any, ...]]:
    """Of one node, in seconds."""
    row = ("tx", peer, "beacon", "control", 40, None, None, 0, "r", node)
    return [(round(at * 1e6), *row) for at in times]


def started(node: int, at: float) -> tuple[Any, ...]:
    return (round(at * 1e6), 1, "chapard", "sim", "{}", "r", node)


def test_a_node_that_beacons_at_its_pace_holds(made: Callable[..., Recorded]) -> None:
    """A copy for one node alone is none; while the daemon did not run, nothing is due; what it says last may hurry."""
    frames = [*beacons(1, *STEADY), *beacons(1, 2.55, peer=3), *beacons(2, *STEADY, 12.0, 12.1)]
    run = replace(made(frames=frames, runs=[started(1, 0), started(2, 0), started(2, 11.9)]), spans=ENDED)
    (row,) = pace.rows(run, PROTOCOL, removed=0)
    assert (row.state, row.measured) == (State.HOLDS, 10)
    assert row.expected == pytest.approx((2 * 6.4 + 0.2) / 4)
    assert row.tolerance == "of each node at least one in 4 s, none within 0.25 s of the one before"


def test_beacons_that_are_there_twice_and_those_that_lack_deviate(made: Callable[..., Recorded]) -> None:
    frames = [*beacons(1, *STEADY), *beacons(2, 0.5, 0.5, 1.0, 1.0, 6.4)]
    run = replace(made(frames=frames, runs=[started(1, 0), started(2, 0)]), spans={})
    (row,) = pace.rows(run, PROTOCOL, removed=0)
    assert row.state is State.DEVIATES
    assert row.reason == (
        "2 follow the one before sooner, of node 2 2: rows are there twice, or two daemons go by one number; "
        "node 2 was silent for 5.4 s: rows are missing, the daemon hung, or saved power"
    )
    assert "recorders removed 9 rows" in pace.rows(run, PROTOCOL, removed=9)[0].reason


def test_a_node_is_not_silent_at_first_nor_at_last(made: Callable[..., Recorded]) -> None:
    """Nor all the time, if there are beacons of others."""
    for frames in (beacons(1, 4.2, 6.0), beacons(1, 0.1, 3.0), beacons(2, *STEADY)):
        runs = [started(1, 0), *(started(2, 0) for _ in range(frames[0][-1] == 2))]
        run = replace(made(frames=frames, runs=runs), spans={1: (0, 8_000_000), 2: (0, 8_000_000)})
        assert pace.rows(run, PROTOCOL, removed=0)[0].reason.startswith("node 1 was silent for")


def test_where_the_processor_is_shared_a_beacon_may_be_recorded_late(made: Callable[..., Recorded]) -> None:
    run = replace(made(frames=beacons(1, 0.5, 0.65, 2.0), runs=[started(1, 0)]), spans={})
    assert pace.rows(run, PROTOCOL, removed=0)[0].state is State.DEVIATES
    assert pace.rows(replace(run, world="lab"), PROTOCOL, removed=0)[0].state is State.HOLDS


def test_without_beacons_there_is_no_row(made: Callable[..., Recorded]) -> None:
    assert not pace.rows(made(runs=[started(1, 0)]), PROTOCOL, removed=0)
