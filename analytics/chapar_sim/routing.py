"""Ideal OLSR: what each node's routing daemon knows of the true links, and how late it knows it.

A change of links is seen twice. Nodes near it learn their new neighbourhood, two hops deep, and the relays chosen in it
after a short delay of their own (HELLO messages); every node learns the whole change after a longer one (TC messages).
Until then views are stale and disagree, as they do on the air. Only symmetric links count (RFC 3626).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from chapar_olsr.mpr import select_mprs
from chapar_olsr.paths import links_reached, shortest_paths
from chapar_olsr.view import RouteView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from chapar_sim.clock import Clock
    from chapar_sim.links import Pairs
    from chapar_sim.terrain import RouteSpec

Adjacency = dict[int, frozenset[int]]
_NONE: frozenset[int] = frozenset()


class RoutingDaemons(Protocol):
    """What the simulated network needs of its nodes' routing daemons, ideal or not."""

    def start(self, pairs: Pairs) -> None: ...
    def links_changed(self, pairs: Pairs) -> None: ...
    def forget(self, node: int) -> None: ...
    def wake(self, node: int) -> None: ...
    def view(self, node: int) -> RouteView: ...


def symmetric(nodes: Sequence[int], pairs: Pairs) -> Adjacency:
    """Each node's symmetric neighbours."""
    neighbours: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in pairs:
        if (b, a) in pairs:
            neighbours[a].add(b)
    return {node: frozenset(sorted(near)) for node, near in neighbours.items()}


class Graph:
    """The network between two changes. Relays are worked out when asked for, and taken over where they stand."""

    def __init__(self, version: int, adjacency: Adjacency, relays: Mapping[int, frozenset[int]] | None = None) -> None:
        self.version = version
        self.adjacency = adjacency
        self._relays = dict(relays or {})

    def relays(self, node: int) -> frozenset[int]:
        """The multipoint relays `node` selects."""
        chosen = self._relays.get(node)
        if chosen is None:
            neighbours = {each: self.adjacency[each] for each in sorted(self.adjacency[node])}
            chosen = self._relays[node] = select_mprs(node, neighbours)
        return chosen

    def selectors(self, node: int) -> frozenset[int]:
        """The neighbours that select `node`."""
        return frozenset(each for each in sorted(self.adjacency[node]) if node in self.relays(each))

    def next(self, adjacency: Adjacency) -> tuple[Graph, set[int]]:
        """The graph after a change, and the nodes whose two-hop neighbourhood is not what it was."""
        old = self.adjacency
        changed = [node for node in adjacency if adjacency[node] != old[node]]
        touched = set(changed).union(*(old[node] | adjacency[node] for node in changed))
        kept = {node: chosen for node, chosen in self._relays.items() if node not in touched}
        return Graph(self.version + 1, adjacency, kept), touched


class Known:
    """What one node's routing daemon knows."""

    __slots__ = ("far", "near", "view")

    def __init__(self, graph: Graph) -> None:
        self.near = graph
        self.far = graph
        self.view: RouteView | None = None
        """Computed when asked for."""


class Routing:
    """The routing daemons of all nodes. `changed(node)` is called when a node's view may have changed."""

    def __init__(
        self, spec: RouteSpec, clock: Clock, nodes: Sequence[int], rng: Random, changed: Callable[[int], None]
    ) -> None:
        self._spec = spec
        self._clock = clock
        self._nodes = nodes
        self._rng = rng
        self._changed = changed
        self._blank = Graph(0, dict.fromkeys(nodes, _NONE))
        self._graph = self._blank
        self._known = {node: Known(self._blank) for node in nodes}

    def start(self, pairs: Pairs) -> None:
        """The first links. Unless the scenario starts cold, everyone knows them already."""
        if self._spec.cold:
            self.links_changed(pairs)
            return
        self._graph = Graph(1, symmetric(self._nodes, pairs))
        self._known = {node: Known(self._graph) for node in self._nodes}

    def links_changed(self, pairs: Pairs) -> None:
        """The true links are these from now on; nodes learn of it each in its time."""
        adjacency = symmetric(self._nodes, pairs)
        if adjacency == self._graph.adjacency:
            return
        before = self._graph
        self._graph, touched = before.next(adjacency)
        near = touched | self._newly_selected(before, touched) if self._spec.mprs else touched
        for node in sorted(near):
            self._learn_later(node, self._spec.neighbour_delay, self._learn_near)
        for node in self._nodes:
            self._learn_later(node, self._spec.convergence, self._learn_far)

    def forget(self, node: int) -> None:
        """The node was switched off: its routing daemon starts again from nothing."""
        self._known[node] = Known(self._blank)

    def wake(self, node: int) -> None:
        """The node was switched on; it learns of its links as they change."""

    def view(self, node: int) -> RouteView:
        """What the node's routing daemon knows now."""
        known = self._known[node]
        if known.view is None:
            known.view = self._compute(node, known)
        return known.view

    def _newly_selected(self, before: Graph, touched: set[int]) -> set[int]:
        """Nodes that a touched node has begun or ceased to select."""
        return {each for node in sorted(touched) for each in before.relays(node) ^ self._graph.relays(node)}

    def _learn_later(self, node: int, delay: tuple[float, float], learn: Callable[[int, Graph], None]) -> None:
        self._clock.after(self._rng.uniform(*delay), partial(learn, node, self._graph))

    def _learn_near(self, node: int, graph: Graph) -> None:
        known = self._known[node]
        if graph.version > known.near.version:
            known.near = graph
            known.view = None
            self._changed(node)

    def _learn_far(self, node: int, graph: Graph) -> None:
        known = self._known[node]
        if graph.version > known.far.version:
            known.far = graph
            if graph.version > known.near.version:
                known.near = graph
            known.view = None
            self._changed(node)

    def _compute(self, node: int, known: Known) -> RouteView:
        near, far = known.near, known.far
        neighbours = near.adjacency[node]
        adjacency = far.adjacency
        if near is not far:
            adjacency = {**adjacency, **{each: near.adjacency[each] for each in neighbours}, node: neighbours}
        with_mprs = self._spec.mprs
        routes = shortest_paths(node, adjacency)
        return RouteView(
            index=node,
            neighbours=neighbours,
            routes=routes,
            mprs=near.relays(node) if with_mprs else None,
            selectors=near.selectors(node) if with_mprs else None,
            links=links_reached(node, adjacency, routes),
        )
