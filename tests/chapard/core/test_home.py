"""The home: what it decides alone, what it leaves for a broker, and what a restart does not change."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Delivery, Event, EventId, event_id, later, peek_id
from chapar.filter import Filter
from chapar.limits import MAX_EVENT_BYTES, STAMP_BYTES
from chapar.session import (
    Acknowledge,
    ClientSession,
    Close,
    Closed,
    Deliver,
    Inquire,
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
from chapard.core.effects import Answer, Drop, Effect, InterestRow, Loss, PublishRow, Reason, Save, Settle
from chapard.core.fmt import FMT, Merge
from chapard.core.home import HEADS_KEPT, Home, incoming_of
from chapard.core.links import Links
from chapard.core.memorised import Memorised
from chapard.core.met import memory_of
from chapard.core.multicast import Multicast
from chapard.core.nodevector import NodeVector
from chapard.core.order import Arrival
from chapard.core.outlet import Outlet
from chapard.core.station import Station
from chapard.core.store import Store, saved_under

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.session import Message, Request

HERE, INCARNATION, NODES = 3, 9, 8
NOW = 1000.0
CONFIG = Config(nodes=NODES, outbox_limit=40, groups={"rovers": Group(frozenset({HERE}), frozenset({"driver"}))})
EVERYTHING = Filter()
ANEW = Open("c", 0, 1, lasting=True)
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
        self.store, fmt = Store(self.outlet), FMT(self.config)
        self.station = station = Station(HERE, self.incarnation, self.config)
        links = Links(HERE, self.incarnation, self.config, self.outlet)
        multicast = Multicast(station, links, self.outlet)
        self.memorised = Memorised(station, links, self.outlet, self.store, fmt, multicast)
        self.home = Home(station, self.outlet, self.store, self.memorised, Random(self.incarnation))
        if self.disk:
            self.home.restore(self.disk, now)
            for _, (body, expiry, delivered, flags) in saved_under(self.disk, "event/"):
                self.memorised.restore(body, expiry, delivered, flags, now)

    def drain(self, *, is_slow: bool = False) -> list[Effect]:
        """What it wants done; a slow disk has not told yet that it has what was saved."""
        self.home.sessions.save_changed()
        self.store.settle()
        drained = self.outlet.drain()
        for effect in drained:
            if isinstance(effect, Settle) and not is_slow:
                self.home.saved(effect.number)
                self.memorised.saved(effect.number, NOW)
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

    def ask_slowly(self, client: str, *requests: Request) -> list[Message]:
        """The same, with a disk that has not told yet that it has what was saved."""
        for request in requests:
            self.home.request(client, request, NOW)
        answers = [effect for effect in self.drain(is_slow=True) if isinstance(effect, Answer)]
        return [answer.message for answer in answers if answer.client == client]

    def remember(self, event: Event, *, delivered: tuple[int, ...] = ()) -> None:
        """Hold an event of another origin, as a broker or a home that took it does."""
        body = event.encode()
        homes = NodeVector.of(delivered, NODES)
        self.memorised.met.add(memory_of(event, body, event.lifetime_ms, homes, homes, NOW), NOW)


def publication(number: int, event: Event, after: int = 0) -> Publish:
    """One event as a client publishes it."""
    head = msgpack.packb(tuple(event.with_payload(b""))[:-1])  # as `head` makes it, but of what it would refuse too
    return Publish(after, number, head, (event.payload,))


def a_run(number: int, payloads: Sequence[bytes], **kind: Any) -> Publish:
    return Publish(number - 1, number, Event(subject="a", **kind).head(), tuple(payloads))


def receipts(messages: list[Message]) -> list[Receipt]:
    return [message for message in messages if isinstance(message, Receipt)]


def delivered(messages: list[Message]) -> list[Event]:
    runs = [message.bodies for message in messages if isinstance(message, Deliver)]
    return [Event.decode_untrusted(body) for bodies in runs for body in bodies]


def refusal(messages: list[Message]) -> str:
    (message,) = messages
    assert isinstance(message, Refused)
    return message.reason


# Publications


@given(st.lists(st.sampled_from([{}, {"lifetime": 5}, {"persistent": True}]), min_size=1, max_size=20))
def test_each_event_is_stamped_and_left_for_a_broker(kinds: list[dict[str, Any]]) -> None:
    """Ids count up within the incarnation, memorised events have their place in a chain, and all wait in order."""
    house = House()
    house.ask("c", ANEW)
    chain = 0
    for sequence, kind in enumerate(kinds, start=1):
        chain += bool(kind)
        (answer,) = house.ask("c", publication(sequence, Event(subject="a", payload=b"x", **kind)))
        assert answer == Receipt(sequence, event_id(HERE, INCARNATION, sequence), 1)
        waiting = house.home.publications[-1]
        (body,) = waiting.bodies
        event = Event.decode_untrusted(body)
        assert (event.id, event.sender) == (event_id(HERE, INCARNATION, sequence), HERE)
        assert (event.chain, event.subject, event.payload) == (chain if kind else 0, "a", b"x")
        assert (waiting.event.sender, waiting.event.delivery) == (HERE, event.delivery)
        assert waiting.deadline == (inf if kind else NOW + CONFIG.publish_patience)
        assert (peek_id(body) in house.memorised.met) == bool(kind)
    assert len(house.home.publications) == house.home.waiting == len(kinds)


payload_lists = st.lists(st.binary(max_size=300), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.sampled_from([{}, {"lifetime": 5}, {"persistent": True}]), payload_lists), max_size=4))
def test_a_run_is_what_its_events_would_be(runs: list[tuple[dict[str, Any], list[bytes]]]) -> None:
    """Published together or one by one: the same bodies in the same order, one receipt for a run."""
    together, apart = (House(replace(CONFIG, outbox_limit=1000)) for _ in range(2))
    bodies = []
    for house in (together, apart):
        house.ask("c", ANEW, Subscribe(1, EVERYTHING))
        number = 2
        got: list[bytes] = []
        for kind, payloads in runs:
            if house is together:
                (receipt,) = receipts(house.ask("c", a_run(number, payloads, **kind)._replace(after=0)))
                assert (receipt.number, receipt.length) == (number, len(payloads))
            else:
                for place, payload in enumerate(payloads):
                    house.ask("c", publication(number + place, Event(subject="a", payload=payload, **kind)))
            number += len(payloads)
        for waiting in house.home.outgoing():
            got += waiting.bodies
        assert house.home.waiting == 0
        bodies.append(got)
    assert bodies[0] == bodies[1]
    assert [Event.decode_untrusted(body).payload for body in bodies[0]] == [p for _, payloads in runs for p in payloads]


def test_ids_are_unique_across_restarts() -> None:
    """A new incarnation counts from 1 again, in ids and chains, and every id is above those of the one before."""
    house = House()
    ids = []
    for number in range(1, 7):
        if number % 2:
            house.restart()
            house.ask("c", ANEW)
        house.ask("c", publication(number, Event(persistent=True)))
        event = house.home.publications[-1].event
        assert event.id is not None
        ids.append(event.id)
        assert event.chain == 2 - number % 2
    assert ids == sorted(set(ids))


def test_a_publication_is_recorded_and_a_memorised_one_is_confirmed_after_it_is_saved() -> None:
    """The receipt of a memorised event waits for the disk, and the event is on it; a real-time one does not wait."""
    house = House()
    house.ask("c", ANEW)
    for number, kind in ((1, {}), (2, {"lifetime": 5.0})):
        house.home.request("c", publication(number, Event(subject="a", payload=b"xy", **kind)), NOW)  # type: ignore[arg-type]  # lifetime is a float
        effects = house.drain()
        (row,) = [effect for effect in effects if isinstance(effect, PublishRow)]
        (answer,) = [effect for effect in effects if isinstance(effect, Answer)]
        (body,) = house.home.publications[-1].bodies
        label = "lifetime" if kind else "realtime"
        assert row == PublishRow("c", peek_id(body), label, 5000 if kind else 0, len(body), "a")
        assert answer.after_save == bool(kind)
        key = f"event/{peek_id(body).hex()}"
        assert (key in house.disk) == ("published/c" in house.disk) == bool(kind)
    assert house.outlet.published == 2
    quiet = House(replace(CONFIG, record=False))
    quiet.home.request("c", ANEW, NOW)
    quiet.home.request("c", publication(1, Event()), NOW)
    assert quiet.said(PublishRow) == []
    assert quiet.outlet.published == 1


def test_a_memorised_event_leaves_its_home_when_the_disk_has_it() -> None:
    """Else a crash could forget an event that others have, and its publisher would publish it again."""
    house = House()
    house.ask("c", ANEW)
    house.home.request("c", publication(1, Event(subject="a", lifetime=5.0)), NOW)
    house.home.request("c", publication(2, Event(subject="a")), NOW)
    (settle,) = [effect for effect in house.drain(is_slow=True) if isinstance(effect, Settle)]
    assert [each.event.delivery for each in house.home.publications] == [Delivery.REALTIME]
    assert house.home.waiting == 2
    house.home.saved(settle.number - 1)
    assert len(house.home.publications) == 1
    house.home.saved(settle.number)
    assert [each.event.delivery for each in house.home.publications] == [Delivery.LIFETIME, Delivery.REALTIME]
    assert house.home.waiting == 2


def test_a_slow_disk_does_not_use_up_the_room_for_events_without_a_broker() -> None:
    """Several clients may have all that their windows admit under way to the disk; there is a bound all the same."""
    house = House(replace(CONFIG, outbox_limit=10, met_events=25))
    house.ask("c", ANEW)
    house.station.broker = HERE
    answers = house.ask_slowly("c", a_run(1, [b"x"] * 20, lifetime=60.0), a_run(21, [b"x"] * 20, lifetime=60.0))
    assert sum(each.length for each in answers if isinstance(each, Receipt)) == 25
    refused = [each for each in answers if isinstance(each, Refused)]
    assert len(refused) == 15
    assert "the disk" in refused[0].reason


def test_others_hear_that_clients_have_an_event_when_the_disk_does() -> None:
    """Else a crash could forget an event for our clients that the brokers believe delivered."""
    house = House()
    house.ask("c", ANEW, Subscribe(1, Filter(subject="a")))
    house.home.request("c", publication(2, Event(subject="a", lifetime=5.0)), NOW)
    (settle,) = [effect for effect in house.drain(is_slow=True) if isinstance(effect, Settle)]
    (memory,) = house.memorised.met
    assert not memory.delivered[HERE]
    house.memorised.saved(settle.number, NOW)
    assert memory.delivered[HERE]


def test_a_publication_that_is_repeated_is_not_published_twice() -> None:
    """The client has not seen the receipt: it gets the same one again, of what was on the disk after a restart too."""
    house = House()
    (opened,) = house.ask("c", ANEW)
    assert isinstance(opened, Opened)
    (receipt,) = house.ask("c", a_run(1, [b"a", b"b", b"c"], persistent=True))
    assert isinstance(receipt, Receipt)
    again = a_run(2, [b"b", b"c", b"d"], persistent=True)
    known = Receipt(2, later(receipt.id, 1), 2)
    new = Receipt(4, later(receipt.id, 3), 1)
    assert house.ask("c", again) == [known, new]
    all_known = Receipt(2, later(receipt.id, 1), 3)
    assert house.ask("c", again) == [all_known]
    assert house.home.waiting == 4
    house.restart()
    house.ask("c", Open("c", opened.epoch, 1, lasting=True))
    assert house.ask("c", again) == [all_known]
    assert house.home.waiting == 0


def test_publications_behind_a_gap_are_dropped_and_come_again() -> None:
    """Their predecessors are on the way; numbers that were left out on purpose are no gap."""
    house = House()
    house.ask("c", ANEW)
    late, early = a_run(4, [b"d"]), a_run(1, [b"a", b"b", b"c"])
    house.home.request("c", late, NOW)
    effects = house.drain()
    assert [(drop.reason, drop.client) for drop in effects if isinstance(drop, Drop)] == [(Reason.GAP, "c")]
    assert not any(isinstance(effect, Answer) for effect in effects)
    assert len(receipts(house.ask("c", early, late, a_run(9, [b"e"])._replace(after=4)))) == 3
    payloads = [Event.decode_untrusted(body).payload for each in house.home.outgoing() for body in each.bodies]
    assert payloads == [b"a", b"b", b"c", b"d", b"e"]


def test_what_was_refused_is_refused_again() -> None:
    """It has had its answer: it does not become an event when it is repeated, nor a gap for what follows."""
    house = House()
    for _ in range(2):
        house.ask("stranger", Open("stranger", 0, 1, lasting=True))
        first, second = (publication(n, Event(group="rovers"), after=n - 1) for n in (1, 2))
        assert refusal(house.ask("stranger", first))
        assert refusal(house.ask("stranger", first))
        assert refusal(house.ask("stranger", second))
        assert receipts(house.ask("stranger", publication(3, Event(), after=2)))
        assert house.home.waiting == 1
        house.home.outgoing()


def test_what_is_no_event_is_refused_in_words_and_counted() -> None:
    """Bytes that are no head, or one that its client has stamped; the numbers are answered for."""
    house = House()
    house.ask("c", ANEW)
    stamped = Event(persistent=True).accepted(id=event_id(HERE, 1, 1), chain=1)
    number = 0
    for head in (b"junk", stamped.head(), Event().head() + b"x"):
        answers = house.ask("c", Publish(number, number + 1, head, (b"", b"")))
        assert [type(each) for each in answers] == [Refused, Refused]
        number += 2
    assert house.outlet.drops[Reason.MALFORMED] == 3
    assert not house.home.publications


def test_heads_that_are_kept_decoded_are_bounded() -> None:
    """However many different ones clients publish, each is taken for what it is."""
    house = House(replace(CONFIG, outbox_limit=10 * HEADS_KEPT))
    house.ask("c", ANEW)
    for number in range(1, HEADS_KEPT + 3):
        house.ask("c", publication(number, Event(subject=str(number))))
    house.ask("c", publication(HEADS_KEPT + 3, Event(subject="1")))
    subjects = [Event.decode_untrusted(each.bodies[0]).subject for each in house.home.outgoing()]
    assert subjects == [*(str(n) for n in range(1, HEADS_KEPT + 3)), "1"]


def test_a_client_that_started_anew_is_not_taken_for_its_predecessor() -> None:
    """It counts its requests from 1 again: its first publication is a new one, its first filter replaces the old."""
    house = House()
    for subject in ("a", "b"):
        house.ask("c", ANEW, publication(1, Event(subject=subject)), Subscribe(2, Filter(subject=subject)))
    assert [each.event.subject for each in house.home.publications] == ["a", "b"]
    assert house.home.interests.announced() == (Filter(subject="b"),)
    session = house.home.sessions.get("c")
    assert session is not None
    assert session.subscriptions == {2: Filter(subject="b")}


@settings(max_examples=60)
@given(st.lists(st.integers(0, 12), max_size=8), st.integers(0, 2**32))
def test_a_client_and_its_home_publish_each_event_once(bursts: list[int], seed: int) -> None:
    """Connections break and the home restarts, its disk whole, at any moment: every memorised event is accepted once,
    in order; a real-time one once at most, and those that were not are given up."""
    rng = Random(seed)
    house, client = House(replace(CONFIG, outbox_limit=1000)), ClientSession("c")
    accepted: list[str | None] = []
    answered: dict[int, EventId] = {}
    total = 0

    def ask(request: Request, loss: float) -> None:
        for message in house.ask("c", request):
            if rng.random() >= loss:
                client.received(message, NOW)
                if isinstance(message, Receipt):
                    answered.update({message.number + n: later(message.id, n) for n in range(message.length)})

    for burst in [*bursts, 0]:
        for _ in range(burst):
            total += 1
            client.publish(Event(subject=str(total), persistent=total % 3 > 0))
        client.open(NOW)
        for _ in range(rng.randrange(6)):
            for request in client.requests(NOW):
                ask(request, 0.2)
        client.lost()
        client.requests(NOW)
        if rng.random() < 0.5:
            accepted += [each.event.subject for each in house.home.outgoing()]
            house.restart()
    client.open(NOW)
    while requests := client.requests(NOW):
        for request in requests:
            ask(request, 0.0)
    accepted += [each.event.subject for each in house.home.outgoing()]
    everything = [str(n) for n in range(1, total + 1)]
    assert [each for each in everything if each in accepted] == accepted
    assert set(everything) - set(accepted) <= {str(n) for n in client.given_up if n % 3 == 0}
    assert answered.keys() | set(client.given_up) == set(range(1, total + 1))


# What is not accepted


def test_only_members_publish_to_a_group() -> None:
    """A group that is configured is closed to others; one that is not is open to all."""
    house = House()
    for client in ("driver", "stranger"):
        house.ask(client, Open(client, 0, 1, lasting=True))
    assert receipts(house.ask("driver", publication(1, Event(group="rovers"))))
    assert "rovers" in refusal(house.ask("stranger", publication(1, Event(group="rovers"))))
    assert receipts(house.ask("stranger", publication(2, Event(group="walkers"))))
    house.home.request("stranger", publication(3, Event(group="rovers")), NOW)
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
    house.ask("c", ANEW)
    assert word in refusal(house.ask("c", publication(1, event)))
    assert not house.home.publications
    assert len(house.memorised.met) == 0


def test_an_event_that_its_client_could_encode_can_be_stamped() -> None:
    """The largest event that a client can publish travels from its home, in a run with others that are too large."""
    house = House()
    house.ask("c", ANEW)
    kind: dict[str, Any] = {"subject": "a", "persistent": True}
    largest = MAX_EVENT_BYTES - STAMP_BYTES - len(Event(**kind).head())
    Event(payload=bytes(largest), **kind).head()
    answers = house.ask("c", a_run(1, [bytes(largest), bytes(largest + 1), b"", bytes(largest + 1)], persistent=True))
    assert [(type(each), each.number) for each in answers] == [  # type: ignore[union-attr]  # both have one
        (Receipt, 1),
        (Refused, 2),
        (Receipt, 3),
        (Refused, 4),
    ]
    assert house.outlet.drops[Reason.TOO_LARGE] == 2
    assert len(house.home.publications[0].bodies[0]) <= MAX_EVENT_BYTES


def test_a_full_outbox_refuses() -> None:
    """While there is no broker, `outbox_limit` events wait and no more; of a run, as many as there is room for."""
    house = House()
    house.ask("c", ANEW)
    run = a_run(1, [b""] * (CONFIG.outbox_limit + 2))
    taken, *refused = house.ask("c", run)
    assert taken == Receipt(1, event_id(HERE, INCARNATION, 1), CONFIG.outbox_limit)
    assert [each.number for each in refused if isinstance(each, Refused)] == [41, 42]
    assert "later" in refusal(house.ask("c", publication(99, Event())))
    assert house.home.waiting == CONFIG.outbox_limit
    house.home.outgoing()
    assert receipts(house.ask("c", publication(100, Event())))


def test_a_full_subscriber_refuses_at_its_publisher() -> None:
    """Under the policy that refuses: only what that subscriber would get, and no event addressed elsewhere."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    house.ask("slow", ANEW, Subscribe(1, Filter(subject="a")), Close())
    house.ask("c", ANEW)
    assert receipts(house.ask("c", publication(1, Event(subject="a"))))
    assert "full" in refusal(house.ask("c", publication(2, Event(subject="a"))))
    assert receipts(house.ask("c", publication(3, Event(subject="b"))))
    assert receipts(house.ask("c", publication(4, Event(subject="a", to=[5]))))


