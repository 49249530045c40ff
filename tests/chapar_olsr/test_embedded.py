"""The agent in this process: its driver on loopback, and the views that come of it."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import aclosing
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.embedded import AgentDriver, EmbeddedSource, KernelRoutes, wanted_routes
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.route_table import RouteTable, RouteTableError
from chapar_olsr.sockets import OlsrSockets
from chapar_olsr.source import Identity, SourceError
from chapar_olsr.view import Route
from olsr_loopback import LOOPBACK, loop_factory, neighbour, port, run
from olsr_network import Network

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping

    from chapar_olsr.agent.agent import Agent

__all__ = ["loop_factory", "neighbour", "port"]  # fixtures

QUICK = AgentConfig(hello_interval=0.1, tc_interval=0.1, mid_interval=0.1)
"""So that nobody waits."""


def index_of(address: str) -> int | None:
    host = ip_address(address)
    return int(host) & 0xFF if address.startswith(("127.0.0.", "10.66.0.")) else None


def source(port: int, config: AgentConfig = QUICK) -> EmbeddedSource:
    identity = Identity(1, "127.0.0.1", index_of)
    return EmbeddedSource(identity, config, [LOOPBACK], port=port, install_routes=False)


def test_a_node_alone_has_a_view_at_once(port: int) -> None:
    """It knows nobody, which is a view: the node can serve."""

    async def work() -> None:
        async with aclosing(source(port).views()) as views:
            view = await anext(views)
            assert (view.index, view.address) == (1, "127.0.0.1")
            assert (view.neighbours, view.routes, view.mprs) == (frozenset(), {}, frozenset())

    run(work, None)


class Speaker:
    """An agent at 127.0.0.2 whose packets a test carries to and fro.

    Both ends cannot have the same port of one interface, so it hears nothing: it is told by the test, as its view of
    the world, what the other node would have said.
    """

    def __init__(self, port: int, sock: socket.socket) -> None:
        self.network = Network([int(ip_address("127.0.0.2")), LOOPBACK.number], [], QUICK)
        self.network.heal(LOOPBACK.number, int(ip_address("127.0.0.2")))
        self._port = port
        self._socket = sock

    def speak(self) -> None:
        """Send what the next second of this node's life has it say."""
        told = len(self.network.sent)
        self.network.run_for(1.0)
        for _, sender, data in self.network.sent[told:]:
            if sender != LOOPBACK.number:
                self._socket.sendto(data, ("127.0.0.1", self._port))


