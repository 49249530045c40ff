"""Two hops around a node, and relays."""

from __future__ import annotations

from chapar_olsr.agent.neighbourhood import Neighbourhood

US = 1


def hood(*near: int) -> Neighbourhood:
    known = Neighbourhood(US)
    known.settle(frozenset(near), 0.0)
    return known


def reach(known: Neighbourhood, neighbour: int, *beyond: int, until: float = 6.0) -> bool:
    return known.reached(neighbour, dict.fromkeys(beyond, 1.0), until)


def test_the_only_neighbour_that_reaches_a_node_is_a_relay() -> None:
    """RFC 3626, 8.3.1: two-hop neighbours are covered, and nobody is chosen for nothing."""
    known = hood(2, 3)
    reach(known, 2, 1, 3, 9)
    reach(known, 3, 1, 2)
    known.settle(frozenset({2, 3}), 0.0)
    assert known.mprs == {2}
    assert known.two_hop() == {2: {3: 1.0, 9: 1.0}, 3: {2: 1.0}}


def test_what_was_not_renewed_is_forgotten() -> None:
    """And the relay chosen for it is let go."""
    known = hood(2)
    reach(known, 2, 9, until=6.0)
    known.settle(frozenset({2}), 1.0)
    assert known.deadline == 6.0
    known.settle(frozenset({2}), 6.0)
    assert known.mprs == frozenset()


def test_a_neighbour_may_take_a_node_back() -> None:
    """8.2.1: named as no neighbour any more, it is gone at once."""
    known = hood(2)
    reach(known, 2, 8, 9)
    known.lost_sight(2, [9])
    known.settle(frozenset({2}), 0.0)
    assert known.two_hop() == {2: {8: 1.0}}


def test_a_lost_neighbour_takes_along_what_it_reached_and_said() -> None:
    """8.5: its two-hop neighbours, its choice of us and its willingness."""
    known = hood(2, 3)
    reach(known, 2, 9)
    known.declared(2, 7)
    known.selected_by(2, 6.0)
    known.selected_by(3, 6.0)
    known.settle(frozenset({3}), 0.0)
    assert known.selectors == {3}
    assert known.mprs == frozenset()
    assert known.willingness == {}
    known.settle(frozenset({2, 3}), 0.0)
    assert known.two_hop() == {2: {}, 3: {}}


def test_a_choice_of_us_stands_until_it_is_taken_back_or_expires() -> None:
    """8.4.1."""
    known = hood(2, 3)
    known.selected_by(2, 6.0)
    known.selected_by(3, 9.0)
    known.deselected_by(3)
    assert known.selectors == {2}
    known.settle(frozenset({2, 3}), 6.0)
    assert known.selectors == frozenset()


def test_willingness_decides_between_neighbours_that_reach_the_same() -> None:
    """A change of it is a reason to choose again; one that never relays is not chosen even if nobody else can."""
    known = hood(2, 3)
    reach(known, 2, 9)
    reach(known, 3, 9)
    known.declared(3, 6)
    known.settle(frozenset({2, 3}), 0.0)
    assert known.mprs == {3}
    known.declared(2, 7)
    known.settle(frozenset({2, 3}), 0.0)
    assert known.mprs == {2}
    known.declared(2, 0)
    known.declared(3, 0)
    known.settle(frozenset({2, 3}), 0.0)
    assert known.mprs == frozenset()


def test_news_that_is_none_changes_nothing() -> None:
    """A HELLO that says the same again causes no choice and no new table."""
    known = hood(2)
    reach(known, 2, 9)
    known.settle(frozenset({2}), 0.0)
    table = known.two_hop()
    known.is_changed = False
    reach(known, 2, 9, until=8.0)
    known.declared(2, 3)
    known.settle(frozenset({2}), 1.0)
    assert not known.is_changed
    assert known.two_hop() is table
    reach(known, 2, 8)
    assert known.is_changed
