"""Client sessions, ON and OFF: a bounded queue at the home, a window of unacknowledged deliveries, strict order.

- A session outlives its connections: its subscriptions stand and its queue fills while the client is OFF (closed, or
  silent for the keep-alive time), and what waits is delivered in order when it is ON again, for as long as it lives.
- Deliveries are numbered per session. Up to `session_window` of them are on their way unacknowledged; they are repeated
  until the client acknowledges them, cumulatively.
- A memorised event is given to a session once; a real-time event only if no later one of its publisher was (it then
  counts as late), so real-time events come at most once and in publisher order, whatever path they took.
- A full queue drops by policy, counted. Only what has not left yet can be dropped.

Everything a restart must not forget is saved; numbers are reserved in blocks so that none is used twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Delivery, Event, EventId, origin_of
from chapar.filter import Filter
from chapar.session import PUBLISH_WINDOW, Acknowledge, Deliver, Goodbye, Opened, Receipt, Refused
from chapard.core.config import QueuePolicy
from chapard.core.effects import Answer, DeliveryRow, Reason, SessionRow
from chapard.core.matcher import Matcher
from chapard.core.nodevector import NodeVector
from chapard.core.store import saved_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from chapar.session import Message
    from chapard.core.config import Config
    from chapard.core.outlet import Outlet
    from chapard.core.store import Store

NUMBER_BLOCK = 1024
"""Delivery numbers reserved on disk at a time."""
RECEIPTS_KEPT = 2 * PUBLISH_WINDOW
"""Publications whose receipt can be repeated: more than a client has under way without one."""
REFUSED_RETRIES = 10
"""Serving retries for which a refused event keeps its place; a broker tries again after four of them at the latest."""
TAKEN_KEPT = 8192
"""Memorised events a session remembers having been given: far more than a table of them holds at a time."""
MAX_CLIENT_NAME = 128
"""Characters of a client's name."""


class Incoming(NamedTuple):
    """An event that has reached the home of some of its subscribers."""

    event: Event
    body: bytes
    expiry: float
    hops: int
    via: str

    @property
    def event_id(self) -> EventId:
        assert self.event.id is not None, "a home stamped it"
        return self.event.id

    @property
    def is_memorised(self) -> bool:
        return self.event.delivery is not Delivery.REALTIME


class _Waiting(NamedTuple):
    number: int
    incoming: Incoming
    since: float


@dataclass(slots=True)
class Session:
    """One client's session."""

    client: str
    slot: int
    epoch: int
    is_on: bool = False
    heard: float = 0.0
    subscriptions: dict[int, Filter] = field(default_factory=dict)
    queue: deque[_Waiting] = field(default_factory=deque)
    in_flight: int = 0
    number: int = 0
    """The last delivery number used."""
    reserved: int = 0
    retry_at: float | None = None
    taken: dict[EventId, float] = field(default_factory=dict)
    latest: dict[int, EventId] = field(default_factory=dict)
    published: dict[int, EventId] = field(default_factory=dict)
    refused: dict[int, dict[EventId, float]] = field(default_factory=dict)
    """By publisher, the memorised events that found the queue full, and until when each keeps its place."""

    def refused_ids(self) -> list[EventId]:
        """What the queue has refused, per publisher in order."""
        return sorted(event_id for refused in self.refused.values() for event_id in refused)


