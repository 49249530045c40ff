"""What `auto` does at a broker: events keep whole classes alive, and what nobody wants is objected to."""

from __future__ import annotations

from itertools import count
from typing import Any

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard.core.overlay.class_traffic import SILENCE
from chapard.core.overlay.filter_class import FilterClass, whole
from chapard.core.overlay.interest import Change, Expired, Forward, Interest, Subscriber, Tell, Topic
from chapard.core.overlay.router import Algorithm, Router, RouterConfig
from chapard.core.overlay.routing_table import SILENT_PERIODS

HERE, R = 0, 10.0
SUBS, ADS = Topic.SUBSCRIPTIONS, Topic.ADVERTISEMENTS
A, EVERYTHING = FilterClass("a", None), FilterClass(None, None)
ALL = whole(A)
FAST = Filter.parse('subject = "a" and speed > 9')
CLIENT = Subscriber(HERE, "c")
NUMBERS = count(1)


class Broker:
    """A router with links to 1 and 2, and the beginnings of its periods."""

    def __init__(self, **settings: Any) -> None:
        config = RouterConfig(nodes=8, algorithm=Algorithm.AUTO, refresh_period=R, **settings)
        self.router = Router(HERE, config, 0.0)
        self.periods = 0
        for link in (1, 2):
            self.router.link_up(link, 0.0)

    @property
    def now(self) -> float:
        return self.periods * R

    def period(self) -> list[tuple[int, str, Interest]]:
        self.periods += 1
        self.router.tick(self.now)
        return self.said()

    def said(self) -> list[tuple[int, str, Interest]]:
        drained = self.router.drain()
        assert all(isinstance(each, Tell | Expired | Forward) for each in drained)
        return [
            (each.link, each.change.value if isinstance(each, Tell) else "expire", each.interest)
            for each in drained
            if isinstance(each, Tell | Expired)
        ]

    def receive(self, link: int, change: Change, interest: Interest) -> list[tuple[int, str, Interest]]:
        self.router.on_interest(link, SUBS, change, interest, self.now)
        return self.said()

    def event(self, link: int, subject: str, speed: int = 0) -> list[int]:
        """Where an event that comes over this link is sent."""
        event = Event(subject=subject, attributes={"speed": speed}).accepted(id=event_id(link, 1, next(NUMBERS)))
        self.router.on_event(link, event)
        return [each.link for each in self.router.drain() if isinstance(each, Forward)]


def test_a_class_wanted_whole_is_sent_whole() -> None:
    """To him who wants it; and we want it of everybody else."""
    broker = Broker()
    assert broker.receive(1, Change.SUBSCRIBE, ALL) == [(2, "subscribe", ALL)]
    assert broker.event(2, "a") == [1]
    assert broker.event(2, "b") == []


def test_events_keep_it_alive() -> None:
    """As long as they come no refresh is needed; after SILENT_PERIODS without either it is gone."""
    broker = Broker()
    broker.receive(1, Change.SUBSCRIBE, ALL)
    for _ in range(3 * SILENT_PERIODS):
        assert broker.event(2, "a") == [1]
        assert (1, "expire", ALL) not in broker.period()
    for _ in range(SILENT_PERIODS - 1):
        assert (1, "expire", ALL) not in broker.period()
    assert (1, "expire", ALL) in broker.period()


def test_events_from_him_who_wants_them_prove_nothing() -> None:
    broker = Broker()
    broker.receive(1, Change.SUBSCRIBE, ALL)
    said = []
    for _ in range(SILENT_PERIODS + 1):
        assert broker.event(1, "a") == []
        said += broker.period()
    assert (1, "expire", ALL) in said


def test_what_nobody_wants_is_objected_to_once_a_period() -> None:
    """The sender must take somebody here for interested in a class of the event: it is told of each that nobody is."""
    broker = Broker()
    for _ in range(3):
        broker.event(1, "a")
    objections = [(1, "unsubscribe", whole(each)) for each in (A, EVERYTHING)]
    assert broker.period() == objections
    assert broker.period() == []


def test_what_was_asked_for_is_not_objected_to() -> None:
    """An event nobody wants at the moment, of a class that we have flooded; nor one that somebody wants."""
    broker = Broker()
    broker.router.choose(1, A, broker.now, flooding=True)
    broker.router.subscribe(CLIENT, FAST, broker.now)
    broker.said()
    broker.event(1, "a", speed=3)
    broker.event(2, "a", speed=30)
    assert broker.period() == [(2, "refresh", Interest(FAST))]


def test_a_link_that_is_gone_is_not_objected_to() -> None:
    broker = Broker()
    broker.event(1, "a")
    broker.router.link_down(1, broker.now)
    assert broker.period() == []


def test_a_refresh_of_one_filter_says_that_not_all_is_wanted() -> None:
    """What follows from it is in an order in which nothing is missed; a new filter says nothing of the kind."""
    broker = Broker()
    broker.receive(1, Change.SUBSCRIBE, ALL)
    assert broker.receive(1, Change.SUBSCRIBE, Interest(FAST)) == []
    assert broker.event(2, "a") == [1]
    assert broker.receive(1, Change.REFRESH, Interest(FAST)) == [
        (2, "subscribe", Interest(FAST)),
        (2, "unsubscribe", ALL),
    ]
    assert broker.event(2, "a") == []
    assert broker.event(2, "a", speed=10) == [1]


def test_a_class_is_flooded_only_from_where_it_may_come() -> None:
    """With advertisements: neither before one overlaps with it, nor after."""
    broker = Broker(advertisements=True)
    broker.router.choose(1, A, broker.now, flooding=True)
    assert broker.said() == []
    advertised = Interest(Filter(subject="a"))
    broker.router.on_interest(1, ADS, Change.ADVERTISE, advertised, broker.now)
    broker.said()
    broker.router.choose(1, A, broker.now, flooding=True)
    assert broker.said() == [(1, "subscribe", ALL)]
    broker.router.on_interest(1, ADS, Change.UNADVERTISE, advertised, broker.now)
    assert broker.said() == [(2, "unadvertise", advertised), (1, "unsubscribe", ALL)]


def test_a_broker_chooses_in_each_period_by_what_it_sees() -> None:
    """Someone is always interested, and an event comes in each period: that is cheaper without refreshes.

    Where no publisher is, refreshes are spared, too. Both are reported with their numbers.
    """
    broker = Broker()
    broker.router.subscribe(CLIENT, FAST, broker.now)
    for _ in range(4 * SILENCE):
        broker.event(1, "a", speed=10)
        broker.period()
    choices = {choice.link: choice for choice in broker.router.choices}
    assert set(choices) == {1, 2}
    for choice in choices.values():
        assert (choice.class_, choice.floods, choice.forced) == (A, True, False)
        assert 0 < choice.since < broker.now
        assert choice.estimate is not None
        assert choice.estimate.flooding < choice.estimate.filtering
        assert choice.estimate.period == R
    assert choices[1].estimate is not None
    assert choices[1].estimate.omega * R > 0.9
    assert choices[2].estimate is not None
    assert choices[2].estimate.omega == 0


def test_other_algorithms_have_no_choices() -> None:
    assert Router(HERE, RouterConfig(), 0.0).choices == []
