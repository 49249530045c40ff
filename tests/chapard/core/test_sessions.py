"""Sessions: in order, once, bounded, whatever the client and the daemon do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Event, EventId, event_id, origin_of, peek_id
from chapar.filter import Filter
from chapar.session import (
    PUBLISH_WINDOW,
    Acknowledge,
    ClientSession,
    Close,
    Deliver,
    Goodbye,
    Open,
    Opened,
    Receipt,
    Refused,
    Subscribe,
)
from chapard.core.config import Config, QueuePolicy
from chapard.core.effects import Answer, DeliveryRow, Drop, Effect, Loss, Reason, Save, SessionRow
from chapard.core.outlet import Outlet
from chapard.core.sessions import (
    MAX_CLIENT_NAME,
    NUMBER_BLOCK,
    RECEIPTS_KEPT,
    REFUSED_RETRIES,
    TAKEN_KEPT,
    Incoming,
    Session,
    Sessions,
)
from chapard.core.store import Store

if TYPE_CHECKING:
    from chapar.session import Message

HERE = 3
NOW = 1000.0
CONFIG = Config(nodes=8, session_window=3, session_queue=6, session_limit=4)
EffectT = TypeVar("EffectT", bound=Effect)
Act = tuple[str, int, int]


def incoming(
    sequence: int, origin: int = 0, *, lifetime: float = 0, persistent: bool = False, now: float = NOW
) -> Incoming:
    """Event `sequence` of an origin as it reaches the home, real-time unless it says otherwise."""
    made = Event(subject="a", lifetime=lifetime, persistent=persistent).accepted(id=event_id(origin, 1, sequence))
    return Incoming(made, made.encode(), now + lifetime if lifetime else inf, 2, "realtime")


class Desk:
    """A home's sessions with their disk, and everything they ever said."""

    def __init__(self, config: Config = CONFIG, seed: int = 0) -> None:
        self.config = config
        self.disk: dict[str, bytes] = {}
        self.effects: list[Effect] = []
        self._rng = Random(seed)
        self._start(NOW)

    def _start(self, now: float) -> None:
        self.outlet = Outlet()
        self.sessions = Sessions(HERE, self.config, self.outlet, Store(self.outlet), self._rng)
        self.sessions.restore(self.disk, now)

    def restart(self, now: float) -> None:
        self.drain()
        self._start(now)

    def wipe(self, now: float) -> None:
        """Crash and lose the disk."""
        self.drain()
        self.disk.clear()
        self._start(now)

    def drain(self) -> list[Effect]:
        drained = self.outlet.drain()
        for effect in drained:
            if isinstance(effect, Save):
                if effect.value is None:
                    self.disk.pop(effect.key, None)
                else:
                    self.disk[effect.key] = effect.value
        self.effects += drained
        return drained

    def said(self, kind: type[EffectT]) -> list[EffectT]:
        """The effects of one kind since the last look."""
        return [effect for effect in self.drain() if isinstance(effect, kind)]

    def messages(self) -> list[Message]:
        return [answer.message for answer in self.said(Answer)]

    def open(self, client: str = "c", epoch: int = 0, now: float = NOW) -> Session:
        session = self.sessions.open(client, epoch, now)
        assert session is not None
        return session

    def subscribed(self, client: str = "c") -> Session:
        """A client that is ON and wants everything with subject a."""
        session = self.open(client)
        self.sessions.subscribe(session, 1, Filter(subject="a"))
        self.drain()
        return session


def deliveries(messages: list[Message]) -> list[Deliver]:
    return [message for message in messages if isinstance(message, Deliver)]


def numbers(messages: list[Message]) -> list[tuple[int, int]]:
    return [(delivery.after, delivery.number) for delivery in deliveries(messages)]


# Against a model


