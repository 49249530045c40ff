"""Traffic of identity-based routing on any tree of brokers, in equilibrium (2.3, 2.5.1).

Root the tree at the publisher's broker. A link carries what is published while any broker below it has an active
subscriber, and a toggle at a broker goes up the tree as long as no other broker below the link is active.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from chapar_audit.models.conditions import at_least, for_each, period, require

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chapar_audit.models.population import Population

MOST_BROKERS = 1_000_000
"""Enough for any network that somebody plans; each costs some microseconds and some hundred bytes."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Brokers in an order that begins at the publisher's and has each behind the one above it."""

    brokers: tuple[int, ...]
    above: Mapping[int, int]
    below: Mapping[int, tuple[int, ...]]

    @property
    def publisher(self) -> int:
        return self.brokers[0]

    @property
    def links(self) -> int:
        return len(self.brokers) - 1


class Usage(NamedTuple):
    """What a publisher's tree carries: links in use, and per broker how far a toggle there travels."""

    x: float
    d: dict[int, float]


class LinkUse(NamedTuple):
    """One link, for what is wanted below it."""

    used: float
    """The share of time in which it is in use: 1 − Π p."""
    toggles: float
    """How often it turns from idle to used or back, per unit of time."""


class Traffic(NamedTuple):
    """Messages per unit of time, for one publisher."""

    state_dependent: float
    """A_sdt: notifications and refreshes."""
    toggle: float
    """A_t: subscriptions and unsubscriptions."""
    flooding: float
    """A_f: what flooding would cost instead."""

    @property
    def identity(self) -> float:
        """A_ibr: what identity-based routing costs in all."""
        return self.state_dependent + self.toggle


def rooted(edges: Iterable[tuple[int, int]], publisher: int) -> Tree:
    """The tree of these links, seen from the publisher's broker."""
    neighbours: dict[int, dict[int, None]] = {}
    for a, b in edges:
        require(a != b, f"edge {a}-{b}: a broker has no link to itself")
        require(b not in neighbours.get(a, ()), f"edge {a}-{b} is there twice; a tree has one link between two brokers")
        neighbours.setdefault(a, {})[b] = None
        neighbours.setdefault(b, {})[a] = None
    if not neighbours:
        neighbours[publisher] = {}
    known = ", ".join(map(str, sorted(neighbours)[:20]))
    require(publisher in neighbours, f"publisher {publisher} is none of the brokers {known}")
    order, above, below = [publisher], {publisher: publisher}, {}
    for broker in order:
        found = [each for each in neighbours[broker] if each != above[broker]]
        for each in found:
            require(each not in above, f"the edges make a cycle at broker {each}; brokers must form a tree")
            above[each] = broker
        below[broker] = tuple(found)
        order += found
    lost = sorted(set(neighbours) - set(above))
    require(not lost, f"brokers {lost[:20]} are not connected to publisher {publisher}; brokers must form a tree")
    del above[publisher]
    return Tree(tuple(order), above, below)


