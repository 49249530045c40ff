"""Integrals and differential equations whose solutions are known."""

from __future__ import annotations

import math

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.integration import integral, solution


def test_an_integral_is_exact_to_the_last_digits() -> None:
    """Whatever the first panels are."""
    assert integral(math.exp, 3, 3) == pytest.approx(math.exp(3) - 1, rel=1e-13)
    assert integral(lambda t: math.sin(20 * t) ** 2, math.pi, 0.3) == pytest.approx(math.pi / 2, rel=1e-12)


def test_a_sharp_peak_is_found_by_halving() -> None:
    """A bell much narrower than a panel, where the first points see some of it."""
    bell = integral(lambda t: math.exp(-(((t - 1) / 0.01) ** 2)), 2, 0.05)
    assert bell == pytest.approx(0.01 * math.sqrt(math.pi), rel=1e-10)


def test_an_integral_over_too_many_panels_is_refused() -> None:
    """Rather than never coming back."""
    with pytest.raises(ImpossibleInputError, match="too long"):
        integral(math.sin, 1e9, 1)


def test_a_differential_equation_is_followed() -> None:
    """An oscillator comes round."""
    path = solution(lambda _, y: (y[1], -y[0]), (1.0, 0.0), 2 * math.pi, 200)
    assert len(path) == 201
    assert path[0] == pytest.approx((1, 0))
    assert path[100] == pytest.approx((-1, 0), abs=1e-6)
    assert path[-1] == pytest.approx((1, 0), abs=1e-6)
