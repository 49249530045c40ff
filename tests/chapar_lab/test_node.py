"""One node of a lab: what runs on it, and what faults do to that, for real."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from boxed import wired
from chapar_lab.namespaces import SCRATCH, inside, mount
from chapar_lab.node import DISK_MEGABYTES, Around, Node
from chapar_lab.program import LabError
from chapar_lab.wiring import address_of
from chapar_sim.scenario import load
from chapar_sim.trace import Interest, NodeChange, Presence

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_lab.rows import Row

PATIENCE = 20.0
MESH_PORT = 7701
MS_RDONLY, MS_REMOUNT = 0x1, 0x20
"""<linux/mount.h>"""
SCENARIO = """
duration = 5
nodes = 2
topology = { kind = "chain" }
routes = { source = "olsr" }
[[client]]
name = "sub"
node = 1
[[client.subscribe]]
filter = 'subject = "a"'
"""


class Run:
    """What a node has told the run that it is part of."""

    def __init__(self, text: str = SCENARIO) -> None:
        self.changes: list[NodeChange] = []
        self.rows: list[Row] = []
        self.failures: list[LabError] = []
        self.file = Path(SCRATCH, "scenario.toml")
        self.file.write_text(text, encoding="utf-8")

    def node(self, network: int, *, index: int = 1, chapard: bool = True, stage: bool = False) -> Node:
        tells = self.changes.append, self.rows.append, self.failures.append
        around = Around(load(self.file), self.file, 1, *tells)
        return Node(index, network, Path(SCRATCH, str(index)), around, chapard=chapard, stage=stage)


async def until(condition: Callable[[], object]) -> None:
    """Wait, while the loop goes on."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


UP = NodeChange(0.0, 1, up=True, disk=True)
DOWN = NodeChange(0.0, 1, up=False, disk=True)


def test_the_life_of_a_daemon_with_its_disk() -> None:
    """In words and rows: up, paused, killed, started again, stopped; what it kept stays until the disk is lost."""

    async def work(networks: dict[int, int]) -> None:
        run = Run()
        node = run.node(networks[1])
        assert node.state == "down"
        assert await node.status() is None
        await node.begin()
        page = await node.status()
        assert page is not None
        first = page["node"]
        assert (node.state, first["index"], first["address"]) == ("up", 1, address_of(1))

        node.pause()
        assert node.state == "paused"
        node.resume()
        assert node.state == "up"
        assert run.changes == []

        kept = node.folder / "state" / "kept"
        kept.touch()
        (node.folder / "state" / "folder").mkdir()
        node.crash(disk=True)
        assert (node.state, run.changes) == ("down", [DOWN])
        node.crash(disk=True)  # it is down already
        node.start()
        await until(lambda: len(run.changes) > 1)
        assert (node.state, run.changes) == ("up", [DOWN, UP])
        page = await node.status()
        assert page is not None
        assert page["node"]["incarnation"] > first["incarnation"]
        node.start()  # it is up already
        await asyncio.sleep(0)

        node.stop()
        assert run.changes == [DOWN, UP, DOWN]
        await until(lambda: node.state == "down")
        assert kept.exists()
        node.crash(disk=False)
        assert list((node.folder / "state").iterdir()) == []
        assert run.failures == []
        await node.end()

    wired([1, 2], work)


def test_a_restart_waits_for_the_daemon_that_is_stopping() -> None:
    """It was asked to end, and takes its time; then a new one comes."""

    async def work(networks: dict[int, int]) -> None:
        run = Run()
        node = run.node(networks[1])
        await node.begin()
        assert node.daemon is not None
        before = node.daemon.process
        node.stop()
        node.start()
        await until(lambda: len(run.changes) == 2)
        assert (node.state, run.changes, run.failures) == ("up", [DOWN, UP], [])
        assert node.daemon.process is not before
        await node.end()
        assert node.state == "down"

    wired([1, 2], work)


def test_a_daemon_that_ends_by_itself_is_a_failure() -> None:
    """With its node, and the end of its log."""

    async def work(networks: dict[int, int]) -> str:
        run = Run()
        node = run.node(networks[1])
        await node.begin()
        assert node.daemon is not None
        assert node.daemon.process is not None
        os.kill(node.daemon.process.pid, 9)
        await until(lambda: run.failures)
        await node.end()
        assert run.changes == []
        return str(run.failures[0])

    said = wired([1, 2], work)
    assert said.startswith("chapard of node 1 ended by itself with code -9; its log ends:\n")