@dataclass
class Model:
    """What a session must do, told plainly."""

    config: Config
    queue: list[Incoming] = field(default_factory=list)
    left: int = 0
    is_on: bool = False
    taken: set[EventId] = field(default_factory=set)
    latest: dict[int, EventId] = field(default_factory=dict)
    lost: Counter[tuple[EventId, Reason]] = field(default_factory=Counter)
    refused: dict[EventId, float] = field(default_factory=dict)

    def give(self, item: Incoming, now: float) -> bool:
        """Whether the home may confirm it."""
        if item.is_memorised:
            if item.event_id in self.taken:
                return True
        elif item.event_id <= self.latest.get(origin_of(item.event_id), b""):
            if item.event_id != self.latest[origin_of(item.event_id)]:
                self.lost[item.event_id, Reason.LATE] += 1
            return True
        if item.is_memorised and self._goes_behind(item, now):
            return False
        if len(self.queue) >= self.config.session_queue:
            self._drop([each for each in self.queue[self.left :] if each.expiry <= now], Reason.EXPIRED)
        if len(self.queue) >= self.config.session_queue:
            policy = self.config.queue_policy
            if policy is QueuePolicy.REFUSE and item.is_memorised:
                self._refuse(item, now)
                return False
            if policy is QueuePolicy.OLDEST and self.left < len(self.queue):
                self._drop([self.queue[self.left]], Reason.QUEUE_FULL)
            else:
                self.lost[item.event_id, Reason.QUEUE_FULL] += 1
                self._remember(item)
                return True
        self._remember(item)
        self.queue.append(item)
        self.pump(now)
        return True

    def _refuse(self, item: Incoming, now: float) -> None:
        self.refused[item.event_id] = now + REFUSED_RETRIES * self.config.serve_retry

    def _goes_behind(self, item: Incoming, now: float) -> bool:
        """What was refused comes again, and before what its publisher said later."""
        waiting = {each for each, until in self.refused.items() if until > now and each < item.event_id}
        if any(origin_of(each) == origin_of(item.event_id) for each in waiting):
            self._refuse(item, now)
            return True
        self.refused.pop(item.event_id, None)
        return False

    def _remember(self, item: Incoming) -> None:
        if item.is_memorised:
            self.taken.add(item.event_id)
        else:
            self.latest[origin_of(item.event_id)] = item.event_id

    def _drop(self, items: list[Incoming], reason: Reason) -> None:
        for item in items:
            self.queue.remove(item)
            self.lost[item.event_id, reason] += 1

    def pump(self, now: float) -> None:
        while self.is_on and self.left < min(len(self.queue), self.config.session_window):
            if self.queue[self.left].expiry <= now:
                self._drop([self.queue[self.left]], Reason.EXPIRED)
            else:
                self.left += 1


@dataclass
class Client:
    """What one client has got, from a home that may repeat itself but never contradict itself."""

    bodies: dict[int, bytes] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    acknowledged: int = 0

    def take(self, desk: Desk) -> None:
        for delivery in deliveries(desk.messages()):
            assert self.bodies.setdefault(delivery.number, delivery.body) == delivery.body
            if delivery.number not in self.order:
                assert delivery.number > max(self.order, default=0)
                self.order.append(delivery.number)


def runs(of: st.SearchStrategy[Act], limit: int) -> st.SearchStrategy[list[Act]]:
    """Lists of any length up to `limit`, long ones as often as short ones."""
    return st.integers(0, limit).flatmap(lambda length: st.lists(of, min_size=length, max_size=length))


act = st.one_of(
    st.tuples(st.just("realtime"), st.integers(0, 2), st.integers(1, 12)),
    st.tuples(st.just("lifetime"), st.integers(0, 2), st.integers(20, 30)),
    st.tuples(st.just("persistent"), st.integers(0, 2), st.integers(40, 50)),
    st.tuples(st.just("ack"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("on"), st.just(0), st.just(0)),
    st.tuples(st.just("off"), st.just(0), st.just(0)),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 8), st.just(0)),
)


@settings(max_examples=250, deadline=None)
@given(runs(act, 60), st.sampled_from(QueuePolicy))
def test_a_session_is_what_the_model_says(acts: list[Act], policy: QueuePolicy) -> None:
    """Queue, window, policy, order and losses, through ON, OFF and restarts; no number is ever used twice."""
    config = replace(CONFIG, queue_policy=policy, keep_alive=1e9)
    desk, model, client = Desk(config), Model(config), Client()
    desk.subscribed()
    model.is_on = True
    now = NOW
    for kind, one, two in acts:
        session = desk.sessions.get("c")
        assert session is not None
        if kind in ("realtime", "lifetime", "persistent"):
            item = incoming(two, one, lifetime=5 if kind == "lifetime" else 0, persistent=kind == "persistent", now=now)
            assert desk.sessions.take(item, now) == model.give(item, now)
        elif kind == "ack" and model.is_on and client.order:
            client.acknowledged = max(client.acknowledged, client.order[-1 - min(one, len(client.order) - 1)])
            taken = sum(1 for number in client.order if number <= client.acknowledged)
            model.queue, model.left = acknowledged(model, client, taken)
            desk.sessions.acknowledge(session, Acknowledge(session.epoch, client.acknowledged), now)
            model.pump(now)
        elif kind == "on":
            desk.sessions.open("c", session.epoch, now)
            model.is_on = True
            model.pump(now)
        elif kind == "off":
            desk.sessions.close("c", now)
            model.is_on = False
        elif kind == "restart":
            client.take(desk)
            desk.restart(now)
            model.is_on, model.left = False, 0
            model.refused.clear()
        elif kind == "wait":
            now += one
            desk.sessions.tick(now)
        client.take(desk)
        compare(desk, model)
    catch_up(desk, model, client, now)


