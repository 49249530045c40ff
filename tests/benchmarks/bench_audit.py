"""What an audit costs: of ten million frames in time and memory, of half as many, and of the demonstration.

The command is run as people run it, with its report, on two cores. Its memory is what Python and Java hold together.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.figure import Figure
from benchmarks.processes import BenchError, resident_mb, running
from chapar_sim.datasets import write
from chapar_sim.scenario import load
from chapar_sim.world import World
from generated_run import generate

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = str(Path(sys.executable).parent / "chapar-audit")
DEMO = Path(__file__).resolve().parents[2] / "deploy" / "scenarios" / "demo.toml"
FRAMES = 10_000_000
MOST_SECONDS, MOST_GB = 60, 3
DEMO_SECONDS = 20
LOOK_EVERY = 0.1
PATIENCE = 900.0


class Spent(NamedTuple):
    seconds: float
    gigabytes: float


def measure() -> list[Figure]:
    with TemporaryDirectory(prefix="chapar-bench-") as name:
        folder = Path(name)
        small = audited(demonstration(folder / "demo"))
        half = audited(generated(folder / "half", FRAMES // 2))
        whole = audited(generated(folder / "whole", FRAMES))
    growth = whole.seconds / half.seconds
    rows = f"{FRAMES // 1_000_000} million frames"
    return [
        Figure("to audit the demonstration", small.seconds, "s", f"≤ {DEMO_SECONDS}", small.seconds <= DEMO_SECONDS),
        Figure(f"to audit {rows}", whole.seconds, "s", f"≤ {MOST_SECONDS}", whole.seconds <= MOST_SECONDS),
        Figure("memory for that", whole.gigabytes, "GB", f"≤ {MOST_GB}", whole.gigabytes <= MOST_GB),
        Figure("twice the frames take", growth, "times the time", "< 2", growth < 2),
    ]


def demonstration(folder: Path) -> Path:
    write(World(load(DEMO), record_rows=True).run(), "demo", folder)
    return folder


def generated(folder: Path, frames: int) -> Path:
    generate(folder, frames)
    return folder


def audited(folder: Path) -> Spent:
    """The audit of a run that is as it should be. Raises BenchError if the verdict says something else."""
    began, most = time.perf_counter(), 0.0
    command = [COMMAND, str(folder), "--html", "--master", "local[2]"]
    with running(command, folder / "audit.log") as process:
        while process.popen.poll() is None:
            if time.perf_counter() - began > PATIENCE:
                raise BenchError(f"the audit of {folder.name} takes longer than {PATIENCE:g} s")
            most = max(most, sum(map(megabytes, family(process.pid))))
            time.sleep(LOOK_EVERY)
        seconds = time.perf_counter() - began
        if process.popen.returncode:
            process.check()
    return Spent(seconds, most / 1000)


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    tasks = []
    with suppress(OSError):
        tasks = [place.read_text(encoding="ascii") for place in Path(f"/proc/{pid}/task").glob("*/children")]
    for child in (int(each) for line in tasks for each in line.split()):
        yield from family(child)


def megabytes(pid: int) -> float:
    """What a process holds; nothing if it has ended."""
    try:
        return resident_mb(pid)
    except OSError:
        return 0.0
