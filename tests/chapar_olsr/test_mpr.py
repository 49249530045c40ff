"""Multipoint relay selection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.mpr import ALWAYS, NEVER, select_mprs

Graph = dict[int, frozenset[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A random graph with symmetric links."""
    count = draw(st.integers(1, 14))
    pairs = [(a, b) for a in range(count) for b in range(a)]
    edges = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    near: dict[int, set[int]] = {node: set() for node in range(count)}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return {node: frozenset(neighbours) for node, neighbours in near.items()}


def two_hop(graph: Graph, node: int) -> frozenset[int]:
    reached = frozenset().union(*(graph[each] for each in graph[node]))
    return reached - graph[node] - {node}


def choose(graph: Graph, node: int) -> frozenset[int]:
    return select_mprs(node, {each: graph[each] for each in graph[node]})


@given(graphs())
def test_relays_are_neighbours_that_cover_every_two_hop_neighbour(graph: Graph) -> None:
    """Whatever the graph, the relays reach all that two hops can reach."""
    for node in graph:
        relays = choose(graph, node)
        assert relays <= graph[node]
        assert two_hop(graph, node) <= frozenset().union(*(graph[each] for each in relays))


@given(graphs())
def test_no_relay_is_redundant(graph: Graph) -> None:
    """Without any one of its relays a node would lose a two-hop neighbour."""
    for node in graph:
        relays = choose(graph, node)
        for relay in relays:
            others = frozenset().union(*(graph[each] for each in relays - {relay}))
            assert not two_hop(graph, node) <= others


@given(graphs())
def test_the_order_in_which_neighbours_are_known_does_not_matter(graph: Graph) -> None:
    """Two nodes that know the same neighbourhood choose the same relays."""
    for node in graph:
        forward = {each: graph[each] for each in sorted(graph[node])}
        backward = {each: graph[each] for each in sorted(graph[node], reverse=True)}
        assert select_mprs(node, forward) == select_mprs(node, backward)


def test_a_full_mesh_needs_no_relay() -> None:
    """Where everyone hears everyone, nobody relays."""
    graph = {node: frozenset(range(5)) - {node} for node in range(5)}
    assert all(choose(graph, node) == frozenset() for node in graph)


def test_ties_go_to_the_larger_degree_then_to_the_lower_index() -> None:
    """Of neighbours that cover as much, the better connected one is taken, then the one with the lower index."""
    equal = {1: frozenset({0, 9}), 2: frozenset({0, 9})}
    assert select_mprs(0, equal) == {1}


def test_degree_counts_neither_us_nor_our_neighbours() -> None:
    """RFC 3626, 8.3.1: D(y) is what a neighbour reaches beyond; 4 and 6 reach 18 alike, and 6 reaches more beside."""
    near = {
        1: frozenset({0, 10, 11}),
        4: frozenset({0, 18, 1, 5, 6}),
        5: frozenset({0, 18, 1}),
        6: frozenset({0, 18, 10}),
    }
    assert select_mprs(0, near) == {1, 6}


def test_whoever_never_relays_is_not_chosen() -> None:
    """Not even where nobody else could; nodes that only it reaches stay uncovered."""
    near = {1: frozenset({0, 8}), 2: frozenset({0, 8, 9})}
    assert select_mprs(0, near, {2: NEVER}) == {1}
    assert select_mprs(0, near, {1: NEVER, 2: NEVER}) == frozenset()


def test_whoever_always_relays_is_chosen() -> None:
    """Even where nobody needs it (step 1)."""
    near = {1: frozenset({0}), 2: frozenset({0, 9})}
    assert select_mprs(0, near, {1: ALWAYS}) == {1, 2}


def test_the_more_willing_is_taken_before_the_one_that_reaches_more() -> None:
    """Step 4 asks for willingness first."""
    near = {1: frozenset({0, 7, 8, 9}), 2: frozenset({0, 7, 8}), 3: frozenset({0, 9})}
    assert select_mprs(0, near, {2: 6, 3: 6}) == {2, 3}
    assert select_mprs(0, near) == {1}
