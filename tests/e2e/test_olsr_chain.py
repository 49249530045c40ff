"""Our OLSR daemon by itself: nodes in a chain find each other, and the kernel carries packets along their routes."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Final

import pytest

from chapar_olsr.embedded import SIGN_OF_LIFE
from chapar_olsr.route_table import LOOK_EVERY
from e2e import netns
from e2e.netns import Mesh, wait_until
from e2e.olsr_watch import Watch, chain_hops, chapar_olsrd, kernel_routes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

pytestmark = pytest.mark.lab

CHAIN: Final = [(1, 2), (2, 3), (3, 4), (4, 5)]
STARTING: Final = 20.0
"""Seconds for five daemons to get ready on a busy machine."""
FORMING: Final = 20.0
"""Seconds for five nodes with the usual intervals, once they are ready; the protocol takes nine at most."""
HELLO: Final = 0.5
TC: Final = 1.0
"""Seconds between messages where a test waits for hold times."""
NEIGHBOUR_HOLD: Final = 3 * HELLO
TOPOLOGY_HOLD: Final = 3 * TC
LATE: Final = 2.0
"""Seconds by which processes on a busy machine may be late, and watchers behind them."""
QUICK: Final = ("--hello", str(HELLO), "--tc", str(TC))


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """Five nodes in a chain."""
    netns.require("ping")
    with Mesh(nodes=5, edges=CHAIN) as made:
        yield made


def pings(mesh: Mesh, a: int, b: int, version: int = 4) -> subprocess.CompletedProcess[str]:
    to = mesh[b].address if version == 4 else mesh[b].address6
    return mesh[a].run(["ping", f"-{version}", "-c", "3", "-i", "0.2", "-W", "2", to])


def test_a_chain_finds_itself(mesh: Mesh) -> None:
    """With the RFC's intervals all routes are there within 20 s, in jsoninfo and in the kernel; a ping crosses them.

    Every node has the right hop counts, exactly the nodes in the middle are relays, and SIGTERM leaves no route behind.
    """
    watch = Watch(mesh)
    for node in mesh:
        chapar_olsrd(node)
    wait_until(lambda: all('msg="ready' in node.logs() for node in mesh), STARTING, "all are ready")
    wait_until(lambda: watch.hops() == chain_hops(1, 2, 3, 4, 5), FORMING, watch.told)
    relays = {1: {2}, 2: {3}, 3: {2, 4}, 4: {3}, 5: {4}}
    wait_until(lambda: {node.index: set(watch[node.index].mprs) for node in mesh} == relays, FORMING, "relays")
    for node in mesh:
        others = [each for each in mesh if each is not node]
        toward = {each.address: mesh[node.index + (1 if each.index > node.index else -1)].address for each in others}
        wait_until(lambda: kernel_routes(node) == toward, LATE, f"routes of node {node.index}")  # noqa: B023 - at once
    done = pings(mesh, 1, 5)
    assert "3 received" in done.stdout, done.stdout
    assert "ttl=61" in done.stdout, "three nodes forwarded it"
    for node in mesh:
        daemon = node.processes[-1]
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(netns.COMMAND_PATIENCE) == 0
        assert kernel_routes(node) == {}


def test_a_link_that_is_cut_and_healed_is_seen_by_all(mesh: Mesh) -> None:
    """Within the RFC's hold times: a neighbour is gone after three HELLOs, its routes after three TCs."""
    watch = Watch(mesh)
    for node in mesh:
        chapar_olsrd(node, *QUICK)
    whole = chain_hops(1, 2, 3, 4, 5)
    wait_until(lambda: watch.hops() == whole, FORMING, watch.told)
    mesh.cut(2, 3)
    wait_until(lambda: 3 not in watch[2].neighbours, NEIGHBOUR_HOLD + LATE, "node 2 misses node 3")
    wait_until(lambda: 2 not in watch[3].neighbours, LATE, "node 3 misses node 2")
    halves = chain_hops(1, 2) | chain_hops(3, 4, 5)
    wait_until(lambda: watch.hops() == halves, TOPOLOGY_HOLD + LATE, watch.told)
    wait_until(lambda: kernel_routes(mesh[1]).keys() == {mesh[2].address}, LATE, "the kernel's routes are gone")
    assert pings(mesh, 1, 5).returncode != 0
    mesh.heal(2, 3)
    wait_until(lambda: watch.hops() == whole, NEIGHBOUR_HOLD + TOPOLOGY_HOLD + LATE, watch.told)
    wait_until(lambda: len(kernel_routes(mesh[1])) == 4, LATE, "the kernel's routes are back")
    assert "3 received" in pings(mesh, 1, 5).stdout


