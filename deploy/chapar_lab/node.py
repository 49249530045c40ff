"""One node of a lab: its network, its files, its daemons, and the applications on it.

It is what faults act upon: its daemon is killed, stopped, started again and paused, and its disk filled, for real.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar_lab import ways
from chapar_lab.namespaces import MS_NODEV, MS_NOSUID, mount
from chapar_lab.page import get
from chapar_lab.program import LabError, Program
from chapar_lab.rows import RowError, from_line
from chapar_lab.stage import DOWN, READY
from chapar_lab.wiring import PREFIX, RADIO, address_of
from chapar_sim.trace import NodeChange

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from chapar_lab.rows import Row
    from chapar_sim.scenario import Scenario

START_PATIENCE: Final = 60.0
"""Seconds for a program to be ready, with those of all other nodes starting beside it on a small machine."""
MEGABYTE: Final = 1 << 20
DISK_MEGABYTES: Final = 64
"""Of each node's state directory, which is a disk of its own."""
SPOOL_BYTES: Final = 32 * MEGABYTE
RECORD_BYTES: Final = 1024 * MEGABYTE
"""Of what one node records: nothing of a run is removed."""
BALLAST: Final = "ballast"
"""The file that fills it."""
LINE_LIMIT: Final = 1 << 20
"""Bytes of a row: an event's body in hexadecimal digits, and room."""


class Around(NamedTuple):
    """What a node needs of its run."""

    scenario: Scenario
    file: Path
    """The scenario's."""
    seed: int
    changed: Callable[[NodeChange], None]
    """Told when a daemon has started or ended; the time is not filled in."""
    tell: Callable[[Row], None]
    """Told what clients did and saw."""
    failed: Callable[[LabError], None]
    """Told of a program that ended by itself."""