def test_a_request_without_an_open_session_is_refused() -> None:
    """Whatever it is; the client is told to open its session."""
    house = House()
    requests = (publication(1, Event()), Subscribe(1, EVERYTHING), Unsubscribe(1), Acknowledge(1, 1), Ping())
    for request in (*requests, Inquire(1, event_id(1, 1, 1))):
        assert "open" in refusal(house.ask("c", request))
    assert not house.home.publications
    assert len(house.home.interests) == 0


def test_closing_is_confirmed_as_often_as_it_is_asked() -> None:
    """The confirmation may have been lost; it waits for the disk. A session that is not to last is gone with it."""
    house = House()
    for lasting in (True, False):
        house.ask("c", Open("c", 0, 1, lasting=lasting), Subscribe(1, EVERYTHING))
        for _ in range(2):
            house.home.request("c", Close(), NOW)
            answers = house.said(Answer)
            assert [(each.message, each.after_save) for each in answers] == [(Closed(), True)]
        assert (house.home.sessions.get("c") is not None) == lasting
    assert house.home.interests.announced() == ()


# The outbox


def test_real_time_events_do_not_wait_for_a_broker_for_ever() -> None:
    """After `publish_patience` they are lost to everyone, also behind memorised events, which stay."""
    house = House()
    house.ask("c", ANEW)
    for number, kind in enumerate(({"persistent": True}, {}, {"lifetime": 60}, {}), start=1):
        house.ask("c", publication(number, Event(**kind)), now=NOW + number)  # type: ignore[arg-type]  # as above
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
    house.ask("c", ANEW)
    for number in range(1, 9):
        house.ask("c", publication(number, Event()))
    sent = house.home.outgoing()
    for kept in sent[handed:]:
        house.home.requeue(kept)
    for place in order:
        if place <= handed:
            house.home.requeue(sent[place - 1])
    assert [peek_id(each.bodies[0])[-1] for each in house.home.publications] == list(range(1, 9))
    assert house.home.waiting == 8


