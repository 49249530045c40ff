"""The home: what it decides alone, what it leaves for a broker, and what a restart does not change."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Delivery, Event, event_id, peek_id
from chapar.filter import Filter
from chapar.limits import MAX_EVENT_BYTES, STAMP_BYTES
from chapar.session import (
    Acknowledge,
    ClientSession,
    Close,
    Deliver,
    Open,
    Opened,
    Ping,
    Publish,
    Receipt,
    Refused,
    Subscribe,
    Unsubscribe,
)
from chapard.core.config import Config, Group, QueuePolicy
from chapard.core.effects import Answer, Drop, Effect, InterestRow, Loss, PublishRow, Reason, Save
from chapard.core.fmt import FMT, Merge
from chapard.core.home import Home, incoming_of
from chapard.core.links import Links
from chapard.core.memorised import Memorised
from chapard.core.met import memory_of
from chapard.core.multicast import Multicast
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet
from chapard.core.station import Station
from chapard.core.store import Store, saved_under

if TYPE_CHECKING:
    from chapar.session import Message, Request

HERE, INCARNATION, NODES = 3, 9, 8
NOW = 1000.0
CONFIG = Config(nodes=NODES, outbox_limit=40, groups={"rovers": Group(frozenset({HERE}), frozenset({"driver"}))})
EVERYTHING = Filter()
EffectT = TypeVar("EffectT", bound=Effect)


class House:
    """A home that knows no broker, with its disk."""

    def __init__(self, config: Config = CONFIG) -> None:
        self.config = config
        self.disk: dict[str, bytes] = {}
        self.incarnation = INCARNATION - 1
        self.restart()

    def restart(self, now: float = NOW) -> None:
        """Start, from the disk if it holds anything."""
        if self.incarnation >= INCARNATION:
            self.drain()
        self.incarnation += 1
        self.outlet = Outlet()
        store, fmt = Store(self.outlet), FMT(self.config)
        station = Station(HERE, self.incarnation, self.config)
        links = Links(HERE, self.incarnation, self.config, self.outlet)
        multicast = Multicast(station, links, self.outlet)
        self.memorised = Memorised(station, links, self.outlet, store, fmt, multicast)
        self.home = Home(station, self.outlet, store, self.memorised, Random(self.incarnation))
        if self.disk:
            self.home.restore(self.disk, now)
            for _, (body, expiry, delivered, flags) in saved_under(self.disk, "event/"):
                self.memorised.restore(body, expiry, delivered, flags, now)

    def drain(self) -> list[Effect]:
        drained = self.outlet.drain()
        for effect in drained:
            if isinstance(effect, Save):
                if effect.value is None:
                    self.disk.pop(effect.key, None)
                else:
                    self.disk[effect.key] = effect.value
        return drained

    def said(self, kind: type[EffectT]) -> list[EffectT]:
        return [effect for effect in self.drain() if isinstance(effect, kind)]

    def ask(self, client: str, *requests: Request, now: float = NOW) -> list[Message]:
        """Carry out a client's requests; what the home answers to it."""
        for request in requests:
            self.home.request(client, request, now)
        return [answer.message for answer in self.said(Answer) if answer.client == client]

    def remember(self, event: Event, *, delivered: tuple[int, ...] = ()) -> None:
        """Hold an event of another origin, as a broker or a home that took it does."""
        body = event.encode()
        homes = NodeVector.of(delivered, NODES)
        self.memorised.met.add(memory_of(event, body, event.lifetime_ms, homes, homes, NOW), NOW)


def receipts(messages: list[Message]) -> list[Receipt]:
    return [message for message in messages if isinstance(message, Receipt)]


def delivered(messages: list[Message]) -> list[Event]:
    return [Event.decode_untrusted(message.body) for message in messages if isinstance(message, Deliver)]


def refusal(messages: list[Message]) -> str:
    (message,) = messages
    assert isinstance(message, Refused)
    return message.reason


# Publications


