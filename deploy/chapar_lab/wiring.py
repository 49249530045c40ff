"""The wires of a lab: each node has one radio, `wlan0`, whose other end is held by the medium in the hub.

Node I is 10.66.H.L/16 (H and L: the bytes of its index) and 02:66:00:00:H:L. Who has which address is known to all from
the start, so that no ARP is on the air, as there is none in the simulator. IPv6 is there for Babel, which speaks it,
and silent otherwise.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyroute2 import IPRoute

from chapar_lab.frame import mac_of
from chapar_lab.namespaces import inside, new_network
from chapar_lab.offload import checksums_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RADIO: Final = "wlan0"
PREFIX: Final = "10.66.0.0/16"
PREFIX_LENGTH: Final = 16
BROADCAST: Final = "10.66.255.255"
QUEUE: Final = 1000
"""Frames that wait for the medium at a node."""
EUI64, NO_ADDRESS = 0, 1
"""How an interface makes itself an IPv6 address (<linux/if_link.h>)."""

NODE_SETTINGS: Final[Mapping[str, int]] = {
    f"net/{path}": value
    for path, value in {
        "ipv4/ip_forward": 1,
        # A node answers on the interface it was asked on, so nothing that comes in is a stranger, and there is always a
        # "better" way to a neighbour of a neighbour on the same interface: the kernel must not tell hosts of it.
        **{f"ipv4/conf/{each}/rp_filter": 0 for each in ("all", "default", RADIO)},
        **{f"ipv4/conf/{each}/send_redirects": 0 for each in ("all", "default", RADIO)},
        **{f"ipv{v}/conf/{each}/accept_redirects": 0 for v in (4, 6) for each in ("all", "default", RADIO)},
        # Routers are not asked for, and nobody waits for an objection to an address.
        "ipv6/conf/all/forwarding": 1,
        f"ipv6/conf/{RADIO}/router_solicitations": 0,
        f"ipv6/conf/{RADIO}/accept_dad": 0,
    }.items()
}
"""Below /proc/sys."""


def address_of(node: int) -> str:
    """Of a node in the mesh."""
    return f"10.66.{node >> 8}.{node & 0xFF}"


def far_end(node: int) -> str:
    """Name of the end of a node's radio that the medium holds."""
    return f"n{node}"


def wire(nodes: Sequence[int], *, ipv6: bool = False) -> dict[int, int]:
    """Make a network namespace for each node, with its radio up; returns a descriptor of each.

    The far ends are in the network namespace of the caller.
    """
    networks = {}
    with IPRoute() as hub:
        for node in nodes:
            networks[node] = new_network()
            hub.link("add", ifname=far_end(node), kind="veth", peer=_peer(node, networks[node]), txqlen=QUEUE)
            (index,) = hub.link_lookup(ifname=far_end(node))
            hub.link("set", index=index, IFLA_AF_SPEC=_addresses(NO_ADDRESS), state="up")  # the hub itself says nothing
    for node, network in networks.items():
        _furnish(node, network, nodes, EUI64 if ipv6 else NO_ADDRESS)
    return networks


def _peer(node: int, network: int) -> dict[str, object]:
    return {"ifname": RADIO, "address": mac_of(node), "net_ns_fd": network, "txqlen": QUEUE}


def _furnish(node: int, network: int, nodes: Iterable[int], addresses: int) -> None:
    with inside(network), ExitStack() as open_now:
        for path, value in NODE_SETTINGS.items():
            file = Path("/proc/sys", path)
            if file.exists():  # a kernel without IPv6 has not all of them
                file.write_text(f"{value}\n", encoding="ascii")
        checksums_off(RADIO)
        own = open_now.enter_context(IPRoute())
        (loopback,) = own.link_lookup(ifname="lo")
        (radio,) = own.link_lookup(ifname=RADIO)
        own.link("set", index=loopback, state="up")
        own.link("set", index=radio, IFLA_AF_SPEC=_addresses(addresses), state="up")
        own.addr("add", index=radio, address=address_of(node), prefixlen=PREFIX_LENGTH, broadcast=BROADCAST)
        for other in nodes:
            if other != node:
                own.neigh("add", dst=address_of(other), lladdr=mac_of(other), ifindex=radio, state="permanent")


def _addresses(mode: int) -> dict[str, object]:
    """How the interface makes itself an IPv6 address."""
    return {"attrs": [("AF_INET6", {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", mode)]})]}
