"""The second driver of scenarios: real daemons on loopback addresses, clients of the real SDK, the clock of the wall.

It takes the scenario files of the simulator and gives a trace of the same kind, so that the same checkers judge both.
Links come and go by rewriting the file of routes that all daemons read; a crash is SIGKILL, a stop SIGTERM.

What differs from the simulator:

- Nothing beneath the SDK is seen: `Trace.handed`, from which the rule `once` knows repetitions that a client had to
  hide from its application, stays empty, and so do the medium's own records.
- Daemons count losses without naming events, so a loss excuses nothing here: the rules are stricter.
- Two subscriptions of a client are two iterators, whose events have no common order: a scenario gives a client one
  subscription for its real-time events and one for its memorised ones.
- Routes change within a second, not at once, and a link that was cut carries what is sent over it until then.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from enum import Enum
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import chapar
from chapar.errors import EventLostError
from chapar.event import event_id
from chapar.filter import Filter
from chapar_sim.bounds import Bounds
from chapar_sim.case import Case
from chapar_sim.links import Cut, Links
from chapar_sim.trace import Accepted, Connectivity, Delivered, Interest, NodeChange, Presence, Snapshot, Trace
from chapar_sim.workload import enact
from chapard.core.config import Config
from e2e.daemons import network, write_links

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from chapar import Client, Event
    from chapar.subscription import Subscription
    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.scenario import Scenario
    from e2e.daemons import Daemon

CONVERGENCE: Final = 1.2
"""Seconds until every daemon has read a changed file of routes: it looks once a second."""
DELAY: Final = 0.01
"""Seconds a datagram waits for a busy process; the promised times hold room for some that wait longer."""
LOOK_EVERY: Final = 0.02
"""Seconds between two looks at whether clients are connected."""


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


class WallClock:
    """Seconds since the start, and actions when they have passed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._asked = count()

    @property
    def now(self) -> float:
        return self._loop.time() - self._start

    def at(self, time: float, action: Callable[[], None]) -> None:
        # The loop does not keep the order of what is due at one time; a nanosecond later each keeps it.
        self._loop.call_at(self._start + time + 1e-9 * next(self._asked), action)

    async def reach(self, time: float) -> None:
        reached = asyncio.Event()
        self.at(time, reached.set)
        await reached.wait()


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
        return Actor(name, home, self._daemons[home].address, self.clock, self.trace, self._tasks, keep=sleeps)

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


class Actor:
    """A client of the real SDK. What it is to do is done in order, by a task of its own."""

    def __init__(
        self,
        name: str,
        home: int,
        address: str,
        clock: WallClock,
        trace: Trace,
        tasks: asyncio.TaskGroup,
        *,
        keep: bool,
    ) -> None:
        self.home = home
        self._name = name
        self._address = address
        self._clock = clock
        self._trace = trace
        self._tasks = tasks
        self._keep = keep
        self._client: Client | None = None
        self._filters: dict[int, Filter] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._numbers = 0
        self._is_present = False
        self._must_notice = False
        """Its daemon was killed: until the client knows, that it believes to be connected means nothing."""
        self._steps: asyncio.Queue[Callable[[], Awaitable[None]] | None] = asyncio.Queue()
        self._task = tasks.create_task(self._act())

    async def end(self) -> None:
        self.go_off()
        self._steps.put_nowait(None)
        await self._task

    # What its script has it do

    def go_on(self) -> None:
        self._steps.put_nowait(self._go_on)

    def go_off(self) -> None:
        self._steps.put_nowait(self._go_off)

    def publish(self, event: Event) -> None:
        self._steps.put_nowait(partial(self._publish, event))

    def subscribe(self, filter_: Filter) -> int:
        self._numbers += 1
        self._steps.put_nowait(partial(self._subscribe, self._numbers, filter_))
        return self._numbers

    def unsubscribe(self, number: int) -> None:
        self._steps.put_nowait(partial(self._unsubscribe, number))

    async def _act(self) -> None:
        while (step := await self._steps.get()) is not None:
            await step()

    async def _go_on(self) -> None:
        if self._client is None:
            client = chapar.connect(self._address, client_id=self._name)
            await client.open()
            self._client = client
            for number, filter_ in self._filters.items():
                await self._enter(number, filter_)

    async def _go_off(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._present(on=False)
            await client.close()
            self._subscriptions.clear()

    async def _publish(self, event: Event) -> None:
        assert self._client is not None, "a script has a client publish while it is ON"
        t = self._clock.now
        receipt = await self._client.publish(event)
        self._tasks.create_task(self._accepted(t, event, receipt))

    async def _accepted(self, t: float, event: Event, receipt: chapar.Receipt) -> None:
        try:
            taken = await receipt
        except EventLostError:
            self._trace.drops[self.home, "given_up"] += 1
        else:
            self._trace.accepted.append(Accepted(t, self._name, self.home, taken, event))

    async def _subscribe(self, number: int, filter_: Filter) -> None:
        self._trace.interests.append(Interest(self._clock.now, self._name, number, filter_, active=True))
        self._filters[number] = filter_
        await self._enter(number, filter_)

    async def _enter(self, number: int, filter_: Filter) -> None:
        assert self._client is not None, "a script has a client subscribe while it is ON"
        subscription = self._client.subscribe(filter=filter_, keep=self._keep)
        await subscription.__aenter__()
        self._subscriptions[number] = subscription
        self._tasks.create_task(self._read(subscription))

    async def _unsubscribe(self, number: int) -> None:
        self._trace.interests.append(
            Interest(self._clock.now, self._name, number, self._filters.pop(number), active=False)
        )
        self._subscriptions.pop(number).close()

    async def _read(self, subscription: Subscription) -> None:
        async for event in subscription:
            assert event.id is not None, "the network delivers events that a home has stamped"
            self._trace.delivered.append(Delivered(self._clock.now, self._name, self.home, event.id))

    # What is seen of it

    def daemon_down(self) -> None:
        self._must_notice = self._client is not None
        self._present(on=False)

    def look(self) -> None:
        is_connected = self._client is not None and self._client.is_connected
        if not is_connected:
            self._must_notice = False
        if not self._must_notice:
            self._present(on=is_connected)

    def _present(self, *, on: bool) -> None:
        if on != self._is_present:
            self._is_present = on
            self._trace.presence.append(Presence(self._clock.now, self._name, self.home, on))
