"""Topology: the questions the core asks of a route view."""

from chapar_olsr.view import Route, RouteView
from chapard.core.topology import Alone, available


def test_available_are_ourselves_the_neighbours_and_whom_routes_reach() -> None:
    """ANV is the node itself, its symmetric neighbours, and every destination of a route."""
    view = RouteView(2, frozenset({1, 3}), {1: Route(1, 1), 7: Route(3, 4)})
    assert available(view, 2, 16).indexes() == [1, 2, 3, 7]


def test_nodes_beyond_the_vectors_do_not_exist() -> None:
    """A host that routing knows and the configured length does not cover is left out of ANV."""
    view = RouteView(2, frozenset({1, 90}), {1: Route(1, 1), 90: Route(90, 1), 16: Route(1, 2)})
    assert available(view, 2, 16).indexes() == [1, 2]


def test_a_node_that_knows_no_routes_is_alone() -> None:
    """The view to start with has no neighbours, no routes and no relays, and selects none."""
    view = Alone()
    assert available(view, 5, 16).indexes() == [5]
    assert (view.neighbours, dict(view.routes)) == (frozenset(), {})
    assert (view.mprs, view.selectors) == (frozenset(), frozenset())
    assert view.select_relays({1: frozenset({2})}) == frozenset()
