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

from chapar.event import Event, EventId, event_id, later, origin_of, peek_id, stamp_run
from chapar.filter import Filter
from chapar.limits import CLIENT_MTU, MAX_CLIENT_NAME
from chapar.session import (
    PUBLISH_WINDOW,
    Acknowledge,
    ClientSession,
    Closed,
    Deliver,
    Goodbye,
    Open,
    Opened,
    Receipt,
    Refused,
    Subscribe,
    Subscribed,
)
from chapard.core.config import Config, QueuePolicy
from chapard.core.effects import AcknowledgementRow, Answer, DeliveryRow, Drop, Effect, Loss, Reason, Save, SessionRow
from chapard.core.outlet import Outlet
from chapard.core.session import Incoming, Session, Waiting
from chapard.core.sessions import RECEIPTS_KEPT, REFUSED_RETRIES, RETURN_TIME, SAVE_DELAY, TAKEN_KEPT, Sessions
from chapard.core.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    return Incoming(made, (made.encode(),), now + lifetime if lifetime else inf, 2, "realtime")


def realtime_run(first: int, count: int, origin: int = 0, size: int = 0) -> Incoming:
    """Real-time events from `first` on, with all but the payload in common."""
    made = Event(subject="a")
    bodies = stamp_run(made.head(), event_id(origin, 1, first), [bytes(size)] * count)
    return Incoming(made.accepted(id=event_id(origin, 1, 0)), bodies, inf, 2, "realtime")


def id_of(item: Incoming) -> EventId:
    return peek_id(item.bodies[0])


def apart(item: Incoming) -> list[Incoming]:
    """The events of a run, each by itself."""
    return [item._replace(bodies=(body,)) for body in item.bodies]


def ids_of(runs: Iterable[Waiting]) -> list[EventId]:
    return [peek_id(body) for run in runs for body in run.bodies]


def waiting_numbers(session: Session) -> list[int]:
    """The delivery numbers of everything under way and waiting."""
    runs = (*session.flight, *session.queue)
    return [number for run in runs for number in range(run.number, run.last + 1)]


class Desk:
    """A home's sessions with their disk, and everything they ever said."""

    def __init__(self, config: Config = CONFIG, seed: int = 0) -> None:
        self.config = config
        self.disk: dict[str, bytes] = {}
        self.effects: list[Effect] = []
        self._rng = Random(seed)
        self.incarnation = 0
        self._start(NOW)

    def _start(self, now: float) -> None:
        self.incarnation += 1
        self.outlet = Outlet()
        self.sessions = Sessions(HERE, self.incarnation, self.config, self.outlet, Store(self.outlet), self._rng)
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
        self.sessions.save_changed()
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

    def open(self, client: str = "c", epoch: int = 0, now: float = NOW, floor: int = 1) -> Session:
        session = self.sessions.open(client, epoch, floor, now)
        assert session is not None
        return session

    def acknowledge(self, session: Session, number: int, now: float = NOW) -> None:
        self.sessions.acknowledge(session, Acknowledge(self.incarnation, number), now)

    def subscribed(self, client: str = "c") -> Session:
        """A client that is ON and wants everything with subject a."""
        session = self.open(client)
        self.sessions.subscribe(session, 1, Filter(subject="a"))
        self.drain()
        return session


def deliveries(messages: list[Message]) -> list[Deliver]:
    return [message for message in messages if isinstance(message, Deliver)]


