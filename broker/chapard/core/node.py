"""One node of the network: the machines of this package, joined.

Frames, ticks, client requests and route views go in with the time as an argument; effects come out of `drain`. A driver
transmits, saves and answers what it drains, and calls `tick` when `next_deadline` has come. It decides nothing.

    links          hop reliability            station     who and where we are, whom we hear
    home           clients, own filters       office      broker or not, and what becomes of the tables
    memorised      the MET and its service    brokerage   the FMT, leases, events entering the network
    multicast      residual node vectors      integrity   comparing tables; checkout: handing them over

This module decides who gets to see a frame, and what a change of view, peer or role sets going.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from chapar.errors import WireError
from chapar.event import Delivery, Event, peek_id
from chapar.wire import (
    Ack,
    Beacon,
    BeaconFlag,
    Bye,
    Delivered,
    Digests,
    EventFrame,
    FmtRecord,
    Fragment,
    Frame,
    Lease,
    Link,
    Listing,
    Nack,
    Publish,
    Reassembly,
    Records,
    Replay,
    Subscribe,
    Table,
    Unsubscribe,
    Want,
    decode_untrusted,
    encode,
    encode_record,
)
from chapar.wire import (
    Store as StoreFrame,
)
from chapard.core.beacons import compose
from chapard.core.brokerage import Brokerage
from chapard.core.checkout import CheckOut
from chapard.core.effects import Reason, RouteRow
from chapard.core.fmt import FMT, key_of
from chapard.core.home import Home, Publication, incoming_of
from chapard.core.integrity import Integrity
from chapard.core.links import Links
from chapard.core.memorised import Memorised
from chapard.core.multicast import Multicast
from chapard.core.nodevector import NodeVector
from chapard.core.office import Office
from chapard.core.outlet import Outlet
from chapard.core.power import SHRINK, STRETCH, power_at
from chapard.core.station import Station
from chapard.core.store import Store, saved_under
from chapard.core.traffic import frame_row
from chapard.core.trickle import Trickle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from chapar.session import Request
    from chapard.core.config import Config
    from chapard.core.effects import Effect
    from chapard.core.met import MET
    from chapard.core.power import Power
    from chapard.core.roles import Role, Roles
    from chapard.core.topology import RouteView


FLOODED = (StoreFrame, Subscribe, Unsubscribe, Lease)


class Node:
    """The protocol of one node."""

    def __init__(
        self,
        index: int,
        incarnation: int,
        config: Config,
        rng: Random,
        now: float,
        saved: Mapping[str, bytes] | None = None,
    ) -> None:
        self.config = config
        self.outlet = Outlet()
        self.station = Station(index, incarnation, config)
        self._store = Store(self.outlet)
        self._links = Links(index, incarnation, config, self.outlet)
        self._reassembly = Reassembly(config.reassembly_messages, config.reassembly_bytes, config.reassembly_patience)
        self.fmt = FMT(config)
        self._multicast = Multicast(self.station, self._links, self.outlet)
        self.memorised = Memorised(self.station, self._links, self.outlet, self._store, self.fmt, self._multicast)
        self.home = Home(self.station, self.outlet, self._store, self.memorised, rng)
        self._integrity = Integrity(self.station, self._links, self.fmt, self.met)
        self.brokerage = Brokerage(
            self.station, self._links, self.outlet, self.fmt, self.home, self.memorised,
            self._multicast, self._integrity, now,
        )  # fmt: skip
        self._checkout = CheckOut(self.station, self._links, self.fmt, self.met, self._integrity)
        self._trickle = Trickle(config.beacon_min, config.refresh_period, rng, now)
        self._office = Office(
            self.station, self._links, self.outlet, self.fmt, self.memorised, self.brokerage,
            self._integrity, self._checkout, self._trickle, now,
        )  # fmt: skip
        self._handlers = self._handler_table()
        if saved:
            self._restore(saved, now)
        self._office.reconsider(now)

    # What others may look at

    @property
    def index(self) -> int:
        return self.station.index

    @property
    def met(self) -> MET:
        return self.memorised.met

    @property
    def roles(self) -> Roles:
        return self._office.roles

    @property
    def role(self) -> Role:
        return self.roles.role

    @property
    def power(self) -> Power:
        return self._office.power

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Every bounded table and queue: how much is used, and the limit."""
        config = self.config
        sessions = self.home.sessions
        return {
            "sessions": (len(sessions), config.session_limit),
            "queue": (max((each.events for each in sessions.all()), default=0), config.session_queue),
            "publications": (self.home.waiting, config.outbox_most),
            "fmt": (len(self.fmt), config.fmt_homes),
            "met": (len(self.met), config.met_events),
            "met_bytes": (self.met.bytes, config.met_bytes),
            "seen": (len(self._multicast), config.seen_limit),
            "link_queue": (self._links.waiting(), config.link_queue),
            "peers": (len(self.station.peers), config.nodes),
        }

    # Inputs

    def datagram_received(self, data: bytes, source: int, now: float) -> None:
        """Take one datagram from the node whose address it came from. Nothing in it can raise."""
        try:
            frames = decode_untrusted(data, nodes=self.config.nodes)
        except WireError:
            self.outlet.drop(Reason.MALFORMED, peer=source)
            return
        if frames[0].sender != source or source == self.index:
            self.outlet.drop(Reason.SPOOFED, peer=source)
            return
        if self.config.record_frames:
            for frame in frames:
                self.outlet.emit(frame_row(frame, len(encode(frame)), "rx", source, 0))
        if not self.station.peers.heard(source, now) and not isinstance(frames[0], (Beacon, Bye)):
            self._trickle.prompt(now)  # a stranger: contact is enough to introduce ourselves
        if isinstance(frames[0], Link):
            frames = self._links.receive(frames[0], frames[1:], now)
        else:
            frames = self._links.receive_loose(source, frames)
        self._handle(frames, now)

    def route_changed(self, view: RouteView, now: float) -> None:
        """Take a new route view. An equal one causes nothing."""
        if view == self.station.view:
            return
        before = self.station.view
        gone = self.station.adopt(view, now)
        for destination in sorted(view.routes):
            route = view.routes[destination]
            if before.routes.get(destination) != route:
                self.outlet.emit(RouteRow(destination, route.next_hop, route.hops))
        for neighbour in sorted(gone):
            if self.station.peers.forget(neighbour):
                self.station.miss(neighbour, now)
        self._search(now)
        if view.neighbours - before.neighbours:
            self._trickle.prompt(now)
        self._office.reconsider(now)
        for neighbour in sorted(gone):
            withdrawn = [(neighbour, frame) for frame in self._links.withdraw(neighbour)]
            self._take_back(withdrawn, now, is_dead=False)

    def client_request(self, client: str, request: Request, now: float) -> None:
        """Carry out a client's request; the answers are effects."""
        self.home.request(client, request, now)
        if self.home.publications or self.home.inquiries.questions:
            self._hand_over(now)

    def saved(self, number: int, now: float) -> None:
        """Everything that was to be saved before the effect Settle of this number is on the disk."""
        self.home.saved(number)
        self.memorised.saved(number, now)

    def battery_changed(self, level: float, now: float) -> None:
        """Take the battery's level, between 0 and 1 (report 2.2.4)."""
        power = power_at(level, self.config)
        if power is self.power:
            return
        self._office.power = power
        self.met.limit = max(1, self.config.met_events // SHRINK[power])
        self._trickle.stretch(self.config.beacon_min * STRETCH[power], self.config.refresh_period * STRETCH[power])
        self._trickle.prompt(now)
        self._office.reconsider(now)

    def stop(self, now: float) -> None:
        """Stop in good order: say goodbye to the clients and check out. Drive on until `is_stopped`."""
        self.home.sessions.goodbye()
        self._office.stop(now)
        self._beacon(now)
        self._office.leave_if_done(now)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is left to do after `stop`."""
        return self._office.is_stopped

    def tick(self, now: float) -> None:
        """Do whatever is due."""
        self._handle(self._links.tick(now), now)
        for peer, _ in self._reassembly.expire(now):
            self.outlet.drop(Reason.REASSEMBLY, peer=peer)
        self.home.tick(now)
        if self.memorised.tick(now):
            self.brokerage.serve(now)
        self.brokerage.tick(now)
        self._integrity.tick(now)
        silent = self.station.peers.expire(now)
        for peer in silent:
            self.station.miss(peer, now)
        if silent:
            self._search(now)
            self._office.reconsider(now)
        self.station.lapsed.expire(now)
        self._office.tick(now)
        if self._trickle.deadline <= now:
            self._beacon(now)
        self._office.after_checkout(now)

    # Outputs

    def next_deadline(self) -> float:
        """When `tick` has something to do next."""
        times = [
            self._links.next_deadline(),
            self._reassembly.next_deadline(),
            self.home.next_deadline(),
            self.memorised.next_deadline(),
            self._integrity.next_deadline(),
            self.station.peers.next_deadline(),
            self.station.lapsed.next_deadline(),
            self._office.next_deadline(),
            self.brokerage.next_deadline(),
            self._trickle.deadline,
        ]
        return min(time for time in times if time is not None)

    def drain(self, now: float) -> list[Effect]:
        """What is to be done, in order. What was queued for one destination leaves packed."""
        self._take_back(self._links.failures(), now, is_dead=True)
        self._hand_over(now)
        self._links.flush(now)
        self.home.sessions.save_changed()
        self._store.settle()
        return self.outlet.drain()

    # Frames

    def _handler_table(self) -> Mapping[type[Frame], Callable[[Any, float], None]]:
        """Which method acts on which kind of frame."""
        return {
            Beacon: self._on_beacon,
            Bye: lambda frame, now: self._left(frame.sender, now),
            Ack: lambda frame, now: self._links.confirmed(frame.sender, frame.epoch, frame.cumulative, now),
            Nack: self._on_nack,
            Fragment: self._on_fragment,
            EventFrame: self._on_event,
            Publish: self._on_publish,
            Want: self._on_want,
            # Without tables, a node takes no part in keeping them.
            StoreFrame: self._if_tables(self.brokerage.on_store),
            Subscribe: self._if_tables(self.brokerage.on_subscribe),
            Unsubscribe: self._if_tables(self.brokerage.on_unsubscribe),
            Delivered: self._on_delivered,
            Lease: self._if_tables(self.brokerage.on_lease),
            Replay: self._if_tables(self.brokerage.on_replay),
            Digests: self._if_tables(self._on_digests),
            Listing: self._if_tables(self._integrity.on_listing),
            Records: self._if_tables(self._on_records),
        }

    def _if_tables(self, handler: Callable[[Any, float], None]) -> Callable[[Any, float], None]:
        def handle(frame: Any, now: float) -> None:
            if self.roles.holds_tables:
                handler(frame, now)
            elif not isinstance(frame, FLOODED):  # floods are for whoever holds tables; these were for us
                self.outlet.drop(Reason.FOREIGN, peer=frame.sender)

        return handle

    def _handle(self, frames: list[Frame], now: float) -> None:
        for frame in frames:
            handler = self._handlers.get(type(frame))
            if handler is None:
                self.outlet.drop(Reason.MALFORMED, peer=frame.sender)  # a LINK that heads no datagram
            else:
                handler(frame, now)

    def _on_nack(self, nack: Nack, now: float) -> None:
        self._links.confirmed(nack.sender, nack.epoch, nack.cumulative, now)
        self._links.missing(nack.sender, nack.epoch, nack.missing, now)

    def _on_fragment(self, fragment: Fragment, now: float) -> None:
        try:
            message = self._reassembly.add(fragment.sender, fragment, now)
            frames = decode_untrusted(message, nodes=self.config.nodes) if message is not None else []
        except WireError:
            self.outlet.drop(Reason.MALFORMED, peer=fragment.sender)
            return
        self._handle(frames, now)

    def _on_beacon(self, beacon: Beacon, now: float) -> None:
        """Hear a peer: its acks, its filters' version, its tables' digests, its choice of broker."""
        for peer, epoch, taken in beacon.acks:
            if peer == self.index:
                self._links.confirmed(beacon.sender, epoch, taken, now)
        before = self.station.peers.beacon(beacon, now)
        if before is None:
            self._new_contact(beacon, now)
        if before is None or beacon.flags & BeaconFlag.SOLICIT:
            self._trickle.prompt(now)
        if before is None or before.beacon[1:8] != beacon[1:8]:
            self._select_relays(now)
            self._office.reconsider(now)
        if not self.roles.holds_tables:
            return
        self.brokerage.hear_home(beacon, now)
        peer_now = self.station.peers.get(beacon.sender)
        if peer_now is None or not self.station.is_broker:
            return
        if peer_now.is_broker:
            self._integrity.noticed(peer_now, now, is_new=before is None or not before.is_broker)
        if beacon.broker == self.index:
            self.memorised.serve(beacon.sender, now)

    def _new_contact(self, beacon: Beacon, now: float) -> None:
        """A peer, or a new incarnation of one: what an earlier one was told or began to say no longer counts."""
        self.station.found(beacon.sender)
        self._links.peer_started(beacon.sender, beacon.incarnation)
        self._reassembly.forget(beacon.sender)
        if beacon.sender == self.station.broker:
            self.memorised.broker_changed(now)

    def _select_relays(self, now: float) -> None:
        """Where routing selects no relays, our own selection is news to those whom it appoints or dismisses."""
        before = self.station.relays
        self.station.select_relays()
        if self.station.relays != before:
            self._trickle.prompt(now)

    def _on_event(self, frame: EventFrame, now: float) -> None:
        """Take what is for us, pass the rest on along its residual node vector."""
        rnv = self._multicast.accept(frame)
        if not rnv.any():
            self._confirm_again(frame)
            self.outlet.drop(Reason.DUPLICATE, peer=frame.sender, event_id=peek_id(frame.body))
            return
        if rnv[self.index]:
            rnv = rnv.without(self.index)
            self._arrived(frame, now)
        if rnv.any():
            self._multicast.forward(frame, rnv)

    def _arrived(self, frame: EventFrame, now: float) -> None:
        """An event has reached one of its homes: us."""
        try:
            event = Event.decode_untrusted(frame.body)
        except WireError:
            self.outlet.drop(Reason.MALFORMED, peer=frame.sender)
            return
        hops = self.config.hop_limit - frame.hops + 1
        if event.delivery is Delivery.REALTIME:
            self.home.take_realtime(event, frame.body, hops=hops, now=now)
            return
        event_id = peek_id(frame.body)
        self.memorised.store(event, frame.body, frame.remaining_ms, NodeVector.empty(self.config.nodes), now)
        memory = self.met.get(event_id)
        if memory is None:
            self.outlet.drop(Reason.EXPIRED, peer=frame.sender, event_id=event_id)
        elif self.home.take(incoming_of(memory, "memorised", hops), now):
            self.memorised.confirm(event_id)

    def _confirm_again(self, frame: EventFrame) -> None:
        """A memorised event that we have comes again: our confirmation has not arrived."""
        memory = self.met.get(peek_id(frame.body))
        if memory is not None and memory.is_taken and NodeVector.from_wire(frame.rnv, self.config.nodes)[self.index]:
            self.memorised.confirm(memory.event_id)

    def _on_publish(self, frame: Publish, now: float) -> None:
        """A home hands us an event. Without tables we cannot tell who wants it, and the home must hear that."""
        if self.roles.holds_tables:
            self.brokerage.on_publish(frame, now)
            return
        self._trickle.prompt(now)
        self.outlet.lose(peek_id(frame.body), ~NodeVector.empty(self.config.nodes), Reason.NO_BROKER)

    def _on_want(self, frame: Want, now: float) -> None:
        """Somebody lacks records. Of our own filters we are the authority, tables or not."""
        here = key_of(self.index)
        if frame.table == Table.FMT and here in frame.keys:
            held = frame.stamps[frame.keys.index(here)]
            if held >= self.home.interests.version:
                self.home.contradicted(held)
            if self.roles.holds_tables:
                self.brokerage.hear_self(now)
            self._send_own_filters(frame.sender)
        self._integrity.on_want(frame, now)
        self._checkout.on_want(frame, now)
        self._office.after_checkout(now)

    def _send_own_filters(self, to: int) -> None:
        interests = self.home.interests
        record = encode_record(FmtRecord(self.index, interests.version, 0, interests.announced()))
        self._links.send(to, Records(self.index, Table.FMT, (record,), 0))

    def _on_delivered(self, frame: Delivered, now: float) -> None:
        """Which homes have which events: what tables are kept right with, and what our own clients ask about."""
        if self.roles.holds_tables:
            self.brokerage.on_delivered(frame, now)
        elif self.home.inquiries:
            for event_id, homes in frame.entries:
                self.met.deliver(event_id, NodeVector.from_wire(homes, self.config.nodes))
                self.home.inquiries.answered(event_id)

    def _on_records(self, frame: Records, now: float) -> None:
        if self.brokerage.on_records(frame, now):
            self._integrity.progressed(frame.sender, Table(frame.table))
            self._trickle.prompt(now)  # our digests have changed: the next broker on the way compares too

    def _on_digests(self, frame: Digests, now: float) -> None:
        self._integrity.on_digests(frame, now)
        self._checkout.on_digests(frame, now)
        self._office.after_checkout(now)

    # What could not be sent

    def _take_back(self, unsent: list[tuple[int, Frame]], now: float, *, is_dead: bool) -> None:
        """Frames come back unconfirmed, as their peer is dead or no longer next: their owners decide."""
        for peer, frame in unsent:
            known = self.station.peers.get(peer)
            if known is not None and known.heard + self.config.retry_max < now:
                self._left(peer, now)
                self.station.miss(peer, now)
                self._search(now)
            if isinstance(frame, Records):
                self._integrity.not_given(peer, Table(frame.table))
            self._gave_up(peer if is_dead else None, frame, now)

    def _gave_up(self, dead: int | None, frame: Frame, now: float) -> None:
        if dead is not None:
            self.station.lapsed.dead(dead)
        match frame:
            case EventFrame(attempt=0):
                self._multicast.gave_up(dead, frame)
            case Publish(body=body):
                event = Event.decode_untrusted(body)
                patience = inf if event.delivery is not Delivery.REALTIME else now + self.config.publish_patience
                self.home.requeue(Publication(event, (body,), patience))
            case Delivered():
                self.memorised.unconfirmed(frame, now)
            case Replay(filters=filters):
                self.home.replays += filters
            case _:
                # Served again, or compared again with the next beacon.
                self.outlet.drop(Reason.HOP_DEAD, peer=dead)

    def _left(self, peer: int, now: float) -> None:
        """A peer is gone, or said goodbye."""
        self.station.found(peer)
        if self.station.peers.forget(peer):
            self._office.reconsider(now)

    def _search(self, now: float) -> None:
        """Beacon more often while somebody is missed."""
        self._trickle.search(self.station.search_interval(now), now)

    def _hand_over(self, now: float) -> None:
        """Give the broker what the home has for it; without a broker it waits."""
        broker = self.station.broker
        if broker is None:
            return
        steps, self.home.announcements = self.home.announcements, []
        replays, self.home.replays = self.home.replays, []
        questions, self.home.inquiries.questions = self.home.inquiries.questions, []
        if broker == self.index:
            for step in steps:
                self.brokerage.announce(step, now)
            for publication in self.home.outgoing():
                self.brokerage.enter(publication.event, publication.bodies, now)
            return
        for step in steps:
            kind, filters = (Subscribe, step.added) if step.added else (Unsubscribe, step.removed)
            self._links.send(broker, kind(self.index, self.index, step.version, step.base, filters))
        if questions:
            stamps = tuple(self.met.tree.stamp(event_id) for event_id in questions)
            self._links.send_loose(broker, Want(self.index, Table.MET, tuple(questions), stamps))
        if replays:
            self._links.send(broker, Replay(self.index, tuple(replays)))
        for publication in self.home.outgoing():
            for body in publication.bodies:
                self._links.send(broker, Publish(self.index, body))

    # Beacons

    def _beacon(self, now: float) -> None:
        if self.station.is_broker:
            self.brokerage.hear_self(now)
            self.brokerage.serve(now)
        beacon = compose(
            self.station,
            self.home.interests,
            self.fmt,
            self.met,
            power=self.power,
            acks=self._links.acks(),
            now=now,
        )
        self._links.send_loose(None, beacon)
        for target in self.station.beacon_targets(now):
            self._links.send_loose(target, beacon)
        self.home.sessions.forget_expired(now)
        self._trickle.sent(now)
        self._search(now)

    # Disk

    def _restore(self, saved: Mapping[str, bytes], now: float) -> None:
        self.home.restore(saved, now)
        for _, (body, expiry, delivered, flags) in saved_under(saved, "event/"):
            self.memorised.restore(body, expiry, delivered, flags, now)
