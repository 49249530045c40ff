"""The second driver of scenarios: real daemons on loopback addresses, clients of the real SDK, the clock of the wall.

It takes the scenario files of the simulator and gives a trace of the same kind, so that the same checkers judge both.
Links come and go by rewriting the file of routes that all daemons read; a crash is SIGKILL, a stop SIGTERM.

What differs from the simulator:

- Nothing beneath the SDK is seen: `Trace.handed`, from which the rule `once` knows repetitions that a client had to
  hide from its application, stays empty, and so do the medium's own records.
- Daemons count losses without naming events, so a loss excuses nothing here: the rules are stricter.
- Two subscriptions of a client are two iterators, whose events have no common order: the rule `order` looks at each.
- Routes change within a second, not at once, and a link that was cut carries what is sent over it until then.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from chapar.event import event_id
from chapar.filter import Filter
from chapar_lab.actor import LOOK_EVERY, Actor, WallClock
from chapar_lab.rows import enter
from chapar_sim.bounds import Bounds
from chapar_sim.case import Case
from chapar_sim.links import Cut, Links
from chapar_sim.trace import Connectivity, NodeChange, Snapshot, Trace
from chapar_sim.workload import enact, services_of
from chapard.core.config import Config
from e2e.daemons import network, write_links

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.scenario import Scenario
    from chapar_sim.service import Service
    from e2e.daemons import Daemon

CONVERGENCE: Final = 1.2
"""Seconds until every daemon has read a changed file of routes: it looks once a second."""
DELAY: Final = 0.01
"""Seconds a datagram waits for a busy process; the promised times hold room for some that wait longer."""


def bounds(scenario: Scenario) -> Bounds:
    """The promised times on loopback: nothing is lost there, and processes wait for their turn."""
    return Bounds(scenario.daemon_config(), convergence=CONVERGENCE, delay=DELAY)


def run(scenario: Scenario, folder: Path) -> Case:
    """Run a scenario on real daemons, in real time."""
    trace = asyncio.run(_run(scenario, folder))
    return Case.made(trace, bounds(scenario), nodes=[spec.index for spec in scenario.nodes])


async def _run(scenario: Scenario, folder: Path) -> Trace:
    indexes = [spec.index for spec in scenario.nodes]
    with network(folder, indexes, *_settings(scenario)) as daemons:
        async with asyncio.TaskGroup() as tasks:
            world = World(scenario, folder, daemons, tasks)
            await world.run()
        assert [line for daemon in daemons.values() for line in daemon.faults()] == []
    return world.trace


def _settings(scenario: Scenario) -> list[str]:
    """What the scenario changes of the daemons' configuration, for their command line."""
    settings = ["log.level=warning"]
    for each in fields(Config):
        if each.name in scenario.config:
            value = scenario.config[each.name]
            settings.append(f"protocol.{each.name}={value.value if isinstance(value, Enum) else value}")
    return settings