@given(st.lists(st.sampled_from([{}, {"lifetime": 5}, {"persistent": True}]), min_size=1, max_size=20))
def test_each_event_is_stamped_and_left_for_a_broker(kinds: list[dict[str, Any]]) -> None:
    """Ids count up within the incarnation, memorised events have their place in a chain, and all wait in order."""
    house = House()
    house.ask("c", Open(0))
    chain = 0
    for sequence, kind in enumerate(kinds, start=1):
        chain += bool(kind)
        (answer,) = house.ask("c", Publish(sequence, Event(subject="a", **kind)))
        assert answer == Receipt(sequence, event_id(HERE, INCARNATION, sequence))
        publication = house.home.publications[-1]
        event = publication.event
        assert (event.id, event.sender) == (event_id(HERE, INCARNATION, sequence), HERE)
        assert (event.chain, event.subject) == (chain if kind else 0, "a")
        assert Event.decode_untrusted(publication.body) == event
        assert publication.deadline == (inf if kind else NOW + CONFIG.publish_patience)
        assert (peek_id(publication.body) in house.memorised.met) == bool(kind)
    assert len(house.home.publications) == len(kinds)


def test_ids_are_unique_across_restarts() -> None:
    """A new incarnation counts from 1 again, in ids and chains, and every id is above those of the one before."""
    house = House()
    ids = []
    for number in range(1, 7):
        if number % 2:
            house.restart()
            house.ask("c", Open(0))
        house.ask("c", Publish(number, Event(persistent=True)))
        event = house.home.publications[-1].event
        assert event.id is not None
        ids.append(event.id)
        assert event.chain == 2 - number % 2
    assert ids == sorted(set(ids))


def test_a_publication_is_recorded_and_a_memorised_one_is_confirmed_after_it_is_saved() -> None:
    """The receipt of a memorised event waits for the disk, and the event is on it; a real-time one does not wait."""
    house = House()
    house.ask("c", Open(0))
    for number, kind in ((1, {}), (2, {"lifetime": 5.0})):
        house.home.request("c", Publish(number, Event(subject="a", payload=b"xy", **kind)), NOW)  # type: ignore[arg-type]  # lifetime is a float
        effects = house.drain()
        (row,) = [effect for effect in effects if isinstance(effect, PublishRow)]
        (answer,) = [effect for effect in effects if isinstance(effect, Answer)]
        body = house.home.publications[-1].body
        label = "lifetime" if kind else "realtime"
        assert row == PublishRow("c", peek_id(body), label, 5000 if kind else 0, len(body), "a")
        assert answer.after_save == bool(kind)
        key = f"event/{peek_id(body).hex()}"
        assert (key in house.disk) == bool(kind)


def test_a_publication_that_is_repeated_is_not_published_twice() -> None:
    """The client has not seen the receipt: it gets the same one again, after a restart of the home too."""
    house = House()
    (opened,) = house.ask("c", Open(0))
    assert isinstance(opened, Opened)
    (receipt,) = house.ask("c", Publish(1, Event()))
    assert house.ask("c", Publish(1, Event())) == [receipt]
    assert len(house.home.publications) == 1
    house.restart()
    house.ask("c", Open(opened.epoch))
    assert house.ask("c", Publish(1, Event())) == [receipt]
    assert len(house.home.publications) == 0


def test_a_client_that_started_anew_is_not_taken_for_its_predecessor() -> None:
    """It counts its requests from 1 again: its first publication is a new one, its first filter replaces the old."""
    house = House()
    for subject in ("a", "b"):
        house.ask("c", Open(0), Publish(1, Event(subject=subject)), Subscribe(2, Filter(subject=subject)))
    assert [each.event.subject for each in house.home.publications] == ["a", "b"]
    assert house.home.interests.announced() == (Filter(subject="b"),)
    session = house.home.sessions.get("c")
    assert session is not None
    assert session.subscriptions == {2: Filter(subject="b")}


