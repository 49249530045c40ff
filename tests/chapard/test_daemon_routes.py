"""A daemon and its source of routes: whatever the source says or does, the daemon serves.

The sources here are a file and an olsrd on loopback, which answers as it is told to. The clock of the event loop can be
set forward, so that nobody waits for a view to age.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from chapar.endpoint import Endpoint
from chapard.core.roles import Role, Why
from chapard.daemon import Daemon
from chapard.routes import FAULT_KINDS, OK, STARTING
from chapard.settings import (
    ClientsSettings,
    HttpSettings,
    MeshSettings,
    NodeSettings,
    OlsrSettings,
    RoutesSettings,
    Settings,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
    from pathlib import Path

PATIENCE = 10.0
HERE: Final = Endpoint("127.0.0.1", 0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be set forward."""

    leapt = 0.0

    def time(self) -> float:
        return super().time() + self.leapt


def leap(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    loop.leapt += seconds


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(work)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.005)


def settings(routes: RoutesSettings) -> Settings:
    """Node 1 on loopback, without a disk."""
    return Settings(
        node=NodeSettings(durable=False),
        mesh=MeshSettings(port=0, receive_buffer=65_536, send_buffer=65_536),
        clients=ClientsSettings(listen=HERE, receive_buffer=65_536, send_buffer=65_536),
        http=HttpSettings(listen=HERE),
        routes=routes,
    )


@asynccontextmanager
async def daemon_with(
    routes: RoutesSettings, reload: Callable[[], Settings] | None = None
) -> AsyncIterator[Daemon]:
    daemon = Daemon(settings(routes), reload)
    await daemon.start()
    try:
        yield daemon
    finally:
        await daemon.stop()


async def said(daemon: Daemon, path: str) -> dict[str, Any]:
    """A page, which a daemon that does not serve would not give."""
    assert daemon.http_address is not None
    reader, writer = await asyncio.open_connection(*daemon.http_address)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    page: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return page


def neighbour(host: str, **more: object) -> dict[str, object]:
    return {
        "ipAddress": host, "symmetric": True, "willingness": 3,
        "isMultiPointRelay": False, "multiPointRelaySelector": False, **more,
    }  # fmt: skip


PAIR: Final[Mapping[str, object]] = {
    "neighbors": [neighbour("127.0.0.2")],
    "routes": [{"destination": "127.0.0.2", "genmask": 32, "gateway": "127.0.0.2", "metric": 1}],
    "mid": [],
    "links": [{"remoteIP": "127.0.0.2", "linkQuality": 1.0, "neighborLinkQuality": 0.5}],
}
"""What the olsrd of node 1 says that has node 2 as its neighbour."""


def http(body: bytes) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body


def reply(network: Mapping[str, object], endpoint: str) -> bytes:
    return http(json.dumps({endpoint: network[endpoint]}).encode())


class FakeOlsrd:
    """Answers each question with what `answer` gives for its endpoint; None: hangs up without a word."""

    def __init__(self, answer: Callable[[str], bytes | None]) -> None:
        self.answer = answer
        self.questions = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._asked, HERE.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def die(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.questions += 1
            writer.write(self.answer(request.split()[1].strip("/")) or b"")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):  # the daemon has heard enough
            pass
        finally:
            writer.close()


@asynccontextmanager
async def olsrd(answer: Callable[[str], bytes | None]) -> AsyncIterator[FakeOlsrd]:
    fake = FakeOlsrd(answer)
    await fake.start()
    try:
        yield fake
    finally:
        await fake.die()


def asking(fake: FakeOlsrd) -> RoutesSettings:
    return RoutesSettings(source="olsrd", server=f"{HERE.host}:{fake.port}")


def is_alone(daemon: Daemon) -> bool:
    node = daemon.driver.node
    return (node.role, node.why) == (Role.BROKER, Why.ALONE) and not node.station.view.routes


def test_a_source_is_shown_with_what_it_knows() -> None:
    """State, version, routes and the quality of links; a node with neighbours does not begin as one that is alone."""

    async def work() -> None:
        async with olsrd(lambda endpoint: reply(PAIR, endpoint)) as fake, daemon_with(asking(fake)) as daemon:
            assert daemon.driver.node.station.view.neighbours == {2}
            page = await said(daemon, "/status/routes")
            assert (page["source"], page["state"], page["version"], page["faults"]) == ("olsrd", OK, 1, {})
            assert page["routes"] == [{"destination": 2, "next_hop": 2, "hops": 1}]
            assert page["quality"] == {"2": 0.5}

    run(work())


