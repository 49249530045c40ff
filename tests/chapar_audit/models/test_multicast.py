"""The cost of an event given routes."""

from __future__ import annotations

from chapar_audit.models.multicast import event_cost
from chapar_audit.models.static import used_links
from chapar_audit.models.tree import m_ary

# A ring of six: each node goes the shorter way, over the lower neighbour where both are as long.
RING = {
    here: {
        there: (here + 1) % 6 if (there - here) % 6 < 3 else (here - 1) % 6 if (there - here) % 6 > 3 else min(
            (here + 1) % 6, (here - 1) % 6
        )
        for there in range(6)
        if there != here
    }
    for here in range(6)
}  # fmt: skip


def test_shared_links_count_once() -> None:
    """Two destinations behind the same neighbour share the link to it."""
    assert event_cost(0, [1, 2], RING).links == {(0, 1), (1, 2)}
    assert event_cost(0, [2, 4], RING).transmissions == 4
    assert event_cost(0, [1, 2, 3, 4, 5], RING).transmissions == 5


def test_to_oneself_costs_nothing() -> None:
    """Nor to nobody."""
    assert event_cost(3, [3], RING) == event_cost(3, [], RING) == (frozenset(), frozenset())


def test_on_a_tree_it_is_the_number_of_links_in_use() -> None:
    """The tree's routes are its paths."""
    tree = m_ary(2, 4)
    routes: dict[int, dict[int, int]] = {broker: {} for broker in tree.brokers}
    for broker in tree.brokers:
        here = broker
        while here != tree.publisher:
            routes[tree.above[here]][broker] = here
            here = tree.above[here]
    for placed in ([8, 10, 12], [8, 9], [2, 15, 15]):
        assert event_cost(1, placed, routes).transmissions == used_links(tree, placed)


def test_a_destination_without_a_way_is_not_reached() -> None:
    """The event gets as far as routes lead."""
    routes = {0: {2: 1, 3: 1}, 1: {3: 3}}
    assert event_cost(0, [2, 3], routes) == (frozenset({(0, 1), (1, 3)}), frozenset({2}))


def test_a_loop_of_routes_ends() -> None:
    """Where the event comes back it has been."""
    routes = {0: {9: 1}, 1: {9: 2}, 2: {9: 1}}
    assert event_cost(0, [9], routes) == (frozenset({(0, 1), (1, 2), (2, 1)}), frozenset({9}))
