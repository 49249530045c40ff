"""One UDP socket and one timer that carry a `ClientSession` to its daemon and back.

The socket is connected, so that a daemon that is not there is noticed at once (ECONNREFUSED), and drained: on loopback
that costs half of what a datagram transport of asyncio does. What the session has to say leaves packed: at once if
nothing has left in this turn of the event loop yet, then whenever a datagram is full, and at the end of the turn.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import deque
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from chapar.errors import AddressError, WireError
from chapar.limits import CLIENT_MTU, MAX_CLIENT_DATAGRAM
from chapar.wire.client import datagrams, decode_messages_untrusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar.endpoint import Endpoint
    from chapar.session import ClientSession, Message

RECEIVE_BUFFER: Final = 4 * 1024 * 1024
"""Bytes asked of the kernel; it may grant less, and the daemon's window then keeps losses rare."""
DRAIN_LIMIT: Final = 32
"""Datagrams taken before the loop has its turn again."""
FULL: Final = CLIENT_MTU * 7 // 8
"""Bytes of publications that make a datagram: with the head and what frames them they fit into CLIENT_MTU."""
PER_PUBLICATION: Final = 5
"""Bytes a publication takes in a run beside its payload, at most."""
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0
"""Seconds before a lost daemon is tried again, doubling from the first to the longest."""


_SocketAddress = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class Connection:
    """Drives `session` over a socket to `address`. Each message of the daemon goes to `receive`, with the time."""

    def __init__(
        self,
        session: ClientSession,
        address: Endpoint,
        receive: Callable[[Message, float], None],
        *,
        new_socket: Callable[[socket.AddressFamily, socket.SocketKind], socket.socket] = socket.socket,
    ) -> None:
        self.malformed = 0
        """Datagrams that were not the protocol."""
        self._session = session
        self._address = address
        self._receive = receive
        self._new_socket = new_socket
        self._loop: asyncio.AbstractEventLoop
        self._resolved: tuple[socket.AddressFamily, _SocketAddress] | None = None
        self._socket: socket.socket | None = None
        self._unsent: deque[bytes] = deque()
        """Datagrams the kernel did not take; nothing more is drained from the session before they have left."""
        self._is_turn = False
        """Something has left in this turn of the loop, and what is queued meanwhile leaves at its end."""
        self._queued = 0
        self._timer: asyncio.TimerHandle | None = None
        self._reopen_at: float | None = None
        self._pause = FIRST_PAUSE
        self._is_closed = True

    async def open(self) -> None:
        """Open the session, and again whenever it is lost, until `close`."""
        self._loop = asyncio.get_running_loop()
        self._resolved = await self._resolve()
        self._is_closed = False
        self._reopen(self._loop.time())

    def close(self) -> None:
        """Stop at once, without a word to the daemon."""
        self._is_closed = True
        self._detach()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def lost(self) -> None:
        """The daemon is gone: open the session again, after a pause."""
        self._session.lost()
        if self._reopen_at is None:
            self._reopen_at = self._loop.time() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self._arm()

    # Out

    def queued(self, size: int) -> None:
        """A publication with a payload of `size` bytes is with the session: it leaves in this turn of the loop."""
        if not self._is_turn:
            self.flush_soon()
            self.flush()
            return
        self._queued += size + PER_PUBLICATION
        if self._queued >= FULL:
            self.flush()

    def flush_soon(self) -> None:
        """Send what the session has to say at the end of this turn of the loop."""
        if not self._is_turn:
            self._is_turn = True
            self._loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._is_turn = False
        self.flush()

    def flush(self) -> None:
        """Send what the session has to say now."""
        self._queued = 0
        if self._unsent or self._is_closed:
            return
        requests = self._session.requests(self._loop.time())
        if requests:
            self._unsent.extend(datagrams(requests))
            self._send()
        self._arm()

    def _send(self) -> None:
        sock, unsent = self._socket, self._unsent
        try:
            while unsent and sock is not None:
                sock.send(unsent[0])
                unsent.popleft()
        except BlockingIOError:
            assert sock is not None, "it has just refused a datagram"
            self._loop.add_writer(sock, self._writable)
        except OSError as fault:
            self._failed(fault)
        else:
            unsent.clear()  # without a socket the session repeats what matters

    def _writable(self) -> None:
        assert self._socket is not None, "it is writable"
        self._loop.remove_writer(self._socket)
        self._send()
        self.flush()

    # In

    def _readable(self) -> None:
        now = self._loop.time()
        for _ in range(DRAIN_LIMIT):
            if self._socket is None:  # a message had it closed
                return
            try:
                data = self._socket.recv(MAX_CLIENT_DATAGRAM)
            except BlockingIOError:
                break
            except OSError as fault:
                self._failed(fault)
                break
            try:
                messages = decode_messages_untrusted(data)
            except WireError:
                self.malformed += 1
                continue
            for message in messages:
                self._receive(message, now)
        if self._session.is_on:
            self._pause, self._reopen_at = FIRST_PAUSE, None
        self.flush()

    # Time

    def _arm(self) -> None:
        """Have the timer fire no later than the next deadline. One that fires early finds nothing to do."""
        deadlines = [each for each in (self._session.next_deadline(), self._reopen_at) if each is not None]
        if not deadlines or self._is_closed:
            return
        deadline = min(deadlines)
        if self._timer is not None:
            if self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._time_passed)

    def _time_passed(self) -> None:
        self._timer = None
        now = self._loop.time()
        if self._reopen_at is not None and self._reopen_at <= now:
            self._reopen(now)
        else:
            self._session.tick(now)
        self.flush()

    # The socket

    def _reopen(self, now: float) -> None:
        self._reopen_at = None
        if self._socket is None:
            try:
                self._attach()
            except OSError as fault:
                self._failed(fault)
                return
        self._session.open(now)
        self.flush()

    async def _resolve(self) -> tuple[socket.AddressFamily, _SocketAddress]:
        """Family and socket address. Of a name that has both families IPv4 counts: daemons listen there by default."""
        host, port = self._address
        try:
            version = ip_address(host).version
        except ValueError:
            pass
        else:
            return (socket.AF_INET if version == 4 else socket.AF_INET6), (host, port)
        try:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as fault:
            raise AddressError(f"{host!r} is no known host: {fault}") from None
        family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
        return family, address

    def _attach(self) -> None:
        assert self._resolved is not None, "open() has resolved it"
        family, address = self._resolved
        sock = self._new_socket(family, socket.SOCK_DGRAM)
        try:
            sock.settimeout(0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            sock.connect(address)
        except OSError:
            sock.close()
            raise
        self._socket = sock
        self._loop.add_reader(sock, self._readable)

    def _detach(self) -> None:
        self._unsent.clear()
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None

    def _failed(self, fault: OSError) -> None:
        """The kernel refuses. A daemon that is not there may come back; any other fault wants a new socket."""
        self._unsent.clear()
        if fault.errno != errno.ECONNREFUSED:
            self._detach()
        elif self._socket is not None:
            # uvloop stops to watch a socket that had an error pending.
            self._loop.remove_reader(self._socket)
            self._loop.add_reader(self._socket, self._readable)
        self.lost()
