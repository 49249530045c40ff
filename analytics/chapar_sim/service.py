"""An application that takes its time over each event, and works only while it is ON: what is cut off is resumed.

Times are reckoned from when things were due: a clock of the wall comes to everything a little late, and what an
application does one after the other must not gather that.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_sim.clientspec import ServiceSpec
    from chapar_sim.workload import Schedule


class Service:
    """One event at a time. It is OFF at first."""

    def __init__(self, spec: ServiceSpec, seed: str, clock: Schedule) -> None:
        self._spec = spec
        self._rng = Random(seed)
        self._clock = clock
        self._is_on = False
        self._left = 0.0
        """Seconds of the service under way that were still to come when it was last OFF."""
        self._due = 0.0
        """When the service under way ends, or the last one was to end."""
        self._done: Callable[[], None] | None = None
        self._turn = 0

    @property
    def is_busy(self) -> bool:
        return self._done is not None

    def begin(self, done: Callable[[], None], *, waited: bool) -> None:
        """Serve an event, which was there already when the last one was done if it has `waited`; `done` at the end."""
        assert self._done is None, "one event at a time"
        self._done = done
        mean = self._spec.mean
        self._left = mean if self._spec.law == "fixed" else self._rng.expovariate(1 / mean)
        if self._is_on:
            self._work(self._due if waited else self._clock.now)

    def go_on(self, since: float | None = None) -> None:
        """It is ON since then, when it was due, or from now on."""
        if not self._is_on:
            self._is_on = True
            self._due = self._clock.now if since is None else since
            if self._done is not None:
                self._work(self._due)

    def go_off(self, since: float | None = None) -> None:
        if self._is_on:
            self._is_on = False
            self._turn += 1
            self._left = max(0.0, self._due - (self._clock.now if since is None else since))

    def _work(self, since: float) -> None:
        self._due = since + self._left
        self._turn += 1
        self._clock.at(self._due, partial(self._over, self._turn))

    def _over(self, turn: int) -> None:
        if turn == self._turn and self._done is not None:
            done, self._done = self._done, None
            done()