LIES: Final[Mapping[str, tuple[Callable[[str], bytes | None], str]]] = {
    "silence": (lambda _: None, "truncated"),
    "noise": (lambda _: bytes(range(256)) * 40, "not_http"),
    "refusal": (lambda _: b"HTTP/1.0 503 Service Unavailable\r\n\r\nlater", "not_http"),
    "a page for people": (lambda _: b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", "content_type"),
    "half an answer": (lambda endpoint: reply(PAIR, endpoint)[:-20], "truncated"),
    "no JSON": (lambda _: http(b"neighbors: none"), "syntax"),
    "too deep": (lambda _: http(b"[" * 200_000), "syntax"),
    "another list": (lambda _: http(b'{"interfaces": []}'), "missing"),
    "no end": (lambda _: http(b" " * 5_000_000), "too_large"),
}
"""What an olsrd may answer, and the kind of fault that it is."""


@pytest.mark.parametrize("lie", LIES)
def test_a_source_that_lies_leaves_a_node_that_serves_alone(lie: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each answer that gives no view is a fault of its kind and a state in words; no mistake, no error, no end."""
    answer, kind = LIES[lie]

    async def work() -> None:
        async with olsrd(answer) as fake, daemon_with(asking(fake)) as daemon:
            await until(lambda: daemon.surroundings().route_state.startswith("down: "))
            page = await said(daemon, "/status")
            assert page["routes"]["faults"] == {kind: 1}
            assert set(daemon.surroundings().route_faults) == set(FAULT_KINDS)
            assert is_alone(daemon)
            assert daemon.driver.faults == 0
            fake.answer = lambda endpoint: reply(PAIR, endpoint)
            leap(10)
            await until(lambda: daemon.driver.node.station.view.neighbours == {2})
            assert daemon.surroundings().route_state == OK

    run(work())
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


def test_nonsense_in_an_answer_costs_the_nonsense_only() -> None:
    """A neighbour of another network, a route over nobody: counted, left out, and the rest stands."""
    nonsense = {
        **PAIR,
        "neighbors": [*PAIR["neighbors"], neighbour("192.0.2.9"), 7],  # type: ignore[misc] # a list, as it is above
        "routes": [{"destination": "127.0.0.5", "genmask": 32, "gateway": "127.0.0.4", "metric": 2}],
    }

    async def work() -> None:
        async with olsrd(lambda endpoint: reply(nonsense, endpoint)) as fake, daemon_with(asking(fake)) as daemon:
            page = await said(daemon, "/status/routes")
            assert (page["state"], [route["destination"] for route in page["routes"]]) == (OK, [2])
            assert {"outside_prefix", "bad_value", "loop"} <= page["faults"].keys()

    run(work())


def test_a_source_that_dies_leaves_its_routes_for_a_while() -> None:
    """Then the node serves alone; and when the source is back, so are its routes, and all of it in one process."""

    async def work() -> None:
        async with olsrd(lambda endpoint: reply(PAIR, endpoint)) as fake, daemon_with(asking(fake)) as daemon:
            await fake.die()
            leap(3)
            await until(lambda: daemon.surroundings().route_state.startswith("stale: "))
            assert daemon.driver.node.station.view.neighbours == {2}
            leap(20)
            await until(lambda: daemon.surroundings().route_state.startswith("down: "))
            assert is_alone(daemon)
            await fake.start()
            leap(10)
            await until(lambda: daemon.surroundings().route_state == OK)
            assert daemon.driver.node.station.view.neighbours == {2}
            assert daemon.surroundings().route_version == 3
            assert daemon.driver.faults == 0

    run(work())


def test_routes_written_by_hand_do_not_age(tmp_path: Path) -> None:
    """A file that is gone was true when it was read: an hour later its routes stand, and the state says why."""

    async def work() -> None:
        file = tmp_path / "routes.toml"
        file.write_text("neighbours = [7]\n")
        async with daemon_with(RoutesSettings(source="static", file=file)) as daemon:
            file.unlink()
            leap(3)
            await until(lambda: daemon.surroundings().route_state.startswith("stale: "))
            leap(3600)
            for _ in range(20):
                await asyncio.sleep(0)
            assert daemon.driver.node.station.view.neighbours == {7}
            assert daemon.surroundings().route_state.startswith("stale: ")

    run(work())


def test_the_last_routes_stand_until_the_next_source_has_some(tmp_path: Path) -> None:
    """A reload to a source that has not answered yet does not make a node forget its neighbours."""
    file = tmp_path / "routes.toml"
    file.write_text("neighbours = [2, 7]\n")

    async def work() -> None:
        async with olsrd(lambda _: None) as fake:
            before = RoutesSettings(source="static", file=file)
            async with daemon_with(before, lambda: replace(settings(before), routes=asking(fake))) as daemon:
                daemon.reload()
                await until(lambda: fake.questions > 0)
                await until(lambda: daemon.surroundings().route_state.startswith("down: "))
                assert daemon.surroundings().route_source == "olsrd"
                assert daemon.driver.node.station.view.neighbours == {2, 7}
                fake.answer = lambda endpoint: reply(PAIR, endpoint)
                leap(10)
                await until(lambda: daemon.driver.node.station.view.neighbours == {2})

    run(work())


def test_a_source_that_never_answers_ends_the_last_ones_routes() -> None:
    """They age like its own would: nobody vouches for them any more."""

    async def work() -> None:
        async with olsrd(lambda endpoint: reply(PAIR, endpoint)) as fake, olsrd(lambda _: None) as dumb:
            before = asking(fake)
            async with daemon_with(before, lambda: replace(settings(before), routes=asking(dumb))) as daemon:
                daemon.reload()
                await until(lambda: dumb.questions > 0)
                assert daemon.driver.node.station.view.neighbours == {2}
                leap(20)
                await until(lambda: is_alone(daemon))

    run(work())


def test_an_agent_that_is_changed_gets_its_port_again() -> None:
    """A reload starts the next agent when the last one has let go: on one interface there is room for one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    before = replace(
        settings(RoutesSettings(source="static")),
        node=NodeSettings(durable=False, prefixes=("127.0.0.0/8",)),
        mesh=MeshSettings(port=0, interfaces=("lo",), receive_buffer=65_536, send_buffer=65_536),
        routes=RoutesSettings(source="embedded"),
        olsr=OlsrSettings(port=port, install_routes=False),
    )
    after = replace(before, olsr=replace(before.olsr, willingness=7))

    async def work() -> None:
        daemon = Daemon(before, lambda: after)
        await daemon.start()
        assert daemon.surroundings().route_state == OK
        daemon.reload()
        assert daemon.settings == after
        await until(lambda: daemon.surroundings().route_state != STARTING)
        assert daemon.surroundings().route_state == OK
        assert sum(daemon.surroundings().route_faults.values()) == 0
        await daemon.stop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
            again.bind(("", port))

    run(work())
