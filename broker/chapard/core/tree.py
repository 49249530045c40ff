"""Trees of shortest paths with few transmissions (the Steiner arborescence problem, after Rao et al. 1992).

Where routing knows the links of the network, several shortest paths may lead to a destination, and those of different
destinations may be made to share links. The rules, for a node and the destinations of a residual node vector:

- Only shortest paths count, so nobody is reached later than over its route, and every hop comes nearer to it.
- In the graph of all shortest paths, the two destinations whose deepest common ancestor is farthest are joined: that
  ancestor takes their place. This is repeated until no two have an ancestor in common beside the node itself.
- If the plain tree (every node takes the lowest next hop) costs no more, that is taken.

The next node plans again, for its part of the vector, and comes out no worse: depths shrink by one for all alike and
ties are broken by index, so the same pairs are joined in the same order, and its plain tree is a part of ours. What is
planned is only the next hop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

MOST_PLANNED: Final = 24
"""Destinations for which a tree is planned, 1 ms for so many; with more, nearly every link is shared anyway."""


class Plan(NamedTuple):
    """Which destinations to hand to which neighbour, and the transmissions that all of them take in the end."""

    groups: Mapping[int, list[int]]
    transmissions: int


class Paths:
    """All shortest paths from one node, given each node's neighbours."""

    def __init__(self, index: int, links: Mapping[int, AbstractSet[int]]) -> None:
        self.distance: dict[int, int] = {index: 0}
        self._index = index
        self._before: dict[int, list[int]] = {}
        """The nodes before each node on its shortest paths; the first of them is the one of the plain tree."""
        level = [index]
        hops = 0
        while level:
            hops += 1
            beyond: list[int] = []
            # A level is in the order of its plain paths, so whoever comes first has the lowest next hops.
            for node in level:
                for near in sorted(links.get(node, ())):
                    known = self.distance.setdefault(near, hops)
                    if known == hops:
                        before = self._before.setdefault(near, [])
                        if not before:
                            beyond.append(near)
                        before.append(node)
            level = beyond

    def plan(self, destinations: Iterable[int], next_hops: AbstractSet[int]) -> Plan | None:
        """How to reach the destinations over `next_hops`; None if there are too many of them.

        Who cannot be reached so is in no group.
        """
        wanted = [node for node in destinations if node in self._before]
        if len(wanted) > MOST_PLANNED:
            return None
        order, above = self._graph_above(wanted, next_hops)
        wanted = [node for node in wanted if node in above]
        roots, transmissions = _joined(wanted, order, above, self.distance)
        plain = self._plain_cost(wanted)
        if plain <= transmissions and all(self._plain_hop(node) in next_hops for node in wanted):
            return Plan(_grouped((self._plain_hop(node), [node]) for node in wanted), plain)
        return Plan(_grouped((self._first_hop(root, order, above), below) for root, below in roots), transmissions)

    def _graph_above(
        self, wanted: list[int], next_hops: AbstractSet[int]
    ) -> tuple[list[int], dict[int, int]]:
        """The nodes on shortest paths to those wanted, nearest first, and for each the set of those above it.

        A set is a number whose bit i stands for the node at place i of the order; every node is above itself.
        """
        found = dict.fromkeys(wanted)
        level = list(wanted)
        while level:
            level = [each for node in level for each in self._before.get(node, ()) if each not in found]
            found.update(dict.fromkeys(level))
        found.pop(self._index, None)
        order: list[int] = []
        above: dict[int, int] = {}
        for node in sorted(found, key=lambda node: (self.distance[node], node)):
            higher = 0
            for each in self._before[node]:
                higher |= above.get(each, 0)
            if higher or (self.distance[node] == 1 and node in next_hops):
                above[node] = higher | 1 << len(order)
                order.append(node)
        return order, above

    def _plain_hop(self, node: int) -> int:
        while (before := self._before[node][0]) != self._index:
            node = before
        return node

    def _plain_cost(self, wanted: list[int]) -> int:
        used: set[int] = set()
        for each in wanted:
            node = each
            while node != self._index and node not in used:
                used.add(node)
                node = self._before[node][0]
        return len(used)

    def _first_hop(self, root: int, order: list[int], above: Mapping[int, int]) -> int:
        """The lowest neighbour above a node; neighbours come first in the order."""
        return order[(above[root] & -above[root]).bit_length() - 1]


def _joined(
    wanted: list[int], order: list[int], above: Mapping[int, int], distance: Mapping[int, int]
) -> tuple[list[tuple[int, list[int]]], int]:
    """What is left when pairs have been joined: each root with the destinations below it, and the whole cost."""
    place = {node: number for number, node in enumerate(order)}
    below = {place[node]: [node] for node in wanted}
    transmissions = 0
    while True:
        roots = sorted(below)
        best, pair = 0, (0, 0)
        for number, a in enumerate(roots):
            of_a = above[order[a]]
            for b in roots[number + 1 :]:
                # The highest bit in common is the deepest ancestor; of several the one of the highest index.
                common = (of_a & above[order[b]]).bit_length()
                if common > best:
                    best, pair = common, (a, b)
        if not best:
            break
        joint = best - 1
        for each in pair:
            transmissions += distance[order[each]] - distance[order[joint]]
        # Were it a root itself, the first of the pair would have been joined with it.
        below[joint] = [*below.pop(pair[0]), *below.pop(pair[1])]
    transmissions += sum(distance[order[root]] for root in below)
    return [(order[root], below[root]) for root in sorted(below)], transmissions


def _grouped(parts: Iterable[tuple[int, list[int]]]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for next_hop, nodes in parts:
        groups.setdefault(next_hop, []).extend(nodes)
    return groups
