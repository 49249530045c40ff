"""Which node an address is, and where a node is reached: the host part of a prefix, or an explicit map.

The same host part under several prefixes is the same node on several interfaces. Whoever can send us a datagram chooses
the addresses that are asked for, so what is remembered of them is bounded.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NODES_REMEMBERED: Final = 16_384
"""Addresses of nodes that are remembered: every node of the largest mesh on a few interfaces."""
STRANGERS_REMEMBERED: Final = 1024
"""Addresses that are no node's. When either memory is full it begins afresh, which costs one look-up each."""

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


class AddressError(ValueError):
    """An address or prefix that cannot be read, or a node without an address; one line."""


class Addresses:
    """Index and address of every node of one network."""

    def __init__(self, prefixes: Iterable[str], mapping: Mapping[str, int], nodes: int) -> None:
        self.nodes = nodes
        self._networks = tuple(read_prefix(each) for each in prefixes)
        self._mapped = {_canonical(address): index for address, index in mapping.items()}
        self._addresses = self._primary_addresses()
        self._known: dict[str, int] = {}
        self._strangers: set[str] = set()

    def index_of(self, ip: str) -> int | None:
        """The node with this address; None if it is no node's."""
        index = self._known.get(ip)
        if index is not None or ip in self._strangers:
            return index
        index = self._find(ip)
        if index is None:
            if len(self._strangers) >= STRANGERS_REMEMBERED:
                self._strangers.clear()
            self._strangers.add(ip)
        else:
            if len(self._known) >= NODES_REMEMBERED:
                self._known.clear()
            self._known[ip] = index
        return index

    def address_of(self, index: int) -> str:
        """Where a node is reached: as the map says, else in the first prefix that has room for it."""
        address = self._addresses.get(index)
        if address is None:
            raise AddressError(f"node {index} has no address in {self.where()}: it lies outside, or is none of a host")
        return address

    def where(self) -> str:
        """The prefixes, for a person."""
        return ", ".join(map(str, self._networks)) or "node.map (there are no prefixes)"

    def _find(self, ip: str) -> int | None:
        try:
            address = read_address(ip)
        except AddressError:
            return None
        for text in (str(address), str(_unscoped(address))):
            if text in self._mapped:
                index = self._mapped[text]
                return index if 0 <= index < self.nodes else None
        return self._host_part(_unscoped(address))

    def _host_part(self, address: IPAddress) -> int | None:
        for network in self._networks:
            if address in network:
                index = int(address) - int(network.network_address)
                if index < self.nodes and _is_host(address, network):
                    return index
        return None

    def _primary_addresses(self) -> dict[int, str]:
        addresses: dict[int, str] = {}
        for address, index in self._mapped.items():
            if 0 <= index < self.nodes:
                addresses.setdefault(index, address)
        for network in self._networks:
            for index in range(1, min(self.nodes, network.num_addresses)):
                host = network[index]
                if _is_host(host, network) and str(host) not in self._mapped:
                    addresses.setdefault(index, str(host))
        return addresses


def read_prefix(text: str) -> IPNetwork:
    """A prefix such as 10.66.0.0/24 or fd66::/120; an address of a host in it names it too."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise AddressError(f'want a prefix such as "10.66.0.0/24" or "fd66::/120", got "{text}"') from None


def read_address(text: str) -> IPAddress:
    """An IPv4 or IPv6 address, the latter with its zone (fe80::7%wlan0) if it has one."""
    try:
        address = ip_address(text)
    except ValueError:
        raise AddressError(f'want an IPv4 or IPv6 address, got "{text}"') from None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _canonical(text: str) -> str:
    return str(read_address(text))


def _unscoped(address: IPAddress) -> IPAddress:
    return IPv6Address(int(address)) if isinstance(address, IPv6Address) and address.scope_id else address


def _is_host(address: IPAddress, network: IPNetwork) -> bool:
    """Not the network's own address, nor IPv4's broadcast address."""
    return address != network.network_address and (address.version == 6 or address != network.broadcast_address)
