"""Processes that a benchmark starts, measures from outside and ends: by their own number, whatever happens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TESTS = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
GRACE = 3.0
"""Seconds a process has to end after SIGTERM."""
POLL = 0.005


class BenchError(Exception):
    """A run that could not be measured; the message says why."""


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM, host: str = "127.0.0.1") -> int:
    """A port that nothing is bound to now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of this folder in an interpreter of its own."""
    return [sys.executable, "-m", f"benchmarks.{name}", *arguments]


class Process(NamedTuple):
    """A process of ours, and the file that what it prints goes to."""

    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def check(self) -> None:
        """Raises BenchError with the last thing it said if it has ended."""
        if self.popen.poll() is not None:
            said = self.log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise BenchError(f"{self.log.stem} ended with {self.popen.returncode}: {said or 'it said nothing'}")


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Process]:
    """The process for as long as the block lasts."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with log.open("wb") as output:
        popen = subprocess.Popen(command, stdout=output, stderr=output, env=environment)  # noqa: S603 - our own commands
        try:
            yield Process(popen, log)
        finally:
            popen.terminate()
            try:
                popen.wait(GRACE)
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait()


def wait_for(condition: Callable[[], bool], patience: float, what: str, *needed: Process) -> None:
    """Wait until the condition holds. Raises BenchError after so many seconds, or if a process it needs has ended."""
    deadline = time.monotonic() + patience
    while not condition():
        for process in needed:
            process.check()
        if time.monotonic() > deadline:
            raise BenchError(f"{what}: not within {patience:g} s")
        time.sleep(POLL)


def cpu_seconds(pid: int) -> float:
    """Processor time the process has used, its threads and what the kernel did for it included."""
    with suppress(OSError):  # to the nanosecond, where the kernel keeps it; ticks are seen too rarely for short turns
        times = [path.read_text().split()[0] for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        if times:
            return sum(map(int, times)) / 1e9
    # The name may hold anything but ends at the last bracket; user and system time are fields 14 and 15 of the line.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    """Megabytes of memory the process holds now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6
