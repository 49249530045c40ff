"""One run of a scenario in the lab, from the first wire to the last row.

It is the world that the scenario's faults act upon, as the simulator's `World` is, and gives a trace of the same kind.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chapar_lab import ways
from chapar_lab.actor import WallClock
from chapar_lab.air import Air
from chapar_lab.namespaces import SCRATCH
from chapar_lab.node import Around, Node
from chapar_lab.program import LabError
from chapar_lab.recording import enter as enter_recording
from chapar_lab.recording import read
from chapar_lab.rows import enter
from chapar_lab.truth import expected, missing
from chapar_lab.watch import Watch, in_order
from chapar_sim.clock import Clock
from chapar_sim.faults import Faults
from chapar_sim.ground import Ground
from chapar_sim.merges import watch_merge
from chapar_sim.trace import Accepted, Delivered, NodeChange, Trace
from chapar_sim.workload import cast_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from typing import Any

    from chapar_lab.recording import Aired
    from chapar_lab.rows import Row
    from chapar_sim.links import Pairs
    from chapar_sim.scenario import Scenario

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at every daemon."""
FORM_LOOK: Final = 0.5
"""The same while the network forms."""
FORM_PATIENCE: Final = 60.0
"""Seconds that a network may take to form. One that moves or loses much may never be quite as its links have it."""
HEAD_START: Final = 0.3
"""Seconds from the word to begin until time 0, for the word to reach everyone."""
HUB: Final = 0
"""No node: where the medium drops what comes too fast for it."""
AIR_PATIENCE: Final = 0.25
"""Seconds for what daemons have sent to be on the air, in the end."""
END_PATIENCE: Final = 60.0
"""Seconds for the end of everything once the scenario is over."""


@dataclass
class Progress:
    """How far a run is."""

    phase: str = "wiring"
    nodes: int = 0
    nodes_up: int = 0
    nodes_formed: int = 0
    lacking: str = ""
    """What the first of the other nodes still lacks, while the network forms."""
    t: float = 0.0
    duration: float = 0.0
    published: int = 0
    delivered: int = 0
    formed_after: float | None = None
    """Seconds until the network was as its links have it; None if it never was."""


