"""Datagrams in and out: one small interface, two implementations.

`DgramTransport` stands on asyncio-dgram and serves the mesh port, where a radio sets the pace. `DrainedSocket` serves
the client port, which is hot: it takes everything that waits in the socket in one wake-up, up to a bound, and sends
without a queue or a task in between.

CPU per datagram in µs, on two cores with CPython 3.11, medians (payload of 64 B / 1 kB / 16 kB):

| | receive | send |
|---|---|---|
| drained socket on uvloop | 2.9 / 2.9 / 4.6 | 3.9 / 3.9 / 4.8 |
| drained socket on asyncio | 3.0 / 3.1 / 4.7 | 3.9 / 3.9 / 5.0 |
| asyncio-dgram on uvloop | 3.4 / 3.4 / 5.9 | 6.8 / 6.8 / 8.3 |
| asyncio-dgram on asyncio | 8.8 / 9.0 / 16 | 6.9 / 7.0 / 7.9 |
| socket connected to one peer | 0.4 less | 2.8 / 2.9 / 3.8 |

So the drained socket saves a third to a half where clients send thousands of datagrams a second, and does not lose
datagrams where uvloop is missing (asyncio-dgram on asyncio could not keep up with 100 000 a second). A connected socket
for each client would save one more µs per datagram; a full datagram carries some 170 events, so that is not worth a
descriptor per client. Each datagram is handed on before the next is read: to gather them first costs twice as much at
16 kB, as their memory is then fetched from the system anew in every turn.

A transport never raises once it stands: what the kernel refuses to send or reports of earlier datagrams (nobody
listens, no route, interface down) is counted, and the protocol above repeats what matters.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import asyncio_dgram
from asyncio_dgram.aio import DatagramServer, TransportClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    Receiver = Callable[[bytes, "Address"], None]

Address = tuple[Any, ...]
"""A socket address as the socket module gives it: host and port, for IPv6 also flow label and scope."""

LARGEST: Final = 65_536
"""Bytes of a receive buffer: no UDP datagram is longer."""
DRAIN_DATAGRAMS: Final = 64
DRAIN_BYTES: Final = 512 * 1024
"""What one wake-up takes from a socket at most, before timers and other sockets get their turn."""
SEND_QUEUE: Final = 4096
"""Datagrams that wait for a socket whose send buffer is full."""

_SO_SNDBUFFORCE: Final = 32
_SO_RCVBUFFORCE: Final = 33
_SO_MEMINFO: Final = 55
_MEMINFO: Final = struct.Struct("9I")
_MEMINFO_DROPS: Final = 8
"""Linux numbers that the socket module does not name."""


class StartError(Exception):
    """The daemon cannot start. The message is one line that says why, and what to do."""


@dataclass(slots=True)
class Traffic:
    """What one socket has carried."""

    received: int = 0
    received_bytes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    send_errors: int = 0
    """Datagrams that the kernel refused, or reported as undeliverable later."""
    receive_errors: int = 0
    queue_drops: int = 0
    """Datagrams dropped because the send queue was full."""


class Transport(Protocol):
    """A bound UDP socket."""

    @property
    def address(self) -> Address: ...
    @property
    def traffic(self) -> Traffic: ...
    def send(self, data: bytes, address: Address) -> None: ...
    def kernel_drops(self) -> int: ...
    def close(self) -> None: ...


def udp_socket(family: int) -> socket.socket:
    """A non-blocking UDP socket, not bound yet."""
    try:
        made = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    except OSError as error:
        name = "IPv6" if family == socket.AF_INET6 else "IPv4"
        raise StartError(f"cannot make an {name} socket: {error.strerror}; use addresses of another family") from None
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return made


def bind(sock: socket.socket, address: Address, setting: str) -> None:
    """Bind, or say in one line which setting to change."""
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise refusal(error, "UDP", address, setting) from None


def refusal(error: OSError, protocol: str, address: Address, setting: str) -> StartError:
    """Why an address cannot be listened on, in one line that says which setting to change."""
    host, port = address[:2]
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    advice = {
        errno.EADDRINUSE: "it is in use: stop the other chapard, or choose another port",
        errno.EACCES: "permission denied: choose a port from 1024 on, or run with CAP_NET_BIND_SERVICE",
        errno.EADDRNOTAVAIL: "this machine has no such address: choose one that `ip address` shows",
        errno.ENODEV: "there is no such interface: choose one that `ip link` shows",
    }
    why = advice.get(error.errno or 0, error.strerror or str(error))
    return StartError(f"cannot listen on {protocol} {where} ({setting}): {why}")


def set_buffers(sock: socket.socket, receive: int, send: int) -> list[str]:
    """Ask for socket buffers of these sizes; returns a sentence for each that the kernel cut short."""
    complaints = []
    for name, size, force, option, limit in (
        ("receive", receive, _SO_RCVBUFFORCE, socket.SO_RCVBUF, "net.core.rmem_max"),
        ("send", send, _SO_SNDBUFFORCE, socket.SO_SNDBUF, "net.core.wmem_max"),
    ):
        try:
            sock.setsockopt(socket.SOL_SOCKET, force, size)  # beyond the system's limit; needs CAP_NET_ADMIN
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, option, size)
        granted = sock.getsockopt(socket.SOL_SOCKET, option) // 2  # the kernel doubles it, for its own records
        if granted < size:
            complaints.append(f"{name} buffer is {granted} bytes, not {size}: sysctl -w {limit}={size}, then restart")
    return complaints


def kernel_drops(sock: socket.socket) -> int:
    """Datagrams that the kernel dropped as the socket's buffer was full: one system call, and none per datagram."""
    try:
        info = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
    except OSError:  # before Linux 4.12
        return 0
    return int(_MEMINFO.unpack(info)[_MEMINFO_DROPS]) if len(info) == _MEMINFO.size else 0


