"""Routes from a running olsrd, here a fake one that replays what a real one said."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.jsoninfo import ENDPOINTS, read_untrusted
from chapar_olsr.live import OK, LiveRoutes
from chapar_olsr.olsrd import OlsrdSource
from chapar_olsr.source import SourceError
from fake_olsrd import FakeOlsrd, identity, replies
from virtual_loop import run

if TYPE_CHECKING:
    from chapar_olsr.view import RouteView

THREE = identity(3)


def expected(topology: str) -> RouteView:
    return read_untrusted(replies(topology, 3), THREE, Faults())


def test_it_asks_for_four_tables_one_after_the_other_and_no_more() -> None:
    """And gives the view that the replies mean."""

    async def work() -> None:
        async with FakeOlsrd(replies("chain5", 3)) as server:
            assert await OlsrdSource(THREE, port=server.port).ask() == expected("chain5")
            assert server.asked == [f"/{each}" for each in ENDPOINTS]

    asyncio.run(work())


def test_its_views_are_what_it_answers() -> None:
    """Each time it is asked."""

    async def work() -> None:
        async with FakeOlsrd(replies("chain5", 3)) as server:
            source = OlsrdSource(THREE, port=server.port)
            async with aclosing(source.views()) as views:
                assert await anext(views) == await source.ask()
                assert await anext(views) == await source.ask()

    run(work(), has_company=True)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{", Fault.TRUNCATED),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", Fault.CONTENT_TYPE),
        (b"HTTP/1.1 200 OK\r\n\r\n{nonsense}", Fault.SYNTAX),
        (b'{"routes": [', Fault.SYNTAX),
        (b'HTTP/1.1 200 OK\r\n\r\n{"error": "no"}', Fault.MISSING),
        (b"HTTP/1.1 503 Busy\r\n\r\n", Fault.NOT_HTTP),
        (b"", Fault.TRUNCATED),
        (None, Fault.UNREACHABLE),
    ],
)
def test_an_olsrd_that_misbehaves_is_counted_outlived_and_believed_again(answer: bytes | None, fault: Fault) -> None:
    """The last view stands, then the node is alone, and when the answers are good again they count."""

    async def work() -> None:
        async with FakeOlsrd(replies("chain5", 3)) as server:
            routes = LiveRoutes(OlsrdSource(THREE, port=server.port), index=3)
            seen: list[RouteView] = []
            task = asyncio.create_task(routes.run(seen.append))
            await until(lambda: routes.state == OK)
            server.broken["/routes"] = answer
            await until(lambda: routes.state.startswith("stale"))
            assert routes.view == expected("chain5")
            await until(lambda: routes.state.startswith("down"))
            assert not routes.view.neighbours
            assert routes.faults.counts[fault] > 0
            server.broken.clear()
            await until(lambda: routes.state == OK)
            assert [len(view.routes) for view in seen] == [0, 4, 0, 4]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(work(), has_company=True)


def test_an_olsrd_that_restarts_is_found_again() -> None:
    """On the same port, with other neighbours."""

    async def work() -> None:
        async with FakeOlsrd(replies("chain5", 3)) as server:
            source = OlsrdSource(THREE, port=server.port)
            await source.ask()
            await server.stop()
            with pytest.raises(SourceError):
                await source.ask()
            server.replies = replies("grid9", 3)
            await server.start()
            assert await source.ask() == expected("grid9")

    asyncio.run(work())


async def until(condition: object) -> None:
    """Wait, in virtual time, until something holds."""
    assert callable(condition)
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.25)
