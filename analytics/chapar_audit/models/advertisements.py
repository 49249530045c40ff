"""Publishers that come and go and say so with advertisements, which are flooded (2.5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from chapar_audit.models.conditions import at_least, period, require


@dataclass(frozen=True, slots=True)
class Publisher:
    """An on/off publisher: it comes at rate gamma and goes at rate nu; while there, it notifies at rate omega.

    Subscriptions are refreshed every r, advertisements every ra.
    """

    gamma: float
    nu: float
    omega: float
    r: float
    ra: float

    def __post_init__(self) -> None:
        for name, value in (("gamma", self.gamma), ("nu", self.nu), ("omega", self.omega)):
            at_least(name, value)
        require(self.gamma + self.nu > 0, "gamma = nu = 0: a publisher that never comes or goes has no equilibrium")
        period("r", self.r)
        period("ra", self.ra)

    @property
    def present(self) -> float:
        """p_Y1 (2.41)."""
        return self.gamma / (self.gamma + self.nu)

    @property
    def comings(self) -> float:
        """How often it comes, which is as often as it goes."""
        return self.gamma * (1 - self.present)


class Advertised(NamedTuple):
    """Messages per unit of time, for one publisher."""

    state_dependent: float
    """A_sdt (2.42)."""
    toggle: float
    """Subscriptions and unsubscriptions of subscribers who come and go while the publisher is there."""
    advertising: float
    """A_t,a (2.43): advertisements and unadvertisements."""
    resubscribing: float
    """Subscriptions into standing interest, when the publisher comes: missing in 2.44."""
    flooding: float
    """A_f (2.45)."""

    @property
    def printed_toggle(self) -> float:
        """A_t as in 2.44."""
        return self.toggle + self.advertising

    @property
    def identity(self) -> float:
        """A_ibr."""
        return self.state_dependent + self.printed_toggle + self.resubscribing


def advertised(
    publisher: Publisher, x: float, toggle: float, links: int, *, unadvertising_withdraws: bool = False
) -> Advertised:
    """The traffic around one publisher, from the x and A_t = Σ d_i t_i of its tree (`tree.usage`).

    When a publisher comes, subscriptions go over every link in use: gamma p_Y0 x. Twice that where unadvertising
    withdraws them with messages of their own.
    """
    here = publisher.present
    steady = ((publisher.omega + 1 / publisher.r) * x + links / publisher.ra) * here
    again = publisher.comings * x * (2 if unadvertising_withdraws else 1)
    return Advertised(
        state_dependent=steady,
        toggle=toggle * here,
        advertising=2 * links * publisher.comings,
        resubscribing=again,
        flooding=links * publisher.omega * here,
    )
