"""The driver of babeld's local socket, against a server on loopback that says what babeld says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.babeld import BabeldSource
from chapar_olsr.faults import Fault
from chapar_olsr.source import Identity, SourceError
from chapar_olsr.view import Route

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_olsr.view import RouteView

GREETING = b"BABEL 1.0\nversion babeld-1.12.1\nhost node\nmy-id 02:00:00:00:00:00:00:01\nok\n"
NEAR = b"add neighbour 52 address fe80::2 if wlan0 reach ffff ureach 0000 rxcost 96 txcost 96 cost 96\n"
PATIENCE = 10.0
"""Seconds for a test as a whole; none comes near it."""
SHORT = 0.05
"""Seconds that a source waits here where it would wait some."""

Say = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def way(to: int, refmetric: int) -> bytes:
    return (
        f"add route 6{to} prefix 10.66.0.{to}/32 from 0.0.0.0/0 installed yes id 02:00:00:00:00:00:00:02 "
        f"metric {refmetric + 96} refmetric {refmetric} via fe80::2 if wlan0\n"
    ).encode()


def index_of(address: str) -> int | None:
    return int(address.removeprefix("10.66.0.")) if address.startswith("10.66.0.") else None


def source(server: str, *, ask_after: float = SHORT, patience: float = 1.0) -> BabeldSource:
    identity = Identity(1, "10.66.0.1", index_of)
    return BabeldSource(identity, server, patience=patience, ask_after=ask_after, burst=0.01)


async def against(say: Say, use: Callable[[str], Awaitable[None]]) -> None:
    """Use a server on loopback that does as told to each who connects."""
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clients.add(asyncio.current_task())  # type: ignore[arg-type]  # it runs in one
        try:
            await say(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        async with asyncio.timeout(PATIENCE):
            await use(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    finally:
        server.close()
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        await server.wait_closed()


def run(say: Say, use: Callable[[str], Awaitable[None]]) -> None:
    asyncio.run(against(say, use))


def failure(say: Say, **kw: float) -> SourceError:
    """How a source fails with such a server."""
    found: list[SourceError] = []

    async def use(server: str) -> None:
        async with aclosing(source(server, **kw).views()) as views:
            with pytest.raises(SourceError) as failed:
                [None async for _ in views]
        found.append(failed.value)

    run(say, use)
    assert len(str(found[0]).splitlines()) == 1
    return found[0]


async def forever(_: asyncio.StreamReader) -> None:
    await asyncio.get_running_loop().create_future()


def test_a_view_is_whole_from_the_first() -> None:
    """The first view is there when babeld has told everything, however slowly it does."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whole = GREETING
        for piece in (whole[:7], whole[7:]):
            writer.write(piece)
            await writer.drain()
        assert await reader.readline() == b"monitor\n"
        table = NEAR + way(2, 0) + way(3, 96) + b"ok\n"
        for place in range(0, len(table), 50):
            writer.write(table[place : place + 50])
            await writer.drain()
        await forever(reader)

    async def use(server: str) -> None:
        async with aclosing(source(server).views()) as views:
            first = await anext(views)
        assert first.neighbours == {2}
        assert dict(first.routes) == {2: Route(2, 1), 3: Route(2, 2)}
        assert (first.mprs, first.selectors) == (None, None)

    run(say, use)


def test_a_burst_of_changes_is_one_view() -> None:
    """Every change is told, and many at once are told together."""
    changed = asyncio.Event()

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(NEAR + way(2, 0) + b"ok\n")
        await changed.wait()
        writer.write(b"".join(way(to, 96) for to in range(3, 50)))
        await forever(reader)

    async def use(server: str) -> None:
        found: list[RouteView] = []
        async with aclosing(source(server, ask_after=PATIENCE).views()) as views:
            async for view in views:
                found.append(view)
                changed.set()
                if len(view.routes) == 48:
                    break
        assert len(found) == 2

    run(say, use)


def test_a_quiet_babeld_is_asked_and_its_answer_is_a_sign_of_life() -> None:
    """Where nothing changes the same view comes again and again."""
    asked = []

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        while request := await reader.readline():
            asked.append(request)
            writer.write(NEAR + way(2, 0) + b"ok\n")

    async def use(server: str) -> None:
        found: list[RouteView] = []
        async with aclosing(source(server).views()) as views:
            while len(found) < 3:
                found.append(await anext(views))
        assert found[0] == found[1] == found[2]

    run(say, use)
    assert asked == [b"monitor\n", b"dump\n", b"dump\n"]


def test_a_babeld_that_falls_silent_has_failed() -> None:
    """It was stopped, or it hangs: it does not answer when asked."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(b"ok\n")
        await forever(reader)

    assert "does not answer" in str(failure(say, patience=SHORT))


def test_a_server_that_says_nothing_has_failed() -> None:
    """The kernel accepts connections for a process that is stopped."""

    async def say(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await forever(reader)

    assert "does not greet" in str(failure(say, patience=SHORT))


def test_a_babeld_that_ends_has_failed() -> None:
    """Its end closes the connection."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(b"ok\n")
        await writer.drain()

    error = failure(say)
    assert "has closed the connection" in str(error)
    assert error.fault is Fault.UNREACHABLE


def test_a_babeld_that_refuses_has_failed() -> None:
    """One that knows no `monitor` cannot be followed."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(b"bad\n")
        await forever(reader)

    error = failure(say)
    assert "refuses" in str(error)
    assert error.fault is Fault.SYNTAX


def test_a_line_without_end_is_cut_off() -> None:
    """What is no babeld must not fill the memory."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 100_000)
        await forever(reader)

    error = failure(say)
    assert error.fault is Fault.TOO_LARGE


def test_bytes_that_are_no_text_are_counted() -> None:
    """They are a line that makes no sense, and the next one counts again."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(b"\xff\xfe\x00\n" + NEAR + way(2, 0) + b"ok\n")
        await forever(reader)

    async def use(server: str) -> None:
        following = source(server)
        async with aclosing(following.views()) as views:
            assert (await anext(views)).neighbours == {2}
        assert following.faults.counts == {Fault.SYNTAX: 1}

    run(say, use)


def test_nobody_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    """A port at which nobody listens, and a path at which nothing is."""

    async def fail(server: str) -> str:
        with pytest.raises(SourceError) as failed:
            await anext(source(server).views())
        return str(failed.value)

    for server in ("127.0.0.1:1", str(tmp_path / "nothing")):
        line = asyncio.run(fail(server))
        assert server in line
        assert "-g or -G" in line


def test_a_path_is_a_unix_socket(tmp_path: Path) -> None:
    """babeld -G listens there."""
    path = str(tmp_path / "babel.sock")

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.readline()
        writer.write(NEAR + way(2, 0) + b"ok\n")
        await reader.read()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_unix_server(say, path)
        async with server, asyncio.timeout(PATIENCE), aclosing(source(path).views()) as views:
            assert (await anext(views)).neighbours == {2}

    asyncio.run(main())


@pytest.mark.parametrize(
    "server", ["", "localhost", "::1:33123", "[::1]", "host:", "host:0", "host:65536", ":1", "host:x"]
)
def test_a_place_that_is_none_is_refused(server: str) -> None:
    """Before anything is tried."""
    with pytest.raises(ValueError, match="write host:port"):
        source(server)
