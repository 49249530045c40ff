"""What the kernel knows of network interfaces: which there are, their addresses, and where a broadcast on one goes."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path
from typing import Final, NamedTuple

from chapard.transport import Address, StartError

ALL_NODES: Final = "ff02::1"
"""Every node on an IPv6 link; IPv6 has no broadcast."""
EVERYBODY: Final = "255.255.255.255"
POINT_TO_POINT: Final = 31
"""The shortest IPv4 prefix without a broadcast address of its own."""
_IF_INET6: Final = Path("/proc/self/net/if_inet6")
_DEVICES: Final = Path("/proc/self/net/dev")
_INTERFACES: Final = Path("/sys/class/net")
"""Files, as a sandbox may have no netlink sockets."""
_WIRELESS: Final = ("wireless", "phy80211")
"""What a radio has in its folder there: the first with the older interface for drivers, the second with today's."""

_IFF_UP: Final = 0x1
_IFF_BROADCAST: Final = 0x2
_IFF_LOOPBACK: Final = 0x8
_SIOCGIFFLAGS: Final = 0x8913
_SIOCGIFADDR: Final = 0x8915
_SIOCGIFBRDADDR: Final = 0x8919
_SIOCGIFNETMASK: Final = 0x891B
_IFREQ: Final = struct.Struct("16s24x")
_NAME_BYTES: Final = 15


class Interface(NamedTuple):
    """One network interface, by the address that its node is known by."""

    name: str
    number: int
    address: IPv4Interface | IPv6Interface
    broadcast: str

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET if self.address.version == 4 else socket.AF_INET6

    def everybody(self, port: int) -> Address:
        """Where a datagram goes that is for all neighbours."""
        return (self.broadcast, port) if self.address.version == 4 else (self.broadcast, port, 0, self.number)


class Candidate(NamedTuple):
    """An interface that a mesh could use: up, no loopback, able to broadcast, with an IPv4 address."""

    interface: Interface
    is_wireless: bool


def candidates() -> list[Candidate]:
    """Those of this machine, in the kernel's order."""
    found = []
    for name in names_in(_DEVICES.read_text()):
        flags, address = _flags(name), _ipv4_address(name)
        if address is not None and flags & (_IFF_UP | _IFF_BROADCAST | _IFF_LOOPBACK) == _IFF_UP | _IFF_BROADCAST:
            number = socket.if_nametoindex(name)
            is_wireless = any((_INTERFACES / name / each).exists() for each in _WIRELESS)
            found.append(Candidate(Interface(name, number, address, _broadcast(name, address)), is_wireless))
    return sorted(found, key=lambda each: each.interface.number)


def names_in(table: str) -> list[str]:
    """The interfaces in the kernel's table of them, which has two lines of headings."""
    return [line.rpartition(":")[0].strip() for line in table.splitlines()[2:] if ":" in line]


def interfaces_named(name: str) -> list[Interface]:
    """An interface once per address that it has. Raises StartError if there is no such interface."""
    try:
        number = socket.if_nametoindex(name)
    except OSError:
        raise StartError(f"mesh.interfaces: there is no interface {name}; this machine has {_present()}") from None
    found = [Interface(name, number, address, ALL_NODES) for address in ipv6_addresses(name)]
    ipv4 = _ipv4_address(name)
    if ipv4 is not None:
        found.insert(0, Interface(name, number, ipv4, _broadcast(name, ipv4)))
    return found


def ipv6_addresses(name: str, table: str | None = None) -> list[IPv6Interface]:
    """The IPv6 addresses of an interface."""
    if table is None:
        table = _IF_INET6.read_text() if _IF_INET6.exists() else ""
    rows = (line.split() for line in table.splitlines())
    return [IPv6Interface((int(row[0], 16), int(row[2], 16))) for row in rows if len(row) == 6 and row[5] == name]


def broadcast_of(address: IPv4Interface, configured: str | None) -> str:
    """Where a broadcast goes: as configured, else to the network's last address; without one, to everybody."""
    if configured not in (None, "0.0.0.0"):  # noqa: S104 - "not set", no place to listen
        return configured
    if address.network.prefixlen >= POINT_TO_POINT:
        return EVERYBODY
    return str(address.network.broadcast_address)


def _present() -> str:
    return ", ".join(sorted(each.name for each in _INTERFACES.iterdir())) if _INTERFACES.is_dir() else "others"


def _broadcast(name: str, address: IPv4Interface) -> str:
    return broadcast_of(address, _ask(name, _SIOCGIFBRDADDR))


def _ipv4_address(name: str) -> IPv4Interface | None:
    address, mask = _ask(name, _SIOCGIFADDR), _ask(name, _SIOCGIFNETMASK)
    return IPv4Interface(f"{address}/{mask}") if address is not None and mask is not None else None


def _ask(name: str, question: int) -> str | None:
    """An IPv4 address from the kernel's record of an interface; None if it has none."""
    answer = _record(name, question)
    return None if answer is None else socket.inet_ntoa(answer[20:24])


def _flags(name: str) -> int:
    answer = _record(name, _SIOCGIFFLAGS)
    return 0 if answer is None else int.from_bytes(answer[16:18], sys.byteorder)


def _record(name: str, question: int) -> bytes | None:
    """What the kernel answers to a question about an interface: a struct ifreq; None if it refuses."""
    request = _IFREQ.pack(name.encode()[:_NAME_BYTES])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            return fcntl.ioctl(asking.fileno(), question, request)
        except OSError:
            return None
