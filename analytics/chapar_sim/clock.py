"""The virtual clock: what happens when, in one order that depends on nothing but what was asked of it."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PENDING: Final = 5_000_000
"""Actions that may wait at once. No scenario comes near; what schedules itself twice does, before memory ends."""
MAX_AT_ONE_INSTANT: Final = 1_000_000
"""Actions carried out without time passing: more is a loop that would never end."""


class SimulationError(RuntimeError):
    """The simulated system does not behave like one: it asks for endless work. The message says what asked."""


class Clock:
    """Carries out actions in order of time, and at one time in the order in which they were asked for."""

    def __init__(self, max_pending: int = MAX_PENDING, max_at_one_instant: int = MAX_AT_ONE_INSTANT) -> None:
        self.now = 0.0
        self._max_pending = max_pending
        self._max_at_one_instant = max_at_one_instant
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._at_this_instant = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def due(self) -> float:
        """When the next action is; infinity if there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Ask for `action` at `time`; a time that has passed means now."""
        if len(self._heap) >= self._max_pending:
            raise SimulationError(f"{self._max_pending} actions wait at t = {self.now:.3f} s: something has no end")
        self._sequence += 1
        heappush(self._heap, (max(time, self.now), self._sequence, action))

    def after(self, delay: float, action: Callable[[], None]) -> None:
        """Ask for `action` in `delay` seconds."""
        self.at(self.now + delay, action)

    def run_until(self, end: float) -> None:
        """Carry out everything that is due up to and including `end`; the clock then stands at `end`."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            time, _, action = heappop(heap)
            if time > self.now:
                self.now = time
                self._at_this_instant = 0
            self._at_this_instant += 1
            if self._at_this_instant > self._max_at_one_instant:
                raise SimulationError(
                    f"over {self._max_at_one_instant} actions at t = {time:.6f} s: time does not advance"
                )
            action()
        self.now = max(self.now, end)
