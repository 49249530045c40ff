"""What a daemon tells now and then: losses, kernel drops, the disk's state; and what it asks its battery."""

from __future__ import annotations

import asyncio
import logging
import socket
from random import Random
from typing import TYPE_CHECKING, Any, cast

from chapar.endpoint import Endpoint
from chapar.event import event_id
from chapard.addresses import Addresses
from chapard.clock import Clock
from chapard.core.config import Config, Mode, Overlay, Routing
from chapard.core.effects import Reason
from chapard.core.node import Node
from chapard.core.nodevector import NodeVector
from chapard.core.power import Power
from chapard.driver import Driver
from chapard.housekeeping import Housekeeping
from chapard.settings import ClientsSettings, MeshSettings
from chapard.systemd import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    import pytest

    from chapard.disk import Disk

PATIENCE = 5.0


class SickDisk:
    """A disk that can be broken and mended."""

    def __init__(self) -> None:
        self.trouble: str | None = None

    def fault(self) -> str | None:
        return self.trouble

    def write(self, saves: object, done: Callable[[], None] | None) -> None:
        """Take it and keep it for itself."""


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE))


async def driver_of(disk: SickDisk | None = None, config: Config | None = None) -> Driver:
    clock = Clock()
    node = Node(1, 1, config or Config(nodes=8), Random(1), clock(), None)
    driver = Driver(node, Addresses(["127.0.0.0/24"], {}, 8), clock, cast("Disk | None", disk))
    await driver.mesh.open(MeshSettings(port=0, receive_buffer=65_536, send_buffer=65_536), "127.0.0.1")
    driver.clients.listen(ClientsSettings(listen=Endpoint("127.0.0.1", 0), receive_buffer=4096, send_buffer=65_536))
    return driver


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, object]]]:
    lines = [(record.getMessage(), vars(record).get("chapard_fields", {})) for record in caplog.records]
    return [line for line in lines if line[0] != "role changed"]


def test_losses_and_drops_are_told_once_each(caplog: pytest.LogCaptureFixture) -> None:
    """A look tells what came since the last one, a line for each reason; a quiet time has no lines."""
    caplog.set_level(logging.INFO)

    async def work() -> None:
        driver = await driver_of()
        house = Housekeeping(driver, None, Notifier({}), battery=lambda: None, look_every=3600)
        outlet = driver.node.outlet
        for sequence in range(3):
            outlet.lose(event_id(1, 1, sequence), NodeVector.of([2], 8), Reason.NO_ROUTE)
        house.look()
        house.look()
        assert told(caplog) == [("events lost", {"reason": Reason.NO_ROUTE, "count": 3})]
        caplog.clear()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
            for _ in range(200):
                flood.sendto(bytes(100), driver.clients.address)
        house.look()
        house.look()
        ((message, fields),) = told(caplog)
        assert message.startswith("datagrams lost")
        assert 0 < cast("int", fields["count"]) < 200
        house.close()
        driver.close()

    run(work())


def test_a_cycle_among_the_daemons_is_told_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Of events that came back over another link, a look tells how many since the last one, link by link."""
    caplog.set_level(logging.INFO)

    async def work() -> None:
        tree = Config(nodes=8, routing=Routing(mode=Mode.TREE), overlay=Overlay(((1, 2), (1, 3))))
        driver = await driver_of(config=tree)
        house = Housekeeping(driver, None, Notifier({}), battery=lambda: None, look_every=3600)
        broker = driver.node.tree
        assert broker is not None
        broker.loops[3] += 5
        house.look()
        house.look()
        ((message, fields),) = told(caplog)
        assert message.startswith("events came back over another link")
        assert fields == {"neighbour": 3, "count": 5}
        house.close()
        driver.close()

    run(work())


def test_a_sick_disk_is_told_and_its_recovery_too(caplog: pytest.LogCaptureFixture) -> None:
    """Once each, and the status line has it meanwhile."""
    caplog.set_level(logging.INFO)

    async def work() -> None:
        disk = SickDisk()
        driver = await driver_of(disk)
        house = Housekeeping(driver, cast("Disk", disk), Notifier({}), battery=lambda: None, look_every=3600)
        disk.trouble = "no space left"
        house.look()
        house.look()
        assert house.status() == "broker (alone), 0 peers, 0 clients, disk fault: no space left"
        disk.trouble = None
        house.look()
        assert [message for message, _ in told(caplog)] == [
            "the disk takes no writes; real-time events go on",
            "the disk takes writes again",
        ]
        assert house.status() == "broker (alone), 0 peers, 0 clients"
        house.close()
        driver.close()

    run(work())


def test_the_battery_and_the_manager_are_kept_up(tmp_path: Path) -> None:
    """The battery's level reaches the core; the manager gets a status line and signs of life."""

    async def work() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(tmp_path / "notify"))
            manager.settimeout(0)
            driver = await driver_of()
            environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000"}
            notifier = Notifier(environ)
            house = Housekeeping(driver, None, notifier, battery=lambda: 0.05, look_every=3600)
            heard: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while heard.count("WATCHDOG=1") < 3 or driver.node.power is not Power.CRITICAL:
                    try:
                        heard.append(manager.recv(1000).decode())
                    except BlockingIOError:
                        await asyncio.sleep(0.001)
            assert "STATUS=broker (alone), 0 peers, 0 clients" in heard
            house.close()
            notifier.close()
            driver.close()

    run(work())
