"""Arrival rates that change with time (2.4): subscribers come in waves to every end-broker of an m-ary tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chapar_audit.models.conditions import above_zero, at_least, period, require
from chapar_audit.models.integration import in_steps, integral, solution
from chapar_audit.models.tree import from_usage, uniform_m_ary_usage, widths

if TYPE_CHECKING:
    from collections.abc import Callable

PRINTED_STEP: Final = math.pi / 20
"""Of the integration for figure 2.7: waves of a = 20, 40, … are at the same phases at all steps."""


@dataclass(frozen=True, slots=True)
class Wave:
    """lam(t) = c + b sin(at) (2.36), with mu the same at all times; the load is rho0 at first (c/mu if not given)."""

    a: float
    b: float
    c: float
    mu: float
    rho0: float | None = None

    def __post_init__(self) -> None:
        at_least("a", self.a)
        at_least("c", self.c)
        above_zero("mu", self.mu)
        swing = f"b = {self.b:g}, c = {self.c:g}: b must be from 0 to c, or the rate turns negative"
        require(0 <= self.b <= self.c, swing)
        at_least("rho0", self.start)

    @property
    def start(self) -> float:
        return self.c / self.mu if self.rho0 is None else self.rho0

    def lam(self, t: float) -> float:
        return self.c + self.b * math.sin(self.a * t)

    def rho(self, t: float) -> float:
        """The load: how many subscribers are active at time t, on average (2.37)."""
        square = self.a**2 + self.mu**2
        settling = self.start + self.b * self.a / square - self.c / self.mu
        swing = self.mu * math.sin(self.a * t) - self.a * math.cos(self.a * t)
        return self.c / self.mu + settling * math.exp(-self.mu * t) + self.b / square * swing

    def toggles(self, t: float) -> float:
        """How often a broker toggles at time t: it turns active at rate lam p0, and idle at mu P(1) = mu rho p0."""
        return (self.lam(t) + self.mu * self.rho(t)) * math.exp(-self.rho(t))

    def printed_toggles(self, t: float) -> float:
        """2 lam(t) p0(t), as printed with 2.29. Over whole periods of a settled wave the integral is the same."""
        return 2 * self.lam(t) * math.exp(-self.rho(t))


@dataclass(frozen=True, slots=True)
class Grove:
    """An m-ary tree with k levels, its publisher's rate omega and the refresh period r."""

    m: int
    k: int
    omega: float
    r: float

    def __post_init__(self) -> None:
        require(self.k >= 2, f"k = {self.k}: a tree with links has at least 2 levels")
        widths(self.m, self.k)
        at_least("omega", self.omega)
        period("r", self.r)

    @property
    def links(self) -> int:
        return sum(widths(self.m, self.k)[1:])

    def identity(self, idle: float, toggles: float) -> float:
        """A_ibr at a moment at which each end-broker is idle with this probability and toggles at this rate."""
        x, d = uniform_m_ary_usage(self.m, self.k, idle)
        return from_usage(x, self.m ** (self.k - 1) * d * toggles, self.omega, self.r, self.links).identity


def identity(grove: Grove, wave: Wave, end: float) -> float:
    """A_ibr over the time from 0 to end: how many messages (2.30, 2.38), with the right toggle rate."""
    return _identity(grove, wave, end, wave.toggles)


def printed_identity(grove: Grove, wave: Wave, end: float) -> float:
    """The same with the toggle rate as printed."""
    return _identity(grove, wave, end, wave.printed_toggles)


def printed_steps(grove: Grove, wave: Wave, end: float) -> float:
    """The same in steps of π/20 besides; figure 2.7 shows it."""
    above_zero("T", end)
    return in_steps(lambda t: _rate(grove, wave, wave.printed_toggles, t), end, PRINTED_STEP)


def flooding(grove: Grove, end: float) -> float:
    """A_f over the time from 0 to end (2.31)."""
    return end * grove.omega * grove.links


def _identity(grove: Grove, wave: Wave, end: float, toggles: Callable[[float], float]) -> float:
    above_zero("T", end)
    # The load follows changes within 1/mu, and p0 to the power of all end-brokers is sharper than the load.
    shortest = min(end, 1 / wave.mu, math.pi / wave.a if wave.a else end)
    return integral(lambda t: _rate(grove, wave, toggles, t), end, shortest)


def _rate(grove: Grove, wave: Wave, toggles: Callable[[float], float], t: float) -> float:
    return grove.identity(math.exp(-wave.rho(t)), toggles(t))


def finite_active(wave: Wave, end: float, steps: int = 1000) -> list[float]:
    """The probability that one of finitely many sources is active, at steps + 1 times from 0 to end (2.33).

    Sources turn active at rate lam(t) while they are not; they start inactive, or active with probability rho0.
    """
    start = 0.0 if wave.rho0 is None else wave.rho0
    require(start <= 1, f"rho0 = {start:g}: of one source, the load is a probability, from 0 to 1")
    path = solution(lambda t, y: (wave.lam(t) * (1 - y[0]) - wave.mu * y[0],), (start,), end, steps)
    return [active for (active,) in path]


def finite_toggles(lam: float, mu: float, active: float, size: int) -> float:
    """How often a broker with `size` sources toggles, each active with this probability: 2.35 for none and for one."""
    return size * (lam * (1 - active) ** size + mu * active * (1 - active) ** (size - 1))
