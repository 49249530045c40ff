"""What clients are promised holds while daemons crash: a real node, real client sessions, and nothing else is reliable.

- The channel between a client and its home loses, repeats and reorders datagrams. Only what opens and closes a session
  is not overtaken: one socket talks to one socket of the same host.
- The disk takes the saves of one `drain` together, in order, and late. Answers that ask for it wait until then. A crash
  leaves exactly what the disk has taken.
- The application takes events when it pleases, and may itself die with what it has not taken.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chapar.event import Delivery, Event, EventId, event_id, later
from chapar.filter import Filter
from chapar.session import ClientSession, Close, Closed, Goodbye, Open, Opened, Receipt, Refused
from chapar.wire.client import datagrams, decode_messages_untrusted, decode_requests_untrusted
from chapard.core.config import Config
from chapard.core.effects import Answer, Loss, Save, Settle
from chapard.core.node import Node
from chapard.core.session import Incoming

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chapar.session import Arrival, Message, Request

HERE, ELSEWHERE = 3, 5
START = 1_700_000_000.0
CONFIG = Config(
    nodes=8, session_window=5, session_window_bytes=400, session_queue=2000, keep_alive=6.0, session_retry=0.7,
    outbox_limit=2000, record=False,
)  # fmt: skip
MTU = 200
"""Small, so that runs are cut and lost in parts."""
BARRIERS = (Open, Close, Opened, Closed, Goodbye)


class Channel:
    """One direction between a client and its home."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._under_way: deque[tuple[bytes, bool]] = deque()
        self.is_good = False

    def send(self, items: Sequence[Request | Message]) -> None:
        for item in items:
            is_barrier = isinstance(item, BARRIERS)
            for datagram in datagrams([item], MTU):
                if self.is_good or self._rng.random() < 0.8:
                    self._under_way.append((datagram, is_barrier))
                    if not self.is_good and not is_barrier and self._rng.random() < 0.2:
                        self._under_way.append((datagram, False))

    def receive(self) -> bytes | None:
        """The next datagram: the oldest, or one that overtakes it."""
        if not self._under_way:
            return None
        place = 0
        if not self.is_good:
            barrier = next((i for i, (_, is_barrier) in enumerate(self._under_way) if is_barrier), inf)
            place = int(min(self._rng.randrange(min(4, len(self._under_way))), max(barrier - 1, 0)))
        datagram, _ = self._under_way[place]
        del self._under_way[place]
        return datagram

    def clear(self) -> None:
        self._under_way.clear()