class Lab:
    """A scenario on real daemons. `run` it once, inside its box."""

    def __init__(
        self,
        scenario: Scenario,
        file: Path,
        seed: int,
        networks: Mapping[int, int],
        progressed: Callable[[Progress], None],
    ) -> None:
        """`networks` are the nodes' own (`wiring`); that of this process holds the far ends."""
        self.scenario = scenario
        self.seed = seed
        self.trace = Trace()
        self.progress = Progress(nodes=len(scenario.nodes), duration=scenario.duration)
        self.folder = Path(SCRATCH, "chapar-lab")
        self.recorded = self.folder / "recorded"
        """What the daemons had recorded when the run was over."""
        self.epoch = 0.0
        """When the run started, as the daemons' clocks have it."""
        self.clock: WallClock
        self.ground: Ground
        self._file = file
        self._progressed = progressed
        self._is_running = False
        self._failure: asyncio.Future[None]
        self._duplicate = scenario.radio.duplicate
        self._healed: list[tuple[float, float]] = []
        """When cuts began, and when they ended."""
        around = Around(scenario, file, seed, self._node_changed, self._tell, self._failed)
        homes = {role.home for role in cast_of(scenario, seed)}
        self.nodes = {
            spec.index: Node(
                spec.index,
                networks[spec.index],
                self.folder / str(spec.index),
                around,
                chapard=spec.chapard,
                stage=spec.index in homes,
            )
            for spec in scenario.nodes
        }
        self._watches = {index: Watch(node, self.trace) for index, node in self.nodes.items() if node.daemon}
        self._hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._air = Air(file, seed, self._hub, self.folder, record=self.folder / "air.record")

    async def run(self) -> Trace:
        """Let everything happen. Raises LabError if something that should run does not."""
        loop = asyncio.get_running_loop()
        self._failure = loop.create_future()
        loop.set_exception_handler(self._on_stray_error)
        try:
            await self._with_failures(self._begin())
            await self._with_failures(self._form())
            await self._with_failures(self._play())
            async with asyncio.timeout(END_PATIENCE):
                await self._finish()
        except TimeoutError:
            raise LabError(f"stopped: the run did not end within {END_PATIENCE:g} s after its last second") from None
        finally:
            if not self._failure.cancel():
                self._failure.exception()  # what failed as well, while this ended, is not told
        return self.trace

    async def close(self) -> None:
        """End whatever still runs."""
        self._tell_phase("stopping")
        for node in self.nodes.values():
            node.thaw()
        await asyncio.gather(*(node.end() for node in self.nodes.values()))
        await self._air.end()

    # The stages of a run

    async def _begin(self) -> None:
        self._tell_phase("starting")
        self.clock = WallClock()
        self.ground = Ground(self.scenario, self.seed, self.clock, self.trace, self._links_changed)
        self.ground.lay()
        await self._air.begin()
        self._air.links(self.ground.links.pairs)
        async with asyncio.TaskGroup() as tasks:
            for node in self.nodes.values():
                tasks.create_task(self._begin_node(node))

    async def _begin_node(self, node: Node) -> None:
        await node.begin()
        self.progress.nodes_up += 1
        self._progressed(self.progress)

    async def _form(self) -> None:
        """Wait until the network is as its links have it."""
        self._tell_phase("forming")
        began = self.clock.now
        hosts = [index for index, node in self.nodes.items() if node.daemon]
        minimum = self.scenario.daemon_config().broker_min
        should = expected(list(self.nodes), self.ground.links.pairs, minimum, all_brokers=self.scenario.is_tree)
        while self.clock.now - began < FORM_PATIENCE and not self.scenario.routes.cold:
            lacks = await asyncio.gather(*(self._lacking(index, should[index]) for index in hosts))
            self.progress.lacking = next(filter(None, lacks), "")
            self.progress.nodes_formed = self.progress.nodes - sum(map(bool, lacks))
            self._progressed(self.progress)
            if not self.progress.lacking:
                self.progress.formed_after = self.clock.now - began
                return
            await asyncio.sleep(FORM_LOOK)

    async def _lacking(self, index: int, should: Any) -> str:
        node = self.nodes[index]
        knows_hops = ways.knows_hops(self.scenario)
        return missing(index, should, await node.status(), await node.status("routes"), knows_hops=knows_hops)

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time() + HEAD_START
        self.epoch = time.time() - time.monotonic() + start
        self._air.start(start)
        self.clock.restart(start)
        self.trace.nodes += [NodeChange(0.0, index, up=True, disk=True) for index in self._watches]
        for node in self.nodes.values():
            node.act(start)
        self._is_running = True
        self._tell_phase("running")
        Faults(self).schedule(self.scenario.faults)
        self.ground.set_moving()
        looking = asyncio.create_task(self._look())
        try:
            await self.clock.reach(self.scenario.duration)
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self._look_once()
            self.progress.t = self.clock.now
            self._progressed(self.progress)

    async def _look_once(self) -> None:
        await asyncio.gather(*(watch.look(self.clock.now) for watch in self._watches.values()))

    async def _finish(self) -> None:
        """A last look, then the applications end; the daemons and the medium go on until `close`."""
        self._is_running = False
        await self._look_once()
        self.trace.end = self.clock.now
        found = await asyncio.gather(*(watch.snapshot(self.trace.end) for watch in self._watches.values()))
        self.trace.snapshots += [each for each in found if each is not None]
        await asyncio.gather(*(node.rest() for node in self.nodes.values()))
        await self._end_air()
        if self._air.missed:
            self.trace.drops[HUB, "medium_overrun"] = self._air.missed
        self._enter_air()
        in_order(self.trace)

    async def _end_air(self) -> None:
        """The daemons stand still meanwhile, so that what they have recorded of the air is all that was on it."""
        for node in self.nodes.values():
            node.freeze()
        await asyncio.sleep(AIR_PATIENCE)
        await self._air.end()
        self.recorded.mkdir()
        for node in self.nodes.values():
            node.collect(self.recorded)
            node.thaw()

    def _enter_air(self) -> None:
        """Take what was on the air into the trace, and what it carried after each cut had healed."""
        clock = Clock()
        for since, t in self._healed:
            clock.at(t, partial(watch_merge, self.trace, clock, since, self.scenario.duration))

        def replayed(recording: Iterable[Aired]) -> Iterator[Aired]:
            for each in recording:
                clock.run_until(max(clock.now, each.t))
                yield each

        with self._air.record.open("rb") as file:
            enter_recording(replayed(read(file)), self.trace)
        clock.run_until(max(clock.now, self.trace.end))

    async def stay(self) -> None:
        """The run is over; have the network go on, with a medium that writes nothing down."""
        self._air = Air(self._file, self.seed, self._hub, self.folder, record=Path(os.devnull))
        await self._air.begin()
        self._air.links(self.ground.links.pairs)
        self._tell_phase("holding")

    async def _with_failures(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it, unless something fails meanwhile."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, self._failure), return_when=asyncio.FIRST_COMPLETED)
        finally:  # whether it is done, has failed, or somebody ends the run: nothing of it goes on
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            self._failure.result()
        try:
            task.result()
        except* LabError as errors:
            raise errors.exceptions[0] from None

    def _on_stray_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault or an order could not be carried out: what follows would be another scenario."""
        loop.default_exception_handler(context)
        self._failed(LabError(f"a mistake in the lab: {context.get('exception') or context['message']}"))

    def _failed(self, error: LabError) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)

    def _tell_phase(self, phase: str) -> None:
        self.progress.phase = phase
        self._progressed(self.progress)

    # What clients did and saw

    def _tell(self, row: Row) -> None:
        enter(row, self.trace)
        match row:
            case Accepted():
                self.progress.published += 1
                self.trace.quiet_since = max(self.trace.quiet_since, row.t)
            case Delivered():
                self.progress.delivered += 1

    # What faults act upon

    def daemons_of(self, nodes: Iterable[int]) -> list[Node]:
        """The nodes that have a daemon, of these."""
        return [self.nodes[index] for index in nodes if index in self._watches]

    def disturbed(self) -> None:
        """Something from outside happened just now."""
        self.trace.quiet_since = self.clock.now

    def healed(self, since: float) -> None:
        """A cut has ended: what the merge costs is of interest."""
        self._healed.append((since, self.clock.now))

    def power(self, node: int, *, on: bool) -> None:
        """A whole node is switched on or off."""
        if on:
            self.nodes[node].start_routing()
        else:
            self.nodes[node].end_routing()

    def set_duplicate(self, probability: float) -> float:
        """Have frames heard twice with this probability; returns what it was."""
        before, self._duplicate = self._duplicate, probability
        self._air.duplicate(probability)
        return before

    def _links_changed(self, pairs: Pairs) -> None:
        self._air.links(pairs)

    def _node_changed(self, change: NodeChange) -> None:
        if self._is_running:
            self.trace.nodes.append(change._replace(t=self.clock.now))
