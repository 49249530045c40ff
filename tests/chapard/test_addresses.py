"""Addresses and node indexes: prefixes, the explicit map, both families, and bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest

from chapard.addresses import STRANGERS_REMEMBERED, AddressError, Addresses, read_address, read_prefix


def test_the_host_part_is_the_index() -> None:
    """In a /24 the last byte is the index, both ways."""
    addresses = Addresses(["10.66.0.0/24"], {}, 256)
    assert addresses.index_of("10.66.0.7") == 7
    assert addresses.address_of(7) == "10.66.0.7"


def test_a_prefix_may_be_given_by_a_host_in_it() -> None:
    """10.66.0.7/24 names the network of that host."""
    assert Addresses(["10.66.0.7/24"], {}, 256).index_of("10.66.0.9") == 9


def test_several_interfaces_are_one_node() -> None:
    """The same host part under two prefixes is the same node, which is reached in the first."""
    addresses = Addresses(["10.66.0.0/24", "10.67.0.0/24"], {}, 256)
    assert addresses.index_of("10.66.0.7") == addresses.index_of("10.67.0.7") == 7
    assert addresses.address_of(7) == "10.66.0.7"


def test_a_prefix_too_small_for_a_node_leaves_it_to_the_next() -> None:
    """Index 300 has no place in a /24, but in the /16 after it."""
    addresses = Addresses(["10.66.0.0/24", "10.80.0.0/16"], {}, 512)
    assert addresses.address_of(300) == "10.80.1.44"
    assert addresses.index_of("10.80.1.44") == 300
    assert addresses.address_of(5) == "10.66.0.5"


@pytest.mark.parametrize(
    "ip", ["10.66.0.0", "10.66.0.255", "10.66.1.7", "192.168.0.7", "fd66::7", "not an address", "", "10.66.0.7%eth0"]
)
def test_what_is_no_host_of_the_mesh_has_no_index(ip: str) -> None:
    """Network and broadcast addresses, strangers and nonsense are nobody, the second time too."""
    addresses = Addresses(["10.66.0.0/24"], {}, 256)
    assert [addresses.index_of(ip), addresses.index_of(ip)] == [None, None]


def test_an_index_beyond_the_vector_is_nobody() -> None:
    """A host whose number does not fit into a node vector is no node."""
    addresses = Addresses(["10.66.0.0/24"], {"192.168.1.1": 100}, 100)
    assert addresses.index_of("10.66.0.99") == 99
    assert addresses.index_of("10.66.0.100") is None
    assert addresses.index_of("192.168.1.1") is None
    with pytest.raises(AddressError, match=r"node 100 has no address in 10\.66\.0\.0/24"):
        addresses.address_of(100)


@pytest.mark.parametrize("index", [0, 255])
def test_network_and_broadcast_are_nobodys_address(index: int) -> None:
    """No node is reached at an address that is no host's."""
    with pytest.raises(AddressError, match=f"node {index} has no address"):
        Addresses(["10.66.0.0/24"], {}, 256).address_of(index)


def test_ipv6_prefixes_and_zones() -> None:
    """The last bits of an IPv6 address are the index, whatever the zone; its last address is a host like any other."""
    addresses = Addresses(["fd66::/120", "fe80::/64"], {}, 256)
    assert addresses.index_of("fd66::7") == 7
    assert addresses.index_of("fe80::7%wlan0") == 7
    assert addresses.index_of("fd66::ff") == 255
    assert addresses.index_of("fd66::") is None
    assert addresses.address_of(7) == "fd66::7"


def test_an_ipv4_address_in_ipv6_dress_is_the_same_node() -> None:
    """A socket of both families reports IPv4 peers as ::ffff:…"""
    assert Addresses(["10.66.0.0/24"], {}, 256).index_of("::ffff:10.66.0.7") == 7


def test_the_map_wins_over_the_prefixes() -> None:
    """An address in the map is the node that the map says, and no longer that of its host part."""
    addresses = Addresses(["10.66.0.0/24"], {"10.66.0.7": 9, "192.168.1.20": 20}, 256)
    assert addresses.index_of("10.66.0.7") == 9
    assert addresses.address_of(9) == "10.66.0.7"
    assert addresses.index_of("10.66.0.9") == 9
    assert addresses.address_of(20) == "192.168.1.20"
    with pytest.raises(AddressError, match="node 7 has no address"):
        addresses.address_of(7)


def test_the_map_knows_addresses_however_they_are_written() -> None:
    """A mapped address is found with its zone, without one, and in another spelling."""
    addresses = Addresses([], {"FD66:0::7": 3, "fe80::1%wlan0": 4, "fe80::2": 5}, 256)
    assert addresses.index_of("fd66::7") == 3
    assert addresses.index_of("fe80::1%wlan0") == 4
    assert addresses.index_of("fe80::1%wlan1") is None
    assert addresses.index_of("fe80::2%wlan1") == 5


def test_nested_prefixes_take_the_first_that_fits() -> None:
    """Where an address is in two prefixes, the one in which it is a node decides."""
    assert Addresses(["10.0.0.0/8", "10.66.0.0/24"], {}, 256).index_of("10.66.0.7") == 7


def test_memory_of_addresses_is_bounded() -> None:
    """A flood from made up addresses grows the node no further than a burst of them; known nodes are known after it."""
    addresses = Addresses(["10.66.0.0/24"], {}, 256)
    sizes = []
    tracemalloc.start()
    for number in range(4 * STRANGERS_REMEMBERED):
        assert addresses.index_of(f"172.16.{number >> 8}.{number & 255}") is None
        if number % STRANGERS_REMEMBERED == STRANGERS_REMEMBERED - 1:
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert max(sizes) < 1.5 * sizes[0]
    assert addresses.index_of("10.66.0.7") == 7


@pytest.mark.parametrize("text", ["10.66.0.0/33", "10.66.0", "wlan0", "fd66::/200"])
def test_a_wrong_prefix_is_named(text: str) -> None:
    """The complaint repeats what was given and shows what is wanted."""
    with pytest.raises(AddressError, match=rf'want a prefix such as "10\.66\.0\.0/24".*, got "{text}"'):
        read_prefix(text)


def test_a_wrong_address_is_named() -> None:
    """The same for a single address, in the map too."""
    with pytest.raises(AddressError, match=r'want an IPv4 or IPv6 address, got "10\.66\.0"'):
        read_address("10.66.0")
    with pytest.raises(AddressError, match='got "rover-3"'):
        Addresses([], {"rover-3": 1}, 256)