class Node:
    """A node that has been wired."""

    def __init__(self, index: int, network: int, folder: Path, around: Around, *, chapard: bool, stage: bool) -> None:
        """`chapard`, `stage`: whether a daemon and applications run on it."""
        self.index = index
        self.network = network
        self.folder = folder
        self._around = around
        self.record = folder / "record"
        """What its daemon records."""
        self._state = folder / "state"
        self._state.mkdir(parents=True)
        beside = ways.routing_command(around.scenario, folder, chapard=chapard)
        self._routing = self._program(beside) if beside is not None else None
        self.daemon = self._program(self._chapard()) if chapard else None
        self._stage = self._applications() if stage else None
        self._orders: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._is_paused = False

    def _program(self, command: Sequence[str]) -> Program:
        return Program(f"{os.path.basename(command[0])} of node {self.index}", command, self.network, self.folder)

    def _chapard(self) -> list[str]:
        settings = [
            f"node.address={address_of(self.index)}",
            f'node.prefixes=["{PREFIX}"]',
            f'mesh.interfaces=["{RADIO}"]',
            f"node.state_dir={self._state}",
            *(f"record.{each}" for each in self._recording()),
            *ways.daemon_settings(self._around.scenario.routes, self.folder),
            *_protocol(self._around.scenario),
        ]
        # No file: that of this machine's own daemon is not for the nodes of a lab.
        options = ["--config", os.devnull, *(part for each in settings for part in ("--set", each))]
        return [ways.command("chapard"), *options]

    def _recording(self) -> list[str]:
        """Everything is recorded, beside the state: a full disk is a fault of the node, not of the lab."""
        run = json.dumps(self._around.scenario.name)
        settings = ["enabled=true", f"dir={self.record}", f"run={run}", "world=lab", "compact=false"]
        return [*settings, f"rotate_bytes={SPOOL_BYTES}", f"budget_bytes={RECORD_BYTES}"]

    def _applications(self) -> Program:
        around = self._around
        command = [sys.executable, "-m", "chapar_lab.stage", str(around.file)]
        options = ["--node", str(self.index), "--seed", str(around.seed)]
        title = f"the applications of node {self.index}"
        return Program(title, [*command, *options], self.network, self.folder, log="applications.log")

    # Its life

    async def begin(self) -> None:
        """Start everything that runs here. Raises LabError."""
        mount("tmpfs", str(self._state), "tmpfs", MS_NOSUID | MS_NODEV, f"mode=700,size={DISK_MEGABYTES}m")
        self.start_routing()
        await asyncio.gather(self._begin_daemon(), self._begin_stage())

    async def _begin_daemon(self) -> None:
        if self.daemon is not None:
            await self.daemon.run(START_PATIENCE)
            self._watch(self.daemon)

    async def _begin_stage(self) -> None:
        if self._stage is None:
            return
        loop = asyncio.get_running_loop()
        order_end, order_start = os.pipe()
        row_end, row_start = os.pipe()
        self._stage.start(stdin=order_end, stdout=row_start)
        os.close(order_end)
        os.close(row_start)
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(order_start, "wb"))
        self._orders = asyncio.StreamWriter(transport, protocol, None, loop)
        rows = asyncio.StreamReader(limit=LINE_LIMIT)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(rows), os.fdopen(row_end, "rb"))
        try:
            async with asyncio.timeout(START_PATIENCE):
                first = await rows.readline()
        except TimeoutError:
            raise self._stage.failure(f"was not ready within {START_PATIENCE:g} s") from None
        if not first or json.loads(first) != READY:
            raise self._stage.failure("did not start")
        self._watch(self._stage)
        self._reading = asyncio.create_task(self._read(rows))

    async def _read(self, rows: asyncio.StreamReader) -> None:
        while line := await rows.readline():
            try:
                self._around.tell(from_line(line))
            except RowError as error:
                self._around.failed(LabError(f"applications of node {self.index}: {error}"))

    def act(self, start: float) -> None:
        """Have its applications begin: `start` is a time of the monotonic clock."""
        self._order(f"{start}\n")

    async def rest(self) -> None:
        """Have its applications end, and wait until all that they saw has been told."""
        if self._stage is None or self._orders is None or self._reading is None:
            return
        self._stage.ended_on_purpose = True
        self._orders.close()
        await self._reading
        await self._stage.ended()

    def freeze(self) -> None:
        """Have its daemon do and say nothing more, until it is `thawed`."""
        if self.daemon is not None and self.daemon.is_up:
            self.daemon.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Have its daemon go on, unless a fault has it hang."""
        if self.daemon is not None and self.daemon.is_up and not self._is_paused:
            self.daemon.signal(signal.SIGCONT)

    def collect(self, folder: Path) -> None:
        """Copy what its daemon has recorded, which is complete while it stands still."""
        for spool in (self.record / "spool").glob("*"):
            shutil.copyfile(spool, folder / spool.name)

    async def end(self) -> None:
        """End everything that runs here."""
        for task in self._tasks:
            task.cancel()
        programs = [each for each in (self._stage, self.daemon, self._routing) if each is not None]
        await asyncio.gather(*(each.stop() for each in programs))

    def _watch(self, program: Program) -> None:
        self._spawn(self._notice_end(program))

    async def _notice_end(self, program: Program) -> None:
        process = program.process
        code = await program.ended()
        if program.process is process and not program.ended_on_purpose:
            self._around.failed(program.failure(f"ended by itself with code {code}"))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _order(self, line: str) -> None:
        if self._orders is not None:
            self._orders.write(line.encode())

    # What faults do to it

    def start(self) -> None:
        """Start its daemon again."""
        self._spawn(self._start_again())

    async def _start_again(self) -> None:
        daemon = self.daemon
        assert daemon is not None, "faults of daemons are for nodes that have one"
        if daemon.is_up:
            if not daemon.ended_on_purpose:
                return
            await daemon.ended()  # it was asked to stop, and takes its time
        try:
            await daemon.run(START_PATIENCE)
        except LabError as error:
            self._around.failed(error)
            return
        self._watch(daemon)
        self._around.changed(NodeChange(0.0, self.index, up=True, disk=True))

    def crash(self, *, disk: bool) -> None:
        """Kill its daemon; without `disk`, what it had kept is gone."""
        self._down(disk=disk)
        assert self.daemon is not None, "faults of daemons are for nodes that have one"
        self.daemon.kill()
        if not disk:
            for each in self._state.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()

    def stop(self) -> None:
        """Ask its daemon to end."""
        self._down(disk=True)
        assert self.daemon is not None, "faults of daemons are for nodes that have one"
        self.daemon.signal(signal.SIGTERM)

    def _down(self, *, disk: bool) -> None:
        if self.daemon is not None and self.daemon.is_up and not self.daemon.ended_on_purpose:
            self._around.changed(NodeChange(0.0, self.index, up=False, disk=disk))
            self._order(f"{DOWN}\n")

    def pause(self) -> None:
        """Have its daemon hang."""
        if self.daemon is not None:
            self._is_paused = self.daemon.is_up
            self.daemon.signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.daemon is not None:
            self._is_paused = False
            self.daemon.signal(signal.SIGCONT)

    def fill_disk(self) -> None:
        """Leave no room in its state directory."""
        with (self._state / BALLAST).open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(MEGABYTE)):  # what fits of the last one is written, then there is no room
                pass

    def free_disk(self) -> None:
        (self._state / BALLAST).unlink(missing_ok=True)

    def start_routing(self) -> None:
        """Start the routing program that runs beside chapard, if there is one."""
        if self._routing is not None and not self._routing.is_up:
            self._routing.start()
            self._watch(self._routing)

    def end_routing(self) -> None:
        if self._routing is not None:
            self._routing.kill()

    # What it shows

    @property
    def state(self) -> str:
        """Of its daemon, in a word."""
        if self.daemon is None:
            return "plain"
        if not self.daemon.is_up:
            return "down"
        return "paused" if self._is_paused else "up"

    async def status(self, part: str = "") -> dict[str, Any] | None:
        """A page of its daemon; None if that does not answer."""
        return await get(self.network, "/status" + (f"/{part}" if part else ""))


def _routing(scenario: Scenario) -> list[str]:
    """How the scenario's daemons route, as far as that is not the usual way."""
    if not scenario.is_tree:
        return []
    routing = [(each.name, getattr(scenario.routing, each.name)) for each in fields(scenario.routing)]
    links = json.dumps([list(link) for link in scenario.overlay.links])
    return [*(f"routing.{name}={json.dumps(value)}" for name, value in routing), f"overlay.links={links}"]


def _protocol(scenario: Scenario) -> list[str]:
    """What the scenario changes of the daemons' configuration."""
    config = scenario.daemon_config()
    settings = []
    for each in fields(config):
        if each.name in scenario.config and each.name != "groups":
            value = scenario.config[each.name]
            text = json.dumps(value) if isinstance(value, bool) else value.value if isinstance(value, Enum) else value
            settings.append(f"protocol.{each.name}={text}")
    settings += _routing(scenario)
    for name, group in scenario.config.get("groups", {}).items():
        members = sorted(group.nodes), sorted(group.clients)
        settings += [f"groups.{name}.nodes={members[0]}", f"groups.{name}.clients={json.dumps(members[1])}"]
    return settings
