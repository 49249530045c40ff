"""The pace of a link: when its next datagram is due, if its datagrams come steadily and some are being lost.

A loss is seen when the datagram after it comes, which in a slow stream is late. So on a link that has lost lately, a
number that is overdue is asked for before anything shows that it was sent. The rules:

- The pace is the mean time between datagrams. The longest recent time between two, which decays towards the mean, is
  how late one may be: behind a hop that repairs its own losses that is more, so that hops do not all ask for the same.
- A stream is steady if the times differ from the pace by less than `STEADY` of it in the mean.
- A datagram is overdue when it is later than that, or than `LATEST` times the pace, and two round trips more.
- After `WARY` datagrams without a loss, nothing is expected any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WARY: Final = 64
"""Datagrams after a loss during which the next one is expected."""
STEADY: Final = 0.5
LATEST: Final = 1.3
SHARE: Final = 1 / 8
"""Of the newest time in the mean."""
DECAY: Final = 1 / 32
"""Of the way to the mean that the longest time loses with each datagram."""
SAMPLES: Final = 4
"""Datagrams before there is a pace."""


@dataclass(slots=True)
class Pace:
    """When the datagrams of one link come. `highest` is the highest number so far."""

    highest: int
    _at: float
    _mean: float = 0.0
    _longest: float = 0.0
    _deviation: float = 0.0
    _samples: int = 0
    _wary: int = 0

    def came(self, seq: int, now: float, *, was_asked: bool) -> None:
        """A datagram has come; one with a number below the highest says nothing of the pace."""
        if was_asked:
            self._wary = WARY
        if seq <= self.highest:
            return
        steps = seq - self.highest
        self.highest = seq
        if was_asked:
            # Asked for, it came when we wanted it: the next one is due when it would have been.
            self._at = min(now, self._at + steps * self._mean)
            return
        gap = (now - self._at) / steps
        self._at = now
        self._samples += 1
        self._wary = max(0, self._wary - 1)
        share = max(SHARE, 1 / self._samples)
        self._mean += share * (gap - self._mean)
        self._deviation += share * (abs(gap - self._mean) - self._deviation)
        self._longest = max(gap, self._longest - DECAY * (self._longest - self._mean))

    def lost(self) -> None:
        """A number is missing."""
        self._wary = WARY

    def overdue(self, round_trip: float, now: float) -> float | None:
        """When the next number is to be asked for; None if there is no telling when it comes."""
        if not self._wary or self._samples < SAMPLES or self._deviation > STEADY * self._mean:
            return None
        return max(now, self._at + min(self._longest, LATEST * self._mean)) + 2 * round_trip
