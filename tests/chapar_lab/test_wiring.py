"""The wires of a lab: addresses, neighbours and forwarding of real interfaces."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from boxed import boxed
from chapar_lab.frame import mac_of
from chapar_lab.namespaces import inside
from chapar_lab.wiring import RADIO, address_of, far_end, wire

ALL_KINDS = 3
PERMANENT = 0x80
PORT = 4711
NODES = (1, 2, 258)


def test_addresses_follow_from_the_index() -> None:
    """Both of its bytes count."""
    assert [address_of(1), address_of(258)] == ["10.66.0.1", "10.66.1.2"]
    assert [mac_of(1), mac_of(258)] == ["02:66:00:00:00:01", "02:66:00:00:01:02"]


def test_every_node_is_where_its_index_says() -> None:
    """Address, MAC address, an interface that is up, and who has which address is known for good."""

    def work() -> dict[int, tuple[object, ...]]:
        found: dict[int, tuple[object, ...]] = {}
        for node, network in wire(NODES).items():
            with inside(network), IPRoute() as route:
                (index,) = route.link_lookup(ifname=RADIO)
                (link,) = route.get_links(index)
                (address,) = route.get_addr(index=index, family=socket.AF_INET)
                neighbours = {
                    each.get_attr("NDA_DST"): (each.get_attr("NDA_LLADDR"), each["state"])
                    for each in route.get_neighbours(ifindex=index, family=socket.AF_INET)
                }
                is_up = bool(link["flags"] & 1)
            local = f"{address.get_attr('IFA_LOCAL')}/{address['prefixlen']}"
            found[node] = is_up, link.get_attr("IFLA_ADDRESS"), local, neighbours
        return found

    found = boxed(work)
    assert list(found) == list(NODES)
    for node in NODES:
        others = {address_of(other): (mac_of(other), PERMANENT) for other in NODES if other != node}
        assert found[node] == (True, mac_of(node), f"{address_of(node)}/16", others)


def test_the_hub_holds_the_other_ends_and_says_nothing() -> None:
    """One per node, up, without any address."""

    def work() -> dict[str, tuple[bool, list[str]]]:
        wire(NODES)
        with IPRoute() as route:
            return {
                link.get_attr("IFLA_IFNAME"): (
                    bool(link["flags"] & 1),
                    [each.get_attr("IFA_ADDRESS") for each in route.get_addr(index=link["index"])],
                )
                for link in route.get_links()
                if link.get_attr("IFLA_IFNAME") != "lo"
            }

    assert boxed(work) == {far_end(node): (True, []) for node in NODES}


def test_nodes_forward_and_do_not_redirect() -> None:
    """Nor do they refuse what comes in where they would not answer."""
    settings = ["ip_forward", f"conf/{RADIO}/rp_filter", "conf/all/rp_filter", f"conf/{RADIO}/send_redirects"]

    def work() -> list[str]:
        (network,) = wire([1]).values()
        with inside(network):
            return [Path("/proc/sys/net/ipv4", each).read_text(encoding="ascii").strip() for each in settings]

    assert boxed(work) == ["1", "0", "0", "0"]


@pytest.mark.parametrize("ipv6", [False, True])
def test_ipv6_is_there_only_for_who_asks_for_it(ipv6: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """An address of the link, without waiting for somebody to object to it; else none, and silence."""

    def work() -> tuple[list[str], str]:
        (network,) = wire([1], ipv6=ipv6).values()
        with inside(network), IPRoute() as route:
            (index,) = route.link_lookup(ifname=RADIO)
            found = route.get_addr(index=index, family=socket.AF_INET6)
            dad = Path(f"/proc/sys/net/ipv6/conf/{RADIO}/accept_dad").read_text(encoding="ascii").strip()
            return [each.get_attr("IFA_ADDRESS") for each in found], dad

    if not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("a kernel without IPv6")
    assert boxed(work) == (["fe80::66:ff:fe00:1"] if ipv6 else [], "0")


def test_a_datagram_leaves_at_once_and_alone() -> None:
    """No ARP goes before it, nothing else is on the air, its checksum is complete, and nobody hears it by itself."""

    def work() -> tuple[list[bytes], bool]:
        networks = wire([1, 2])
        ends = [_listening(far_end(node)) for node in (1, 2)]
        with inside(networks[2]):
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.bind((address_of(2), PORT))
        with inside(networks[1]):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sender.sendto(b"hello", (address_of(2), PORT))
        frames = [ends[0].recv(2048)]
        for end in ends:
            end.settimeout(0)
            try:
                frames.append(end.recv(2048))
            except BlockingIOError:
                continue
        receiver.settimeout(0)
        try:
            receiver.recv(100)
        except BlockingIOError:
            heard = False
        else:
            heard = True
        ends[1].send(frames[0])  # until somebody carries it over
        receiver.settimeout(5)
        assert receiver.recv(100) == b"hello"
        return frames, heard

    (frame,), heard = boxed(work)
    assert not heard
    assert frame[:12] == bytes.fromhex((mac_of(2) + mac_of(1)).replace(":", ""))
    assert frame[12:14] == b"\x08\x00"
    assert frame.endswith(b"hello")
    pseudo = frame[26:34] + b"\x00\x11" + frame[38:40] + frame[34:] + b"\x00"
    total = sum(int.from_bytes(pseudo[at : at + 2], "big") for at in range(0, len(pseudo), 2))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def _listening(interface: str) -> socket.socket:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    end.settimeout(5)
    end.bind((interface, ALL_KINDS))
    return end
