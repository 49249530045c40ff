"""The OLSR agent in this process: its timer, its routes in the kernel, and the source of routes made of it.

`AgentDriver` runs an agent over its sockets, and `EmbeddedSource` puts what the agent knows into views. Neither takes a
decision of the protocol: datagrams go in, what the agent drains goes out, and the one timer follows its next deadline.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import aclosing, suppress
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Final

from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.config import IPV4_BYTES
from chapar_olsr.agent.findings import findings
from chapar_olsr.agent.messages import PORT
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.route_table import RouteTable, RouteTableError
from chapar_olsr.sockets import OlsrSockets, neighbour_address
from chapar_olsr.source import assemble

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from chapar_olsr.agent.config import AgentConfig
    from chapar_olsr.interfaces import OlsrInterface
    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

SIGN_OF_LIFE: Final = 5.0
"""Seconds after which the agent is yielded again, and so the same view, though nothing has changed."""
ADDRESSES_KNOWN: Final = 8192
"""Addresses whose text is kept."""

_log = logging.getLogger(__name__)


class AgentDriver:
    """Runs one agent. `run` yields it whenever what it knows has changed, and every few seconds."""

    def __init__(
        self,
        config: AgentConfig,
        interfaces: Sequence[OlsrInterface],
        *,
        port: int = PORT,
        install_routes: bool = True,
        faults: Faults | None = None,
        sign_of_life: float = SIGN_OF_LIFE,
    ) -> None:
        assert interfaces, "an agent speaks on an interface"
        assert all((each.family == socket.AF_INET) is (config.address_bytes == IPV4_BYTES) for each in interfaces)
        self.faults = faults if faults is not None else Faults()
        self.sockets = OlsrSockets(interfaces, port, self._received, self.faults)
        self._config = config
        self._sign_of_life = sign_of_life
        self._interfaces = {each.number: each for each in interfaces}
        self._table = KernelRoutes() if install_routes else None
        self._agent: Agent | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()
        self._mistake: Exception | None = None
        self._shown = -1
        """The version that was yielded last."""
        self.text = lru_cache(ADDRESSES_KNOWN)(Codec(config.address_bytes).text)
        """An address as a person writes it."""

    def interface_name(self, local: int) -> str:
        """The interface that has this address of ours."""
        return self._interfaces[local].name

    async def run(self) -> AsyncGenerator[Agent, None]:
        """Speak OLSR until closed; to be run once. Raises SourceError if that cannot be."""
        now = asyncio.get_running_loop().time()
        # A node that starts again must not number its messages as it did before, or nobody would read them.
        rng = Random(f"{next(iter(self._interfaces.values())).address} {now!r}")
        self._agent = agent = Agent(self._config, list(self._interfaces), rng, now, self.faults)
        self.sockets.open()
        try:
            if self._table is not None:
                await self._table.open()
            self._turn(agent)
            while True:
                self._news.clear()
                self._shown = agent.version  # what changes while the kernel is told is for the next round
                if self._table is not None:
                    await self._table.update(wanted_routes(agent, self.text, self.interface_name, self.faults))
                yield agent
                await self._next_news(agent)
        finally:
            self._stop()
            if self._table is not None:
                await self._table.close()

    async def _next_news(self, agent: Agent) -> None:
        if agent.version == self._shown:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sign_of_life):
                    await self._news.wait()
        if self._mistake is not None:
            raise self._mistake

    # The agent's turn

    def _received(self, datagrams: list[tuple[bytes, int, int]]) -> None:
        agent = self._agent
        assert agent is not None, "sockets are open while it runs"
        now = asyncio.get_running_loop().time()
        try:
            for data, source, local in datagrams:
                agent.datagram_received(data, source, local, now)
            self._turn(agent)
        except Exception as error:  # noqa: BLE001 - whoever runs us hears of it, not the event loop
            self._give_up(error)

    def _timed_out(self) -> None:
        agent = self._agent
        assert agent is not None, "the timer is set while it runs"
        try:
            self._turn(agent)
        except Exception as error:  # noqa: BLE001 - as above
            self._give_up(error)

    def _turn(self, agent: Agent) -> None:
        """Do what is due, send what that gave, and set the timer."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if agent.next_deadline() <= now:
            agent.tick(now)
        for send in agent.drain(now):
            self.sockets.send(send.interface, send.data)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(agent.next_deadline(), self._timed_out)
        if agent.version != self._shown:
            self._news.set()

    def _give_up(self, mistake: Exception) -> None:
        self._mistake = mistake
        self._news.set()

    def _stop(self) -> None:
        self.sockets.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def wanted_routes(
    agent: Agent, text: Callable[[int], str], interface_name: Callable[[int], str], faults: Faults
) -> dict[str, tuple[str, str, int]]:
    """The routes for the kernel: destination to gateway, interface and hops. It would take one to a group as well."""
    wanted = {}
    for each in agent.routes().values():
        destination = text(each.destination)
        if neighbour_address(destination) is None:
            faults.add(Fault.BAD_ADDRESS, f"a route to {destination}")
        else:
            wanted[destination] = (text(each.gateway), interface_name(each.interface), each.hops)
    return wanted


class KernelRoutes:
    """The kernel's routes follow the agent's. Where the kernel refuses, that is said once; the agent goes on."""

    def __init__(self, table: RouteTable | None = None) -> None:
        self._table = table if table is not None else RouteTable()
        self._is_open = False
        self._has_complained = False
        self._updating: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._is_open = await self._is_done(self._table.open())
        if not self._is_open:
            await self._is_done(self._table.close())

    async def update(self, wanted: dict[str, tuple[str, str, int]]) -> None:
        """Have these routes and no others."""
        if self._is_open:
            # Whoever stops us must not stop this half-way: a route that is in, but not noted, would stay for ever.
            self._updating = asyncio.get_running_loop().create_task(self._update(wanted))
            await asyncio.shield(self._updating)

    async def close(self) -> None:
        """Take all of them out again."""
        if self._is_open:
            self._is_open = False
            if self._updating is not None:
                await self._updating
            await self._is_done(self._table.close())

    async def _update(self, wanted: dict[str, tuple[str, str, int]]) -> None:
        await self._is_done(self._table.update(wanted))

    async def _is_done(self, work: Awaitable[None]) -> bool:
        """Whether the kernel did it."""
        try:
            await work
        except RouteTableError as error:
            if not self._has_complained:
                _log.warning("routes are not in the kernel: %s", error)
            self._has_complained = True
            return False
        return True


class EmbeddedSource:
    """Routes from an OLSR agent of our own."""

    name: Final = "embedded"

    def __init__(
        self,
        identity: Identity,
        config: AgentConfig,
        interfaces: Sequence[OlsrInterface],
        *,
        port: int = PORT,
        install_routes: bool,
    ) -> None:
        self.faults = Faults()
        self._identity = identity
        self._config = config
        self._interfaces = tuple(interfaces)
        self._port = port
        self._install_routes = install_routes

    async def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`. Each call starts an agent that knows nobody yet."""
        driver = AgentDriver(
            self._config,
            self._interfaces,
            port=self._port,
            install_routes=self._install_routes,
            faults=self.faults,
        )
        async with aclosing(driver.run()) as running:
            async for agent in running:
                yield assemble(self._identity, findings(agent, driver.text), self.faults)
