"""The simulated network, with a core that is easy to see through."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.clock import SimulationError
from chapar_sim.scenario import Scenario
from chapar_sim.world import World
from chapard.core.node import Node
from fake_core import FakeCore

if TYPE_CHECKING:
    from chapar_sim.trace import Trace

TESTS = Path(__file__).resolve().parents[1]
PUBLISHER = {"name": "pub", "node": 1, "publish": [{"subject": "s", "every": 1, "start": 1, "count": 5}]}
SUBSCRIBER = {"name": "sub", "node": 4, "subscribe": [{"subject": "s"}]}


class Cores:
    """Makes fake cores and remembers them."""

    def __init__(self) -> None:
        self.made: list[FakeCore] = []

    def __call__(self, *arguments: Any) -> FakeCore:
        core = FakeCore(*arguments)
        self.made.append(core)
        return core

    def of(self, node: int) -> list[FakeCore]:
        return [core for core in self.made if core.index == node]


def world(cores: Cores | None = None, seed: int | None = None, **more: Any) -> World:
    data = {"duration": 30, "nodes": 4, "topology": {"kind": "chain"}, "client": [PUBLISHER, SUBSCRIBER], **more}
    return World(Scenario.from_dict(data), seed, cores or FakeCore)


def got(trace: Trace, client: str = "sub") -> list[int]:
    """The sequence numbers of the events an application got."""
    return [int.from_bytes(row.event_id[-4:], "big") for row in trace.delivered if row.client == client]


def test_events_reach_subscribers_over_several_hops() -> None:
    """Each is accepted, handed over and delivered once; publication is dated by the application."""
    trace = world().run()
    assert got(trace) == [1, 2, 3, 4, 5]
    assert [row.t for row in trace.accepted] == [1, 2, 3, 4, 5]
    assert [row.number for row in trace.handed] == [1, 2, 3, 4, 5]
    assert {(row.home, row.client) for row in trace.delivered} == {(4, "sub")}
    assert all(later.t > row.t for row, later in zip(trace.accepted, trace.delivered, strict=True))
    assert trace.end == 30
    assert trace.quiet_since == 5


def test_the_trace_begins_with_links_nodes_and_clients() -> None:
    """What the checkers stand on: true links, which daemons ran, who was ON and subscribed."""
    trace = world().run()
    assert [(row.t, len(row.links)) for row in trace.connectivity] == [(0, 6)]
    assert [(row.node, row.up, row.disk) for row in trace.nodes] == [(node, True, True) for node in (1, 2, 3, 4)]
    assert sorted((row.client, row.on) for row in trace.presence) == [("pub", True), ("sub", True)]
    assert [(row.client, row.active) for row in trace.interests] == [("sub", True)]
    assert {row.t for row in trace.snapshots} == {10, 20, 30}
    assert [len(row.fmt) for row in trace.snapshots if row.t == 30] == [0, 0, 0, 1]


def test_a_node_without_chapard_forwards_ip_only() -> None:
    """Flooding by daemons ends there; the node makes no core."""
    cores = Cores()
    trace = world(cores, node=[{"index": 3, "chapard": False}]).run()
    assert got(trace) == []
    assert cores.of(3) == []


class Unicaster(FakeCore):
    """Sends one datagram from the first node to the last when its battery changes."""

    def battery_changed(self, level: float, now: float) -> None:
        super().battery_changed(level, now)
        self.unicast(4)


class Unicasters(Cores):
    def __call__(self, *arguments: Any) -> FakeCore:
        core = Unicaster(*arguments)
        self.made.append(core)
        return core


def arrivals(**more: Any) -> int:
    """How many of two datagrams sent by unicast from node 1 reach node 4."""
    cores = Unicasters()
    faults = [{"kind": "battery", "at": at, "node": 1, "level": 0.5} for at in (10, 20)]
    world(cores, client=[], **{**more, "fault": [*more.get("fault", []), *faults]}).run()
    return sum(core.unicasts for core in cores.of(4))


def test_unicast_crosses_nodes_without_a_daemon_but_not_nodes_that_are_off() -> None:
    """Routing runs apart from chapard: packets pass a node whose daemon is missing or has crashed."""
    assert arrivals() == 2
    assert arrivals(node=[{"index": 3, "chapard": False}]) == 2
    assert arrivals(fault=[{"kind": "crash", "at": 5, "node": 2}]) == 2
    assert arrivals(fault=[{"kind": "power_off", "at": 15, "node": 2}]) == 1


def test_unicast_without_a_route_reaches_whoever_is_in_range() -> None:
    """The mesh's prefix is on the link: a cold network carries datagrams between neighbours, and no further."""
    cold = {"cold": True, "convergence": 100, "neighbour_delay": 100}
    assert arrivals(routes=cold) == 0
    assert arrivals(routes=cold, topology={"kind": "full"}) == 2


