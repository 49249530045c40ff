"""Routing on a tree of brokers (`routing.mode = "tree"`): every node is a broker of its own clients.

    router    which interest goes over which link, and which events   meetings  when links begin and end
    keeping   the memorised events on their way                       adverts   what is advertised
    plan      the configured tree                                     report    rows and figures of the links

A link of the tree joins two daemons, any number of hops apart; what goes over it is numbered, repeated and in order as
between neighbours (links.py), and accepted from the other end only. When it begins, both ends say what the algorithm
says the other should know, and list the memorised events they hold; with the end of that list each hands over what the
other wants and lacks. A real-time event that a link gives back is lost to the brokers behind it, and recorded so;
memorised ones wait. While a link is down nobody knows who behind it wants what: real-time events of that time pass
those brokers by.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from chapar.errors import WireError
from chapar.event import Delivery, Event, EventId, origin_of, peek_id
from chapar.wire import (
    DIGEST_WIDTH,
    Beacon,
    BeaconFlag,
    Bye,
    Digests,
    EventFrame,
    InterestFrame,
    Listing,
    Meet,
    SyncFlag,
    Table,
)
from chapard.core.effects import Drop, Reason, RoleRow
from chapard.core.fmt import FMT
from chapard.core.home import Home, incoming_of
from chapard.core.membership import is_member
from chapard.core.nodevector import NodeVector
from chapard.core.order import Arrival
from chapard.core.overlay.adverts import Adverts
from chapard.core.overlay.interest import Change, Deliver, Expired, Forward, Interest, Subscriber, Tell, Topic
from chapard.core.overlay.keeping import Keeping, Way
from chapard.core.overlay.meetings import Meetings
from chapard.core.overlay.report import interest_row
from chapard.core.overlay.router import Algorithm, Router, RouterConfig
from chapard.core.overlay.telling import meaning, packed
from chapard.core.power import FLAG
from chapard.core.roles import Role, Why
from chapard.core.store import saved_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chapar.filter import Filter
    from chapar.wire import Frame
    from chapard.core.home import Publication
    from chapard.core.met import MET, Memory
    from chapard.core.peers import Peer
    from chapard.core.strategy import Handlers, Parts

NOTIFICATION = "notification"
HELD, GIVEN_UP = 0, 1
"""The stamps of a LISTING: what the sender holds, and what it does not take any more."""
LISTED_PER_FRAME = 64
"""Events of one LISTING: with their ids about a datagram."""
ROOM_KEPT = 8
"""Part of a link's queue that events leave to interest: one in so many places."""
ADVERTISE_DELAY = 0.5
"""Seconds for which real-time events wait behind a new advertisement, for subscriptions to come toward it."""
LONGEST_HOLD = 0.8
"""Part of `publish_patience` for which they wait at most."""
STOP_PERIODS = 4
"""Sync retries for which a node that stops waits for its links to confirm what they carry."""


