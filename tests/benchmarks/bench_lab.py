"""The lab: how soon a network is up and formed, whether 25 nodes keep up, and how long the demonstration takes.

Routing is at the pace of RFC 3626. The goals are for a machine of two cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.figure import Figure
from benchmarks.processes import BenchError, cpu_seconds
from chapar_lab.box import can_box

COMMAND: Final = str(Path(sys.executable).parent / "chapar-lab")
DEMO: Final = Path(__file__).resolve().parents[2] / "deploy" / "scenarios" / "demo.toml"
NINE_WITHIN, TWENTY_FIVE_WITHIN, DEMO_WITHIN = 30.0, 60.0, 120.0
"""Seconds."""
MOST_CORES: Final = 2.0
RATE: Final = 20
"""Events per second of the busy run."""
SECONDS: Final = 60
"""That it is busy."""
FLAT: Final = 2.0
"""Times that the latency of the first half may be reached in the second: it does not grow."""
QUIET: Final = """
name = "quiet"
duration = 1
nodes = 9
topology = { kind = "grid", columns = 3 }
"""
BUSY: Final = f"""
name = "busy"
duration = {SECONDS + 10}
settle = 5
nodes = 25
topology = {{ kind = "grid", columns = 5 }}
[[client]]
name = "corner"
nodes = [1, 5, 21, 25]
publish = [{{ subject = "sample", payload = 64, every = {4 / RATE}, start = 5, count = {RATE * SECONDS // 4} }}]
[[client]]
name = "listener"
nodes = [3, 13, 23]
subscribe = [{{ filter = 'subject = "sample"' }}]
"""


class Run(NamedTuple):
    """One run, seen from outside."""

    code: int
    seconds: float
    formed: float
    """Seconds from the command until the network was formed and the run began."""
    cores: float
    """Processor seconds of all its processes per second, while it ran."""
    figures: dict[str, Any]


def measure() -> list[Figure]:
    reason = can_box()
    if reason:
        print(f"skipped: no network namespaces here: {reason} ... ", end="", file=sys.stderr)
        return []
    with TemporaryDirectory() as folder:
        nine = lab(Path(folder, "nine"), QUIET)
        busy = lab(Path(folder, "busy"), BUSY)
        demo = lab(Path(folder, "demo"), DEMO.read_text(encoding="utf-8"))
    delivered = busy.figures["events"]["realtime"]
    first, second = latencies(busy.figures["per_event"])
    cores = f"≤ {MOST_CORES:g}"
    return [
        _within("lab, 9 nodes up and formed", nine.formed, NINE_WITHIN),
        _within("lab, 25 nodes up and formed", busy.formed, TWENTY_FIVE_WITHIN),
        Figure(f"lab, 25 nodes at {RATE} events/s, delivered", 100 * delivered["ratio"], "%", "100", _is_whole(busy)),
        Figure("lab, the same, latency p95 of its first half", 1000 * first, "ms", "", None),
        Figure("lab, the same, p95 of its second half", second / first, "times", f"≤ {FLAT:g}", second <= FLAT * first),
        Figure("lab, the same, CPU of all processes", busy.cores, "cores", cores, busy.cores <= MOST_CORES),
        _within("lab, the demonstration from beginning to end", demo.seconds, DEMO_WITHIN),
    ]


def _within(name: str, seconds: float, most: float) -> Figure:
    return Figure(name, seconds, "s", f"≤ {most:g}", seconds <= most)


def _is_whole(run: Run) -> bool:
    """Whether all that was to be published was, and has arrived."""
    delivered = run.figures["events"]["realtime"]
    return bool(run.code == 0 and delivered["published"] == RATE * SECONDS and delivered["ratio"] == 1.0)


def lab(folder: Path, scenario: str) -> Run:
    """Run a scenario to its end. Raises BenchError if it breaks a promise, or has nothing to show."""
    folder.mkdir()
    file = folder / "scenario.toml"
    file.write_text(scenario, encoding="utf-8")
    began = time.monotonic()
    command = [COMMAND, "run", str(file), "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        formed, looks, said = 0.0, list[tuple[float, float]](), ""
        assert process.stderr is not None, "asked for"
        for said in process.stderr:
            if said.startswith("running: "):
                formed = formed or time.monotonic() - began
                looks.append((time.monotonic(), cpu_of_all(process.pid)))
    seconds = time.monotonic() - began
    if process.returncode or not looks:
        raise BenchError(f"chapar-lab ended with {process.returncode}: {said.strip()}")
    figures = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if figures["formed_after_s"] is None:
        raise BenchError(f"the network never formed: {figures['lacking']}")
    (since, before), (until, after) = looks[0], looks[-1]
    return Run(process.returncode, seconds, formed, (after - before) / max(until - since, 0.001), figures)


def cpu_of_all(root: int) -> float:
    """Processor seconds of a process and all below it that run now."""
    total, waiting = 0.0, [root]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError):  # it has just ended
            total += cpu_seconds(pid)
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, task.joinpath("children").read_text(encoding="ascii").split())
    return total


def latencies(events: list[dict[str, Any]]) -> tuple[float, float]:
    """The 95th percentile, in seconds, of what was published in the first half of a run, and in the second."""
    half = len(events) // 2
    parts = (sorted(late for each in part for late in each["got"].values()) for part in (events[:half], events[half:]))
    first, second = (part[len(part) * 95 // 100] for part in parts)
    return first, second
