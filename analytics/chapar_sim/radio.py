"""The radio medium: one transmission at a time per sender, heard by each in range on its own chance."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.trace import AirRow
from chapar_sim.traffic import HEADERS, Label

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from chapar_sim.clock import Clock
    from chapar_sim.links import Links
    from chapar_sim.terrain import RadioSpec
    from chapar_sim.trace import Trace

PORT: Final = 7701
MAC_BACKOFF: Final = 0.001
"""Seconds until the link layer repeats a unicast frame that was not heard."""
MICRO: Final = 1_000_000


class Packet(NamedTuple):
    """An IP packet: from a node, to a node or (None) to everyone in range."""

    source: int
    to: int | None
    payload: bytes
    ttl: int
    label: Label


class Radio:
    """Transmits packets over the links of the moment, and writes down every transmission.

    `receive(node, packet)` is called for every packet that a node hears.
    """

    def __init__(
        self,
        spec: RadioSpec,
        clock: Clock,
        links: Links,
        rng: Random,
        trace: Trace,
        receive: Callable[[int, Packet], None],
    ) -> None:
        self._spec = spec
        self._clock = clock
        self._links = links
        self._rng = rng
        self._trace = trace
        self._receive = receive
        self._usual = (spec.loss, spec.delay, spec.jitter)
        self._special = {(link.a, link.b): (link.loss, link.delay, link.jitter) for link in spec.links}
        self._queues: dict[int, deque[float]] = {}
        self.duplicate = spec.duplicate
        """Probability that a receiver hears a frame twice."""

    def transmit(self, sender: int, hop: int | None, packet: Packet) -> None:
        """Send `packet` to the neighbour `hop`, or (None) to whoever hears it."""
        if not self._links.is_on(sender):
            return
        if self._spec.rate == 0:
            self._air(sender, hop, packet, attempt=0)
            return
        queue = self._queues.setdefault(sender, deque())
        while queue and queue[0] <= self._clock.now:
            queue.popleft()
        if len(queue) > self._spec.queue:  # the first of them is on the air, not waiting
            self._overflow(sender, hop, packet)
            return
        self._clock.at(self._occupy(sender, packet), partial(self._air, sender, hop, packet, attempt=0))

    def _occupy(self, sender: int, packet: Packet) -> float:
        """Take the sender's next free time on the air for this packet; returns when its last bit is out."""
        queue = self._queues.setdefault(sender, deque())
        begin = max(self._clock.now, queue[-1]) if queue else self._clock.now
        end = begin + (len(packet.payload) + HEADERS) * 8 / self._spec.rate
        queue.append(end)
        return end

    def _overflow(self, sender: int, hop: int | None, packet: Packet) -> None:
        self._trace.traffic.overflows += 1
        missed = self._links.heard_by(sender) if hop is None else (hop,)
        self._record(sender, packet, (), missed)

    def _air(self, sender: int, hop: int | None, packet: Packet, attempt: int) -> None:
        links = self._links
        if not links.is_on(sender):
            return
        in_range = links.heard_by(sender)
        aimed_at = in_range if hop is None else (hop,)
        heard: list[int] = []
        missed: list[int] = []
        for node in aimed_at:
            loss, delay, jitter = self._special.get((sender, node), self._usual)
            if (hop is not None and node not in in_range) or (loss and self._rng.random() < loss):
                missed.append(node)
                continue
            heard.append(node)
            self._arrive(node, packet, delay, jitter)
            if self.duplicate and self._rng.random() < self.duplicate:
                self._arrive(node, packet, delay, jitter)
        self._trace.traffic.count(packet.label)
        self._record(sender, packet, tuple(heard), tuple(missed))
        if hop is not None and missed and attempt < self._spec.mac_retries:
            again = partial(self._air, sender, hop, packet, attempt=attempt + 1)
            self._clock.at((self._occupy(sender, packet) if self._spec.rate else self._clock.now) + MAC_BACKOFF, again)

    def _arrive(self, node: int, packet: Packet, delay: float, jitter: float) -> None:
        self._clock.after(delay + jitter * self._rng.random() if jitter else delay, partial(self._hear, node, packet))

    def _hear(self, node: int, packet: Packet) -> None:
        if self._links.is_on(node):
            self._receive(node, packet)

    def _record(self, sender: int, packet: Packet, heard: tuple[int, ...], missed: tuple[int, ...]) -> None:
        now = round(self._clock.now * MICRO)
        self._trace.air.append(AirRow(now, sender, heard, len(packet.payload) + HEADERS, PORT, missed))