def numbers(messages: list[Message]) -> list[tuple[int, int]]:
    """What every delivery follows, and its number, run by run."""
    found = []
    for after, number, bodies in ((each.after, each.number, each.bodies) for each in deliveries(messages)):
        found += [(after if place == 0 else number + place - 1, number + place) for place in range(len(bodies))]
    return found


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
    saved: set[EventId] = field(default_factory=set)
    """What of the queue is on the disk."""
    latest_saved: dict[int, EventId] = field(default_factory=dict)

    def off(self) -> None:
        if self.is_on:
            self.is_on = False
            self.saved |= {id_of(each) for each in self.queue}
            self.save_marks()

    def save_marks(self) -> None:
        self.latest_saved = dict(self.latest)

    def restart(self) -> None:
        """What was not on the disk is gone without a word: real-time events under way to a client that was ON."""
        self.is_on, self.left = False, 0
        self.queue = [each for each in self.queue if id_of(each) in self.saved]
        self.latest = dict(self.latest_saved)
        for id_ in (id_of(each) for each in self.queue if not each.is_memorised):
            self.latest[origin_of(id_)] = max(id_, self.latest.get(origin_of(id_), id_))
        self.refused.clear()

    def give(self, item: Incoming, now: float) -> bool:
        """Whether the home may confirm it."""
        id_ = id_of(item)
        if item.is_memorised:
            if id_ in self.taken:
                return True
        elif id_ <= self.latest.get(origin_of(id_), b""):
            if id_ != self.latest[origin_of(id_)]:
                self.lost[id_, Reason.LATE] += 1
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
                self.lost[id_, Reason.QUEUE_FULL] += 1
                self._remember(item)
                return True
        self._remember(item)
        self.queue.append(item)
        if item.is_memorised or not self.is_on:
            self.saved.add(id_)
        return True

    def _refuse(self, item: Incoming, now: float) -> None:
        self.refused[id_of(item)] = now + REFUSED_RETRIES * self.config.serve_retry

    def _goes_behind(self, item: Incoming, now: float) -> bool:
        """What was refused comes again, and before what its publisher said later."""
        waiting = {each for each, until in self.refused.items() if until > now and each < id_of(item)}
        if any(origin_of(each) == origin_of(id_of(item)) for each in waiting):
            self._refuse(item, now)
            return True
        self.refused.pop(id_of(item), None)
        return False

    def _remember(self, item: Incoming) -> None:
        if item.is_memorised:
            self.taken.add(id_of(item))
        else:
            self.latest[origin_of(id_of(item))] = id_of(item)

    def _drop(self, items: list[Incoming], reason: Reason) -> None:
        for item in items:
            self.queue.remove(item)
            self.lost[id_of(item), reason] += 1

    def pump(self, now: float) -> None:
        while self.is_on and self.left < min(len(self.queue), self.config.session_window):
            if self.queue[self.left].expiry <= now:
                self._drop([self.queue[self.left]], Reason.EXPIRED)
            else:
                self.left += 1


@dataclass
class Client:
    """What one client has got, from a home that may repeat itself but never contradict itself within one life."""

    bodies: dict[int, bytes] = field(default_factory=dict)
    """By number, in this life of the daemon."""
    order: list[int] = field(default_factory=list)
    acknowledged: int = 0
    got: list[EventId] = field(default_factory=list)
    """In all lives, without what came again."""

    def restarted(self) -> None:
        self.bodies, self.order, self.acknowledged = {}, [], 0

    def take(self, desk: Desk) -> None:
        for delivery in deliveries(desk.messages()):
            assert delivery.incarnation == desk.incarnation
            for number, body in enumerate(delivery.bodies, delivery.number):
                assert self.bodies.setdefault(number, body) == body
                if number not in self.order:
                    assert number > max(self.order, default=0)
                    self.order.append(number)
                    if peek_id(body) not in self.got:
                        self.got.append(peek_id(body))


def runs(of: st.SearchStrategy[Act], limit: int) -> st.SearchStrategy[list[Act]]:
    """Lists of any length up to `limit`, long ones as often as short ones."""
    return st.integers(0, limit).flatmap(lambda length: st.lists(of, min_size=length, max_size=length))


