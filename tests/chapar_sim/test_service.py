"""Applications that take their time."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from chapar_sim.clientspec import ServiceSpec
from chapar_sim.clock import Clock
from chapar_sim.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable

LATE = 0.25


class LateClock(Clock):
    """Comes to everything a little late, as a clock of the wall does."""

    def at(self, time: float, action: Callable[[], None]) -> None:
        super().at(max(time, self.now) + LATE, action)


class Counter:
    """Serves events that all wait from the start, and notes when each is done."""

    def __init__(self, clock: Clock, events: int, spec: ServiceSpec | None = None) -> None:
        self.service = Service(spec or ServiceSpec(mean=4, law="fixed"), "seed", clock)
        self.done: list[float] = []
        self._clock = clock
        self._left = events
        self._next()

    def _next(self) -> None:
        if self._left:
            self._left -= 1
            self.service.begin(self._over, waited=True)

    def _over(self) -> None:
        self.done.append(self._clock.now)
        self._next()


def test_service_goes_on_where_it_was_cut_off() -> None:
    """OFF time does not count, however often it comes; turning twice the same way is one turn."""
    clock = Clock()
    counter = Counter(clock, 2)
    for time, on in ((10, True), (11, True), (13, False), (13.5, False), (20, True), (20.5, False), (30, True)):
        clock.at(time, counter.service.go_on if on else counter.service.go_off)
    clock.run_until(100)
    assert counter.done == [30.5, 34.5]
    assert not counter.service.is_busy


def test_an_event_that_has_not_waited_begins_when_it_comes() -> None:
    """And not when the one before was done."""
    clock, done = Clock(), list[float]()
    service = Service(ServiceSpec(mean=4, law="fixed"), "seed", clock)
    service.go_on()
    for time in (0, 10):
        clock.at(time, lambda: service.begin(lambda: done.append(clock.now), waited=False))
    clock.run_until(100)
    assert done == [4, 14]


def test_a_late_clock_does_not_add_up() -> None:
    """Each is as late as the clock, whatever was served before."""
    clock = LateClock()
    counter = Counter(clock, 5)
    counter.service.go_on()
    clock.run_until(100)
    assert counter.done == [pytest.approx(4 * number + LATE) for number in range(1, 6)]


def test_on_and_off_count_from_when_they_were_due() -> None:
    """Whoever needed time to connect works through what has waited as if there had been none."""
    clock = Clock()
    counter = Counter(clock, 3)
    clock.at(11, lambda: counter.service.go_on(10))
    clock.at(17, lambda: counter.service.go_off(16))
    clock.at(20, lambda: counter.service.go_on(20))
    clock.run_until(100)
    assert counter.done == [14, 22, 26]


def test_times_are_exponential_and_follow_from_the_seed() -> None:
    """Their deviation is their mean."""
    clocks = Clock(), Clock()
    counters = [Counter(clock, 2000, ServiceSpec(mean=0.5)) for clock in clocks]
    for clock, counter in zip(clocks, counters, strict=True):
        counter.service.go_on()
        clock.run_until(2000)
    first, second = counters
    assert first.done == second.done
    times = [b - a for a, b in zip([0.0, *first.done], first.done, strict=False)]
    assert fmean(times) == pytest.approx(0.5, rel=0.1)
    assert fmean(time**2 for time in times) == pytest.approx(0.5, rel=0.2)