@settings(max_examples=60)
@given(st.lists(st.integers(0, 12), max_size=8), st.integers(0, 2**32))
def test_a_client_and_its_home_publish_each_event_once(bursts: list[int], seed: int) -> None:
    """Connections break and the home restarts at any moment: every event is accepted once, in order."""
    rng = Random(seed)
    house, client = House(replace(CONFIG, outbox_limit=1000)), ClientSession()
    accepted: list[str | None] = []
    total = 0
    for burst in [*bursts, 0]:
        for _ in range(burst):
            total += 1
            client.publish(Event(subject=str(total)))
        client.open()
        for _ in range(rng.randrange(6)):
            for request in client.requests():
                for message in house.ask("c", request):
                    if rng.random() < 0.8:
                        client.received(message)
        client.lost()
        client.requests()
        if rng.random() < 0.5:
            accepted += [each.event.subject for each in house.home.publications]
            house.restart()
    client.open()
    while requests := client.requests():
        for message in house.ask("c", *requests):
            client.received(message)
    accepted += [each.event.subject for each in house.home.publications]
    assert accepted == [str(n) for n in range(1, total + 1)]
    assert sorted(client.receipts) == list(range(1, total + 1))


# What is not accepted


def test_only_members_publish_to_a_group() -> None:
    """A group that is configured is closed to others; one that is not is open to all."""
    house = House()
    for client in ("driver", "stranger"):
        house.ask(client, Open(0))
    assert receipts(house.ask("driver", Publish(1, Event(group="rovers"))))
    assert "rovers" in refusal(house.ask("stranger", Publish(1, Event(group="rovers"))))
    assert receipts(house.ask("stranger", Publish(2, Event(group="walkers"))))
    house.home.request("stranger", Publish(3, Event(group="rovers")), NOW)
    assert [(drop.reason, drop.client) for drop in house.said(Drop)] == [(Reason.NOT_MEMBER, "stranger")]


@pytest.mark.parametrize(
    ("event", "word"),
    [
        (Event(to=[NODES]), "nodes"),
        (Event(payload=bytes(MAX_EVENT_BYTES)), "bytes"),
        (Event(payload=bytes(MAX_EVENT_BYTES - STAMP_BYTES + 1), persistent=True), "bytes"),
    ],
)
def test_what_cannot_travel_is_refused_in_words(event: Event, word: str) -> None:
    """Nothing a client hands over can make the home fail."""
    house = House()
    house.ask("c", Open(0))
    assert word in refusal(house.ask("c", Publish(1, event)))
    assert not house.home.publications
    assert len(house.memorised.met) == 0


def test_an_event_that_its_client_could_encode_can_be_stamped() -> None:
    """The largest event that travels to the home travels from there too; a sender the application named is replaced."""
    house = House()
    house.ask("c", Open(0))
    largest = Event(payload=bytes(MAX_EVENT_BYTES - STAMP_BYTES - 13), persistent=True)
    assert len(largest.encode()) == MAX_EVENT_BYTES - STAMP_BYTES
    assert receipts(house.ask("c", Publish(1, largest)))
    assert receipts(house.ask("c", Publish(2, Event(sender=5))))
    assert house.home.publications[-1].event.sender == HERE


def test_a_full_outbox_refuses() -> None:
    """While there is no broker, `outbox_limit` events wait and no more."""
    house = House()
    house.ask("c", Open(0))
    for number in range(1, CONFIG.outbox_limit + 1):
        assert receipts(house.ask("c", Publish(number, Event())))
    assert "later" in refusal(house.ask("c", Publish(99, Event())))
    assert len(house.home.publications) == CONFIG.outbox_limit
    house.home.publications.popleft()
    assert receipts(house.ask("c", Publish(100, Event())))


