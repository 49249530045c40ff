"""Whole runs of the lab, of few nodes and few seconds: real daemons, clients and routing over the medium."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from boxed import boxed
from chapar_lab.lab import Lab, Progress
from chapar_lab.namespaces import SCRATCH, inside
from chapar_lab.program import LabError
from chapar_lab.ways import as_judged
from chapar_lab.wiring import wire
from chapar_sim.checkers import check
from chapar_sim.scenario import load
from chapar_sim.trace import NodeChange

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_sim.trace import Trace

MESH_PORT = 7701
BRISK = """
topology = { kind = "chain" }
[routes]
source = "olsr"
hello_interval = 0.25
tc_interval = 0.5
[config]
beacon_min = 0.05
refresh_period = 0.3
dismissal_time = 1
orphan_patience = 0.2
ack_delay = 0.02
retry_first = 0.1
retry_max = 0.4
order_patience = 0.3
serve_retry = 0.2
delivered_delay = 0.03
gossip_delay = 0.1
sync_delay = 0.03
sync_retry = 0.3
session_retry = 0.1
[[client]]
name = "pub"
node = 1
[[client.publish]]
subject = "a"
at = [0.5, 2.5]
lifetime = 60
"""
THREE = f"""
duration = 6
settle = 3
nodes = 3
{BRISK}
[[client]]
name = "sub"
node = 3
[[client.subscribe]]
filter = 'subject = "a"'
[[fault]]
kind = "cut"
at = 1.0
until = 2.0
edges = [[1, 2]]
[[fault]]
kind = "crash"
at = 1.5
until = 2.0
nodes = [3]
disk = "kept"
"""


class Ran(NamedTuple):
    """What a run has come to."""

    trace: Trace
    phases: list[str]
    progress: Progress
    error: str


def ran(text: str, before: Callable[[dict[int, int]], object] = lambda _: None) -> Ran:
    """A run from beginning to end, in a box of its own; `before` is done to its networks."""

    def work() -> Ran:
        file = Path(SCRATCH, "scenario.toml")
        file.write_text(text, encoding="utf-8")
        scenario, phases = load(file), dict[str, None]()
        networks = wire([spec.index for spec in scenario.nodes])
        kept = before(networks)
        lab = Lab(scenario, file, 1, networks, lambda progress: phases.setdefault(progress.phase))
        error = asyncio.run(_life(lab))
        del kept
        return Ran(lab.trace, list(phases), lab.progress, error)

    return boxed(work)


async def _life(lab: Lab) -> str:
    try:
        await lab.run()
    except LabError as error:
        return str(error)
    finally:
        await lab.close()
    return ""


def test_a_run_gives_a_trace_that_the_checkers_accept(tmp_path: Path) -> None:
    """With a cut and a crash in it: every event arrives, and all that happened is in the trace."""
    found = ran(THREE)
    trace, progress = found.trace, found.progress
    assert found.error == ""
    assert found.phases == ["starting", "forming", "running", "stopping"]
    file = tmp_path / "scenario.toml"
    file.write_text(THREE, encoding="utf-8")
    assert check(trace, as_judged(load(file))) == []
    assert len(trace.accepted) == len(trace.delivered) == 2
    assert (progress.published, progress.delivered, progress.nodes_up) == (2, 2, 3)
    assert progress.formed_after is not None
    assert [row._replace(t=round(row.t)) for row in trace.nodes[:3]] == [
        NodeChange(0, node, up=True, disk=True) for node in (1, 2, 3)
    ]
    assert [(row.node, row.up, 1.4 < row.t < 4) for row in trace.nodes[3:]] == [(3, False, True), (3, True, True)]
    both = frozenset({(1, 2), (2, 1), (2, 3), (3, 2)})
    assert [row.links for row in trace.connectivity] == [both, frozenset({(2, 3), (3, 2)}), both]
    assert [each.node for each in trace.snapshots] == [1, 2, 3]
    assert {row.sender for row in trace.air} == {1, 2, 3}
    assert [(round(merge.since), round(merge.t)) for merge in trace.merges] == [(1, 2)]
    assert trace.reroutes == sorted(trace.reroutes, key=lambda row: row.t)
    assert 6 <= trace.end < 9


def test_a_run_whose_daemon_cannot_start_names_its_node() -> None:
    """Here its port is taken. What has started is ended."""

    def take(networks: dict[int, int]) -> socket.socket:
        with inside(networks[2]):
            taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        taken.bind(("", MESH_PORT))
        return taken

    found = ran(f"duration = 5\nnodes = 2\n{BRISK}", take)
    assert found.error.startswith("chapard of node 2 ended with code ")
    assert "its log ends:" in found.error
    assert found.phases == ["starting", "stopping"]


def test_a_program_that_ends_by_itself_ends_the_run() -> None:
    """Nothing is judged that was not as the scenario says. Here a stranger kills the daemon of node 2."""

    def work() -> str:
        file = Path(SCRATCH, "scenario.toml")
        file.write_text(f"duration = 60\nnodes = 2\n{BRISK}", encoding="utf-8")
        scenario = load(file)

        def kill(progress: Progress) -> None:
            daemon = lab.nodes[2].daemon
            if progress.phase == "running" and daemon is not None and daemon.process is not None:
                daemon.process.kill()

        lab = Lab(scenario, file, 1, wire([1, 2]), kill)
        return asyncio.run(_life(lab))

    assert boxed(work).startswith("chapard of node 2 ended by itself with code -9")
