"""What a model asks of its input. Whatever no system can have is refused here, in one line that says the condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class ImpossibleInputError(ValueError):
    """No system is like this: one line with the condition that does not hold."""


def require(condition: object, line: str) -> None:
    """Refuse with `line` unless the condition holds."""
    if not condition:
        raise ImpossibleInputError(line)


def at_least(name: str, value: float, low: float = 0) -> float:
    """A finite number from `low`."""
    require(math.isfinite(value) and value >= low, f"{name} = {value:g}: must be a number from {low:g}")
    return value


def above_zero(name: str, value: float) -> float:
    require(math.isfinite(value) and value > 0, f"{name} = {value:g}: must be above 0")
    return value


def period(name: str, value: float) -> float:
    """A period above 0; an infinite one is for what never happens."""
    require(value > 0, f"{name} = {value:g}: must be above 0 (inf for never)")
    return value


def probability(name: str, value: float) -> float:
    require(0 <= value <= 1, f"{name} = {value:g}: a probability is from 0 to 1")
    return value


def for_each(name: str, values: Sequence[float], count: int, things: str = "brokers") -> tuple[float, ...]:
    """One value for each of `count` things: a single value stands for all of them."""
    require(len(values) in {1, count}, f"{name}: {len(values)} values for {count} {things}; give one, or one for each")
    return tuple(values) * count if len(values) == 1 else tuple(values)
