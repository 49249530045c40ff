"""Systems under the same load, in turns: each is a broker, a publisher and subscribers, all processes of their own.

All of them run at once but publish one after the other, a slice each, round after round: whatever else the machine does
meanwhile meets all of them alike, and the figures are the medians of the slices.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.load import Task
from benchmarks.processes import BenchError, cpu_seconds, module, running, wait_for
from benchmarks.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.brokers import Broker

ROUNDS = 3
SLICE = 0.6
WARM_UP = 0.2
"""Seconds of each slice before it is measured."""
RATE = 1000
"""Messages per second at which latency is measured."""
MOST_SAMPLES = 16_384
PATIENCE = 30.0
"""Seconds for all processes of a contest to be there."""
DRAIN = 2.0
"""Seconds for what is under way to arrive; the rest is lost."""


class System(NamedTuple):
    """A broker, and clients that speak to it."""

    name: str
    broker: Callable[[Path], AbstractContextManager[Broker]]
    load: str
    """Module of the clients."""
    qos: int = 0


class Slice(NamedTuple):
    per_second: float
    cpu: float
    """Microseconds of the broker's processor time per delivery."""


class Run(NamedTuple):
    """One system at work."""

    system: System
    broker: Broker
    tally: Tally

    def slice(self) -> Slice:
        """Publish for a while, and see what it gives and takes."""
        self.tally.open()
        time.sleep(WARM_UP)
        began, used, before = time.perf_counter(), cpu_seconds(self.broker.pid), sum(self.tally.delivered())
        time.sleep(SLICE)
        seconds = time.perf_counter() - began
        cpu, delivered = cpu_seconds(self.broker.pid) - used, sum(self.tally.delivered()) - before
        self._settle()
        if not delivered:
            raise BenchError(f"{self.system.name}: nothing arrived")
        return Slice(delivered / seconds, cpu / delivered * 1e6)

    def _settle(self) -> None:
        """Wait for what is under way."""
        self.tally.close()
        try:
            wait_for(lambda: not self.tally.under_way(), DRAIN, "the rest of a slice")
        except BenchError:
            self.tally.forgive()


class Load(NamedTuple):
    """A system at full load: deliveries per second, microseconds of the broker's processor time for one, losses."""

    per_second: float
    cpu: float
    lost: int


class Latency(NamedTuple):
    """Microseconds from publish to arrival."""

    median: float
    high: float
    """Of a hundred, one is later."""


@contextmanager
def contest(folder: Path, systems: Sequence[System], subscribers: int, rate: int) -> Iterator[list[Run]]:
    """All systems, each with so many subscribers, ready to publish."""
    folder.mkdir()
    with ExitStack() as stack:
        runs = []
        for system in systems:
            tally = Tally.create(folder / system.name, subscribers, MOST_SAMPLES)
            runs.append(Run(system, stack.enter_context(system.broker(folder)), tally))
        clients = []
        for system, broker, _ in runs:
            for subscriber in (*range(subscribers), None):
                task = Task(broker.port, folder / system.name, system.qos, rate, subscriber)
                log = folder / f"{system.name}, {'publisher' if subscriber is None else f'subscriber {subscriber}'}.log"
                clients.append(stack.enter_context(running(module(system.load, *task.arguments()), log)))
        wait_for(lambda: all(run.tally.are_ready for run in runs), PATIENCE, "clients", *clients)
        yield runs


def full_load(folder: Path, systems: Sequence[System], subscribers: int) -> dict[System, Load]:
    slices: dict[System, list[Slice]] = {system: [] for system in systems}
    with contest(folder, systems, subscribers, 0) as runs:
        for _ in range(ROUNDS):
            for run in runs:
                slices[run.system].append(run.slice())
        lost = {run.system: run.tally.lost() for run in runs}
    return {
        system: Load(median(each.per_second for each in taken), median(each.cpu for each in taken), lost[system])
        for system, taken in slices.items()
    }


def one_at_a_time(folder: Path, systems: Sequence[System]) -> dict[System, Latency]:
    with contest(folder, systems, 1, RATE) as runs:
        for _ in range(ROUNDS):
            for run in runs:
                run.slice()
        return {run.system: _latency(run.tally.samples()) for run in runs}


def _latency(samples: Sequence[int]) -> Latency:
    return Latency(median(samples) / 1000, quantiles(samples, n=100)[98] / 1000)