def test_a_full_subscriber_refuses_at_its_publisher() -> None:
    """Under the policy that refuses: only what that subscriber would get, and no event addressed elsewhere."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    house.ask("slow", Open(0), Subscribe(1, Filter(subject="a")), Close())
    house.ask("c", Open(0))
    assert receipts(house.ask("c", Publish(1, Event(subject="a"))))
    assert "full" in refusal(house.ask("c", Publish(2, Event(subject="a"))))
    assert receipts(house.ask("c", Publish(3, Event(subject="b"))))
    assert receipts(house.ask("c", Publish(4, Event(subject="a", to=[5]))))


def test_a_request_without_an_open_session_is_refused() -> None:
    """Whatever it is; the client is told to open its session."""
    house = House()
    for request in (Publish(1, Event()), Subscribe(1, EVERYTHING), Unsubscribe(1), Acknowledge(1, 1), Ping(), Close()):
        assert "open" in refusal(house.ask("c", request))
    assert not house.home.publications
    assert len(house.home.interests) == 0


# The outbox


def test_real_time_events_do_not_wait_for_a_broker_for_ever() -> None:
    """After `publish_patience` they are lost to everyone, also behind memorised events, which stay."""
    house = House()
    house.ask("c", Open(0))
    for number, kind in enumerate(({"persistent": True}, {}, {"lifetime": 60}, {}), start=1):
        house.ask("c", Publish(number, Event(**kind)), now=NOW + number)  # type: ignore[arg-type]  # as above
    due = NOW + 2 + CONFIG.publish_patience
    assert house.home.next_deadline() == due
    house.home.tick(due - 0.1)
    assert house.said(Loss) == []
    house.home.tick(due)
    (loss,) = house.said(Loss)
    assert (loss.event_id, loss.reason) == (event_id(HERE, INCARNATION, 2), Reason.NO_BROKER)
    assert loss.homes.count() == NODES
    assert house.home.next_deadline() == due + 2
    house.home.tick(due + 60)
    assert [each.event.delivery for each in house.home.publications] == [Delivery.PERSISTENT, Delivery.LIFETIME]


@given(st.permutations(range(1, 9)), st.integers(0, 8))
def test_what_a_broker_did_not_get_goes_in_its_old_order(order: list[int], handed: int) -> None:
    """Events that come back from a link, in any order, take their places before what was published since."""
    house = House()
    house.ask("c", Open(0))
    for number in range(1, 9):
        house.ask("c", Publish(number, Event()))
    sent = [house.home.publications.popleft() for _ in range(handed)]
    for place in order:
        if place <= handed:
            house.home.requeue(sent[place - 1])
    assert [peek_id(each.body)[-1] for each in house.home.publications] == list(range(1, 9))


# Our own clients


@pytest.mark.parametrize("kind", [{}, {"lifetime": 5}, {"persistent": True}], ids=str)
def test_our_own_clients_need_no_broker(kind: dict[str, Any]) -> None:
    """They are served at once, publisher included, unless the event is addressed to other nodes."""
    house = House()
    for client in ("c", "d"):
        house.ask(client, Open(0), Subscribe(1, Filter(subject="a")))
    house.home.request("c", Publish(2, Event(subject="a", **kind)), NOW)
    answers = house.said(Answer)
    assert [each.client for each in answers if isinstance(each.message, Deliver)] == ["c", "d"]
    assert delivered(house.ask("c", Publish(3, Event(subject="a", to=[5], **kind)))) == []
    assert len(delivered(house.ask("c", Publish(4, Event(subject="a", to=[HERE, 5], **kind))))) == 1


def test_a_home_confirms_its_own_events_when_its_clients_have_them() -> None:
    """At once if they do, or if nobody here wants them."""
    house = House()
    house.ask("c", Open(0), Subscribe(1, Filter(subject="a")))
    house.ask("c", Publish(2, Event(subject="a", persistent=True)), Publish(3, Event(subject="b", persistent=True)))
    assert [memory.delivered.indexes() for memory in house.memorised.met] == [[HERE], [HERE]]


def test_an_event_without_room_in_the_table_still_expires_in_the_queue() -> None:
    """Our clients get it from the queue alone, for as long as it lives."""
    house = House(replace(CONFIG, met_events=1))
    house.ask("c", Open(0), Subscribe(1, EVERYTHING), Publish(2, Event(persistent=True)), Close())
    house.ask("d", Open(0), Publish(1, Event(lifetime=5)))
    session = house.home.sessions.get("c")
    assert session is not None
    assert [each.incoming.expiry for each in session.queue] == [inf, NOW + 5]
    assert len(house.memorised.met) == 1


def test_what_a_client_refused_comes_when_it_has_room() -> None:
    """From what the node holds, in its publisher's order, and is then confirmed."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    (opened,) = house.ask("slow", Open(0), Subscribe(1, Filter(subject="a")))
    assert isinstance(opened, Opened)
    for n in (1, 2, 3):
        event = Event(subject="a", persistent=True).accepted(id=event_id(5, 1, n), chain=n)
        house.remember(event)
        memory = house.memorised.met.get(event_id(5, 1, n))
        assert memory is not None
        assert house.home.take(incoming_of(memory, "memorised"), NOW) == (n == 1)
    house.drain()
    for n in (2, 3):
        got = delivered(house.ask("slow", Acknowledge(opened.epoch, n - 1)))
        assert [event.id for event in got] == [event_id(5, 1, n)]
        memory = house.memorised.met.get(event_id(5, 1, n))
        assert memory is not None
        assert memory.delivered.indexes() == [HERE]


