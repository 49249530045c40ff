"""The HTTP server, spoken to in raw bytes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
import uvloop

from chapard.http import MAX_HEAD_BYTES, MOST_CONNECTIONS, HttpServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Conversation = Callable[[HttpServer], Awaitable[None]]
    Converse = Callable[..., None]

PATIENCE = 20.0
LARGE = 16 * 1024 * 1024
PAGES = {
    "/status": lambda: (200, "application/json", json.dumps({"fine": True}).encode()),
    "/healthz": lambda: (503, "text/plain", b"stopping\n"),
    "/large": lambda: (200, "text/plain", b"x" * LARGE),
}


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def converse(request: pytest.FixtureRequest) -> Converse:
    """Runs a conversation with a server that has so much patience, on a loop of either kind."""

    async def served(conversation: Conversation, **seconds: float) -> None:
        server = HttpServer(PAGES, **{"read_seconds": PATIENCE, "write_seconds": PATIENCE, **seconds})
        await server.start("127.0.0.1", 0)
        try:
            async with asyncio.timeout(PATIENCE):
                await conversation(server)
        finally:
            await server.close()

    def run(conversation: Conversation, **seconds: float) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(served(conversation, **seconds))

    return run


async def opened(server: HttpServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", server.port)


async def said(server: HttpServer, request: bytes, *, eof: bool = False) -> bytes:
    """Everything the server says to these bytes, until it closes. They are all sent before it is listened to."""
    reader, writer = await opened(server)
    writer.transport.set_write_buffer_limits(0)
    writer.write(request)
    if eof:
        writer.write_eof()
    try:
        await writer.drain()
    except ConnectionError:
        return b""
    answer = await rest_of(reader)
    writer.transport.abort()
    return answer


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """What comes until the connection ends; nothing if it was cut."""
    try:
        return await reader.read(-1)
    except ConnectionError:
        return b""


def parts(answer: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    return line, dict(field.split(": ", 1) for field in fields), body


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".encode()


def test_a_page_is_served(converse: Converse) -> None:
    """Status, type, length and body are those of the page, and the connection ends."""

    async def conversation(server: HttpServer) -> None:
        line, fields, body = parts(await said(server, get("/status")))
        assert line == "HTTP/1.1 200 OK"
        assert fields["Content-Type"] == "application/json"
        assert fields["Content-Length"] == str(len(body))
        assert fields["Connection"] == "close"
        assert json.loads(body) == {"fine": True}
        line, _, body = parts(await said(server, get("/healthz")))
        assert (line, body) == ("HTTP/1.1 503 Service Unavailable", b"stopping\n")

    converse(conversation)


@pytest.mark.parametrize("target", ["/status?verbose=1", "/status?", "http://localhost:7780/status"])
def test_a_target_is_a_path_and_more(converse: Converse, target: str) -> None:
    """A query is ignored, and the whole address may be named."""

    async def conversation(server: HttpServer) -> None:
        assert parts(await said(server, get(target)))[0] == "HTTP/1.1 200 OK"

    converse(conversation)


def test_head_is_get_without_the_body(converse: Converse) -> None:
    """Length and type are told, of a page that is missing too."""

    async def conversation(server: HttpServer) -> None:
        for path in ("/status", "/nothing"):
            line, fields, body = parts(await said(server, get(path)))
            assert parts(await said(server, get(path, "HEAD"))) == (line, fields, b"")
            assert int(fields["Content-Length"]) == len(body) > 0

    converse(conversation)


def test_whoever_has_said_all_still_gets_a_large_page(converse: Converse) -> None:
    """A client that closes its half at once (as `nc` does) is answered in full."""

    async def conversation(server: HttpServer) -> None:
        _, _, body = parts(await said(server, get("/large"), eof=True))
        assert len(body) == LARGE

    converse(conversation)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/"), 404),
        (get("/status/"), 404),
        (get("/%73tatus"), 404),
        (get("/../etc/passwd"), 404),
        (get("/status", "POST"), 405),
        (get("/status", "DELETE"), 405),
        (b"POST /status HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000, 405),
        (get("status"), 400),
        (get("*", "OPTIONS"), 400),
        (b"GET /status\r\n\r\n", 400),
        (b"GET /status HTTP/2.0\r\nHost: a\r\n\r\n", 400),
        (b"GET  /status HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET /status HTTP/1.1\r\nHost: a\x00b\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\xff" * 500 + b"\r\n\r\n", 400),
        (b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (b"GET /status HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 2000 + b"\r\n", 431),
        (b"x" * 300_000, 431),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else None,
)
def test_what_is_wrong_is_answered(converse: Converse, request_bytes: bytes, status: int) -> None:
    """Each mistake has its status and one line of text, and the server goes on."""

    async def conversation(server: HttpServer) -> None:
        line, fields, body = parts(await said(server, request_bytes))
        assert line.startswith(f"HTTP/1.1 {status} ")
        assert fields["Content-Type"].startswith("text/plain")
        assert body.count(b"\n") == 1
        assert ("Allow" in fields) is (status == 405)
        assert parts(await said(server, get("/status")))[0] == "HTTP/1.1 200 OK"

    converse(conversation)


def test_http_1_0_needs_no_host(converse: Converse) -> None:
    """A person with `nc` types one line."""

    async def conversation(server: HttpServer) -> None:
        assert parts(await said(server, b"GET /status HTTP/1.0\r\n\r\n"))[0] == "HTTP/1.1 200 OK"

    converse(conversation)


def test_a_missing_page_names_those_there_are(converse: Converse) -> None:
    """The line says what to ask for instead."""

    async def conversation(server: HttpServer) -> None:
        assert b"/healthz, /large, /status" in await said(server, get("/stats"))

    converse(conversation)


def test_half_a_request_is_no_request(converse: Converse) -> None:
    """Whoever stops speaking before the headers end is told so."""

    async def conversation(server: HttpServer) -> None:
        answer = await said(server, b"GET /status HTTP/1.1\r\nHost:", eof=True)
        assert answer.startswith(b"HTTP/1.1 400 ")

    converse(conversation)


def test_a_slow_request_is_ended(converse: Converse) -> None:
    """The time for a request runs from its first byte to its last, however steadily it trickles."""

    async def conversation(server: HttpServer) -> None:
        reader, writer = await opened(server)

        async def trickle() -> None:
            while not writer.is_closing():
                writer.write(b"X")
                await writer.drain()
                await asyncio.sleep(0.02)

        task = asyncio.create_task(trickle())
        answer = await reader.read(-1)
        task.cancel()
        writer.close()
        await asyncio.gather(task, return_exceptions=True)
        assert answer.startswith(b"HTTP/1.1 408 ")

    converse(conversation, read_seconds=0.1)


def test_whoever_does_not_read_is_dropped(converse: Converse) -> None:
    """A client that leaves a large page unread loses it, and its place is free again."""

    async def conversation(server: HttpServer) -> None:
        reader, writer = await opened(server)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport too, which the stub forgets
        writer.write(get("/large"))
        while not server.connections:
            await asyncio.sleep(0)
        while server.connections:
            await asyncio.sleep(0.01)
        writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        assert len(await rest_of(reader)) < LARGE
        writer.transport.abort()

    converse(conversation, write_seconds=0.1)


def test_there_are_so_many_places_and_no_more(converse: Converse) -> None:
    """Of a crowd, those who find a place are served; the others are told to try again, and counted."""

    async def conversation(server: HttpServer) -> None:
        crowd = await asyncio.gather(*(opened(server) for _ in range(MOST_CONNECTIONS + 3)))
        while server.refused < 3:
            await asyncio.sleep(0)
        assert parts(await said(server, get("/status")))[0] == "HTTP/1.1 503 Service Unavailable"
        for _, writer in crowd:
            writer.write(get("/status"))
        answers = [parts(await rest_of(reader)) for reader, _ in crowd]
        lines = [line for line, _, _ in answers]
        assert lines.count("HTTP/1.1 200 OK") == MOST_CONNECTIONS
        assert all(fields["Retry-After"] == "1" for line, fields, _ in answers if line != "HTTP/1.1 200 OK")
        while server.connections:
            await asyncio.sleep(0)
        assert server.refused == 4
        assert parts(await said(server, get("/status")))[0] == "HTTP/1.1 200 OK"
        for _, writer in crowd:
            writer.transport.abort()

    converse(conversation)


def test_closing_drops_whoever_is_connected(converse: Converse) -> None:
    """The daemon's stop does not wait for a client."""

    async def conversation(server: HttpServer) -> None:
        port = server.port
        reader, writer = await opened(server)
        writer.write(b"GET /sta")
        while not server.connections:
            await asyncio.sleep(0)
        await server.close()
        assert await rest_of(reader) == b""
        writer.transport.abort()
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("127.0.0.1", port)

    converse(conversation)
