"""The radio network of a battalion (chapter 3): 125 nets, of which squad (3, 1) publishes.

The right form is the general tree. The published break-evens (3.4) follow from appendix C as it is printed, which is
kept here: its x_2 … x_9 multiply 1 − p where 1 − Π p is meant, and its toggle rate lacks N_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.models.conditions import above_zero, at_least, period, require
from chapar_audit.models.population import Population
from chapar_audit.models.tree import Traffic, from_usage, rooted, traffic, usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WIDTHS: Final = (1, 4, 24, 96)
"""Battalion, companies, platoons, squads: nets on each level (table 3.2)."""
MEMBERS: Final = (0, 16, 4, 8)
"""Army units in each net of a level."""
SUBSCRIBERS: Final = 920
"""All who can subscribe: everyone but the publishing squad."""
SEARCH_STEP: Final = 20
"""Subscribers from one look for a break-even to the next."""


class Net(NamedTuple):
    """Net (i, j): level i, place j from 1."""

    level: int
    place: int


PUBLISHER: Final = Net(3, 1)
NETS: Final = tuple(Net(level, place) for level, width in enumerate(WIDTHS) for place in range(1, width + 1))
NUMBER: Final = {net: number for number, net in enumerate(NETS)}


def above(net: Net) -> Net:
    """The net that this one hangs on."""
    fewer = WIDTHS[net.level] // WIDTHS[net.level - 1]
    return Net(net.level - 1, (net.place - 1) // fewer + 1)


def distance(net: Net) -> int:
    """0 for the publisher's platoon, 1 for the rest of its company, 2 for all others (3.4.4)."""
    if net == (2, 1) or (net.level == 3 and net.place <= 4):
        return 0
    near = {0: 0, 1: 1, 2: 6, 3: 24}
    return 1 if net.place <= near[net.level] else 2


AT_DISTANCE: Final = tuple(
    sum(MEMBERS[net.level] for net in NETS if net != PUBLISHER and distance(net) == far) for far in range(3)
)
"""How many can subscribe near the squad, at an average distance and far away."""
TREE: Final = rooted(((NUMBER[above(net)], NUMBER[net]) for net in NETS[1:]), NUMBER[PUBLISHER])
"""The 124 links, seen from the publishing squad; brokers are numbered as in NETS, from 0."""


@dataclass(frozen=True, slots=True)
class Radio:
    """How often the squad publishes and subscriptions are refreshed; how long members subscribe (1/mu), and where.

    Members near the squad become active q times as often as those at an average distance, and those q times as often
    as those far away (3.4.4).
    """

    omega: float
    mu: float
    r: float
    q: float = 1.0

    def __post_init__(self) -> None:
        at_least("omega", self.omega)
        above_zero("mu", self.mu)
        period("r", self.r)
        above_zero("q", self.q)

    def populations(self, lam: float) -> dict[Net, Population]:
        """Who subscribes in each net, where those near the squad become active at rate lam."""
        kinds = {(net.level, distance(net)) for net in NETS}
        alike = {(level, far): self._population(lam, far, MEMBERS[level]) for level, far in kinds}
        return {net: alike[net.level, distance(net)] for net in NETS if net != PUBLISHER}

    def psi(self, lam: float) -> float:
        """Ψ, how many subscribers are active on average (3.4)."""
        return math.fsum(self._population(lam, far, size).active for far, size in enumerate(AT_DISTANCE))

    def lam(self, psi: float) -> float:
        """The lambda near the squad at which psi subscribers are active."""
        require(0 <= psi < SUBSCRIBERS, f"psi = {psi:g}: must be from 0 and below {SUBSCRIBERS}, all who can subscribe")
        if self.q == 1:
            return psi * self.mu / (SUBSCRIBERS - psi)
        return _crossing(lambda lam: self.psi(lam) - psi, 0, _above(lambda lam: self.psi(lam) - psi))

    def _population(self, lam: float, far: int, size: int) -> Population:
        return Population(lam / self.q**far, self.mu, size)

    def traffic(self, psi: float) -> Traffic:
        """The traffic with psi active subscribers on average."""
        members = {NUMBER[net]: each for net, each in self.populations(self.lam(psi)).items()}
        return traffic(TREE, members, self.omega, self.r)

    def x(self, psi: float) -> float:
        """The links in use."""
        members = self.populations(self.lam(psi))
        return usage(TREE, {NUMBER[net]: each.idle for net, each in members.items()}).x

    def printed_traffic(self, psi: float) -> Traffic:
        """The traffic as in C.2 and C.3."""
        members = self.populations(self.lam(psi))
        return from_usage(printed_x(members), printed_toggle(members), self.omega, self.r, len(NETS) - 1)

    def printed_x(self, psi: float) -> float:
        """x as in C.1."""
        return printed_x(self.populations(self.lam(psi)))

    def break_even(self) -> float | None:
        """The Ψ from which flooding is cheaper; None if it never is."""
        return self._break_even(self.traffic)

    def printed_break_even(self) -> float | None:
        """The same by appendix C as printed: what figures 3.3 to 3.6 show."""
        return self._break_even(self.printed_traffic)

    def _break_even(self, cost: Callable[[float], Traffic]) -> float | None:
        def excess(psi: float) -> float:
            here = cost(psi)
            return here.identity - here.flooding

        if self.omega == 0:
            return 0.0
        last = 0
        # Identity-based routing costs nothing at Ψ = 0. The first crossing counts: look for it in steps.
        for here in range(SEARCH_STEP, SUBSCRIBERS, SEARCH_STEP):
            if excess(here) > 0:
                return _crossing(excess, last, here)
            last = here
        return None


