"""Client sessions, ON and OFF: a bounded queue at the home, a window of unacknowledged deliveries, strict order.

- A session outlives its connections: its subscriptions stand and its queue fills while the client is OFF (closed, or
  silent for the keep-alive time), and what waits is delivered in order when it is ON again, for as long as it lives.
- Deliveries are numbered per session and life of the daemon, and travel in runs. Up to `session_window` of them, or
  `session_window_bytes`, are on their way unacknowledged; they are repeated until the client acknowledges them,
  cumulatively.
- A memorised event is given to a session once; a real-time event only if no later one of its publisher was (it then
  counts as late), so real-time events come at most once and in publisher order, whatever path they took.
- A full queue drops by policy, counted. Only what has not left yet can be dropped.

What a restart must not forget is saved: memorised events in queues, and which were given, at once; real-time events
when their client goes OFF, for while it is ON they are gone again before a disk would have them. Which real-time events
a session was given last is saved within `SAVE_DELAY`.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import EventId, later, origin_of, peek_id, run_of
from chapar.limits import CLIENT_MTU, MAX_CLIENT_NAME
from chapar.session import PUBLISH_WINDOW, Acknowledge, Closed, Deliver, Goodbye, Opened, Receipt, Refused, Subscribed
from chapard.core.config import QueuePolicy
from chapard.core.effects import Answer, DeliveryRow, Reason, SessionRow
from chapard.core.matcher import Matcher
from chapard.core.nodevector import NodeVector
from chapard.core.session import Incoming, Session, Waiting
from chapard.core.session_disk import SessionDisk, restored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from chapar.event import Event
    from chapar.filter import Filter
    from chapar.session import Message
    from chapard.core.config import Config
    from chapard.core.outlet import Outlet
    from chapard.core.store import Store

RECEIPTS_KEPT = 2 * PUBLISH_WINDOW
"""Publications whose receipt can be repeated: more than a client has under way without one."""
REFUSED_RETRIES = 10
"""Serving retries for which a refused event keeps its place; a broker tries again after four of them at the latest."""
TAKEN_KEPT = 8192
"""Memorised events a session remembers having been given: far more than a table of them holds at a time."""
RETURN_TIME = 60.0
"""Seconds for which a session that is not to last outlives a client that fell silent, or a restart of the daemon."""
SAVE_DELAY = 1.0
"""Seconds until it is saved which real-time events were given last."""


class _Given(NamedTuple):
    """What a client was given in this turn; others that are given the same join its row."""

    bodies: Sequence[bytes]
    since: float
    now: float
    clients: list[str]


class Sessions:
    """All sessions of one home."""

    def __init__(self, index: int, incarnation: int, config: Config, outlet: Outlet, store: Store, rng: Random) -> None:
        self._index = index
        self._incarnation = incarnation
        self._here = NodeVector.of([index], config.nodes)
        self._config = config
        self._outlet = outlet
        self._given: _Given | None = None
        self._disk = SessionDisk(store)
        self._slots = config.session_limit
        self._rng = rng
        self._sessions: dict[str, Session] = {}
        self._by_slot: dict[int, Session] = {}
        self._matcher = Matcher(config.session_limit)
        self._save_at: float | None = None
        self._changed: dict[str, Session] = {}
        """Sessions to be saved when this round of requests is over: a client may subscribe many times in it."""

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

    def open(self, client: str, epoch: int, floor: int, now: float, *, lasting: bool = True) -> Session | None:
        """A client is ON; None if it cannot be served, which it is told."""
        session = self._sessions.get(client)
        if session is None:
            session = self._create(client, lasting=lasting)
            if session is None:
                return None
        if session.is_lasting is not lasting:
            session.is_lasting = lasting
            self._changed[session.client] = session
        resumed = session.epoch == epoch
        if not resumed:
            # A client that does not know the session counts its publications anew: old receipts are not for them.
            session.published = 0
            session.receipts.clear()
            self._disk.forget_published(session)
        session.published = max(session.published, floor - 1)
        session.heard = now
        if not session.is_on:
            session.is_on = True
            session.uptake.gone_on(now)
            self._row(session, "on")
        subscriptions = tuple(session.subscriptions)
        opened = Opened(session.epoch, self._incarnation, resumed, self._index, session.published, subscriptions)
        self._answer(client, opened)
        self._repeat(session)
        self._pump(session, now)
        return session

    def close(self, client: str, now: float) -> None:
        """A client goes OFF; its session stands."""
        session = self._sessions.get(client)
        if session is not None and session.is_on:
            session.heard = now
            self._off(session)

    def closed(self, client: str) -> None:
        """Confirm to a client that it is OFF, once all it has acknowledged is on the disk as such."""
        self._answer(client, Closed(), after_save=True)

    def _off(self, session: Session) -> None:
        session.is_on, session.retry_at = False, None
        for waiting in (*session.flight, *session.queue):
            self._disk.save_waiting(session, waiting)
        self._disk.save_latest(session)
        self._disk.save_published(session)
        session.uptake.gone_off(session.heard)
        if session.uptake.events:
            self._outlet.emit(session.uptake.row(session.client, session.heard))
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
                self._off(session)
                self._answer(session.client, Goodbye(), after_save=True)

    def _create(self, client: str, *, lasting: bool) -> Session | None:
        if not 0 < len(client) <= MAX_CLIENT_NAME or "/" in client or not client.isprintable():
            rule = f"a client's name has 1 to {MAX_CLIENT_NAME} printable characters without '/'"
            self._answer(client, Refused(0, rule))
            return None
        if len(self._sessions) >= self._config.session_limit and not self._evict():
            self._outlet.drop(Reason.SESSION_LIMIT, client=client)
            self._answer(client, Refused(0, f"this node serves {self._config.session_limit} sessions already"))
            return None
        session = Session(client, self._free_slot(), 1 + self._rng.getrandbits(31), lasting)
        self._add(session)
        self._changed[session.client] = session
        return session

    def _evict(self) -> bool:
        """Make room for a session: of those OFF that want nothing and wait for nothing, the longest silent one goes."""
        idle = [each for each in self.all() if not (each.is_on or each.subscriptions or each.events)]
        if idle:
            self.remove(min(idle, key=lambda session: session.heard))
        return bool(idle)

    def remove(self, session: Session) -> None:
        """Forget a session for good. Its subscriptions are to be taken back before."""
        assert not session.subscriptions, "whoever announces them takes them back"
        for waiting in (*session.flight, *session.queue):
            self._lose(session, waiting, Reason.SESSION_ENDED)
        self._changed.pop(session.client, None)
        self._disk.forget(session)
        del self._sessions[session.client], self._by_slot[session.slot]

    def _add(self, session: Session) -> None:
        self._sessions[session.client] = session
        self._by_slot[session.slot] = session

    def _free_slot(self) -> int:
        return next(slot for slot in range(self._slots) if slot not in self._by_slot)

    # Subscriptions

    def subscribe(self, session: Session, number: int, filter: Filter) -> bool:  # noqa: A002 - the field's own noun
        """Whether this is a new subscription; a repetition changes nothing."""
        if number in session.subscriptions:
            self._answer(session.client, Subscribed(number), after_save=True)
            return False
        if len(session.subscriptions) >= self._config.subscriptions_per_client:
            self._outlet.drop(Reason.TOO_MANY_FILTERS, client=session.client)
            limit = self._config.subscriptions_per_client
            self._answer(session.client, Refused(number, f"a client has at most {limit} subscriptions"))
            return False
        session.subscriptions[number] = filter
        self._matcher.add(filter, session.slot)
        self._changed[session.client] = session
        self._answer(session.client, Subscribed(number), after_save=True)
        return True

    def unsubscribe(self, session: Session, number: int) -> Filter | None:
        """The filter that the client no longer wants under this number."""
        gone = session.subscriptions.pop(number, None)
        if gone is None:
            return None
        if gone not in session.subscriptions.values():
            self._matcher.remove(gone, session.slot)
        self._changed[session.client] = session
        return gone

    # Publications

    def accepted(self, session: Session, number: int, event_id: EventId, count: int, *, after_save: bool) -> None:
        """Confirm a run of publications to the client, and remember that they were accepted."""
        session.published = number + count - 1
        receipts = session.receipts
        first, id_, length, waits = receipts[-1] if receipts else (-1, event_id, 0, after_save)
        if first + length == number and later(id_, length) == event_id and waits is after_save:
            receipts[-1] = (first, id_, length + count, after_save)
        else:
            receipts.append((number, event_id, count, after_save))
        while receipts[0][0] + receipts[0][2] + RECEIPTS_KEPT <= session.published + 1:
            receipts.popleft()
        if after_save:
            self._disk.save_published(session)
        self._answer(session.client, Receipt(number, event_id, count), after_save=after_save)

    def receipts_again(self, session: Session, number: int, count: int) -> None:
        """Answer for publications that were answered before. Which were refused, and why, is not kept."""
        end = number + count
        for first, event_id, accepted, after_save in session.receipts:
            start, stop = max(number, first), min(end, first + accepted)
            if start >= stop:
                continue
            for refused in range(number, start):
                self.refuse(session.client, refused, "refused before")
            # What is on its way to the disk since it was accepted is there before this answer leaves.
            receipt = Receipt(start, later(event_id, start - first), stop - start)
            self._answer(session.client, receipt, after_save=after_save)
            number = stop
        for refused in range(number, end):
            self.refuse(session.client, refused, "refused before")

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
        """Queue events for every client that wants them. False if one refused: the home does not confirm them then."""
        is_safe = True
        for slot in self._matcher.match(incoming.event).indexes():
            is_safe &= self.take_for(self._by_slot[slot], incoming, now)
        return is_safe

    def take_for(self, session: Session, incoming: Incoming, now: float) -> bool:
        """Queue events for one client: it wants them, has just subscribed or has room again; False if it refuses."""
        fresh = self._fresh(session, incoming)
        if not fresh:
            return True
        if session.refused or self._overflows(session, fresh):
            is_safe = True
            for body in fresh:
                is_safe &= self._give(session, incoming, body, now)
        else:
            is_safe = True
            self._mark(session, incoming, fresh, now)
            self._enqueue(session, incoming, fresh, now)
        self._pump(session, now)
        return is_safe

    def acknowledge(self, session: Session, ack: Acknowledge, now: float) -> None:
        """Everything up to this number is safe with the client."""
        flight = session.flight
        if ack.incarnation != self._incarnation or not flight or flight[0].number > ack.number:
            return
        events, waited = 0, 0.0
        while flight and flight[0].number <= ack.number:
            first = flight.popleft()
            done = min(len(first.bodies), ack.number + 1 - first.number)
            events += done
            waited += done * (now - first.since)
            size = sum(map(len, first.bodies[:done]))
            session.flight_events -= done
            session.flight_bytes -= size
            self._gone(session, first.number, done, size)
            if done < len(first.bodies):
                flight.appendleft(first.without_first(done))
        session.retry_at = None
        if self._config.record and session.uptake.taken(events, waited, now, more=session.events > 0):
            self._outlet.emit(session.uptake.row(session.client, now))
        self._pump(session, now)

    def _give(self, session: Session, incoming: Incoming, body: bytes, now: float) -> bool:
        """The queue is full, or nearly, or something was refused before: one event, by policy."""
        event_id = peek_id(body)
        if incoming.is_memorised and self._is_behind_refused(session, event_id, now):
            self._refuse(session, event_id, now)
            return False
        if self._is_full(session, now, (body,)) and not self._make_room(session, body):
            if incoming.is_memorised and self._config.queue_policy is QueuePolicy.REFUSE:
                self._refuse(session, event_id, now)
                return False
            self._outlet.lose(event_id, self._here, Reason.QUEUE_FULL, session.client)
            self._mark(session, incoming, (body,), now)  # what was dropped does not come back out of order
            return True
        self._mark(session, incoming, (body,), now)
        self._enqueue(session, incoming, (body,), now)
        return True

    def _enqueue(self, session: Session, incoming: Incoming, bodies: Sequence[bytes], now: float) -> None:
        is_memorised = incoming.is_memorised
        number = session.number + 1
        waiting = Waiting(number, bodies, is_memorised, incoming.expiry, incoming.hops, incoming.via, now)
        session.number += len(bodies)
        session.events += len(bodies)
        session.bytes += sum(map(len, bodies))
        session.queue.append(waiting)
        session.expires = min(session.expires, incoming.expiry)
        if is_memorised or not session.is_on:
            self._disk.save_waiting(session, waiting)

    def _refuse(self, session: Session, event_id: EventId, now: float) -> None:
        """Leave a memorised event with the brokers, which will serve it again; meanwhile it keeps its place."""
        self._outlet.drop(Reason.QUEUE_FULL, client=session.client)
        session.refused.setdefault(origin_of(event_id), {})[event_id] = now + self._refusal_time

    def _is_behind_refused(self, session: Session, event_id: EventId, now: float) -> bool:
        """Whether an earlier event of the same publisher was refused and will be served again: it goes first."""
        refused = session.refused.get(origin_of(event_id))
        if refused is None:
            return False
        for each in [each for each, until in refused.items() if until <= now or each == event_id]:
            del refused[each]
        if not refused:
            del session.refused[origin_of(event_id)]
        return any(each < event_id for each in refused)

    @property
    def _refusal_time(self) -> float:
        """How long a refused event keeps its place: its broker tries again several times within it."""
        return REFUSED_RETRIES * self._config.serve_retry

    def _fresh(self, session: Session, incoming: Incoming) -> Sequence[bytes]:
        """The events that this session was not given yet and, if they are real-time, that no later one overtook."""
        bodies = incoming.bodies
        first = peek_id(bodies[0])
        if incoming.is_memorised:
            return [body for body in bodies if peek_id(body) not in session.taken]
        latest = session.latest.get(origin_of(first), b"")
        if first > latest:
            return bodies
        for event_id in map(peek_id, bodies):
            if event_id == latest:
                self._outlet.drop(Reason.DUPLICATE, client=session.client, event_id=event_id)
            elif event_id < latest:
                self._outlet.lose(event_id, self._here, Reason.LATE, session.client)
        return [body for body in bodies if peek_id(body) > latest]

    def _mark(self, session: Session, incoming: Incoming, bodies: Sequence[bytes], now: float) -> None:
        if not incoming.is_memorised:
            self._mark_latest(session, peek_id(bodies[-1]), now)
            return
        for event_id in map(peek_id, bodies):
            session.taken[event_id] = incoming.expiry
            self._disk.save_taken(session, event_id, incoming.expiry)
            if len(session.taken) > TAKEN_KEPT:
                oldest = next(iter(session.taken))
                del session.taken[oldest]
                self._disk.forget_taken(session, oldest)

    def _mark_latest(self, session: Session, event_id: EventId, now: float) -> None:
        session.latest[origin_of(event_id)] = event_id
        session.unsaved.add(origin_of(event_id))
        self._save_soon(now)

    def _save_soon(self, now: float) -> None:
        if self._save_at is None:
            self._save_at = now + SAVE_DELAY

    def _overflows(self, session: Session, more: Sequence[bytes]) -> bool:
        config = self._config
        size = session.bytes + sum(map(len, more))
        return session.events + len(more) > config.session_queue or size > config.session_bytes

    def _is_full(self, session: Session, now: float, more: Sequence[bytes] = (b"",)) -> bool:
        """Whether there is no room for `more`, not even that of what has expired without leaving."""
        if not self._overflows(session, more):
            return False
        if session.expires <= now:
            self._drop_expired(session, now)
        return self._overflows(session, more)

    def _drop_expired(self, session: Session, now: float) -> None:
        expired = [each for each in session.queue if each.expiry <= now]
        session.queue = deque(each for each in session.queue if each.expiry > now)
        session.expires = min((each.expiry for each in session.queue), default=inf)
        for waiting in expired:
            self._lose(session, waiting, Reason.EXPIRED)

    def _make_room(self, session: Session, body: bytes) -> bool:
        """Drop by policy; whether there is room now."""
        if self._config.queue_policy is not QueuePolicy.OLDEST:
            return False
        while session.queue and self._overflows(session, (body,)):
            oldest = session.queue.popleft()
            self._lose(session, oldest._replace(bodies=oldest.bodies[:1]), Reason.QUEUE_FULL)
            if len(oldest.bodies) > 1:
                session.queue.appendleft(oldest.without_first(1))
        return not self._overflows(session, (body,))

    def _lose(self, session: Session, waiting: Waiting, reason: Reason) -> None:
        for body in waiting.bodies:
            self._outlet.lose(peek_id(body), self._here, reason, session.client)
        self._gone(session, waiting.number, len(waiting.bodies), sum(map(len, waiting.bodies)))

    def _gone(self, session: Session, number: int, events: int, size: int) -> None:
        """Deliveries from `number` on are done with, one way or the other."""
        session.events -= events
        session.bytes -= size
        self._disk.forget_waiting(session, number, events)

    def _pump(self, session: Session, now: float) -> None:
        """Send what the window admits; whatever has expired meanwhile is dropped."""
        queue, flight, config = session.queue, session.flight, self._config
        if not session.is_on:
            return
        while queue and session.flight_events < config.session_window:
            if session.flight_bytes >= config.session_window_bytes:
                break
            waiting = queue.popleft()
            if waiting.expiry <= now:
                self._lose(session, waiting, Reason.EXPIRED)
                continue
            room = self._window_room(session, waiting.bodies)
            if len(waiting.bodies) > room:
                queue.appendleft(waiting.without_first(room))
                waiting = waiting._replace(bodies=waiting.bodies[:room])
            before = flight[-1].last if flight else 0
            flight.append(waiting)
            session.flight_events += len(waiting.bodies)
            session.flight_bytes += sum(map(len, waiting.bodies))
            self._send(session, waiting, before)
            self._outlet.delivered += len(waiting.bodies)
            if config.record:
                self._record(session, waiting, now)
        if not flight:
            session.retry_at = None
        elif session.retry_at is None:  # what comes in does not put off the repetition of what has left
            session.retry_at = now + config.session_retry

    def _window_room(self, session: Session, bodies: Sequence[bytes]) -> int:
        """How many of these the window still admits; one at least, or an event above the bytes would never leave."""
        room = min(len(bodies), self._config.session_window - session.flight_events)
        left = self._config.session_window_bytes - session.flight_bytes
        if sum(map(len, bodies)) <= left:
            return room
        for place, body in enumerate(bodies[:room]):
            left -= len(body)
            if left <= 0:
                return place + 1
        return room

    def _repeat(self, session: Session, most: float = inf) -> None:
        """Send what is in flight once more, from the oldest on, up to about so many bytes."""
        before = 0
        for waiting in session.flight:
            self._send(session, waiting, before)
            before = waiting.last
            most -= sum(map(len, waiting.bodies))
            if most <= 0:
                break

    def _send(self, session: Session, waiting: Waiting, before: int) -> None:
        """Send a run. It follows the delivery `before` it in flight; whatever was ahead of the first is settled."""
        message = Deliver(self._incarnation, waiting.number, before, waiting.bodies)
        self._answer(session.client, message, after_save=waiting.is_memorised)

    # Time

    def tick(self, now: float) -> list[Session]:
        """Do what is due; returns the sessions that are over, to be removed."""
        if self._save_at is not None and self._save_at <= now:
            self._save_at = None
            for session in self.all():
                self._disk.save_latest(session)
        over = []
        for session in self.all():
            if not session.is_on:
                if self._ends_at(session) <= now:
                    over.append(session)
            elif session.heard + self._config.keep_alive <= now:
                self.close(session.client, now)
            elif session.retry_at is not None and session.retry_at <= now:
                session.retry_at = now + self._config.session_retry
                # A datagram's worth: if the application is only slow, the rest has arrived.
                self._repeat(session, CLIENT_MTU)
        return over

    def _ends_at(self, session: Session) -> float:
        """When a session that is not to last is over: its client has had time to find its way back."""
        return inf if session.is_on or session.is_lasting else session.heard + RETURN_TIME

    def forget_expired(self, now: float) -> None:
        """Forget which events sessions were given once nobody can offer them again.

        That is somewhat later than they expire: copies that waited on the way, or under a slow clock, last longer.
        """
        grace = self._config.contact_periods * self._config.refresh_period
        for session in self._sessions.values():
            for event_id in [each for each, expiry in session.taken.items() if expiry + grace <= now]:
                del session.taken[event_id]
                self._disk.forget_taken(session, event_id)

    def next_deadline(self) -> float | None:
        times = [session.heard + self._config.keep_alive for session in self._sessions.values() if session.is_on]
        times += [session.retry_at for session in self._sessions.values() if session.retry_at is not None]
        times += [end for end in map(self._ends_at, self._sessions.values()) if end < inf]
        if self._save_at is not None:
            times.append(self._save_at)
        return min(times, default=None)

    # Disk

    def save_changed(self) -> None:
        """Save what sessions are subscribed to, once, however often that has changed."""
        for session in self._changed.values():
            self._disk.save(session)
        self._changed.clear()
        self._given = None  # its row is being drained

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        """Take up the sessions as they were saved, also if there are more of them than there may be now."""
        sessions = restored(saved, now)
        self._slots = max(self._config.session_limit, len(sessions))
        self._matcher = Matcher(self._slots)
        for session in sessions:
            self._add(session)
            for filter_ in session.subscriptions.values():
                self._matcher.add(filter_, session.slot)
            if session.unsaved:
                self._save_soon(now)

    # Out

    def _answer(self, client: str, message: Message, *, after_save: bool = False) -> None:
        self._outlet.emit(Answer(client, message, after_save))

    def _row(self, session: Session, state: str) -> None:
        self._outlet.emit(SessionRow(session.client, state, session.events))

    def _record(self, session: Session, waiting: Waiting, now: float) -> None:
        """Have it recorded: in one row for all clients that are given the same events in the same turn."""
        given = self._given
        if given is not None and given.bodies is waiting.bodies and given.since == waiting.since and given.now == now:
            given.clients.append(session.client)
            return
        bodies, hops, via, clients = waiting.bodies, waiting.hops, waiting.via, [session.client]
        queued_us = round(1e6 * (now - waiting.since))
        first = run_of(bodies)
        if first is None:
            for event_id in map(peek_id, bodies):
                self._outlet.emit(DeliveryRow(clients, event_id, origin_of(event_id), hops, via, queued_us))
        else:
            self._outlet.emit(DeliveryRow(clients, first, origin_of(first), hops, via, queued_us, len(bodies)))
        self._given = _Given(bodies, waiting.since, now, clients)
