"""The router of one broker: interest, events, links and ticks in, effects out."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard.core.effects import Drop, Reason
from chapard.core.overlay.interest import Change, Deliver, Expired, Forward, Interest, Subscriber, Tell, Topic
from chapard.core.overlay.router import Algorithm, Router, RouterConfig
from chapard.core.overlay.routing_table import MISSED_PERIODS

if TYPE_CHECKING:
    from chapard.core.overlay.router import Effect

HERE = 0
PERIOD, MERGE_DELAY = 10.0, 0.5
NOW = 3.0
A, B = Subscriber(HERE, "a"), Subscriber(HERE, "b")
F, G, FG = Filter(subject="f"), Filter(subject="g"), Filter.parse('subject in ("f", "g")')
SUBS, ADS = Topic.SUBSCRIPTIONS, Topic.ADVERTISEMENTS
NUMBERS = count(1)


def router(algorithm: Algorithm = Algorithm.IDENTITY, **settings: Any) -> Router:
    """A broker with links to 1, 2 and 3."""
    config = RouterConfig(nodes=8, algorithm=algorithm, refresh_period=PERIOD, merge_delay=MERGE_DELAY, **settings)
    made = Router(HERE, config, NOW)
    for link in (1, 2, 3):
        made.link_up(link, NOW)
    made.drain()
    return made


def an_event(subject: str, origin: int = HERE) -> Event:
    return Event(subject=subject).accepted(id=event_id(origin, 1, next(NUMBERS)))


def told(effects: list[Effect]) -> list[tuple[int, str, Interest]]:
    return [(each.link, each.change.value, each.interest) for each in effects if isinstance(each, Tell)]


def test_events_go_where_a_matching_filter_came_from() -> None:
    """And nowhere else; never back; our own clients get theirs."""
    broker = router()
    broker.on_interest(1, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    broker.on_interest(2, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    broker.on_interest(3, SUBS, Change.SUBSCRIBE, Interest(G), NOW)
    broker.subscribe(A, F, NOW)
    broker.drain()
    event = an_event("f")
    broker.publish(event)
    assert broker.drain() == [Deliver(event), Forward(1, event), Forward(2, event)]
    event = an_event("f", origin=1)
    broker.on_event(1, event)
    assert broker.drain() == [Deliver(event), Forward(2, event)]
    event = an_event("g", origin=1)
    broker.on_event(1, event)
    assert broker.drain() == [Forward(3, event)]


def test_flooded_events_go_everywhere_and_are_filtered_here() -> None:
    broker = router(Algorithm.FLOODING)
    broker.subscribe(A, F, NOW)
    assert broker.drain() == []
    event = an_event("f", origin=1)
    broker.on_event(1, event)
    assert broker.drain() == [Deliver(event), Forward(2, event), Forward(3, event)]
    event = an_event("g")
    broker.publish(event)
    assert broker.drain() == [Forward(1, event), Forward(2, event), Forward(3, event)]


def test_an_event_that_returns_is_dropped_and_the_loop_reported() -> None:
    """Over another link the tree has a cycle; over the same one it was merely repeated."""
    broker = router(Algorithm.FLOODING)
    event = an_event("f", origin=1)
    broker.on_event(1, event)
    broker.drain()
    broker.on_event(2, event)
    assert broker.drain() == [Drop(Reason.LOOP, 2, None, event.id)]
    broker.on_event(1, event)
    assert broker.drain() == [Drop(Reason.DUPLICATE, 1, None, event.id)]
    own = an_event("f")
    broker.publish(own)
    broker.drain()
    broker.on_event(3, own)
    assert broker.drain() == [Drop(Reason.LOOP, 3, None, own.id)]


def test_remembered_events_are_bounded() -> None:
    broker = router(Algorithm.FLOODING, seen_limit=2)
    events = [an_event("f", origin=1) for _ in range(3)]
    for event in (*events, events[0]):
        broker.on_event(1, event)
    assert not [each for each in broker.drain() if isinstance(each, Drop)]


def test_clients_that_want_the_same_are_one_interest() -> None:
    """It ends with the last of them, and each counts once."""
    broker = router()
    broker.subscribe(A, F, NOW)
    assert [link for link, _, _ in told(broker.drain())] == [1, 2, 3]
    broker.subscribe(A, F, NOW)
    broker.subscribe(B, F, NOW)
    broker.unsubscribe(A, F, NOW)
    assert broker.drain() == []
    broker.unsubscribe(B, F, NOW)
    assert told(broker.drain()) == [(link, "unsubscribe", Interest(F)) for link in (1, 2, 3)]
    broker.unsubscribe(B, F, NOW)
    assert broker.drain() == []


def test_simple_routing_tells_of_each_client() -> None:
    """Events go on while one of several interests with their filter stands."""
    broker = router(Algorithm.SIMPLE)
    broker.subscribe(A, F, NOW)
    broker.subscribe(B, F, NOW)
    assert told(broker.drain()) == [(link, "subscribe", Interest(F, client)) for client in (A, B) for link in (1, 2, 3)]
    away = [Interest(F, Subscriber(5, name)) for name in "cd"]
    for each in away:
        broker.on_interest(1, SUBS, Change.SUBSCRIBE, each, NOW)
    broker.on_interest(1, SUBS, Change.UNSUBSCRIBE, away[0], NOW)
    broker.drain()
    broker.publish(an_event("f"))
    assert [each.link for each in broker.drain() if isinstance(each, Forward)] == [1]
    broker.on_interest(1, SUBS, Change.UNSUBSCRIBE, away[1], NOW)
    broker.drain()
    broker.publish(an_event("f"))
    assert not [each for each in broker.drain() if isinstance(each, Forward)]


def test_where_publishers_are_known_subscriptions_go_there_only() -> None:
    broker = Router(HERE, RouterConfig(nodes=8), NOW)
    broker.publisher_links = frozenset({2})
    broker.link_up(1, NOW)
    broker.link_up(2, NOW)
    broker.subscribe(A, F, NOW)
    assert told(broker.drain()) == [(2, "subscribe", Interest(F))]


def test_subscriptions_follow_overlapping_advertisements() -> None:
    """Advertisements flood; a subscription goes where one came from, when both are there, and is withdrawn with it."""
    broker = router(advertisements=True)
    broker.subscribe(A, F, NOW)
    assert broker.drain() == []
    broker.on_interest(1, ADS, Change.ADVERTISE, Interest(FG), NOW)
    assert told(broker.drain()) == [
        *[(link, "advertise", Interest(FG)) for link in (2, 3)],
        (1, "subscribe", Interest(F)),
    ]
    broker.on_interest(2, ADS, Change.ADVERTISE, Interest(G), NOW)
    assert told(broker.drain()) == [(link, "advertise", Interest(G)) for link in (1, 3)]
    broker.subscribe(A, G, NOW)
    assert told(broker.drain()) == [(1, "subscribe", Interest(G)), (2, "subscribe", Interest(G))]
    broker.on_interest(1, ADS, Change.UNADVERTISE, Interest(FG), NOW)
    assert told(broker.drain()) == [
        *[(link, "unadvertise", Interest(FG)) for link in (2, 3)],
        *[(1, "unsubscribe", Interest(each)) for each in (F, G)],
    ]
    broker.advertise(B, F, NOW)
    assert told(broker.drain()) == [(link, "advertise", Interest(F)) for link in (1, 2, 3)]
    broker.unadvertise(B, F, NOW)
    assert told(broker.drain()) == [(link, "unadvertise", Interest(F)) for link in (1, 2, 3)]


def test_merging_gathers_for_its_delay() -> None:
    broker = router(Algorithm.MERGING)
    assert broker.next_deadline == PERIOD
    broker.subscribe(A, F, NOW)
    broker.subscribe(A, G, NOW + 0.2)
    assert broker.next_deadline == NOW + MERGE_DELAY
    broker.tick(NOW + 0.4)
    assert broker.drain() == []
    broker.tick(NOW + MERGE_DELAY)
    assert told(broker.drain()) == [(link, "subscribe", Interest(FG)) for link in (1, 2, 3)]
    assert broker.next_deadline == PERIOD
    broker.unsubscribe(A, F, 4.0)
    assert broker.next_deadline == 4.0 + MERGE_DELAY


def test_each_period_refreshes_all_that_stands() -> None:
    """Both tables, advertisements first; another broker's interest goes to all but its own link."""
    broker = router(advertisements=True)
    broker.advertise(A, G, NOW)
    broker.on_interest(1, ADS, Change.ADVERTISE, Interest(F), NOW)
    broker.subscribe(A, F, NOW)
    broker.drain()
    broker.tick(PERIOD - 0.1)
    assert broker.drain() == []
    broker.tick(PERIOD)
    refreshed = [(each.link, each.topic, each.interest) for each in broker.drain() if isinstance(each, Tell)]
    assert refreshed == [
        *[(1, ADS, Interest(G)), (2, ADS, Interest(G)), (2, ADS, Interest(F))],
        *[(3, ADS, Interest(G)), (3, ADS, Interest(F)), (1, SUBS, Interest(F))],
    ]
    assert broker.next_deadline == 2 * PERIOD