def test_link_quality_finds_the_same_routes(mesh: Mesh) -> None:
    """Over links that lose nothing."""
    watch = Watch(mesh)
    for node in mesh:
        chapar_olsrd(node, "--link-quality", *QUICK)
    wait_until(lambda: watch.hops() == chain_hops(1, 2, 3, 4, 5), FORMING, watch.told)
    wait_until(lambda: len(kernel_routes(mesh[1])) == 4, LATE, "the kernel's routes")
    assert "3 received" in pings(mesh, 1, 5).stdout


def test_a_chain_finds_itself_in_ipv6() -> None:
    """By the group of all MANET routers; a ping crosses it."""
    netns.require("ping")
    with Mesh(nodes=3, edges=CHAIN[:2]) as mesh:
        watch = Watch(mesh, address=lambda node: node.address6)
        for node in mesh:
            chapar_olsrd(node, "--ipv6", *QUICK)
        wait_until(lambda: watch.hops() == chain_hops(1, 2, 3), FORMING, watch.told)
        expected = {mesh[2].address6: mesh[2].address6, mesh[3].address6: mesh[2].address6}
        wait_until(lambda: kernel_routes(mesh[1], 6) == expected, LATE, "the kernel's routes")
        assert "3 received" in pings(mesh, 1, 3, version=6).stdout


def test_a_node_with_two_radios_joins_what_hears_each() -> None:
    """Nodes 2 and 3 hear each other on radios of their own: node 1 knows both by their main addresses, and reaches the
    others too."""
    netns.require("ping")
    with Mesh(nodes=3, edges=CHAIN[:1], ipv6=False) as mesh:
        apart = ["type", "veth", "peer", "name", "radio0", "netns", mesh[3].namespace]
        assert mesh[2].run(["ip", "link", "add", "radio0", *apart]).returncode == 0
        for node in (mesh[2], mesh[3]):
            address = ["ip", "address", "add", f"10.67.0.{node.index}/24", "brd", "+", "dev", "radio0"]
            for each in (address, ["ip", "link", "set", "radio0", "up"]):
                assert node.run(each).returncode == 0
        watch = Watch(mesh)
        for node in mesh:
            chapar_olsrd(node, *(() if node is mesh[1] else ("-i", "radio0")), *QUICK)
        wait_until(lambda: watch.hops() == chain_hops(1, 2, 3), FORMING, watch.told)
        toward = {mesh[2].address, mesh[3].address, "10.67.0.2", "10.67.0.3"}
        expected = dict.fromkeys(toward, mesh[2].address)
        wait_until(lambda: kernel_routes(mesh[1]) == expected, FORMING, "the kernel's routes")
        done = mesh[1].run(["ping", "-c", "3", "-i", "0.2", "-W", "2", "10.67.0.3"])
        assert "3 received" in done.stdout, done.stdout


def test_an_interface_that_blinks_gets_its_routes_back() -> None:
    """It is down for less than a hold time, so that no neighbour is missed; the kernel has dropped its routes."""
    netns.require()
    with Mesh(nodes=2, edges=CHAIN[:1]) as mesh:
        node = mesh[1]
        for each in mesh:
            chapar_olsrd(each)
        expected = {mesh[2].address: mesh[2].address}
        wait_until(lambda: kernel_routes(node) == expected, FORMING, "the kernel's routes")
        for state in ("down", "up"):
            node.run(["ip", "link", "set", node.interface, state])
        assert kernel_routes(node) == {}
        wait_until(lambda: kernel_routes(node) == expected, LOOK_EVERY + SIGN_OF_LIFE + LATE, node.logs)


def test_an_interface_may_go_and_come_back() -> None:
    """A radio that is unplugged does not end the daemon; plugged in again, it is spoken on as before."""
    netns.require()
    with Mesh(nodes=1) as mesh:
        node = mesh[1]
        plug = ["ip", "link", "add", "radio0", "type", "veth", "peer", "name", "air0"]
        up = ["ip", "link", "set", "radio0", "up"]
        air = ["ip", "link", "set", "air0", "up"]
        address = ["ip", "address", "add", "10.67.0.1/24", "brd", "+", "dev", "radio0"]
        for each in (plug, up, air, address):
            assert node.run(each).returncode == 0
        chapar_olsrd(node, "-i", "radio0", *QUICK)
        wait_until(lambda: "ready" in node.logs(), FORMING, node.logs)
        node.run(["ip", "link", "delete", "radio0"])
        wait_until(lambda: "cannot send on radio0" in node.logs(), 4 * HELLO + LATE, node.logs)
        for each in (plug, up, air, address):
            node.run(each)
        wait_until(lambda: "sending on radio0 again" in node.logs(), 4 * HELLO + LATE, node.logs)
        (radio,) = json.loads(node.run(["ip", "-s", "-j", "link", "show", "radio0"]).stdout)
        assert radio["stats64"]["tx"]["packets"] > 0
        assert "level=error" not in node.logs()
