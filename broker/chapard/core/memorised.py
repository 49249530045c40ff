"""Memorised events: flooded to the brokers, served to each home by its chosen broker, confirmed by the homes (3.3.3).

- A home keeps what it published until that expires, and hands it to its broker; when it gets another broker, it
  offers it again. A broker that learns of an event stores it and, if it is news, relays it once (STORE, broadcast).
- Only the broker that a home has chosen serves it, so no two do: per publisher in order, oldest first, a window at a
  time, again after `serve_retry` until the home says DELIVERED. (The report multicasts a memorised event as well as
  flooding it. The flood already brings it to every home's own broker, so the multicast would only cost airtime.)
- A home confirms when the event is safe in its clients' queues, and keeps a copy for clients that subscribe later.
  So `delivered` means that the home needs nothing more, whoever subscribes there. A home that has lost its disk has
  lost its copies too, and asks for them again (REPLAY).
- Confirmations are gathered, then travel in one frame: from home to broker after `delivered_delay`, or with half a
  window of them at once; from broker to brokers, which nobody waits for, after `gossip_delay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from chapar.event import Event, EventId, origin_of
from chapar.wire import Delivered, Listing, SyncFlag, Table
from chapar.wire import Store as StoreFrame
from chapard.core.effects import Reason
from chapard.core.met import MET, Memory, destinations, memory_of
from chapard.core.nodevector import NodeVector
from chapard.core.shelf import Shelf, given_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chapar.filter import Filter
    from chapard.core.fmt import FMT
    from chapard.core.links import Links
    from chapard.core.multicast import Multicast
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.store import Store

DELIVERED_PER_FRAME = 64
"""Entries of one DELIVERED: they fit a datagram for networks of up to some 60 nodes, and fragment beyond."""
MAX_ATTEMPT = 255


@dataclass(slots=True)
class _Serving:
    attempt: int
    again_at: float


class Memorised:
    """The memorised events of one node, as holder, as broker and as home."""

    def __init__(
        self, station: Station, links: Links, outlet: Outlet, store: Store, fmt: FMT, multicast: Multicast
    ) -> None:
        self._station = station
        self._links = links
        self._outlet = outlet
        self._store = store
        self._shelf = Shelf(store, station.config.nodes)
        self._fmt = fmt
        self._multicast = multicast
        self._config = station.config
        self.met = MET(station.config)
        self._serving: dict[int, dict[EventId, _Serving]] = {}
        self._confirmations: dict[EventId, None] = {}
        self._unsaved: dict[EventId, int] = {}
        """What our clients have, but not yet the disk."""
        self._news: dict[EventId, NodeVector] = {}
        self._confirm_at: float | None = None
        self._gossip_at: float | None = None
        self._held_at: float | None = None

    # Storing

    def publish(self, event: Event, body: bytes, now: float) -> None:
        """Keep an event of one of our own clients; `settle` it when the disk has it."""
        memory = memory_of(event, body, event.lifetime_ms, self._nobody(), self._wanted(event), now)
        memory.is_own = memory.is_unsaved = True
        self._keep(memory, now)

    def settle(self, event_id: EventId) -> None:
        """An event of our own clients can no longer be undone by a crash."""
        self.met.settle(event_id)

    def store(self, event: Event, body: bytes, remaining_ms: int, delivered: NodeVector, now: float) -> Memory | None:
        """Keep an event that came from elsewhere; None if it is known or cannot be kept."""
        event_id = _id_of(event)
        if event_id in self.met:
            self.deliver(event_id, delivered, now)
            return None
        if self.met.is_gone(event_id):
            return None
        memory = memory_of(event, body, remaining_ms, delivered, self._wanted(event), now)
        if memory.expiry <= now:
            return None
        self._keep(memory, now)
        return memory if event_id in self.met else None

    def flood(self, memory: Memory, now: float, *, came_from: int | None = None) -> None:
        """Relay an event that is news to the other brokers."""
        self._station.flood(self._links, self.store_frame(memory, now), came_from=came_from)

    def store_frame(self, memory: Memory, now: float) -> StoreFrame:
        return StoreFrame(self._station.index, memory.remaining_ms(now), memory.delivered.to_wire(), memory.body)

    def _keep(self, memory: Memory, now: float) -> None:
        for each in given_up(self._outlet, self.met.add(memory, now)):
            self._forgotten(each)
        if memory.event_id in self.met:
            self._save(memory)
        if memory.held_until:
            self._held_at = min(self._held_at or memory.held_until, memory.held_until)

    def _wanted(self, event: Event) -> NodeVector:
        return destinations(event, self._config.nodes) if event.to else self._fmt.match(event)

    def rewant(self, home: int) -> None:
        """A home's filters have changed: see anew what it wants (instant notification, 3.3.1)."""
        self.met.want(home, lambda event: bool(self._fmt.match(event)[home]))

    # Home

    def confirm(self, event_id: EventId) -> None:
        """The event is safe in the queues of our clients; a copy stays for those that subscribe later."""
        if event_id in self._unsaved:
            return
        memory = self.met.get(event_id)
        if memory is not None:
            memory.is_taken = True
            self._save(memory)
        self._unsaved[event_id] = self._store.mark()

    def saved(self, number: int, now: float) -> None:
        """What was saved up to this mark is on the disk: only now do others hear that our clients have it."""
        for event_id in [each for each, mark in self._unsaved.items() if mark <= number]:
            del self._unsaved[event_id]
            self._confirmed(event_id, now)

    def _confirmed(self, event_id: EventId, now: float) -> None:
        if self._station.broker == self._station.index:
            self.deliver(event_id, self._here(), now)
        else:
            self.met.deliver(event_id, self._here())
            self._confirmations[event_id] = None
            self._confirm_soon(now)

    def offer_own(self) -> None:
        """Our broker has changed: let it ask for those of our events that it lacks."""
        broker = self._station.broker
        own = [(memory.event_id, self.met.tree.stamp(memory.event_id)) for memory in self.met if _is_offered(memory)]
        if own and broker is not None and broker != self._station.index:
            listing = Listing(self._station.index, Table.MET, (), tuple(own), SyncFlag.OFFER_ONLY)
            self._links.send(broker, listing)

    # Broker

    def deliver(self, event_id: EventId, homes: NodeVector, now: float) -> None:
        """These homes have the event; what is news goes on to the other brokers."""
        news = self.met.deliver(event_id, homes)
        for home in news.indexes():
            self._serving.get(home, {}).pop(event_id, None)
        if news.any() and self._station.is_broker:
            self._news[event_id] = self._news[event_id] | news if event_id in self._news else news
            if self._gossip_at is None:
                self._gossip_at = now + self._config.gossip_delay

    def serve_all(self, now: float) -> None:
        """Serve every home that has chosen this node, and forget the others."""
        homes = self._station.homes() if self._station.is_broker else []
        for home in [each for each in self._serving if each not in homes]:
            del self._serving[home]
        for home in homes:
            if home != self._station.index:
                self.serve(home, now)

    def serve(self, home: int, now: float) -> None:
        """Send a home what it wants and lacks, as far as the window and the order of its publishers allow."""
        serving = self._serving.setdefault(home, {})
        # One at a time over several hops: there a later event could overtake one that was lost.
        far = not self._station.is_adjacent(home)
        served: set[int] = set()
        for memory in islice(self.due(home, now), self._config.serve_window):
            origin = origin_of(memory.event_id)
            if far and origin in served:
                continue
            served.add(origin)
            self._serve_one(home, memory, serving, now)
        # What is due again but no longer wanted, or waits for a predecessor, starts afresh when its turn comes.
        for event_id in [each for each, state in serving.items() if state.again_at <= now]:
            del serving[event_id]

    def due(self, home: int, now: float) -> Iterator[Memory]:
        """What a home wants and lacks, without the events that wait for a predecessor and those after them."""
        blocked: set[int] = set()
        for event_id in list(self.met.pending(home)):
            memory = self.met.get(event_id)
            if memory is None or origin_of(event_id) in blocked:
                continue
            if memory.is_unsaved or memory.held_until > now:
                blocked.add(origin_of(event_id))
            else:
                yield memory

    def _serve_one(self, home: int, memory: Memory, serving: dict[EventId, _Serving], now: float) -> None:
        state = serving.get(memory.event_id)
        if state is not None and state.again_at > now:
            return
        attempt = min(state.attempt + 1, MAX_ATTEMPT) if state is not None else 1
        serving[memory.event_id] = _Serving(attempt, now + self._config.serve_retry * min(attempt, 4))
        self._send(home, memory, attempt, now)

    def replay(self, home: int, filters: Iterable[Filter], now: float) -> None:
        """A home without memory has a new subscriber: send again what it had confirmed before it lost its disk."""
        wanted = list(filters)
        for memory in self.met:
            is_for_home = not memory.event.to or home in memory.event.to
            if memory.is_unsaved:
                continue
            if memory.delivered[home] and is_for_home and any(each.matches(memory.event) for each in wanted):
                self._send(home, memory, MAX_ATTEMPT, now)

    def _send(self, home: int, memory: Memory, attempt: int, now: float) -> None:
        rnv = NodeVector.of([home], self._config.nodes)
        self._multicast.start(memory.body, rnv, attempt=attempt, remaining_ms=memory.remaining_ms(now))

    # Time

    def tick(self, now: float) -> bool:
        """Do what is due; whether there is something to serve."""
        for memory in self.met.expire(now):
            self._report_expiry(memory)
            self._forgotten(memory)
        if self._confirm_at is not None and self._confirm_at <= now:
            self._send_confirmations()
        if self._gossip_at is not None and self._gossip_at <= now:
            self._send_gossip()
        is_released = self._held_at is not None and self._held_at <= now
        if is_released:
            self.met.release(now)
            self._held_at = min((each.held_until for each in self.met if each.held_until > now), default=None)
        return is_released or any(state.again_at <= now for each in self._serving.values() for state in each.values())

    def _report_expiry(self, memory: Memory) -> None:
        """An event expires undelivered: its home's broker says so, and of homes that are away the publisher's home."""
        if not self._station.is_broker:
            return
        responsible = NodeVector.of(self._station.homes(), self._config.nodes)
        if memory.is_own:
            responsible |= ~self._station.available
        self._outlet.lose(memory.event_id, memory.wanted & ~memory.delivered & responsible, Reason.EXPIRED)

    def next_deadline(self) -> float | None:
        times = [state.again_at for serving in self._serving.values() for state in serving.values()]
        others = (self._confirm_at, self._gossip_at, self._held_at, self.met.next_deadline())
        return min([*times, *(time for time in others if time is not None)], default=None)

    def _confirm_soon(self, now: float) -> None:
        """Gather confirmations, but not for so long that our broker's window is used up."""
        if self._confirm_at is None:
            self._confirm_at = now + self._config.delivered_delay
        if 2 * len(self._confirmations) >= self._config.serve_window:
            self._confirm_at = now

    def _send_confirmations(self) -> None:
        """Tell our broker what our clients have; without one it waits."""
        self._confirm_at = None
        index, broker = self._station.index, self._station.broker
        if broker is None or broker == index:
            return
        here = self._here().to_wire()
        for entries in _chunks([(event_id, here) for event_id in self._confirmations]):
            self._links.send(broker, Delivered(index, entries))
        self._confirmations.clear()

    def _send_gossip(self) -> None:
        """Tell the other brokers which homes have what."""
        self._gossip_at = None
        for entries in _chunks([(event_id, homes.to_wire()) for event_id, homes in self._news.items()]):
            self._station.flood(self._links, Delivered(self._station.index, entries))
        self._news.clear()

    def unconfirmed(self, frame: Delivered, now: float) -> None:
        """The link gave up a confirmation of ours: it goes to whatever broker we have then."""
        here, nodes = self._station.index, self._config.nodes
        mine = [event_id for event_id, homes in frame.entries if NodeVector.from_wire(homes, nodes)[here]]
        self._confirmations.update((event_id, None) for event_id in mine)
        if mine:
            self._confirm_soon(now)

    def broker_changed(self, now: float) -> None:
        """Confirmations that waited for a broker go to the new one; a home that is its own broker needs none."""
        if self._station.broker == self._station.index:
            for event_id in self._confirmations:
                self.deliver(event_id, self._here(), now)
            self._confirmations.clear()
        elif self._station.broker is not None:
            if self._confirmations:
                self._confirm_soon(now)
            self.offer_own()

    def drop_tables(self) -> None:
        """After check-out: keep only what is this node's own."""
        for memory in self.met.keep_only(lambda memory: memory.is_own or memory.is_taken):
            self._forgotten(memory)
        self._serving.clear()
        self._news.clear()

    # Disk

    def restore(self, body: bytes, expiry: float | None, delivered: bytes, flags: int, now: float) -> None:
        """Take up an event that was saved before a restart."""
        memory = self._shelf.read(body, expiry, delivered, flags, now)
        if memory is not None:
            memory.wanted = self._wanted(memory.event)
            self._keep(memory, now)

    def _save(self, memory: Memory) -> None:
        self._shelf.put(memory)

    def _forgotten(self, memory: Memory) -> None:
        self._shelf.forget(memory)
        self._news.pop(memory.event_id, None)
        self._confirmations.pop(memory.event_id, None)
        self._unsaved.pop(memory.event_id, None)
        for serving in self._serving.values():
            serving.pop(memory.event_id, None)

    def _here(self) -> NodeVector:
        return NodeVector.of([self._station.index], self._config.nodes)

    def _nobody(self) -> NodeVector:
        return NodeVector.empty(self._config.nodes)


def _id_of(event: Event) -> EventId:
    assert event.id is not None, "a body that was decoded has an id"
    return event.id


def _is_offered(memory: Memory) -> bool:
    return memory.is_own and not memory.is_unsaved


def _chunks(entries: list[tuple[EventId, bytes]]) -> Iterable[tuple[tuple[EventId, bytes], ...]]:
    return (tuple(entries[at : at + DELIVERED_PER_FRAME]) for at in range(0, len(entries), DELIVERED_PER_FRAME))