# Our own clients


@pytest.mark.parametrize("kind", [{}, {"lifetime": 5}, {"persistent": True}], ids=str)
def test_our_own_clients_need_no_broker(kind: dict[str, Any]) -> None:
    """They are served at once, publisher included, unless the event is addressed to other nodes."""
    house = House()
    for client in ("c", "d"):
        house.ask(client, ANEW, Subscribe(1, Filter(subject="a")))
    house.home.request("c", publication(2, Event(subject="a", **kind)), NOW)
    answers = house.said(Answer)
    assert [each.client for each in answers if isinstance(each.message, Deliver)] == ["c", "d"]
    assert delivered(house.ask("c", publication(3, Event(subject="a", to=[5], **kind)))) == []
    assert len(delivered(house.ask("c", publication(4, Event(subject="a", to=[HERE, 5], **kind))))) == 1


def test_a_home_confirms_its_own_events_when_its_clients_have_them() -> None:
    """At once if they do, or if nobody here wants them."""
    house = House()
    house.ask("c", ANEW, Subscribe(1, Filter(subject="a")))
    house.ask(
        "c", publication(2, Event(subject="a", persistent=True)), publication(3, Event(subject="b", persistent=True))
    )
    assert [memory.delivered.indexes() for memory in house.memorised.met] == [[HERE], [HERE]]


