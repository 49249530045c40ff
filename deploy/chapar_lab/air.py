"""The process that is the medium of a run (`chapar_lab.medium`), as the lab talks to it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Final

from chapar_lab.program import LabError, Program

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_sim.links import Pairs

START_PATIENCE: Final = 30.0
STOP_PATIENCE: Final = 10.0
"""Seconds to write down the last frames."""


class Air:
    """The medium, running in the network of the hub."""

    def __init__(self, scenario: Path, seed: int, network: int, folder: Path, record: Path) -> None:
        """`record` takes every frame; it is whole once the medium has ended."""
        self.record = record
        command = [sys.executable, "-m", "chapar_lab.medium", str(scenario)]
        options = ["--seed", str(seed), "--record", str(self.record)]
        self.program = Program("the medium", [*command, *options], network, folder, log="medium.log")
        self.missed = 0
        """Frames that the kernel threw away on their way into the medium or out of it; they are not in the record."""
        self._orders: int | None = None
        self._listening: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start it; nobody hears anybody yet. Raises LabError."""
        order_end, self._orders = os.pipe()
        said_end, said_start = os.pipe()
        self.program.start(stdin=order_end, stdout=said_start)
        os.close(order_end)
        os.close(said_start)
        said = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), os.fdopen(said_end, "rb"))
        try:
            async with asyncio.timeout(START_PATIENCE):
                line = await said.readline()
        except TimeoutError:
            raise self.program.failure(f"was not ready within {START_PATIENCE:g} s") from None
        if not line:
            raise self.program.failure("did not start")
        self._listening = asyncio.create_task(self._listen(said))

    def start(self, start: float) -> None:
        """Time 0 of the run, by the monotonic clock."""
        self._order("start", start)

    def links(self, pairs: Pairs) -> None:
        """From now on these hear each other."""
        self._order("links", sorted(pairs))

    def duplicate(self, probability: float) -> None:
        """From now on frames are heard twice with this probability."""
        self._order("duplicate", probability)

    async def end(self) -> None:
        """Have it write down everything, and end."""
        if self._orders is not None:
            os.close(self._orders)
            self._orders = None
        if not self.program.is_up:
            return
        self.program.ended_on_purpose = True
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                code = await self.program.ended()
        except TimeoutError:
            self.program.kill()
            raise self.program.failure(f"did not end within {STOP_PATIENCE:g} s") from None
        if code != 0:
            raise self.program.failure(f"ended with code {code}")
        if self._listening is not None:
            await self._listening

    def _order(self, *words: object) -> None:
        if self._orders is None:
            raise LabError("the medium has ended")
        line = json.dumps(words).encode() + b"\n"
        while line:  # a pipe holds less than the links of a large network
            line = line[os.write(self._orders, line) :]

    async def _listen(self, said: asyncio.StreamReader) -> None:
        """Take note of what it missed; how much it has seen is of no interest."""
        while line := await said.readline():
            match json.loads(line):
                case ["missed", int(unread), int(unsent)]:
                    self.missed = unread + unsent