@pytest.mark.parametrize(("topic", "change"), [(SUBS, "subscribe"), (ADS, "advertise")])
def test_a_refresh_of_what_is_unknown_is_news(topic: Topic, change: str) -> None:
    broker = router(advertisements=topic is ADS)
    broker.on_interest(1, topic, Change.REFRESH, Interest(F), NOW)
    assert told(broker.drain()) == [(link, change, Interest(F)) for link in (2, 3)]


@pytest.mark.parametrize("settings", [{}, {"algorithm": Algorithm.FLOODING, "advertisements": True}])
def test_where_nothing_follows_advertisements_they_are_not_sent(settings: dict[str, Any]) -> None:
    """Flooding sends events everywhere anyway."""
    broker = router(**settings)
    broker.advertise(A, F, NOW)
    assert broker.drain() == []


def test_what_is_not_refreshed_is_forgotten_and_gets_no_events() -> None:
    broker = router()
    broker.on_interest(1, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    for period in range(1, MISSED_PERIODS + 1):
        broker.tick(period * PERIOD)
    broker.drain()
    broker.tick((MISSED_PERIODS + 1) * PERIOD)
    said = broker.drain()
    assert said[0] == Expired(1, SUBS, Interest(F))
    assert told(said) == [(link, "unsubscribe", Interest(F)) for link in (2, 3)]
    broker.publish(an_event("f"))
    assert broker.drain() == []


def test_a_link_that_goes_takes_its_interest_and_a_new_one_is_told_all() -> None:
    """A link that comes up without having gone down has forgotten: it is told again, and so are we."""
    broker = router()
    broker.on_interest(1, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    broker.subscribe(A, G, NOW)
    broker.drain()
    broker.link_up(1, NOW)
    assert told(broker.drain()) == [
        *[(link, "unsubscribe", Interest(F)) for link in (2, 3)],
        (1, "subscribe", Interest(G)),
    ]
    assert broker.links == (2, 3, 1)
    broker.link_down(1, NOW)
    broker.link_down(1, NOW)
    broker.publish(an_event("f"))
    assert broker.drain() == []


def test_who_is_no_neighbour_has_no_say() -> None:
    broker = router()
    broker.on_interest(7, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    event = an_event("f", origin=7)
    broker.on_event(7, event)
    assert broker.drain() == [Drop(Reason.FOREIGN, 7, None, None), Drop(Reason.FOREIGN, 7, None, event.id)]


def test_a_neighbour_fills_no_more_than_its_share() -> None:
    """What it has told is still refreshed."""
    broker = router(link_interests=1)
    broker.on_interest(1, SUBS, Change.SUBSCRIBE, Interest(F), NOW)
    broker.drain()
    broker.on_interest(1, SUBS, Change.SUBSCRIBE, Interest(G), NOW)
    assert broker.drain() == [Drop(Reason.TABLE_FULL, 1, None, None)]
    broker.on_interest(1, SUBS, Change.REFRESH, Interest(F), NOW)
    assert broker.drain() == []