def test_an_event_without_room_in_the_table_still_expires_in_the_queue() -> None:
    """Our clients get it from the queue alone, for as long as it lives."""
    house = House(replace(CONFIG, met_events=1))
    house.ask("c", ANEW, Subscribe(1, EVERYTHING), publication(2, Event(persistent=True)), Close())
    house.ask("d", ANEW, publication(1, Event(lifetime=5)))
    session = house.home.sessions.get("c")
    assert session is not None
    assert [each.expiry for each in (*session.flight, *session.queue)] == [inf, NOW + 5]
    assert len(house.memorised.met) == 1


def test_what_a_client_refused_comes_when_it_has_room() -> None:
    """From what the node holds, in its publisher's order, and is then confirmed."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    house.ask("slow", ANEW, Subscribe(1, Filter(subject="a")))
    for n in (1, 2, 3):
        event = Event(subject="a", persistent=True).accepted(id=event_id(5, 1, n), chain=n)
        house.remember(event)
        memory = house.memorised.met.get(event_id(5, 1, n))
        assert memory is not None
        assert house.home.take(incoming_of(memory, "memorised"), NOW) == (n == 1)
    house.drain()
    for n in (2, 3):
        got = delivered(house.ask("slow", Acknowledge(INCARNATION, n - 1)))
        assert [event.id for event in got] == [event_id(5, 1, n)]
        memory = house.memorised.met.get(event_id(5, 1, n))
        assert memory is not None
        assert memory.delivered.indexes() == [HERE]


def test_a_home_does_not_confirm_what_a_client_refuses() -> None:
    """A memorised event that finds a full queue stays with the brokers, and is taken when it comes again to room."""
    house = House(replace(CONFIG, queue_policy=QueuePolicy.REFUSE, session_queue=1))
    house.ask("slow", ANEW, Subscribe(1, Filter(subject="a")), Close())
    first, second = (
        memory_of(made, made.encode(), 0, NodeVector.empty(NODES), NodeVector.empty(NODES), NOW)
        for made in (Event(subject="a", persistent=True).accepted(id=event_id(5, 1, n), chain=n) for n in (1, 2))
    )
    assert house.home.take(incoming_of(first, "memorised"), NOW)
    assert not house.home.take(incoming_of(second, "memorised"), NOW)
    session = house.home.sessions.open("slow", 0, 1, NOW)
    assert session is not None
    house.home.request("slow", Acknowledge(INCARNATION, session.number), NOW)
    assert house.home.take(incoming_of(second, "memorised"), NOW)


def test_a_named_node_without_a_client_for_it_says_so() -> None:
    """A real-time event addressed to us that nobody here wants is lost, in the records too."""
    house = House()
    house.ask("c", ANEW, Subscribe(1, Filter(subject="a")))
    for subject, to in (("a", [HERE]), ("b", [HERE]), ("b", [])):
        event = Event(subject=subject, to=to).accepted(id=event_id(5, 1, len(house.outlet.losses) + 1))
        house.home.take_realtime(Arrival(event, event.encode(), 2), 0, NOW)
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
    house.ask("c", ANEW)
    got = delivered(house.ask("c", Subscribe(1, Filter(subject="a"))))
    assert [event.id for event in got] == [event_id(5, 1, n) for n in (1, 4, 5)]
    confirmed = [memory.event.chain for memory in house.memorised.met if memory.delivered[HERE]]
    assert confirmed == [1, 4, 5]
    assert delivered(house.ask("c", Subscribe(2, Filter(where="subject starts with 'a'")))) == []
    assert [event.id for event in delivered(house.ask("c", Subscribe(3, EVERYTHING)))] == [event_id(5, 1, 2)]


def test_changes_of_interest_are_announced_recorded_and_saved() -> None:
    """One row for each request that changed something, one announcement for each change of the reduced set."""
    house = House()
    house.ask("c", ANEW)
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
    house.ask("c", ANEW, Subscribe(1, Filter(subject="a")))
    assert house.home.replays == [Filter(subject="a")]
    house.restart()
    house.ask("c", ANEW, Subscribe(2, Filter(subject="b")))
    assert house.home.replays == []


def test_a_home_that_was_contradicted_stays_above_the_doubt() -> None:
    """The version it went to is saved."""
    house = House()
    house.ask("c", ANEW, Subscribe(1, Filter(subject="a")))
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
        house.ask(client, Open(client, session.epoch if session else 0, 1, lasting=True))
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