class TreeBroker:
    """The strategy of the broker tree."""

    role = Role.BROKER
    why = Why.TREE

    def __init__(self, parts: Parts, now: float) -> None:
        self._station = station = parts.station
        self._config = config = station.config
        self._links = parts.links
        self._outlet = parts.outlet
        self._trickle = parts.trickle
        station.is_broker, station.broker = True, station.index
        self.fmt = FMT(config)
        """Stays empty: filters stand in the router's tables."""
        self.keeping = Keeping(station, parts.outlet, parts.store)
        self.home = Home(station, parts.outlet, parts.store, self.keeping, parts.rng)
        self.neighbours = config.overlay.neighbours(station.index)
        self.behind = {each: config.overlay.behind(station.index, each) for each in self.neighbours}
        self.router = self._router(now)
        self.meetings = Meetings(self.neighbours, station.incarnation, config.sync_retry)
        self._adverts = Adverts(config.subscription_lease)
        self._hold_until = -inf
        """Real-time events wait so long, as something is advertised anew."""
        self._wishes: Counter[tuple[str, Filter]] = Counter()
        self._ready: set[int] = set()
        """The links whose other end has said all that it wanted and held when they began."""
        self._hungry: dict[int, None] = {}
        """Those of them whose other end may lack what it wants."""
        self._failed: dict[int, None] = {}
        """Links that have given frames back since the last drain."""
        self._retry_at = inf
        self._compare_at = now + config.routing.refresh_period
        self._stop_by: float | None = None
        self.is_stopped = False
        self.sent: Counter[str] = Counter()
        """What went over the links, by what it said: events as notifications, interest by its change."""
        self.loops: Counter[int] = Counter()
        """By link, events that had been here already over another."""
        parts.outlet.emit(RoleRow(self.role, self.why))

    def _router(self, now: float) -> Router:
        routing, config = self._config.routing, self._config
        parameters = RouterConfig(
            nodes=config.nodes,
            algorithm=routing.algorithm,
            advertisements=routing.advertisements,
            refresh_period=routing.refresh_period,
            merge_delay=routing.merge_delay,
            seen_limit=config.seen_limit,
        )
        router = Router(self._station.index, parameters, now)
        if routing.publisher_roots:
            roots = frozenset(routing.publisher_roots)
            router.publisher_links = frozenset(each for each, nodes in self.behind.items() if nodes & roots)
        return router

    @property
    def met(self) -> MET:
        return self.keeping.met

    def sizes(self) -> dict[str, tuple[int, int]]:
        tables = [self.router.plane(topic).table for topic in Topic]
        most = max((table.count(link) for table in tables for link in self.neighbours), default=0)
        return {"interests": (most, self.router.config.link_interests)}

    # What happens around it

    def restore(self, saved: Mapping[str, bytes], now: float) -> None:
        for session in self.home.sessions.all():
            for filter_ in session.subscriptions.values():
                self._wish(session.client, filter_, now, stands=True)
        for _, (body, expiry, delivered, flags) in saved_under(saved, "event/"):
            self.keeping.restore(body, expiry, delivered, flags, now)
        for memory in self.met:
            self._advertise(memory.event, now)
        if self.keeping.refused:
            self._retry_at = now

    def contact(self, peer: int, now: float) -> None:
        """What there was with an earlier incarnation of a neighbour is over."""
        if peer in self.behind:
            self._end(peer, now)

    def hear(self, beacon: Beacon, before: Peer | None, now: float) -> None:  # noqa: ARG002 - the interface's
        """A beacon of a neighbour: the link can begin."""
        if beacon.sender not in self.behind:
            return
        self._links.peer_is(beacon.sender, beacon.incarnation)  # else a forged number would silence it for good
        if not beacon.flags & BeaconFlag.TREE:
            self._outlet.drop(Reason.FOREIGN, peer=beacon.sender)  # its routing.mode is another
        elif self.meetings.found(beacon.sender, now):
            self._meet(beacon.sender, 0, now)

    def reconsider(self, now: float) -> None:
        """Links to neighbours that are out of contact end."""
        for link in self.neighbours:
            if link not in self._station.peers:
                self._end(link, now)

    def saved(self, number: int, now: float) -> None:
        """Nobody waits for the disk but the home."""

    def take_back(self, peer: int, frame: Frame, now: float, *, is_dead: bool) -> None:  # noqa: ARG002 - as above
        """A link has failed."""
        self._count_lost(peer, frame)
        if peer in self.behind:
            self._failed[peer] = None

    def _begin_anew(self, now: float) -> None:
        """Links that have failed end, and begin anew if the neighbour is still there."""
        failed, self._failed = self._failed, {}
        for link in failed:
            self._end(link, now)
            if link in self._station.peers and self.meetings.found(link, now):
                self._meet(link, 0, now)

    def stop(self, now: float) -> None:
        """Leave when the links have confirmed what they carry, or it has taken too long."""
        self._stop_by = now + STOP_PERIODS * self._config.sync_retry

    # Links

    def _meet(self, link: int, answer: int, now: float) -> None:
        """Begin a link, or answer its beginning. The beacon ahead lets the other end know us in any case."""
        here = self._station.index
        self._links.send(link, self.beacon((), now))
        self._links.send(link, Meet(here, self.meetings.number(link), answer))

    def _on_meet(self, meet: Meet, now: float) -> None:
        link = meet.sender
        if link not in self.behind or link not in self._station.peers:
            self._outlet.drop(Reason.FOREIGN, peer=link)
            return
        if self._stop_by is not None:
            return
        begins, wants_answer = self.meetings.on_meet(meet)
        if begins:
            self._void(link, now)
        if wants_answer:
            self._meet(link, meet.number, now)
        if begins:
            self.keeping.open(link)
            self.router.link_up(link, now)
            self._carry_out()
            self._list(link)

    def _list(self, link: int) -> None:
        """Say which memorised events we hold, and with that, that we have said what we want."""
        self._say_of(link, self.keeping.held(), HELD)

    def _say_of(self, link: int, event_ids: Sequence[EventId], stamp: int) -> None:
        for start in range(0, max(1, len(event_ids)), LISTED_PER_FRAME):
            entries = tuple((event_id, stamp) for event_id in event_ids[start : start + LISTED_PER_FRAME])
            is_end = stamp == HELD and start + LISTED_PER_FRAME >= len(event_ids)
            flags = SyncFlag.WHOLE if is_end else SyncFlag(0)
            self._links.send(link, Listing(self._station.index, Table.MET, (), entries, int(flags)))

    def _on_listing(self, listing: Listing, now: float) -> None:  # noqa: ARG002 - as all handlers
        link, is_whole = listing.sender, bool(listing.flags & SyncFlag.WHOLE)
        if self._is_link(link) and listing.table == Table.MET:
            self.keeping.given_up(link, [EventId(key) for key, stamp in listing.entries if stamp == GIVEN_UP])
            held = (EventId(key) for key, stamp in listing.entries if stamp != GIVEN_UP)
            self.keeping.listed(link, held, is_whole=is_whole)
            if is_whole:
                self._ready.add(link)
                self._hungry[link] = None

    def _compare(self, now: float) -> None:
        """Say of each link which events both ends have, as far as we know."""
        self._compare_at = now + self._config.routing.refresh_period
        for link in self.router.links:
            count, digest = self.keeping.belief(link)
            digests = (digest, *[0] * (DIGEST_WIDTH - 1))
            self._links.send(link, Digests(self._station.index, Table.MET, 0, 0, count, digests, 0))

    def _on_digests(self, frame: Digests, now: float) -> None:  # noqa: ARG002 - as all handlers
        """What the other end believes. If it is not what we do, or its list was lost, it is told what we hold."""
        link = frame.sender
        if not self._is_link(link) or frame.table != Table.MET:
            return
        if (frame.count, frame.digests[0]) != self.keeping.belief(link):
            self._list(link)
        if link not in self._ready:
            self._ready.add(link)
            self._hungry[link] = None

    def _end(self, link: int, now: float) -> None:
        self.meetings.lost(link)
        self._void(link, now)

    def _void(self, link: int, now: float) -> None:
        """What was learnt over a link goes, and what waits to be sent over it."""
        if link in self.router.links:
            for frame in self._links.withdraw(link):
                self._count_lost(link, frame)
        self._ready.discard(link)
        self._hungry.pop(link, None)
        self.keeping.close(link)
        self.router.link_down(link, now)
        self._carry_out()

    def _is_link(self, peer: int) -> bool:
        """Whether frames of the tree are accepted from a peer now."""
        if peer in self.behind and self.meetings.is_up(peer):
            return True
        self._outlet.drop(Reason.STALE if peer in self.behind else Reason.FOREIGN, peer=peer)
        return False

    def _count_lost(self, link: int, frame: Frame) -> None:
        if isinstance(frame, EventFrame) and link in self.behind:
            event = Event.decode_untrusted(frame.body)
            if event.delivery is Delivery.REALTIME:
                self._lose(event, [link], Reason.HOP_DEAD)

    def _lose(self, event: Event, links: Iterable[int], reason: Reason) -> None:
        """The brokers behind these links do not get an event; if it is addressed, those that it names."""
        homes = {node for link in links for node in self.behind[link]}
        homes &= set(event.to) if event.to else homes
        assert event.id is not None, "stamped"
        self._outlet.lose(event.id, NodeVector.of(sorted(homes), self._config.nodes), reason)

    # Interest

    def hand_over(self, now: float) -> None:
        if self._failed:
            self._begin_anew(now)
        wishes, self.home.wishes = self.home.wishes, []
        for client, filter_, stands in wishes:
            self._wish(client, filter_, now, stands=stands)
        # What the replicated tables would be told of the home.
        self.home.announcements.clear()
        self.home.replays.clear()
        if self.home.publications:
            self._enter(now)
        if self._hungry:
            self._serve(now)
        for link, given_up in self.keeping.notices().items():
            self._say_of(link, given_up, GIVEN_UP)
        self.settle(now)

    def _wish(self, client: str, filter_: Filter, now: float, *, stands: bool) -> None:
        """A client may subscribe to the same twice: the router hears of the first, and of the end of the last."""
        who, key = Subscriber(self._station.index, client), (client, filter_)
        self._wishes[key] += 1 if stands else -1
        if stands and self._wishes[key] == 1:
            self.router.subscribe(who, filter_, now)
        elif not self._wishes[key]:
            del self._wishes[key]
            self.router.unsubscribe(who, filter_, now)
        self._carry_out()

    def _advertise(self, event: Event, now: float) -> bool:
        """Whether something is advertised anew."""
        if not self._config.routing.advertisements:
            return False
        advert = self._adverts.use(event, now)
        if advert is not None:
            self.router.advertise(Subscriber(self._station.index, ""), advert, now)
            self._carry_out()
        return advert is not None

    def _on_interest(self, frame: InterestFrame, now: float) -> None:
        link = frame.sender
        if not self._is_link(link):
            return
        topic, change = meaning(frame.word)
        whose: list[Subscriber | None] = [Subscriber(*each) for each in frame.subscribers]
        whose = whose or [None] * len(frame.filters)
        table = self.router.plane(topic).table
        for filter_, subscriber in zip(frame.filters, whose, strict=True):
            interest = Interest(filter_, subscriber)
            if self._config.record:
                self._outlet.emit(interest_row(link, "rx", change, interest))
            known = table.has(link, interest)
            self.router.on_interest(link, topic, change, interest, now)
            if not known and topic is Topic.SUBSCRIPTIONS and link in self._ready and table.has(link, interest):
                self._hungry[link] = None
        self._carry_out()

    def _carry_out(self) -> None:
        """Tell the neighbours what the router wants them told. Events have been taken care of."""
        tells: list[Tell] = []
        for effect in self.router.drain():
            match effect:
                case Tell():
                    tells.append(effect)
                case Expired(link, _, interest) if self._config.record:
                    self._outlet.emit(interest_row(link, "rx", Change.EXPIRE, interest))
                case Drop(reason=reason, peer=peer, event_id=event_id):
                    self._outlet.drop(reason, peer=peer, event_id=event_id)
                    if reason is Reason.LOOP and peer is not None:
                        self.loops[peer] += 1
        for link, frame in packed(self._station.index, tells):
            self._links.send(link, frame)
        self.sent.update(each.change.value for each in tells)
        for each in tells if self._config.record else ():
            self._outlet.emit(interest_row(each.link, "tx", each.change, each.interest))

    # Events

    def _enter(self, now: float) -> None:
        """Our own clients' events. Behind a new advertisement all wait until subscriptions have had time to come."""
        for publication in self.home.publications:
            if self._advertise(publication.event, now) and self.neighbours:
                self._hold_until = now + self._advertise_delay()
        if self._hold_until > now:
            return
        for publication in self.home.outgoing():
            for body in publication.bodies:
                self._publish(publication, body, now)

    def _advertise_delay(self) -> float:
        """Merging gathers subscriptions at each broker on the way. What waits must not be given up meanwhile."""
        config, delay = self._config, ADVERTISE_DELAY
        if config.routing.algorithm is Algorithm.MERGING:
            delay += config.routing.merge_delay * config.overlay.depth(self._station.index)
        return min(delay, LONGEST_HOLD * config.publish_patience)

    def _publish(self, publication: Publication, body: bytes, now: float) -> None:
        here, event_id = self._station.index, peek_id(body)
        memory = self.met.get(event_id)
        if not is_member(self._config, self._outlet, publication.event, here):
            return
        if publication.event.delivery is Delivery.REALTIME:
            self._route(publication.event.accepted(id=event_id, chain=0), body, Way(here, 0), now)
        elif memory is not None:
            if not memory.delivered[here]:
                self._offer(memory, now)
            self._pass_on(memory, here, now)

    def _on_event(self, frame: EventFrame, now: float) -> None:
        """An event comes over a link."""
        link = frame.sender
        if not self._is_link(link):
            return
        try:
            event = Event.decode_untrusted(frame.body)
        except WireError:
            self._outlet.drop(Reason.MALFORMED, peer=link)
            return
        if not is_member(self._config, self._outlet, event, origin_of(peek_id(frame.body))):
            return
        way = Way(link, self._config.hop_limit - frame.hops + 1, has_waited=bool(frame.attempt))
        if event.delivery is Delivery.REALTIME:
            self._route(event, frame.body, way, now)
            return
        before = self._outlet.drops[Reason.LOOP]
        memory = self.keeping.take(event, frame.body, frame.remaining_ms, way, now)
        self.loops[link] += self._outlet.drops[Reason.LOOP] - before
        if memory is not None:
            self._offer(memory, now)
            self._advertise(event, now)
            self._pass_on(memory, link, now)

    def _route(self, event: Event, body: bytes, way: Way, now: float) -> None:
        """A real-time event: to our own clients, and over the links behind which it is wanted."""
        if way.link == self._station.index:
            self.router.publish(event)
        else:
            self.router.on_event(way.link, event)
        effects = self.router.drain()
        if any(isinstance(effect, Drop) for effect in effects):
            self._seen_before(effects)
            return
        onward = {effect.link for effect in effects if isinstance(effect, Forward)}
        if event.to:
            onward = {link for link in onward if self.behind[link].intersection(event.to)}
        self._send_realtime(event, body, way, sorted(onward))
        if event.to:
            others = [link for link in self.neighbours if link != way.link and link not in onward]
            self._lose(event, [link for link in others if not self.meetings.is_up(link)], Reason.UNREACHABLE)
            self._lose(event, [link for link in others if self.meetings.is_up(link)], Reason.NO_CLIENT)
        is_for_here = not event.to or self._station.index in event.to
        is_wanted = any(isinstance(effect, Deliver) for effect in effects)
        if way.link != self._station.index and is_for_here and (is_wanted or event.to):
            self.home.take_realtime(Arrival(event, body, way.hops), 0, now)  # a link keeps the order

    def _seen_before(self, effects: Iterable[object]) -> None:
        for effect in effects:
            if isinstance(effect, Drop):
                self._outlet.drop(effect.reason, peer=effect.peer, event_id=effect.event_id)
                if effect.reason is Reason.LOOP and effect.peer is not None:
                    self.loops[effect.peer] += 1

    def _send_realtime(self, event: Event, body: bytes, way: Way, links: list[int]) -> None:
        hops = self._config.hop_limit - way.hops
        if hops < 1:
            self._lose(event, links, Reason.HOP_LIMIT)
            return
        for link in links:
            if self._links.room(link) > self._config.link_queue // ROOM_KEPT:
                self._links.send(link, EventFrame(self._station.index, hops, 0, 0, 0, b"", body))
                self.sent[NOTIFICATION] += 1
            else:
                self._lose(event, [link], Reason.QUEUE_FULL)

    # Memorised events

    def _offer(self, memory: Memory, now: float) -> None:
        """Give our clients an event; what a full queue refuses is tried again."""
        if not self.home.is_for_here(memory) or self.home.take(
            incoming_of(memory, "memorised", self.keeping.way(memory).hops), now
        ):
            self.keeping.confirm(memory.event_id)
        else:
            self.keeping.refuse(memory)
            self._retry_at = min(self._retry_at, now + self._config.serve_retry)

    def _pass_on(self, memory: Memory, came_from: int, now: float) -> None:
        """Send an event over the links where it is wanted, unless older ones go first."""
        for link in self.router.passes(memory.event, came_from):
            if link == came_from or link not in self._ready or link in self._hungry:
                continue
            has_waited = self.keeping.way(memory).has_waited
            if not self._is_passed_by(memory, link) and not self._send(memory, link, now, has_waited=has_waited):
                self._hungry[link] = None

    def _is_passed_by(self, memory: Memory, link: int) -> bool:
        """Whether an event is addressed to nodes of which none is behind this link."""
        return bool(memory.event.to) and not self.behind[link].intersection(memory.event.to)

    def _send(self, memory: Memory, link: int, now: float, *, has_waited: bool) -> bool:
        """Whether there was room for it."""
        if self._links.room(link) <= self._config.link_queue // ROOM_KEPT:
            return False
        hops = self._config.hop_limit - self.keeping.way(memory).hops
        if hops < 1:
            self._lose(memory.event, [link], Reason.HOP_LIMIT)
        else:
            attempt, remaining = int(has_waited), memory.remaining_ms(now)
            frame = EventFrame(self._station.index, hops, attempt, remaining, 0, b"", memory.body)
            self._links.send(link, frame)
            self.sent[NOTIFICATION] += 1
        self.keeping.at(link, [memory.event_id])
        return True

    def _serve(self, now: float) -> None:
        """Send what other ends want and lack, as far as there is room; the rest goes when there is some again."""
        hungry, self._hungry = self._hungry, {}
        for link in hungry:
            for memory in self.keeping.lacking(link, now):
                if link not in self.router.onward(memory.event) or self._is_passed_by(memory, link):
                    continue
                if not self._send(memory, link, now, has_waited=True):
                    self._hungry[link] = None
                    break

    # Time

    def beacon(self, acks: tuple[tuple[int, int, int], ...], now: float) -> Beacon:  # noqa: ARG002 - as above
        """That we are there, and route on a tree."""
        station, interests = self._station, self.home.interests
        flags = int(FLAG[station.power] | BeaconFlag.BROKER | BeaconFlag.TREE)
        return Beacon(
            station.index, station.incarnation, flags, station.index, interests.version, interests.digest,
            b"", b"", 0, 0, 0, 0, acks,
        )  # fmt: skip

    def beacon_targets(self, now: float) -> list[int | None]:  # noqa: ARG002 - as above
        """The neighbours in the tree: one broadcast for those one hop away, and for whomever routing does not know."""
        near = any(self._station.is_adjacent(each) for each in self.neighbours)
        far = [each for each in self.neighbours if not self._station.is_adjacent(each)]
        return [None, *far] if near else [*far]

    def tick(self, now: float) -> None:
        self.router.tick(now)
        self._carry_out()
        self.keeping.expire(now)
        if self._compare_at <= now:
            self._compare(now)
        for link in self.meetings.due(now):
            if link not in self._station.peers:
                self._end(link, now)
            elif self.meetings.found(link, now):
                self._meet(link, 0, now)
        if self._retry_at <= now:
            self._retry_at = inf
            for memory in [each for each in self.met if each.event_id in self.keeping.refused]:
                self._offer(memory, now)
        for advert in self._adverts.expire((memory.event for memory in self.met), now):
            self.router.unadvertise(Subscriber(self._station.index, ""), advert, now)
            self._carry_out()

    def settle(self, now: float) -> None:
        """The last word of a node that stops: when its links are quiet, or it has waited long enough."""
        if self._stop_by is None or self.is_stopped:
            return
        if self._links.is_quiet or self._stop_by <= now:
            self.is_stopped = True
            for target in self.beacon_targets(now):
                self._links.send_loose(target, Bye(self._station.index))

    def next_deadline(self) -> float | None:
        times = [self.router.next_deadline, self.meetings.next_deadline(), self._adverts.next_deadline()]
        times += [self._retry_at, self._compare_at]
        expiry = self.met.next_deadline()
        times += [each for each in (expiry, self._stop_by) if each is not None]
        if self.home.publications:
            times.append(self._hold_until)
        return min(times)

    # Frames

    def handlers(self) -> Handlers:
        return {
            Meet: self._on_meet,
            InterestFrame: self._on_interest,
            EventFrame: self._on_event,
            Listing: self._on_listing,
            Digests: self._on_digests,
        }
