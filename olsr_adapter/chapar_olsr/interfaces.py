"""The interfaces that OLSR speaks on: the address each is known by, and where a packet for all neighbours goes.

IPv4 has a broadcast address for that, IPv6 the group of all MANET routers on a link (RFC 5498), as olsrd uses it.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from ipaddress import IPv4Interface, IPv6Address, ip_address
from pathlib import Path
from typing import Final, NamedTuple

MANET_ROUTERS: Final = "ff02::6d"
"""Every MANET router on an IPv6 link."""
EVERYBODY: Final = "255.255.255.255"
POINT_TO_POINT: Final = 31
"""The shortest IPv4 prefix without a broadcast address of its own."""

_IF_INET6: Final = Path("/proc/self/net/if_inet6")
_INTERFACES: Final = Path("/sys/class/net")
_SIOCGIFADDR: Final = 0x8915
_SIOCGIFBRDADDR: Final = 0x8919
_SIOCGIFNETMASK: Final = 0x891B
_IFREQ: Final = struct.Struct("16s24x")
_NAME_BYTES: Final = 15


class InterfaceError(Exception):
    """OLSR cannot speak on an interface; the message is one line that says why."""


class OlsrInterface(NamedTuple):
    """One interface, by the address that its node is known by there."""

    name: str
    address: str
    broadcast: str
    """Where a packet for all neighbours goes."""

    @property
    def number(self) -> int:
        """The address as the agent takes it."""
        return int(ip_address(self.address))

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET


def find(name: str, *, ipv6: bool = False) -> OlsrInterface:
    """The interface with this name. Raises InterfaceError if there is none, or it has no address."""
    present = sorted(each.name for each in _INTERFACES.iterdir()) if _INTERFACES.is_dir() else []
    if name not in present:
        raise InterfaceError(f"there is no interface {name!r}; this machine has {', '.join(present) or 'none'}")
    if ipv6:
        address = ipv6_address(name, _IF_INET6.read_text() if _IF_INET6.exists() else "")
        if address is None:
            raise InterfaceError(f"{name} has no IPv6 address that others can route to; see `ip -6 address`")
        return OlsrInterface(name, str(address), MANET_ROUTERS)
    own, mask = _ask(name, _SIOCGIFADDR), _ask(name, _SIOCGIFNETMASK)
    if own is None or mask is None:
        raise InterfaceError(f"{name} has no IPv4 address: give it one with `ip address add`")
    return OlsrInterface(name, own, broadcast_of(IPv4Interface(f"{own}/{mask}"), _ask(name, _SIOCGIFBRDADDR)))


def ipv6_address(name: str, table: str) -> IPv6Address | None:
    """The first address of an interface in the kernel's table that others can route to."""
    rows = (line.split() for line in table.splitlines())
    addresses = (IPv6Address(int(row[0], 16)) for row in rows if len(row) == 6 and row[5] == name)
    return next((each for each in addresses if not each.is_link_local), None)


def broadcast_of(address: IPv4Interface, configured: str | None) -> str:
    """Where a broadcast goes: as configured, else to the network's last address; without one, to everybody."""
    if configured not in (None, "0.0.0.0"):  # noqa: S104 - "not set", no place to listen
        return configured
    if address.network.prefixlen >= POINT_TO_POINT:
        return EVERYBODY
    return str(address.network.broadcast_address)


def _ask(name: str, question: int) -> str | None:
    """An IPv4 address from the kernel's record of an interface; None if it has none."""
    request = _IFREQ.pack(name.encode()[:_NAME_BYTES])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            answer = fcntl.ioctl(asking.fileno(), question, request)
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])
