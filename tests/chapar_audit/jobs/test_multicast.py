"""Events in real time, each against the tree that it should take and against what routes say it costs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chapar_audit.jobs.journeys import Journey, Sent
from chapar_audit.jobs.multicast import Alike, Price, judge, price, rows, tree_of, unsure_tree
from chapar_audit.jobs.network import Network, Step, Turn
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from chapar_audit.jobs.journeys import Way
    from chapar_audit.verdict import Finding

NOBODY: frozenset[int] = frozenset()
CHAIN = {1: {2: 2, 3: 2, 4: 2}, 2: {3: 3, 4: 3}, 3: {4: 4}}
"""Next hops on four nodes in a row."""


def journey(*ways: Way, hops: dict[int, int], origin: int = 1, reached: frozenset[int] = NOBODY) -> Journey:
    """Each way as often as it is named."""
    return Journey(origin, {way: Sent(times) for way, times in Counter(ways).items()}, hops, reached)


def judged(*found: Journey, calm: bool = True, removed: int = 0) -> list[Finding]:
    """Ten events of each journey, on the chain, of which all are brokers."""
    steps = [Step(0, node, to, hop) for node, hops in CHAIN.items() for to, hop in hops.items()]
    network = Network(steps, [Turn(0, node, is_broker=True) for node in (1, 2, 3, 4)], (1, 2, 3, 4))
    alike = [Alike(key, each, 10, key, calm) for key, each in enumerate(found)]
    return rows(judge(alike, network, NOBODY), removed)


def test_a_broker_is_the_root_of_the_trees_of_its_clients() -> None:
    tree = tree_of(journey((1, 2), (2, 3), hops={3: 2}), frozenset({1}), NOBODY)
    assert (tree.root, tree.faults) == (1, 0)


def test_any_other_publisher_hands_its_events_to_the_root() -> None:
    """The way back over the publisher's node is part of the tree: it is not sent anything twice."""
    tree = tree_of(journey((1, 2), (2, 1), (1, 4), hops={4: 2}), frozenset({2}), NOBODY)
    assert (tree.root, tree.faults) == (2, 0)


def test_an_event_that_nobody_wants_ends_at_the_broker() -> None:
    assert tree_of(journey((1, 2), hops={}), frozenset({2}), NOBODY).faults == 0


def test_a_link_carries_an_event_once() -> None:
    tree = tree_of(journey((1, 2), (2, 3), (2, 3), hops={3: 2}), frozenset({1}), NOBODY)
    assert tree.twice == {(2, 3): 1}


def test_nobody_is_sent_an_event_by_two() -> None:
    tree = tree_of(journey((1, 2), (1, 3), (2, 4), (3, 4), hops={4: 2}), frozenset({1}), NOBODY)
    assert tree.twice.total() == 1


def test_whoever_passes_an_event_on_or_gives_it_to_a_client_was_sent_it() -> None:
    """Whether routes changed or not."""
    lacking = journey((1, 2), (3, 4), hops={4: 3, 5: 1})
    assert tree_of(lacking, frozenset({1}), NOBODY).missing == {3, 5}
    assert unsure_tree(lacking).missing == {3, 5}
    assert tree_of(journey(hops={2: 1}), NOBODY, NOBODY).missing == {2}


def test_an_event_ends_where_it_is_wanted() -> None:
    """Or came to nothing, or where clients had left."""
    vain = journey((1, 2), (1, 3), hops={3: 1})
    assert tree_of(vain, frozenset({1}), NOBODY).vain == {2}
    assert not tree_of(vain, frozenset({1}), frozenset({2})).vain
    assert not tree_of(vain._replace(reached=frozenset({2})), frozenset({1}), NOBODY).vain


def test_what_is_too_large_for_a_datagram_crosses_a_link_in_pieces() -> None:
    sent = {(1, 2): Sent(0, 3), (2, 3): Sent(0, 6)}
    assert Journey(1, sent, {3: 2}).times == {(1, 2): 1, (2, 3): 2}


def test_routes_say_what_an_event_costs_at_most_and_at_least() -> None:
    """Two homes behind different next hops may share a way that is as short."""
    next_hops = {1: {5: 2, 6: 3, 2: 2, 3: 3}, 2: {5: 5, 6: 6}, 3: {6: 6}}
    event = journey((1, 2), (2, 5), (2, 6), hops={5: 2, 6: 2})
    assert price(event, 1, next_hops) == Price(3, 4)
    assert price(event._replace(origin=7), 1, next_hops) == Price(4, 5)
    assert price(journey((1, 9), hops={9: 1}), 1, next_hops) is None


def test_events_on_their_trees_hold() -> None:
    trees, prices = judged(journey((1, 2), (2, 3), (3, 4), hops={2: 1, 4: 3}), journey((1, 2), hops={2: 1}))
    assert (trees.state, trees.measured, trees.expected) == (State.HOLDS, 40, 40)
    assert (prices.state, prices.measured, prices.expected) == (State.HOLDS, 2, 2)


def test_traffic_of_a_link_that_is_doubled_deviates() -> None:
    trees, prices = judged(journey((1, 2), (2, 3), (2, 3), hops={3: 2}))
    assert (trees.state, trees.measured, trees.expected) == (State.DEVIATES, 30, 20)
    assert trees.reason.startswith("2 sent 10 events to 3 once more than needed: its rows are there twice")
    assert prices.state is State.DEVIATES
    assert "10 events cost more" in prices.reason


def test_traffic_that_is_not_recorded_deviates() -> None:
    trees, prices = judged(journey((1, 2), hops={3: 2}))
    assert (trees.state, trees.measured, trees.expected) == (State.DEVIATES, 10, 20)
    assert trees.reason == "3 had 10 events that nobody recorded to have sent there: rows of whoever did are missing"
    assert prices.state is State.DEVIATES
    assert "10 events cost less" in prices.reason


def test_recorders_that_removed_rows_are_the_likely_reason() -> None:
    assert "recorders removed 7 rows" in judged(journey(hops={2: 1}), removed=7)[0].reason


def test_events_in_vain_deviate() -> None:
    trees, _ = judged(journey((1, 2), (2, 3), hops={2: 1}))
    assert trees.state is State.DEVIATES
    assert trees.reason.startswith("10 events ended at 3, where no client was given them")


def test_a_way_longer_than_routes_say_deviates() -> None:
    _, prices = judged(journey((1, 3), (3, 2), hops={2: 2}))
    assert (prices.state, prices.measured, prices.expected) == (State.DEVIATES, 2, 1)


def test_while_routes_change_only_what_is_missing_is_a_fault() -> None:
    """With nothing else to go by, the rows are open."""
    around = journey((1, 2), (1, 3), (3, 2), hops={2: 1})
    assert [each.state for each in judged(around, calm=False)] == [State.OPEN, State.OPEN]
    assert judged(journey(hops={2: 1}), calm=False)[0].state is State.DEVIATES


def test_without_events_there_is_nothing_to_say() -> None:
    assert not judged()
