"""A fake olsrd on loopback: it serves recorded replies over HTTP, and misbehaves on request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from chapar_olsr.jsoninfo import ENDPOINTS
from chapar_olsr.source import Identity

if TYPE_CHECKING:
    from types import TracebackType

FOLDER = Path(__file__).resolve().parent / "vectors" / "olsrd"
NET = "10.66.0."


def index_of(address: str) -> int | None:
    """Nodes 1 to 254 of 10.66.0.0/24."""
    host = address.removeprefix(NET)
    return int(host) if address.startswith(NET) and host.isdecimal() and 0 < int(host) < 255 else None


def identity(index: int) -> Identity:
    return Identity(index, f"{NET}{index}", index_of)


def replies(topology: str, node: int) -> dict[str, bytes]:
    """What node `node` answered."""
    return {each: (FOLDER / topology / f"n{node}.{each}.json").read_bytes() for each in ENDPOINTS}


class FakeOlsrd:
    """Serves `replies`, or what `broken` says instead for a path: bytes to send as they are, None to say nothing."""

    def __init__(self, replies: dict[str, bytes]) -> None:
        self.replies = replies
        self.broken: dict[str, bytes | None] = {}
        self.content_type = "application/vnd.api+json; charset=utf-8"
        self.asked: list[str] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                request = await reader.readuntil(b"\r\n\r\n")
                path = request.split(b" ")[1].decode()
                self.asked.append(path)
                answer = self.broken[path] if path in self.broken else self._answer(path)
                if answer is None:
                    await reader.read()  # until the other end has had enough
                else:
                    writer.write(answer)
                    await writer.drain()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _answer(self, path: str) -> bytes:
        body = self.replies[path.removeprefix("/")]
        head = f"HTTP/1.1 200 OK\r\nServer: OLSRD jsoninfo\r\nContent-Type: {self.content_type}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
