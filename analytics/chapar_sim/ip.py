"""IP as the kernels of the mesh do it: one-hop broadcast, and unicast hop by hop along each node's own routes.

It runs on every node that is switched on, whether or not chapard runs there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent.messages import PORT as OLSR_PORT
from chapar_sim.radio import Radio
from chapar_sim.trace import MICRO, AirRow
from chapar_sim.traffic import HEADERS, PORT, Classifier, Label, olsr_label

if TYPE_CHECKING:
    from random import Random

    from chapar_sim.clock import Clock
    from chapar_sim.links import Links
    from chapar_sim.routing import RoutingDaemons
    from chapar_sim.terrain import RadioSpec
    from chapar_sim.trace import Trace

TTL: Final = 64
NO_ROUTE = "ip_no_route"
TTL_EXPIRED = "ip_ttl"
RECENT: Final = 4096
"""Arrivals that are remembered, for those who replay or spoil them."""


class Packet(NamedTuple):
    """An IP packet: from a node, to a node or (None) to everyone in range."""

    source: int
    to: int | None
    payload: bytes
    ttl: int
    label: Label
    port: int = PORT

    @property
    def size(self) -> int:
        """On the air."""
        return len(self.payload) + HEADERS


class Arrival(NamedTuple):
    """A datagram of chapard's that arrived at a node."""

    node: int
    payload: bytes
    source: int


Deliver = Callable[[int, bytes, int], None]


class Ip:
    """Carries datagrams, and writes down every transmission.

    `deliver(node, payload, source)` is called where a datagram of chapard's arrives.
    """

    def __init__(
        self,
        spec: RadioSpec,
        clock: Clock,
        links: Links,
        routing: RoutingDaemons,
        rng: Random,
        trace: Trace,
        deliver: Deliver,
    ) -> None:
        self.radio: Radio[Packet] = Radio(spec, clock, links, rng, self)
        self._clock = clock
        self._links = links
        self._routing = routing
        self._trace = trace
        self._ports: dict[int, Deliver] = {PORT: deliver}
        self._classifier = Classifier()
        self.recent: deque[Arrival] = deque(maxlen=RECENT)

    def listen(self, port: int, deliver: Deliver) -> None:
        """Have `deliver` called for what arrives for another port."""
        self._ports[port] = deliver

    def broadcast_olsr(self, source: int, payload: bytes) -> None:
        """Send an OLSR packet to all in range."""
        self._transmit(source, None, Packet(source, None, payload, 1, olsr_label(payload), OLSR_PORT))

    def send(self, source: int, to: int | None, payload: bytes) -> None:
        """Send a datagram of chapard's to a node, or (None) to all in range."""
        packet = Packet(source, to, payload, TTL, self._classifier.label(payload))
        if to is None:
            self._transmit(source, None, packet)
        else:
            self._forward(source, to, packet)

    # What the radio tells

    def heard(self, node: int, packet: Packet) -> None:
        """A node has received a packet: for itself, or to send it on."""
        if packet.to is None or packet.to == node:
            if packet.port == PORT:
                self.recent.append(Arrival(node, packet.payload, packet.source))
            self._ports[packet.port](node, packet.payload, packet.source)
        elif packet.ttl > 1:
            self._forward(node, packet.to, packet._replace(ttl=packet.ttl - 1))
        else:
            self._trace.drops[node, TTL_EXPIRED] += 1

    def transmitted(self, sender: int, packet: Packet, heard: tuple[int, ...], missed: tuple[int, ...]) -> None:
        self._trace.traffic.count(packet.label)
        self._record(sender, packet, heard, missed)

    def overflowed(self, sender: int, packet: Packet, missed: tuple[int, ...]) -> None:
        self._trace.traffic.overflows += 1
        self._record(sender, packet, (), missed)

    def _record(self, sender: int, packet: Packet, heard: tuple[int, ...], missed: tuple[int, ...]) -> None:
        ts_us, frames = round(self._clock.now * MICRO), packet.label.frames
        self._trace.air.append(AirRow(ts_us, sender, heard, packet.size, packet.port, missed, frames, packet.source))

    def _transmit(self, node: int, hop: int | None, packet: Packet) -> None:
        self.radio.transmit(node, hop, packet, packet.size)

    def _forward(self, node: int, to: int, packet: Packet) -> None:
        route = self._routing.view(node).routes.get(to)
        if route is not None:
            self._transmit(node, route.next_hop, packet)
        elif to in self._links.heard_by(node):  # the mesh's prefix is on the link
            self._transmit(node, to, packet)
        else:
            self._trace.drops[node, NO_ROUTE] += 1