def test_a_home_does_not_confirm_what_a_client_refuses() -> None:
    """A memorised event that finds a full queue stays with the brokers, and is taken when it comes again to room."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    house.ask("slow", Open(0), Subscribe(1, Filter(subject="a")), Close())
    first, second = (
        memory_of(made, made.encode(), 0, NodeVector.empty(NODES), NodeVector.empty(NODES), NOW)
        for made in (Event(subject="a", persistent=True).accepted(id=event_id(5, 1, n), chain=n) for n in (1, 2))
    )
    assert house.home.take(incoming_of(first, "memorised"), NOW)
    assert not house.home.take(incoming_of(second, "memorised"), NOW)
    session = house.home.sessions.open("slow", 0, NOW)
    assert session is not None
    house.home.request("slow", Acknowledge(session.epoch, session.number), NOW)
    assert house.home.take(incoming_of(second, "memorised"), NOW)


def test_a_named_node_without_a_client_for_it_says_so() -> None:
    """A real-time event addressed to us that nobody here wants is lost, in the records too."""
    house = House()
    house.ask("c", Open(0), Subscribe(1, Filter(subject="a")))
    for subject, to in (("a", [HERE]), ("b", [HERE]), ("b", [])):
        event = Event(subject=subject, to=to).accepted(id=event_id(5, 1, len(house.outlet.counters) + 1))
        house.home.take_realtime(event, event.encode(), hops=2, now=NOW)
    effects = house.drain()
    losses = [effect for effect in effects if isinstance(effect, Loss)]
    assert [(loss.reason, loss.homes.indexes()) for loss in losses] == [(Reason.NO_CLIENT, [HERE])]
    assert len([effect for effect in effects if isinstance(effect, Answer)]) == 1


# Interests


def test_a_subscriber_gets_at_once_what_the_node_holds() -> None:
    """Instant notification: matching events for everyone or for us, per publisher in order, and each once."""
    house = House()
    events = [
        Event(subject=subject, to=to, persistent=True).accepted(id=event_id(5, 1, n), chain=n)
        for n, (subject, to) in enumerate((("a", ()), ("b", ()), ("a", (5,)), ("a", (HERE,)), ("a", ())), start=1)
    ]
    for event in reversed(events):
        house.remember(event)
    house.ask("c", Open(0))
    got = delivered(house.ask("c", Subscribe(1, Filter(subject="a"))))
    assert [event.id for event in got] == [event_id(5, 1, n) for n in (1, 4, 5)]
    confirmed = [memory.event.chain for memory in house.memorised.met if memory.delivered[HERE]]
    assert confirmed == [1, 4, 5]
    assert delivered(house.ask("c", Subscribe(2, Filter(where="subject starts with 'a'")))) == []
    assert [event.id for event in delivered(house.ask("c", Subscribe(3, EVERYTHING)))] == [event_id(5, 1, 2)]


def test_changes_of_interest_are_announced_recorded_and_saved() -> None:
    """One row for each request that changed something, one announcement for each change of the reduced set."""
    house = House()
    house.ask("c", Open(0))
    a = Filter(subject="a")
    for request in (Subscribe(1, a), Subscribe(1, a), Subscribe(2, a), Unsubscribe(1), Unsubscribe(9), Unsubscribe(2)):
        house.home.request("c", request, NOW)
    rows = house.said(InterestRow)
    assert [row.change for row in rows] == ["subscribe", "subscribe", "unsubscribe", "unsubscribe"]
    assert {(row.client, row.filter_id) for row in rows} == {("c", a.fid)}
    assert [(step.added, step.removed) for step in house.home.announcements] == [((a,), ()), ((), (a,))]
    house.restart()
    assert house.home.interests.version > INCARNATION << 24


def test_a_home_without_memory_asks_for_a_replay() -> None:
    """What brokers believe to be delivered here may be lost: each new filter is replayed. With a disk nothing is."""
    house = House()
    house.ask("c", Open(0), Subscribe(1, Filter(subject="a")))
    assert house.home.replays == [Filter(subject="a")]
    house.restart()
    house.ask("c", Open(0), Subscribe(2, Filter(subject="b")))
    assert house.home.replays == []


def test_a_home_that_was_contradicted_stays_above_the_doubt() -> None:
    """The version it went to is saved."""
    house = House()
    house.ask("c", Open(0), Subscribe(1, Filter(subject="a")))
    version = house.home.interests.version
    house.home.contradicted(version + 7)
    assert house.home.interests.version == version + 8
    house.restart()
    assert house.home.interests.version == version + 8
    assert house.home.announcements == []


FILTERS = (EVERYTHING, *(Filter(subject=name) for name in "ab"), Filter(subject="a", where="speed > 1"))
acts = st.tuples(
    st.sampled_from(["subscribe", "subscribe", "subscribe", "unsubscribe", "close", "restart"]),
    st.sampled_from(["c", "d"]),
    st.integers(1, 5),
    st.sampled_from(FILTERS),
)


@settings(max_examples=80)
@given(st.integers(0, 25).flatmap(lambda length: st.lists(acts, min_size=length, max_size=length)))
def test_a_broker_that_follows_the_announcements_knows_what_all_clients_want(
    acts: list[tuple[str, str, int, Filter]],
) -> None:
    """Through subscriptions, OFF and restarts: the announced filters cover exactly the standing subscriptions."""
    house, broker = House(), FMT(CONFIG)
    standing: dict[tuple[str, int], Filter] = {}
    for kind, client, number, filter_ in acts:
        session = house.home.sessions.get(client)
        house.ask(client, Open(session.epoch if session else 0))
        if kind == "subscribe":
            house.ask(client, Subscribe(number, filter_))
            standing[client, number] = filter_
        elif kind == "unsubscribe":
            house.ask(client, Unsubscribe(number))
            standing.pop((client, number), None)
        elif kind == "close":
            house.ask(client, Close())
        follow(broker, house.home)
        if kind == "restart":
            house.restart()
        announced = house.home.interests.announced()
        assert all(any(one.covers(each) for one in announced) for each in standing.values())
        assert set(announced) <= set(standing.values())
        assert set(broker.homes().get(HERE, ())) == set(announced)
        assert Counter(house.home.sessions.filters()) == Counter(standing.values())


def follow(broker: FMT, home: Home) -> None:
    for step in home.announcements:
        change, filters = (broker.add, step.added) if step.added else (broker.remove, step.removed)
        assert change(HERE, step.version, step.base, filters, NOW) is Merge.CHANGED
    home.announcements.clear()
