"""The lab's medium: what a frame costs it, how many it relays, and what it adds to the delay that it is to make."""

from __future__ import annotations

import re
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.figure import Figure
from benchmarks.processes import TESTS, cpu_seconds
from e2e.medium import OnAir
from e2e.netns import needs_namespaces

if TYPE_CHECKING:
    from e2e.netns import Node

SECONDS = 3.0
LEAST_PER_CORE = 20_000
FLOOD = 0
"""As fast as the sender can."""
DELAY = 0.005
MOST_ADDED_MS = 0.5
PINGS = 100
SETTLE = 0.5
"""Seconds in which what is under way arrives."""


def measure() -> list[Figure]:
    reason = needs_namespaces()
    if reason is not None:
        print(f"skipped: {reason} ... ", end="", file=sys.stderr)
        return []
    per_second, per_core, _ = relayed(FLOOD)
    _, _, lost = relayed(LEAST_PER_CORE)
    added = added_ms()
    return [
        Figure(
            "medium, frames relayed per second of a core",
            per_core,
            "1/s",
            f"≥ {LEAST_PER_CORE}",
            per_core >= LEAST_PER_CORE,
        ),
        Figure("medium, CPU per frame", 1e6 / per_core, "µs", "", None),
        Figure("medium, frames relayed when flooded", per_second, "1/s", "", None),
        Figure(f"medium, lost of {LEAST_PER_CORE} frames/s", 100 * lost, "%", "", None),
        Figure("medium, delay it adds, median", added, "ms", f"< {MOST_ADDED_MS:g}", added < MOST_ADDED_MS),
    ]


def relayed(rate: float) -> tuple[float, float, float]:
    """Frames that arrive per second, and per second of the medium's processor; and the share that does not.

    Frames of 100 bytes go from one node to another, with the usual delay and jitter.
    """
    with OnAir(2, [(1, 2)], radio={"delay": 0.001, "jitter": 0.001}) as air:
        before, cpu = received(air.mesh[2]), cpu_seconds(air.process.pid)
        blaster = [sys.executable, "-m", "benchmarks.blaster", str(SECONDS), str(rate)]
        done = air.mesh[1].run(["env", f"PYTHONPATH={TESTS}", *blaster])
        assert done.returncode == 0, done.stderr
        time.sleep(SETTLE)
        arrived, used = received(air.mesh[2]) - before, cpu_seconds(air.process.pid) - cpu
        air.end()
    return arrived / SECONDS, arrived / used, max(0.0, 1 - arrived / int(done.stdout))


def received(node: Node) -> int:
    """Frames that have arrived at a node's interface."""
    return int(node.run(["cat", "/proc/net/dev"]).stdout.split("wlan0:")[1].split()[1])


def added_ms() -> float:
    """Milliseconds that a frame takes beyond its delay, at low load, with what two kernels and ping add."""
    with OnAir(2, [(1, 2)], radio={"delay": DELAY}) as air:
        pings = air.mesh[1].run(["ping", "-c", str(PINGS), "-i", "0.02", air.mesh[2].address]).stdout
    return median(float(each) / 2 - 1000 * DELAY for each in re.findall(r"time=([\d.]+) ms", pings))
