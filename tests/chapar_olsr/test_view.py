"""The route view."""

from __future__ import annotations

import dataclasses

import pytest

from chapar_olsr.view import Route, RouteView


def test_views_are_equal_if_they_say_the_same() -> None:
    """A route source may hand out the same knowledge twice without anyone taking it for news."""
    one = RouteView(1, frozenset({2}), {2: Route(2, 1)}, frozenset(), frozenset({2}))
    same = RouteView(1, frozenset({2}), {2: Route(2, 1)}, frozenset(), frozenset({2}))
    assert one == same
    assert one != dataclasses.replace(one, routes={2: Route(2, 1), 3: Route(2, 2)})
    assert one != dataclasses.replace(one, mprs=None)
    linked = dataclasses.replace(one, links={1: frozenset({2})})
    assert one != linked == dataclasses.replace(one, links={1: frozenset({2})})


def test_a_view_does_not_change() -> None:
    """Whoever holds a view can rely on it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        RouteView(1).index = 2  # type: ignore[misc]  # the point of the test


def test_the_empty_view_is_that_of_a_node_that_is_alone() -> None:
    """No neighbours, no routes, no relays."""
    view = RouteView(7)
    assert (view.neighbours, dict(view.routes), view.mprs, view.selectors) == (
        frozenset(),
        {},
        frozenset(),
        frozenset(),
    )


def test_relays_are_selected_among_our_own_neighbours_only() -> None:
    """What is known of a node that is no neighbour (any more) does not count; an unknown neighbour covers nothing."""
    view = RouteView(1, frozenset({2, 3}), mprs=None, selectors=None)
    two_hop = {2: frozenset({1, 4}), 5: frozenset({1, 4, 6})}
    assert view.select_relays(two_hop) == {2}
