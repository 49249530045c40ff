"""The broker's half of a node: the tables, how they are kept right, and what becomes of events that enter the network.

It runs on every node that holds tables: brokers, and dismissed brokers until they have checked out. Those go on
listening, which costs nothing and keeps their check-out small, but relay and serve no more.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

from chapar.errors import WireError
from chapar.event import Delivery, Event, origin_of, peek_id
from chapar.wire import (
    Delivered,
    FmtRecord,
    Lease,
    MetRecord,
    Publish,
    Records,
    Replay,
    Subscribe,
    Table,
    Unsubscribe,
    Want,
    decode_fmt_record_untrusted,
    decode_met_record_untrusted,
)
from chapar.wire import (
    Store as StoreFrame,
)
from chapard.core.effects import InterestRow, Reason
from chapard.core.fmt import FMT, Merge, key_of
from chapard.core.home import Publication, incoming_of
from chapard.core.interests import MAX_VERSION
from chapard.core.membership import is_member
from chapard.core.met import destinations
from chapard.core.nodevector import NodeVector
from chapard.core.order import Arrival, Trail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.filter import Filter
    from chapar.wire import Beacon
    from chapard.core.home import Home
    from chapard.core.integrity import Integrity
    from chapard.core.interests import Announcement
    from chapard.core.links import Links
    from chapard.core.memorised import Memorised
    from chapard.core.met import Memory
    from chapard.core.multicast import Multicast
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.takeover import Takeover

LEASE_SHARE = 3
"""Renewals in the length of a lease: two of them may be lost."""


class Brokerage:
    """Tables and service of one broker."""

    def __init__(
        self,
        station: Station,
        links: Links,
        outlet: Outlet,
        fmt: FMT,
        home: Home,
        memorised: Memorised,
        multicast: Multicast,
        integrity: Integrity,
        takeover: Takeover,
        now: float,
    ) -> None:
        self._station = station
        self._config = station.config
        self._links = links
        self._outlet = outlet
        self._fmt = fmt
        self._home = home
        self._memorised = memorised
        self._multicast = multicast
        self._integrity = integrity
        self._takeover = takeover
        self._held: deque[Publication] = deque()
        """Real-time events that wait for the tables."""
        self.held = 0
        """How many."""
        self._trail = Trail()
        self._leases: dict[int, int] = {}
        self._lease_number = 0
        self._lease_at = now + self._lease_period

    @property
    def _lease_period(self) -> float:
        return self._config.subscription_lease / LEASE_SHARE

    # Events that enter the network here

    def on_publish(self, frame: Publish, now: float) -> None:
        """A home hands us an event: we are the root of its tree."""
        try:
            event = Event.decode_untrusted(frame.body)
        except WireError:
            self._outlet.drop(Reason.MALFORMED, peer=frame.sender)
            return
        if origin_of(peek_id(frame.body)) != frame.sender:
            self._outlet.drop(Reason.FOREIGN, peer=frame.sender)
            return
        self.enter(Publication(event, (frame.body,), inf, frame.behind), now)

    def enter(self, publication: Publication, now: float) -> None:
        """Send events, which differ in their payload alone, on their way.

        Real-time ones are multicast to whoever wants them, the others go to the brokers' memory.
        """
        event, bodies = publication.event, publication.bodies
        origin = origin_of(peek_id(bodies[0]))
        if not self._is_member(event, origin):
            return
        if event.delivery is not Delivery.REALTIME:
            for body in bodies:
                self._enter_memory(event, body, now)
            return
        if self._takeover.is_under_way(now) and self.held + len(bodies) <= self._config.outbox_limit:
            self._held.append(publication)
            self.held += len(bodies)
            return
        self.enter_held(now)
        self._look_up(publication, origin, now)

    def settle(self, now: float) -> None:
        """The tables may have come."""
        if not self._takeover.is_under_way(now):
            self.enter_held(now)

    def enter_held(self, now: float) -> None:
        """Whatever has waited for the tables waits no longer."""
        while self._held:
            publication = self._held.popleft()
            self.held -= len(publication.bodies)
            self._look_up(publication, origin_of(peek_id(publication.bodies[0])), now)

    def _look_up(self, publication: Publication, origin: int, now: float) -> None:
        event, bodies = publication.event, publication.bodies
        wanted = destinations(event, self._config.nodes) if event.to else self._fmt.match(event)
        wanted = wanted.without(origin)  # the publisher's home has served its own clients already
        if not wanted.any():
            self._trail.passed(peek_id(bodies[-1]))
            return
        for body, behind in publication.each():
            self._enter_realtime(event, body, wanted, behind, now)

    def _enter_memory(self, event: Event, body: bytes, now: float) -> None:
        event_id = peek_id(body)
        origin = origin_of(event_id)
        self._remember(event, body, event.lifetime_ms, self._vector(origin), origin, now)
        memory = self._memorised.met.get(event_id)
        if not self._station.is_broker and self._station.broker is not None and memory is not None:
            # Dismissed a moment ago: the event goes on to whoever serves now.
            self._links.send(self._station.broker, self._memorised.store_frame(memory, now))

    def _enter_realtime(self, event: Event, body: bytes, wanted: NodeVector, since: int, now: float) -> None:
        event_id = peek_id(body)
        fresh = self._multicast.first_seen(event_id, 0, wanted)
        reachable = self._station.reachable()
        self._outlet.lose(event_id, fresh & ~reachable, Reason.UNREACHABLE)
        fresh &= reachable
        behind = self._trail.behind(event_id, fresh, since)
        if fresh[self._station.index]:
            fresh = fresh.without(self._station.index)
            self._home.take_realtime(Arrival(event, body, 1), behind, now)
        if fresh.any():
            self._multicast.start(body, fresh, behind=behind)

    def _is_member(self, event: Event, origin: int) -> bool:
        return is_member(self._config, self._outlet, event, origin)

    # Memorised events

    def on_store(self, frame: StoreFrame, now: float) -> None:
        try:
            event = Event.decode_untrusted(frame.body)
        except WireError:
            self._outlet.drop(Reason.MALFORMED, peer=frame.sender)
            return
        if event.delivery is Delivery.REALTIME:
            self._outlet.drop(Reason.FOREIGN, peer=frame.sender)
            return
        delivered = NodeVector.from_wire(frame.delivered, self._config.nodes)
        self._remember(event, frame.body, frame.remaining_ms, delivered, frame.sender, now)

    def _remember(
        self, event: Event, body: bytes, remaining_ms: int, delivered: NodeVector, came_from: int, now: float
    ) -> None:
        """Keep an event; if it is news, tell the other brokers and serve the homes that wait for it."""
        if not self._is_member(event, origin_of(peek_id(body))):
            return
        memory = self._memorised.met.get(peek_id(body))
        if memory is not None and memory.is_own and not memory.is_flooded:
            self._memorised.deliver(memory.event_id, delivered, now)
        else:
            memory = self._memorised.store(event, body, remaining_ms, delivered, now)
        if memory is None:
            return
        if self._station.is_broker and not memory.is_flooded:
            memory.is_flooded = True
            self._memorised.flood(memory, now, came_from=came_from)
        if memory.held_until > now:
            self._integrity.suspect(came_from, now)
        self._offer_here(memory, now)
        self.serve(now)

    def _offer_here(self, memory: Memory, now: float) -> None:
        """A node without memory takes what others believe it has."""
        if self._home.is_amnesiac and memory.delivered[self._station.index] and self._home.is_for_here(memory):
            self._home.take(incoming_of(memory, "memorised"), now)

    def serve(self, now: float) -> None:
        """Serve our own clients, then the homes that have chosen us."""
        if self._station.is_broker:
            for memory in self._memorised.due(self._station.index, now):
                if self._home.take(incoming_of(memory, "memorised"), now):
                    self._memorised.confirm(memory.event_id)
        self._memorised.serve_all(now)

    def on_delivered(self, frame: Delivered, now: float) -> None:
        for event_id, homes in frame.entries:
            self._memorised.deliver(event_id, NodeVector.from_wire(homes, self._config.nodes), now)
            self._integrity.compared(frame.sender, event_id, homes)
        self._memorised.serve_all(now)

    def on_replay(self, frame: Replay, now: float) -> None:
        self._memorised.replay(frame.sender, frame.filters, now)

    # Filters

    def on_subscribe(self, frame: Subscribe, now: float) -> None:
        if self._is_credible(frame.version, frame.sender):
            merged = self._fmt.add(frame.home, frame.version, frame.base, frame.filters, now)
            self._merged(merged, frame, now)

    def on_unsubscribe(self, frame: Unsubscribe, now: float) -> None:
        if self._is_credible(frame.version, frame.sender):
            merged = self._fmt.remove(frame.home, frame.version, frame.base, frame.filters, now)
            self._merged(merged, frame, now)

    def _is_credible(self, version: int, peer: int) -> bool:
        """Whether a home can have given this version. Above what it could contradict, a lie would stand for ever."""
        if version <= MAX_VERSION:
            return True
        self._outlet.drop(Reason.MALFORMED, peer=peer)
        return False

    def announce(self, step: Announcement, now: float) -> None:
        """Our own clients' filters have changed."""
        here = self._station.index
        kind, filters = (Subscribe, step.added) if step.added else (Unsubscribe, step.removed)
        change = kind(here, here, step.version, step.base, filters)
        if isinstance(change, Subscribe):
            self.on_subscribe(change, now)
        else:
            self.on_unsubscribe(change, now)

    def _merged(self, merged: Merge, frame: Subscribe | Unsubscribe, now: float) -> None:
        """Relay a change that is news, once; ask for the whole record if a step is missing."""
        if merged is Merge.CHANGED:
            if self._station.is_broker:
                relayed = frame._replace(sender=self._station.index)
                self._station.flood(self._links, relayed, came_from=frame.sender)
            self._home_changed(frame.home, now)
        elif merged is Merge.GAP and frame.sender != self._station.index:
            self._ask_for(frame.sender, frame.home)
        elif merged in (Merge.STALE, Merge.REFUSED):
            self._outlet.drop(Reason.STALE if merged is Merge.STALE else Reason.TABLE_FULL, peer=frame.sender)

    def _home_changed(self, home: int, now: float) -> None:
        self._memorised.rewant(home)
        self.serve(now)

    def _ask_for(self, peer: int, home: int) -> None:
        record = self._fmt.get(home)
        held = record.version if record is not None else 0
        self._links.send(peer, Want(self._station.index, Table.FMT, (key_of(home),), (held,)))

    def hear_home(self, beacon: Beacon, now: float) -> None:
        """A home restates version and digest of its filters: renew its lease, or ask for what differs."""
        home = beacon.sender
        record = self._fmt.get(home)
        if (record[:2] if record is not None else (0, 0)) == (beacon.version, beacon.digest):
            self._fmt.renew([home], now)
        elif beacon.broker == self._station.index:
            self._ask_for(home, home)

    def hear_self(self, now: float) -> None:
        """Our own filters are the truth, whatever the table says."""
        here, interests = self._station.index, self._home.interests
        record = self._fmt.get(here)
        if record is None and interests.version == 0:
            return
        if record is not None and record[:2] == (interests.version, interests.digest):
            self._fmt.renew([here], now)
            return
        if record is not None and record.version >= interests.version:
            self._home.contradicted(record.version)
        self.on_subscribe(Subscribe(here, here, interests.version, 0, interests.announced()), now)

    # Records of other brokers, and of homes

    def on_records(self, frame: Records, now: float) -> bool:
        """Merge what another broker, or a home, has sent; whether our tables have changed."""
        before = (self._fmt.tree.root, self._memorised.met.tree.root)
        peer = self._station.peers.get(frame.sender)
        # Without a beacon yet, its sender has heard ours, and met us this moment.
        is_merging = peer is None or peer.since + self._config.merge_window > now
        for data in frame.records:
            try:
                if frame.table == Table.FMT:
                    record = decode_fmt_record_untrusted(data, self._config.nodes)
                    self._take_home(record, frame.sender, now, relay=is_merging or record.home == frame.sender)
                else:
                    event = decode_met_record_untrusted(data, self._config.nodes)
                    self._take_event(event, frame.sender, now, relay=is_merging)
            except WireError:
                self._outlet.drop(Reason.MALFORMED, peer=frame.sender)
        self.serve(now)
        return before != (self._fmt.tree.root, self._memorised.met.tree.root)

    def _take_home(self, record: FmtRecord, peer: int, now: float, *, relay: bool) -> None:
        if record.home == self._station.index:
            # Others hold what we may have said long ago, or never; we alone know.
            if record.version >= self._home.interests.version:
                self.contradicted_by(record.version, record.filters, now)
            return
        if not self._is_credible(record.version, peer):
            return
        merged = self._fmt.merge(record.home, record.version, record.filters, record.age_ms / 1000, now)
        if merged is Merge.CHANGED:
            self._memorised.rewant(record.home)
            if relay and self._station.is_broker:
                change = Subscribe(self._station.index, record.home, record.version, 0, record.filters)
                self._station.flood(self._links, change, came_from=peer)
        elif merged is Merge.REFUSED:
            self._outlet.drop(Reason.TABLE_FULL, peer=peer)

    def contradicted_by(self, version: int, filters: Sequence[Filter], now: float) -> None:
        """Another node holds this version of our own filters; if it is not ours, ours must go above it."""
        interests = self._home.interests
        if version > interests.version or set(interests.announced()) != set(filters):
            self._home.contradicted(version)
            self.hear_self(now)

    def _take_event(self, record: MetRecord, peer: int, now: float, *, relay: bool) -> None:
        event = Event.decode_untrusted(record.body)
        if event.delivery is Delivery.REALTIME or not self._is_member(event, origin_of(peek_id(record.body))):
            return
        delivered = NodeVector.from_wire(record.delivered, self._config.nodes)
        memory = self._memorised.store(event, record.body, record.remaining_ms, delivered, now)
        if memory is None:
            return
        # A merge is news to the whole partition. Between old acquaintances it is a gap that is mended; if later events
        # came past it, the flood broke off before us, and those behind us lack it too.
        memory.is_flooded = True
        if (relay or self._memorised.met.has_successor(memory)) and self._station.is_broker:
            self._memorised.flood(memory, now, came_from=peer)
        self._offer_here(memory, now)

    # Leases

    def on_lease(self, frame: Lease, now: float) -> None:
        """A broker names the homes it hears: their leases are renewed. Relayed once."""
        if frame.number <= self._leases.get(frame.broker, -1) or frame.broker == self._station.index:
            self._outlet.drop(Reason.DUPLICATE, peer=frame.sender)
            return
        self._leases[frame.broker] = frame.number
        self._fmt.renew(NodeVector.from_wire(frame.homes, self._config.nodes).indexes(), now)
        if self._station.is_broker:
            self._station.flood(self._links, frame._replace(sender=self._station.index), came_from=frame.sender)

    def tick(self, now: float) -> None:
        """Forget, ask and renew, as leases demand."""
        due = self._fmt.next_deadline()
        if due is not None and due <= now:
            self._check_leases(now)
        if self._lease_at <= now:
            self._lease_at = now + self._lease_period
            if self._station.is_broker:
                self._renew_leases(now)

    def _check_leases(self, now: float) -> None:
        for home in self._fmt.expire(now, frozenset(self._station.available.indexes())):
            self._outlet.emit(InterestRow(None, key_of(home), "expire"))
            self._memorised.rewant(home)
        for home in self._fmt.unheard(now):
            if self._station.is_broker and home != self._station.index and self._station.available[home]:
                self._ask_after(home)

    def _ask_after(self, home: int) -> None:
        """Floods are not repeated, so a home's renewals can all be missed: ask the broker on the way to it, or it."""
        route = self._station.route(home)
        on_the_way = self._station.peers.get(route.next_hop) if route is not None else None
        whom = on_the_way.index if on_the_way is not None and on_the_way.is_broker else home
        self._links.send(whom, Want(self._station.index, Table.FMT, (key_of(home),), (0,)))

    def _renew_leases(self, now: float) -> None:
        for home in self._fmt.homes():
            record = self._fmt.get(home)
            if record is not None and record.version > MAX_VERSION:
                self._fmt.forget(home)  # only a corrupted table holds it, and nobody could overrule it
        self.hear_self(now)
        homes = NodeVector.of(self._station.homes(), self._config.nodes)
        self._fmt.renew(homes.indexes(), now)
        # Numbers of one incarnation rise, and those of the next lie above them.
        self._lease_number += 1
        number = (self._station.incarnation << 24) + self._lease_number
        self._station.flood(self._links, Lease(self._station.index, self._station.index, number, homes.to_wire()))

    def next_deadline(self) -> float:
        times = (self._fmt.next_deadline(), self._takeover.next_deadline(), self._lease_at)
        return min(time for time in times if time is not None)

    def _vector(self, *nodes: int) -> NodeVector:
        return NodeVector.of(nodes, self._config.nodes)
