"""Routes from a running olsrd2, here a fake one on loopback."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.faults import Fault
from chapar_olsr.live import OK, LiveRoutes
from chapar_olsr.olsrd2 import Olsrd2Source
from chapar_olsr.oonf import COMMANDS
from chapar_olsr.source import SourceError
from fake_olsrd import FakeOlsrd, identity
from virtual_loop import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ONE = identity(1)


def answers(*neighbours: int) -> dict[str, bytes]:
    """What an olsrd2 next to these nodes says."""
    near = [
        {"neighbor_originator": f"10.66.0.{each}", "neighbor_symmetric": "true", "domain": 0} for each in neighbours
    ]
    listed: dict[str, list[dict[str, object]]] = {
        "neighbor": [dict(each) for each in near],
        "link_addr": [],
        "route": [],
    }
    return {name: json.dumps({name: entries}).encode() for name, entries in listed.items()}


def over_http(*neighbours: int) -> dict[str, bytes]:
    """The same by the paths of the telnet bridge."""
    found = answers(*neighbours)
    return {f"telnet/{command.replace(' ', '%20')}": found[name] for name, command in COMMANDS.items()}


def fake(*neighbours: int) -> FakeOlsrd:
    server = FakeOlsrd(over_http(*neighbours))
    server.content_type = "text/plain"  # so the bridge calls all it sends
    return server


@asynccontextmanager
async def telnet(lines: list[bytes]) -> AsyncIterator[int]:
    """The port of a fake telnet console next to node 2, which notes what it is told."""
    by_command = {f"/{command}\n".encode(): answers(2)[name] for name, command in COMMANDS.items()}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        lines.append(line)
        writer.write(by_command.get(line, b"Error, unknown command\n"))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def test_over_http_it_asks_the_telnet_bridge() -> None:
    """One request per command, with its spaces escaped."""

    async def work() -> None:
        async with fake(2, 3) as server:
            view = await Olsrd2Source(ONE, port=server.port).ask()
            assert view.neighbours == {2, 3}
            assert server.asked == [f"/{path}" for path in over_http()]
            assert not any(" " in path for path in server.asked)

    asyncio.run(work())


def test_over_telnet_each_command_is_a_line_that_ends_the_connection() -> None:
    """A slash before it asks for that."""
    lines: list[bytes] = []

    async def work() -> None:
        async with telnet(lines) as port:
            view = await Olsrd2Source(ONE, port=port, telnet_port=port).ask()
            assert view.neighbours == {2}

    asyncio.run(work())
    assert lines == [f"/{command}\n".encode() for command in COMMANDS.values()]


def test_its_views_are_what_it_answers() -> None:
    """Each time it is asked."""

    async def work() -> None:
        async with fake(2) as server:
            source = Olsrd2Source(ONE, port=server.port)
            async with aclosing(source.views()) as views:
                assert await anext(views) == await source.ask()
                assert await anext(views) == await source.ask()

    run(work(), has_company=True)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-length: 900\r\n\r\n{", Fault.TRUNCATED),
        (b"HTTP/1.0 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>", Fault.NOT_HTTP),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nUnknown parameter", Fault.SYNTAX),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", Fault.MISSING),
        (None, Fault.UNREACHABLE),
    ],
)
def test_an_olsrd2_that_misbehaves_is_counted_and_believed_again(answer: bytes | None, fault: Fault) -> None:
    """The last view stands meanwhile."""

    async def work() -> None:
        async with fake(2) as server:
            routes = LiveRoutes(Olsrd2Source(ONE, port=server.port), index=1)
            task = asyncio.create_task(routes.run(lambda _: None))
            async with asyncio.timeout(120):
                while routes.state != OK:
                    await asyncio.sleep(0.25)
                server.broken[server.asked[-1]] = answer
                while not routes.state.startswith("stale"):
                    await asyncio.sleep(0.25)
                assert routes.view.neighbours == {2}
                assert routes.faults.counts[fault] > 0
                server.broken.clear()
                while routes.state != OK:
                    await asyncio.sleep(0.25)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(work(), has_company=True)


def test_nobody_there_is_an_error() -> None:
    """Over telnet as over HTTP."""

    async def work() -> None:
        async with fake() as server:
            port = server.port
        for telnet_port in (port, 2009):
            with pytest.raises(SourceError) as refused:
                await Olsrd2Source(ONE, port=port, telnet_port=telnet_port).ask()
            assert refused.value.fault is Fault.UNREACHABLE

    asyncio.run(work())