class DrainedSocket:
    """A non-blocking socket on the loop's own selector, drained per wake-up, at whose end `on_drained` is called."""

    def __init__(
        self, sock: socket.socket, on_datagram: Receiver, on_drained: Callable[[], None] = lambda: None
    ) -> None:
        self.traffic = Traffic()
        self.address: Address = sock.getsockname()
        self._socket = sock
        self._receive = on_datagram
        self._drained = on_drained
        self._waiting: deque[tuple[bytes, Address]] = deque()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock.fileno(), self._readable)

    def send(self, data: bytes, address: Address) -> None:
        if self._waiting:
            self._queue(data, address)
            return
        try:
            self._socket.sendto(data, address)
        except BlockingIOError:
            self._loop.add_writer(self._socket.fileno(), self._writable)
            self._queue(data, address)
        except OSError:
            self.traffic.send_errors += 1
        else:
            self.traffic.sent += 1
            self.traffic.sent_bytes += len(data)

    def kernel_drops(self) -> int:
        return kernel_drops(self._socket)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()

    def _readable(self) -> None:
        receive_from, hand_on = self._socket.recvfrom, self._receive
        count = size = 0
        while count < DRAIN_DATAGRAMS and size < DRAIN_BYTES:
            try:
                data, address = receive_from(LARGEST)
            except BlockingIOError:
                break
            except OSError:  # an earlier send, reported here; the next wake-up reads on
                self.traffic.receive_errors += 1
                break
            count += 1
            size += len(data)
            hand_on(data, address)
        self.traffic.received += count
        self.traffic.received_bytes += size
        self._drained()

    def _queue(self, data: bytes, address: Address) -> None:
        if len(self._waiting) >= SEND_QUEUE:
            self.traffic.queue_drops += 1
        else:
            self._waiting.append((data, address))

    def _writable(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            self.send(*waiting.popleft())
            if self._waiting:  # full again: the rest keeps its order behind what came back
                self._waiting.extend(waiting)
                return
        self._loop.remove_writer(self._socket.fileno())


class DgramTransport:
    """A socket behind asyncio-dgram: one task reads its stream, another writes to it."""

    def __init__(self, sock: socket.socket, stream: DatagramServer, on_datagram: Receiver) -> None:
        self.traffic = Traffic()
        self.address: Address = sock.getsockname()
        self._socket = sock
        self._stream = stream
        self._receive = on_datagram
        self._waiting: deque[tuple[bytes, Address]] = deque()
        self._has_work = asyncio.Event()
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._write()))

    @classmethod
    async def open(cls, sock: socket.socket, on_datagram: Receiver) -> DgramTransport:
        stream = await asyncio_dgram.from_socket(sock)
        assert isinstance(stream, DatagramServer), "not connected"
        return cls(sock, stream, on_datagram)

    def send(self, data: bytes, address: Address) -> None:
        if len(self._waiting) >= SEND_QUEUE:
            self.traffic.queue_drops += 1
            return
        self._waiting.append((data, address))
        self._has_work.set()

    def kernel_drops(self) -> int:
        return kernel_drops(self._socket) if self._socket.fileno() >= 0 else 0

    async def flushed(self) -> None:
        """Wait until everything has left, or the stream takes nothing any more."""
        while self._waiting and not self._tasks[1].done():
            await asyncio.sleep(0)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._stream.close()

    async def _read(self) -> None:
        while True:
            try:
                data, address = await self._stream.recv()
            except OSError:
                self.traffic.receive_errors += 1
            except TransportClosed:
                return
            else:
                self.traffic.received += 1
                self.traffic.received_bytes += len(data)
                self._receive(data, address)  # type: ignore[arg-type]  # no Unix socket, so a tuple

    async def _write(self) -> None:
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while self._waiting:
                self._count_errors()  # each that is stored would cost a datagram that is well
                data, address = self._waiting.popleft()
                try:
                    await self._stream.send(data, address)
                except TransportClosed:
                    return
                if not self._count_errors():
                    self.traffic.sent += 1
                    self.traffic.sent_bytes += len(data)

    def _count_errors(self) -> int:
        """Take the errors that the stream has stored; how many there were."""
        count = 0
        while True:
            try:
                if self._stream.exception is None:
                    self.traffic.send_errors += count
                    return count
            except OSError:
                count += 1