def acknowledged(model: Model, client: Client, taken: int) -> tuple[list[Incoming], int]:
    """The queue without what the client has: the events among those that left whose deliveries it confirmed."""
    done = {client.bodies[number] for number in client.order[:taken]}
    count = 0
    while count < model.left and model.queue[count].body in done:
        count += 1
    return model.queue[count:], model.left - count


def compare(desk: Desk, model: Model) -> None:
    session = desk.sessions.get("c")
    assert session is not None
    assert [each.incoming.event_id for each in session.queue] == [each.event_id for each in model.queue]
    assert session.in_flight == model.left <= desk.config.session_window
    assert len(session.queue) <= desk.config.session_queue
    losses = [effect for effect in desk.effects if isinstance(effect, Loss)]
    assert Counter((loss.event_id, loss.reason) for loss in losses) == model.lost
    assert all(loss.client == "c" and loss.homes.indexes() == [HERE] for loss in losses)


def catch_up(desk: Desk, model: Model, client: Client, now: float) -> None:
    """A client that stays ON and confirms gets all that lives, in order; then nothing is left, in memory or on disk."""
    session = desk.open(epoch=0, now=now)
    model.is_on = True
    model.pump(now)
    for _ in range(2 * desk.config.session_queue):
        client.take(desk)
        desk.sessions.acknowledge(session, Acknowledge(session.epoch, max(client.order, default=0)), now)
    client.take(desk)
    got = [peek_id(client.bodies[number]) for number in client.order]
    assert not session.queue
    assert session.retry_at is None
    assert {each.event_id for each in model.queue if each.expiry > now} <= set(got)
    assert not any(key.startswith("queue/") for key in desk.disk)
    assert len(got) == len(set(got))
    for origin in range(3):
        for low, high in ((1, 12), (20, 50)):
            of_kind = [each for each in got if origin_of(each) == origin and low <= each[-1] <= high]
            assert low >= 20 or of_kind == sorted(of_kind)


# Both ends together


step = st.one_of(
    st.tuples(st.just("event"), st.integers(0, 2), st.integers(1, 15)),
    st.tuples(st.just("kept"), st.integers(0, 2), st.integers(30, 40)),
    st.tuples(st.sampled_from(["connect", "connect", "break", "restart", "wipe", "quiet"]), st.just(0), st.just(0)),
)


class Wire:
    """A client's machine and a home's sessions, joined by a connection that breaks and loses what is on it."""

    def __init__(self, seed: int) -> None:
        self.desk = Desk(replace(CONFIG, session_queue=50, keep_alive=1e9), seed)
        self.client = ClientSession()
        self.client.subscribe(Filter(subject="a"))
        self.rng = Random(seed)
        self.got: list[EventId] = []
        self.now = NOW
        self.up = False

    def connect(self) -> None:
        self.client.open()
        self.up = True

    def cut(self) -> None:
        self.up = False
        self.client.lost()
        self.desk.sessions.close("c", self.now)

    def exchange(self, loss: float = 0.0) -> None:
        """Carry messages both ways until both ends are silent; deliveries and their confirmations may get lost."""
        for _ in range(50):
            requests = self.client.requests()
            for request in requests if self.up else ():
                self._ask(request, loss)
            messages = self.desk.messages()
            for message in messages if self.up else ():
                if isinstance(message, Deliver) and self.rng.random() < loss:
                    continue
                self.got += [peek_id(event.encode()) for event in self.client.received(message)]
            if not requests and not messages:
                return

    def _ask(self, request: object, loss: float) -> None:
        session = self.desk.sessions.get("c")
        match request:
            case Open(epoch):
                self.desk.sessions.open("c", epoch, self.now)
            case Subscribe(number, filter_) if session is not None:
                self.desk.sessions.subscribe(session, number, filter_)
            case Acknowledge() if session is not None and self.rng.random() >= loss:
                self.desk.sessions.acknowledge(session, request, self.now)
            case Close():
                self.desk.sessions.close("c", self.now)