act = st.one_of(
    st.tuples(st.just("realtime"), st.integers(0, 2), st.integers(1, 12)),
    st.tuples(st.just("run"), st.integers(2, 8), st.integers(1, 12)),
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
    """Queue, window, policy, order and losses, through ON, OFF and restarts; no number means two things in one life."""
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
        elif kind == "run":
            assert desk.sessions.take(realtime_run(two, one), now)
            assert all([model.give(each, now) for each in apart(realtime_run(two, one))])  # noqa: C419 - all are given
        elif kind == "ack" and model.is_on and client.order:
            client.acknowledged = max(client.acknowledged, client.order[-1 - min(one, len(client.order) - 1)])
            model.queue, model.left = acknowledged(model, client)
            desk.acknowledge(session, client.acknowledged, now)
        elif kind == "on":
            desk.open("c", session.epoch, now)
            model.is_on = True
        elif kind == "off":
            desk.sessions.close("c", now)
            model.off()
        elif kind == "restart":
            client.take(desk)
            client.restarted()
            desk.restart(now)
            model.restart()
        elif kind == "wait":
            now += one
            desk.sessions.tick(now)
            model.save_marks()
        if kind in ("realtime", "lifetime", "persistent", "run", "ack", "on"):
            model.pump(now)
        client.take(desk)
        compare(desk, model)
    catch_up(desk, model, client, now)


def acknowledged(model: Model, client: Client) -> tuple[list[Incoming], int]:
    """The queue without what the client has: the events among those that left whose deliveries it confirmed."""
    done = {client.bodies[number] for number in client.order if number <= client.acknowledged}
    count = 0
    while count < model.left and model.queue[count].bodies[0] in done:
        count += 1
    return model.queue[count:], model.left - count


def compare(desk: Desk, model: Model) -> None:
    session = desk.sessions.get("c")
    assert session is not None
    assert ids_of((*session.flight, *session.queue)) == [id_of(each) for each in model.queue]
    bodies = [body for run in (*session.flight, *session.queue) for body in run.bodies]
    assert (session.events, session.bytes) == (len(bodies), sum(map(len, bodies)))
    in_flight = [body for run in session.flight for body in run.bodies]
    assert (session.flight_events, session.flight_bytes) == (len(in_flight), sum(map(len, in_flight)))
    assert session.flight_events == model.left <= desk.config.session_window
    assert session.events <= desk.config.session_queue
    assert {key for key in desk.disk if key.startswith("queue/")} == {f"queue/c/{n:012d}" for n in session.saved}
    losses = [effect for effect in desk.effects if isinstance(effect, Loss)]
    assert Counter((loss.event_id, loss.reason) for loss in losses) == model.lost
    assert all(loss.client == "c" and loss.homes.indexes() == [HERE] for loss in losses)


def catch_up(desk: Desk, model: Model, client: Client, now: float) -> None:
    """A client that stays ON and confirms gets all that lives, in order; then nothing is left, in memory or on disk."""
    session = desk.open(epoch=0, now=now)
    for _ in range(2 * desk.config.session_queue):
        client.take(desk)
        desk.acknowledge(session, max(client.order, default=0), now)
    client.take(desk)
    assert session.events == session.bytes == session.flight_events == session.flight_bytes == 0
    assert session.retry_at is None
    assert {id_of(each) for each in model.queue if each.expiry > now} <= set(client.got)
    assert not any(key.startswith("queue/") for key in desk.disk)


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
        self.client = ClientSession("c")
        self.client.subscribe(Filter(subject="a"))
        self.rng = Random(seed)
        self.got: list[EventId] = []
        self.now = NOW
        self.up = False

    def connect(self) -> None:
        self.client.open(self.now)
        self.up = True

    def cut(self) -> None:
        self.up = False
        self.client.lost()
        self.desk.sessions.close("c", self.now)

    def exchange(self, loss: float = 0.0) -> None:
        """Carry messages both ways until both ends are silent; deliveries and their confirmations may get lost."""
        for _ in range(50):
            requests = self.client.requests(self.now)
            for request in requests if self.up else ():
                self._ask(request, loss)
            messages = self.desk.messages()
            for message in messages if self.up else ():
                if isinstance(message, Deliver) and self.rng.random() < loss:
                    continue
                for number, event in self.client.received(message, self.now):
                    self.client.consumed(number)
                    self.got.append(peek_id(event.encode()))
            if not requests and not messages:
                return

    def _ask(self, request: object, loss: float) -> None:
        session = self.desk.sessions.get("c")
        match request:
            case Open(client, epoch, floor, lasting):
                self.desk.sessions.open(client, epoch, floor, self.now, lasting=lasting)
            case Subscribe(number, filter_) if session is not None:
                self.desk.sessions.subscribe(session, number, filter_)
            case Acknowledge() if session is not None and self.rng.random() >= loss:
                self.desk.sessions.acknowledge(session, request, self.now)


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
                kept[id_of(item)] = item
            wire.desk.sessions.take(item, wire.now)
            given_.add(id_of(item))
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
    assert not session.events


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
    assert opened == Opened(epoch, desk.incarnation, resumed=True, node=HERE, published=0, subscriptions=(1,))
    assert [peek_id(body) for each in deliveries(rest) for body in each.bodies] == [event_id(0, 1, n) for n in (1, 2)]


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


def test_what_a_client_has_acknowledged_is_recorded_with_how_long_it_waited() -> None:
    """At most once a second while it is ON, and the rest when it goes OFF; not at all if nothing is recorded."""
    for config, rows in (
        (CONFIG, [(1, 250_000, 0, 0), (2, 1_200_000, 1, 750_000)]),
        (replace(CONFIG, record=False), []),
    ):
        desk = Desk(config)
        session = desk.subscribed()
        desk.sessions.take(realtime_run(1, 2), NOW)
        desk.sessions.acknowledge(session, Acknowledge(desk.incarnation, 1), NOW + 0.25)
        desk.sessions.acknowledge(session, Acknowledge(desk.incarnation, 1), NOW + 0.5)
        desk.sessions.acknowledge(session, Acknowledge(desk.incarnation, 2), NOW + 1)
        desk.sessions.take(incoming(3), NOW + 1)
        desk.sessions.acknowledge(session, Acknowledge(desk.incarnation, 3), NOW + 1.2)
        desk.sessions.close("c", NOW + 1.5)
        assert [row[1:] for row in desk.said(AcknowledgementRow)] == rows


def test_a_daemon_that_stops_says_goodbye_to_whoever_is_on() -> None:
    """Clients that are OFF hear nothing; all are OFF afterwards."""
    desk = Desk()
    desk.open("on")
    desk.open("off")
    desk.sessions.close("off", NOW)
    desk.drain()
    desk.sessions.goodbye()
    assert [answer for answer in desk.said(Answer) if isinstance(answer.message, Goodbye)] == [
        Answer("on", Goodbye(), after_save=True)
    ]
    assert not any(session.is_on for session in desk.sessions.all())
    assert desk.sessions.next_deadline() is None


@pytest.mark.parametrize("name", ["", "a/b", "x" * (MAX_CLIENT_NAME + 1), "a\nb", "\ud800"])
def test_a_name_that_cannot_be_a_key_is_refused(name: str) -> None:
    """Names are parts of keys on the disk; the client is told what a name is."""
    desk = Desk()
    assert desk.sessions.open(name, 0, 1, NOW) is None
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
    assert desk.sessions.open("more", 0, 1, NOW) is None
    drops = desk.said(Drop)
    assert [(drop.reason, drop.client) for drop in drops] == [(Reason.SESSION_LIMIT, "more")]
    assert desk.sessions.open("c2", 0, 1, NOW) is not None
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
    desk.acknowledge(session, 2, NOW + 3.5)
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
    desk.sessions.tick(NOW + 10)
    assert desk.sessions.next_deadline() is None
    assert desk.messages() == []
    desk.open("c", session.epoch, NOW + 20)
    assert numbers(desk.messages()) == [(0, 1)]
    desk.sessions.tick(NOW + 20 + CONFIG.session_retry - 0.1)
    assert desk.messages() == []
    desk.sessions.tick(NOW + 20 + CONFIG.session_retry)
    assert numbers(desk.messages()) == [(0, 1)]


def test_a_confirmation_of_another_life_is_ignored() -> None:
    """It is about a numbering that is no more."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(1), NOW)
    desk.sessions.acknowledge(session, Acknowledge(desk.incarnation + 1, 1), NOW)
    assert session.events == 1
    desk.acknowledge(session, 1)
    assert session.events == 0


def test_a_delivery_follows_the_one_before_it_that_is_still_to_come() -> None:
    """What was dropped, expired or confirmed leaves no gap that a client would wait for, before and after a restart."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.close("c", NOW)
    lifetimes = [0, 5, 0, 5, 0, 5, 0, 0]
    for sequence, lifetime in enumerate(lifetimes, start=1):
        desk.sessions.take(incoming(sequence, lifetime=lifetime), NOW)
    assert waiting_numbers(session) == [3, 4, 5, 6, 7, 8]
    for epoch in (session.epoch, 0):
        desk.restart(NOW + 10)
        desk.open("c", epoch, NOW + 10)
        assert numbers(desk.messages()) == [(0, 3), (3, 5), (5, 7)]


def test_a_client_without_memory_gets_what_waits() -> None:
    """An application that starts anew under the same name is not left waiting for what its predecessor confirmed."""
    desk = Desk()
    session = desk.subscribed()
    for sequence in (1, 2):
        desk.sessions.take(incoming(sequence), NOW)
    desk.acknowledge(session, 1, NOW)
    desk.drain()
    client = ClientSession("c")
    client.open(NOW)
    desk.open("c")
    arrivals = [arrival for message in desk.messages() for arrival in client.received(message, NOW)]
    assert [event.id for _, event in arrivals] == [event_id(0, 1, 2)]


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
    desk.open("c", session.epoch, NOW + 2.5)
    desk.sessions.tick(NOW + 10)
    rows = [effect for effect in desk.drain() if isinstance(effect, DeliveryRow)]
    assert rows == [DeliveryRow(["c"], event_id(5, 1, 1), 5, 2, "realtime", 2_500_000)]


def test_what_many_are_given_in_one_turn_is_one_row() -> None:
    """A run of events, and all clients that are given it; in another turn it is another row."""
    desk = Desk(Config())
    for name in "abc":
        desk.subscribed(name)
    for first in (1, 4):
        desk.sessions.take(realtime_run(first, 3), NOW)
        desk.sessions.save_changed()
        (row,) = [effect for effect in desk.drain() if isinstance(effect, DeliveryRow)]
        assert (row.event_id, sorted(row.clients), row.times) == (event_id(0, 1, first), ["a", "b", "c"], 3)


def test_events_that_do_not_follow_each_other_are_rows_of_their_own() -> None:
    """Each with its id."""
    desk = Desk()
    desk.subscribed()
    run = realtime_run(7, 3)
    desk.sessions.take(run._replace(bodies=[run.bodies[0], run.bodies[2]]), NOW)
    rows = [effect for effect in desk.drain() if isinstance(effect, DeliveryRow)]
    assert [(row.event_id, row.times) for row in rows] == [(event_id(0, 1, number), 1) for number in (7, 9)]


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
    desk.acknowledge(session, 3, NOW)
    assert not desk.sessions.is_blocked_for(Event(subject="a"), NOW)
    assert desk.sessions.take(late, NOW)
    assert ids_of(session.queue)[-1:] == [id_of(late)]


def test_a_refused_event_keeps_its_place_for_a_while() -> None:
    """Later ones of its publisher wait for it, others do not; when nobody serves it again, they go on without it."""
    desk = full(QueuePolicy.REFUSE)
    one, two, three = (incoming(n, 1, persistent=True) for n in (1, 2, 3))
    assert not desk.sessions.take(one, NOW)
    session = desk.open()
    desk.acknowledge(session, 3, NOW)
    assert not desk.sessions.take(two, NOW)
    assert desk.sessions.take(incoming(2, 2, persistent=True), NOW)
    assert desk.sessions.take(one, NOW)
    assert desk.sessions.take(two, NOW)
    assert not desk.sessions.take(three, NOW)
    desk.drain()
    patience = REFUSED_RETRIES * CONFIG.serve_retry
    desk.acknowledge(session, 6, NOW)
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
    assert waiting_numbers(session) == [1, 2, 3]


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
    assert waiting_numbers(session) == [2, 4, 6]


# What is remembered


def test_every_life_of_the_daemon_numbers_afresh() -> None:
    """Numbers are not kept: an empty queue starts at 1 again, under another incarnation; what waits keeps its order."""
    desk = Desk()
    session = desk.subscribed()
    for sequence in (1, 2, 3):
        desk.sessions.take(incoming(sequence, persistent=True), NOW)
    desk.acknowledge(session, 3)
    desk.restart(NOW)
    desk.open("c", session.epoch)
    desk.sessions.take(incoming(4, persistent=True), NOW)
    (delivery,) = deliveries(desk.messages())
    assert (delivery.incarnation, delivery.number, delivery.after) == (desk.incarnation, 1, 0)


def test_memorised_events_are_on_the_disk_before_they_leave_and_until_they_are_acknowledged() -> None:
    """With the mark that they were given; what a crash leaves in the queue comes again, and is not taken again."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(1, persistent=True), NOW)
    saves = [save.key for save in desk.said(Save)]
    assert saves == [f"taken/c/{event_id(0, 1, 1).hex()}", "queue/c/000000000001"]
    desk.restart(NOW)
    desk.open("c", session.epoch)
    desk.sessions.take(incoming(1, persistent=True), NOW)
    assert numbers(desk.messages()) == [(0, 1)]
    again = desk.sessions.get("c")
    assert again is not None
    desk.acknowledge(again, 1)
    desk.restart(NOW)
    desk.open("c", session.epoch)
    desk.sessions.take(incoming(1, persistent=True), NOW)
    assert numbers(desk.messages()) == []


@pytest.mark.parametrize("way", ["close", "silence", "goodbye"])
def test_real_time_events_are_saved_when_their_client_goes_off(way: str) -> None:
    """And at once while it is OFF; while it is ON the disk has nothing to do with them."""
    desk = Desk()
    desk.subscribed()
    desk.sessions.take(realtime_run(1, 2), NOW)
    assert desk.said(Save) == []
    match way:
        case "close":
            desk.sessions.close("c", NOW)
        case "silence":
            desk.sessions.tick(NOW + CONFIG.keep_alive)
        case _:
            desk.sessions.goodbye()
    desk.drain()
    desk.sessions.take(incoming(3), NOW)
    desk.restart(NOW)
    session = desk.sessions.get("c")
    assert session is not None
    assert ids_of(session.queue) == [event_id(0, 1, n) for n in (1, 2, 3)]
    assert session.latest == {0: event_id(0, 1, 3)}


def test_what_was_given_last_is_saved_when_a_client_goes_off() -> None:
    """At once, also of what it has acknowledged: a restart does not give it again."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(incoming(5), NOW)
    desk.acknowledge(session, 1)
    desk.sessions.close("c", NOW)
    desk.restart(NOW)
    desk.sessions.take(incoming(5), NOW)
    again = desk.sessions.get("c")
    assert again is not None
    assert again.events == 0


def test_a_crash_takes_real_time_events_that_were_under_way() -> None:
    """They are delivered at most once; the memorised ones among them stay."""
    desk = Desk()
    desk.subscribed()
    desk.sessions.take(incoming(1), NOW)
    desk.sessions.take(incoming(2, persistent=True), NOW)
    desk.restart(NOW)
    session = desk.sessions.get("c")
    assert session is not None
    assert ids_of(session.queue) == [event_id(0, 1, 2)]


def test_what_a_session_was_given_last_is_saved_soon() -> None:
    """One write per publisher within `SAVE_DELAY`, however many events came; a restart then knows what is late."""
    desk = Desk(replace(CONFIG, session_queue=1000))
    desk.subscribed()
    for sequence in range(1, 101):
        desk.sessions.take(incoming(sequence, sequence % 2), NOW)
    assert desk.sessions.next_deadline() == NOW + SAVE_DELAY
    desk.sessions.tick(NOW + SAVE_DELAY)
    assert [save.key for save in desk.said(Save)] == ["latest/c/0", "latest/c/1"]
    desk.restart(NOW)
    desk.sessions.take(incoming(100, 0), NOW)
    desk.sessions.take(incoming(97, 1), NOW)
    desk.sessions.take(incoming(101, 1), NOW)
    session = desk.sessions.get("c")
    assert session is not None
    assert ids_of(session.queue) == [event_id(1, 1, 101)]


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


def receipts_for(desk: Desk, session: Session, number: int, count: int) -> list[Message]:
    desk.drain()
    desk.sessions.receipts_again(session, number, count)
    return desk.messages()


def test_a_receipt_can_be_repeated_for_more_than_a_window_of_publications() -> None:
    """Across a restart too; the oldest are forgotten; a client that does not know the session gets none of them."""
    desk = Desk()
    session = desk.open()
    last = RECEIPTS_KEPT + 10
    for number in range(1, last + 1, 2):
        desk.sessions.accepted(session, number, event_id(HERE, 1, 3 * number), 2, after_save=True)
    receipt = Receipt(last - 1, event_id(HERE, 1, 3 * (last - 1)), 2)
    assert desk.said(Answer)[-1] == Answer("c", receipt, after_save=True)
    desk.restart(NOW)
    again = desk.open(epoch=session.epoch)
    (opened, *_) = desk.messages()
    assert opened == Opened(session.epoch, 2, resumed=True, node=HERE, published=last, subscriptions=())
    known = receipts_for(desk, again, 1, last)
    refused = [each.number for each in known if isinstance(each, Refused)]
    receipts = [each for each in known if isinstance(each, Receipt)]
    assert refused == list(range(1, 11))
    assert [(each.number, each.id, each.length) for each in receipts] == [
        (number, event_id(HERE, 1, 3 * number), 2) for number in range(11, last, 2)
    ]
    assert sum(each.length for each in receipts) == RECEIPTS_KEPT > PUBLISH_WINDOW
    fresh = desk.open(epoch=0)
    (opened, *_) = desk.messages()
    assert opened == Opened(session.epoch, 2, resumed=False, node=HERE, published=0, subscriptions=())
    assert not any(isinstance(each, Receipt) for each in receipts_for(desk, fresh, 1, last))
    assert "published/c" not in desk.disk


accepted_runs = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=8)


