"""The tandem's chain, against Burke's theorem and against a simulation of its queues."""

from __future__ import annotations

import math
from random import Random

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff
from chapar_audit.models.path import response_time, stops
from chapar_audit.models.tandem import response_times, second_response_time


def simulated(stations: list[OnOff], lam: float, events: int, seed: int) -> list[float]:
    """The mean time at each station, event by event: first come, first served, resumed where it was cut off."""
    draw = Random(seed).expovariate
    free = [0.0] * len(stations)
    there = [(0.0, draw(1 / each.on) if each.off else math.inf) for each in stations]
    total = [0.0] * len(stations)
    now = 0.0
    for _ in range(events):
        now += draw(lam)
        arrived = now
        for place, station in enumerate(stations):
            begin, left = max(arrived, free[place]), draw(1 / station.d)
            start, end = there[place]
            while True:
                while end <= begin:
                    start = end + draw(1 / station.off)
                    end = start + draw(1 / station.on)
                begin = max(begin, start)
                if begin + left < end:
                    break
                left -= end - begin
                begin = end
            there[place] = start, end
            free[place] = begin + left
            total[place] += free[place] - arrived
            arrived = free[place]
    return [each / events for each in total]


def test_what_leaves_an_m_m_1_queue_is_poisson() -> None:
    """Burke's theorem: the second queue is as if it were alone; and the chain has it where the first is hardly away."""
    for second in (OnOff(0.2), OnOff(0.1, 2, 1)):
        for first in (OnOff(0.25), OnOff(0.25, 1e4, 1e-3)):
            assert second_response_time(first, second, 2) == pytest.approx(second.response_time(2), rel=1e-4)


@pytest.mark.parametrize(
    ("first", "second"),
    [(OnOff(0.0625, 1, 1), OnOff(0.0625, 1.5, 1.5)), (OnOff(0.1, 1, 2), OnOff(0.125))],
)
def test_the_chain_agrees_with_a_simulation(first: OnOff, second: OnOff) -> None:
    """Within the noise of 40 000 events; Poisson arrivals at the second queue would not be."""
    ours = second_response_time(first, second, 2)
    measured = simulated([first, second], 2, 40_000, seed=3)[1]
    assert ours == pytest.approx(measured, rel=0.04)
    assert ours > 1.05 * second.response_time(2)


def test_coarse_events_lead_to_the_same_result() -> None:
    """Queues too long for the chain are solved with larger events. The chain of all their events gives these."""
    first, second = OnOff(0.125, 3, 3), OnOff(0.125, 4, 2)
    assert second_response_time(first, second, 1) == pytest.approx(1.23388, rel=5e-3)


def test_after_a_long_queue_the_other_one_is_cut() -> None:
    """The chain that cuts the first queue gives the same, where it is not too long for that; one near its limit is."""
    assert second_response_time(OnOff(0.125, 4, 4), OnOff(0.25), 1) == pytest.approx(0.75641, rel=1e-5)
    first, second = OnOff(0.125, 1, 8), OnOff(0.125)
    lam = 0.97 * first.fastest
    assert second.response_time(lam) < second_response_time(first, second, lam) < first.response_time(lam)


def test_long_periods_need_no_long_computation() -> None:
    """OFF for minutes at an event per second: bursts make the second queue a little slower than theorem 2 has it."""
    first, second = OnOff(0.0625, 109, 121.5), OnOff(0.0625, 146.3, 96)
    assert 1.02 < second_response_time(first, second, 1) / second.response_time(1) < 1.2


def test_algorithm_1_is_too_low() -> None:
    """Row 5 of table 3: the printed simulation has 2.41, and no stop waits less than with Poisson arrivals."""
    path = stops(OnOff(0.0625, 1, 1), OnOff(0.0625, 1.5, 1.5), 2, 0.0625)
    ours = response_times(path, 2)
    assert ours[0] == path[0].station.response_time(2)
    assert all(time >= stop.station.response_time(2) for time, stop in zip(ours, path, strict=True))
    measured = math.fsum(simulated([stop.station for stop in path], 2, 60_000, seed=5))
    assert response_time(path, 2) < 0.97 * measured
    assert sum(ours) == pytest.approx(measured, rel=0.05)


def test_where_others_come_in_the_stream_is_taken_as_poisson() -> None:
    """So these stops are as in algorithm 1."""
    path = stops(OnOff(0.0625, 1, 1), OnOff(0.0625, 1.5, 1.5), 2, 0.0625, others=3)
    assert response_times(path, 2)[1] == OnOff(0.0625).response_time(5)


def test_an_unstable_second_queue_is_refused() -> None:
    """Before anything is solved."""
    with pytest.raises(ImpossibleInputError, match="unstable"):
        second_response_time(OnOff(0.1), OnOff(0.6), 2)


def test_what_cannot_be_solved_is_refused() -> None:
    """A first queue within a ten-thousandth of its limit is thousands of events long, whatever their size."""
    first = OnOff(0.125, 1, 1)
    with pytest.raises(ImpossibleInputError, match="too close to 1"):
        second_response_time(first, OnOff(0.01, 1, 1), first.fastest * 0.9999)
