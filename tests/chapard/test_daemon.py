"""Whole daemons in this process, on loopback: they serve, talk to each other, stop in good order and remember."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from chapar.endpoint import Endpoint
from chapar.event import Event
from chapar.filter import Filter
from chapar.session import ClientSession, Closed, Goodbye, Receipt
from chapar.wire.client import datagrams, decode_messages_untrusted
from chapard.daemon import Daemon
from chapard.disk import DiskError
from chapard.routes import RoutesError
from chapard.settings import (
    ClientsSettings,
    HttpSettings,
    LogSettings,
    MeshSettings,
    NodeSettings,
    RoutesSettings,
    Settings,
    SettingsError,
)
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from chapar.session import Message

PATIENCE = 10.0


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.005)


def settings(directory: Path, index: int = 1, mesh_port: int = 0, *, durable: bool = True) -> Settings:
    """A node on a loopback address of its own, on free ports."""
    here = Endpoint("127.0.0.1", 0)
    return Settings(
        node=NodeSettings(address=f"127.0.0.{index}", state_dir=directory / f"node-{index}", durable=durable),
        mesh=MeshSettings(port=mesh_port, receive_buffer=65_536, send_buffer=65_536),
        clients=ClientsSettings(listen=here, receive_buffer=65_536, send_buffer=65_536),
        http=HttpSettings(listen=here),
    )


class Application:
    """The client's machine on a socket."""

    def __init__(self, name: str, daemon: Daemon) -> None:
        self.session = ClientSession(name)
        self.heard: list[Message] = []
        self.events: list[bytes] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(daemon.client_address)
        self._socket.settimeout(0)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._readable)
        self.session.open(self._loop.time())
        self.flush()

    def flush(self) -> None:
        for datagram in datagrams(self.session.requests(self._loop.time())):
            self._socket.send(datagram)

    async def on(self) -> Application:
        await until(lambda: self.session.is_on)
        return self

    async def subscribe(self, subject: str) -> None:
        self.session.subscribe(Filter(subject=subject))
        self.flush()
        await until(lambda: any(type(each).__name__ == "Subscribed" for each in self.heard))

    async def publish(self, event: Event) -> None:
        """Publish and wait for the receipt."""
        number = self.session.publish(event)
        self.flush()
        await until(lambda: any(isinstance(each, Receipt) and each.number == number for each in self.heard))

    def leave(self) -> None:
        """Go away without a word."""
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _readable(self) -> None:
        try:
            messages = decode_messages_untrusted(self._socket.recv(65_536))
        except OSError:
            return
        for message in messages:
            self.heard.append(message)
            for arrival in self.session.received(message, self._loop.time()):
                self.events.append(arrival.event.payload)
                self.session.consumed(arrival.number)
        self.flush()


async def page(daemon: Daemon, path: str) -> str:
    assert daemon.http_address is not None
    reader, writer = await asyncio.open_connection(*daemon.http_address)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return text


def test_a_daemon_serves_its_clients_and_says_how_it_is(tmp_path: Path) -> None:
    """An event goes from one client to another; the pages answer; after stop the clients were told goodbye."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path))
        await daemon.start()
        listener = await Application("listener", daemon).on()
        await listener.subscribe("news")
        speaker = await Application("speaker", daemon).on()
        await speaker.publish(Event(subject="news", payload=b"hello"))
        await until(lambda: listener.events == [b"hello"])
        assert (await page(daemon, "/healthz")).endswith("ok\n")
        assert '"sessions": {"on": 2' in await page(daemon, "/status")
        assert 'chapar_datagrams_total{direction="received",port="client"}' in await page(daemon, "/metrics")
        await daemon.stop()
        await daemon.stop()
        await until(lambda: Goodbye() in listener.heard and Goodbye() in speaker.heard)
        for each in (listener, speaker):
            each.leave()

    run(work())


def test_what_was_acknowledged_survives_a_restart(tmp_path: Path) -> None:
    """A persistent event published while its subscriber is OFF is there after a restart, with the session it is for."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path))
        await daemon.start()
        first = daemon.driver.node.station.incarnation
        listener = await Application("listener", daemon).on()
        await listener.subscribe("news")
        listener.session.close(0.0)
        listener.flush()
        await until(lambda: Closed() in listener.heard)
        listener.leave()
        speaker = await Application("speaker", daemon).on()
        await speaker.publish(Event(subject="news", payload=b"kept", persistent=True))
        speaker.leave()
        await daemon.stop()
        again = Daemon(settings(tmp_path))
        await again.start()
        assert again.driver.node.station.incarnation > first
        back = await Application("listener", again).on()
        await until(lambda: back.events == [b"kept"])
        back.leave()
        await again.stop()

    run(work())


