"""The programs of a lab: real processes, each in the network of a node, with a log of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from chapar_lab.namespaces import inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TAIL: Final = 12
"""Lines of a log that are shown."""
STOP_PATIENCE: Final = 15.0
"""Seconds for a program to end in good order: the daemon's own patience with its node and its disk."""
READY: Final = b"READY=1"
"""What a program that is ready tells its service manager."""


OWN_VARIABLES: Final = "CHAPAR"
"""How the variables begin that would tell daemons and applications of a node about others than its own."""


class LabError(Exception):
    """The run cannot go on. The message says which part of it and why, a log's last lines included."""


class Program:
    """One program of one node; it may be started again when it has ended."""

    def __init__(
        self, title: str, command: Sequence[str], network: int, folder: Path, *, log: str | None = None
    ) -> None:
        """`title` is what a person knows it by: "chapard of node 3". Its log, in `folder`, is called after it."""
        name = os.path.basename(command[0])
        self.title = title
        self.process: subprocess.Popen[bytes] | None = None
        self.ended_on_purpose = False
        """Somebody has ended it, or will in a moment."""
        self._command = list(command)
        self._network = network
        self.log = folder / (log or f"{name}.log")
        self._notices = self.log.with_suffix(".ready")

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, stdin: int | None = None, stdout: int | None = None) -> None:
        """Start a process; its output goes to the log unless it has somewhere else to go."""
        assert not self.is_up, "one process at a time"
        self.ended_on_purpose = False
        with self.log.open("ab") as log, inside(self._network):
            try:
                self.process = subprocess.Popen(  # noqa: S603 - installed programs, with our own arguments
                    self._command,
                    stdin=subprocess.DEVNULL if stdin is None else stdin,
                    stdout=log if stdout is None else stdout,
                    stderr=log,
                    env={**_environ(), "NOTIFY_SOCKET": str(self._notices)},
                    start_new_session=True,  # a Ctrl-C is for the lab, which ends them in order
                )
            except OSError as error:
                raise LabError(f"{self.title}: cannot start {self._command[0]}: {error.strerror}") from None

    @contextmanager
    def listening(self) -> Iterator[socket.socket]:
        """A place for it to say that it is ready."""
        self._notices.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sock:
            sock.bind(str(self._notices))
            yield sock

    async def run(self, patience: float) -> None:
        """Start, and wait until it says that it is ready. Raises LabError if it ends instead, or is not in time."""
        with self.listening() as notices:
            self.start()
            end, ready = asyncio.ensure_future(self.ended()), asyncio.ensure_future(_told_ready(notices))
            try:
                async with asyncio.timeout(patience):
                    await asyncio.wait((end, ready), return_when=asyncio.FIRST_COMPLETED)
            except TimeoutError:
                raise self.failure(f"was not ready within {patience:g} s") from None
            finally:  # the loop forgets the socket before it is closed: what has its number next would not be heard
                end.cancel()
                ready.cancel()
                await asyncio.wait((end, ready))
            if ready.cancelled():
                raise self.failure(f"ended with code {end.result()}")

    async def ended(self) -> int:
        """Wait for the process of now to end; its exit code."""
        process = self.process
        assert process is not None, "started"
        code = process.poll()
        if code is not None:
            return code
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        fd = os.pidfd_open(process.pid)
        loop.add_reader(fd, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        return process.wait()  # by now there may be another one

    async def stop(self) -> None:
        """Ask it to end, and make it end if it does not."""
        if not self.is_up:
            return
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # one that was paused could not end
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_PATIENCE):
                await self.ended()
                return
        self.kill()

    def kill(self) -> None:
        """End it at once, without a chance to say or save anything."""
        if self.is_up:
            self.signal(signal.SIGKILL)
            assert self.process is not None, "up"
            self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.is_up:
            assert self.process is not None, "up"
            if number in {signal.SIGTERM, signal.SIGKILL}:
                self.ended_on_purpose = True
            self.process.send_signal(number)

    def failure(self, what: str) -> LabError:
        """That something is wrong with it, with what it said last."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
        except OSError:
            lines = []
        said = "; its log ends:\n" + "\n".join(f"    {line}" for line in lines) if lines else "; it said nothing"
        return LabError(f"{self.title} {what}{said}")


async def _told_ready(notices: socket.socket) -> None:
    while READY not in (await asyncio.get_running_loop().sock_recv(notices, 4096)).split(b"\n"):
        pass


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