@settings(max_examples=150, deadline=None)
@given(runs(step, 40), st.sampled_from([0.0, 0.4]), st.integers(0, 2**32))
def test_nothing_reaches_the_application_twice(steps: list[Act], loss: float, seed: int) -> None:
    """Breaks, restarts, and a home that lost its disk and is given everything again: once each, and all in the end."""
    wire = Wire(seed)
    kept: dict[EventId, Incoming] = {}
    given_: set[EventId] = set()
    for kind, origin, sequence in steps:
        wire.now += 0.5
        if kind in ("event", "kept"):
            item = incoming(sequence, origin, persistent=kind == "kept")
            if kind == "kept":
                kept[item.event_id] = item
            wire.desk.sessions.take(item, wire.now)
            given_.add(item.event_id)
        elif kind == "connect":
            wire.connect()
        elif kind == "break":
            wire.cut()
        elif kind in ("restart", "wipe"):
            wire.cut()
            getattr(wire.desk, kind)(wire.now)
        wire.desk.sessions.tick(wire.now)
        if kind != "quiet":
            wire.exchange(loss)
    wire.connect()
    wire.exchange()
    for item in kept.values():
        wire.desk.sessions.take(item, wire.now)
    for _ in range(4):
        wire.now += CONFIG.session_retry
        wire.desk.sessions.tick(wire.now)
        wire.exchange()
    assert len(wire.got) == len(set(wire.got))
    assert set(kept) <= set(wire.got) <= given_
    session = wire.desk.sessions.get("c")
    assert session is not None
    assert not session.queue


# Coming and going


def test_a_session_outlives_its_connections_and_the_daemon() -> None:
    """Subscriptions stand and the queue fills while the client is OFF; the same session goes on when it is ON again."""
    desk = Desk()
    epoch = desk.subscribed().epoch
    desk.sessions.close("c", NOW)
    desk.sessions.take(incoming(1), NOW)
    desk.restart(NOW)
    desk.sessions.take(incoming(2), NOW)
    assert desk.messages() == []
    desk.open(epoch=epoch)
    opened, *rest = desk.messages()
    assert opened == Opened(epoch, resumed=True, published=0, subscriptions=(1,))
    assert [peek_id(each.body) for each in deliveries(rest)] == [event_id(0, 1, 1), event_id(0, 1, 2)]


def test_silence_for_the_keep_alive_time_means_off() -> None:
    """Any request of the client puts it off; a client that is OFF is told to open its session again."""
    desk = Desk()
    desk.subscribed()
    assert desk.sessions.next_deadline() == NOW + CONFIG.keep_alive
    assert desk.sessions.heard("c", NOW + 1) is not None
    desk.sessions.tick(NOW + CONFIG.keep_alive)
    assert desk.said(SessionRow) == []
    desk.sessions.tick(NOW + 1 + CONFIG.keep_alive)
    assert desk.said(SessionRow) == [SessionRow("c", "off", 0)]
    assert desk.sessions.next_deadline() is None
    desk.sessions.take(incoming(1), NOW)
    assert desk.sessions.heard("c", NOW + 50) is None
    (refused,) = desk.messages()
    assert isinstance(refused, Refused)
    assert refused.number == 0


def test_on_and_off_are_recorded_once() -> None:
    """Rows tell the changes, with what waits then; opening twice or closing twice is no change."""
    desk = Desk()
    desk.open()
    desk.open()
    desk.sessions.close("c", NOW)
    desk.sessions.close("c", NOW)
    desk.sessions.close("stranger", NOW)
    assert desk.said(SessionRow) == [SessionRow("c", "on", 0), SessionRow("c", "off", 0)]


def test_a_daemon_that_stops_says_goodbye_to_whoever_is_on() -> None:
    """Clients that are OFF hear nothing; all are OFF afterwards."""
    desk = Desk()
    desk.open("on")
    desk.open("off")
    desk.sessions.close("off", NOW)
    desk.drain()
    desk.sessions.goodbye()
    assert [answer for answer in desk.said(Answer) if isinstance(answer.message, Goodbye)] == [
        Answer("on", Goodbye(), after_save=False)
    ]
    assert not any(session.is_on for session in desk.sessions.all())
    assert desk.sessions.next_deadline() is None


