"""Messages on their way out: held for a moment so that several share a packet, then packed (RFC 3626, 3.3 and 3.4.1).

What we relay waits for a random while, as all who heard it would relay at once; what we say ourselves takes along
whatever waits for the same interface.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent import sequence
from chapar_olsr.agent.messages import Packet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from chapar_olsr.agent.codec import Codec
    from chapar_olsr.agent.config import AgentConfig
    from chapar_olsr.agent.messages import Message

MAX_WAITING: Final = 1024
"""Messages that wait for one interface; one more is dropped."""
PACKET_HEADER: Final = 4
MESSAGE_HEADER: Final = 8
"""Bytes of a message's head but for its originator's address."""


class Send(NamedTuple):
    """Broadcast this datagram on the interface with this address."""

    interface: int
    data: bytes


class Outbox:
    """The messages that wait, for each interface."""

    def __init__(self, config: AgentConfig, codec: Codec, interfaces: Sequence[int], rng: Random) -> None:
        self._codec = codec
        self._room = config.packet_bytes - PACKET_HEADER
        self._head = MESSAGE_HEADER + config.address_bytes
        self._max_jitter = config.max_jitter
        self._rng = rng
        self._waiting: dict[int, list[Message]] = {each: [] for each in interfaces}
        self._due = dict.fromkeys(interfaces, inf)
        self._sequence = {each: rng.randrange(sequence.MODULUS) for each in interfaces}
        self._sends: list[Send] = []

    @property
    def room(self) -> int:
        """Bytes for the body of one message."""
        return self._room - self._head

    @property
    def deadline(self) -> float:
        return min(self._due.values())

    def say(self, interface: int, messages: Sequence[Message]) -> None:
        """Send our own messages on one interface, now, with what waits there."""
        self._waiting[interface][:0] = messages
        self._flush(interface)

    def relay(self, message: Message, now: float) -> bool:
        """Send a message on every interface, a little later; whether there was room for it."""
        has_room = True
        due = now + self._rng.random() * self._max_jitter
        for interface, waiting in self._waiting.items():
            if len(waiting) >= MAX_WAITING:
                has_room = False
                continue
            waiting.append(message)
            self._due[interface] = min(self._due[interface], due)
        return has_room

    def tick(self, now: float) -> None:
        """Send what is due."""
        for interface, due in self._due.items():
            if due <= now:
                self._flush(interface)

    def drain(self) -> list[Send]:
        """The datagrams to send."""
        sends, self._sends = self._sends, []
        return sends

    def _flush(self, interface: int) -> None:
        messages: list[Message] = []
        size = 0
        for message in self._waiting[interface]:
            needed = self._head + len(message.body)
            if messages and size + needed > self._room:
                self._send(interface, messages)
                messages, size = [], 0
            messages.append(message)
            size += needed
        if messages:
            self._send(interface, messages)
        self._waiting[interface].clear()
        self._due[interface] = inf

    def _send(self, interface: int, messages: list[Message]) -> None:
        number = self._sequence[interface] = sequence.after(self._sequence[interface])
        self._sends.append(Send(interface, self._codec.encode(Packet(number, tuple(messages)))))
