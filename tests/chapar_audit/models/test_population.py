"""Subscribers of one broker against their Markov chain."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.population import Population

rates = st.floats(0.01, 10)


@given(rates, rates, st.integers(1, 12))
def test_a_finite_population_is_its_chain(lam: float, mu: float, size: int) -> None:
    """p0, the toggle rate and the mean are those of the birth-death chain with rates (N − n) lam and n mu."""
    weights = [1.0]
    for n in range(size):
        weights.append(weights[-1] * (size - n) * lam / ((n + 1) * mu))
    p = [weight / math.fsum(weights) for weight in weights]
    who = Population(lam, mu, size)
    assert who.idle == pytest.approx(p[0])
    assert who.toggles == pytest.approx(p[0] * size * lam + p[1] * mu)
    assert who.active == pytest.approx(math.fsum(n * each for n, each in enumerate(p)))


@given(rates, rates)
def test_an_infinite_population_is_the_limit_of_finite_ones(lam: float, mu: float) -> None:
    """Many sources that each come rarely are M/M/∞."""
    few, many = Population(lam, mu), Population(lam / 10**7, mu, 10**7)
    assert many.idle == pytest.approx(few.idle, rel=1e-2)
    assert many.toggles == pytest.approx(few.toggles, rel=1e-2)
    assert many.active == pytest.approx(few.active, rel=1e-3)


def test_the_printed_toggle_rate_lacks_the_number_of_sources() -> None:
    """It is right for one source, and for infinitely many."""
    assert Population(0.3, 1, 8).toggles == pytest.approx(8 * Population(0.3, 1, 8).printed_toggles)
    assert Population(0.3, 1, 1).toggles == Population(0.3, 1, 1).printed_toggles
    assert Population(0.3, 1).toggles == Population(0.3, 1).printed_toggles


@pytest.mark.parametrize("who", [Population(0, 1), Population(0, 0), Population(0.5, 1, 0)])
def test_where_nobody_comes_nobody_is(who: Population) -> None:
    """Always idle, never toggling."""
    assert (who.idle, who.toggles, who.active) == (1, 0, 0)


@pytest.mark.parametrize(("lam", "mu", "size"), [(-1, 1, None), (1, -1, None), (1, 0, 3), (1, 1, -1)])
def test_impossible_populations_are_refused(lam: float, mu: float, size: int | None) -> None:
    """Negative rates and sizes, and subscribers that never leave."""
    with pytest.raises(ImpossibleInputError):
        Population(lam, mu, size)