@given(accepted_runs, st.integers(1, 30), st.integers(1, 30))
def test_what_was_answered_before_gets_the_same_answer(gaps: list[tuple[int, int]], number: int, count: int) -> None:
    """Whatever stretch is asked about again, each number once: its own id, or that it was refused; after the disk."""
    desk = Desk()
    session = desk.open()
    ids: dict[int, EventId] = {}
    place = 1
    for gap, length in gaps:
        first = event_id(HERE, 1, 10 * place)
        ids |= {place + gap + n: later(first, n) for n in range(length)}
        desk.sessions.accepted(session, place + gap, first, length, after_save=True)
        place += gap + length
    desk.drain()
    desk.sessions.receipts_again(session, number, count)
    told: dict[int, EventId | None] = {}
    for answer in desk.said(Answer):
        match answer.message:
            case Receipt(first_number, first, length):
                assert answer.after_save
                again: dict[int, EventId | None] = {first_number + n: later(first, n) for n in range(length)}
            case Refused(first_number, _):
                again = {first_number: None}
            case _:
                raise AssertionError(answer)
        assert not again.keys() & told.keys()
        told |= again
    assert told == {each: ids.get(each) for each in range(number, number + count)}


def test_a_client_says_below_which_number_it_waits_for_nothing() -> None:
    """What it has given up leaves no gap; a floor never takes back what was accepted."""
    desk = Desk()
    session = desk.open(floor=5)
    (opened,) = desk.messages()
    assert isinstance(opened, Opened)
    assert opened.published == session.published == 4
    desk.sessions.accepted(session, 5, event_id(HERE, 1, 1), 3, after_save=False)
    for floor, published in ((2, 7), (8, 7), (10, 9)):
        desk.open(epoch=session.epoch, floor=floor)
        assert session.published == published


