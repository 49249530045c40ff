"""Covering on one link, against the Markov chain of its two filters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.covering import Notifications, covered
from chapar_audit.models.population import Population

rates = st.floats(0.01, 10)


@given(rates, rates, rates, rates)
def test_the_traffic_is_that_of_the_chain(lam_g: float, mu_g: float, lam_f: float, mu_f: float) -> None:
    """One subscriber each: what every state and every transition between the four sends, with and without covering."""
    g, f = Population(lam_g, mu_g, 1), Population(lam_f, mu_f, 1)
    on_g, on_f = 1 - g.idle, 1 - f.idle
    dull = g.idle * f.idle * (lam_g + lam_f)  # either comes: one subscription
    only_g = on_g * f.idle * (mu_g + lam_f * 2)  # G goes: one; F comes: subscribe F, withdraw G
    only_f = g.idle * on_f * mu_f  # G comes: covered; F goes: one
    both = on_g * on_f * mu_f * 2  # G goes: it was covered; F goes: unsubscribe F, forward G
    ours = covered(g, f, Notifications(2, 0.2, 0.3, 0.5))
    assert ours.toggle == pytest.approx(dull + only_g + only_f + both)
    assert ours.identity == pytest.approx(
        g.idle * f.idle * (lam_g + lam_f)
        + on_g * f.idle * (mu_g + lam_f + 2 * 0.2 + 2)
        + g.idle * on_f * (lam_g + mu_f + 2 * (0.2 + 0.3) + 2)
        + on_g * on_f * (mu_g + mu_f + 2 * (0.2 + 0.3) + 2 * 2)
    )


def test_covering_saves_refreshes_and_costs_toggles() -> None:
    """With many steady subscribers of both, the refreshes of G are saved and nobody toggles."""
    g, f = Population(1, 0.01), Population(1, 0.01)
    ours = covered(g, f, Notifications(2, 0.2, 0.3, 0.5))
    assert ours.identity - ours.total == pytest.approx(1 / 0.5)
    assert ours.flooding == 2


def test_what_2_48_lacks_counts_once_or_twice() -> None:
    """G is forwarded again when F goes; an explicit withdrawal when F comes is as frequent."""
    g, f, what = Population(0.8, 1), Population(0.3, 0.6), Notifications(2, 0.2, 0.3, 0.5)
    once = covered(g, f, what, covered_is_withdrawn=False)
    twice = covered(g, f, what)
    assert twice.toggle - twice.printed_toggle == pytest.approx(2 * (once.toggle - once.printed_toggle))
    assert once.toggle - once.printed_toggle == pytest.approx(0.3 * f.idle * (1 - g.idle))


@pytest.mark.parametrize("wrong", [(-1, 0.2, 0.3, 1), (1, -0.2, 0.3, 1), (1, 0.7, 0.4, 1), (1, 0.2, 0.3, 0)])
def test_impossible_notifications_are_refused(wrong: tuple[float, float, float, float]) -> None:
    """Negative rates and shares, shares above all, no period."""
    with pytest.raises(ImpossibleInputError):
        Notifications(*wrong)
