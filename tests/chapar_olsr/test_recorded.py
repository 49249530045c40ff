"""The recorded replies of a real olsrd give the views, and the brokers, that the topologies imply."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.faults import Faults
from chapar_olsr.jsoninfo import read_untrusted
from chapard.core.config import Config
from chapard.core.roles import Why, appointment
from chapard.core.station import Station
from fake_olsrd import identity, replies

if TYPE_CHECKING:
    from chapar_olsr.view import RouteView

Edges = set[frozenset[int]]


def edges(*pairs: tuple[int, int]) -> Edges:
    return {frozenset(pair) for pair in pairs}


GRID = [(n, n + 1) for n in range(1, 10) if n % 3] + [(n, n + 3) for n in range(1, 7)]
TOPOLOGIES: dict[str, tuple[int, Edges]] = {
    "single": (1, edges()),
    "pair": (2, edges((1, 2))),
    "chain5": (5, edges(*pairwise(range(1, 6)))),
    "mesh4": (4, edges(*combinations(range(1, 5), 2))),
    "star5": (5, edges(*((1, leaf) for leaf in range(2, 6)))),
    "grid9": (9, edges(*GRID)),
}
BROKERS: dict[str, dict[int, Why]] = {
    "single": {1: Why.ALONE},
    "pair": {1: Why.MESH, 2: Why.MESH},
    "chain5": {2: Why.MPR, 3: Why.MPR, 4: Why.MPR},
    "mesh4": {1: Why.MESH, 2: Why.MESH},
    "star5": {1: Why.MPR, 2: Why.REPLICA},
    "grid9": dict.fromkeys(range(1, 10), Why.MPR),
}
"""By the rules of protocol.md. In the recorded grid olsrd, in its link-quality mode, made every node a relay."""
EACH = pytest.mark.parametrize("topology", TOPOLOGIES)


def views(topology: str) -> dict[int, RouteView]:
    """The views from the replies; nothing in them is a fault."""
    faults = Faults()
    count, _ = TOPOLOGIES[topology]
    found = {n: read_untrusted(replies(topology, n), identity(n), faults) for n in range(1, count + 1)}
    assert not faults.counts
    return found


def near(topology: str) -> dict[int, set[int]]:
    count, links = TOPOLOGIES[topology]
    nodes = range(1, count + 1)
    return {node: {other for other in nodes if frozenset((node, other)) in links} for node in nodes}


def distances(topology: str) -> dict[tuple[int, int], int]:
    """Floyd and Warshall over the edge list."""
    graph = near(topology)
    hops = {(a, b): 0 if a == b else 1 if b in graph[a] else 99 for a in graph for b in graph}
    for via in graph:
        for a in graph:
            for b in graph:
                hops[a, b] = min(hops[a, b], hops[a, via] + hops[via, b])
    return hops


@EACH
def test_neighbours_are_those_of_the_edge_list(topology: str) -> None:
    """Every one, and no other."""
    graph = near(topology)
    for node, view in views(topology).items():
        assert (view.index, view.address) == (node, f"10.66.0.{node}")
        assert view.neighbours == graph[node]


@EACH
def test_every_route_is_as_long_as_the_topology_allows_and_leads_on(topology: str) -> None:
    """Hop counts are those of the shortest paths, and each next hop is one hop nearer."""
    hops = distances(topology)
    for node, view in views(topology).items():
        assert set(view.routes) == {other for a, other in hops if a == node and other != node}
        for destination, route in view.routes.items():
            assert route.hops == hops[node, destination]
            assert hops[node, route.next_hop] == 1
            assert hops[route.next_hop, destination] == route.hops - 1


@EACH
def test_relays_cover_whoever_is_two_hops_away(topology: str) -> None:
    """olsrd selects more of them than RFC 3626 needs when it measures quality; it must never be fewer."""
    graph, hops = near(topology), distances(topology)
    for node, view in views(topology).items():
        assert view.mprs is not None
        assert view.mprs <= view.neighbours
        two_hops = {other for (a, other), count in hops.items() if a == node and count == 2}
        assert two_hops <= set().union(*(graph[relay] for relay in view.mprs))


@EACH
def test_whoever_was_chosen_knows_it(topology: str) -> None:
    """A is a selector of b exactly if b is a relay of a."""
    found = views(topology)
    for node, view in found.items():
        assert view.selectors == frozenset(other for other in found if node in (found[other].mprs or ()))


@EACH
def test_the_brokers_are_those_that_the_rules_appoint(topology: str) -> None:
    """The core, given these views, appoints exactly the nodes that protocol.md names."""
    appointed = {}
    for node, view in views(topology).items():
        station = Station(node, 1, Config())
        station.adopt(view, 0.0)
        appointed[node] = appointment(station, saves_power=False)
    assert {node: why for node, why in appointed.items() if why is not Why.NONE} == BROKERS[topology]


def test_link_quality_is_that_of_both_ways() -> None:
    """Node 3 of the chain: 0.58 times 0.568 and 0.557."""
    quality = views("chain5")[3].quality
    assert quality is not None
    assert quality == pytest.approx({2: 0.58 * 0.568, 4: 0.58 * 0.557})