@pytest.mark.parametrize("name", ["", "a/b", "x" * (MAX_CLIENT_NAME + 1), "a\nb", "\ud800"])
def test_a_name_that_cannot_be_a_key_is_refused(name: str) -> None:
    """Names are parts of keys on the disk; the client is told what a name is."""
    desk = Desk()
    assert desk.sessions.open(name, 0, NOW) is None
    (refused,) = desk.messages()
    assert isinstance(refused, Refused)
    assert "name" in refused.reason
    assert len(desk.sessions) == 0


def test_sessions_are_bounded() -> None:
    """One more client than `session_limit` is refused and counted; those who have a session are served."""
    desk = Desk()
    for n in range(4):
        desk.open(f"c{n}")
    desk.drain()
    assert desk.sessions.open("more", 0, NOW) is None
    drops = desk.said(Drop)
    assert [(drop.reason, drop.client) for drop in drops] == [(Reason.SESSION_LIMIT, "more")]
    assert desk.sessions.open("c2", 0, NOW) is not None
    assert len(desk.sessions) == 4


# Deliveries


def test_a_window_of_deliveries_is_repeated_until_confirmed() -> None:
    """Not more than the window leaves; all of it comes again after `session_retry`; a confirmation lets more out."""
    desk = Desk()
    session = desk.subscribed()
    for sequence in range(1, 6):
        desk.sessions.take(incoming(sequence), NOW)
    window = [(0, 1), (1, 2), (2, 3)]
    assert numbers(desk.messages()) == window
    desk.sessions.tick(NOW + CONFIG.session_retry - 0.1)
    assert desk.messages() == []
    for repetition in (1, 2, 3):
        desk.sessions.tick(NOW + repetition * CONFIG.session_retry)
        assert numbers(desk.messages()) == window
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 2), NOW + 3.5)
    assert numbers(desk.messages()) == [(3, 4), (4, 5)]
    assert desk.sessions.next_deadline() == NOW + 3.5 + CONFIG.session_retry


def test_new_events_do_not_put_off_the_repetition() -> None:
    """A client that missed a delivery gets it again in time, however busy its queue is."""
    desk = Desk(replace(CONFIG, session_queue=100))
    desk.subscribed()
    now = NOW
    repeated = 0
    for sequence in range(1, 40):
        desk.sessions.take(incoming(sequence), now)
        desk.sessions.tick(now)
        repeated += numbers(desk.messages()).count((0, 1))
        now += CONFIG.session_retry / 4
    assert repeated >= 9


def test_nothing_is_repeated_to_a_client_that_is_off() -> None:
    """What was on its way when it went OFF waits, without a timer, and comes again when it is ON."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(1), NOW)
    desk.sessions.close("c", NOW)
    desk.drain()
    assert desk.sessions.next_deadline() is None
    desk.sessions.tick(NOW + 10)
    assert desk.messages() == []
    desk.sessions.open("c", session.epoch, NOW + 20)
    assert numbers(desk.messages()) == [(0, 1)]
    assert desk.sessions.next_deadline() == NOW + 20 + CONFIG.session_retry


def test_a_confirmation_of_another_epoch_is_ignored() -> None:
    """It is about a numbering that is no more."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(1), NOW)
    desk.sessions.acknowledge(session, Acknowledge(session.epoch + 1, 1), NOW)
    assert len(session.queue) == 1
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 1), NOW)
    assert len(session.queue) == 0