def _above(excess: Callable[[float], float]) -> float:
    high = 1.0
    while excess(high) < 0:
        high *= 2
    return high


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where excess turns from negative to positive, to the last bit."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


class _Idle:
    """Products of p over ranges of places on one level, as appendix C writes them."""

    def __init__(self, members: Mapping[Net, Population]) -> None:
        self.members = members
        self.p: list[list[float]] = [[1.0] * (width + 1) for width in WIDTHS]  # places count from 1
        for net, each in members.items():
            self.p[net.level][net.place] = each.idle

    def product(self, level: int, first: int, last: int, without: int = 0) -> float:
        p = self.p[level]
        if first <= without <= last:
            return math.prod(p[first:without]) * math.prod(p[without + 1 : last + 1])
        return math.prod(p[first : last + 1])

    def active(self, level: int, first: int, last: int) -> float:
        """Π (1 − p)."""
        return math.prod(1 - each for each in self.p[level][first : last + 1])

    def rate(self, level: int, place: int) -> float:
        """2 lam p, without N."""
        return self.members[Net(level, place)].printed_toggles


def printed_x(members: Mapping[Net, Population]) -> float:
    """x_1 … x_9 of C.1, to the letter."""
    idle = _Idle(members)
    one = idle.active
    x1 = sum(one(3, j, j) for j in range(25, 97))
    x2 = sum(one(2, j, j) * one(3, 4 * j - 3, 4 * j) for j in range(7, 25))
    x3 = sum(one(1, j, j) * one(2, 6 * j - 5, 6 * j) * one(3, 24 * j - 23, 24 * j) for j in range(2, 5))
    x4 = one(0, 1, 1) * one(1, 2, 4) * one(2, 7, 24) * one(3, 25, 96)
    x5 = sum(one(3, j, j) for j in range(5, 25))
    x6 = sum(one(2, j, j) * one(3, 4 * j - 3, 4 * j) for j in range(2, 7))
    x7 = one(1, 1, 1) * one(2, 2, 6) * one(3, 5, 24) * x4
    x8 = sum(one(3, j, j) for j in range(2, 5))
    x9 = one(2, 1, 1) * one(3, 2, 4) * x7
    return x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9


def printed_toggle(members: Mapping[Net, Population]) -> float:
    """dt_1 … dt_9 of C.2, summed as in C.3, to the letter: dt_7 leaves out squad 24 and one link of the others."""
    idle = _Idle(members)
    p, top = idle.product, idle.p[0][1]

    def upper(one: int = 0, two: int = 0, three: int = 0) -> tuple[float, float, float]:
        """The last three links towards the squad: how idle all others below each are."""
        return (
            top * p(1, 2, 4, one) * p(2, 7, 24, two) * p(3, 25, 96, three),
            top * p(1, 1, 4, one) * p(2, 2, 24, two) * p(3, 5, 96, three),
            top * p(1, 1, 4, one) * p(2, 1, 24, two) * p(3, 2, 96, three),
        )

    total = 0.0
    for i in range(25, 97):  # dt_1: squads of other companies
        a, b = -(-i // 4), -(-i // 24)
        own = 1 + p(2, a, a) * p(3, 4 * a - 3, 4 * a, i)
        company = p(1, b, b) * p(2, 6 * b - 5, 6 * b) * p(3, 24 * b - 23, 24 * b, i)
        total += (own + company + sum(upper(three=i))) * idle.rate(3, i)
    for i in range(7, 25):  # dt_2: platoons of other companies
        b = -(-i // 6)
        company = p(1, b, b) * p(2, 6 * b - 5, 6 * b, i) * p(3, 24 * b - 23, 24 * b)
        total += (p(3, 4 * i - 3, 4 * i) + company + sum(upper(two=i))) * idle.rate(2, i)
    for i in range(2, 5):  # dt_3: other companies
        total += (p(2, 6 * i - 5, 6 * i) * p(3, 24 * i - 23, 24 * i) + sum(upper(one=i))) * idle.rate(1, i)
    # dt_4 is of the battalion's own net, which has no members
    middle = top * p(1, 2, 4)
    total += middle * (p(2, 2, 24) * p(3, 5, 96) + p(2, 1, 24) * p(3, 2, 96)) * idle.rate(1, 1)  # dt_5
    total += top * p(1, 1, 4) * p(2, 2, 24) * p(3, 2, 96) * idle.rate(2, 1)  # dt_6
    for i in range(5, 24):  # dt_7: squads of the same company
        a = -(-i // 4)
        own = 1 + p(2, a, a) * p(3, 4 * a - 3, 4 * a, i)
        third = middle * p(2, 2, 24) * p(3, 5, 96, i)
        total += (own + third + upper(three=i)[2]) * idle.rate(3, i)
    for i in range(2, 7):  # dt_8: platoons of the same company
        total += (p(3, 4 * i - 3, 4 * i) + sum(upper(two=i)[1:])) * idle.rate(2, i)
    for i in range(2, 5):  # dt_9: squads of the same platoon
        total += (1 + upper(three=i)[2]) * idle.rate(3, i)
    return total
