"""One OLSR node (RFC 3626): the machines of this package, joined.

Datagrams and ticks go in with the time as an argument; datagrams to broadcast come out of `drain`, and the tables can
be read at any time. A driver sends what it drains and calls `tick` when `next_deadline` has come. It decides nothing.

    linkset         who can be heard, and hears us         duplicates   which messages were read and relayed
    neighbourhood   two hops around us, and relays         speech       our own HELLO, TC and MID
    topology        what the others advertise              outbox       what waits to be sent
    routing         from all of these to routes

This module decides which messages are read and relayed (3.4), what a message changes, and when we speak.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent import sequence, speech
from chapar_olsr.agent.codec import Codec, OlsrError
from chapar_olsr.agent.config import ALL_NEIGHBOURS
from chapar_olsr.agent.duplicates import Duplicates
from chapar_olsr.agent.linkset import Heard, LinkSet
from chapar_olsr.agent.messages import Body, Hello, Hna, Kind, LinkType, Message, Mid, NeighbourType, Packet, Tc
from chapar_olsr.agent.neighbourhood import Neighbourhood
from chapar_olsr.agent.outbox import Outbox, Send
from chapar_olsr.agent.routing import AgentRoute, calculate, etx, known_links
from chapar_olsr.agent.timecode import code_of, seconds
from chapar_olsr.agent.topology import Topology
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.mpr import ALWAYS, DEFAULT, NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from random import Random

    from chapar_olsr.agent.config import AgentConfig
    from chapar_olsr.agent.linkset import Link

FARTHEST: Final = 255
"""TTL of what is flooded."""
HELLO_BYTES: Final = 4
TC_BYTES: Final = 4
"""Of a body before its lists."""
URGENT: Final = 4
"""A HELLO or TC with news comes at most this many times as often as usual."""
_NEIGHBOUR_TYPES: Final = frozenset(NeighbourType)


class Neighbour(NamedTuple):
    """What is known of one neighbour, by main address."""

    address: int
    is_symmetric: bool
    willingness: int
    is_mpr: bool
    is_selector: bool
    two_hop: frozenset[int]


class LinkState(NamedTuple):
    """What is known of one link."""

    local: int
    remote: int
    is_symmetric: bool
    is_heard: bool
    is_lost: bool
    quality: float
    neighbour_quality: float
    expires: float
    """Seconds until it is forgotten if nothing more is heard."""


class NetworkState(NamedTuple):
    """A network behind another node (HNA)."""

    gateway: int
    network: int
    mask: int
    expires: float
    """Seconds until it is forgotten if nothing more is heard."""


class Agent:
    """An OLSR node on interfaces with these addresses, the first of which is its main address."""

    def __init__(
        self, config: AgentConfig, interfaces: Sequence[int], rng: Random, now: float, faults: Faults | None = None
    ) -> None:
        assert interfaces, "a node has an interface"
        self.main = interfaces[0]
        self.faults = faults if faults is not None else Faults()
        self.version = 0
        """Rises whenever neighbours, relays or routes have changed."""
        self._config = config
        self._interfaces = tuple(interfaces)
        self._rng = rng
        self._now = now
        self._codec = Codec(config.address_bytes)
        self._links = LinkSet(config)
        self._hood = Neighbourhood(self.main)
        self._topology = Topology()
        self._duplicates = Duplicates()
        self._outbox = Outbox(config, self._codec, self._interfaces, rng)
        self._routes: dict[int, AgentRoute] = {}
        self._relays: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        """Whom we chose, and who chose us, when we last looked."""
        self._message = rng.randrange(sequence.MODULUS)
        self._ansn = rng.randrange(sequence.MODULUS)
        self._advertised: frozenset[int] = frozenset()
        self._advertise_until = -inf
        """Until when an empty TC is sent, so that nobody believes the last one any longer (9.3)."""
        self._hello_at = now + rng.random() * config.max_jitter
        self._tc_at = now + rng.random() * config.tc_interval
        self._mid_at = now + rng.random() * config.mid_interval if len(interfaces) > 1 else inf
        self._hello_before = self._tc_before = -inf
        """When the last ones were sent."""
        self._routes_at = inf
        """When routes are calculated again; inf while they are right."""
        self._routes_before = -inf

    # In

    def datagram_received(self, data: bytes, source: int, interface: int, now: float) -> None:
        """Take a datagram that came from the interface `source` in on our own with the address `interface`."""
        if source in self._interfaces:  # our own broadcast, heard again
            return
        self._now = now
        try:
            packet = self._codec.decode_untrusted(data)
        except OlsrError as error:
            self.faults.add(error.fault, f"{error}, from {self._codec.text(source)}")
            return
        self._links.packet_received(interface, source, packet.sequence, now)
        for message in packet.messages:
            self._read(message, packet, source, interface, now)
        self._settle(now)

    def tick(self, now: float) -> None:
        """Do whatever is due."""
        self._now = now
        self._links.tick(now)
        self._topology.expire(now)
        self._settle(now)
        if self._hello_at <= now:
            self._say_hello(now)
        if self._tc_at <= now:
            self._say_tc(now)
        if self._mid_at <= now:
            self._say_mid(now)
        self._outbox.tick(now)
        if self._routes_at <= now:
            self._calculate(now)

    def next_deadline(self) -> float:
        """When to call `tick` next, at the latest."""
        now = self._now
        return min(
            self._hello_at,
            self._tc_at,
            self._mid_at,
            self._routes_at,
            self._outbox.deadline,
            self._links.deadline(now),
            self._hood.deadline,
            self._topology.deadline,
        )

    def drain(self, now: float) -> list[Send]:
        """The datagrams to broadcast."""
        if self._routes_at <= now:
            self._calculate(now)
        return self._outbox.drain()

    # What it knows

    @property
    def address_bytes(self) -> int:
        """How long an address is on the wire."""
        return self._config.address_bytes

    def neighbours(self) -> list[Neighbour]:
        """Everyone who is heard, by address."""
        hood, selectors = self._hood, self._hood.selectors
        two_hop = hood.two_hop()
        return [
            Neighbour(
                each,
                each in hood.near,
                hood.willingness.get(each, DEFAULT),
                each in hood.mprs,
                each in selectors,
                frozenset(two_hop.get(each, ())),
            )
            for each in sorted({link.neighbour for link in self._links})
        ]

    def links(self) -> list[LinkState]:
        now = self._now
        return [
            LinkState(
                link.local,
                link.remote,
                link.is_symmetric(now),
                link.heard_until > now,
                link.link_type(now) is LinkType.LOST,
                link.quality,
                link.neighbour_quality,
                max(0.0, link.until - now),
            )
            for link in self._links
        ]

    def routes(self) -> Mapping[int, AgentRoute]:
        """Routes by destination, a node's further addresses included."""
        return self._routes

    def topology(self) -> Mapping[int, Iterable[int]] | None:
        """The links that routes lead over, by their near end; None where links differ in quality and not in number."""
        if self._config.link_quality:
            return None
        links = {link.neighbour: link for link in self._best_links(self._now)}
        return known_links(self.main, links, self._hood, self._topology)

    def aliases(self) -> Mapping[int, int]:
        """Main address of each further address (MID)."""
        return self._topology.aliases()

    def networks(self) -> list[NetworkState]:
        """Networks behind other nodes. They are not routed to."""
        now = self._now
        return [NetworkState(*network, max(0.0, until - now)) for network, until in self._topology.networks()]

    # Reading

    def _read(self, message: Message, packet: Packet, source: int, interface: int, now: float) -> None:
        """Read a message, and relay it if that is ours to do (3.4)."""
        text = self._codec.text
        if message.ttl == 0:
            return
        if message.kind in (Kind.HELLO, Kind.LQ_HELLO):
            if message.hops or message.originator in self._interfaces:
                self.faults.add(Fault.SPOOFED, f"a HELLO in the name of {text(message.originator)} from {text(source)}")
            else:
                self._read_hello(message, packet, source, interface, now)
            return
        link = self._links.get(interface, source)
        if message.originator in self._interfaces:
            if message.hops == 0:  # relayed, it would be what we said ourselves
                self.faults.add(Fault.SPOOFED, f"a message in our own name from {text(source)}")
            return
        if link is None or not link.is_symmetric(now):
            return
        if message.hops == 0 and message.originator != link.neighbour:
            self.faults.add(Fault.SPOOFED, f"a message of {text(message.originator)}, first said by {text(source)}")
            return
        may_relay = self._duplicates.may_relay(message.originator, message.sequence, interface)
        if not self._duplicates.is_read(message.originator, message.sequence) and not self._take_flooded(message, now):
            return
        relayed = may_relay and message.ttl > 1 and link.neighbour in self._hood.selectors
        if relayed:
            again = message._replace(ttl=message.ttl - 1, hops=min(message.hops + 1, FARTHEST))
            if not self._outbox.relay(again, now):
                self.faults.add(Fault.FULL, "messages to relay")
        self._duplicates.note(message.originator, message.sequence, interface, relayed=relayed, now=now)

    def _main_of(self, address: int) -> int:
        return self.main if address in self._interfaces else self._topology.main_of(address)

    def _body(self, message: Message) -> Body | None:
        """The body of a message of our own mode; None for any other, which is only relayed."""
        by_quality = self._config.link_quality
        if message.kind in ((Kind.HELLO, Kind.TC) if by_quality else (Kind.LQ_HELLO, Kind.LQ_TC)):
            return None
        return self._codec.decode_body_untrusted(message)

    def _take_flooded(self, message: Message, now: float) -> bool:
        """Read a flooded message; whether it may be relayed: one of a wrong length may not."""
        try:
            body = self._body(message)
        except OlsrError as error:
            self.faults.add(error.fault, f"{error}, in a message of {self._codec.text(message.originator)}")
            return False
        until = now + seconds(message.validity)
        fault = None
        if isinstance(body, Tc):
            main_of = self._main_of
            costs = {main_of(node): cost for node, cost in _with_costs(body.neighbours, body.qualities)}
            fault = self._topology.tc_received(message.originator, body.ansn, costs, until)
        elif isinstance(body, Mid):
            aliases = [each for each in body.aliases if each not in self._interfaces and each != message.originator]
            if len(aliases) < len(body.aliases):
                fault = Fault.SPOOFED
            fault = self._topology.mid_received(message.originator, aliases, until) or fault
        elif isinstance(body, Hna):
            fault = self._topology.hna_received(message.originator, body.networks, until)
        if fault is not None:
            self.faults.add(fault, f"{type(body).__name__.upper()} of {self._codec.text(message.originator)}")
        return True

    def _read_hello(self, message: Message, packet: Packet, source: int, interface: int, now: float) -> None:
        try:
            hello = self._body(message)
        except OlsrError as error:
            self.faults.add(error.fault, f"{error}, in a message of {self._codec.text(message.originator)}")
            return
        if not isinstance(hello, Hello):
            return
        sane = _sane(hello)
        if sane != hello:
            self.faults.add(Fault.BAD_VALUE, f"HELLO of {self._codec.text(message.originator)}")
            hello = sane
        neighbour, validity = message.originator, seconds(message.validity)
        says = _declared(hello, interface)
        heard = self._links.hello_received(
            interface,
            source,
            neighbour,
            says=says.link if says is not None else None,
            validity=validity,
            interval=seconds(hello.interval),
            packet=packet.sequence,
            now=now,
        )
        link = self._links.get(interface, source)
        if heard is Heard.FULL or link is None:
            self.faults.add(Fault.FULL, "links")
            return
        if says is not None and says.quality is not None:
            link.neighbour_quality = says.quality
        if link.is_symmetric(now):
            self._take_neighbourhood(hello, neighbour, now + validity, now)

    def _take_neighbourhood(self, hello: Hello, neighbour: int, until: float, now: float) -> None:
        """What a symmetric neighbour says of its own neighbours, and of us (8.1.1, 8.2.1, 8.4.1)."""
        hood, main_of = self._hood, self._topology.main_of
        hood.settle(self._near(now), now)
        hood.declared(neighbour, hello.willingness)
        reached: dict[int, float] = {}
        gone: list[int] = []
        is_named = is_selector = False
        for group in hello.groups:
            is_neighbour = group.neighbour in (NeighbourType.SYMMETRIC, NeighbourType.MPR)
            for address, cost in _with_costs(group.addresses, group.qualities):
                if address in self._interfaces:
                    is_named = True
                    is_selector |= group.neighbour == NeighbourType.MPR
                elif is_neighbour:
                    node = main_of(address)
                    reached[node] = min(cost, reached.get(node, inf))
                else:
                    gone.append(main_of(address))
        hood.lost_sight(neighbour, (node for node in gone if node not in reached))
        if not hood.reached(neighbour, reached, until):
            self.faults.add(Fault.FULL, "two-hop neighbours")
        if is_selector:
            hood.selected_by(neighbour, until)
        elif is_named:
            hood.deselected_by(neighbour)

    # What follows from it

    def _near(self, now: float) -> frozenset[int]:
        return frozenset(link.neighbour for link in self._links if link.is_symmetric(now))

    def _settle(self, now: float) -> None:
        """Bring neighbours, relays and what we advertise up to date, and have routes follow."""
        hood = self._hood
        hood.settle(self._near(now), now)
        self._duplicates.expire(now)
        if hood.is_changed or self._topology.is_changed:
            hood.is_changed = self._topology.is_changed = False
            # Not more often than this, however many TCs come in while a network forms.
            wait = self._routes_before + self._config.max_jitter / 2
            self._routes_at = min(self._routes_at, max(now, wait))
        relays = (hood.mprs, hood.selectors)
        if relays[0] != self._relays[0]:
            self._hello_at = min(self._hello_at, self._soon(self._hello_before, self._config.hello_interval, now))
        if relays != self._relays:
            self._relays = relays
            self.version += 1
        advertised = self._to_advertise()
        if advertised != self._advertised:
            self._advertised = advertised
            self._ansn = sequence.after(self._ansn)
            self._tc_at = min(self._tc_at, self._soon(self._tc_before, self._config.tc_interval, now))
            if not advertised:
                self._advertise_until = now + self._config.topology_hold
        if self._routes_at <= now:
            self._calculate(now)

    def _to_advertise(self) -> frozenset[int]:
        """The neighbours that our TC names (RFC 3626, 15.1): none but those who chose us, if we never relay."""
        hood = self._hood
        redundancy = self._config.tc_redundancy if self._config.willingness != NEVER else 0
        if self._config.link_quality or redundancy == ALL_NEIGHBOURS:
            return hood.near
        return hood.selectors | hood.mprs if redundancy else hood.selectors

    def _soon(self, before: float, interval: float, now: float) -> float:
        """When news may be told: soon, but not all the time, and not at the same moment as the neighbours."""
        return max(now, before + interval / URGENT) + self._rng.random() * self._config.max_jitter / 4

    def _calculate(self, now: float) -> None:
        self._routes_at = inf
        self._routes_before = now
        links = {link.neighbour: link for link in self._best_links(now)}
        by_quality = self._config.link_quality
        self._routes = calculate(self.main, links, self._hood, self._topology, by_quality=by_quality)
        self.version += 1

    def _best_links(self, now: float) -> Iterator[Link]:
        """Symmetric links, the one to use for each neighbour last."""
        links = [link for link in self._links if link.is_symmetric(now)]
        yield from sorted(links, key=lambda link: (link.quality, -link.local, -link.remote))

    # Speaking

    def _say_hello(self, now: float) -> None:
        config = self._config
        for interface in self._interfaces:
            bodies = speech.hellos(
                interface,
                self._links,
                self._hood,
                willingness=config.willingness,
                interval=code_of(config.hello_interval),
                room=self._outbox.room - HELLO_BYTES,
                address_bytes=config.address_bytes,
                with_quality=config.link_quality,
                now=now,
            )
            self._say([interface], bodies, config.neighbour_hold, ttl=1)
        self._hello_before = now
        self._hello_at = self._next(config.hello_interval, now)

    def _say_tc(self, now: float) -> None:
        config = self._config
        self._tc_before = now
        self._tc_at = self._next(config.tc_interval, now)
        if not self._advertised and self._advertise_until <= now:
            return
        links = {link.neighbour: link for link in self._best_links(now)}
        bodies = speech.tcs(
            self._ansn,
            {each: speech.quality_bytes(links.get(each)) for each in self._advertised},
            room=self._outbox.room - TC_BYTES,
            address_bytes=config.address_bytes,
            with_quality=config.link_quality,
        )
        self._say(self._interfaces, bodies, config.topology_hold, ttl=FARTHEST)

    def _say_mid(self, now: float) -> None:
        config = self._config
        bodies = speech.mids(self._interfaces[1:], room=self._outbox.room, address_bytes=config.address_bytes)
        self._say(self._interfaces, bodies, config.mid_hold, ttl=FARTHEST)
        self._mid_at = self._next(config.mid_interval, now)

    def _say(self, interfaces: Iterable[int], bodies: Sequence[Body], hold: float, *, ttl: int) -> None:
        messages = []
        for body in bodies:
            kind, data = self._codec.encode_body(body)
            self._message = sequence.after(self._message)
            messages.append(Message(kind, code_of(hold), self.main, ttl, 0, self._message, data))
        for interface in interfaces:
            self._outbox.say(interface, messages)

    def _next(self, interval: float, now: float) -> float:
        """The interval less a random part (18.3), as neighbours must not fall into step."""
        return now + interval - self._rng.random() * min(self._config.max_jitter, interval / 4)


