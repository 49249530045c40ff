"""What models refuse, and that the line says the condition."""

from __future__ import annotations

import math

import pytest

from chapar_audit.models import conditions
from chapar_audit.models.conditions import ImpossibleInputError


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_rate_is_a_number_from_zero(value: float) -> None:
    """Neither negative nor infinite nor no number."""
    with pytest.raises(ImpossibleInputError, match=r"^omega = .*: must be a number from 0$"):
        conditions.at_least("omega", value)


@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf])
def test_a_duration_is_above_zero(value: float) -> None:
    """Zero is none."""
    with pytest.raises(ImpossibleInputError, match="above 0"):
        conditions.above_zero("D", value)


def test_a_period_may_be_infinite() -> None:
    """What never happens has an infinite period; zero and no number are no periods."""
    assert conditions.period("r", math.inf) == math.inf
    for value in (0, math.nan):
        with pytest.raises(ImpossibleInputError, match="inf for never"):
            conditions.period("r", value)


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan])
def test_a_probability_is_from_zero_to_one(value: float) -> None:
    """The ends are allowed."""
    assert conditions.probability("z", 0) + conditions.probability("z", 1) == 1
    with pytest.raises(ImpossibleInputError, match="from 0 to 1"):
        conditions.probability("z", value)


def test_one_value_stands_for_all() -> None:
    """One, or one for each; nothing between."""
    assert conditions.for_each("mu", [2.0], 3) == (2, 2, 2)
    assert conditions.for_each("mu", [1.0, 2.0, 3.0], 3) == (1, 2, 3)
    with pytest.raises(ImpossibleInputError, match="mu: 2 values for 3 brokers"):
        conditions.for_each("mu", [1.0, 2.0], 3)
