"""What several runs of the simulator say together, and where a measured curve crosses another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from chapar_audit.jobs.steady import STUDENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SURE: Final = 3.0
"""Standard errors that chance may make of a comparison."""
MOST: Final = 0.15
"""Off by a larger share no measurement may be: then there are too few runs."""


def half_width(figures: Mapping[str, Any], runs: int) -> float:
    """Of the 95 % confidence interval of the total, which is a mean over so many runs."""
    return STUDENT[min(runs - 2, len(STUDENT) - 1)] * _standard_error(figures, runs)


def tolerance(figures: Mapping[str, Any], runs: int, least: float) -> float:
    """The share that the total of so many runs may be off: three standard errors, but at least this much."""
    error = _standard_error(figures, runs) / figures["total"] if figures["total"] else 0.0
    return round(min(max(least, SURE * error), MOST), 3)


def _standard_error(figures: Mapping[str, Any], runs: int) -> float:
    """The deviation that the simulator says is that of the runs themselves, not of what they are drawn from."""
    assert runs >= 2, "one run says nothing about its error"
    return float(figures["deviation"] / math.sqrt(runs - 1))


def crossing(x: Sequence[float], y: Sequence[float], limit: float) -> float | None:
    """Where the line through these points first comes to be above the limit; None if it does not."""
    for place in range(1, len(x)):
        low, high = y[place - 1], y[place]
        if low <= limit < high:
            return x[place - 1] + (limit - low) / (high - low) * (x[place] - x[place - 1])
    return None
