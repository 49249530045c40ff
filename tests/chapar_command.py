"""The command `chapar` as a shell runs it, and an HTTP server that answers like a daemon."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncIterator, Iterator, Mapping

LIMIT = 30.0
"""Seconds after which a command that does not end fails its test."""
_START = "import sys; from chapar.cli.command import main; sys.exit(main())"


class Outcome(NamedTuple):
    code: int
    out: bytes
    err: str


def command(*arguments: str) -> list[str]:
    """What starts the command, with every warning an error."""
    return [sys.executable, "-W", "error", "-c", _START, *arguments]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what would point the command at a daemon of this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHAPAR")}
    return {**kept, **(more or {})}


def chapar(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Outcome:
    """Run the command to its end."""
    done = subprocess.run(  # noqa: S603 - our own command
        command(*arguments), input=stdin, capture_output=True, timeout=LIMIT, check=False, env=environment(env)
    )
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


class Running:
    """The command while it runs, in the loop of a test that plays its daemon."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def type(self, text: bytes) -> None:
        """Give it something on standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(text)

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def line(self) -> bytes:
        """The next line of its output."""
        assert self._process.stdout is not None
        return await asyncio.wait_for(self._process.stdout.readline(), LIMIT)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ended(self) -> Outcome:
        """What it has said since, and how it ended."""
        out, err = await asyncio.wait_for(self._process.communicate(), LIMIT)
        assert self._process.returncode is not None
        return Outcome(self._process.returncode, out or b"", (err or b"").decode())


@contextlib.asynccontextmanager
async def running(*arguments: str, **streams: Any) -> AsyncIterator[Running]:
    """The command, its input and output in pipes unless `streams` say otherwise; it is gone when the test is over."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = await asyncio.create_subprocess_exec(*command(*arguments), env=environment(), **(pipes | streams))
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ran(*arguments: str, stdin: bytes = b"") -> Outcome:
    """The command from beginning to end, in the loop of a test that plays its daemon."""
    async with running(*arguments) as process:
        process.type(stdin)
        process.end_input()
        return await process.ended()


@contextlib.contextmanager
def http_server(pages: Mapping[str, tuple[int, bytes]]) -> Iterator[str]:
    """An HTTP server on loopback with these pages (path to code and body); gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = pages.get(self.path, (404, b"no such page"))
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
