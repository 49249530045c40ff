"""`chapar-lab run`, inside its box: one run from beginning to end, with questions answered while it is up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, TextIO

from chapar_lab import report
from chapar_lab.control import Answer, serve
from chapar_lab.drawing import as_svg, as_text
from chapar_lab.lab import Lab, Progress
from chapar_lab.portrait import portrait
from chapar_lab.program import LabError
from chapar_lab.visit import open_namespaces
from chapar_lab.ways import needs_ipv6
from chapar_lab.wiring import wire
from chapar_sim.datasets import DatasetsError

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from pathlib import Path

    from chapar_sim.scenario import Scenario

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
TELL_EVERY: Final = 10.0
"""Seconds between two lines of progress where there is no terminal."""
INITIAL_USERS: Final = 0xEFFFFFFD
"""The number of the machine's own namespace of users (<linux/proc_ns.h>)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    scenario: Path
    seed: int
    out: Path | None
    as_json: bool
    hold: bool


def run(scenario: Scenario, options: Options, control: socket.socket) -> int:
    """Run it; returns the exit code."""
    nodes = [spec.index for spec in scenario.nodes]
    try:
        networks = wire(nodes, ipv6=needs_ipv6(scenario.routes))
        return asyncio.run(_Run(scenario, options, control, networks).run())
    except KeyboardInterrupt:  # before the loop looks after signals
        complain("interrupted")
        return INTERRUPTED


class _Run:
    def __init__(
        self, scenario: Scenario, options: Options, control: socket.socket, networks: Mapping[int, int]
    ) -> None:
        self._options = options
        self._control = control
        self._teller = Teller(sys.stderr)
        self._lab = Lab(scenario, options.scenario, options.seed, networks, self._teller.tell)
        self._code = FAILED

    async def run(self) -> int:
        task = asyncio.create_task(self._do())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        answering = asyncio.create_task(serve(self._control, self._answer))
        try:
            await task
        except asyncio.CancelledError:
            self._teller.end()
            complain("interrupted")
            self._code = INTERRUPTED
        except LabError as error:
            self._teller.end()
            complain(str(error))
            if self._options.out is not None:
                report.copy_logs(self._lab, self._options.out)
        finally:
            answering.cancel()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # what is left is bounded, and takes seconds at most
            await self._lab.close()
        return self._code

    async def _do(self) -> None:
        await self._lab.run()
        self._teller.end()
        picture = await portrait(self._lab)
        figures = report.figures_of(self._lab)
        sys.stdout.write((json.dumps(figures, indent=2) if self._options.as_json else report.text_of(figures)) + "\n")
        sys.stdout.flush()
        self._code = FAILED if figures["violations"] else DONE
        if self._options.out is not None:
            try:
                report.write(self._lab, figures, picture, self._options.out)
            except OSError as error:
                complain(f"--out {self._options.out}: {error.strerror}")
                self._code = FAILED
            except DatasetsError as error:
                complain(f"--out {self._options.out}: {error}")
                self._code = FAILED
        if self._options.hold:
            await self._hold()

    async def _hold(self) -> None:
        """Stay up until somebody ends it."""
        await self._lab.stay()
        sys.stderr.write(
            "chapar-lab: the network stays up until Ctrl-C; in other terminals: chapar-lab status,\n"
            "  chapar-lab topology, chapar-lab shell 1 (then chapar sub temp), chapar-lab shell 2 chapar pub temp\n"
        )
        await asyncio.Event().wait()

    async def _answer(self, question: list[str]) -> Answer:
        match question:
            case ["status"]:
                return Answer(await self._status())
            case ["topology", form]:
                picture = await portrait(self._lab)
                return Answer(as_svg(picture) if form == "svg" else as_text(picture))
            case ["namespaces", text] if text.isdigit() and int(text) in self._lab.nodes:
                network = self._lab.nodes[int(text)].network
                return Answer(None, open_namespaces(network, is_user=is_in_user_namespace()))
            case ["namespaces", _]:
                return Answer(sorted(self._lab.nodes))
            case _:
                return Answer(None)

    async def _status(self) -> dict[str, object]:
        progress = self._lab.progress
        pages = await asyncio.gather(*(node.status() for node in self._lab.nodes.values()))
        return {
            "scenario": self._lab.scenario.name,
            "phase": progress.phase,
            "t": round(progress.t, 1),
            "duration": progress.duration,
            "published": progress.published,
            "delivered": progress.delivered,
            "nodes": [
                {"index": index, "state": node.state, "status": page}
                for (index, node), page in zip(self._lab.nodes.items(), pages, strict=True)
            ],
        }


def is_in_user_namespace() -> bool:
    """Whether this process is root in a namespace of users of its own."""
    return os.stat("/proc/self/ns/user").st_ino != INITIAL_USERS


def complain(text: str) -> None:
    sys.stderr.write(f"chapar-lab: {text}\n")


class Teller:
    """Says how far a run is: one line that is written over on a terminal, one now and then elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._told = ""
        self._width = 0
        self._has_ended = False
        self._at = -TELL_EVERY

    def tell(self, progress: Progress) -> None:
        line = line_of(progress)
        if self._has_ended:
            return
        if self._is_terminal:
            line = line[: get_terminal_size().columns - 1]  # what goes over the edge could not be written over
            self._stream.write(f"\r{line.ljust(self._width)}")
            self._width = len(line)
        elif progress.phase != self._told or progress.t >= self._at + TELL_EVERY:
            self._stream.write(f"{line}\n")
            self._told, self._at = progress.phase, progress.t
        self._stream.flush()

    def end(self) -> None:
        """What follows is not for it to tell; the next line begins."""
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()
        self._has_ended = True


def line_of(progress: Progress) -> str:
    """How far a run is, in one line."""
    match progress.phase:
        case "starting":
            return f"starting: {progress.nodes_up} of {progress.nodes} nodes up"
        case "forming":
            lacking = f" ({progress.lacking})" if progress.lacking else ""
            return f"forming: {progress.nodes_formed} of {progress.nodes} nodes have their routes and roles{lacking}"
        case "running":
            what = f"{progress.published} events accepted, {progress.delivered} deliveries"
            return f"running: {progress.t:.0f} of {progress.duration:g} s, {what}"
        case _:
            return progress.phase
