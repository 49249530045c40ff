"""The traffic of one filter class over one link: what was seen of it, and what each way to route it costs.

It is seen from the end where subscribers are. Filtering costs the notifications that somebody wants, one refresh per
period of each filter while it stands, and a message whenever one begins or ceases to; of a single filter that is
(ω + 1/r) u + 2 λ p, with λ the rate at which it begins while it does not stand, p = 1 − u the share of time in which it
does not, and so the corrected model of one link (van Vliet 2.3). Flooding costs all notifications, and now and then a
refresh.

Rates are counts over time, both of which fade: what is one `memory` old counts 1/e.
"""

from __future__ import annotations

from math import exp
from typing import Final, NamedTuple

SILENCE: Final = 6
"""Periods without any event of a class after which the interest in all of it is sent again."""
MEMORY: Final = 32
"""Periods in which what was seen fades to 1/e."""
ALWAYS: Final = 64
"""Periods after which it is sent again whatever came."""
ENOUGH: Final = 8
"""Periods that must have been seen before anything is concluded."""
MARGIN: Final = 0.05
"""What the other way must save before it is taken."""


class Estimate(NamedTuple):
    """What a broker takes for the rates of a class, per second, and the messages per second that they mean."""

    lam: float
    """λ: how often somebody begins to be interested, while nobody is."""
    mu: float
    """μ: how often nobody is any more, while somebody was."""
    omega: float
    """ω: notifications, wanted or not."""
    period: float
    """r, seconds."""
    filtering: float
    flooding: float


class ClassTraffic:
    """Counts of what was seen, until `now`."""

    def __init__(self, period: float, now: float) -> None:
        self._period = period
        self._since = now
        self._standing = 0
        self._time = 0.0
        self._busy = 0.0
        """The part of the time in which something stood."""
        self._filters = 0.0
        """The same, times the number that stood."""
        self._begun = self._ended = 0.0
        """How often the first began to stand, and the last ceased to."""
        self._toggles = 0.0
        """How often any did either."""
        self._watched = 0.0
        """The time in which notifications were seen: all of it while they are flooded, else the busy part. It fades
        while it passes only."""
        self._notifications = 0.0
        self._seen = self._wanted = 0.0
        """Notifications while they were flooded and something stood."""

    @property
    def is_forgotten(self) -> bool:
        """Whether nothing stands, and what did has faded."""
        return not self._standing and self._busy < self._period / MEMORY

    def stands(self, number: int, now: float, *, flooded: bool) -> None:
        """So many filters stand from now on; one more than before, or one less."""
        self.advance(now, flooded=flooded)
        self._toggles += 1
        if not self._standing:
            self._begun += 1
        elif not number:
            self._ended += 1
        self._standing = number

    def notified(self, *, wanted: bool, flooded: bool) -> None:
        """A notification has come over the link."""
        if not flooded:
            if self._standing:
                self._notifications += 1 / self._share
            return
        self._notifications += 1
        if self._standing:
            self._seen += 1
            self._wanted += wanted

    def advance(self, now: float, *, flooded: bool) -> None:
        """Time has passed, in which nothing changed but the number of notifications."""
        elapsed, self._since = max(0.0, now - self._since), max(now, self._since)
        if not elapsed:
            return
        memory = self._period * MEMORY
        kept = exp(-elapsed / memory)
        grown = memory * (1 - kept)
        self._time = self._time * kept + grown
        self._busy = self._busy * kept + grown * bool(self._standing)
        self._filters = self._filters * kept + grown * self._standing
        self._begun *= kept
        self._ended *= kept
        self._toggles *= kept
        if flooded or self._standing:
            self._watched = self._watched * kept + grown
            self._notifications *= kept
        if flooded and self._standing:
            self._seen *= kept
            self._wanted *= kept

    @property
    def _share(self) -> float:
        """The part of the notifications that something wants, while something stands: all, until more is known."""
        return (self._wanted + 1) / (self._seen + 1)

    def estimate(self) -> Estimate | None:
        """None as long as too little was seen."""
        enough = ENOUGH * self._period
        if self._time < enough:
            return None
        if self._watched < enough:
            # So rarely is anybody interested that filtering cannot be dear.
            return None
        omega = self._notifications / self._watched
        busy = self._busy / self._time
        return Estimate(
            lam=self._begun / max(self._time - self._busy, self._period),
            mu=self._ended / max(self._busy, self._period),
            omega=omega,
            period=self._period,
            filtering=omega * busy * self._share + (self._filters / self._period + self._toggles) / self._time,
            flooding=omega + whole_refreshes(omega * self._period) / self._period,
        )


def whole_refreshes(notifications: float) -> float:
    """Refreshes per period of the interest in a whole class: one after SILENCE periods without a notification.

    The number of notifications per period is given, and taken to be Poisson distributed.
    """
    silent = exp(-notifications)
    run = silent**SILENCE
    return 1 / ALWAYS + ((1 - silent) * run / (1 - run) if run < 1 else 1 / SILENCE)


def prefers_flooding(estimate: Estimate, *, floods: bool) -> bool:
    """Which way to take from now on, when this is the present one."""
    if floods:
        return estimate.filtering >= estimate.flooding * (1 - MARGIN)
    return estimate.flooding < estimate.filtering * (1 - MARGIN)
