"""The refresh period that all links share: it begins at the same moments everywhere, the multiples of its length.

The traffic model counts one refresh per used link and period (2.16). It is right only if these periods are common: a
period of its own for each link, begun when the link comes into use, has fewer refreshes fall into short uses.
"""

from __future__ import annotations

from math import floor


class Refresh:
    """Tells when the next period begins."""

    def __init__(self, period: float, now: float) -> None:
        assert period > 0, "a period has a length"
        self.period = period
        self._number = floor(now / period)

    @property
    def deadline(self) -> float:
        return (self._number + 1) * self.period

    def has_begun(self, now: float) -> bool:
        """Whether another period has begun since this was last asked. Periods slept through count as one."""
        if now < self.deadline:
            return False
        # A deadline that rounds to below its multiple must not be met twice.
        self._number = max(floor(now / self.period), self._number + 1)
        return True