def test_a_delivery_follows_the_one_before_it_that_is_still_to_come() -> None:
    """What was dropped, expired or confirmed leaves no gap that a client would wait for, before and after a restart."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.close("c", NOW)
    lifetimes = [0, 5, 0, 5, 0, 5, 0, 0]
    for sequence, lifetime in enumerate(lifetimes, start=1):
        desk.sessions.take(incoming(sequence, lifetime=lifetime), NOW)
    assert [each.number for each in session.queue] == [3, 4, 5, 6, 7, 8]
    for epoch in (session.epoch, 0):
        desk.restart(NOW + 10)
        desk.sessions.open("c", epoch, NOW + 10)
        assert numbers(desk.messages()) == [(0, 3), (3, 5), (5, 7)]


def test_a_client_without_memory_gets_what_waits() -> None:
    """An application that starts anew under the same name is not left waiting for what its predecessor confirmed."""
    desk = Desk()
    session = desk.subscribed()
    for sequence in (1, 2):
        desk.sessions.take(incoming(sequence), NOW)
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 1), NOW)
    desk.drain()
    client = ClientSession()
    client.open()
    desk.sessions.open("c", 0, NOW)
    events = [event for message in desk.messages() for event in client.received(message)]
    assert [event.id for event in events] == [event_id(0, 1, 2)]


def test_events_go_to_every_client_that_wants_them() -> None:
    """Each session has its own queue and numbers; several matching subscriptions of one client are one delivery."""
    desk = Desk()
    for name in ("one", "two"):
        desk.subscribed(name)
    session = desk.open("one")
    desk.sessions.subscribe(session, 2, Filter())
    desk.open("none")
    desk.drain()
    assert desk.sessions.is_wanted(incoming(1).event)
    assert desk.sessions.take(incoming(1), NOW)
    answers = desk.said(Answer)
    assert [each.client for each in answers] == ["one", "two"]
    assert numbers([each.message for each in answers]) == [(0, 1), (0, 1)]
    assert desk.sessions.is_wanted(Event(subject="b"))
    desk.sessions.unsubscribe(session, 2)
    assert not desk.sessions.is_wanted(Event(subject="b"))


def test_memorised_deliveries_wait_for_the_disk() -> None:
    """What must not be lost leaves after it is saved; a real-time event does not wait."""
    desk = Desk()
    desk.subscribed()
    desk.sessions.take(incoming(1), NOW)
    desk.sessions.take(incoming(2, persistent=True), NOW)
    assert [answer.after_save for answer in desk.said(Answer)] == [False, True]


def test_a_delivery_is_recorded_with_its_waiting_time() -> None:
    """One row, when it first leaves: from where, over how many hops, and how long it waited here."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.close("c", NOW)
    desk.sessions.take(incoming(1, origin=5), NOW)
    desk.sessions.open("c", session.epoch, NOW + 2.5)
    desk.sessions.tick(NOW + 10)
    rows = [effect for effect in desk.drain() if isinstance(effect, DeliveryRow)]
    assert rows == [DeliveryRow("c", event_id(5, 1, 1), 5, 2, "realtime", 2_500_000)]


def test_a_real_time_event_that_comes_again_is_no_loss() -> None:
    """The same once more is a duplicate; one that a later one overtook is late, and lost."""
    desk = Desk()
    desk.subscribed()
    for sequence in (2, 2, 1):
        assert desk.sessions.take(incoming(sequence), NOW)
    drained = desk.drain()
    drops = [effect for effect in drained if isinstance(effect, Drop)]
    losses = [effect for effect in drained if isinstance(effect, Loss)]
    assert [(drop.reason, drop.event_id) for drop in drops] == [(Reason.DUPLICATE, event_id(0, 1, 2))]
    assert [(loss.reason, loss.event_id) for loss in losses] == [(Reason.LATE, event_id(0, 1, 1))]


# A full queue


def full(policy: QueuePolicy) -> Desk:
    """A client that is OFF and whose queue is full."""
    desk = Desk(replace(CONFIG, queue_policy=policy))
    desk.subscribed()
    desk.sessions.close("c", NOW)
    for sequence in range(1, 7):
        desk.sessions.take(incoming(sequence), NOW)
    desk.drain()
    return desk


def test_refusal_keeps_a_memorised_event_with_the_brokers() -> None:
    """It is not confirmed, is no loss, and is taken when it is offered again and there is room."""
    desk = full(QueuePolicy.REFUSE)
    assert desk.sessions.is_blocked_for(Event(subject="a"), NOW)
    assert not desk.sessions.is_blocked_for(Event(subject="b"), NOW)
    late = incoming(1, 1, persistent=True)
    assert not desk.sessions.take(late, NOW)
    drained = desk.drain()
    assert not any(isinstance(effect, Loss) for effect in drained)
    drops = [effect for effect in drained if isinstance(effect, Drop)]
    assert [(drop.reason, drop.client, drop.event_id) for drop in drops] == [(Reason.QUEUE_FULL, "c", None)]
    session = desk.open()
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 3), NOW)
    assert not desk.sessions.is_blocked_for(Event(subject="a"), NOW)
    assert desk.sessions.take(late, NOW)
    assert session.queue[-1].incoming.event_id == late.event_id