class _Says(NamedTuple):
    """What a HELLO says of the link to us."""

    link: LinkType
    quality: float | None
    """What part of our packets it hears."""


def _sane(hello: Hello) -> Hello:
    """A HELLO without the links that are for nobody (RFC 3626, 6.1.1), and with a willingness that there is."""
    groups = tuple(
        each
        for each in hello.groups
        if each.neighbour in _NEIGHBOUR_TYPES
        and (each.link, each.neighbour) != (LinkType.SYMMETRIC, NeighbourType.NOT)
    )
    willingness = hello.willingness if hello.willingness <= ALWAYS else DEFAULT
    return replace(hello, groups=groups, willingness=willingness)


def _declared(hello: Hello, interface: int) -> _Says | None:
    for group in hello.groups:
        if interface in group.addresses and group.link != LinkType.UNSPECIFIED:
            place = group.addresses.index(interface)
            quality = group.qualities[place][0] / speech.FULL_QUALITY if group.qualities else None
            return _Says(LinkType(group.link), quality)
    return None


def _with_costs(addresses: Sequence[int], qualities: Sequence[bytes]) -> Iterator[tuple[int, float]]:
    """Addresses with the cost of the link to each: one where nobody measures it."""
    if not qualities:
        return ((address, 1.0) for address in addresses)
    full = speech.FULL_QUALITY
    return (
        (address, etx(quality[0] / full, quality[1] / full))
        for address, quality in zip(addresses, qualities, strict=True)
    )
