"""The worked examples of van Vliet's thesis, by running brokers: who stores, who forwards what, how many messages."""

from __future__ import annotations

from math import ceil, comb, sqrt
from random import Random
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.broker_tree import BrokerTree, Message
from chapar_sim.tree_round import Rounds
from chapar_sim.tree_shapes import m_ary
from chapard.core.overlay.interest import Interest, Subscriber, Topic
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = 0
F, G = Filter.parse("price > 100"), Filter.parse("price > 110")
EVENT = Event(attributes={"price": 120})
FILTERING = [each for each in Algorithm if each is not Algorithm.FLOODING]


def one_round(rounds: Rounds, leaves: Sequence[int]) -> float:
    """Messages of subscribing at these leaves and of one notification from the root, which reaches them all."""
    messages = rounds.run(leaves).total
    assert sorted(at for at, _ in rounds.tree.delivered) == sorted(leaves)
    return messages


# Section 2.2: m = 2, k = 4; end-brokers are numbered from 1 on the left


@pytest.mark.parametrize("end_brokers", [[], [1], [1, 2, 3], [1, 3, 5], range(1, 9)])
def test_flooding_takes_14_messages_whoever_is_interested(end_brokers: list[int]) -> None:
    shape = m_ary(2, 4)
    assert one_round(Rounds(shape, Algorithm.FLOODING), [shape.leaves[each - 1] for each in end_brokers]) == 14


@pytest.mark.parametrize("algorithm", [Algorithm.IDENTITY, Algorithm.COVERING, Algorithm.MERGING])
@pytest.mark.parametrize(
    ("end_brokers", "messages"),
    [([1], 6), ([8], 6), ([1, 2, 5], 14), ([1, 7, 8], 14), ([1, 2, 3], 12), ([1, 3, 5], 16)],
)
def test_identity_based_routing_takes_6_14_or_12(algorithm: Algorithm, end_brokers: list[int], messages: int) -> None:
    """One subscriber: 3 of control, 3 of data. Three: 14 as in figure 2.2(c), 12 at the left, 16 at worst.

    With equal filters covering and merging do the same.
    """
    shape = m_ary(2, 4)
    assert one_round(Rounds(shape, algorithm), [shape.leaves[each - 1] for each in end_brokers]) == messages


def test_half_of_the_messages_are_control() -> None:
    shape = m_ary(2, 4)
    messages = Rounds(shape, Algorithm.IDENTITY).run([shape.leaves[place] for place in (0, 1, 4)])
    assert (messages.subscriptions, messages.notifications, messages.total) == (7, 7, 14)


def test_simple_routing_sends_each_subscription_all_the_way() -> None:
    """Three subscribers at the left: 9 of control instead of 6."""
    shape = m_ary(2, 4)
    assert one_round(Rounds(shape, Algorithm.SIMPLE), list(shape.leaves[:3])) == 9 + 6


# Figure 1.5: A and B are neighbours of C, and D is C's third; the subscriber x is at A, then y at B; D publishes

A, B, C, D = range(4)
X, Y = Subscriber(A, "x"), Subscriber(B, "y")


