"""Brokers joined into a tree: messages arrive in order, are counted, watched and lost."""

from __future__ import annotations

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.broker_tree import BrokerTree, Message, links_toward, neighbours_of
from chapard.core.effects import Reason
from chapard.core.overlay.interest import Subscriber, Tell
from chapard.core.overlay.router import Algorithm, RouterConfig

F = Filter(subject="f")
EVENT = Event(subject="f")
PERIOD = 10.0
CONFIG = RouterConfig(nodes=8, refresh_period=PERIOD)
CHAIN = [(0, 1), (1, 2), (2, 3)]
AT_END = Subscriber(3, "a")


def test_an_input_has_all_its_consequences_at_once() -> None:
    """A subscription crosses the tree, an event follows it back, and each crossing of a link is counted."""
    tree = BrokerTree(CHAIN, CONFIG)
    tree.subscribe(3, AT_END, F)
    tree.publish(0, EVENT)
    assert [(at, event.subject) for at, event in tree.delivered] == [(3, "f")]
    tree.unsubscribe(3, AT_END, F)
    assert tree.counts == {"subscribe": 3, "notification": 3, "unsubscribe": 3}
    assert not tree.drops


def test_time_passes_for_all() -> None:
    """Every broker refreshes what it has sent, once per period, and forgets what is lost."""
    tree = BrokerTree(CHAIN, CONFIG)
    tree.subscribe(3, AT_END, F)
    tree.counts.clear()
    tree.run_until(2.5 * PERIOD)
    assert tree.now == 2.5 * PERIOD
    assert tree.counts == {"refresh": 6}
    tree.loses = lambda message: message.sender == 3
    tree.run_until(6 * PERIOD)
    assert tree.counts["expire"] == 1
    assert tree.counts["unsubscribe"] == 2


def test_messages_are_watched_with_their_ends() -> None:
    seen: list[Message] = []
    tree = BrokerTree(CHAIN, CONFIG, publishers=[0], watch=seen.append)
    tree.subscribe(3, AT_END, F)
    tree.publish(0, EVENT)
    assert [(each.sender, each.receiver, each.kind) for each in seen] == [
        *[(3, 2, "subscribe"), (2, 1, "subscribe"), (1, 0, "subscribe")],
        *[(0, 1, "notification"), (1, 2, "notification"), (2, 3, "notification")],
    ]


def test_a_watcher_can_tell_messages_apart() -> None:
    """By what they say and of which table; refreshes of advertisements and of subscriptions are both refreshes."""
    seen: list[Message] = []
    tree = BrokerTree([(0, 1)], RouterConfig(nodes=8, refresh_period=PERIOD, advertisements=True), watch=seen.append)
    at_0, at_1 = Subscriber(0, "p"), Subscriber(1, "s")
    tree.advertise(0, at_0, F)
    tree.subscribe(1, at_1, F)
    tree.publish(0, EVENT)
    tree.run_until(PERIOD)
    tree.unsubscribe(1, at_1, F)
    tree.unadvertise(0, at_0, F)
    said = [(each.kind, each.content.topic.value if isinstance(each.content, Tell) else "") for each in seen]
    assert said == [
        *[("advertise", "advertisements"), ("subscribe", "subscriptions"), ("notification", "")],
        *[("refresh", "advertisements"), ("refresh", "subscriptions")],
        *[("unsubscribe", "subscriptions"), ("unadvertise", "advertisements")],
    ]


def test_a_cut_parts_the_tree_until_it_is_mended() -> None:
    tree = BrokerTree(CHAIN, CONFIG)
    tree.subscribe(3, AT_END, F)
    tree.cut(1, 2)
    tree.publish(0, EVENT)
    assert tree.delivered == []
    tree.restore(1, 2)
    tree.publish(0, EVENT)
    assert [at for at, _ in tree.delivered] == [3]


def test_advertisements_draw_subscriptions() -> None:
    tree = BrokerTree(CHAIN, RouterConfig(nodes=8, advertisements=True))
    tree.subscribe(3, AT_END, F)
    assert not tree.counts
    tree.advertise(0, Subscriber(0, "p"), F)
    assert tree.counts == {"advertise": 3, "subscribe": 3}
    tree.unadvertise(0, Subscriber(0, "p"), F)
    assert tree.counts == {"advertise": 3, "subscribe": 3, "unadvertise": 3, "unsubscribe": 3}


def test_a_cycle_is_reported_by_brokers() -> None:
    """An event still reaches everybody once, and nothing goes round for ever."""
    ring = BrokerTree([(0, 1), (1, 2), (2, 0)], RouterConfig(nodes=8, algorithm=Algorithm.FLOODING))
    ring.subscribe(2, Subscriber(2, "a"), F)
    ring.publish(0, EVENT)
    assert [at for at, _ in ring.delivered] == [2]
    assert {drop.reason for _, drop in ring.drops} == {Reason.LOOP}


def test_links_toward_publishers() -> None:
    assert links_toward(neighbours_of(CHAIN), [0, 2]) == {
        0: frozenset({1}),
        1: frozenset({0, 2}),
        2: frozenset({1}),
        3: frozenset({2}),
    }
