"""Shortest paths: the routes OLSR computes from the links it knows (RFC 3626, section 10)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from chapar_olsr.view import Route

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet


def shortest_paths(index: int, adjacency: Mapping[int, AbstractSet[int]]) -> dict[int, Route]:
    """Routes from `index` to every node it can reach, by destination in ascending order.

    `adjacency` gives each node's symmetric neighbours; a node that is missing has none. Of several shortest paths the
    one over the lowest next hop is taken, so that every node that knows the same links computes the same routes.
    """
    found = {neighbour: neighbour for neighbour in sorted(adjacency.get(index, ())) if neighbour != index}
    routes = {neighbour: Route(neighbour, 1) for neighbour in found}
    unknown: set[int] = set(adjacency).union(*adjacency.values()) - found.keys() - {index}
    frontier = list(found)
    hops = 1
    while frontier:
        hops += 1
        # The frontier is in the order of its next hops, so whoever finds a node first has the lowest next hop to it.
        reached: list[int] = []
        by_hop: dict[int, Route] = {}
        for node in frontier:
            new = unknown & adjacency.get(node, frozenset())
            if new:
                next_hop = found[node]
                route = by_hop.setdefault(next_hop, Route(next_hop, hops))
                unknown -= new
                reached += new
                for each in new:
                    found[each] = next_hop
                    routes[each] = route
        frontier = reached
    return {destination: routes[destination] for destination in sorted(routes)}


def links_reached(
    index: int, adjacency: Mapping[int, frozenset[int]], routes: Mapping[int, Route]
) -> dict[int, frozenset[int]]:
    """The links of all nodes on these routes from `index`, by their near end; nodes without any are left out."""
    return {node: adjacency[node] for node in sorted({index, *routes}) if adjacency.get(node)}


def cheapest_paths(index: int, costs: Mapping[int, Mapping[int, float]]) -> dict[int, Route]:
    """Routes from `index` that cost least, by destination in ascending order.

    `costs` gives the cost of the link to each neighbour of each node, above 0. Among paths of one cost the one with
    fewer hops is taken, then the one over the lower next hop.
    """
    routes: dict[int, Route] = {}
    heap: list[tuple[float, int, int, int]] = []
    for neighbour, cost in costs.get(index, {}).items():
        heappush(heap, (cost, 1, neighbour, neighbour))
    while heap:
        spent, hops, next_hop, node = heappop(heap)
        if node in routes or node == index:
            continue
        routes[node] = Route(next_hop, hops)
        for beyond, cost in costs.get(node, {}).items():
            if beyond not in routes:
                heappush(heap, (spent + cost, hops + 1, next_hop, beyond))
    return {destination: routes[destination] for destination in sorted(routes)}
