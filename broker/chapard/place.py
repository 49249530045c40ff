"""Where a node is in the mesh: its address, the mesh's networks and its interfaces, found where they are not written.

A machine that is to join the mesh it is in need not be told who it is. Its radios are the mesh's interfaces; without a
radio, every interface is that is up and can broadcast. The address of the first is the node's, and the networks are
those of the interfaces. A node has one number, so an interface whose host part is another one's is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from chapard.addresses import Addresses
from chapard.interfaces import candidates, interfaces_named
from chapard.settings import LOOPBACK_PREFIXES
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chapard.interfaces import Candidate, Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the settings say of the place; None, or no interfaces: nothing."""

    address: str | None
    prefixes: tuple[str, ...] | None
    interfaces: tuple[str, ...]
    index: int | None
    map: Mapping[str, int]
    nodes: int
    """Length of node vectors: whose number is not below it is no node."""
    needs_interfaces: bool
    """Whether the source of routes speaks on interfaces itself, so that there must be some."""


class Place(NamedTuple):
    address: str
    prefixes: tuple[str, ...]
    interfaces: tuple[str, ...]


def find_place(written: Written, machine: Callable[[], Sequence[Candidate]] = candidates) -> Place:
    """What is written, and the rest from the machine. Raises StartError if the machine does not have it."""
    address, prefixes, names = written.address, written.prefixes, written.interfaces
    if address is not None and not names and not written.needs_interfaces:
        if prefixes is None:
            prefixes = _networks_with(address, machine()) or LOOPBACK_PREFIXES
        return Place(address, prefixes, ())
    if address is not None and prefixes is not None and names:
        return Place(address, prefixes, names)
    known = [_main(name) for name in names] if names else suitable(machine())
    first = _first(known, address, names)
    used = known if names else _of_one_node(first, known, written)
    return Place(
        address or str(first.address.ip),
        _networks(used) if prefixes is None else prefixes,
        names or tuple(each.name for each in used),
    )


def suitable(machine: Sequence[Candidate]) -> list[Interface]:
    """The radios, or where there is none, all."""
    radios = [each.interface for each in machine if each.is_wireless]
    return radios or [each.interface for each in machine]


def unused(interfaces: Sequence[str], machine: Callable[[], Sequence[Candidate]] = candidates) -> list[str]:
    """Further interfaces of the machine that a mesh could use, for a person who wonders."""
    others = (each.interface for each in machine())
    return [f"{each.name} ({each.address})" for each in others if each.name not in interfaces]


def interface_of(name: str, addresses: Addresses, index: int, preferred: str) -> Interface:
    """An interface by the address that the other nodes know this node by, of the family of `preferred` if it can be.

    Raises StartError if it has none.
    """
    found = interfaces_named(name)
    version = ip_address(preferred).version
    found.sort(key=lambda each: (each.address.version != version, str(each.address.ip) != preferred))
    for each in found:
        if addresses.index_of(str(each.address.ip)) == index:
            return each
    has = ", ".join(str(each.address) for each in found) or "none"
    raise StartError(
        f"mesh.interfaces: {name} has no address that is node {index}'s in {addresses.where()} "
        f"(it has {has}); give it one, or set node.map"
    )


def _main(name: str) -> Interface:
    """An interface by the address to know its node by: IPv4, else one that holds beyond the link."""
    for each in interfaces_named(name):
        if not each.address.is_link_local or each.address.version == 4:
            return each
    raise StartError(f"mesh.interfaces: {name} has no address; give it one, for example ip address add 10.66.0.7/24")


def _first(known: Sequence[Interface], address: str | None, names: Sequence[str]) -> Interface:
    """The interface that has the node's address."""
    if not known:
        raise StartError(
            "mesh.interfaces: this machine has no interface for a mesh, that is one that is up, can broadcast and has "
            "an IPv4 address: see `ip address`, or set routes.source to none"
        )
    if address is None:
        return known[0]
    found = next((each for each in known if str(each.address.ip) == address), None)
    if found is None and not names:
        has = ", ".join(f"{each.name} {each.address.ip}" for each in known)
        raise StartError(f"node.address: no interface for a mesh has {address} (there is {has}): set mesh.interfaces")
    return found or known[0]


def _of_one_node(first: Interface, known: Sequence[Interface], written: Written) -> list[Interface]:
    """The first, and the others that are this node too: a neighbour there reckons our number from our address."""
    networks = _networks([first, *known]) if written.prefixes is None else written.prefixes
    addresses = Addresses(networks, written.map, written.nodes)
    index = written.index if written.index is not None else addresses.index_of(str(first.address.ip))
    others = [each for each in known if each is not first and addresses.index_of(str(each.address.ip)) == index]
    return [first, *others] if index is not None else [first]


def _networks(interfaces: Sequence[Interface]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(each.address.network) for each in interfaces))


def _networks_with(address: str, machine: Sequence[Candidate]) -> tuple[str, ...]:
    return _networks([each.interface for each in machine if str(each.interface.address.ip) == address])
