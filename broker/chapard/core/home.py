"""The home: clients' requests, the filters they add up to, and the events they publish and receive.

A home decides alone what concerns only its clients: it serves them itself from what it holds, checks that a publisher
is a member of the group it publishes to (report 2.2.3), and stamps each event with an id that is unique across
restarts. What others must know it leaves in `publications`, `announcements` and `replays` for the node to hand to a
broker.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.errors import EventError
from chapar.event import Delivery, Event, event_id, peek_id
from chapar.limits import MAX_EVENT_BYTES
from chapar.session import Acknowledge, Close, Open, Ping, Publish, Request, Subscribe, Unsubscribe
from chapard.core.effects import InterestRow, PublishRow, Reason
from chapard.core.interests import Announcement, Interests
from chapard.core.nodevector import NodeVector
from chapard.core.sessions import Incoming, Session, Sessions
from chapard.core.store import saved_under

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from chapar.filter import Filter
    from chapard.core.memorised import Memorised
    from chapard.core.met import Memory
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.store import Store


CHAIN_BYTES = 8
"""Bytes by which the largest number in a chain is longer than the smallest."""


class Publication(NamedTuple):
    """An event that waits for its broker; a real-time one not for ever."""

    event: Event
    body: bytes
    deadline: float


class Home:
    """The home's half of a node."""

    def __init__(
        self, station: Station, outlet: Outlet, store: Store, memorised: Memorised, rng: Random
    ) -> None:
        self._station = station
        self._config = station.config
        self._outlet = outlet
        self._store = store
        self._memorised = memorised
        self.sessions = Sessions(station.index, station.config, outlet, store, rng)
        self.interests = Interests(station.incarnation)
        self.is_amnesiac = True
        """Started without a disk: what the brokers believe to be delivered here may be lost."""
        self.publications: deque[Publication] = deque()
        self.announcements: list[Announcement] = []
        self.replays: list[Filter] = []
        self._sequence = 0
        self._chain = 0

    # Requests of clients

    def request(self, client: str, request: Request, now: float) -> None:
        """Carry out one request of a client."""
        if isinstance(request, Open):
            self.sessions.open(client, request.epoch, now)
            return
        session = self.sessions.heard(client, now)
        if session is None:
            return
        match request:
            case Close():
                self.sessions.close(client, now)
            case Subscribe(number, filter_):
                self._subscribe(session, number, filter_, now)
            case Unsubscribe(number):
                self._unsubscribe(session, number)
            case Publish(number, event):
                self._publish(session, number, event, now)
            case Acknowledge():
                self.sessions.acknowledge(session, request, now)
                self._offer_refused(session, now)
            case Ping():
                pass

    def _subscribe(self, session: Session, number: int, filter_: Filter, now: float) -> None:
        if session.subscriptions.get(number, filter_) != filter_:
            self._unsubscribe(session, number)  # a client that started anew counts its requests anew
        if not self.sessions.subscribe(session, number, filter_):
            return
        self._outlet.emit(InterestRow(session.client, filter_.fid, "subscribe"))
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
            self._memorised.confirm(memory.event_id, now)

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
            self._announce(self.interests.remove(gone))

    def _announce(self, announcements: list[Announcement]) -> None:
        if announcements:
            self.announcements += announcements
            self._store.put("home", self.interests.version)

    def contradicted(self, version: int) -> None:
        """Somebody holds other filters for this home, under this version."""
        self.interests.contradicted(version)
        self._store.put("home", self.interests.version)

    # Publications

    def _publish(self, session: Session, number: int, event: Event, now: float) -> None:
        known = self.sessions.receipt_of(session, number)
        if known is not None:
            self.sessions.accepted(session, number, known, after_save=False)
            return
        refusal = self._refusal(session.client, event, now)
        if refusal is not None:
            self.sessions.refuse(session.client, number, refusal)
            return
        stamped = self._stamp(event)
        body = stamped.encode()
        assert stamped.id is not None, "just stamped"
        memorised = stamped.delivery is not Delivery.REALTIME
        row = PublishRow(
            session.client, stamped.id, stamped.delivery.label, stamped.lifetime_ms, len(body), stamped.subject
        )
        self._outlet.emit(row)
        if memorised:
            self._memorised.publish(stamped, body, now)
        self._serve_here(stamped, body, now)
        self.publications.append(Publication(stamped, body, inf if memorised else now + self._config.publish_patience))
        self.sessions.accepted(session, number, stamped.id, after_save=memorised)

    def _refusal(self, client: str, event: Event, now: float) -> str | None:
        """Why an event is not accepted, as one line for its publisher; None if it is."""
        group = self._config.groups.get(event.group) if event.group is not None else None
        if group is not None and client not in group.clients:
            self._outlet.drop(Reason.NOT_MEMBER, client=client)
            return f"{client} is not a member of group {event.group}"
        if any(node >= self._config.nodes for node in event.to):
            return f"this network has the nodes 0 to {self._config.nodes - 1}"
        if not self._can_travel(event):
            self._outlet.drop(Reason.TOO_LARGE, client=client)
            return f"an event has at most {MAX_EVENT_BYTES} bytes: send a large thing as several events"
        if len(self.publications) >= self._config.outbox_limit:
            self._outlet.drop(Reason.QUEUE_FULL, client=client)
            return f"{self._config.outbox_limit} events wait here for a broker: publish again later"
        if self._concerns_us(event) and self.sessions.is_blocked_for(event, now):
            self._outlet.drop(Reason.QUEUE_FULL, client=client)
            return "the queue of a subscriber on this node is full: publish again later"
        return None

    def _can_travel(self, event: Event) -> bool:
        """Whether an event is small enough, however large the numbers it is stamped with."""
        stamped = event.accepted(id=event_id(self._station.index, self._station.incarnation, 0))
        try:
            return len(stamped.encode()) + CHAIN_BYTES <= MAX_EVENT_BYTES
        except EventError:
            return False

    def _stamp(self, event: Event) -> Event:
        self._sequence += 1
        if event.delivery is not Delivery.REALTIME:
            self._chain += 1
        chain = self._chain if event.delivery is not Delivery.REALTIME else 0
        return event.accepted(id=event_id(self._station.index, self._station.incarnation, self._sequence), chain=chain)

    def _serve_here(self, event: Event, body: bytes, now: float) -> None:
        """Our own clients need no broker."""
        if not self._concerns_us(event):
            return
        assert event.id is not None, "stamped"
        memory = self._memorised.met.get(event.id)
        if memory is None:
            expiry = now + event.lifetime_ms / 1000 if event.lifetime_ms else inf
            self.take(Incoming(event, body, expiry, 0, "realtime"), now)
        elif self.take(incoming_of(memory, "realtime"), now):
            self._memorised.confirm(event.id, now)

    def requeue(self, publication: Publication) -> None:
        """A broker could not be reached with this event: it takes its place again, in the order of publication."""
        insort(self.publications, publication, key=lambda each: peek_id(each.body))

    def tick(self, now: float) -> None:
        # Memorised events wait for as long as it takes; the real-time ones behind them do not.
        late = [each for each in self.publications if each.deadline <= now]
        for each in late:
            self.publications.remove(each)
            everyone = ~NodeVector.empty(self._config.nodes)
            self._outlet.lose(peek_id(each.body), everyone, Reason.NO_BROKER)
        self.sessions.tick(now)

    def next_deadline(self) -> float | None:
        times = [each.deadline for each in self.publications if each.deadline < inf]
        session = self.sessions.next_deadline()
        return min(times if session is None else [*times, session], default=None)

    # Events for our clients

    def take(self, incoming: Incoming, now: float) -> bool:
        """Queue an event for the clients that want it; False if it must not be confirmed."""
        return self.sessions.take(incoming, now)

    def take_realtime(self, event: Event, body: bytes, *, hops: int, now: float) -> None:
        """A real-time event has arrived for this home."""
        assert event.id is not None, "it came with an id"
        if event.to and not self.sessions.is_wanted(event):
            here = NodeVector.of([self._station.index], self._config.nodes)
            self._outlet.lose(event.id, here, Reason.NO_CLIENT)
        self.take(Incoming(event, body, inf, hops, "realtime"), now)

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
    return Incoming(memory.event, memory.body, memory.expiry, hops, via)