def test_only_memorised_publications_are_saved_at_once() -> None:
    """Real-time ones when the client goes OFF: the client gives up what a crash took."""
    desk = Desk()
    session = desk.open()
    desk.drain()
    desk.sessions.accepted(session, 1, event_id(HERE, 1, 1), 4, after_save=False)
    assert [type(effect) for effect in desk.drain()] == [Answer]
    desk.sessions.close("c", NOW)
    desk.restart(NOW)
    again = desk.sessions.get("c")
    assert again is not None
    assert (again.published, list(again.receipts)) == (4, [(1, event_id(HERE, 1, 1), 4, False)])


def test_publications_that_follow_each_other_are_remembered_as_one_run() -> None:
    """A publisher of single events does not make its receipts, which are saved each time, ever longer."""
    desk = Desk()
    session = desk.open()
    for number in range(1, 50):
        desk.sessions.accepted(session, number, event_id(HERE, 1, number), 1, after_save=True)
    assert list(session.receipts) == [(1, event_id(HERE, 1, 1), 49, True)]
    desk.sessions.accepted(session, 50, event_id(HERE, 1, 50), 1, after_save=False)
    desk.sessions.accepted(session, 51, event_id(HERE, 1, 52), 1, after_save=False)
    desk.sessions.accepted(session, 53, event_id(HERE, 1, 53), 1, after_save=False)
    assert [each[0] for each in session.receipts] == [1, 50, 51, 53]


