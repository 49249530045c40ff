"""One node of the network: the machines of this package, joined.

Frames, ticks, client requests and route views go in with the time as an argument; effects come out of `drain`. A driver
transmits, saves and answers what it drains, and calls `tick` when `next_deadline` has come. It decides nothing.

    links     hop reliability             station   who and where we are, whom we hear
    home      clients, own filters        strategy  where interest and events go

This module decides who gets to see a frame, keeps contact with the peers, and says what sets the strategy going.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar.errors import WireError
from chapar.wire import (
    Ack,
    Beacon,
    BeaconFlag,
    Bye,
    Fragment,
    Frame,
    Link,
    Nack,
    Reassembly,
    decode_untrusted,
    encode,
)
from chapard.core.config import Mode
from chapard.core.effects import Reason, RouteRow
from chapard.core.links import Links
from chapard.core.outlet import Outlet
from chapard.core.overlay.broker import TreeBroker
from chapard.core.power import SHRINK, STRETCH, power_at
from chapard.core.replicated import Replicated
from chapard.core.station import Station
from chapard.core.store import Store
from chapard.core.strategy import Parts
from chapard.core.traffic import frame_row
from chapard.core.trickle import Trickle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from chapar.session import Request
    from chapard.core.config import Config
    from chapard.core.effects import Effect
    from chapard.core.fmt import FMT
    from chapard.core.home import Home
    from chapard.core.met import MET
    from chapard.core.power import Power
    from chapard.core.roles import Role, Why
    from chapard.core.strategy import Strategy
    from chapard.core.topology import RouteView


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
        self._trickle = Trickle(config.beacon_min, config.refresh_period, rng, now)
        parts = Parts(self.station, self._links, self.outlet, self._store, self._trickle, rng)
        is_tree = config.routing.mode is Mode.TREE
        self.strategy: Strategy = TreeBroker(parts, now) if is_tree else Replicated(parts, now)
        self._handlers = self._handler_table()
        if saved:
            self.home.restore(saved, now)
            self.strategy.restore(saved, now)
        self.strategy.reconsider(now)

    # What others may look at

    @property
    def index(self) -> int:
        return self.station.index

    @property
    def replicated(self) -> Replicated:
        """The strategy of the replicated tables; not to be asked for where there is another."""
        assert isinstance(self.strategy, Replicated), "routing.mode is chapar"
        return self.strategy

    @property
    def tree(self) -> TreeBroker | None:
        """The strategy of the broker tree; None where there is another."""
        return self.strategy if isinstance(self.strategy, TreeBroker) else None

    @property
    def home(self) -> Home:
        return self.strategy.home

    @property
    def fmt(self) -> FMT:
        return self.strategy.fmt

    @property
    def met(self) -> MET:
        return self.strategy.met

    @property
    def role(self) -> Role:
        return self.strategy.role

    @property
    def why(self) -> Why:
        """The rule that gave it its role."""
        return self.strategy.why

    @property
    def power(self) -> Power:
        return self.station.power

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Every bounded table and queue: how much is used, and the limit."""
        config = self.config
        sessions = self.home.sessions
        return {
            "sessions": (len(sessions), config.session_limit),
            "queue": (max((each.events for each in sessions.all()), default=0), config.session_queue),
            "publications": (self.home.waiting, config.outbox_most),
            "met": (len(self.met), config.met_events),
            "met_bytes": (self.met.bytes, config.met_bytes),
            "link_queue": (self._links.waiting(), config.link_queue),
            "peers": (len(self.station.peers), config.nodes),
            **self.strategy.sizes(),
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
                self.outlet.emit(frame_row(frame, encode(frame), "rx", source, 0))
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
        for destination in sorted(before.routes.keys() - view.routes.keys()):
            self.outlet.emit(RouteRow(destination, None, 0))
        for neighbour in sorted(gone):
            if self.station.peers.forget(neighbour):
                self.station.miss(neighbour, now)
        self._search(now)
        if view.neighbours - before.neighbours:
            self._trickle.prompt(now)
        self.strategy.reconsider(now)
        for neighbour in sorted(gone):
            withdrawn = [(neighbour, frame) for frame in self._links.withdraw(neighbour)]
            self._take_back(withdrawn, now, is_dead=False)

    def client_request(self, client: str, request: Request, now: float) -> None:
        """Carry out a client's request; the answers are effects."""
        self.home.request(client, request, now)
        if self.home.publications or self.home.inquiries.questions:
            self.strategy.hand_over(now)

    def saved(self, number: int, now: float) -> None:
        """Everything that was to be saved before the effect Settle of this number is on the disk."""
        self.home.saved(number)
        self.strategy.saved(number, now)

    def battery_changed(self, level: float, now: float) -> None:
        """Take the battery's level, between 0 and 1 (report 2.2.4)."""
        power = power_at(level, self.config)
        if power is self.power:
            return
        self.station.power = power
        self.met.limit = max(1, self.config.met_events // SHRINK[power])
        self._trickle.stretch(self.config.beacon_min * STRETCH[power], self.config.refresh_period * STRETCH[power])
        self._trickle.prompt(now)
        self.strategy.reconsider(now)

    def stop(self, now: float) -> None:
        """Stop in good order: say goodbye to the clients and check out. Drive on until `is_stopped`."""
        self.home.sessions.goodbye()
        self.strategy.stop(now)
        self._beacon(now)
        self.strategy.settle(now)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is left to do after `stop`."""
        return self.strategy.is_stopped

    def tick(self, now: float) -> None:
        """Do whatever is due."""
        self._handle(self._links.tick(now), now)
        for peer, _ in self._reassembly.expire(now):
            self.outlet.drop(Reason.REASSEMBLY, peer=peer)
        self.home.tick(now)
        self.strategy.tick(now)
        silent = self.station.peers.expire(now)
        for peer in silent:
            self.station.miss(peer, now)
        if silent:
            self._search(now)
            self.strategy.reconsider(now)
        self.station.lapsed.expire(now)
        if self._trickle.deadline <= now:
            self._beacon(now)
        self.strategy.settle(now)

    # Outputs

    def next_deadline(self) -> float:
        """When `tick` has something to do next."""
        times = [
            self._links.next_deadline(),
            self._reassembly.next_deadline(),
            self.home.next_deadline(),
            self.station.peers.next_deadline(),
            self.station.lapsed.next_deadline(),
            self.strategy.next_deadline(),
            self._trickle.deadline,
        ]
        return min(time for time in times if time is not None)

    def drain(self, now: float) -> list[Effect]:
        """What is to be done, in order. What was queued for one destination leaves packed."""
        self._take_back(self._links.failures(), now, is_dead=True)
        self.strategy.hand_over(now)
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
            **self.strategy.handlers(),
        }

    def _handle(self, frames: list[Frame], now: float) -> None:
        for frame in frames:
            handler = self._handlers.get(type(frame))
            if handler is None:
                # A LINK that heads no datagram, or a frame of another routing.mode.
                reason = Reason.MALFORMED if isinstance(frame, Link) else Reason.FOREIGN
                self.outlet.drop(reason, peer=frame.sender)
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
            self.strategy.reconsider(now)
        self.strategy.hear(beacon, before, now)

    def _new_contact(self, beacon: Beacon, now: float) -> None:
        """A peer, or a new incarnation of one: what an earlier one was told or began to say no longer counts."""
        self.station.found(beacon.sender)
        self._links.peer_started(beacon.sender, beacon.incarnation)
        self._reassembly.forget(beacon.sender)
        self.strategy.contact(beacon.sender, now)

    def _select_relays(self, now: float) -> None:
        """Where routing selects no relays, our own selection is news to those whom it appoints or dismisses."""
        before = self.station.relays
        self.station.select_relays()
        if self.station.relays != before:
            self._trickle.prompt(now)

    # What could not be sent

    def _take_back(self, unsent: list[tuple[int, Frame]], now: float, *, is_dead: bool) -> None:
        """Frames come back unconfirmed, as their peer is dead or no longer next: their owners decide."""
        for peer, frame in unsent:
            known = self.station.peers.get(peer)
            if known is not None and known.heard + self.config.retry_max < now:
                self._left(peer, now)
                self.station.miss(peer, now)
                self._search(now)
            if is_dead:
                self.station.lapsed.dead(peer)
            self.strategy.take_back(peer, frame, now, is_dead=is_dead)

    def _left(self, peer: int, now: float) -> None:
        """A peer is gone, or said goodbye."""
        self.station.found(peer)
        if self.station.peers.forget(peer):
            self.strategy.reconsider(now)

    def _search(self, now: float) -> None:
        """Beacon more often while somebody is missed."""
        self._trickle.search(self.station.search_interval(now), now)

    # Beacons

    def _beacon(self, now: float) -> None:
        beacon = self.strategy.beacon(self._links.acks(), now)
        for target in self.strategy.beacon_targets(now):
            self._links.send_loose(target, beacon)
        self.home.sessions.forget_expired(now)
        self._trickle.sent(now)
        self._search(now)
