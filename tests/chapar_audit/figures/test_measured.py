"""What several runs say together, and where curves cross."""

from __future__ import annotations

import math

import pytest

from chapar_audit.figures.measured import crossing, half_width, tolerance


def test_a_confidence_interval_is_students() -> None:
    """Of 1, 2 and 3: t = 4.303 with two degrees of freedom, times 1/√3."""
    assert half_width({"deviation": math.sqrt(2 / 3)}, 3) == pytest.approx(4.303 / math.sqrt(3))


@pytest.mark.parametrize(("deviation", "share"), [(0.0, 0.03), (1.0, 0.03), (4.0, 0.06), (50.0, 0.15)])
def test_chance_may_make_three_standard_errors(deviation: float, share: float) -> None:
    """Of 100 messages in five runs, but always the least, and never more than 15 %."""
    assert tolerance({"total": 100.0, "deviation": deviation}, 5, 0.03) == share


def test_curves_cross_where_the_line_is_above_the_limit() -> None:
    """First, and between two points."""
    assert crossing([8, 9, 10], [38, 42, 44], 39) == pytest.approx(8.25)
    assert crossing([0, 1, 2, 3], [0, 2, 0, 2], 1) == pytest.approx(0.5)
    assert crossing([8, 9], [38, 39], 39) is None
