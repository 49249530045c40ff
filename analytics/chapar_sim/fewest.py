"""The fewest transmissions that bring an event from its publisher's node to a set of nodes, given who hears whom.

Two ways to count. *Unicast*: each transmission serves one neighbour, so the least is the size of a smallest tree that
joins them all (a Steiner tree). *Broadcast*: one transmission serves every neighbour, so the least is the number of
nodes that must speak. Both are found exactly, by Dreyfus and Wagner's programme over subsets of the nodes to reach:
what it costs a node that has the event to serve a subset is the least over all ways to hand it to a neighbour, or to
split the subset. That takes time in proportion to three to the power of the nodes to reach; above `MOST_EXACT` of them
a bound is given that no way can beat, but perhaps none can meet: every node to reach costs a transmission at least.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_EXACT: Final = 5
"""Nodes to reach for which the exact figure is worked out: 12 ms among 100 nodes, and three times that for one more."""


class Fewest(NamedTuple):
    """Transmissions that no way of delivery can do without."""

    unicast: int
    broadcast: int
    is_exact: bool


def fewest(hears: Mapping[int, Iterable[int]], source: int, targets: Iterable[int]) -> Fewest | None:
    """The least for one event; None if a target cannot be reached. `hears` gives who can hear each node."""
    wanted = sorted(set(targets) - {source})
    if not wanted:
        return Fewest(0, 0, is_exact=True)
    near = {node: tuple(hearers) for node, hearers in hears.items()}
    distance = distances(near, source)
    if any(node not in distance for node in wanted):
        return None
    if len(wanted) > MOST_EXACT:
        farthest = max(distance[node] for node in wanted)
        return Fewest(max(len(wanted), farthest), farthest, is_exact=False)
    reachable = sorted(distance)
    unicast = _programme(near, reachable, source, wanted, is_broadcast=False)
    broadcast = _programme(near, reachable, source, wanted, is_broadcast=True)
    return Fewest(unicast, broadcast, is_exact=True)


def distances(near: Mapping[int, Iterable[int]], source: int) -> dict[int, int]:
    """Hops from `source` to all that can be reached."""
    found = {source: 0}
    frontier = [source]
    while frontier:
        reached = [each for node in frontier for each in near.get(node, ())]
        hops = found[frontier[0]] + 1
        frontier = [node for node in dict.fromkeys(reached) if node not in found]
        found.update(dict.fromkeys(frontier, hops))
    return found


def _programme(
    near: Mapping[int, tuple[int, ...]], nodes: list[int], source: int, wanted: list[int], *, is_broadcast: bool
) -> int:
    """What it costs `source` to serve all that are `wanted`.

    `spoken[part][node]` is what it costs after `node` has spoken, so that any neighbour may have the event; `held` what
    it costs if the node has it and has not spoken. With unicast speaking costs nothing and each handing over one; with
    broadcast it is the other way round.
    """
    speak, hand = (1, 0) if is_broadcast else (0, 1)
    bit = {node: 1 << place for place, node in enumerate(wanted)}
    hear = _reversed(near, nodes)
    held: list[dict[int, float]] = [dict.fromkeys(nodes, 0.0)]
    spoken: list[dict[int, float]] = [dict.fromkeys(nodes, 0.0)]
    for part in range(1, 1 << len(wanted)):
        split = {node: _cheapest_split(spoken, part, node) for node in nodes}
        here = dict.fromkeys(nodes, inf)
        after = dict(split)
        queue = [(cost + speak, node) for node, cost in split.items() if cost < inf]
        # One of those to reach that has it need not be served itself.
        queue += [(held[part & ~bit[node]][node], node) for node in wanted if bit[node] & part]
        heapify(queue)
        while queue:
            cost, node = heappop(queue)
            if here[node] <= cost:
                continue
            here[node] = cost
            for before in hear[node]:
                if cost + hand < after[before]:
                    after[before] = cost + hand
                    heappush(queue, (cost + hand + speak, before))
        held.append(here)
        spoken.append(after)
    return int(held[-1][source])


def _cheapest_split(spoken: list[dict[int, float]], part: int, node: int) -> float:
    """The least for a node that serves a subset as two smaller ones, over its neighbours."""
    best, piece = inf, (part - 1) & part
    while piece > part ^ piece:
        best = min(best, spoken[piece][node] + spoken[part ^ piece][node])
        piece = (piece - 1) & part
    return best


def _reversed(near: Mapping[int, tuple[int, ...]], nodes: list[int]) -> dict[int, list[int]]:
    """For each node, those that it hears."""
    hear: dict[int, list[int]] = {node: [] for node in nodes}
    for node in nodes:
        for hearer in near.get(node, ()):
            if hearer in hear:
                hear[hearer].append(node)
    return hear
