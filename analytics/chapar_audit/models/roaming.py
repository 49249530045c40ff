"""Subscribers that move from broker to broker (2.5.4): an open network of M/M/∞ queues.

A subscriber stays at broker i for 1/mu_i; then it moves to broker j with probability moves[i][j], and leaves otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chapar_audit.models.conditions import above_zero, at_least, probability, require
from chapar_audit.models.integration import solution

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Roaming:
    """Arrivals from outside, stays and moves, per broker."""

    lam: tuple[float, ...]
    mu: tuple[float, ...]
    moves: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        count = len(self.lam)
        square = len(self.mu) == len(self.moves) == count and all(len(row) == count for row in self.moves)
        require(square, f"{count} brokers need {count} values of mu and {count} rows of {count} probabilities")
        for lam, mu, row in zip(self.lam, self.mu, self.moves, strict=True):
            at_least("lambda", lam)
            above_zero("mu", mu)
            for each in row:
                probability("a move", each)
            require(math.fsum(row) <= 1 + 1e-12, f"moves {row}: the probabilities from one broker are at most 1 in all")

    def arrivals(self, rho: Sequence[float]) -> tuple[float, ...]:
        """All arrivals at each broker, those from outside and those from other brokers."""
        leaving = [mu * load for mu, load in zip(self.mu, rho, strict=True)]
        return tuple(
            lam + math.fsum(rate * row[j] for rate, row in zip(leaving, self.moves, strict=True))
            for j, lam in enumerate(self.lam)
        )

    def toggles(self, rho: Sequence[float]) -> tuple[float, ...]:
        """How often each broker toggles: it turns active at the rate of all arrivals, and idle at mu rho, times p0."""
        rates = zip(self.arrivals(rho), self.mu, rho, strict=True)
        return tuple((arriving + mu * load) * math.exp(-load) for arriving, mu, load in rates)

    def loads(self, start: Sequence[float], end: float, steps: int = 1000) -> list[tuple[float, ...]]:
        """The loads at steps + 1 times from 0 to end (2.50)."""

        def slope(_: float, rho: Sequence[float]) -> tuple[float, ...]:
            staying = zip(self.arrivals(rho), self.mu, rho, strict=True)
            return tuple(arriving - mu * load for arriving, mu, load in staying)

        return solution(slope, start, end, steps)

    def settled(self) -> tuple[float, ...]:
        """The loads in equilibrium: what leaves a broker is what arrives there."""
        size = len(self.lam)
        rows = [[float(i == j) - self.moves[i][j] for i in range(size)] + [self.lam[j]] for j in range(size)]
        flows = _solved(rows)
        return tuple(flow / mu for flow, mu in zip(flows, self.mu, strict=True))


def _solved(rows: list[list[float]]) -> list[float]:
    """Of linear equations, each a row of coefficients and the right side: elimination with pivots."""
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        require(abs(rows[pivot][column]) > 1e-12, "subscribers that can never leave have no equilibrium")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(rows)]
