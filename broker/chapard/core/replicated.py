"""Routing by replicated tables (`routing.mode = "chapar"`): every broker knows which home wants what.

    office      broker or not, and what becomes of the tables     multicast   residual node vectors
    brokerage   the FMT, leases, events entering the network      integrity   comparing tables
    memorised   the MET and its service                           checkout    handing them over
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from chapar.errors import WireError
from chapar.event import Delivery, Event, peek_id
from chapar.wire import (
    Beacon,
    Delivered,
    Digests,
    EventFrame,
    FmtRecord,
    Frame,
    Lease,
    Listing,
    Publish,
    Records,
    Replay,
    Subscribe,
    Table,
    Unsubscribe,
    Want,
    encode_record,
)
from chapar.wire import (
    Store as StoreFrame,
)
from chapard.core.beacons import compose
from chapard.core.brokerage import Brokerage
from chapard.core.checkout import CheckOut
from chapard.core.effects import Reason
from chapard.core.fmt import FMT, key_of
from chapard.core.home import Home, Publication, incoming_of
from chapard.core.integrity import Integrity
from chapard.core.memorised import Memorised
from chapard.core.multicast import Multicast
from chapard.core.nodevector import NodeVector
from chapard.core.office import Office
from chapard.core.order import Arrival
from chapard.core.store import saved_under
from chapard.core.takeover import Takeover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapard.core.met import MET
    from chapard.core.peers import Peer
    from chapard.core.roles import Role, Roles, Why
    from chapard.core.strategy import Handlers, Parts

FLOODED = (StoreFrame, Subscribe, Unsubscribe, Lease)


class Replicated:
    """The strategy of the replicated tables."""

    def __init__(self, parts: Parts, now: float) -> None:
        self._station = station = parts.station
        self._config = config = station.config
        self._links = links = parts.links
        self._outlet = outlet = parts.outlet
        self._trickle = parts.trickle
        self.fmt = FMT(config)
        self._multicast = Multicast(station, links, outlet)
        self.memorised = Memorised(station, links, outlet, parts.store, self.fmt, self._multicast)
        self.home = Home(station, outlet, parts.store, self.memorised, parts.rng)
        self._integrity = Integrity(station, links, self.fmt, self.met)
        self._takeover = Takeover(station, self.fmt)
        self.brokerage = Brokerage(
            station, links, outlet, self.fmt, self.home, self.memorised, self._multicast, self._integrity,
            self._takeover, now,
        )  # fmt: skip
        self._checkout = CheckOut(station, links, self.fmt, self.met, self._integrity)
        self.office = Office(
            station, links, outlet, self.fmt, self.memorised, self.brokerage, self._integrity, self._checkout,
            self._takeover, parts.trickle, now,
        )  # fmt: skip

    @property
    def met(self) -> MET:
        return self.memorised.met

    @property
    def roles(self) -> Roles:
        return self.office.roles

    @property
    def role(self) -> Role:
        return self.roles.role

    @property
    def why(self) -> Why:
        return self.roles.why

    def sizes(self) -> dict[str, tuple[int, int]]:
        return {
            "fmt": (len(self.fmt), self._config.fmt_homes),
            "seen": (len(self._multicast), self._config.seen_limit),
            "entering": (self.brokerage.held, self._config.outbox_limit),
        }

    # What happens around it

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        for _, (body, expiry, delivered, flags) in saved_under(saved, "event/"):
            self.memorised.restore(body, expiry, delivered, flags, now)

    def reconsider(self, now: float) -> None:
        self.office.reconsider(now)

    def contact(self, peer: int, now: float) -> None:
        if peer == self._station.broker:
            self.memorised.broker_changed(now)

    def hear(self, beacon: Beacon, before: Peer | None, now: float) -> None:
        """A peer's filters' version, its tables' digests, its choice of broker."""
        if not self.roles.holds_tables:
            return
        self.brokerage.hear_home(beacon, now)
        peer_now = self._station.peers.get(beacon.sender)
        if peer_now is None or not self._station.is_broker:
            return
        if peer_now.is_broker:
            self._integrity.noticed(peer_now, now, is_new=before is None or not before.is_broker)
        if beacon.broker == self._station.index:
            self.memorised.serve(beacon.sender, now)

    def saved(self, number: int, now: float) -> None:
        self.memorised.saved(number, now)

    def hand_over(self, now: float) -> None:
        """Give the broker what the home has for it; without a broker it waits."""
        self.home.wishes.clear()  # the announcements say it for the whole home
        self.brokerage.settle(now)
        broker, here = self._station.broker, self._station.index
        if broker is None:
            return
        steps, self.home.announcements = self.home.announcements, []
        replays, self.home.replays = self.home.replays, []
        questions, self.home.inquiries.questions = self.home.inquiries.questions, []
        if broker == here:
            for step in steps:
                self.brokerage.announce(step, now)
            for publication in self.home.outgoing():
                self.brokerage.enter(publication, now)
            return
        for step in steps:
            kind, filters = (Subscribe, step.added) if step.added else (Unsubscribe, step.removed)
            self._links.send(broker, kind(here, here, step.version, step.base, filters))
        if questions:
            stamps = tuple(self.met.tree.stamp(event_id) for event_id in questions)
            self._links.send_loose(broker, Want(here, Table.MET, tuple(questions), stamps))
        if replays:
            self._links.send(broker, Replay(here, tuple(replays)))
        for publication in self.home.outgoing():
            for body, behind in publication.each():
                self._links.send(broker, Publish(here, body, behind))

    def take_back(self, peer: int, frame: Frame, now: float, *, is_dead: bool) -> None:
        if isinstance(frame, Records):
            self._integrity.not_given(peer, Table(frame.table))
        dead = peer if is_dead else None
        match frame:
            case EventFrame(attempt=0):
                self._multicast.gave_up(dead, frame)
            case Publish(body=body, behind=behind):
                event = Event.decode_untrusted(body)
                patience = inf if event.delivery is not Delivery.REALTIME else now + self._config.publish_patience
                self.home.requeue(Publication(event, (body,), patience, behind))
            case Delivered():
                self.memorised.unconfirmed(frame, now)
            case Replay(filters=filters):
                self.home.replays += filters
            case _:
                # Served again, or compared again with the next beacon.
                self._outlet.drop(Reason.HOP_DEAD, peer=dead)

    def stop(self, now: float) -> None:
        self.office.stop(now)

    @property
    def is_stopped(self) -> bool:
        return self.office.is_stopped

    # Time

    def beacon(self, acks: tuple[tuple[int, int, int], ...], now: float) -> Beacon:
        if self._station.is_broker:
            self.brokerage.hear_self(now)
            self.brokerage.serve(now)
        station = self._station
        return compose(station, self.home.interests, self.fmt, self.met, power=station.power, acks=acks, now=now)

    def beacon_targets(self, now: float) -> list[int | None]:
        return [None, *self._station.beacon_targets(now)]

    def tick(self, now: float) -> None:
        if self.memorised.tick(now):
            self.brokerage.serve(now)
        self.brokerage.tick(now)
        self._integrity.tick(now)
        self.office.tick(now)

    def settle(self, now: float) -> None:
        self.office.after_checkout(now)

    def next_deadline(self) -> float | None:
        times = (
            self.memorised.next_deadline(),
            self._integrity.next_deadline(),
            self.office.next_deadline(),
            self.brokerage.next_deadline(),
        )
        return min(time for time in times if time is not None)

    # Frames

    def handlers(self) -> Handlers:
        return {
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
                self._outlet.drop(Reason.FOREIGN, peer=frame.sender)

        return handle

    def _on_event(self, frame: EventFrame, now: float) -> None:
        """Take what is for us, pass the rest on along its residual node vector."""
        rnv = self._multicast.accept(frame)
        if not rnv.any():
            self._confirm_again(frame)
            self._outlet.drop(Reason.DUPLICATE, peer=frame.sender, event_id=peek_id(frame.body))
            return
        if rnv[self._station.index]:
            rnv = rnv.without(self._station.index)
            self._arrived(frame, now)
        if rnv.any():
            self._multicast.forward(frame, rnv)

    def _arrived(self, frame: EventFrame, now: float) -> None:
        """An event has reached one of its homes: us."""
        try:
            event = Event.decode_untrusted(frame.body)
        except WireError:
            self._outlet.drop(Reason.MALFORMED, peer=frame.sender)
            return
        hops = self._config.hop_limit - frame.hops + 1
        if event.delivery is Delivery.REALTIME:
            self.home.take_realtime(Arrival(event, frame.body, hops), frame.behind, now)
            return
        event_id = peek_id(frame.body)
        self.memorised.store(event, frame.body, frame.remaining_ms, NodeVector.empty(self._config.nodes), now)
        memory = self.met.get(event_id)
        if memory is None:
            self._outlet.drop(Reason.EXPIRED, peer=frame.sender, event_id=event_id)
        elif self.home.take(incoming_of(memory, "memorised", hops), now):
            self.memorised.confirm(event_id)

    def _confirm_again(self, frame: EventFrame) -> None:
        """A memorised event that we have comes again: our confirmation has not arrived."""
        memory = self.met.get(peek_id(frame.body))
        is_for_us = NodeVector.from_wire(frame.rnv, self._config.nodes)[self._station.index]
        if memory is not None and memory.is_taken and is_for_us:
            self.memorised.confirm(memory.event_id)

    def _on_publish(self, frame: Publish, now: float) -> None:
        """A home hands us an event. Without tables we cannot tell who wants it, and the home must hear that."""
        if self.roles.holds_tables:
            self.brokerage.on_publish(frame, now)
            return
        self._trickle.prompt(now)
        self._outlet.lose(peek_id(frame.body), ~NodeVector.empty(self._config.nodes), Reason.NO_BROKER)

    def _on_want(self, frame: Want, now: float) -> None:
        """Somebody lacks records. Of our own filters we are the authority, tables or not."""
        here = key_of(self._station.index)
        if frame.table == Table.FMT:
            self._takeover.answered(frame.sender, now)
        if frame.table == Table.FMT and here in frame.keys:
            held = frame.stamps[frame.keys.index(here)]
            if held >= self.home.interests.version:
                self.home.contradicted(held)
            if self.roles.holds_tables:
                self.brokerage.hear_self(now)
            self._send_own_filters(frame.sender)
        self._integrity.on_want(frame, now)
        self._checkout.on_want(frame, now)
        self.office.after_checkout(now)

    def _send_own_filters(self, to: int) -> None:
        interests = self.home.interests
        record = encode_record(FmtRecord(self._station.index, interests.version, 0, interests.announced()))
        self._links.send(to, Records(self._station.index, Table.FMT, (record,), 0))

    def _on_delivered(self, frame: Delivered, now: float) -> None:
        """Which homes have which events: what tables are kept right with, and what our own clients ask about."""
        if self.roles.holds_tables:
            self.brokerage.on_delivered(frame, now)
        elif self.home.inquiries:
            for event_id, homes in frame.entries:
                self.met.deliver(event_id, NodeVector.from_wire(homes, self._config.nodes))
                self.home.inquiries.answered(event_id)

    def _on_records(self, frame: Records, now: float) -> None:
        if frame.table == Table.FMT:
            self._takeover.answered(frame.sender, now)
        if self.brokerage.on_records(frame, now):
            self._integrity.progressed(frame.sender, Table(frame.table))
            self._trickle.prompt(now)  # our digests have changed: the next broker on the way compares too

    def _on_digests(self, frame: Digests, now: float) -> None:
        self._integrity.on_digests(frame, now)
        self._checkout.on_digests(frame, now)
        self.office.after_checkout(now)
