"""Arrival rates that change with time, against the differential equation and the steady state."""

from __future__ import annotations

import math

import pytest

from chapar_audit.models import transient
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.integration import integral, solution
from chapar_audit.models.population import Population
from chapar_audit.models.transient import Grove, Wave
from chapar_audit.models.tree import leaves, m_ary, traffic

GROVE = Grove(m=3, k=4, omega=1, r=1)


@pytest.mark.parametrize("wave", [Wave(1, 5, 5, 5, rho0=1), Wave(7, 1, 3, 0.5), Wave(0, 0, 2, 1, rho0=0)])
def test_the_load_solves_its_equation(wave: Wave) -> None:
    """2.37 against 2.27."""
    path = solution(lambda t, rho: (wave.lam(t) - wave.mu * rho[0],), (wave.start,), 2, 2000)
    assert [wave.rho(step / 1000) for step in range(2001)] == pytest.approx([rho for (rho,) in path], abs=1e-9)


def test_a_constant_rate_is_the_steady_state() -> None:
    """Per unit of time, the general tree's traffic."""
    tree = m_ary(3, 4)
    steady = traffic(tree, dict.fromkeys(leaves(tree), Population(0.5, 2)), 1, 1)
    assert transient.identity(GROVE, Wave(1, 0, 0.5, 2), 10) == pytest.approx(10 * steady.identity)
    assert transient.flooding(GROVE, 10) == 10 * steady.flooding


def test_over_whole_periods_printed_and_right_toggles_are_as_many() -> None:
    """A settled wave turns a broker active as often as idle: p0 is the same again after a period."""
    wave = Wave(2, 3, 3, 1, rho0=Wave(2, 3, 3, 1).rho(100 * math.pi))
    right = integral(wave.toggles, math.pi, 0.1)
    assert integral(wave.printed_toggles, math.pi, 0.1) == pytest.approx(right, rel=1e-9)
    assert integral(wave.printed_toggles, 1, 0.1) != pytest.approx(right, rel=0.01)


def test_steps_of_pi_20_alias() -> None:
    """They see a slow wave as it is; of waves with a = 20 and 40 they see the same phases again and again."""
    grove = Grove(3, 5, 1, 1)
    for a, off in ((1, 0.0), (19, 0.0), (20, 0.032), (40, 0.095)):
        wave = Wave(a, 5, 5, 5)
        right = transient.printed_identity(grove, wave, 25)
        assert transient.printed_steps(grove, wave, 25) / right - 1 == pytest.approx(off, abs=0.01)


def test_toggles_change_p0_as_they_should() -> None:
    """dp0/dt is the rate of turning idle less that of turning active."""
    wave, t, step = Wave(1, 5, 5, 5, rho0=1), 0.7, 1e-6
    slope = (math.exp(-wave.rho(t + step)) - math.exp(-wave.rho(t - step))) / (2 * step)
    activations = wave.lam(t) * math.exp(-wave.rho(t))
    assert wave.toggles(t) - 2 * activations == pytest.approx(slope, rel=1e-6)


def test_finite_populations_settle_where_they_should() -> None:
    """With a constant rate, to lam/(lam + mu); the toggles are those of the steady state."""
    active = transient.finite_active(Wave(1, 0, 0.5, 2), 10)[-1]
    assert active == pytest.approx(0.2)
    assert transient.finite_toggles(0.5, 2, active, 8) == pytest.approx(Population(0.5, 2, 8).toggles)


@pytest.mark.parametrize("wrong", [(-1, 0, 1, 1), (1, 2, 1, 1), (1, 0, -1, 1), (1, 0, 1, 0), (1, 0, 1, 1, -1)])
def test_impossible_waves_are_refused(wrong: tuple[float, ...]) -> None:
    """A rate that turns negative, for one."""
    with pytest.raises(ImpossibleInputError):
        Wave(*wrong)


def test_other_impossible_input_is_refused() -> None:
    """No links, no time, more than one active per source."""
    with pytest.raises(ImpossibleInputError):
        Grove(3, 1, 1, 1)
    with pytest.raises(ImpossibleInputError):
        transient.identity(GROVE, Wave(1, 0, 1, 1), 0)
    with pytest.raises(ImpossibleInputError):
        transient.finite_active(Wave(1, 0, 1, 1, rho0=2), 1)