def test_two_daemons_carry_an_event_across(tmp_path: Path) -> None:
    """With a static route file both see each other, and an event published at one reaches a client of the other."""

    async def work() -> None:
        routes = RoutesSettings(source="static", file=tmp_path / "routes.toml")
        routes.file.write_text("edges = [[1, 2]]\n")
        one = Daemon(replace(settings(tmp_path, 1), routes=routes))
        await one.start()
        two = Daemon(replace(settings(tmp_path, 2, one.mesh_address[1]), routes=routes))
        await two.start()
        await until(lambda: len(one.driver.node.station.peers) == 1 and len(two.driver.node.station.peers) == 1)
        listener = await Application("listener", two).on()
        await listener.subscribe("news")
        speaker = await Application("speaker", one).on()
        # Until node 1 has heard of the filter, there is nobody to send a real-time event to; a kept one waits for it.
        await speaker.publish(Event(subject="news", payload=b"across", lifetime=60))
        await until(lambda: listener.events == [b"across"])
        assert one.surroundings().mesh.sent > 0
        assert one.surroundings().mesh.malformed == 0
        for each in (listener, speaker):
            each.leave()
        await two.stop()
        await one.stop()

    run(work())


def test_a_daemon_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    """Ports, state directory, routes: each fault is one line, and afterwards the next daemon gets what was taken."""

    async def work() -> None:
        running = Daemon(settings(tmp_path))
        await running.start()
        assert running.http_address is not None
        here = settings(tmp_path / "other", durable=True)
        for wrong, error, words in (
            (replace(here, mesh=replace(here.mesh, port=running.mesh_address[1])), StartError, r"mesh\.port\): it is"),
            (
                replace(here, clients=replace(here.clients, listen=Endpoint(*running.client_address))),
                StartError,
                r"clients\.listen\): it is in use",
            ),
            (
                replace(here, http=HttpSettings(listen=Endpoint(*running.http_address))),
                StartError,
                r"TCP .*http\.listen\): it is in use",
            ),
            (replace(here, node=running.settings.node), DiskError, r"in use by another chapard"),
            (
                replace(here, routes=RoutesSettings(source="static", file=tmp_path / "none.toml")),
                RoutesError,
                r"none\.toml: No such file",
            ),
        ):
            with pytest.raises(error, match=words) as caught:
                await Daemon(wrong).start()
            assert "\n" not in str(caught.value)
        good = Daemon(here)
        await good.start()
        await good.stop()
        await running.stop()

    run(work())


def test_a_state_directory_of_another_version_is_refused(tmp_path: Path) -> None:
    """It is not touched, and the line says what to do."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path))
        await daemon.start()
        await daemon.stop()
        database = next((tmp_path / "node-1").glob("*.db"))
        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE meta SET value = 4242 WHERE name = 'format'")
        connection.close()
        with pytest.raises(DiskError):
            await Daemon(settings(tmp_path)).start()

    run(work())


def test_a_reload_applies_what_can_change(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Routes and log change at once; a port needs a restart, and a wrong file changes nothing."""

    async def work() -> None:
        before = settings(tmp_path)
        routes = RoutesSettings(source="static", file=tmp_path / "routes.toml")
        routes.file.write_text("neighbours = [7]\n")
        next_settings: list[Settings | SettingsError] = [
            SettingsError("log.level: want one of debug, info"),
            replace(before, routes=replace(routes, file=tmp_path / "none.toml")),
            replace(before, routes=routes, log=LogSettings(level="info", format="json"), mesh=MeshSettings(port=1)),
        ]

        def read() -> Settings:
            given = next_settings.pop(0)
            if isinstance(given, SettingsError):
                raise given
            return given

        daemon = Daemon(before, read)
        await daemon.start()
        daemon.reload()
        daemon.reload()
        assert daemon.settings == before
        daemon.reload()
        assert daemon.settings == replace(before, routes=routes, log=LogSettings(format="json"))
        await until(lambda: daemon.driver.node.station.view.neighbours == {7})
        assert daemon.surroundings().route_source == "static"
        await daemon.stop()

    handlers = logging.getLogger().handlers[:]
    run(work())
    logging.getLogger().handlers[:] = handlers
    told = [record.getMessage() for record in caplog.records if "reload" in record.getMessage()]
    assert told == ["not reloaded: wrong configuration", "not reloaded: no routes"]


def test_signals_stop_it(tmp_path: Path) -> None:
    """SIGTERM ends `run` with 0; afterwards the signals do again what they do to any process."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path))
        daemon.heed_signals()
        await daemon.start()
        running = asyncio.create_task(daemon.run())
        os.kill(os.getpid(), signal.SIGTERM)
        assert await asyncio.wait_for(running, PATIENCE) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    before = signal.getsignal(signal.SIGINT)
    run(work())
    signal.signal(signal.SIGINT, before)


def test_too_many_mistakes_end_it_with_1(tmp_path: Path) -> None:
    """A daemon whose core fails again and again gives up, in good order."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path))
        await daemon.start()
        running = asyncio.create_task(daemon.run())
        for _ in range(20):
            daemon.driver.fault(RuntimeError("an example"))
        assert await asyncio.wait_for(running, PATIENCE) == 1

    run(work())


def test_without_a_disk_it_serves_and_keeps_nothing(tmp_path: Path) -> None:
    """A node that is not durable writes no file, and receipts for kept events come all the same."""

    async def work() -> None:
        daemon = Daemon(settings(tmp_path, durable=False))
        await daemon.start()
        speaker = await Application("speaker", daemon).on()
        await speaker.publish(Event(subject="news", payload=b"kept", persistent=True))
        assert daemon.surroundings().is_durable is False
        speaker.leave()
        await daemon.stop()
        assert list(tmp_path.iterdir()) == []

    run(work())
