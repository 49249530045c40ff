"""When to send the next beacon: rarely while nothing changes, at once on news (after Trickle, RFC 6206).

Each interval is twice the one before, up to the refresh period; the beacon leaves at a random moment of its second
half, so that neighbours do not keep colliding. Trickle's suppression counter is not used: a beacon speaks for its own
node only, so nobody else's makes it redundant. A node that searches for neighbours it has lost does not let the time
between beacons grow as far: what waits on either side of a partition is not to wait for a beacon when that heals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

PROMPT_SPREAD = 0.05
"""Share of the shortest interval over which prompt beacons of several nodes are spread."""
PROMPT_GAP = 0.25
"""Share of the shortest interval that lies between two prompt beacons, however much news there is."""

SEARCH = 0.5
"""Share of the shortest interval at which a node begins to search."""


class Trickle:
    """The pace of one node's beacons. Send one whenever `deadline` has come, then call `sent`."""

    def __init__(self, shortest: float, longest: float, rng: Random, now: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._rng = rng
        self._interval = shortest
        self._last = now - shortest
        self.deadline = now + rng.uniform(0, PROMPT_SPREAD * shortest)

    def sent(self, now: float) -> None:
        """A beacon has left: the next one waits for the second half of the next interval."""
        self._last = now
        self.deadline = now + self._rng.uniform(0.5, 1.0) * self._interval
        self._interval = min(2 * self._interval, self._longest)

    def search(self, interval: float, now: float) -> None:
        """Somebody is missed: the next beacon waits for the second half of this interval at most."""
        if interval < self._longest:
            interval = max(interval, SEARCH * self._shortest)
            self.deadline = min(self.deadline, now + self._rng.uniform(0.5, 1.0) * interval)

    def prompt(self, now: float) -> None:
        """There is news: beacon at once, and often for a while."""
        self._interval = self._shortest
        soon = now + self._rng.uniform(0, PROMPT_SPREAD * self._shortest)
        self.deadline = min(self.deadline, max(soon, self._last + PROMPT_GAP * self._shortest))

    def stretch(self, shortest: float, longest: float) -> None:
        """Change the pace (power policy); takes effect with the next interval."""
        self._shortest, self._longest = shortest, longest
        self._interval = min(max(self._interval, shortest), longest)
