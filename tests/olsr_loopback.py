"""An OLSR agent's surroundings on loopback: its interface, a neighbour, a free port, and both event loops."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest
import uvloop

from chapar_olsr.interfaces import OlsrInterface

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

LOOPBACK = OlsrInterface("lo", "127.0.0.1", "127.255.255.255")
PATIENCE = 20


def run(work: Callable[[], Awaitable[None]], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await work()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(bounded())


@pytest.fixture(params=[None, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Both loops that the command can run on."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = request.param
    return factory


@pytest.fixture
def port() -> int:
    """A UDP port that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


@pytest.fixture
def neighbour() -> Iterator[socket.socket]:
    """A socket with the address of somebody else on the same link."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))
        yield other
