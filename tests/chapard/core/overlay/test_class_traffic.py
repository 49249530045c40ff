"""What a broker sees of a class becomes rates, and the model's prices of both ways to route it."""

from __future__ import annotations

from math import exp
from random import Random

import pytest

from chapard.core.overlay.class_traffic import (
    ALWAYS,
    ENOUGH,
    MEMORY,
    SILENCE,
    ClassTraffic,
    Estimate,
    prefers_flooding,
    whole_refreshes,
)

R = 0.5


def seen(
    *, lam: float, mu: float, omega: float, flooded: bool, duration: float, share: float = 1.0, seed: int = 1
) -> Estimate:
    """One filter that begins and ends to stand, and wants a share of the notifications. The average of what is
    concluded at the beginnings of the periods in the last three quarters of the time."""
    rng, traffic = Random(seed), ClassTraffic(R, 0.0)
    now, standing, found = 0.0, False, []
    next_look = duration / 4
    while now < duration:
        rate = (mu if standing else lam) + omega
        now += rng.expovariate(rate)
        while next_look < min(now, duration):
            traffic.advance(next_look, flooded=flooded)
            estimate = traffic.estimate()
            assert estimate is not None
            found.append(estimate)
            next_look += R
        if rng.random() * rate < omega:
            wanted = standing and rng.random() < share
            if wanted or flooded:
                traffic.advance(now, flooded=flooded)
                traffic.notified(wanted=wanted, flooded=flooded)
        else:
            standing = not standing
            traffic.stands(int(standing), now, flooded=flooded)
    return Estimate(*(sum(column) / len(found) for column in zip(*found, strict=True)))


@pytest.mark.parametrize("flooded", [False, True])
@pytest.mark.parametrize(("lam", "mu", "omega"), [(0.5, 1, 2), (2, 1, 6), (0.6, 0.4, 0.7)])
def test_rates_and_prices_are_those_of_the_model(lam: float, mu: float, omega: float, flooded: bool) -> None:  # noqa: FBT001
    """Of one filter: (ω + 1/r) u + 2 λ (1 − u), with u = λ/(λ + μ); flooding costs ω and rare refreshes.

    It does not matter which way is taken while looking. On average; estimates of ratios are a little above them.
    """
    found = seen(lam=lam, mu=mu, omega=omega, flooded=flooded, duration=6000)
    used = lam / (lam + mu)
    assert (found.lam, found.mu, found.omega) == pytest.approx((lam, mu, omega), rel=0.16)
    assert found.period == R
    assert found.filtering == pytest.approx((omega + 1 / R) * used + 2 * lam * (1 - used), rel=0.08)
    assert found.flooding == pytest.approx(omega + whole_refreshes(omega * R) / R, rel=0.1)


def test_notifications_nobody_wants_are_not_charged_to_filtering() -> None:
    """A filter that admits a tenth of its class is cheap, and that is seen while the class is flooded."""
    found = seen(lam=1, mu=1, omega=10, flooded=True, duration=3000, share=0.1)
    assert found.filtering == pytest.approx((1 + 1 / R) / 2 + 1, rel=0.1)
    assert found.flooding == pytest.approx(10, rel=0.05)


def test_what_was_learnt_of_the_share_is_remembered() -> None:
    """Filtering shows the wanted notifications only; the others are reckoned with."""
    traffic = ClassTraffic(R, 0.0)
    traffic.stands(1, 0.0, flooded=True)
    for number in range(1000):
        traffic.notified(wanted=number % 4 == 0, flooded=True)
    traffic.advance(MEMORY * R, flooded=True)
    for number in range(1, 1000):
        traffic.notified(wanted=True, flooded=False)
        traffic.advance(MEMORY * R + number, flooded=False)
    found = traffic.estimate()
    assert found is not None
    assert found.omega == pytest.approx(4, rel=0.05)
    assert found.filtering == pytest.approx(1 + 1 / R, rel=0.05)


def test_nothing_is_concluded_from_little() -> None:
    """Neither soon, nor where hardly anybody was ever interested."""
    traffic = ClassTraffic(R, 0.0)
    traffic.stands(1, 0.0, flooded=False)
    traffic.advance(0.9 * ENOUGH * R, flooded=False)
    assert traffic.estimate() is None
    traffic.stands(0, 0.9 * ENOUGH * R, flooded=False)
    traffic.advance(100 * R, flooded=False)
    assert traffic.estimate() is None
    traffic.advance(130 * R, flooded=True)
    assert traffic.estimate() is not None


def test_what_is_long_gone_is_forgotten() -> None:
    traffic = ClassTraffic(R, 0.0)
    traffic.stands(1, 0.0, flooded=False)
    traffic.stands(0, 20 * R, flooded=False)
    assert not traffic.is_forgotten
    traffic.advance(20 * MEMORY * R, flooded=False)
    assert traffic.is_forgotten


@pytest.mark.parametrize("per_period", [0.0, 0.01, 0.3, 1.0, 4.0])
def test_refreshes_of_whole_classes(per_period: float) -> None:
    """One after SILENCE periods without a notification, counted anew after each; and the rare ones that always come."""
    rng, silence, refreshes, periods = Random(4), 0, 0, 200_000
    for _ in range(periods):
        silence = silence + 1 if rng.random() < exp(-per_period) else 0
        if silence == SILENCE:
            silence, refreshes = 0, refreshes + 1
    assert whole_refreshes(per_period) - 1 / ALWAYS == pytest.approx(refreshes / periods, rel=0.05, abs=2e-4)


def test_a_choice_needs_a_reason_to_change() -> None:
    """Saving 3 % is none, whichever way is taken; saving 10 % is one."""
    worth = 0.97

    def priced(filtering: float, flooding: float) -> Estimate:
        return Estimate(1, 1, 1, R, filtering, flooding)

    for floods in (False, True):
        assert prefers_flooding(priced(1, worth), floods=floods) == floods
        assert prefers_flooding(priced(worth, 1), floods=floods) == floods
        assert prefers_flooding(priced(1, 0.9), floods=floods)
        assert not prefers_flooding(priced(0.9, 1), floods=floods)