def test_a_repeated_receipt_of_a_real_time_event_does_not_wait_for_the_disk() -> None:
    """A disk that takes nothing does not hold up what never goes there."""
    desk = Desk()
    session = desk.open()
    desk.sessions.accepted(session, 1, event_id(HERE, 1, 1), 1, after_save=False)
    desk.drain()
    desk.sessions.receipts_again(session, 1, 1)
    assert desk.said(Answer) == [Answer("c", Receipt(1, event_id(HERE, 1, 1), 1), after_save=False)]


def test_a_subscription_is_confirmed_when_the_disk_has_it() -> None:
    """Also one that comes again. Else a crash could forget it, and an idle client would miss what came meanwhile."""
    desk = Desk()
    session = desk.open()
    desk.drain()
    for _ in range(2):
        desk.sessions.subscribe(session, 1, Filter(subject="a"))
        assert [effect for effect in desk.drain() if isinstance(effect, Answer)] == [
            Answer("c", Subscribed(1), after_save=True)
        ]


def test_more_sessions_than_there_may_be_now_are_taken_up() -> None:
    """The limit was lowered: those who are known stay, others are refused."""
    desk = Desk(replace(CONFIG, session_limit=5))
    for name in "abcde":
        session = desk.sessions.open(name, 0, 1, NOW)
        assert session is not None
        desk.sessions.subscribe(session, 1, Filter(subject=name))
    desk.config = replace(CONFIG, session_limit=2)
    desk.restart(NOW)
    assert len(desk.sessions) == 5
    assert desk.sessions.is_wanted(Event(subject="e"))
    assert desk.sessions.open("f", 0, 1, NOW) is None


