"""Routes that routing took back a moment ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_olsr.view import Route
from chapard.core.lapsed import LAPSE, LapsedRoutes

if TYPE_CHECKING:
    from collections.abc import Container

NONE: dict[int, Route] = {}


EVERYBODY = range(10)


def lapsed(before: dict[int, Route], after: dict[int, Route], peers: Container[int] = EVERYBODY) -> LapsedRoutes:
    """After one change at second 100."""
    routes = LapsedRoutes()
    routes.taken_back(before, after, peers.__contains__, 100.0)
    return routes


def test_a_route_that_is_gone_or_leads_elsewhere_has_lapsed() -> None:
    """The way that was, by destination; what stands has not."""
    before = {5: Route(2, 3), 6: Route(2, 2), 7: Route(3, 1)}
    routes = lapsed(before, {6: Route(4, 2), 7: Route(3, 2)})
    assert [routes.next_hop(node) for node in (5, 6, 7, 8)] == [2, 2, None, None]
    assert sorted(routes) == [5, 6]


def test_ways_over_nodes_without_chapard_are_not_tried() -> None:
    """Nobody there would pass the event on."""
    assert list(lapsed({5: Route(2, 3)}, NONE, peers=frozenset({5}))) == []


def test_it_lapses_for_good_after_a_while() -> None:
    """The deadline says when."""
    routes = lapsed({5: Route(2, 3)}, NONE)
    assert routes.next_deadline() == 100.0 + LAPSE
    routes.expire(99.9 + LAPSE)
    assert routes.next_hop(5) == 2
    routes.expire(100.0 + LAPSE)
    assert routes.next_hop(5) is None
    assert routes.next_deadline() is None


def test_it_has_not_lapsed_if_routing_knows_it_again() -> None:
    """A route over another neighbour leaves the old way where it is, in case that one leads back."""
    routes = lapsed({5: Route(2, 3)}, NONE)
    routes.taken_back(NONE, {5: Route(4, 4)}, EVERYBODY.__contains__, 101.0)
    assert routes.next_hop(5) == 2
    routes.taken_back({5: Route(4, 4)}, {5: Route(2, 3)}, EVERYBODY.__contains__, 102.0)
    assert routes.next_hop(5) == 4
    routes.taken_back({5: Route(2, 3)}, {5: Route(4, 4)}, EVERYBODY.__contains__, 103.0)
    assert routes.next_hop(5) == 2


def test_a_neighbour_that_does_not_answer_leads_nowhere() -> None:
    """All that lay behind it."""
    routes = lapsed({5: Route(2, 3), 6: Route(3, 3)}, NONE)
    routes.dead(2)
    assert list(routes) == [6]


def test_changes_are_counted() -> None:
    """For who remembers answers; nothing happening is no change."""
    routes = lapsed({5: Route(2, 3)}, NONE)
    before = routes.changes
    routes.dead(9)
    routes.expire(100.0)
    assert routes.changes == before
    routes.dead(2)
    assert routes.changes == before + 1
