"""An interface's addresses and broadcast address, as the kernel has them."""

from __future__ import annotations

import socket
from ipaddress import IPv4Interface, IPv6Interface

import pytest

from chapard.interfaces import Interface, broadcast_of, candidates, interfaces_named, ipv6_addresses, names_in
from chapard.transport import StartError

IF_INET6 = """\
fd660000000000000000000000000007 03 40 00 80    wlan0
fe80000000000000308c2efffe92292e 03 40 20 80    wlan0
00000000000000000000000000000001 01 80 10 80       lo
"""


DEV = """\
Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame |bytes    packets errs drop fifo colls carrier compressed
    lo:  123456    1234    0    0    0     0   123456    1234    0    0    0     0       0          0
 wlan0:       0       0    0    0    0     0        0       0    0    0    0     0       0          0
"""


def test_the_kernels_table_names_the_interfaces() -> None:
    """Below its two lines of headings, whatever else stands in a line."""
    assert names_in(DEV) == ["lo", "wlan0"]


def test_loopback_is_no_candidate_for_a_mesh() -> None:
    """All that are have a name, an IPv4 address and a place for broadcasts, in the kernel's order."""
    found = [each.interface for each in candidates()]
    assert "lo" not in [each.name for each in found]
    assert all(each.family == socket.AF_INET and each.broadcast for each in found)
    assert found == sorted(found, key=lambda each: each.number)


def test_loopback_is_found() -> None:
    """The one interface that every machine has: its address, its network and the end of it."""
    found = next(each for each in interfaces_named("lo") if each.family == socket.AF_INET)
    assert found == Interface("lo", socket.if_nametoindex("lo"), IPv4Interface("127.0.0.1/8"), "127.255.255.255")
    assert found.everybody(7701) == ("127.255.255.255", 7701)


def test_an_interface_that_is_not_there_is_a_sentence() -> None:
    """It names the setting and the interfaces that there are."""
    with pytest.raises(StartError, match=r"mesh\.interfaces: there is no interface wlan99; this machine has .*lo"):
        interfaces_named("wlan99")


def test_ipv6_addresses_are_read_from_the_kernels_table() -> None:
    """Only those of the interface asked for, each with its prefix; a broadcast goes to all nodes on that interface."""
    assert ipv6_addresses("wlan0", IF_INET6) == [
        IPv6Interface("fd66::7/64"),
        IPv6Interface("fe80::308c:2eff:fe92:292e/64"),
    ]
    assert ipv6_addresses("eth0", IF_INET6) == []
    interface = Interface("wlan0", 3, IPv6Interface("fd66::7/64"), "ff02::1")
    assert interface.everybody(7701) == ("ff02::1", 7701, 0, 3)
    assert interface.family == socket.AF_INET6


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