# The window in bytes, and the queue in bytes


def test_a_window_of_bytes_is_on_its_way() -> None:
    """A run is cut where the window ends; an event larger than the window leaves alone."""
    desk = Desk(replace(CONFIG, session_window=1000, session_queue=1000, session_window_bytes=1000))
    session = desk.subscribed()
    desk.sessions.take(realtime_run(1, 50, size=100), NOW)
    size = len(realtime_run(1, 1, size=100).bodies[0])
    assert 1000 <= session.flight_bytes < 1000 + size
    assert session.events == 50
    left = session.flight_events
    assert len(numbers(desk.messages())) == left
    desk.acknowledge(session, 3)
    assert numbers(desk.messages()) == [(left + n, left + n + 1) for n in range(3)]
    desk.acknowledge(session, left + 3)
    desk.drain()
    large = Desk(replace(CONFIG, session_window_bytes=10))
    large.subscribed()
    large.sessions.take(realtime_run(1, 2, size=100), NOW)
    assert numbers(large.messages()) == [(0, 1)]


@pytest.mark.parametrize("policy", QueuePolicy)
def test_the_queue_is_bounded_in_bytes(policy: QueuePolicy) -> None:
    """However large a run is and however small what it pushes out; everything that did not fit is counted."""
    config = replace(CONFIG, queue_policy=policy, session_queue=1000, session_bytes=5000)
    desk = Desk(config)
    session = desk.subscribed()
    desk.sessions.close("c", NOW)
    desk.sessions.take(realtime_run(1, 60), NOW)
    for first in (100, 200):
        desk.sessions.take(realtime_run(first, 20, size=500), NOW)
        assert session.bytes <= 5000
    lost = {loss.event_id for loss in desk.said(Loss)}
    assert len(lost) + session.events == 100
    assert lost.isdisjoint(ids_of(session.queue))
    newest = {QueuePolicy.OLDEST: event_id(0, 1, 219), QueuePolicy.NEWEST: event_id(0, 1, 105)}
    assert ids_of(session.queue)[-1] == newest.get(policy, event_id(0, 1, 105))