class Disk:
    """Takes batches in order, when told to; what waits for it waits here."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self._batches: deque[list[Save]] = deque()
        self._written = 0
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def write(self, saves: list[Save]) -> None:
        if saves:
            self._batches.append(saves)

    def when_written(self, then: Callable[[], None]) -> None:
        """Do this when all that was handed over is written."""
        self._waiting.append((self._written + len(self._batches), then))

    def flush(self, batches: int) -> None:
        for _ in range(min(batches, len(self._batches))):
            for key, value in self._batches.popleft():
                if value is None:
                    self.content.pop(key, None)
                else:
                    self.content[key] = value
            self._written += 1
        while self._waiting and self._waiting[0][0] <= self._written:
            self._waiting.popleft()[1]()

    def crash(self) -> None:
        self._batches.clear()
        self._waiting.clear()


@dataclass
class App:
    """An application with its session, and what it knows."""

    name: str
    rng: Random
    session: ClientSession = field(init=False)
    life: int = 0
    inbox: deque[tuple[int, int, Event]] = field(default_factory=deque)
    arrived: list[Event] = field(default_factory=list)
    """In the life of this application."""
    taken: list[Event] = field(default_factory=list)
    """In all of its lives."""
    taken_before: list[Event] = field(default_factory=list)
    receipts: dict[int, EventId] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.session = ClientSession(self.name)
        self.requests, self.messages = Channel(self.rng), Channel(self.rng)

    def receive(self, message: Message, now: float) -> None:
        arrivals: list[Arrival] = self.session.received(message, now)
        if isinstance(message, Opened) and self.session.is_on:
            self.life = message.incarnation
        elif isinstance(message, Receipt):
            for place in range(message.length):
                known = self.receipts.setdefault(message.number + place, later(message.id, place))
                assert known == later(message.id, place), "one publication, one id"
        elif isinstance(message, Refused):
            self.refused[message.number] = message.reason
        self.inbox += ((self.life, number, event) for number, event in arrivals)
        self.arrived += [event for _, event in arrivals]
        self.given_up |= set(self.session.given_up)
        self.session.given_up.clear()

    def take(self) -> None:
        """Take the oldest event, or by chance another."""
        if self.inbox:
            place = 0 if self.rng.random() < 0.8 else self.rng.randrange(len(self.inbox))
            life, number, event = self.inbox[place]
            del self.inbox[place]
            if life == self.life:
                self.session.consumed(number)
            elif event.id is not None:
                self.session.consumed_since(event.id)
            self.taken.append(event)

    def die(self) -> None:
        """Start anew under the same name; what was not taken is gone from here."""
        self.session = ClientSession(self.name)
        self.inbox.clear()
        self.arrived, self.taken_before = [], list(self.taken)
        self.life = 0
        self.requests.clear()  # another socket
        self.messages.clear()


class World:
    """A node with a publisher and a subscriber, and a broker elsewhere that serves it memorised events."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = START
        self.disk = Disk()
        self.incarnation = 0
        self.start()
        self.publisher, self.subscriber = App("p", self.rng), App("s", self.rng)
        self.apps = {app.name: app for app in (self.publisher, self.subscriber)}
        self.published: dict[int, Event] = {}
        self.served: dict[EventId, Incoming] = {}
        self.confirmed: set[EventId] = set()
        self.lost: list[Loss] = []
        self.subscriber.session.subscribe(Filter(subject="a"))
        for app in self.apps.values():
            app.session.open(self.now)
        self.settle()

    def start(self) -> None:
        self.incarnation += 1
        saved = self.disk.content or None
        self.node = Node(HERE, self.incarnation, CONFIG, Random(self.incarnation), self.now, saved)

    # Steps

    def publish(self, *, lasting: bool) -> None:
        text = str(len(self.published) + 1).encode()
        event = Event(subject="a", payload=text * self.rng.choice((1, 1, 40)), persistent=lasting)
        if self.rng.random() < 0.2:
            self.publisher.session.ping()
        if self.rng.random() < 0.1:
            self.publisher.session.inquire(event_id(HERE, 1, 1))
        self.published[self.publisher.session.publish(event)] = event

    def serve(self) -> None:
        """The broker serves one event more, and again what was not confirmed."""
        id_ = event_id(ELSEWHERE, 1, len(self.served) + 1)
        event = Event(subject="a", persistent=True).accepted(id=id_, chain=len(self.served) + 1)
        self.served[id_] = Incoming(event, (event.encode(),), inf, 1, "memorised")
        self.serve_again()

    def serve_again(self) -> None:
        for id_, incoming in self.served.items():
            if id_ not in self.confirmed and self.node.home.take(incoming, self.now):
                self.drain()
                self.disk.when_written(lambda id_=id_: self.confirmed.add(id_))  # type: ignore[misc]  # binds now

    def exchange(self, rounds: int) -> None:
        """Carry up to so many datagrams each way, until nothing moves."""
        for _ in range(rounds):
            moved = [self._exchange(app) for app in self.apps.values()]
            if not any(moved):
                return

    def _exchange(self, app: App) -> bool:
        app.requests.send(app.session.requests(self.now))
        asked = app.requests.receive()
        if asked is not None:
            for request in decode_requests_untrusted(asked):
                self.node.client_request(app.name, request, self.now)
            self.drain()
        told = app.messages.receive()
        if told is not None:
            for message in decode_messages_untrusted(told):
                app.receive(message, self.now)
        return asked is not None or told is not None

    def drain(self) -> None:
        effects = self.node.drain(self.now)
        self.disk.write([effect for effect in effects if isinstance(effect, Save)])
        for effect in effects:
            if isinstance(effect, Answer):
                app, message = self.apps[effect.client], effect.message
                if effect.after_save:
                    self.disk.when_written(lambda app=app, message=message: app.messages.send([message]))  # type: ignore[misc]  # binds now
                else:
                    app.messages.send([message])
            elif isinstance(effect, Settle):
                self.disk.when_written(partial(self._saved, effect.number))
            elif isinstance(effect, Loss):
                self.lost.append(effect)
        self.disk.flush(0)

    def _saved(self, number: int) -> None:
        self.node.saved(number, self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.node.tick(self.now)
        self.drain()
        for app in self.apps.values():
            app.session.tick(self.now)

    def crash(self) -> None:
        self.disk.crash()
        self.start()

    def step(self, kind: str) -> None:
        match kind:
            case "publish":
                self.publish(lasting=False)
            case "remember":
                self.publish(lasting=True)
            case "serve":
                self.serve()
            case "exchange":
                self.exchange(self.rng.randrange(1, 12))
            case "wait":
                self.wait(self.rng.choice((0.1, 0.5, 1.0, 1.0, 7.0)))
            case "flush":
                self.disk.flush(self.rng.randrange(1, 8))
            case "take":
                for _ in range(self.rng.randrange(1, 6)):
                    self.subscriber.take()
            case "crash":
                self.crash()
            case "die":
                self.subscriber.die()
                self.subscriber.session.subscribe(Filter(subject="a"))
                self.subscriber.session.open(self.now)
            case "close":
                self.subscriber.session.close(self.now)
            case "open":
                self.subscriber.session.open(self.now)

    def settle(self) -> None:
        """From here on nothing fails: whoever has something to do comes to an end with it."""
        for app in self.apps.values():
            app.requests.is_good = app.messages.is_good = True
            app.session.open(self.now)
        for _ in range(60):
            self.exchange(1000)
            self.disk.flush(1000)
            self.exchange(1000)
            self.serve_again()
            while self.subscriber.inbox:
                self.subscriber.take()
            self.exchange(1000)
            if self.is_settled():
                break
            self.wait(0.5)
        for app in self.apps.values():
            app.requests.is_good = app.messages.is_good = False

    def is_settled(self) -> bool:
        session = self.node.home.sessions.get("s")
        return (
            session is not None
            and not session.events
            and all(app.session.is_on and not app.session.backlog for app in self.apps.values())
            and self.confirmed == self.served.keys()
        )


STEPS = [
    *(["publish"] * 3), *(["remember"] * 4), *(["serve"] * 2), *(["exchange"] * 12), *(["wait"] * 5),
    *(["flush"] * 5), *(["take"] * 5), *(["crash"] * 2), "die", "close", "open",
]  # fmt: skip


def check(world: World) -> None:
    publisher, subscriber = world.publisher, world.subscriber
    assert publisher.session.is_on
    assert subscriber.session.is_on
    # Every publication has one answer; only real-time ones are given up.
    assert publisher.session.backlog == 0
    assert not publisher.refused.keys() & world.published.keys() - publisher.given_up
    for number, event in world.published.items():
        assert number in publisher.receipts or (number in publisher.given_up and event.delivery is Delivery.REALTIME)
    # What is memorised was taken by the subscriber, whatever died meanwhile; nothing was lost, nothing renamed.
    ids = {event.id for event in subscriber.taken}
    remembered = {number for number, event in world.published.items() if event.delivery is not Delivery.REALTIME}
    assert {publisher.receipts[number] for number in remembered} <= ids
    assert world.served.keys() <= ids
    assert not world.lost
    # One publication is one event.
    copies = Counter(event.payload for event in {event.id: event for event in subscriber.taken}.values())
    assert all(copies[event.payload] <= 1 for event in world.published.values())


def check_arrivals(app: App) -> None:
    """To one life of an application each event comes once, and each publisher's in order.

    What its predecessor took may come again, late: the crash also undid that it was acknowledged.
    """
    ids = [event.id for event in app.arrived]
    assert len(ids) == len(set(ids))
    old = {event.id for event in app.taken_before}
    for origin in (HERE, ELSEWHERE):
        mine = [event.encode() for event in app.arrived if event.sender == origin and event.id not in old]
        assert mine == sorted(mine)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 200).flatmap(lambda count: st.lists(st.sampled_from(STEPS), min_size=count, max_size=count)),
    st.integers(0, 2**32),
)
def test_no_acknowledged_event_is_lost_and_none_comes_twice(steps: list[str], seed: int) -> None:
    """Through crashes that keep only what was durable: what a receipt was seen for is taken by the subscriber, once per
    life of its application and in its publisher's order; a publication never becomes two events."""
    world = World(seed)
    for kind in steps:
        if kind == "die":
            check_arrivals(world.subscriber)
        world.step(kind)
    world.settle()
    check_arrivals(world.subscriber)
    check(world)
