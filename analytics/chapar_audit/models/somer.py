"""SOMER: paths over many trees, and which tree grows.

G. Pei, On a Self-Organizing MANET Event Routing Architecture with Causal Dependency Awareness: chapters 3 and 5.
"""

from __future__ import annotations

import math

from chapar_audit.models.conditions import above_zero, at_least, probability, require


def path_overhead_bound(neighbours: int) -> float:
    """How much longer than a straight line a path over trees with so many neighbouring trees is at most (3.7)."""
    require(neighbours in {4, 6}, f"neighbours = {neighbours}: the bound is for 4 or 6 neighbouring trees")
    return 2 * math.sqrt(2) / math.sqrt(neighbours) - 1


def expansion_potential(causal: int, level: float, gamma: float, eta: float) -> float:
    """EP of a tree (5.1) that covers causal nodes at this average level, and a share gamma of their descendants."""
    at_least("causal nodes", causal)
    at_least("average level", level)
    probability("gamma", gamma)
    return (causal + eta) / ((level + 1) * (gamma + above_zero("eta", eta)))


def local_expansion_potential(potential: float, level: int, eta: float) -> float:
    """LEP of a node at this level of its tree: EP/(level + eta). (5.2 expands EP with + eta where 5.1 has + 1.)"""
    return potential / (at_least("level", level) + above_zero("eta", eta))


def no_contention(delta: float) -> tuple[float, float]:
    """Between these ratios of their LEPs two nodes leave each other alone (5.3)."""
    at_least("delta", delta)
    return 1 / (1 + delta), 1 + delta
