"""Who can hear whom: the links of a graph or of positions, less what is cut and who is switched off."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from chapar_sim.terrain import RANGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.terrain import Edge, TopologySpec

Position = tuple[float, float]
Pairs = frozenset[tuple[int, int]]


def graph_links(spec: TopologySpec, nodes: Sequence[int]) -> Pairs:
    """The directed links of a topology that is given as a graph, over `nodes` in ascending order."""
    match spec.kind:
        case "chain":
            edges: Iterable[Edge] = pairwise(nodes)
        case "ring":
            edges = zip(nodes, [*nodes[1:], nodes[0]], strict=True) if len(nodes) > 1 else ()
        case "grid":
            edges = _grid_edges(nodes, spec.columns)
        case "star":
            edges = ((spec.centre, node) for node in nodes if node != spec.centre)
        case "full":
            edges = ((a, b) for place, a in enumerate(nodes) for b in nodes[place + 1 :])
        case _:
            edges = spec.edges
    return frozenset(_both_ways(edges)).union(spec.one_way)


def range_links(positions: Mapping[int, Position], reach: float) -> Pairs:
    """The links of nodes that hear whoever is within `reach`, found cell by cell."""
    cells: dict[tuple[int, int], list[int]] = {}
    cell = reach * (1 + 1e-9)  # a distance that rounding brings down to the reach does not span two cells
    for node, (x, y) in positions.items():
        cells.setdefault((math.floor(x / cell), math.floor(y / cell)), []).append(node)
    links: set[tuple[int, int]] = set()
    for (column, row), here in cells.items():
        near = [node for c in (-1, 0, 1) for r in (-1, 0, 1) for node in cells.get((column + c, row + r), ())]
        for a in here:
            ax, ay = positions[a]
            links.update(
                (a, b) for b in near if a != b and math.hypot(ax - positions[b][0], ay - positions[b][1]) <= reach
            )
    return frozenset(links)


def is_connected(nodes: Iterable[int], links: Pairs) -> bool:
    """Whether every node can reach every other over symmetric links."""
    neighbours: dict[int, list[int]] = {node: [] for node in nodes}
    for a, b in links:
        if (b, a) in links:
            neighbours[a].append(b)
    todo = list(neighbours)[:1]
    reached = set(todo)
    while todo:
        new = [node for node in neighbours[todo.pop()] if node not in reached]
        reached.update(new)
        todo += new
    return len(reached) == len(neighbours)


def hearers(links: Pairs) -> dict[int, tuple[int, ...]]:
    """Who can hear each node, in ascending order."""
    found: dict[int, list[int]] = {}
    for a, b in sorted(links):
        found.setdefault(a, []).append(b)
    return {node: tuple(heard_by) for node, heard_by in found.items()}


class Cut:
    """Links that fail: some pairs, or all between different groups (nodes in no group are one more group)."""

    def __init__(self, fault: FaultSpec) -> None:
        self.since = fault.at
        self._pairs = frozenset(_both_ways(fault.edges)).union(fault.one_way)
        self._side = {node: side for side, group in enumerate(fault.groups) for node in group}

    def severs(self, a: int, b: int) -> bool:
        return (a, b) in self._pairs or self._side.get(a) != self._side.get(b)


class Links:
    """The links of this moment. Change something, then `refresh`."""

    def __init__(self, spec: TopologySpec, nodes: Sequence[int], dead: Pairs = frozenset()) -> None:
        """`dead` links lose every frame, so they are none."""
        self._spec = spec
        self._nodes = nodes
        self._dead = dead
        self._base = frozenset[tuple[int, int]]() if spec.kind == RANGE else graph_links(spec, nodes)
        self._cuts: list[Cut] = []
        self._off: set[int] = set()
        self._heard_by: dict[int, tuple[int, ...]] = {}
        self.pairs: Pairs = frozenset()

    def heard_by(self, sender: int) -> tuple[int, ...]:
        """Who can hear `sender`, in ascending order."""
        return self._heard_by.get(sender, ())

    def place(self, positions: Mapping[int, Position]) -> None:
        """Nodes are here now."""
        self._base = range_links(positions, self._spec.range)

    def cut(self, cut: Cut) -> None:
        self._cuts.append(cut)

    def heal(self, cut: Cut | None = None) -> list[Cut]:
        """End one cut, or all; returns those that have ended."""
        healed = [each for each in self._cuts if cut is None or each is cut]
        self._cuts = [each for each in self._cuts if each not in healed]
        return healed

    def power(self, node: int, *, on: bool) -> None:
        if on:
            self._off.discard(node)
        else:
            self._off.add(node)

    def is_on(self, node: int) -> bool:
        return node not in self._off

    def refresh(self) -> bool:
        """Work out who hears whom; returns whether that has changed."""
        off, cuts = self._off, self._cuts
        pairs = self._base - self._dead
        if off or cuts:
            pairs = frozenset(
                (a, b) for a, b in pairs if a not in off and b not in off and not any(cut.severs(a, b) for cut in cuts)
            )
        if pairs == self.pairs:
            return False
        self.pairs = pairs
        self._heard_by = hearers(pairs)
        return True


def _both_ways(edges: Iterable[Edge]) -> Iterator[Edge]:
    for a, b in edges:
        yield a, b
        yield b, a


def _grid_edges(nodes: Sequence[int], columns: int) -> Iterator[Edge]:
    for place, node in enumerate(nodes):
        if (place + 1) % columns and place + 1 < len(nodes):
            yield node, nodes[place + 1]
        if place + columns < len(nodes):
            yield node, nodes[place + columns]