def test_local_clocks_differ_and_daemons_never_see_true_time() -> None:
    """A clock that runs fast makes its daemon's timers fire more often in true time."""
    cores = Cores()
    special = [{"index": 2, "clock_drift": 0.1, "clock_offset": 1000}, {"index": 3, "clock_drift": -0.1}]
    trace = world(cores, client=[], duration=1000, node=special, topology={"kind": "full"}).run()
    beacons = {node: [row.ts_us / 1e6 for row in trace.air if row.sender == node] for node in (1, 2, 3)}
    gaps = {node: {round(b - a, 2) for a, b in pairwise(times)} for node, times in beacons.items()}
    assert gaps == {1: {5.0}, 2: {4.55}, 3: {5.56}}
    assert [core.incarnation - 1_700_000_000 for core in cores.made] == [0, 1000, 0, 0]


def test_a_core_whose_deadline_stands_still_is_found_out() -> None:
    """The simulation ends with the node and the time instead of going on for ever."""

    class Stuck(FakeCore):
        def tick(self, now: float) -> None:
            """Do nothing about it."""

    data = {"duration": 30, "nodes": 2, "topology": {"kind": "chain"}}
    with pytest.raises(SimulationError, match="its deadline does not advance"):
        World(Scenario.from_dict(data), 1, Stuck).run()


def test_moving_nodes_change_the_links_until_the_scenario_settles() -> None:
    """Each change of links is in the trace, and none after the quiet time begins."""
    moving: dict[str, Any] = {
        "nodes": 10,
        "topology": {"kind": "range", "range": 200, "area": [500, 500]},
        "mobility": {"kind": "waypoint", "speed": 20},
        "duration": 60,
        "settle": 20,
    }
    trace = world(client=[], **moving).run()
    assert len(trace.connectivity) > 10
    assert trace.connectivity[-1].t <= 40
    assert all(row.links != later.links for row, later in pairwise(trace.connectivity))


def test_corruption_changes_the_tables_of_its_node_only() -> None:
    """The fault scrambles what a broker holds; the others hold what they would hold without it."""
    sub = {"name": "sub", "nodes": "all", "subscribe": [{"subject": "s"}]}
    data = {"duration": 25, "nodes": 4, "topology": {"kind": "full"}, "client": [sub], "snapshot_every": 20}
    fault = {"kind": "corrupt", "at": 20, "node": 1}
    healthy, corrupt = (
        {
            row.node: row.fmt
            for row in World(Scenario.from_dict({**data, "fault": faults})).run().snapshots
            if row.t == 20
        }
        for faults in ([], [fault])
    )
    assert {node for node in healthy if healthy[node] != corrupt[node]} == {1}


EVERYTHING: dict[str, Any] = {
    "duration": 60,
    "settle": 10,
    "nodes": 8,
    "topology": {"kind": "range", "range": 300, "area": [600, 600]},
    "mobility": {"kind": "waypoint", "speed": [5, 20]},
    "radio": {"loss": 0.1, "jitter": 0.01, "rate": 100000, "queue": 5, "duplicate": 0.1, "mac_retries": 1},
    "client": [
        {
            "name": "all",
            "nodes": "all",
            "publish": [{"subject": "s", "rate": 0.2, "attributes": {"n": {"between": [1, 5]}}, "payload": [1, 99]}],
            "subscribe": [{"subject": "s", "where": "n > 2", "hold": 10, "gap": 5}],
            "presence": {"on": 10, "off": 5},
        }
    ],
    "fault": [
        {"kind": "cut", "at": 10, "until": 20, "groups": [[1, 2, 3, 4]]},
        {"kind": "crash", "at": 12, "until": 18, "node": 2, "disk": "wiped"},
        {"kind": "garbage", "at": 5, "until": 30, "node": 5, "rate": 2},
        {"kind": "replay", "at": 5, "until": 30, "node": 6, "rate": 2},
    ],
}


CHILD = """
import ast, sys
from chapar_sim.scenario import Scenario
from chapar_sim.world import World
from chapard.core.node import Node
from fake_core import FakeCore
core = {"Node": Node, "FakeCore": FakeCore}[sys.argv[1]]
print(World(Scenario.from_dict(ast.literal_eval(sys.argv[2])), 1, core, record_rows=True).run().digest(), end="")
"""


@pytest.mark.parametrize("core", [FakeCore, Node])
def test_the_same_seed_gives_the_same_run_whatever_the_hash_seed(core: type[FakeCore | Node]) -> None:
    """Two processes with different PYTHONHASHSEED agree in every row of the trace; another seed gives another run."""
    digests = {
        subprocess.run(  # noqa: S603 - our own interpreter and script
            [sys.executable, "-c", CHILD, core.__name__, str(EVERYTHING)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "7")
    }
    assert len(digests) == 1
    assert digests != {World(Scenario.from_dict(EVERYTHING), 2, core, record_rows=True).run().digest()}