def test_a_refused_event_keeps_its_place_for_a_while() -> None:
    """Later ones of its publisher wait for it, others do not; when nobody serves it again, they go on without it."""
    desk = full(QueuePolicy.REFUSE)
    one, two, three = (incoming(n, 1, persistent=True) for n in (1, 2, 3))
    assert not desk.sessions.take(one, NOW)
    session = desk.open()
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 3), NOW)
    assert not desk.sessions.take(two, NOW)
    assert desk.sessions.take(incoming(2, 2, persistent=True), NOW)
    assert desk.sessions.take(one, NOW)
    assert desk.sessions.take(two, NOW)
    assert not desk.sessions.take(three, NOW)
    desk.drain()
    patience = REFUSED_RETRIES * CONFIG.serve_retry
    desk.sessions.acknowledge(session, Acknowledge(session.epoch, 6), NOW)
    four = incoming(4, 1, persistent=True)
    assert not desk.sessions.take(four, NOW + patience - 1)
    assert desk.sessions.take(four, NOW + 2 * patience)


def test_refusal_loses_real_time_events_only() -> None:
    """A memorised one keeps its place, in its publisher's order, until there is room."""
    desk = full(QueuePolicy.REFUSE)
    assert desk.sessions.take(incoming(9), NOW)
    session = desk.sessions.get("c")
    assert session is not None
    for sequence in (2, 1):
        assert not desk.sessions.take_for(session, incoming(sequence, 1, persistent=True), NOW)
    assert [loss.event_id for loss in desk.said(Loss)] == [event_id(0, 1, 9)]
    assert session.refused_ids() == [event_id(1, 1, 1), event_id(1, 1, 2)]


@pytest.mark.parametrize("policy", [QueuePolicy.OLDEST, QueuePolicy.NEWEST])
def test_other_policies_block_no_publisher(policy: QueuePolicy) -> None:
    """They make room, or drop what comes, and say so."""
    assert not full(policy).sessions.is_blocked_for(Event(subject="a"), NOW)


def test_what_has_left_is_not_dropped() -> None:
    """A full window has no oldest that waits: the event that comes is lost instead."""
    desk = Desk(replace(CONFIG, session_queue=3))
    session = desk.subscribed()
    for sequence in range(1, 5):
        desk.sessions.take(incoming(sequence), NOW)
    losses = desk.said(Loss)
    assert [(loss.event_id, loss.reason) for loss in losses] == [(event_id(0, 1, 4), Reason.QUEUE_FULL)]
    assert [each.number for each in session.queue] == [1, 2, 3]


def test_the_expired_make_room_before_the_living() -> None:
    """What waited too long blocks nobody: no publisher, and no event that could still be delivered."""
    desk = Desk(replace(CONFIG, queue_policy=QueuePolicy.REFUSE))
    session = desk.subscribed()
    desk.sessions.close("c", NOW)
    for sequence in range(1, 7):
        desk.sessions.take(incoming(sequence, lifetime=5 if sequence % 2 else 0), NOW)
    assert desk.sessions.is_blocked_for(Event(subject="a"), NOW)
    assert not desk.sessions.is_blocked_for(Event(subject="a"), NOW + 5)
    losses = desk.said(Loss)
    assert sorted(loss.event_id for loss in losses) == [event_id(0, 1, n) for n in (1, 3, 5)]
    assert {loss.reason for loss in losses} == {Reason.EXPIRED}
    assert [each.number for each in session.queue] == [2, 4, 6]


# What is remembered


def test_numbers_are_reserved_in_blocks() -> None:
    """One write for a thousand deliveries; a restart starts behind the block, so that no number is used twice."""
    desk = Desk(replace(CONFIG, session_queue=2000))
    session = desk.subscribed()
    for sequence in range(1, 1101):
        desk.sessions.take(incoming(sequence), NOW)
    writes = [save for save in desk.said(Save) if save.key == "session/c"]
    assert len(writes) == 2
    used = session.number
    desk.restart(NOW)
    desk.sessions.take(incoming(2000), NOW)
    again = desk.sessions.get("c")
    assert again is not None
    assert used < again.number <= used + NUMBER_BLOCK + 1


