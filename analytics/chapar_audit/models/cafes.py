"""CAFES (chapter 4): routers on one multicast network, where a message costs one however many hear it.

Flooding notifications (NF) sends each of them; flooding subscriptions (SF) sends those that a client elsewhere wants.
"""

from __future__ import annotations

from dataclasses import dataclass

from chapar_audit.models.conditions import above_zero, at_least, period, require
from chapar_audit.models.population import Population


@dataclass(frozen=True, slots=True)
class Cafes:
    """N routers with c clients each, all alike; each client publishes, and may subscribe to each other one.

    Clients publish at rate omega while active as publishers (they become so at rate gamma and stop at rate nu), and
    subscribe to each other at rate lam for 1/mu. The chapter's conclusion depends on N and c, which it does not state.
    """

    routers: int
    clients: int
    omega: float
    r: float
    lam: float
    mu: float
    gamma: float
    nu: float

    def __post_init__(self) -> None:
        require(self.routers >= 1, f"routers = {self.routers}: must be a whole number from 1")
        require(self.clients >= 1, f"clients = {self.clients}: must be a whole number from 1")
        for name, value in (("omega", self.omega), ("gamma", self.gamma), ("nu", self.nu)):
            at_least(name, value)
        above_zero("gamma + nu", self.gamma + self.nu)
        period("r", self.r)
        Population(self.lam, self.mu, self.clients)

    @property
    def notification_flooding(self) -> float:
        """A_NF (4.1)."""
        return self.routers * self.clients * self.omega * self.gamma / (self.gamma + self.nu)

    @property
    def subscription_flooding(self) -> float:
        """A_SF: control traffic with the toggle rate of c sources, and notifications wanted elsewhere (4.3)."""
        return self._subscription_flooding(self._subscribers.toggles)

    @property
    def printed_subscription_flooding(self) -> float:
        """A_SF with the toggle rate of 4.2, which lacks the factor c."""
        return self._subscription_flooding(self._subscribers.printed_toggles)

    @property
    def _subscribers(self) -> Population:
        return Population(self.lam, self.mu, self.clients)

    def _subscription_flooding(self, toggles: float) -> float:
        idle = self._subscribers.idle
        control = self.routers**2 * self.clients * ((1 - idle) / self.r + toggles)
        return control + self.notification_flooding * (1 - idle ** (self.routers - 1))
