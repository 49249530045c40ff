"""Covering-based routing on one link (2.5.3): filter F covers filter G, which is not forwarded while F is active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from chapar_audit.models.conditions import at_least, period, probability, require


class Demand(Protocol):
    """Subscribers of a filter at the far end of a link: a Population, or what a tree makes of several."""

    @property
    def idle(self) -> float: ...
    @property
    def toggles(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Notifications:
    """What is published, at rate omega: a share z_g matches G, and so F; a share z_h F alone. Refreshes every r."""

    omega: float
    z_g: float
    z_h: float
    r: float

    def __post_init__(self) -> None:
        at_least("omega", self.omega)
        probability("zG", self.z_g)
        probability("zH", self.z_h)
        matching = self.z_g + self.z_h
        require(matching <= 1, f"zG + zH = {matching:g}: shares of the notifications, at most 1 in all")
        period("r", self.r)


class Covered(NamedTuple):
    """Messages per unit of time over the link."""

    state_dependent: float
    """A_sdt,cbr (2.47)."""
    toggle: float
    """A_t,cbr."""
    printed_toggle: float
    """A_t,cbr as in 2.48, which lacks what G costs when F comes and goes."""
    identity: float
    """A_ibr: the same link without covering."""
    flooding: float

    @property
    def total(self) -> float:
        """A_cbr."""
        return self.state_dependent + self.toggle


def covered(g: Demand, f: Demand, what: Notifications, *, covered_is_withdrawn: bool = True) -> Covered:
    """The traffic of the link with the subscribers of G and of F at its far end.

    When F goes while G is active, G is forwarded again: lam_F p_F0 (1 − p_G0), by the balance of F's toggles. Twice
    that if a covered G is explicitly withdrawn when F comes; otherwise whoever holds F drops G by itself.
    """
    idle_g, idle_f = g.idle, f.idle
    refresh = 1 / what.r
    alone = (1 - idle_g) * idle_f * (what.omega * what.z_g + refresh)
    wide = (1 - idle_f) * (what.omega * (what.z_g + what.z_h) + refresh)
    printed = g.toggles * idle_f + f.toggles
    again = f.toggles / 2 * (1 - idle_g) * (2 if covered_is_withdrawn else 1)
    # Without covering, each filter is forwarded and refreshed for itself; a notification crosses the link once.
    notified = what.omega * ((1 - idle_g * idle_f) * what.z_g + (1 - idle_f) * what.z_h)
    subscribed = refresh * ((1 - idle_g) + (1 - idle_f)) + g.toggles + f.toggles
    return Covered(alone + wide, printed + again, printed, notified + subscribed, what.omega)