def test_a_repetition_is_about_a_datagram() -> None:
    """From the oldest on: if the application is only slow, the rest has arrived; opening repeats everything."""
    desk = Desk(replace(CONFIG, session_window=1000, session_queue=1000))
    session = desk.subscribed()
    for first in range(1, 101):
        desk.sessions.take(realtime_run(first, 1, size=1000), NOW)
    sent = len(numbers(desk.messages()))
    desk.sessions.tick(NOW + CONFIG.session_retry)
    repeated = numbers(desk.messages())
    assert repeated[0] == (0, 1)
    assert CLIENT_MTU <= 1000 * len(repeated) + 1000 < 2 * CLIENT_MTU < 1000 * sent
    desk.open("c", session.epoch)
    assert len(numbers(desk.messages())) == sent


def test_an_acknowledgement_may_end_within_a_run() -> None:
    """What is left of the run is repeated as the first that is not confirmed."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.take(realtime_run(1, 3), NOW)
    desk.acknowledge(session, 2)
    desk.drain()
    desk.sessions.tick(NOW + CONFIG.session_retry)
    assert numbers(desk.messages()) == [(0, 3)]
    desk.acknowledge(session, 1)
    assert session.events == 1


# Sessions that are not to last


def test_a_closed_session_is_confirmed_after_the_disk() -> None:
    """What the client had acknowledged is on it as such."""
    desk = Desk()
    desk.open()
    desk.drain()
    desk.sessions.closed("c")
    assert desk.said(Answer) == [Answer("c", Closed(), after_save=True)]


def test_a_session_that_is_not_to_last_is_over_some_time_after_its_client_left() -> None:
    """Unless the client comes back in time; one that lasts is never over. Both hold after a restart."""
    desk = Desk()
    desk.sessions.open("guest", 0, 1, NOW, lasting=False)
    desk.open("c")
    for client in ("guest", "c"):
        desk.sessions.close(client, NOW)
    desk.drain()
    assert desk.sessions.next_deadline() == NOW + RETURN_TIME
    assert desk.sessions.tick(NOW + RETURN_TIME - 1) == []
    desk.restart(NOW)
    assert [session.client for session in desk.sessions.tick(NOW + RETURN_TIME)] == ["guest"]
    desk.sessions.open("guest", 0, 1, NOW + RETURN_TIME, lasting=False)
    assert desk.sessions.tick(NOW + RETURN_TIME + 1) == []


def test_a_session_that_is_removed_leaves_nothing_behind() -> None:
    """Neither in memory nor on the disk; what waited for its client is lost, and counted."""
    desk = Desk()
    session = desk.subscribed()
    desk.sessions.accepted(session, 1, event_id(HERE, 1, 1), 1, after_save=True)
    desk.sessions.take(incoming(1, persistent=True), NOW)
    desk.sessions.take(incoming(2), NOW)
    desk.sessions.close("c", NOW)
    desk.sessions.unsubscribe(session, 1)
    desk.drain()
    desk.sessions.remove(session)
    losses = desk.said(Loss)
    assert [(loss.event_id, loss.reason) for loss in losses] == [
        (event_id(0, 1, n), Reason.SESSION_ENDED) for n in (1, 2)
    ]
    assert desk.disk == {}
    assert len(desk.sessions) == 0


def test_an_idle_session_makes_room_for_a_new_one() -> None:
    """Of those that are OFF, want nothing and wait for nothing, the longest silent one goes; no other does."""
    desk = Desk()
    wants = desk.subscribed("wants")
    desk.sessions.close("wants", NOW)
    for n, client in enumerate(("young", "old", "on")):
        desk.open(client, now=NOW - n)
    desk.sessions.close("young", NOW + 1)
    desk.sessions.close("old", NOW)
    assert desk.sessions.open("new", 0, 1, NOW) is not None
    assert [each.client for each in desk.sessions.all()] == ["new", "on", "wants", "young"]
    assert desk.sessions.open("newer", 0, 1, NOW) is not None
    assert desk.sessions.open("one more", 0, 1, NOW) is None
    assert desk.sessions.get("wants") is wants


def test_every_session_has_an_epoch_of_its_own() -> None:
    """A session made anew is told from the one before, so that its numbers are not taken for the old ones."""
    desk = Desk()
    epochs = {desk.open("c").epoch}
    for _ in range(20):
        desk.wipe(NOW)
        epochs.add(desk.open("c").epoch)
    assert len(epochs) == 21
    assert min(epochs) > 0