class Figure:
    """The brokers of figure 1.5, and who has forwarded what since this was last asked."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._seen: list[Message] = []
        config = RouterConfig(nodes=4, algorithm=algorithm)
        self.tree = BrokerTree([(A, C), (B, C), (C, D)], config, publishers=[D], watch=self._seen.append)

    def forwarded(self) -> list[str]:
        seen = [f"{'ABCD'[each.sender]}{'ABCD'[each.receiver]} {each.kind}" for each in self._seen]
        self._seen.clear()
        return seen

    def stored(self, broker: int) -> set[tuple[Filter, int]]:
        """The routing entries (F, Z) of a broker: filters, and where they came from; its own index is its clients."""
        table = self.tree.routers[broker].plane(Topic.SUBSCRIPTIONS).table
        return {(each.filter, link) for link in (A, B, C, D) for each in table.received(link)}


def test_figure_1_5_a_subscription_is_stored_on_its_way() -> None:
    figure = Figure(Algorithm.IDENTITY)
    figure.tree.subscribe(A, X, F)
    assert figure.forwarded() == ["AC subscribe", "CD subscribe"]
    assert [figure.stored(each) for each in (A, B, C, D)] == [{(F, A)}, set(), {(F, A)}, {(F, C)}]


def test_figure_1_5_identity_does_not_forward_an_equal_filter_again() -> None:
    """B and C store it; C has sent the same to D. It is withdrawn from D with the last of the two."""
    figure = Figure(Algorithm.IDENTITY)
    figure.tree.subscribe(A, X, F)
    figure.forwarded()
    figure.tree.subscribe(B, Y, F)
    assert figure.forwarded() == ["BC subscribe"]
    assert [figure.stored(each) for each in (A, B, C, D)] == [{(F, A)}, {(F, B)}, {(F, A), (F, B)}, {(F, C)}]
    figure.tree.publish(D, EVENT)
    assert sorted(figure.forwarded()) == ["CA notification", "CB notification", "DC notification"]
    figure.tree.unsubscribe(A, X, F)
    assert figure.forwarded() == ["AC unsubscribe"]
    figure.tree.unsubscribe(B, Y, F)
    assert figure.forwarded() == ["BC unsubscribe", "CD unsubscribe"]
    assert not any(figure.stored(each) for each in (A, B, C, D))


def test_figure_1_5_covering_does_not_forward_a_covered_filter() -> None:
    """y wants G, which F covers: (G, y) at B and (G, B) at C, and nothing more at D, until F goes."""
    figure = Figure(Algorithm.COVERING)
    figure.tree.subscribe(A, X, F)
    figure.forwarded()
    figure.tree.subscribe(B, Y, G)
    assert figure.forwarded() == ["BC subscribe"]
    assert [figure.stored(each) for each in (A, B, C, D)] == [{(F, A)}, {(G, B)}, {(F, A), (G, B)}, {(F, C)}]
    figure.tree.unsubscribe(A, X, F)
    assert figure.forwarded() == ["AC unsubscribe", "CD subscribe", "CD unsubscribe"]
    assert figure.stored(D) == {(G, C)}


def test_figure_1_5_identity_forwards_a_filter_that_is_not_equal() -> None:
    figure = Figure(Algorithm.IDENTITY)
    figure.tree.subscribe(A, X, F)
    figure.forwarded()
    figure.tree.subscribe(B, Y, G)
    assert figure.forwarded() == ["BC subscribe", "CD subscribe"]


def test_figure_1_5_simple_stores_each_subscriber() -> None:
    figure = Figure(Algorithm.SIMPLE)
    figure.tree.subscribe(A, X, F)
    figure.tree.subscribe(B, Y, F)
    assert figure.forwarded() == ["AC subscribe", "CD subscribe", "BC subscribe", "CD subscribe"]
    table = figure.tree.routers[D].plane(Topic.SUBSCRIPTIONS).table
    assert set(table.received(C)) == {Interest(F, X), Interest(F, Y)}


# Section 2.2, m = 3, k = 4: any placement of S subscribers takes 2 L messages (2.4)

M, K = 3, 4
SHAPE = m_ary(M, K)
PARENT = {lower: upper for upper, lower in SHAPE.links}
PLACEMENTS = 30


def links_used(leaves: list[int]) -> int:
    """L of (2.3): links between the root and somebody interested."""
    used = set()
    for leaf in leaves:
        broker = leaf
        while broker != ROOT:
            used.add(broker)
            broker = PARENT[broker]
    return len(used)


def expected(subscribers: int) -> float:
    """2 E[L] for a random placement, exactly."""
    leaves = M ** (K - 1)
    missed = {level: comb(leaves - M ** (K - 1 - level), subscribers) for level in range(1, K)}
    return float(2 * sum(M**level * (1 - ways / comb(leaves, subscribers)) for level, ways in missed.items()))


@pytest.mark.parametrize(
    ("subscribers", "average"),
    [(1, 6.0), (3, 15.870769230769234), (12, 45.193592677345535), (13, 47.75743707093822), (27, 78.0)],
)
def test_the_expectation_is_that_of_the_model(subscribers: int, average: float) -> None:
    assert expected(subscribers) == pytest.approx(average)


def test_every_placement_takes_twice_the_links_used() -> None:
    """For all S; and the averages over random placements meet the expectation within the sampling error."""
    rng = Random(22)
    tree = Rounds(SHAPE, Algorithm.IDENTITY)
    excess = []
    for subscribers in range(len(SHAPE.leaves) + 1):
        placements = [rng.sample(SHAPE.leaves, subscribers) for _ in range(PLACEMENTS)]
        counts = [one_round(tree, placement) for placement in placements]
        assert counts == [2 * links_used(placement) for placement in placements]
        assert fmean(counts) == pytest.approx(expected(subscribers), abs=3.5 * 2.5 / sqrt(PLACEMENTS))
        excess += [each - expected(subscribers) for each in counts]
    assert pstdev(excess) < 2.5, "the bound above is on this"
    assert abs(fmean(excess)) < 3 * pstdev(excess) / sqrt(len(excess))


@pytest.mark.parametrize("subscribers", [1, 2, 3, 8, 9, 12, 13, 27])
def test_the_best_and_the_worst_placement(subscribers: int) -> None:
    """As close together, and as far apart, as they can be; flooding takes 39."""
    tree = Rounds(SHAPE, Algorithm.IDENTITY)
    # Read the digits of a place from the right, and neighbours are as far apart as the tree allows.
    apart = sorted(range(M ** (K - 1)), key=lambda place: (place % M, place // M % M, place // M**2))
    best = 2 * sum(ceil(subscribers / M**height) for height in range(K - 1))
    worst = 2 * sum(min(subscribers, M**level) for level in range(1, K))
    assert one_round(tree, list(SHAPE.leaves[:subscribers])) == best
    assert one_round(tree, [SHAPE.leaves[place] for place in apart[:subscribers]]) == worst
    assert one_round(Rounds(SHAPE, Algorithm.FLOODING), []) == 39


@pytest.mark.parametrize("algorithm", FILTERING)
def test_nobody_interested_costs_nothing(algorithm: Algorithm) -> None:
    assert one_round(Rounds(SHAPE, algorithm), []) == 0
