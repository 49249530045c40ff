"""Routes written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.static import StaticRoutesError, parse
from chapar_olsr.view import Route, RouteView

OWN = """
neighbours = [2, 3]
mprs = [2]
selectors = [3]
[routes]
4 = [2, 2]
5 = [3, 7]
"""


def view(text: str, *, index: int = 1, nodes: int = 16) -> RouteView:
    return parse(text, index=index, nodes=nodes)


def refused(text: str) -> str:
    with pytest.raises(StaticRoutesError) as refusal:
        view(text)
    line = str(refusal.value)
    assert "\n" not in line
    assert len(line) < 200
    return line


def test_a_node_can_state_its_own_view() -> None:
    """Neighbours are routes of one hop; the others are as written."""
    assert view(OWN) == RouteView(
        index=1,
        neighbours=frozenset({2, 3}),
        routes={2: Route(2, 1), 3: Route(3, 1), 4: Route(2, 2), 5: Route(3, 7)},
        mprs=frozenset({2}),
        selectors=frozenset({3}),
    )


def test_relays_that_are_not_written_are_left_to_the_broker() -> None:
    """None is not the same as nobody."""
    absent = view("neighbours = [2]")
    assert (absent.mprs, absent.selectors) == (None, None)
    nobody = view("neighbours = [2]\nmprs = []\nselectors = []")
    assert (nobody.mprs, nobody.selectors) == (frozenset(), frozenset())


def test_nobody_near_must_be_said() -> None:
    """A file that was emptied before it is written anew does not cut the node off."""
    assert view("neighbours = []").neighbours == frozenset()
    assert "neighbours = []" in refused("")
    assert "neighbours = []" in refused("# nothing but a comment")


def test_one_text_serves_every_node_of_a_network() -> None:
    """In a row of four, each node sees its neighbours, the shortest ways, its relays and who relays through it."""
    row = "edges = [[1, 2], [3, 2], [3, 4]]"
    first, second = view(row, index=1), view(row, index=2)
    assert first.neighbours == {2}
    assert dict(first.routes) == {2: Route(2, 1), 3: Route(2, 2), 4: Route(2, 3)}
    assert (first.mprs, first.selectors) == (frozenset({2}), frozenset())
    assert second.neighbours == {1, 3}
    assert first.links == second.links
    assert first.links is not None
    assert {near: set(beyond) for near, beyond in first.links.items()} == {1: {2}, 2: {1, 3}, 3: {2, 4}, 4: {3}}
    assert (second.mprs, second.selectors) == (frozenset({3}), frozenset({1, 3}))


def test_a_node_that_no_edge_names_is_alone() -> None:
    """It has no neighbours and no routes; a text that cuts it off is a text like any other."""
    assert view("edges = [[2, 3]]", index=9) == RouteView(9, links={})


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda edge: edge[0] != edge[1])))
def test_the_views_of_a_network_agree(edges: list[tuple[int, int]]) -> None:
    """Whoever is my neighbour has me as one, whoever relays for me has me as selector, and ways are equally long."""
    text = f"edges = {[list(edge) for edge in edges]}"
    views = {node: view(text, index=node, nodes=10) for node in range(10)}
    for node, own in views.items():
        assert own.mprs is not None
        assert own.selectors is not None
        assert own.mprs <= own.neighbours
        for other in own.neighbours:
            assert node in views[other].neighbours
            assert (other in own.mprs) is (node in (views[other].selectors or ()))
        for destination, route in own.routes.items():
            assert route.next_hop in own.neighbours
            assert views[destination].routes[node].hops == route.hops


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("neighbours = [2", "not TOML"),
        ("neighbours = [2]\nneighbours = [3]", "not TOML"),
        ("neighbours = [" + "9" * 5000 + "]", "not TOML"),
        ("neighbours = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("neighbors = [2]", "write neighbours"),
        ('"nei\\nghbours" = [2]', "is no key"),
        ("neighbours = 2", "write a list of nodes"),
        ("neighbours = ['2']", "is not a node"),
        ("neighbours = [true]", "is not a node"),
        ("neighbours = [-1]", "nodes 0 to 15"),
        ("neighbours = [16]", "nodes 0 to 15"),
        ("neighbours = [0x" + "f" * 9000 + "]", "is not a node"),
        ("neighbours = [1]", "this node itself"),
        ("neighbours = [2]\nmprs = [3]", "not among the neighbours"),
        ("neighbours = [2]\nselectors = [3]", "not among the neighbours"),
        ("neighbours = [2]\nroutes = [3]", "destination = [next_hop, hops]"),
        ("neighbours = [2]\n[routes]\nfour = [2, 2]", "is not a node"),
        ("neighbours = [2]\n[routes]\n04 = [2, 2]", "is not a node"),
        ("neighbours = [2]\n[routes]\n" + "4" * 9000 + " = [2, 2]", "is not a node"),
        ("neighbours = [2]\n[routes]\n1 = [2, 2]", "this node itself"),
        ("neighbours = [2]\n[routes]\n4 = 2", "write 4 = [next_hop, hops]"),
        ("neighbours = [2]\n[routes]\n4 = [2, 2.0]", "write 4 = [next_hop, hops]"),
        ("neighbours = [2]\n[routes]\n4 = [3, 2]", "not among the neighbours"),
        ("neighbours = [2]\n[routes]\n4 = [0x" + "f" * 9000 + ", 2]", "not among the neighbours"),
        ("neighbours = [2]\n[routes]\n4 = [2, 0]", "write 1 to 255"),
        ("neighbours = [2]\n[routes]\n4 = [2, 0x" + "f" * 9000 + "]", "write 1 to 255"),
        ("neighbours = [2]\n[routes]\n4 = [2, 1]", "cannot take 1 hops"),
        ("neighbours = [2]\n[routes]\n2 = [2, 2]", "cannot take 2 hops"),
        ("edges = [[1, 2]]\nneighbours = [2]", "leave out neighbours"),
        ("edges = 1", "list of pairs"),
        ("edges = [[1, 2], [2]]", "number 2"),
        ("edges = [[1, 2], [2, 2]]", "joins 2 with itself"),
        ("edges = [[1, 99]]", "nodes 0 to 15"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, says: str) -> None:
    """The line names the place and what to write instead, whatever was written."""
    assert says in refused(text)


PIECES = ("neighbours", "routes", "edges", "mprs", "=", "[", "]", "[routes]", ",", "\n", "1", "2", "40", "-", "'", ".")


@given(st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_no_text_raises_anything_else(text: str) -> None:
    """A file is whatever somebody wrote: it is a view of this node, or one line says why not."""
    try:
        found = view(text)
    except StaticRoutesError as refusal:
        found = RouteView(1, address=str(refusal))
    assert found.index == 1
    assert len(found.address.splitlines()) <= 1