def m_ary(m: int, k: int) -> Tree:
    """The tree with m children each and k levels; brokers are numbered level by level from the root, 1."""
    count = sum(widths(m, k))
    return rooted((((child - 2) // m + 1, child) for child in range(2, count + 1)), 1)


def widths(m: int, k: int) -> tuple[int, ...]:
    """How many brokers the m-ary tree has on each of its k levels."""
    require(m >= 1, f"m = {m}: a broker has at least 1 child")
    require(k >= 1, f"k = {k}: a tree has at least 1 level")
    count, found = 0, [1]
    while (count := count + found[-1]) <= MOST_BROKERS and len(found) < k:
        found.append(found[-1] * m)
    require(count <= MOST_BROKERS, f"m = {m}, k = {k}: more than {MOST_BROKERS} brokers")
    return tuple(found)


def leaves(tree: Tree) -> tuple[int, ...]:
    """The end-brokers, ascending."""
    return tuple(sorted(broker for broker in tree.brokers if not tree.below[broker]))


def usage(tree: Tree, idle: Mapping[int, float]) -> Usage:
    """x and d_i, from the share of time each broker is idle; a broker that is not named is idle always.

    x sums 1 − Π p over the links, where the product is over the brokers below; d_i sums, over the links from broker i
    to the publisher, the product over the other brokers below.
    """
    silent, beside = _silences(tree, idle)
    climb = {tree.publisher: 0.0}  # links that a toggle crosses upwards from here, if all below is silent
    d = {tree.publisher: 0.0}
    for broker in tree.brokers[1:]:
        up = tree.above[broker]
        climb[broker] = 1 + idle.get(up, 1.0) * beside[broker] * climb[up]
        d[broker] = math.prod(silent[child] for child in tree.below[broker]) * climb[broker]
    return Usage(sum(1 - silent[broker] for broker in tree.above), d)


def link_use(tree: Tree, idle: Mapping[int, float], toggles: Mapping[int, float]) -> dict[int, LinkUse]:
    """The use of each link, named by the broker at its lower end; the sums over all are x and Σ d_i t_i."""
    silent, beside = _silences(tree, idle)
    turns: dict[int, float] = {}
    for broker in reversed(tree.brokers):
        children = tree.below[broker]
        own = toggles.get(broker, 0.0) * math.prod(silent[child] for child in children)
        turns[broker] = own + idle.get(broker, 1.0) * sum(turns[child] * beside[child] for child in children)
    return {broker: LinkUse(1 - silent[broker], turns[broker]) for broker in tree.above}


def _silences(tree: Tree, idle: Mapping[int, float]) -> tuple[dict[int, float], dict[int, float]]:
    """Of each broker, how likely nobody at it and below it is active, and nobody beside it below the same broker."""
    silent: dict[int, float] = {}
    beside: dict[int, float] = {}
    for broker in reversed(tree.brokers):
        children = tree.below[broker]
        silences = [silent[child] for child in children]
        before = accumulate(silences[:-1], mul, initial=1.0)
        after = [*accumulate(reversed(silences[1:]), mul, initial=1.0)][::-1]
        beside.update(zip(children, map(mul, before, after), strict=False))
        silent[broker] = idle.get(broker, 1.0) * math.prod(silences)
    return silent, beside


def traffic(tree: Tree, populations: Mapping[int, Population], omega: float, r: float) -> Traffic:
    """Messages per unit of time for one publisher that notifies at rate omega, with refreshes every r."""
    used = usage(tree, {broker: each.idle for broker, each in populations.items()})
    toggle = sum(used.d[broker] * each.toggles for broker, each in populations.items())
    return from_usage(used.x, toggle, omega, r, tree.links)


def from_usage(x: float, toggle: float, omega: float, r: float, links: int) -> Traffic:
    """A_sdt = (omega + 1/r) x and A_f = omega l, beside the toggle traffic.

    x/r holds where each link in use carries one refresh in each period that all links share.
    """
    at_least("omega", omega)
    return Traffic((omega + 1 / period("r", r)) * x, toggle, omega * links)


def m_ary_usage(m: int, k: int, idle: Sequence[float]) -> tuple[float, tuple[float, ...]]:
    """x and d_j of the m-ary tree with k levels by the closed forms 2.20 and 2.22, from p0 of its end-brokers 1 … N.

    In 2.22 the second product begins at j + 1. One value stands for all end-brokers, as in 2.15 and 2.18.
    """
    count = m ** (k - 1)
    p = for_each("p0", idle, count, "end-brokers")
    sums = [[math.prod(p[j * m**h : (j + 1) * m**h]) for j in range(m ** (k - 1 - h))] for h in range(k - 1)]
    x = sum(1 - each for level in sums for each in level)
    distances = []
    for j in range(count):
        blocks = [(j // m**h * m**h, (j // m**h + 1) * m**h) for h in range(k - 1)]
        distances.append(sum(math.prod(p[low:j]) * math.prod(p[j + 1 : high]) for low, high in blocks))
    return x, tuple(distances)


def uniform_m_ary_usage(m: int, k: int, idle: float) -> tuple[float, float]:
    """x and d where all end-brokers of the m-ary tree are alike (2.15, 2.18)."""
    x = sum(m**i * (1 - idle ** (m ** (k - 1 - i))) for i in range(1, k))
    d = sum(idle ** (m ** (i - 1) - 1) for i in range(1, k))
    return x, d
