"""The home: clients' requests, the filters they add up to, and the events they publish and receive.

A home decides alone what concerns only its clients: it serves them itself from what it holds, checks that a publisher
is a member of the group it publishes to (report 2.2.3), and stamps each event with an id that is unique across
restarts. What others must know it leaves in `publications`, `announcements` (its filters, reduced), `wishes` (the same
client by client) and `replays`, for the strategy to hand on.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

from chapar.errors import WireError
from chapar.event import Delivery, Event, event_id, peek_id, stamp_run
from chapar.limits import CLIENT_MTU, MAX_EVENT_BYTES, STAMP_BYTES
from chapar.session import (
    Acknowledge,
    Close,
    Inquire,
    Open,
    Ping,
    Pong,
    Publish,
    Request,
    Subscribe,
    Unsubscribe,
)
from chapard.core.effects import Answer, InterestRow, PublishRow, Reason
from chapard.core.inquiries import Inquiries
from chapard.core.interests import Announcement, Interests
from chapard.core.nodevector import NodeVector
from chapard.core.order import FARTHEST, Arrival, Arrivals
from chapard.core.session import Incoming, Session
from chapard.core.sessions import Sessions
from chapard.core.store import saved_under

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from random import Random

    from chapar.event import EventId
    from chapar.filter import Filter
    from chapard.core.met import MET, Memory
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.store import Store


class Keeper(Protocol):
    """Who keeps the memorised events that a home serves its clients from."""

    @property
    def met(self) -> MET: ...

    def publish(self, event: Event, body: bytes, now: float) -> None:
        """Keep an event of one of our own clients; `settle` it when the disk has it."""

    def settle(self, event_id: EventId) -> None:
        """An event of our own clients can no longer be undone by a crash."""

    def confirm(self, event_id: EventId) -> None:
        """The event is safe in the queues of our clients."""


class Wish(NamedTuple):
    """A subscription of a client that stands from now on, or does not any more."""

    client: str
    filter: Filter
    stands: bool


HEADS_KEPT = 1024
"""Heads of events that are kept decoded: publishers tend to repeat themselves."""
LONGEST_HEAD = 1024
"""Bytes of a head that is kept."""


DELIVERY_OVERHEAD = 5
"""Bytes that an event takes in a run of deliveries beside its body; the run itself takes less than one event."""


class Publication(NamedTuple):
    """Events that wait for their broker, with all but the payload in common; real-time ones not for ever."""

    event: Event
    bodies: Sequence[bytes]
    deadline: float
    behind: int = 0
    """How many events before the first of them the last real-time one was published; 0 if none is known."""

    def each(self) -> Iterator[tuple[bytes, int]]:
        """Their bodies, each with how far it is behind the one before it."""
        for place, body in enumerate(self.bodies):
            yield body, self.behind if place == 0 else 1


class _Head(NamedTuple):
    """What a client's events have in common, decoded, as this home will stamp it."""

    event: Event
    encoded: bytes


