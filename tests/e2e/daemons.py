"""Real `chapard` processes on loopback addresses: started, watched, asked, killed and started again by a test.

Each process has an address of its own in 127.0.0.0/8 and ports that were free a moment ago; it says by `NOTIFY_SOCKET`
that it is ready, so nobody waits longer than it takes. Whatever a test leaves running is ended when its `with` block is
left, by pid; if the test has failed, the last lines of the log are shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

START_PATIENCE: Final = 30.0
"""Seconds a daemon may take to get ready on a busy machine; an idle one takes half a second."""
STOP_PATIENCE: Final = 20.0
TAIL: Final = 40
"""Lines of a log that are shown."""
_serial = count(1)


class Ports(NamedTuple):
    """Where a daemon listens, on its own address."""

    mesh: int
    clients: int
    http: int


def prefix() -> str:
    """The first three numbers of the addresses that this process uses."""
    return f"127.{64 + (os.getpid() >> 8) % 128}.{os.getpid() % 256}"


def free_ports(hosts: Sequence[str]) -> Ports:
    """Ports that are free at all of these addresses."""
    with contextlib.ExitStack() as taken:
        kinds = (socket.SOCK_DGRAM, socket.SOCK_DGRAM, socket.SOCK_STREAM)
        return Ports(*(_free_port(hosts, kind, taken) for kind in kinds))


def _free_port(hosts: Sequence[str], kind: socket.SocketKind, taken: contextlib.ExitStack) -> int:
    for _ in range(100):
        with contextlib.ExitStack() as tried:
            first, *others = [tried.enter_context(socket.socket(socket.AF_INET, kind)) for _ in hosts]
            first.bind((hosts[0], 0))
            port = int(first.getsockname()[1])
            try:
                for each, host in zip(others, hosts[1:], strict=True):
                    each.bind((host, port))
            except OSError:
                continue
            taken.enter_context(tried.pop_all())  # so that the next one asked for is another
            return port
    raise AssertionError(f"no port is free at all of {hosts}")


class Daemon:
    """One node's chapard: its settings and its state outlive its processes."""

    def __init__(
        self, folder: Path, *, host: str, ports: Ports, settings: Sequence[str] = (), environ: Mapping[str, str] = {}
    ) -> None:
        self.host = host
        self.ports = ports
        self.state = folder / "state"
        self.log = folder / "log"
        self.settings = [
            f"node.address={host}",
            f'node.prefixes=["{host.rpartition(".")[0]}.0/24"]',
            f"node.state_dir={self.state}",
            f"mesh.port={ports.mesh}",
            f"clients.listen={host}:{ports.clients}",
            f"http.listen={host}:{ports.http}",
            *settings,
        ]
        self.process: subprocess.Popen[bytes] | None = None
        self._folder = folder
        self._notices = f"chapard-test-{os.getpid()}-{next(_serial)}"
        self._environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "NOTIFY_SOCKET": f"@{self._notices}"}
        self._environ |= environ
        self._socket: socket.socket | None = None

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"{self.host}:{self.ports.clients}"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind("\0" + self._notices)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_up:
            self.kill()
        assert self._socket is not None, "entered"
        self._socket.close()
        if error is not None:
            print(f"--- the last lines of {self.log}\n{self.tail()}")

    # Its life

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start a process; `ready` says when it serves."""
        assert not self.is_up, "one process at a time"
        arguments = [part for setting in self.settings for part in ("--set", setting)]
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "chapard", *arguments]
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=self._environ)  # noqa: S603 - our own

    async def ready(self) -> None:
        """Wait until the process says that it serves; fails if it ends instead."""
        assert self._socket is not None, "entered"
        loop = asyncio.get_running_loop()
        end = asyncio.ensure_future(self.ended())
        try:
            async with asyncio.timeout(START_PATIENCE):
                while True:
                    notice = asyncio.ensure_future(loop.sock_recv(self._socket, 4096))
                    await asyncio.wait((notice, end), return_when=asyncio.FIRST_COMPLETED)
                    if end.done():
                        notice.cancel()
                        raise AssertionError(f"chapard ended with {end.result()}:\n{self.tail()}")
                    if b"READY=1" in notice.result().split(b"\n"):
                        return
        except TimeoutError:
            raise AssertionError(f"chapard was not ready within {START_PATIENCE} s:\n{self.tail()}") from None
        finally:
            end.cancel()

    async def run(self) -> Self:
        """Start, and wait until it serves."""
        self.start()
        await self.ready()
        return self

    async def ended(self) -> int:
        """Wait for the process to end by itself; its exit code."""
        assert self.process is not None, "started"
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        with _pidfd(self.process.pid) as fd:
            loop.add_reader(fd, over.set)
            try:
                await over.wait()
            finally:
                loop.remove_reader(fd)
        return self.process.wait()

    async def stop(self) -> int:
        """Ask it to end in good order; its exit code."""
        self.terminate()
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                return await self.ended()
        except TimeoutError:
            raise AssertionError(f"chapard did not stop within {STOP_PATIENCE} s:\n{self.tail()}") from None

    def terminate(self) -> None:
        assert self.process is not None, "started"
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, without a chance to say or save anything."""
        assert self.process is not None, "started"
        self.process.kill()
        self.process.wait()

    # What it shows

    async def page(self, path: str) -> tuple[int, str]:
        """Status and body of a page."""
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(self.host, self.ports.http)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
                answer = await reader.read()
            finally:
                writer.close()
                await writer.wait_closed()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), body.decode()

    async def status(self, part: str = "") -> dict[str, Any]:
        """The status page, or one of its parts."""
        code, body = await self.page("/status" + (f"/{part}" if part else ""))
        assert code == 200, body
        found: dict[str, Any] = json.loads(body)
        return found

    def resident_bytes(self) -> int:
        """Memory of the process that is not swapped out."""
        assert self.process is not None, "started"
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def lines(self) -> list[str]:
        """The log of all its processes."""
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []

    def tail(self) -> str:
        return "\n".join(self.lines()[-TAIL:])

    def faults(self) -> list[str]:
        """Lines of the log that no daemon in good health writes."""
        return [line for line in self.lines() if "level=error" in line or "Traceback" in line]


@contextlib.contextmanager
def _pidfd(pid: int) -> Iterator[int]:
    fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def alone(folder: Path, *settings: str, environ: Mapping[str, str] = {}) -> Iterator[Daemon]:
    """A node that has no network: not started yet."""
    host = f"{prefix()}.1"
    with Daemon(folder, host=host, ports=free_ports([host]), settings=settings, environ=environ) as daemon:
        yield daemon


@contextlib.contextmanager
def network(folder: Path, indexes: Sequence[int], *settings: str) -> Iterator[dict[int, Daemon]]:
    """The nodes of one network by index, not started yet. They share a mesh port and the file `routes.toml`."""
    hosts = {index: f"{prefix()}.{index}" for index in indexes}
    ports = free_ports(list(hosts.values()))
    shared = [*settings, "routes.source=static", f"routes.file={folder / 'routes.toml'}"]
    with contextlib.ExitStack() as running:
        yield {
            index: running.enter_context(Daemon(folder / str(index), host=host, ports=ports, settings=shared))
            for index, host in hosts.items()
        }


def write_links(folder: Path, links: frozenset[tuple[int, int]]) -> None:
    """Have the daemons of a network know these links, and no others, within the second in which they look again."""
    edges = sorted([a, b] for a, b in links if a < b and (b, a) in links)
    new = folder / "routes.new"
    new.write_text(f"edges = {edges}\n", encoding="utf-8")
    new.replace(folder / "routes.toml")
