"""The mesh port: datagrams to and from the daemons of other nodes, known by index.

Each interface that is named has sockets of its own, and a one-hop broadcast is one datagram on each of them. If none is
named, one socket on the node's address serves, and a broadcast goes to each neighbour of the route view in turn: this
is for tests, tunnels and a single machine.

Which node a datagram came from, its address says; an address that is no node's is counted and dropped. A node is
answered where it was last heard, so a neighbour on two interfaces is reached on the one that works.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from chapard.addresses import AddressError
from chapard.place import interface_of
from chapard.transport import DgramTransport, StartError, bind, set_buffers, udp_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from chapard.addresses import Addresses
    from chapard.interfaces import Interface
    from chapard.settings import MeshSettings
    from chapard.transport import Address, Transport


@dataclass(slots=True)
class _Link:
    """One way out of this node, and into it."""

    interface: Interface | None
    everybody: Address | None = None
    """Where a broadcast goes; None: to each neighbour."""
    transport: Transport = field(init=False)
    """The socket that sends, once it is open."""


class Mesh:
    """The mesh port of one node. `on_datagram` takes the bytes and the sender's index."""

    def __init__(self, addresses: Addresses, index: int, on_datagram: Callable[[bytes, int], None]) -> None:
        self.neighbours: Collection[int] = ()
        """Who gets a broadcast where there is none: the neighbours of the route view."""
        self.strangers = 0
        """Datagrams from addresses that are no node's."""
        self.unaddressed = 0
        """Datagrams to nodes that have no address."""
        self.complaints: list[str] = []
        """What the kernel did not grant."""
        self._addresses = addresses
        self._index = index
        self._receive = on_datagram
        self._links: list[_Link] = []
        self._transports: list[DgramTransport] = []
        self._heard: dict[int, tuple[Transport, Address]] = {}
        """Where each node was last heard; as many as there are nodes."""
        self._port = 0

    async def open(self, settings: MeshSettings, address: str) -> None:
        """Open the sockets. Raises StartError."""
        if not settings.interfaces:
            link = _Link(None)
            sock = udp_socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            link.transport = await self._listen(settings, sock, (address, settings.port), "mesh.port", link)
            self._port = link.transport.address[1]
            self._links.append(link)
        for name in settings.interfaces:
            await self._open_interface(settings, interface_of(name, self._addresses, self._index, address))

    @property
    def address(self) -> Address:
        """Where the first socket listens."""
        return self._links[0].transport.address

    @property
    def transports(self) -> Sequence[Transport]:
        """Every socket, for its counters."""
        return self._transports

    def send(self, to: int | None, data: bytes) -> None:
        """Send to one node, or (None) to all that hear us."""
        if to is None:
            self._broadcast(data)
            return
        way = self._heard.get(to) or self._first_way(to)
        if way is None:
            self.unaddressed += 1
        else:
            way[0].send(data, way[1])

    async def flushed(self) -> None:
        """Wait until everything has left."""
        for transport in self._transports:
            await transport.flushed()

    def close(self) -> None:
        for transport in self._transports:
            transport.close()

    def _broadcast(self, data: bytes) -> None:
        for link in self._links:
            if link.everybody is not None:
                link.transport.send(data, link.everybody)
            else:
                for neighbour in self.neighbours:
                    self.send(neighbour, data)

    def _first_way(self, to: int) -> tuple[Transport, Address] | None:
        """How to reach a node that was not heard yet: on the link whose network has its address, else on the first."""
        try:
            host = self._addresses.address_of(to)
        except AddressError:
            return None
        address = ip_address(host)
        fitting = (each for each in self._links if each.interface and address in each.interface.address.network)
        link = next(fitting, self._links[0])
        return link.transport, (host, self._port)

    def _received(self, link: _Link, data: bytes, address: Address) -> None:
        index = self._addresses.index_of(address[0])
        if index is None:
            self.strangers += 1
        elif index != self._index:  # our own broadcasts come back to us
            self._heard[index] = (link.transport, address)
            self._receive(data, index)

    # Opening

    async def _open_interface(self, settings: MeshSettings, interface: Interface) -> None:
        """IPv4 needs one socket. With IPv6 a second one hears the group, as the first gives datagrams their source."""
        name, family = interface.name, interface.family
        local = "0.0.0.0" if family == socket.AF_INET else str(interface.address.ip)  # noqa: S104 - of one device only
        where = f"mesh.port on {name}"
        link = _Link(interface)
        link.transport = await self._listen(settings, _on_device(family, name), (local, settings.port), where, link)
        self._port = link.transport.address[1]
        link.everybody = interface.everybody(self._port)
        if family == socket.AF_INET6:
            await self._listen(settings, _on_device(family, name), link.everybody, where, link)
        self._links.append(link)

    async def _listen(
        self, settings: MeshSettings, sock: socket.socket, address: Address, setting: str, link: _Link
    ) -> DgramTransport:
        bind(sock, address, setting)
        for complaint in set_buffers(sock, settings.receive_buffer, settings.send_buffer):
            if complaint not in self.complaints:
                self.complaints.append(complaint)
        transport = await DgramTransport.open(sock, partial(self._received, link))
        self._transports.append(transport)
        return transport


def _on_device(family: socket.AddressFamily, name: str) -> socket.socket:
    """A socket that sends and hears on one interface only."""
    sock = udp_socket(family)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b"\0")
    except OSError as error:
        sock.close()
        hint = "run with CAP_NET_RAW, or Linux 5.7 or newer" if error.errno == errno.EPERM else "check `ip link`"
        raise StartError(f"mesh.interfaces: cannot use {name}: {error.strerror}; {hint}") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    return sock
