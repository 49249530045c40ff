"""IP as the kernels of the mesh do it: one-hop broadcast, and unicast hop by hop along each node's own routes.

It runs on every node that is switched on, whether or not chapard runs there.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.radio import Packet, Radio
from chapar_sim.traffic import Classifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from chapar_sim.clock import Clock
    from chapar_sim.links import Links
    from chapar_sim.routing import Routing
    from chapar_sim.terrain import RadioSpec
    from chapar_sim.trace import Trace

TTL: Final = 64
NO_ROUTE = "ip_no_route"
TTL_EXPIRED = "ip_ttl"
RECENT: Final = 4096
"""Arrivals that are remembered, for those who replay or spoil them."""


class Arrival(NamedTuple):
    """A datagram that arrived at a node."""

    node: int
    payload: bytes
    source: int


class Ip:
    """Carries datagrams. `deliver(node, payload, source)` is called where one arrives."""

    def __init__(
        self,
        spec: RadioSpec,
        clock: Clock,
        links: Links,
        routing: Routing,
        rng: Random,
        trace: Trace,
        deliver: Callable[[int, bytes, int], None],
    ) -> None:
        self.radio = Radio(spec, clock, links, rng, trace, self._received)
        self._links = links
        self._routing = routing
        self._trace = trace
        self._deliver = deliver
        self._classifier = Classifier()
        self.recent: deque[Arrival] = deque(maxlen=RECENT)

    def send(self, source: int, to: int | None, payload: bytes) -> None:
        """Send a datagram to a node, or (None) to all in range."""
        packet = Packet(source, to, payload, TTL, self._classifier.label(payload))
        if to is None:
            self.radio.transmit(source, None, packet)
        else:
            self._forward(source, to, packet)

    def _received(self, node: int, packet: Packet) -> None:
        if packet.to is None or packet.to == node:
            self.recent.append(Arrival(node, packet.payload, packet.source))
            self._deliver(node, packet.payload, packet.source)
        elif packet.ttl > 1:
            self._forward(node, packet.to, packet._replace(ttl=packet.ttl - 1))
        else:
            self._trace.drops[node, TTL_EXPIRED] += 1

    def _forward(self, node: int, to: int, packet: Packet) -> None:
        route = self._routing.view(node).routes.get(to)
        if route is not None:
            self.radio.transmit(node, route.next_hop, packet)
        elif to in self._links.heard_by(node):  # the mesh's prefix is on the link
            self.radio.transmit(node, to, packet)
        else:
            self._trace.drops[node, NO_ROUTE] += 1