class Sessions:
    """All sessions of one home."""

    def __init__(self, index: int, config: Config, outlet: Outlet, store: Store, rng: Random) -> None:
        self._here = NodeVector.of([index], config.nodes)
        self._config = config
        self._outlet = outlet
        self._store = store
        self._rng = rng
        self._sessions: dict[str, Session] = {}
        self._by_slot: dict[int, Session] = {}
        self._matcher = Matcher(config.session_limit)

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, client: str) -> Session | None:
        return self._sessions.get(client)

    def all(self) -> list[Session]:
        return [self._sessions[client] for client in sorted(self._sessions)]

    def filters(self) -> Iterable[Filter]:
        """Every standing subscription of every client."""
        return (each for session in self.all() for each in session.subscriptions.values())

    # Coming and going

    def open(self, client: str, epoch: int, now: float) -> Session | None:
        """A client is ON; None if it cannot be served, which it is told."""
        session = self._sessions.get(client)
        if session is None:
            session = self._create(client)
            if session is None:
                return None
        resumed = session.epoch == epoch
        if not resumed and session.published:
            # A client that does not know the session counts its publications anew: old receipts are not for them.
            session.published.clear()
            self._store.forget(f"published/{client}")
        session.heard = now
        if not session.is_on:
            session.is_on = True
            self._row(session, "on")
        published = max(session.published, default=0)
        self._answer(client, Opened(session.epoch, resumed, published, tuple(session.subscriptions)))
        self._repeat(session)
        self._pump(session, now)
        return session

    def close(self, client: str, now: float) -> None:
        """A client goes OFF; its session stands."""
        session = self._sessions.get(client)
        if session is not None and session.is_on:
            session.heard = now
            session.is_on, session.retry_at = False, None
            self._row(session, "off")

    def heard(self, client: str, now: float) -> Session | None:
        """A request of a client: it is still there. None if it has no session that is ON."""
        session = self._sessions.get(client)
        if session is None or not session.is_on:
            self._answer(client, Refused(0, "no open session: open it again"))
            return None
        session.heard = now
        return session

    def goodbye(self) -> None:
        """The daemon stops: tell every client that is ON."""
        for session in self.all():
            if session.is_on:
                self._answer(session.client, Goodbye())
                self._row(session, "off")
                session.is_on, session.retry_at = False, None

    def _create(self, client: str) -> Session | None:
        if not 0 < len(client) <= MAX_CLIENT_NAME or "/" in client or not client.isprintable():
            rule = f"a client's name has 1 to {MAX_CLIENT_NAME} printable characters without '/'"
            self._answer(client, Refused(0, rule))
            return None
        if len(self._sessions) >= self._config.session_limit:
            self._outlet.drop(Reason.SESSION_LIMIT, client=client)
            self._answer(client, Refused(0, f"this node serves {self._config.session_limit} sessions already"))
            return None
        session = Session(client, self._free_slot(), epoch=1 + self._rng.getrandbits(31))
        self._add(session)
        self._save(session)
        return session

    def _add(self, session: Session) -> None:
        self._sessions[session.client] = session
        self._by_slot[session.slot] = session

    def _free_slot(self) -> int:
        return next(slot for slot in range(self._config.session_limit) if slot not in self._by_slot)

    # Subscriptions

    def subscribe(self, session: Session, number: int, filter: Filter) -> bool:  # noqa: A002 - the field's own noun
        """Whether this is a new subscription; a repetition changes nothing."""
        if number in session.subscriptions:
            return False
        if len(session.subscriptions) >= self._config.subscriptions_per_client:
            self._outlet.drop(Reason.TOO_MANY_FILTERS, client=session.client)
            limit = self._config.subscriptions_per_client
            self._answer(session.client, Refused(number, f"a client has at most {limit} subscriptions"))
            return False
        session.subscriptions[number] = filter
        self._matcher.add(filter, session.slot)
        self._save(session)
        return True

    def unsubscribe(self, session: Session, number: int) -> Filter | None:
        """The filter that the client no longer wants under this number."""
        gone = session.subscriptions.pop(number, None)
        if gone is None:
            return None
        if gone not in session.subscriptions.values():
            self._matcher.remove(gone, session.slot)
        self._save(session)
        return gone

    # Publications

    def receipt_of(self, session: Session, number: int) -> EventId | None:
        """The id under which a publication was accepted before, if it was."""
        return session.published.get(number)

    def accepted(self, session: Session, number: int, event_id: EventId, *, after_save: bool) -> None:
        """Confirm a publication to the client, and remember that it was accepted."""
        session.published[number] = event_id
        if len(session.published) > RECEIPTS_KEPT:
            del session.published[next(iter(session.published))]
        self._store.put(f"published/{session.client}", *session.published.items())
        self._answer(session.client, Receipt(number, event_id), after_save=after_save)

    def refuse(self, client: str, number: int, reason: str) -> None:
        self._answer(client, Refused(number, reason))

    # Deliveries

    def is_blocked_for(self, event: Event, now: float) -> bool:
        """Whether a local subscriber with a full queue refuses this event at its publisher."""
        if self._config.queue_policy is not QueuePolicy.REFUSE:
            return False
        return any(self._is_full(self._by_slot[slot], now) for slot in self._matcher.match(event).indexes())

    def is_wanted(self, event: Event) -> bool:
        return self._matcher.match(event).any()

    def take(self, incoming: Incoming, now: float) -> bool:
        """Queue an event for every client that wants it. False if one refused it: the home does not confirm it then."""
        is_safe = True
        for slot in self._matcher.match(incoming.event).indexes():
            is_safe &= self._give(self._by_slot[slot], incoming, now)
        return is_safe

    def take_for(self, session: Session, incoming: Incoming, now: float) -> bool:
        """Queue an event for one client that has just subscribed, or has room again; False if it is refused."""
        return self._give(session, incoming, now)

    def acknowledge(self, session: Session, ack: Acknowledge, now: float) -> None:
        """Everything up to this number is safe with the client."""
        if ack.epoch != session.epoch:
            return
        while session.in_flight and session.queue[0].number <= ack.number:
            waiting = session.queue.popleft()
            session.in_flight -= 1
            session.retry_at = None
            self._store.forget(f"queue/{session.client}/{waiting.number:012d}")
        self._pump(session, now)

    def _give(self, session: Session, incoming: Incoming, now: float) -> bool:
        if self._had(session, incoming):
            return True
        if self._is_behind_refused(session, incoming, now):
            self._refuse(session, incoming, now)
            return False
        if self._is_full(session, now) and not self._make_room(session):
            if incoming.is_memorised and self._config.queue_policy is QueuePolicy.REFUSE:
                self._refuse(session, incoming, now)
                return False
            self._outlet.lose(incoming.event_id, self._here, Reason.QUEUE_FULL, session.client)
            self._mark(session, incoming)  # what was dropped does not come back out of order
            return True
        self._mark(session, incoming)
        waiting = _Waiting(self._next_number(session), incoming, now)
        session.queue.append(waiting)
        expiry = None if incoming.expiry == inf else incoming.expiry
        key = f"queue/{session.client}/{waiting.number:012d}"
        self._store.put(key, incoming.body, expiry, incoming.hops, incoming.via, now)
        self._pump(session, now)
        return True

    def _refuse(self, session: Session, incoming: Incoming, now: float) -> None:
        """Leave a memorised event with the brokers, which will serve it again; meanwhile it keeps its place."""
        self._outlet.drop(Reason.QUEUE_FULL, client=session.client)
        session.refused.setdefault(origin_of(incoming.event_id), {})[incoming.event_id] = now + self._refusal_time

    def _is_behind_refused(self, session: Session, incoming: Incoming, now: float) -> bool:
        """Whether an earlier event of the same publisher was refused and will be served again: it goes first."""
        refused = session.refused.get(origin_of(incoming.event_id))
        if refused is None or not incoming.is_memorised:
            return False
        for event_id in [each for each, until in refused.items() if until <= now or each == incoming.event_id]:
            del refused[event_id]
        if not refused:
            del session.refused[origin_of(incoming.event_id)]
        return any(event_id < incoming.event_id for event_id in refused)

    @property
    def _refusal_time(self) -> float:
        """How long a refused event keeps its place: its broker tries again several times within it."""
        return REFUSED_RETRIES * self._config.serve_retry

    def _had(self, session: Session, incoming: Incoming) -> bool:
        event_id = incoming.event_id
        if incoming.is_memorised:
            return event_id in session.taken
        latest = session.latest.get(origin_of(event_id), b"")
        if event_id <= latest:
            if event_id == latest:
                self._outlet.drop(Reason.DUPLICATE, client=session.client, event_id=event_id)
            else:
                self._outlet.lose(event_id, self._here, Reason.LATE, session.client)
            return True
        return False

    def _mark(self, session: Session, incoming: Incoming) -> None:
        event_id = incoming.event_id
        if not incoming.is_memorised:
            session.latest[origin_of(event_id)] = event_id
            self._store.put(f"latest/{session.client}/{origin_of(event_id)}", event_id)
            return
        session.taken[event_id] = incoming.expiry
        self._store.put(f"taken/{session.client}/{event_id.hex()}", None if incoming.expiry == inf else incoming.expiry)
        if len(session.taken) > TAKEN_KEPT:
            oldest = next(iter(session.taken))
            del session.taken[oldest]
            self._store.forget(f"taken/{session.client}/{oldest.hex()}")

    def _is_full(self, session: Session, now: float) -> bool:
        """Whether there is no room, not even that of what has expired without leaving."""
        if len(session.queue) < self._config.session_queue:
            return False
        for place in reversed(range(session.in_flight, len(session.queue))):
            if session.queue[place].incoming.expiry <= now:
                self._drop_at(session, place, Reason.EXPIRED)
        return len(session.queue) >= self._config.session_queue

    def _make_room(self, session: Session) -> bool:
        """Drop by policy; whether there is room now."""
        if self._config.queue_policy is QueuePolicy.OLDEST and session.in_flight < len(session.queue):
            self._drop_at(session, session.in_flight, Reason.QUEUE_FULL)
            return True
        return False

    def _drop_at(self, session: Session, place: int, reason: Reason) -> None:
        waiting = session.queue[place]
        del session.queue[place]
        self._outlet.lose(waiting.incoming.event_id, self._here, reason, session.client)
        self._store.forget(f"queue/{session.client}/{waiting.number:012d}")

    def _next_number(self, session: Session) -> int:
        session.number += 1
        if session.number > session.reserved:
            session.reserved = session.number + NUMBER_BLOCK
            self._save(session)
        return session.number

    def _pump(self, session: Session, now: float) -> None:
        """Send what the window admits; whatever has expired meanwhile is dropped."""
        if not session.is_on:
            return
        while session.in_flight < min(len(session.queue), self._config.session_window):
            waiting = session.queue[session.in_flight]
            if waiting.incoming.expiry <= now:
                self._drop_at(session, session.in_flight, Reason.EXPIRED)
                continue
            session.in_flight += 1
            before = session.queue[session.in_flight - 2].number if session.in_flight > 1 else 0
            self._send(session, waiting, before)
            self._delivery_row(session, waiting, now)
        if not session.in_flight:
            session.retry_at = None
        elif session.retry_at is None:  # what comes in does not put off the repetition of what has left
            session.retry_at = now + self._config.session_retry

    def _repeat(self, session: Session) -> None:
        before = 0
        for waiting in islice(session.queue, session.in_flight):
            self._send(session, waiting, before)
            before = waiting.number

    def _send(self, session: Session, waiting: _Waiting, before: int) -> None:
        """Send a delivery. It follows the one `before` it in the queue; whatever was ahead of the first is settled."""
        message = Deliver(session.epoch, waiting.number, before, waiting.incoming.body)
        self._answer(session.client, message, after_save=waiting.incoming.is_memorised)

    # Time

    def tick(self, now: float) -> None:
        for session in self.all():
            if not session.is_on:
                continue
            if session.heard + self._config.keep_alive <= now:
                self.close(session.client, now)
            elif session.retry_at is not None and session.retry_at <= now:
                session.retry_at = now + self._config.session_retry
                self._repeat(session)

    def forget_expired(self, now: float) -> None:
        """Forget which events sessions were given once nobody can offer them again.

        That is somewhat later than they expire: copies that waited on the way, or under a slow clock, last longer.
        """
        grace = self._config.contact_periods * self._config.refresh_period
        for session in self._sessions.values():
            for event_id in [each for each, expiry in session.taken.items() if expiry + grace <= now]:
                del session.taken[event_id]
                self._store.forget(f"taken/{session.client}/{event_id.hex()}")

    def next_deadline(self) -> float | None:
        times = [session.heard + self._config.keep_alive for session in self._sessions.values() if session.is_on]
        times += [session.retry_at for session in self._sessions.values() if session.retry_at is not None]
        return min(times, default=None)

    # Disk

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        """Take up the sessions as they were saved; every client is OFF until it opens its session again."""
        for (client,), (epoch, reserved, subscriptions) in saved_under(saved, "session/"):
            session = Session(client, self._free_slot(), epoch, heard=now, number=reserved, reserved=reserved)
            self._add(session)
            for number, wire in subscriptions:
                session.subscriptions[number] = Filter.from_wire_untrusted(wire)
                self._matcher.add(session.subscriptions[number], session.slot)
        for (client, number), (body, expiry, hops, via, since) in saved_under(saved, "queue/"):
            incoming = Incoming(Event.decode_untrusted(body), body, inf if expiry is None else expiry, hops, via)
            self._sessions[client].queue.append(_Waiting(int(number), incoming, since))
        for (client, event_id), (expiry,) in saved_under(saved, "taken/"):
            self._sessions[client].taken[EventId(bytes.fromhex(event_id))] = inf if expiry is None else expiry
        for (client, origin), (event_id,) in saved_under(saved, "latest/"):
            self._sessions[client].latest[int(origin)] = EventId(event_id)
        for (client,), published in saved_under(saved, "published/"):
            self._sessions[client].published.update((number, EventId(event_id)) for number, event_id in published)

    def _save(self, session: Session) -> None:
        subscriptions = [[number, each.to_wire()] for number, each in session.subscriptions.items()]
        self._store.put(f"session/{session.client}", session.epoch, session.reserved, subscriptions)

    # Out

    def _answer(self, client: str, message: Message, *, after_save: bool = False) -> None:
        self._outlet.emit(Answer(client, message, after_save))

    def _row(self, session: Session, state: str) -> None:
        self._outlet.emit(SessionRow(session.client, state, len(session.queue)))

    def _delivery_row(self, session: Session, waiting: _Waiting, now: float) -> None:
        incoming = waiting.incoming
        queued_us = round(1e6 * (now - waiting.since))
        event_id = incoming.event_id
        row = DeliveryRow(session.client, event_id, origin_of(event_id), incoming.hops, incoming.via, queued_us)
        self._outlet.emit(row)
