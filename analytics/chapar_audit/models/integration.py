"""Integrals and differential equations, for the models whose rates change with time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from chapar_audit.models.conditions import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Gauss-Legendre with eight points: exact for polynomials up to degree 15.
NODES: Final = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
WEIGHTS: Final = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)
TOLERANCE: Final = 1e-12
MOST_PANELS: Final = 1 << 16


def integral(rate: Callable[[float], float], end: float, longest_panel: float) -> float:
    """∫ rate from 0 to end. Panels are halved until that changes nothing; the first are no longer than `longest_panel`.

    A fixed step aliases: π/20, which is stated for figure 2.7, is no small part of the period 2π/20.
    """
    panels = max(1, round(end / longest_panel))
    require(panels <= MOST_PANELS, f"T = {end:g}: too long for rates that change within {longest_panel:g}")
    before = _gauss(rate, end, panels)
    while panels < MOST_PANELS:
        panels *= 2
        here = _gauss(rate, end, panels)
        if abs(here - before) <= TOLERANCE * abs(here):
            return here
        before = here
    return before


def in_steps(rate: Callable[[float], float], end: float, step: float) -> float:
    """The same by the trapezium rule in as many steps of this length as there are, blind to all that is shorter."""
    values = [rate(number * step) for number in range(int(end / step) + 1)]
    return step * (math.fsum(values) - (values[0] + values[-1]) / 2)


def _gauss(rate: Callable[[float], float], end: float, panels: int) -> float:
    half = end / panels / 2
    points = [(sign * node, weight) for node, weight in zip(NODES, WEIGHTS, strict=True) for sign in (-1, 1)]
    values = (weight * rate((2 * panel + 1 + node) * half) for panel in range(panels) for node, weight in points)
    return half * math.fsum(values)


def solution(
    slope: Callable[[float, Sequence[float]], Sequence[float]], start: Sequence[float], end: float, steps: int
) -> list[tuple[float, ...]]:
    """y at steps + 1 equal times from 0 to end, where dy/dt = slope(t, y): Runge-Kutta of order four."""
    step = end / steps
    here = tuple(start)
    path = [here]
    for number in range(steps):
        time = number * step
        first = slope(time, here)
        second = slope(time + step / 2, _moved(here, first, step / 2))
        third = slope(time + step / 2, _moved(here, second, step / 2))
        last = slope(time + step, _moved(here, third, step))
        mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(first, second, third, last, strict=True)]
        here = _moved(here, mean, step)
        path.append(here)
    return path


def _moved(start: Sequence[float], slope: Sequence[float], step: float) -> tuple[float, ...]:
    return tuple(y + step * dy for y, dy in zip(start, slope, strict=True))
