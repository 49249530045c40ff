"""Traffic of one notification where nothing changes (2.2): an m-ary tree with k levels, one publisher at the root.

Identity-based routing sends one subscription and one notification over each link in use: A = 2 L. Flooding sends the
notification over all links.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final

from chapar_audit.models.conditions import require
from chapar_audit.models.tree import widths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar_audit.models.tree import Tree

    Cost = Callable[[int, int, int], float]

MOST_END_BROKERS: Final = 20_000
"""Exact binomials of more take minutes."""


def end_brokers(m: int, k: int) -> int:
    """N, where subscribers can be; one at each."""
    return widths(m, k)[-1]


def flooding(m: int, k: int) -> int:
    """A_f: all l links."""
    return sum(widths(m, k)[1:])


def used_links(tree: Tree, subscribers: Iterable[int]) -> int:
    """L: the links on the paths from these brokers to the publisher's (2.3, which is never below 0)."""
    used: set[int] = set()
    for subscriber in subscribers:
        require(subscriber in tree.below, f"subscriber at broker {subscriber}: there is no such broker")
        here = subscriber
        while here != tree.publisher and here not in used:
            used.add(here)
            here = tree.above[here]
    return len(used)


def best(m: int, k: int, subscribers: int) -> int:
    """A_ibr with subscribers as close together as can be."""
    _check(m, k, subscribers)
    return int(2 * sum(-(-subscribers // m**h) for h in range(k - 1)))


def worst(m: int, k: int, subscribers: int) -> int:
    """A_ibr with subscribers as dispersed as can be. (The printed algorithm indexes out of range: step 3a resets h.)"""
    _check(m, k, subscribers)
    return int(2 * sum(min(subscribers, m**i) for i in range(1, k)))


def homogeneous(m: int, k: int, subscribers: int) -> float:
    """E[A_ibr] with subscribers drawn at random, exactly: a link is idle if all of them are elsewhere."""
    count = _check(m, k, subscribers)
    ways = comb(count, subscribers)
    return float(2 * sum(m**i * (1 - comb(count - m ** (k - 1 - i), subscribers) / ways) for i in range(1, k)))


def break_even(m: int, k: int, cost: Cost) -> float | None:
    """The number of subscribers from which flooding is cheaper, read off the line between the whole numbers around it.

    None where flooding is never cheaper.
    """
    count = _check(m, k, 0)
    limit = flooding(m, k)
    if cost(m, k, count) <= limit:
        return None
    # One subscriber more never costs less, so the curve crosses once.
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(m, k, middle) <= limit else (low, middle)
    below = cost(m, k, low)
    return low + (limit - below) / (cost(m, k, high) - below)


def _check(m: int, k: int, subscribers: int) -> int:
    require(k >= 2, f"k = {k}: a tree with links has at least 2 levels")
    count = widths(m, k)[-1]
    require(count <= MOST_END_BROKERS, f"m = {m}, k = {k}: more than {MOST_END_BROKERS} end-brokers")
    require(0 <= subscribers <= count, f"S = {subscribers}: must be from 0 to the N = {count} end-brokers")
    return count
