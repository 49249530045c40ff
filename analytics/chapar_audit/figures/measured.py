"""What several runs of the simulator say together, and where a measured curve crosses another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from chapar_audit.jobs.steady import STUDENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def half_width(figures: Mapping[str, Any], runs: int) -> float:
    """Of the 95 % confidence interval of the total, which is a mean over so many runs."""
    if runs < 2:
        return math.inf
    student = STUDENT[min(runs - 2, len(STUDENT) - 1)]
    return float(student * figures["deviation"] / math.sqrt(runs - 1))


def crossing(x: Sequence[float], y: Sequence[float], limit: float) -> float | None:
    """Where the line through these points first comes to be above the limit; None if it does not."""
    for place in range(1, len(x)):
        low, high = y[place - 1], y[place]
        if low <= limit < high:
            return x[place - 1] + (limit - low) / (high - low) * (x[place] - x[place - 1])
    return None
