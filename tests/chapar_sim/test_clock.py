"""The virtual clock."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_sim.clock import Clock, SimulationError


@given(st.lists(st.floats(0, 100)))
def test_actions_happen_in_order_of_time_then_of_asking(times: list[float]) -> None:
    """Whatever the order of asking, time only goes forward, and ties keep the order in which they were asked for."""
    clock, seen = Clock(), list[tuple[float, int]]()
    for number, time in enumerate(times):
        clock.at(time, lambda number=number: seen.append((clock.now, number)))  # type: ignore[misc]  # bound early
    clock.run_until(100)
    assert seen == sorted(zip(times, range(len(times)), strict=True))
    assert clock.now == 100


def test_run_until_leaves_what_is_not_due() -> None:
    """An action after the end waits for the next run."""
    clock, seen = Clock(), list[float]()
    for time in (1.0, 2.0, 3.0):
        clock.at(time, lambda: seen.append(clock.now))
    clock.run_until(2.0)
    assert (seen, len(clock), clock.now) == ([1.0, 2.0], 1, 2.0)
    clock.run_until(5.0)
    assert (seen, clock.now) == ([1.0, 2.0, 3.0], 5.0)


def test_a_time_that_has_passed_means_now() -> None:
    """Nothing can be asked of the past."""
    clock, seen = Clock(), list[float]()
    clock.run_until(10)
    clock.at(3, lambda: seen.append(clock.now))
    clock.run_until(10)
    assert seen == [10]


def test_time_that_does_not_advance_is_an_error() -> None:
    """A loop at one instant is found out instead of running for ever."""
    clock = Clock(max_at_one_instant=100)

    def again() -> None:
        clock.after(0, again)

    again()
    with pytest.raises(SimulationError, match="time does not advance"):
        clock.run_until(1)


def test_what_waits_is_bounded() -> None:
    """What schedules more and more ends before memory does."""
    clock = Clock(max_pending=10)
    for _ in range(10):
        clock.at(1, lambda: None)
    with pytest.raises(SimulationError, match="10 actions wait"):
        clock.at(1, lambda: None)


def test_when_the_next_action_is_due() -> None:
    """Who drives the clock in real time sleeps until then; never, if nothing waits."""
    clock = Clock()
    assert clock.due == math.inf
    for time in (3, 2):
        clock.at(time, lambda: None)
    assert clock.due == 2
    clock.run_until(2)
    assert clock.due == 3
