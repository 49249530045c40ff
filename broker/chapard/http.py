"""A very small HTTP/1.1 server for the pages that tools on this machine read: metrics, status, health.

It answers GET and HEAD of fixed paths, one request per connection, and nothing else. Whoever connects can hold little
of the daemon: a request head of 8 kB, a few seconds, one of 16 places. A page is made and written in one go, so the
bytes of the largest page times the places bound its memory.

The standard library's server needs a thread and a socket of its own, and the page would be made while the protocol
runs; here a page is made between two turns of the loop, and sees the node at rest.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Page = Callable[[], tuple[int, str, bytes]]
    """Gives status, content type and body."""

MAX_HEAD_BYTES: Final = 8 * 1024
"""Request line and headers."""
READ_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 5.0
MOST_CONNECTIONS: Final = 16
"""Connections beyond these are told so and closed at once: the few bytes fit into any socket's buffer."""

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - a word of the grammar of HTTP, no secret
_REQUEST: Final = re.compile(rf"({_TOKEN}) (?:http://[^/?#\s]*)?(/[^?#\s]*)(?:[?#]\S*)? HTTP/1\.([0-9])")
_FIELD: Final = re.compile(rf"({_TOKEN}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")


class _Answer(NamedTuple):
    status: HTTPStatus
    content_type: str
    body: bytes
    fields: tuple[str, ...] = ()
    has_body: bool = True

    def encode(self) -> bytes:
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-store",
            "Connection: close",
            *self.fields,
        )
        return "\r\n".join((*head, "", "")).encode("latin-1") + (self.body if self.has_body else b"")


class HttpServer:
    """Serves `pages`, by path."""

    def __init__(
        self, pages: Mapping[str, Page], *, read_seconds: float = READ_SECONDS, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.refused = 0
        """Connections turned away because every place was taken."""
        self._pages = pages
        self._read_seconds = read_seconds
        self._write_seconds = write_seconds
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = 0

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError if that cannot be."""
        self._server = await asyncio.start_server(self._connected, host, port, limit=MAX_HEAD_BYTES)

    @property
    def port(self) -> int:
        """The port that is listened on, where 0 was asked for."""
        assert self._server is not None, "started"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """Places taken at this moment."""
        return self._taken

    async def close(self) -> None:
        """Stop listening, and drop whoever is connected."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        has_place = self._taken < MOST_CONNECTIONS
        talk = self._converse(reader, writer) if has_place else self._turn_away(writer)
        task = asyncio.get_running_loop().create_task(talk)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if has_place:
            self._taken += 1
            task.add_done_callback(self._left)

    def _left(self, _: asyncio.Task[None]) -> None:
        self._taken -= 1

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answer(reader)
            if answer is not None:
                await self._say(answer, writer)
        finally:
            writer.transport.abort()

    async def _turn_away(self, writer: asyncio.StreamWriter) -> None:
        self.refused += 1
        text = "too many connections: try again"
        await self._say(_problem(HTTPStatus.SERVICE_UNAVAILABLE, text, "Retry-After: 1"), writer)

    async def _say(self, answer: _Answer, writer: asyncio.StreamWriter) -> None:
        if writer.transport.is_closing():
            return
        with suppress(OSError):  # the client is gone, or (TimeoutError) does not read: there is nobody to tell
            async with asyncio.timeout(self._write_seconds):
                writer.write(answer.encode())
                writer.write_eof()  # before closing, which resets the connection if part of the request was not read
                writer.close()
                await writer.wait_closed()  # until all is written
        writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> _Answer | None:
        """The answer to what is asked; None if nobody is there to hear it."""
        try:
            async with asyncio.timeout(self._read_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return _problem(HTTPStatus.REQUEST_TIMEOUT, f"the request did not come within {self._read_seconds:g} s")
        except OSError:
            return None
        except asyncio.IncompleteReadError:
            return _problem(HTTPStatus.BAD_REQUEST, "the request ends before its headers do")
        except asyncio.LimitOverrunError:
            text = f"request line and headers have at most {MAX_HEAD_BYTES} bytes"
            return _problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text)
        return self._page(head.decode("latin-1"))

    def _page(self, head: str) -> _Answer:
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        request = _REQUEST.fullmatch(line)
        parsed = [_FIELD.fullmatch(each) for each in fields]
        if request is None or None in parsed:
            return _problem(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
        method, path, minor = request.groups()
        hosts = sum(each is not None and each[1].lower() == "host" for each in parsed)
        if hosts > 1 or (minor != "0" and hosts == 0):
            return _problem(HTTPStatus.BAD_REQUEST, "a request names its host once")
        if method not in ("GET", "HEAD"):
            return _problem(HTTPStatus.METHOD_NOT_ALLOWED, "there is only GET and HEAD here", "Allow: GET, HEAD")
        page = self._pages.get(path)
        if page is None:
            answer = _problem(HTTPStatus.NOT_FOUND, f"no such page; there are {', '.join(sorted(self._pages))}")
        else:
            status, content_type, body = page()
            answer = _Answer(HTTPStatus(status), content_type, body)
        return answer._replace(has_body=method == "GET")


def _problem(status: HTTPStatus, text: str, *fields: str) -> _Answer:
    return _Answer(status, "text/plain; charset=utf-8", f"{text}\n".encode(), fields)
