"""What the benchmark of the lab makes of what it sees."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from benchmarks.bench_lab import BUSY, QUIET, RATE, SECONDS, cpu_of_all, latencies
from chapar_sim.scenario import Scenario

SPIN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint(flush=True)\ninput()"


def test_latencies_are_compared_by_halves() -> None:
    """Of all deliveries of the events of each half, the 95th of a hundred."""
    events = [{"got": {"a": 0.1, "b": 0.2}}] * 50 + [{"got": {"a": 0.3, "b": 0.4}}] * 50
    assert latencies(events) == (0.2, 0.4)
    assert latencies([{"got": {"a": n / 100}} for n in range(200)]) == (0.95, 1.95)


def test_the_processor_time_of_children_counts() -> None:
    """A process that only waits for one that works has its time."""
    wrapper = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPIN!r}])"
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", wrapper], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert cpu_of_all(process.pid) >= 0.3
    assert cpu_of_all(process.pid) == 0.0


@pytest.mark.parametrize(("text", "nodes"), [(QUIET, 9), (BUSY, 25)])
def test_its_scenarios_route_at_the_usual_pace(text: str, nodes: int) -> None:
    """That of RFC 3626. The busy one publishes as much as it is held to."""
    scenario = Scenario.from_dict(tomllib.loads(text))
    assert len(scenario.nodes) == nodes
    assert (scenario.routes.hello_interval, scenario.routes.tc_interval) == (2.0, 5.0)
    streams = [(len(each.nodes), stream) for each in scenario.clients for stream in each.publish]
    assert sum(nodes / stream.every for nodes, stream in streams) == (RATE if streams else 0)
    assert sum(nodes * (stream.count or 0) for nodes, stream in streams) == (RATE * SECONDS if streams else 0)