def test_what_was_given_is_forgotten_when_nobody_can_offer_it() -> None:
    """Some time after it expired, on the disk too; a persistent event is remembered."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(1, lifetime=5), NOW)
    desk.sessions.take(incoming(2, persistent=True), NOW)
    grace = CONFIG.contact_periods * CONFIG.refresh_period
    desk.sessions.forget_expired(NOW + 5 + grace - 1)
    assert set(session.taken) == {event_id(0, 1, 1), event_id(0, 1, 2)}
    desk.sessions.forget_expired(NOW + 5 + grace)
    assert set(session.taken) == {event_id(0, 1, 2)}
    desk.drain()
    assert [key for key in desk.disk if key.startswith("taken/")] == [f"taken/c/{event_id(0, 1, 2).hex()}"]


def test_memory_of_what_was_given_is_bounded() -> None:
    """The oldest are forgotten first, on the disk too."""
    desk = Desk()
    session = desk.subscribed()
    for sequence in range(1, TAKEN_KEPT + 4):
        desk.sessions.take(incoming(sequence, persistent=True), NOW)
    desk.drain()
    assert list(session.taken) == [event_id(0, 1, n) for n in range(4, TAKEN_KEPT + 4)]
    assert len([key for key in desk.disk if key.startswith("taken/")]) == TAKEN_KEPT


# Subscriptions and publications


def test_subscriptions_are_kept_by_number() -> None:
    """A repetition changes nothing; a filter is given up with its last number; all stand after a restart."""
    desk = Desk()
    session = desk.open()
    a, b = Filter(subject="a"), Filter(subject="b", where="speed in (1, 2) and name starts with 'x'")
    assert [desk.sessions.subscribe(session, number, each) for number, each in ((1, a), (2, a), (1, a), (3, b))] == [
        True,
        True,
        False,
        True,
    ]
    assert desk.sessions.unsubscribe(session, 1) == a
    assert desk.sessions.unsubscribe(session, 1) is None
    assert desk.sessions.is_wanted(Event(subject="a"))
    desk.restart(NOW)
    again = desk.sessions.get("c")
    assert again is not None
    assert again.subscriptions == {2: a, 3: b}
    assert list(desk.sessions.filters()) == [a, b]
    assert desk.sessions.is_wanted(Event(subject="a"))
    desk.sessions.unsubscribe(again, 2)
    assert not desk.sessions.is_wanted(Event(subject="a"))


def test_subscriptions_of_a_client_are_bounded() -> None:
    """One more is refused in words and counted."""
    desk = Desk(replace(CONFIG, subscriptions_per_client=2))
    session = desk.open()
    for number in (1, 2):
        assert desk.sessions.subscribe(session, number, Filter())
    desk.drain()
    assert not desk.sessions.subscribe(session, 3, Filter())
    drained = desk.drain()
    assert [effect.reason for effect in drained if isinstance(effect, Drop)] == [Reason.TOO_MANY_FILTERS]
    (refused,) = [effect.message for effect in drained if isinstance(effect, Answer)]
    assert isinstance(refused, Refused)
    assert (refused.number, "2" in refused.reason) == (3, True)


def test_a_receipt_can_be_repeated_for_more_than_a_window_of_publications() -> None:
    """Across a restart too; the oldest are forgotten; a client that does not know the session gets none of them."""
    desk = Desk()
    session = desk.open()
    for number in range(1, RECEIPTS_KEPT + 11):
        desk.sessions.accepted(session, number, event_id(HERE, 1, number), after_save=True)
    assert desk.said(Answer)[-1] == Answer(
        "c", Receipt(RECEIPTS_KEPT + 10, event_id(HERE, 1, RECEIPTS_KEPT + 10)), after_save=True
    )
    desk.restart(NOW)
    again = desk.open(epoch=session.epoch)
    assert desk.sessions.receipt_of(again, 10) is None
    known = [number for number in range(11, RECEIPTS_KEPT + 11) if desk.sessions.receipt_of(again, number)]
    assert len(known) == RECEIPTS_KEPT > PUBLISH_WINDOW
    assert desk.sessions.receipt_of(again, 11) == event_id(HERE, 1, 11)
    (opened, *_) = desk.messages()
    assert opened == Opened(session.epoch, resumed=True, published=RECEIPTS_KEPT + 10, subscriptions=())
    fresh = desk.open(epoch=0)
    (opened, *_) = desk.messages()
    assert opened == Opened(session.epoch, resumed=False, published=0, subscriptions=())
    assert desk.sessions.receipt_of(fresh, 20) is None
    assert "published/c" not in desk.disk


def test_every_session_has_an_epoch_of_its_own() -> None:
    """A session made anew is told from the one before, so that its numbers are not taken for the old ones."""
    desk = Desk()
    epochs = {desk.open("c").epoch}
    for _ in range(20):
        desk.wipe(NOW)
        epochs.add(desk.open("c").epoch)
    assert len(epochs) == 21
    assert min(epochs) > 0