def test_a_neighbour_appears_and_goes(
    port: int, neighbour: socket.socket, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    """A node that is heard, and says that it hears us, is in the view; when it falls silent it leaves the view."""

    async def work() -> None:
        other = Speaker(port, neighbour)
        async with aclosing(source(port).views()) as views:
            view = await anext(views)
            other.speak()
            while not view.neighbours:
                view = await anext(views)
            assert view.neighbours == {2}
            assert view.routes == {2: Route(2, 1)}
            while view.neighbours:
                view = await anext(views)
            assert view.routes == {}

    run(work, loop_factory)


def test_a_foreign_datagram_is_a_counter(port: int, neighbour: socket.socket) -> None:
    """It changes nothing but the count of faults."""

    async def work() -> None:
        embedded = source(port)
        async with aclosing(embedded.views()) as views:
            await anext(views)
            neighbour.sendto(b"\xff" * 40, ("127.0.0.1", port))
            while not embedded.faults.counts:
                await asyncio.sleep(0)
            assert embedded.faults.counts == {Fault.PACKET_LENGTH: 1}

    run(work, None)


def test_the_agent_is_given_again_though_nothing_has_changed(port: int) -> None:
    """It is the sign of life by which a source stands by its view."""

    async def work() -> None:
        driver = AgentDriver(QUICK, [LOOPBACK], port=port, install_routes=False, sign_of_life=0.01)
        async with aclosing(driver.run()) as running:
            versions = [(await anext(running)).version for _ in range(4)]
            assert versions[1] == versions[2] == versions[3]

    run(work, None)


def test_a_source_can_be_asked_again(port: int) -> None:
    """When views are not wanted any more, the port is free."""

    async def work() -> None:
        embedded = source(port)
        for _ in range(2):
            async with aclosing(embedded.views()) as views:
                await anext(views)

    run(work, None)


def broken(*_: object) -> None:
    raise ZeroDivisionError


async def exhausted(running: AsyncIterator[Agent]) -> None:
    async for _ in running:
        pass


def test_a_mistake_of_ours_is_raised_where_views_are_asked_for(port: int, neighbour: socket.socket) -> None:
    """Not in the event loop, where nobody would act on it; and the agent is stopped."""

    async def work() -> None:
        driver = AgentDriver(QUICK, [LOOPBACK], port=port, install_routes=False)
        async with aclosing(driver.run()) as running:
            agent = await anext(running)
            agent.datagram_received = broken  # type: ignore[method-assign, assignment]  # a mistake, made on purpose
            neighbour.sendto(b"x", ("127.0.0.1", port))
            with pytest.raises(ZeroDivisionError):
                await exhausted(running)
        alone = OlsrSockets([LOOPBACK], port, lambda _: None, Faults())
        alone.open()
        alone.close()

    run(work, None)


# The kernel's routes


def test_nobodys_address_gets_no_route() -> None:
    """Whoever names a group as its neighbour does not lead what is for the group astray."""
    ours, relay, far, group = (int(ip_address(each)) for each in ("10.66.0.1", "10.66.0.2", "10.66.0.3", "224.0.0.251"))
    network = Network([ours, relay, far, group], [(ours, relay), (relay, far), (relay, group)])
    network.run(30)
    faults = Faults()
    wanted = wanted_routes(network.agents[ours], lambda each: str(ip_address(each)), lambda _: "wlan0", faults)
    assert wanted == {"10.66.0.2": ("10.66.0.2", "wlan0", 1), "10.66.0.3": ("10.66.0.2", "wlan0", 2)}
    assert faults.counts == {Fault.BAD_ADDRESS: 1}


class FakeTable(RouteTable):
    """Remembers what it is told, or refuses it."""

    def __init__(self, refuses: str = "") -> None:
        self.calls: list[str] = []
        self._refuses = refuses

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self._refuses:
            raise RouteTableError("not permitted")

    async def open(self) -> None:
        self._call("open")

    async def update(self, wanted: Mapping[str, tuple[str, str, int]]) -> None:
        assert wanted == {}
        self._call("update")

    async def close(self) -> None:
        self._call("close")


@pytest.mark.parametrize(
    ("refuses", "calls", "lines"),
    [
        ("", ["open", "update", "update", "close"], 0),
        ("open", ["open", "close"], 1),
        ("update", ["open", "update", "update", "close"], 1),
        ("close", ["open", "update", "update", "close"], 1),
    ],
)
def test_a_kernel_that_refuses_is_complained_of_once(
    refuses: str, calls: list[str], lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent goes on without routes in the kernel; what can be taken back at the end is."""
    table = FakeTable(refuses)

    async def work() -> None:
        kernel = KernelRoutes(table)
        await kernel.open()
        await kernel.update({})
        await kernel.update({})
        await kernel.close()
        await kernel.close()

    run(work, None)
    assert table.calls == calls
    assert len(caplog.records) == lines
    assert all("routes are not in the kernel: not permitted" in each.getMessage() for each in caplog.records)


def test_the_agent_runs_without_netlink(
    port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where routes cannot be kept in the kernel at all it finds them nevertheless, and the log says why once."""
    monkeypatch.setitem(sys.modules, "pyroute2", None)

    async def work() -> None:
        driver = AgentDriver(QUICK, [LOOPBACK], port=port)
        async with aclosing(driver.run()) as running:
            assert (await anext(running)).main == LOOPBACK.number

    run(work, None)
    (record,) = caplog.records
    assert "routes are not in the kernel: pyroute2 is not installed" in record.getMessage()


def test_an_agent_that_cannot_speak_leaves_nothing_open(port: int) -> None:
    """It will be started again and again."""

    async def work() -> int:
        with pytest.raises(SourceError, match="cannot speak OLSR"):
            await anext(AgentDriver(QUICK, [LOOPBACK], port=port).run())
        return len(os.listdir("/proc/self/fd"))

    async def twice() -> None:
        alone = OlsrSockets([LOOPBACK], port, lambda _: None, Faults())
        alone.open()
        assert await work() == await work()
        alone.close()

    run(twice, None)


class SlowTable(FakeTable):
    """Takes its time to put routes in."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()

    async def update(self, wanted: Mapping[str, tuple[str, str, int]]) -> None:
        self.calls.append("begun")
        await self.may_go_on.wait()
        await super().update(wanted)


def test_an_update_is_finished_before_routes_are_taken_out() -> None:
    """Whoever is told to stop half-way would else leave a route behind that nobody knows of."""
    table = SlowTable()

    async def work() -> None:
        kernel = KernelRoutes(table)
        await kernel.open()
        updating = asyncio.get_running_loop().create_task(kernel.update({}))
        while "begun" not in table.calls:
            await asyncio.sleep(0)
        updating.cancel()
        await asyncio.gather(updating, return_exceptions=True)
        closing = asyncio.get_running_loop().create_task(kernel.close())
        await asyncio.sleep(0)
        table.may_go_on.set()
        await closing

    run(work, None)
    assert table.calls == ["open", "begun", "update", "close"]
