"""The client port: which address speaks for which client, and what leaves for each of them.

A client is known by the address its datagrams come from, which its Open binds to its name. A later Open of the same
name from another address takes the session over, and the old address is told so when it asks for something again.

What is for one client is collected and leaves packed, once per turn of the daemon. An answer that must not leave before
the disk has what it tells of waits here under the number of its batch. Whoever sends to this port can fill neither:
addresses, refusals and answers that wait are bounded, and counted beyond.
"""

from __future__ import annotations

import socket
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar import session
from chapar.errors import WireError, WireReason
from chapar.session import Open, Refused
from chapar.wire.client import ClientKind, datagrams, decode_requests_untrusted, encode
from chapard.transport import DrainedSocket, bind, set_buffers, udp_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.session import Message, Request
    from chapard.settings import ClientsSettings
    from chapard.transport import Address, Transport

ADDRESSES_PER_SESSION: Final = 4
"""Addresses bound for each session that there may be. Names without a session keep theirs while there is room."""
REFUSALS_PER_TURN: Final = 32
"""Addresses without a session that are answered in one turn."""
HELD_PER_CLIENT: Final = 4096
"""Answers that wait for the disk, per client: more than it has requests and deliveries under way. It asks again."""

NOT_OPEN: Final = "no open session: open it again"
TAKEN_OVER: Final = f"{session.TAKEN_OVER} has opened this session"
BAD_NAME: Final = "a client's name has 1 to 128 printable characters without '/'"


class _Held(NamedTuple):
    """An answer that waits for the disk to have written a batch."""

    batch: int
    client: str
    message: Message


class ClientPort:
    """The client port of one daemon.

    `ask` takes a client's name and a request of it; `wake` asks for a turn, at whose end `flush` is called; `take_turn`
    takes it at once, when all that waited in the socket has been asked.
    """

    def __init__(
        self,
        ask: Callable[[str, Request], None],
        wake: Callable[[], None],
        take_turn: Callable[[], None],
        sessions: int,
    ) -> None:
        self.malformed = 0
        """Datagrams that are not the protocol."""
        self.unanswered = 0
        """Answers that no address, or no room, was left for."""
        self.is_closed = False
        """After the goodbye: what clients still ask is not heard."""
        self.transports: list[Transport] = []
        """The socket, once it listens."""
        self._ask = ask
        self._wake = wake
        self._take_turn = take_turn
        self._limit = ADDRESSES_PER_SESSION * sessions
        self._names: dict[Address, str] = {}
        self._addresses: dict[str, Address] = {}
        self._idle: dict[str, None] = {}
        """Names bound to an address whose session is not ON: the first to lose it."""
        self._displaced: dict[Address, None] = {}
        self._outgoing: dict[str, list[Message]] = {}
        self._refusals: dict[Address, str] = {}
        self._held: deque[_Held] = deque()
        self._held_of: dict[str, dict[tuple[type, int], Message]] = {}
        """The last of them by client and by what they answer: a repetition of what waits need not wait too."""
        self._held_counts: Counter[str] = Counter()

    def listen(self, settings: ClientsSettings) -> list[str]:
        """Open the socket; returns what the kernel did not grant. Raises StartError."""
        host, port = settings.listen
        sock = udp_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        bind(sock, (host, port), "clients.listen")
        complaints = set_buffers(sock, settings.receive_buffer, settings.send_buffer)
        self.transports.append(DrainedSocket(sock, self.received, self._take_turn))
        return complaints

    @property
    def address(self) -> Address:
        """Where clients reach us."""
        return self.transports[0].address

    def close(self) -> None:
        for transport in self.transports:
            transport.close()

    # In

    def received(self, data: bytes, address: Address) -> None:
        """Take one datagram. Nothing in it can raise."""
        if self.is_closed:
            self.unanswered += 1
            return
        try:
            requests = decode_requests_untrusted(data)
        except WireError as error:
            self.malformed += 1
            if error.reason is WireReason.RANGE and error.detail == ClientKind.OPEN.name:
                self._refuse(address, BAD_NAME)
            return
        client = self._names.get(address)
        for request in requests:
            if type(request) is Open:
                client = request.client
                self._bind(client, address)
            if client is None:
                self._refuse(address, TAKEN_OVER if address in self._displaced else NOT_OPEN)
                return
            self._ask(client, request)

    def session_changed(self, client: str, *, is_on: bool) -> None:
        """A session went ON or OFF. One that is OFF keeps its address for a repeated Close, while there is room."""
        if is_on:
            self._idle.pop(client, None)
        elif client in self._addresses:
            self._idle[client] = None

    def _bind(self, client: str, address: Address) -> None:
        before = self._addresses.get(client)
        if before == address:
            return
        if before is not None:
            self._free(client)
            self._displaced[before] = None
            if len(self._displaced) > self._limit:
                del self._displaced[next(iter(self._displaced))]
        self._displaced.pop(address, None)
        other = self._names.get(address)
        if other is not None:
            self._free(other)
        if len(self._addresses) >= self._limit:
            self._free(next(iter(self._idle), None) or next(iter(self._addresses)))
        self._names[address] = client
        self._addresses[client] = address
        self._idle[client] = None

    def _free(self, client: str) -> None:
        del self._names[self._addresses.pop(client)]
        self._idle.pop(client, None)

    def _refuse(self, address: Address, reason: str) -> None:
        """Answer an address that speaks for nobody."""
        if len(self._refusals) < REFUSALS_PER_TURN or address in self._refusals:
            self._refusals[address] = reason
            self._wake()
        else:
            self.unanswered += 1

    # Out

    def answer(self, client: str, message: Message) -> None:
        """Send a message to a client at the end of this turn."""
        waiting = self._outgoing.get(client)
        if waiting is None:
            self._outgoing[client] = [message]
        else:
            waiting.append(message)

    def hold(self, batch: int, answers: Iterable[tuple[str, Message]]) -> None:
        """Keep answers until `release` of their batch. Batches ascend."""
        for client, message in answers:
            latest = self._held_of.setdefault(client, {})
            key = (type(message), getattr(message, "number", 0))
            if latest.get(key) == message:
                continue
            if self._held_counts[client] >= HELD_PER_CLIENT:
                self.unanswered += 1
                continue
            latest[key] = message
            self._held_counts[client] += 1
            self._held.append(_Held(batch, client, message))

    def release(self, batch: int) -> None:
        """The disk has this batch, and all before it: what waited for them leaves at the end of this turn."""
        held = self._held
        while held and held[0].batch <= batch:
            _, client, message = held.popleft()
            self.answer(client, message)
            self._held_counts[client] -= 1
            if not self._held_counts[client]:
                del self._held_counts[client], self._held_of[client]
            else:
                latest, key = self._held_of[client], (type(message), getattr(message, "number", 0))
                if latest.get(key) is message:
                    del latest[key]

    @property
    def held(self) -> int:
        """Answers that wait for the disk."""
        return len(self._held)

    def flush(self) -> None:
        """Let everything leave that is to."""
        send = self.transports[0].send
        outgoing, self._outgoing = self._outgoing, {}
        for client, messages in outgoing.items():
            address = self._addresses.get(client)
            if address is None:
                self.unanswered += len(messages)
                continue
            for data in datagrams(messages):
                send(data, address)
        if self._refusals:
            for address, reason in self._refusals.items():
                send(encode(Refused(0, reason)), address)
            self._refusals.clear()