def test_a_disk_is_full_and_free_again() -> None:
    """Not a byte can be written to it, and its size is its own; what is beside it has room."""

    async def work(networks: dict[int, int]) -> list[object]:
        node = Run().node(networks[1])
        await node.begin()
        state, found = node.folder / "state", list[object]()
        room = os.statvfs(state)
        found.append(room.f_blocks * room.f_frsize == DISK_MEGABYTES << 20)
        node.fill_disk()
        try:
            (state / "more").write_bytes(bytes(100_000))
        except OSError as error:
            found.append(error.errno)
        (node.folder / "beside").write_bytes(bytes(100_000))
        node.free_disk()
        (state / "more").write_bytes(bytes(100_000))
        node.free_disk()  # it is free already
        await node.end()
        return found

    assert wired([1, 2], work) == [True, errno.ENOSPC]


def test_a_node_without_chapard_routes() -> None:
    """By an agent of its own, which goes with the power and comes back with it."""

    async def work(networks: dict[int, int]) -> list[object]:
        run = Run()
        node = run.node(networks[1], chapard=False)
        await node.begin()
        log = node.folder / "chapar-olsrd.log"
        found: list[object] = [node.state, node.daemon, log.exists()]
        node.end_routing()
        node.end_routing()
        node.start_routing()
        node.start_routing()
        node.pause()  # there is no daemon
        await node.end()
        return [*found, run.failures, run.changes]

    assert wired([1, 2], work) == ["plain", None, True, [], []]


def test_its_applications_act_and_end() -> None:
    """From the word to begin; all that they saw has been told when they rest."""

    async def work(networks: dict[int, int]) -> list[Row]:
        run = Run()
        node = run.node(networks[1], stage=True)
        await node.begin()
        assert run.rows == []
        node.act(asyncio.get_running_loop().time())
        await until(lambda: [row.on for row in run.rows if isinstance(row, Presence)] == [True])
        async with asyncio.timeout(PATIENCE):
            await node.rest()
        assert [row.on for row in run.rows if isinstance(row, Presence)] == [True, False]
        await node.end()
        assert run.failures == []
        return run.rows

    rows = wired([1, 2], work)
    assert [(row.client, str(row.filter)) for row in rows if isinstance(row, Interest)] == [("sub", 'subject = "a"')]


def test_the_protocol_of_the_scenario_is_that_of_the_daemon() -> None:
    """Numbers, words, truth and groups of its [config], which the daemon takes."""
    config = "[config]\nnodes = 300\nbeacon_min = 0.5\nhop_ack = true\n"
    group = '[config.groups.red]\nnodes = [2, 1]\nclients = ["sub", "x y"]\n'

    async def work(networks: dict[int, int]) -> list[str]:
        node = Run(SCENARIO + config + group).node(networks[1])
        await node.begin()
        assert node.daemon is not None
        assert node.daemon.process is not None
        words = Path(f"/proc/{node.daemon.process.pid}/cmdline").read_text(encoding="utf-8").split("\0")
        await node.end()
        return sorted(word for word in words if word.startswith(("protocol.", "groups.")))

    assert wired([1], work) == [
        'groups.red.clients=["sub", "x y"]',
        "groups.red.nodes=[1, 2]",
        "protocol.beacon_min=0.5",
        "protocol.hop_ack=true",
        "protocol.nodes=300",
    ]


def test_the_tree_of_the_scenario_is_that_of_the_daemon() -> None:
    """All of [routing] and [overlay], which the daemon takes."""
    tree = '[routing]\nmode = "tree"\nadvertisements = true\n[overlay]\nlinks = [[1, 2]]\n'

    async def work(networks: dict[int, int]) -> list[str]:
        node = Run(SCENARIO + tree).node(networks[1])
        await node.begin()
        assert node.daemon is not None
        assert node.daemon.process is not None
        words = Path(f"/proc/{node.daemon.process.pid}/cmdline").read_text(encoding="utf-8").split("\0")
        await node.end()
        return sorted(word for word in words if word.startswith(("routing.", "overlay.")))

    assert wired([1], work) == [
        "overlay.links=[[1, 2]]",
        "routing.advertisements=true",
        'routing.algorithm="identity"',
        "routing.merge_delay=0.5",
        'routing.mode="tree"',
        "routing.publisher_roots=[]",
        "routing.refresh_period=16.0",
    ]


def test_a_daemon_that_cannot_start_is_the_failure_of_its_node() -> None:
    """At the beginning, here as its port is taken, and also later, here as its disk cannot be written."""

    async def work(networks: dict[int, int]) -> list[str]:
        run = Run()
        node = run.node(networks[1])
        with inside(networks[1]), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("", MESH_PORT))
            try:
                await node.begin()
            except LabError as error:
                said = [str(error)]
        node.start()
        await until(lambda: run.changes)
        node.crash(disk=True)
        mount("none", str(node.folder / "state"), "", MS_REMOUNT | MS_RDONLY)
        node.start()
        await until(lambda: run.failures)
        assert run.changes == [UP, DOWN]
        await node.end()
        return [*said, *map(str, run.failures)]

    at_first, later = wired([1, 2], work)
    for said in (at_first, later):
        assert said.startswith("chapard of node 1 ended with code ")
    assert "7701" in at_first
    assert "ead-only" in later
