"""The interfaces that OLSR speaks on, as the kernel has them."""

from __future__ import annotations

import socket
from ipaddress import IPv4Interface, IPv6Address

import pytest

from chapar_olsr.interfaces import InterfaceError, OlsrInterface, broadcast_of, find, ipv6_address

IF_INET6 = """\
fe80000000000000308c2efffe92292e 03 40 20 80    wlan0
fd660000000000000000000000000007 03 40 00 80    wlan0
fd660000000000000000000000000008 03 40 00 80    wlan0
fe80000000000000308c2efffe92292f 04 40 20 80    wlan1
00000000000000000000000000000001 01 80 10 80       lo
"""


def test_loopback_is_found() -> None:
    """The one interface that every machine has: its address, and the end of its network."""
    found = find("lo")
    assert found == OlsrInterface("lo", "127.0.0.1", "127.255.255.255")
    assert found.family == socket.AF_INET
    assert found.number == 0x7F000001


@pytest.mark.parametrize("name", ["wlan99", "", "../lo", "lo\n"])
def test_an_interface_that_is_not_there_is_a_sentence(name: str) -> None:
    """It names the interfaces that there are."""
    with pytest.raises(InterfaceError, match=r"there is no interface .*; this machine has .*lo"):
        find(name)


def test_an_ipv6_address_is_one_that_others_can_route_to() -> None:
    """The first that is not of the link alone; an interface may have none."""
    assert ipv6_address("wlan0", IF_INET6) == IPv6Address("fd66::7")
    assert ipv6_address("wlan1", IF_INET6) is None
    assert ipv6_address("eth0", IF_INET6) is None


def test_an_ipv6_interface_knows_its_family() -> None:
    """Its number has 128 bits."""
    interface = OlsrInterface("wlan0", "fd66::7", "ff02::6d")
    assert interface.family == socket.AF_INET6
    assert interface.number == int(IPv6Address("fd66::7"))


@pytest.mark.parametrize(
    ("address", "configured", "broadcast"),
    [
        ("10.66.0.7/24", "10.66.0.255", "10.66.0.255"),
        ("10.66.0.7/24", None, "10.66.0.255"),
        ("10.66.0.7/24", "0.0.0.0", "10.66.0.255"),  # noqa: S104 - "not set", as the kernel says it
        ("10.66.0.7/24", "10.255.255.255", "10.255.255.255"),
        ("10.66.0.7/32", "0.0.0.0", "255.255.255.255"),  # noqa: S104 - as above
        ("10.66.0.6/31", None, "255.255.255.255"),
    ],
)
def test_where_a_broadcast_goes(address: str, configured: str | None, broadcast: str) -> None:
    """As configured; else to the last address of the network; an address without a network asks everybody."""
    assert broadcast_of(IPv4Interface(address), configured) == broadcast