class World:
    """A scenario on real daemons."""

    def __init__(self, scenario: Scenario, folder: Path, daemons: dict[int, Daemon], tasks: asyncio.TaskGroup) -> None:
        self.trace = Trace()
        self.clock: WallClock
        self._scenario = scenario
        self._folder = folder
        self._daemons = daemons
        self._tasks = tasks
        self._links = Links(scenario.topology, list(daemons))
        self._actors: dict[str, Actor] = {}
        self._services: dict[str, Service] = {}

    async def run(self) -> None:
        self._links.refresh()
        write_links(self._folder, self._links.pairs)
        for daemon in self._daemons.values():
            daemon.start()
        await asyncio.gather(*(daemon.ready() for daemon in self._daemons.values()))
        self.clock = WallClock()
        self.trace.connectivity.append(Connectivity(0.0, self._links.pairs))
        self.trace.nodes += [NodeChange(0.0, node, up=True, disk=True) for node in self._daemons]
        for fault in self._scenario.faults:
            self.clock.at(fault.at, partial(self._begin, fault))
        self._services = services_of(self._scenario, self._scenario.seed, self.clock)
        self._actors = enact(self._scenario, self._scenario.seed, self.clock, self._actor)
        looking = self._tasks.create_task(self._look_at_clients())
        await self.clock.reach(self._scenario.duration)
        await self._look_at_tables()
        looking.cancel()
        await asyncio.gather(*(actor.end() for actor in self._actors.values()))
        await asyncio.gather(*(self._stop(daemon) for daemon in self._daemons.values()))

    def _actor(self, name: str, home: int) -> Actor:
        spec = next(each for each in self._scenario.clients if each.name == name.removesuffix(f"-{home}"))
        sleeps = bool(spec.presence.schedule or spec.presence.on)
        tell = partial(enter, trace=self.trace)
        address, service = self._daemons[home].address, self._services.get(name)
        return Actor(name, home, address, self.clock, tell, self._tasks, keep=sleeps, service=service)

    # Faults

    def _begin(self, fault: FaultSpec) -> None:
        end: Callable[[], None]
        match fault.kind:
            case "cut":
                cut = Cut(fault)
                self._links.cut(cut)
                self._links_changed()
                end = partial(self._heal, cut)
            case "crash" | "stop":
                assert fault.disk, "these scenarios keep their disks"
                for node in fault.nodes:
                    self._down(node, kills=fault.kind == "crash")
                end = partial(self._restart, fault)
            case _:
                raise AssertionError(f"no {fault.kind} on real daemons")
        if fault.until is not None:
            self.clock.at(fault.until, end)

    def _heal(self, cut: Cut) -> None:
        self._links.heal(cut)
        self._links_changed()

    def _links_changed(self) -> None:
        if self._links.refresh():
            self.trace.connectivity.append(Connectivity(self.clock.now, self._links.pairs))
            write_links(self._folder, self._links.pairs)

    def _down(self, node: int, *, kills: bool) -> None:
        self.trace.nodes.append(NodeChange(self.clock.now, node, up=False, disk=True))
        if kills:
            self._daemons[node].kill()
        else:
            self._daemons[node].terminate()
        for actor in self._actors.values():
            if actor.home == node:
                actor.daemon_down()

    def _restart(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._tasks.create_task(self._up(node))

    async def _up(self, node: int) -> None:
        daemon = self._daemons[node]
        if daemon.is_up:
            await daemon.ended()  # it was asked to stop, and takes its time
        await daemon.run()
        self.trace.nodes.append(NodeChange(self.clock.now, node, up=True, disk=True))

    @staticmethod
    async def _stop(daemon: Daemon) -> None:
        assert await daemon.stop() == 0, daemon.tail()

    # Looking

    async def _look_at_clients(self) -> None:
        """Note when clients are connected and when they are not."""
        while True:
            for actor in self._actors.values():
                actor.look()
            await asyncio.sleep(LOOK_EVERY)

    async def _look_at_tables(self) -> None:
        pages = [
            (node, await daemon.status(), await daemon.status("fmt"), await daemon.status("met"))
            for node, daemon in self._daemons.items()
        ]
        self.trace.end = self.clock.now
        self.trace.snapshots += [_snapshot(self.trace.end, *page) for page in pages]


def _snapshot(t: float, node: int, status: dict[str, Any], fmt: dict[str, Any], met: dict[str, Any]) -> Snapshot:
    assert not fmt["truncated"]
    assert not met["truncated"]
    return Snapshot(
        t,
        node,
        status["role"]["role"] == "broker",
        {home["home"]: frozenset(map(Filter.parse, home["filters"])) for home in fmt["homes"]},
        {event_id(*map(int, each["id"].split("."))): frozenset(each["delivered"]) for each in met["events"]},
        {name: (used, limit) for name, (used, limit) in status["sizes"].items()},
    )
