"""Who subscribes at one broker: an infinite population (2.3.1) or N on/off sources (2.3.5), in equilibrium."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chapar_audit.models.conditions import at_least, require


@dataclass(frozen=True, slots=True)
class Population:
    """Subscribers of one broker, each active for 1/mu on average.

    Without a size they arrive at rate lam (M/M/∞); with one, each of them becomes active at rate lam while it is not.
    """

    lam: float
    mu: float
    size: int | None = None

    def __post_init__(self) -> None:
        at_least("lambda", self.lam)
        at_least("mu", self.mu)
        require(self.mu > 0 or self.lam == 0, "mu = 0: must be above 0, or subscribers never leave")
        require(self.size is None or self.size >= 0, f"population = {self.size}: must be a whole number from 0")

    @property
    def idle(self) -> float:
        """p0, the share of time without an active subscriber (2.6, 2.25)."""
        if self.lam == 0 or self.size == 0:
            return 1.0
        if self.size is None:
            return math.exp(-self.lam / self.mu)
        return float((self.mu / (self.lam + self.mu)) ** self.size)

    @property
    def toggles(self) -> float:
        """t_r, how often the broker turns from idle to active or back, per unit of time.

        An idle broker of N sources turns active at rate N lam, so this is 2 N lam p0.
        """
        return self.printed_toggles * (1 if self.size is None else self.size)

    @property
    def printed_toggles(self) -> float:
        """2 lam p0 for finite populations too, as 2.3.5, 2.40, 2.44 and C.3 print it: the factor N is missing."""
        return 2 * self.lam * self.idle

    @property
    def active(self) -> float:
        """How many are active, on average."""
        if self.lam == 0:
            return 0.0
        return self.lam / self.mu if self.size is None else self.size * self.lam / (self.lam + self.mu)
