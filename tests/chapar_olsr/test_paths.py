"""Shortest paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.paths import cheapest_paths, shortest_paths
from chapar_olsr.view import Route

Graph = dict[int, frozenset[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A random graph with symmetric links."""
    count = draw(st.integers(1, 12))
    pairs = [(a, b) for a in range(count) for b in range(a)]
    edges = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    near: dict[int, set[int]] = {node: set() for node in range(count)}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return {node: frozenset(neighbours) for node, neighbours in near.items()}


def distances(graph: Graph) -> dict[tuple[int, int], int]:
    """Floyd and Warshall, which look nothing like a search in breadth."""
    far = len(graph) + 1
    hops = {(a, b): 0 if a == b else 1 if b in graph[a] else far for a in graph for b in graph}
    for via in graph:
        for a in graph:
            for b in graph:
                hops[a, b] = min(hops[a, b], hops[a, via] + hops[via, b])
    return {pair: count for pair, count in hops.items() if 0 < count < far}


@given(graphs())
def test_routes_are_the_shortest_and_over_the_lowest_next_hop(graph: Graph) -> None:
    """Every reachable node, and no other, has a route; its next hop is the lowest that lies on a shortest path."""
    hops = distances(graph)
    for node in graph:
        routes = shortest_paths(node, graph)
        assert {to: route.hops for to, route in routes.items()} == {to: n for (a, to), n in hops.items() if a == node}
        for to, route in routes.items():
            on_path = [each for each in graph[node] if each == to or hops.get((each, to)) == route.hops - 1]
            assert route.next_hop == min(on_path)


@given(graphs())
def test_routes_are_listed_in_order_of_destination(graph: Graph) -> None:
    """What iterates over routes does so in the same order everywhere."""
    for node in graph:
        assert list(shortest_paths(node, graph)) == sorted(shortest_paths(node, graph))


def test_following_next_hops_arrives() -> None:
    """On one graph that everyone knows, packets do not loop."""
    grid = {
        1: {2, 4},
        2: {1, 3, 5},
        3: {2, 6},
        4: {1, 5, 7},
        5: {2, 4, 6, 8},
        6: {3, 5, 9},
        7: {4, 8},
        8: {5, 7, 9},
        9: {6, 8},
    }
    here, steps = 1, 0
    while here != 9:
        here, steps = shortest_paths(here, grid)[9].next_hop, steps + 1
    assert steps == shortest_paths(1, grid)[9].hops == 4


def test_a_link_to_an_unknown_node_still_leads_there() -> None:
    """A neighbour of which nothing else is known yet can be reached."""
    assert shortest_paths(1, {1: {2}}) == {2: Route(2, 1)}
    assert shortest_paths(1, {}) == {}


def test_the_cheapest_path_wins_over_the_shortest() -> None:
    """Of paths that cost the same the one with fewer hops is taken, then the one over the lower next hop."""
    costs = {0: {1: 5.0, 2: 1.0, 3: 1.0}, 2: {1: 1.0, 9: 2.0}, 3: {9: 2.0, 1: 1.0}, 1: {9: 0.5}}
    assert cheapest_paths(0, costs) == {1: Route(2, 2), 2: Route(2, 1), 3: Route(3, 1), 9: Route(2, 3)}
    costs[1][9] = 1.0
    assert cheapest_paths(0, costs)[9] == Route(2, 2)


@given(graphs())
def test_where_all_links_cost_the_same_the_cheapest_paths_are_the_shortest(graph: Graph) -> None:
    """Hop for hop."""
    costs = {node: dict.fromkeys(near, 1.0) for node, near in graph.items()}
    for node in graph:
        cheapest, shortest = cheapest_paths(node, costs), shortest_paths(node, graph)
        assert cheapest == shortest
