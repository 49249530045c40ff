"""The sockets of an OLSR agent: one for each interface.

A radio comes and goes: a datagram that cannot be sent now is counted and forgotten, as if the air had lost it, and an
interface that was taken away is opened again by the first datagram after its return.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from chapar_olsr.faults import Fault
from chapar_olsr.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chapar_olsr.faults import Faults
    from chapar_olsr.interfaces import OlsrInterface

DATAGRAMS_AT_ONCE: Final = 64
"""Read from one socket before anything else has its turn."""
MAX_DATAGRAM: Final = 65_535
SOURCES_KNOWN: Final = 1024
"""Addresses of whom packets came from that are kept as numbers: more than one radio hears."""

_INTERNETWORK_CONTROL: Final = 0xC0
"""Type of service: routing goes before what is routed."""
_IP_PKTINFO: Final = 8
"""Linux' number; the socket module has no name for it."""
_NOT_THERE: Final = frozenset({errno.ENODEV, errno.ENXIO, errno.EBADF})
"""The interface that a socket is bound to is gone, and will not come back for this socket."""

_log = logging.getLogger(__name__)


class OlsrSockets:
    """One UDP socket for each interface.

    `on_datagrams` takes what one wake-up brought: each datagram with the address it came from and the address of the
    interface it came in on.
    """

    def __init__(
        self,
        interfaces: Sequence[OlsrInterface],
        port: int,
        on_datagrams: Callable[[list[tuple[bytes, int, int]]], None],
        faults: Faults,
    ) -> None:
        self.sent = 0
        self.unsent = 0
        """Datagrams that the kernel did not take."""
        self.echoes = 0
        """Our own broadcasts, heard again."""
        self._links = {each.number: _Link(each, port) for each in interfaces}
        self._on_datagrams = on_datagrams
        self._faults = faults
        self._address = lru_cache(SOURCES_KNOWN)(neighbour_address)

    def open(self) -> None:
        """Open all of them, or none. Raises SourceError."""
        try:
            for link in self._links.values():
                self._listen(link)
        except OSError as error:
            self.close()
            raise SourceError(_why(error, link.interface.name, link.port)) from None

    def send(self, local: int, data: bytes) -> None:
        """Broadcast on the interface with this address; what cannot be sent is counted."""
        link = self._links[local]
        try:
            try:
                self._send(link, data)
            except OSError as error:
                if error.errno not in _NOT_THERE:
                    raise
                self._shut(link)
                self._send(link, data)
        except BlockingIOError:  # the queue is full: the air would lose it too
            self.unsent += 1
        except OSError as error:
            self.unsent += 1
            if not link.is_failing:
                _log.warning("cannot send on %s: %s; trying again", link.interface.name, error.strerror)
            link.is_failing = True
        else:
            self.sent += 1
            if link.is_failing:
                _log.info("sending on %s again", link.interface.name)
            link.is_failing = False

    def close(self) -> None:
        for link in self._links.values():
            self._shut(link)

    def _send(self, link: _Link, data: bytes) -> None:
        if link.socket is None:
            self._listen(link)
        link.send(data)

    def _listen(self, link: _Link) -> None:
        sock = link.open()
        asyncio.get_running_loop().add_reader(sock, self._readable, link)

    def _shut(self, link: _Link) -> None:
        if link.socket is not None:
            asyncio.get_running_loop().remove_reader(link.socket)
            link.socket.close()
            link.socket = None

    def _readable(self, link: _Link) -> None:
        assert link.socket is not None, "open as long as it is read"
        datagrams = []
        with suppress(OSError):  # nothing more to read, or an error that an earlier datagram has met on its way
            for _ in range(DATAGRAMS_AT_ONCE):
                data, address = link.socket.recvfrom(MAX_DATAGRAM)
                source = self._source(address[0])
                if source is not None:
                    datagrams.append((data, source, link.interface.number))
        if datagrams:
            self._on_datagrams(datagrams)

    def _source(self, text: str) -> int | None:
        """The address of a neighbour's interface; None if it is none."""
        source = self._address(text)
        if source is None:
            self._faults.add(Fault.BAD_ADDRESS, f"a packet from {text}")
        elif source in self._links:
            self.echoes += 1
            return None
        return source


def neighbour_address(text: str) -> int | None:
    """The address that a packet came from, if a node can have it; IPv6 may name the interface after it."""
    address = ip_address(text.partition("%")[0])
    is_nobodys = address.is_multicast or address.is_unspecified
    if address.version == 4:  # "this network", and what is reserved, 255.255.255.255 included (RFC 6890)
        is_nobodys |= address.packed[0] == 0 or address.is_reserved
    return None if is_nobodys else int(address)


class _Link:
    """One interface and its socket, if it is open."""

    def __init__(self, interface: OlsrInterface, port: int) -> None:
        self.interface = interface
        self.port = port
        self.socket: socket.socket | None = None
        self.is_failing = False
        """Whether the last datagram could not be sent."""
        self._to: tuple[str, int] | tuple[str, int, int, int] = ("", 0)
        self._from: tuple[int, int, bytes] = (0, 0, b"")

    def open(self) -> socket.socket:
        """Raises OSError.

        There is no SO_REUSEADDR: sockets of different interfaces do not conflict, and two OLSR daemons on one
        interface would make nonsense of each other.
        """
        name, family = self.interface.name, self.interface.family
        number = socket.if_nametoindex(name)
        sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b"\0")
            if family == socket.AF_INET:
                self._prepare_ipv4(sock, number)
            else:
                self._prepare_ipv6(sock, number)
        except OSError:
            sock.close()
            raise
        self.socket = sock
        return sock

    def send(self, data: bytes) -> None:
        """Raises OSError. The source is the address that the node is known by, whatever others the interface has."""
        assert self.socket is not None, "open"
        self.socket.sendmsg([data], [self._from], 0, self._to)

    def _prepare_ipv4(self, sock: socket.socket, number: int) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, _INTERNETWORK_CONTROL)
        sock.bind(("0.0.0.0", self.port))  # noqa: S104 - of one device only
        own = socket.inet_pton(socket.AF_INET, self.interface.address)
        self._from = (socket.IPPROTO_IP, _IP_PKTINFO, struct.pack("@i4s4s", number, own, bytes(4)))
        self._to = (self.interface.broadcast, self.port)

    def _prepare_ipv6(self, sock: socket.socket, number: int) -> None:
        group = socket.inet_pton(socket.AF_INET6, self.interface.broadcast)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, _INTERNETWORK_CONTROL)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + struct.pack("@I", number))
        sock.bind(("::", self.port))
        own = socket.inet_pton(socket.AF_INET6, self.interface.address)
        self._from = (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, own + struct.pack("@I", number))
        self._to = (self.interface.broadcast, self.port, 0, number)


def _why(error: OSError, name: str, port: int) -> str:
    """One line for somebody who wonders why a socket cannot be opened."""
    hints = {
        errno.EACCES: "run with CAP_NET_BIND_SERVICE, or choose a port above 1023 (olsr.port, or --port)",
        errno.EPERM: "run with CAP_NET_RAW, or Linux 5.7 or newer",
        errno.EADDRINUSE: 'another OLSR daemon runs here: stop it, or have chapard ask it (routes.source = "olsrd")',
        errno.ENODEV: "see `ip link`",
    }
    hint = hints.get(error.errno or 0)
    return f"cannot speak OLSR on {name}, UDP port {port}: {error.strerror}{f'; {hint}' if hint else ''}"