class Home:
    """The home's half of a node."""

    def __init__(
        self, station: Station, outlet: Outlet, store: Store, memorised: Keeper, rng: Random
    ) -> None:
        self._station = station
        self._config = station.config
        self._outlet = outlet
        self._store = store
        self._memorised = memorised
        self.sessions = Sessions(station.index, station.incarnation, station.config, outlet, store, rng)
        self._arrivals = Arrivals(station.config.overtaking_patience, station.config.session_queue)
        self.inquiries = Inquiries(station, outlet, memorised.met)
        self.interests = Interests(station.incarnation)
        self.is_amnesiac = True
        """Started without a disk: what the brokers believe to be delivered here may be lost."""
        self.publications: deque[Publication] = deque()
        self.announcements: list[Announcement] = []
        self.wishes: list[Wish] = []
        self.replays: list[Filter] = []
        self.waiting = 0
        """Events in `publications`, and those that are not on the disk yet."""
        self._unsaved: deque[tuple[int, Publication]] = deque()
        self._heads: dict[bytes, _Head] = {}
        self._sequence = 0
        self._realtime = 0
        """The number of the last real-time event; 0 if there was none."""
        self._chain = 0

    # Requests of clients

    def request(self, client: str, request: Request, now: float) -> None:
        """Carry out one request of a client."""
        if isinstance(request, Open):
            self.sessions.open(client, request.epoch, request.floor, now, lasting=request.lasting)
            return
        if isinstance(request, Close):
            self._close(client, now)
            return
        session = self.sessions.heard(client, now)
        if session is None:
            return
        match request:
            case Subscribe(number, filter_):
                self._subscribe(session, number, filter_, now)
            case Unsubscribe(number):
                self._unsubscribe(session, number)
            case Publish():
                self._publish(session, request, now)
            case Acknowledge():
                self.sessions.acknowledge(session, request, now)
                self._offer_refused(session, now)
            case Inquire():
                self.inquiries.ask(client, request, now)
            case Ping():
                self._outlet.emit(Answer(client, Pong(), after_save=False))

    def _close(self, client: str, now: float) -> None:
        """A client goes OFF. One that is OFF already has not heard the answer: it gets it again."""
        session = self.sessions.get(client)
        self.sessions.close(client, now)
        if session is not None and not session.is_lasting:
            self._end(session)
        self.sessions.closed(client)

    def _subscribe(self, session: Session, number: int, filter_: Filter, now: float) -> None:
        if session.subscriptions.get(number, filter_) != filter_:
            self._unsubscribe(session, number)  # a client that started anew counts its requests anew
        if not self.sessions.subscribe(session, number, filter_):
            return
        self._outlet.emit(InterestRow(session.client, filter_.fid, "subscribe"))
        self.wishes.append(Wish(session.client, filter_, stands=True))
        self._announce(self.interests.add(filter_))
        # Instant notification (3.3.1): what this node holds itself comes at once, the rest from its broker.
        for memory in self._memorised.met:
            if self.is_for_here(memory) and filter_.matches(memory.event):
                self.sessions.take_for(session, incoming_of(memory, "instant"), now)
                self._confirm_if_safe(memory, now)
        if self.is_amnesiac:
            self.replays.append(filter_)

    def _confirm_if_safe(self, memory: Memory, now: float) -> None:
        """An event we held unconfirmed, as a client had refused it, may now be with everyone here who wants it."""
        if not memory.delivered[self._station.index] and self.take(incoming_of(memory, "instant"), now):
            self._memorised.confirm(memory.event_id)

    def _offer_refused(self, session: Session, now: float) -> None:
        """There is room in a queue again: what it refused, and we hold, comes now, in its publishers' order."""
        for refused in session.refused_ids():
            memory = self._memorised.met.get(refused)
            if memory is None or not any(each.matches(memory.event) for each in session.subscriptions.values()):
                continue
            if not self.sessions.take_for(session, incoming_of(memory, "memorised"), now):
                return
            self._confirm_if_safe(memory, now)

    def _unsubscribe(self, session: Session, number: int) -> None:
        gone = self.sessions.unsubscribe(session, number)
        if gone is not None:
            self._outlet.emit(InterestRow(session.client, gone.fid, "unsubscribe"))
            self.wishes.append(Wish(session.client, gone, stands=False))
            self._announce(self.interests.remove(gone))

    def _end(self, session: Session) -> None:
        """A session is over, and with it its interests."""
        for number in list(session.subscriptions):
            self._unsubscribe(session, number)
        self.sessions.remove(session)

    def _announce(self, announcements: list[Announcement]) -> None:
        if announcements:
            self.announcements += announcements
            self._store.put("home", self.interests.version)

    def contradicted(self, version: int) -> None:
        """Somebody holds other filters for this home, under this version."""
        self.interests.contradicted(version)
        self._store.put("home", self.interests.version)

    # Publications

    def _publish(self, session: Session, run: Publish, now: float) -> None:
        """Take a run of events from a client; what it has sent before gets the same answer as before."""
        if run.after > session.published:
            self._outlet.drop(Reason.GAP, client=session.client)
            return
        number, payloads = run.number, run.payloads
        known = session.published + 1 - number
        if known > 0:
            self.sessions.receipts_again(session, number, min(known, len(payloads)))
            number, payloads = number + known, payloads[known:]
        if not payloads:
            return
        head = self._heads.get(run.head) or self._read(run.head)
        if head is None:
            self._outlet.drop(Reason.MALFORMED, client=session.client)
            self._refuse_all(session, number, len(payloads), "this is no event")
            return
        refusal = self._refusal(session.client, head.event, now)
        if refusal is not None:
            self._refuse_all(session, number, len(payloads), refusal)
        elif len(head.encoded) + max(map(len, payloads)) + STAMP_BYTES > MAX_EVENT_BYTES:
            self._publish_each(session, head, number, payloads, now)
        else:
            self._publish_run(session, head, number, payloads, now)

    def _publish_each(
        self, session: Session, head: _Head, number: int, payloads: Sequence[bytes], now: float
    ) -> None:
        """One of these events is too large: the others are not."""
        for place, payload in enumerate(payloads, number):
            if len(head.encoded) + len(payload) + STAMP_BYTES > MAX_EVENT_BYTES:
                self._outlet.drop(Reason.TOO_LARGE, client=session.client)
                reason = f"an event has at most {MAX_EVENT_BYTES} bytes: send a large thing as several events"
                self._refuse_all(session, place, 1, reason)
            else:
                self._publish_run(session, head, place, (payload,), now)

    def _publish_run(
        self, session: Session, head: _Head, number: int, payloads: Sequence[bytes], now: float
    ) -> None:
        # With a broker, only what the disk has not taken yet waits: as much as there may be of memorised events.
        limit = self._config.outbox_limit if self._station.broker is None else self._config.outbox_most
        room = max(0, limit - self.waiting)
        if len(payloads) > room:
            self._outlet.drop(Reason.QUEUE_FULL, client=session.client)
            reason = f"{limit} events wait here for a broker, or for the disk: publish again later"
            if room > 0:
                self._publish_run(session, head, number, payloads[:room], now)
            self._refuse_all(session, number + room, len(payloads) - room, reason)
            return
        first = event_id(self._station.index, self._station.incarnation, self._sequence + 1)
        if head.event.delivery is Delivery.REALTIME:
            self._sequence += len(payloads)
            bodies = stamp_run(head.encoded, first, payloads)
            sizes = set(map(len, bodies))
            self._record(session, head.event, bodies, sizes)
            deadline = now + self._config.publish_patience
            self._outgoing(Publication(head.event, bodies, deadline, self._behind(len(bodies))))
            if self._concerns_us(head.event):
                self._serve_run(head.event, bodies, max(sizes), now)
            self.sessions.accepted(session, number, first, len(bodies), after_save=False)
        else:
            bodies = [self._memorise(session, head, payload, now) for payload in payloads]
            self.sessions.accepted(session, number, first, len(bodies), after_save=True)

    def _behind(self, count: int) -> int:
        """How far the first of so many real-time events, just numbered, is behind the last one before them."""
        before, self._realtime = self._realtime, self._sequence
        distance = self._sequence - count + 1 - before
        return distance if before and distance <= FARTHEST else 0

    def _serve_run(self, event: Event, bodies: Sequence[bytes], largest: int, now: float) -> None:
        """Give real-time events to our clients, in runs that fill a datagram each: cut once, not for each client."""
        most = max(1, CLIENT_MTU // (largest + DELIVERY_OVERHEAD) - 1)
        for start in range(0, len(bodies), most):
            self.take(Incoming(event, bodies[start : start + most], inf, 0, "realtime"), now)

    def _memorise(self, session: Session, head: _Head, payload: bytes, now: float) -> bytes:
        """Stamp and keep one memorised event, and give it to our own clients."""
        self._sequence += 1
        self._chain += 1
        id_ = event_id(self._station.index, self._station.incarnation, self._sequence)
        event = head.event.with_payload(payload).accepted(id=id_, chain=self._chain)
        body = event.encode()
        self._record(session, event, (body,), {len(body)})
        self._memorised.publish(event, body, now)
        if self._concerns_us(event):
            self._serve_here(event, body, now)
        # It leaves this node when a crash can no longer forget it: else its publisher would publish it once more.
        self._unsaved.append((self._store.mark(), Publication(event, (body,), inf)))
        self.waiting += 1
        return body

    def saved(self, number: int) -> None:
        """What was saved up to this mark is on the disk."""
        while self._unsaved and self._unsaved[0][0] <= number:
            publication = self._unsaved.popleft()[1]
            self._memorised.settle(peek_id(publication.bodies[0]))
            self._in_order(publication)

    def _outgoing(self, publication: Publication) -> None:
        self.publications.append(publication)
        self.waiting += len(publication.bodies)

    def outgoing(self) -> list[Publication]:
        """Drain what waits for a broker, oldest first."""
        drained = list(self.publications)
        self.publications.clear()
        self.waiting = len(self._unsaved)
        return drained

    def _record(self, session: Session, event: Event, bodies: Sequence[bytes], sizes: AbstractSet[int]) -> None:
        """Count the events of a run, and have them recorded: in one row if they have one size."""
        self._outlet.published += len(bodies)
        if not self._config.record:
            return
        client, delivery, lifetime_ms = session.client, event.delivery.label, event.lifetime_ms
        runs = [bodies] if len(sizes) == 1 else [list(each) for _, each in groupby(bodies, len)]
        for run in runs:
            first = peek_id(run[0])
            row = PublishRow(client, first, delivery, lifetime_ms, len(run[0]), event.subject, len(run))
            self._outlet.emit(row)

    def _read(self, encoded: bytes) -> _Head | None:
        """What a head stands for; None if it stands for nothing a client may send."""
        try:
            event = Event.decode_head_untrusted(encoded)
        except WireError:
            return None
        if event.id is not None or event.chain:
            return None
        stamped = event.accepted(id=event_id(self._station.index, self._station.incarnation, 0), chain=0)
        head = _Head(stamped, event.head())
        if len(encoded) <= LONGEST_HEAD:
            if len(self._heads) >= HEADS_KEPT:
                self._heads.clear()
            self._heads[encoded] = head
        return head

    def _refuse_all(self, session: Session, number: int, count: int, reason: str) -> None:
        session.published = max(session.published, number + count - 1)
        for each in range(number, number + count):
            self.sessions.refuse(session.client, each, reason)

    def _refusal(self, client: str, event: Event, now: float) -> str | None:
        """Why events with this head are not accepted, as one line for their publisher; None if they are."""
        group = self._config.groups.get(event.group) if event.group is not None else None
        if group is not None and client not in group.clients:
            self._outlet.drop(Reason.NOT_MEMBER, client=client)
            return f"{client} is not a member of group {event.group}"
        if any(node >= self._config.nodes for node in event.to):
            return f"this network has the nodes 0 to {self._config.nodes - 1}"
        if self._concerns_us(event) and self.sessions.is_blocked_for(event, now):
            self._outlet.drop(Reason.QUEUE_FULL, client=client)
            return "the queue of a subscriber on this node is full: publish again later"
        return None

    def _serve_here(self, event: Event, body: bytes, now: float) -> None:
        """Our own clients need no broker."""
        assert event.id is not None, "stamped"
        memory = self._memorised.met.get(event.id)
        if memory is None:
            expiry = now + event.lifetime_ms / 1000 if event.lifetime_ms else inf
            self.take(Incoming(event, (body,), expiry, 0, "realtime"), now)
        elif self.take(incoming_of(memory, "realtime"), now):
            self._memorised.confirm(event.id)

    def requeue(self, publication: Publication) -> None:
        """A broker could not be reached with this event: it takes its place again."""
        self._in_order(publication)
        self.waiting += len(publication.bodies)

    def _in_order(self, publication: Publication) -> None:
        """Put events where they belong in the order of publication."""
        insort(self.publications, publication, key=lambda each: peek_id(each.bodies[0]))

    def tick(self, now: float) -> None:
        # Memorised events wait for as long as it takes; the real-time ones behind them do not.
        for late in [each for each in self.publications if each.deadline <= now]:
            self.publications.remove(late)
            self.waiting -= len(late.bodies)
            for body in late.bodies:
                self._outlet.lose(peek_id(body), ~NodeVector.empty(self._config.nodes), Reason.NO_BROKER)
        for arrival in self._arrivals.tick(now):
            self._serve_realtime(arrival, now)
        self.inquiries.tick(now)
        for session in self.sessions.tick(now):
            self._end(session)

    def next_deadline(self) -> float | None:
        times = [each.deadline for each in self.publications if each.deadline < inf]
        parts = (self._arrivals, self.sessions, self.inquiries)
        times += [time for part in parts if (time := part.next_deadline()) is not None]
        return min(times, default=None)

    # Events for our clients

    def take(self, incoming: Incoming, now: float) -> bool:
        """Queue an event for the clients that want it; False if it must not be confirmed."""
        return self.sessions.take(incoming, now)

    def take_realtime(self, arrival: Arrival, behind: int, now: float) -> None:
        """A real-time event has arrived for this home: its clients get it when those before it had their chance."""
        for each in self._arrivals.take(arrival, behind if self._config.hop_ack else 0, now):
            self._serve_realtime(each, now)

    def _serve_realtime(self, arrival: Arrival, now: float) -> None:
        event, body, hops = arrival
        assert event.id is not None, "it came with an id"
        if event.to and not self.sessions.is_wanted(event):
            here = NodeVector.of([self._station.index], self._config.nodes)
            self._outlet.lose(event.id, here, Reason.NO_CLIENT)
        self.take(Incoming(event, (body,), inf, hops, "realtime"), now)

    def is_for_here(self, memory: Memory) -> bool:
        """Whether clients of this home may have the event: it is addressed to nobody by name, or to us."""
        return self._concerns_us(memory.event)

    def _concerns_us(self, event: Event) -> bool:
        return not event.to or self._station.index in event.to

    # Disk

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        """Take up what was saved before a restart."""
        for _, (version,) in saved_under(saved, "home"):
            self.interests = Interests(self._station.incarnation, version)
        self.sessions.restore(saved, now)
        self.interests.restore(self.sessions.filters())
        self.is_amnesiac = False


def incoming_of(memory: Memory, via: str, hops: int = 0) -> Incoming:
    return Incoming(memory.event, (memory.body,), memory.expiry, hops, via)
