"""Where a node is: what is written counts, and the machine says the rest."""

from __future__ import annotations

import socket
from dataclasses import replace
from ipaddress import IPv4Interface
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from chapard.addresses import Addresses
from chapard.interfaces import Candidate, Interface
from chapard.place import Place, Written, find_place, interface_of, suitable, unused
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = Written(
    address=None, prefixes=None, interfaces=(), index=None, map=MappingProxyType({}), nodes=256, needs_interfaces=True
)


def candidate(name: str, address: str, *, is_wireless: bool = False) -> Candidate:
    return Candidate(Interface(name, 1, IPv4Interface(address), "255.255.255.255"), is_wireless)


ETH0 = candidate("eth0", "192.168.1.20/24")
WLAN0 = candidate("wlan0", "10.66.0.7/24", is_wireless=True)
WLAN1 = candidate("wlan1", "10.67.0.7/24", is_wireless=True)
WLAN2 = candidate("wlan2", "10.68.0.8/24", is_wireless=True)


def found(written: Written, *machine: Candidate) -> Place:
    return find_place(written, lambda: machine)


def nobody_asks() -> Sequence[Candidate]:
    raise AssertionError("the machine is not asked where everything is written")


def test_a_machine_with_radios_is_where_its_radios_are() -> None:
    """Cables are left alone, the first radio gives the address, and each radio its network."""
    place = found(NOTHING, ETH0, WLAN0, WLAN1)
    assert place == Place("10.66.0.7", ("10.66.0.0/24", "10.67.0.0/24"), ("wlan0", "wlan1"))


def test_without_a_radio_every_interface_serves() -> None:
    """A mesh may be of cables."""
    other = candidate("eth1", "10.0.0.20/24")
    assert found(NOTHING, ETH0, other) == Place("192.168.1.20", ("192.168.1.0/24", "10.0.0.0/24"), ("eth0", "eth1"))
    assert suitable([ETH0]) == [ETH0.interface]


def test_an_interface_that_would_make_another_node_is_left_out() -> None:
    """Its neighbours would take us for the node with that host part; and who wonders is told of it."""
    place = found(NOTHING, WLAN0, WLAN1, WLAN2)
    assert place.interfaces == ("wlan0", "wlan1")
    assert "10.68.0.0/24" not in place.prefixes
    assert unused(place.interfaces, lambda: [WLAN0, WLAN1, WLAN2]) == ["wlan2 (10.68.0.8/24)"]


def test_a_map_makes_different_host_parts_one_node() -> None:
    """What node.map and node.index say of an address goes before its host part."""
    mapped = replace(NOTHING, map=MappingProxyType({"10.66.0.7": 40, "10.68.0.8": 40}))
    assert found(mapped, WLAN0, WLAN1, WLAN2).interfaces == ("wlan0", "wlan2")
    assert found(replace(NOTHING, index=8), WLAN0, WLAN1, WLAN2).interfaces == ("wlan0", "wlan2")


def test_an_address_too_large_for_a_node_stands_alone() -> None:
    """It is taken as it is: that its host part is no node is said where settings are checked."""
    large = candidate("wlan0", "10.1.2.3/8", is_wireless=True)
    assert found(NOTHING, large, WLAN1) == Place("10.1.2.3", ("10.0.0.0/8",), ("wlan0",))


def test_what_is_written_counts() -> None:
    """Where everything is written, the machine is not asked; prefixes may be written and empty."""
    written = replace(NOTHING, address="10.66.0.7", prefixes=(), interfaces=("wlan9",))
    assert find_place(written, nobody_asks) == Place("10.66.0.7", (), ("wlan9",))
    listening = replace(NOTHING, address="10.66.0.7", prefixes=("10.0.0.0/8",), needs_interfaces=False)
    assert find_place(listening, nobody_asks) == Place("10.66.0.7", ("10.0.0.0/8",), ())
    assert found(replace(NOTHING, prefixes=("10.66.0.0/16",)), WLAN0).prefixes == ("10.66.0.0/16",)


def test_a_written_address_chooses_its_interface() -> None:
    """It is the first, though the machine has others; the others come after it."""
    written = replace(NOTHING, address="10.67.0.7")
    assert found(written, WLAN0, WLAN1) == Place("10.67.0.7", ("10.67.0.0/24", "10.66.0.0/24"), ("wlan1", "wlan0"))


def test_who_only_listens_needs_no_interfaces() -> None:
    """With another daemon's routes and an address of its own, a node keeps its one socket, in that address' network."""
    written = replace(NOTHING, address="10.66.0.7", needs_interfaces=False)
    assert found(written, ETH0, WLAN0) == Place("10.66.0.7", ("10.66.0.0/24",), ())
    assert found(replace(written, address="127.0.0.1"), ETH0) == Place("127.0.0.1", ("127.0.0.0/24",), ())
    assert found(replace(written, address=None), WLAN0) == Place("10.66.0.7", ("10.66.0.0/24",), ("wlan0",))


def test_named_interfaces_give_the_address() -> None:
    """Their own, as the kernel has it: loopback is the one that every machine has."""
    place = find_place(replace(NOTHING, interfaces=("lo",)), nobody_asks)
    assert place == Place("127.0.0.1", ("127.0.0.0/8",), ("lo",))


@pytest.mark.parametrize(
    ("written", "machine", "words"),
    [
        (NOTHING, (), r"mesh\.interfaces: this machine has no interface for a mesh"),
        (replace(NOTHING, address="10.9.9.9"), (WLAN0,), r"node\.address: no .* has 10\.9\.9\.9 \(there is wlan0"),
        (replace(NOTHING, interfaces=("wlan99",)), (), r"mesh\.interfaces: there is no interface wlan99"),
    ],
    ids=["nothing", "address", "name"],
)
def test_a_machine_without_the_place_says_so(written: Written, machine: tuple[Candidate, ...], words: str) -> None:
    """One line, and no SettingsError: a radio that is plugged in later is enough."""
    with pytest.raises(StartError, match=words) as caught:
        found(written, *machine)
    assert "\n" not in str(caught.value)


def test_an_interface_is_known_by_the_address_that_is_this_nodes() -> None:
    """Of the preferred family first; without an address of this node it is refused in a line."""
    addresses = Addresses(("127.0.0.0/24",), {}, 256)
    assert interface_of("lo", addresses, 1, "127.0.0.1").family == socket.AF_INET
    with pytest.raises(StartError, match=r"lo has no address that is node 7's in 127\.0\.0\.0/24 \(it has 127\."):
        interface_of("lo", addresses, 7, "127.0.0.1")
