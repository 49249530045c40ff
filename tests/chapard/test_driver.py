"""The driver takes turns: everything that came in, then one drain, one batch for the disk, one datagram per client."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Self, cast

from chapar.endpoint import Endpoint
from chapar.session import Open, Ping, Pong, Receipt, Subscribed
from chapar.wire.client import datagrams, decode_messages_untrusted
from chapar_olsr.view import RouteView
from chapard.addresses import Addresses
from chapard.clock import Clock
from chapard.core.config import Config
from chapard.core.effects import Answer, Save, SessionRow, Settle, Transmit
from chapard.driver import FAULTS_PER_MINUTE, Driver
from chapard.settings import ClientsSettings, MeshSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from chapar.event import EventId
    from chapar.session import Message, Request
    from chapard.core.effects import Effect
    from chapard.core.node import Node
    from chapard.disk import Disk

PATIENCE = 5.0
ID = cast("EventId", bytes(10))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


class Core:
    """A core that does as it is told: it notes what it is given, and what is put into `effects` comes out."""

    index = 1

    def __init__(self, clock: Clock) -> None:
        self.config = Config(nodes=8)
        self.given: list[tuple[Any, ...]] = []
        self.effects: list[Effect] = []
        self.drains = 0
        self.deadline = clock() + 3600
        self.is_stopped = False
        self.is_broken = False
        self.answers: Callable[[str, Request], list[Effect]] = lambda _client, _request: []

    def datagram_received(self, data: bytes, source: int, now: float) -> None:
        self._take("datagram", data, source, now)

    def client_request(self, client: str, request: Request, now: float) -> None:
        self._take("request", client, request, now)
        self.effects += self.answers(client, request)

    def route_changed(self, view: RouteView, now: float) -> None:
        self._take("routes", view, now)

    def battery_changed(self, level: float, now: float) -> None:
        self._take("battery", level, now)

    def saved(self, number: int, now: float) -> None:
        self._take("saved", number, now)

    def tick(self, now: float) -> None:
        self._take("tick", now)
        self.deadline = now + 3600

    def stop(self, now: float) -> None:
        self._take("stop", now)
        self.is_stopped = True

    def next_deadline(self) -> float:
        return self.deadline

    def drain(self, now: float) -> list[Effect]:  # noqa: ARG002 - the core's interface
        self.drains += 1
        drained, self.effects = self.effects, []
        return drained

    def _take(self, kind: str, *what: Any) -> None:
        if self.is_broken:
            raise ZeroDivisionError(kind)
        self.given.append((kind, *what[:-1]))


class Paper:
    """A disk that is done when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, bytes | None]]] = []
        self.waiting: list[Callable[[], None]] = []
        self.sickness: str | None = None

    def fault(self) -> str | None:
        return self.sickness

    def write(self, saves: Sequence[tuple[str, bytes | None]], done: Callable[[], None] | None) -> None:
        self.batches.append([(key, value) for key, value in saves])
        if done is not None:
            self.waiting.append(done)


class Bench:
    """A driver around a scripted core, with a client at its port."""

    def __init__(self, disk: Paper | None = None) -> None:
        clock = Clock()
        self.core = Core(clock)
        addresses = Addresses(["127.0.0.0/24"], {}, 8)
        self.driver = Driver(cast("Node", self.core), addresses, clock, cast("Disk | None", disk))
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.client.settimeout(0)

    async def __aenter__(self) -> Self:
        await self.driver.mesh.open(MeshSettings(port=0, receive_buffer=65_536, send_buffer=65_536), "127.0.0.1")
        listen = Endpoint("127.0.0.1", 0)
        self.driver.clients.listen(ClientsSettings(listen=listen, receive_buffer=65_536, send_buffer=65_536))
        self.client.connect(self.driver.clients.address)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.driver.close()
        self.client.close()
        await asyncio.sleep(0)

    def say(self, *requests: Request) -> None:
        for datagram in datagrams(requests):
            self.client.send(datagram)

    async def hear(self) -> list[Message]:
        """The next datagram."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return decode_messages_untrusted(self.client.recv(65_536))
                except BlockingIOError:
                    await asyncio.sleep(0.001)


OPEN = Open("c", 0, 1, lasting=True)


def test_what_came_in_together_is_drained_once_and_answered_in_one_datagram() -> None:
    """Three datagrams that wait in the socket are three requests, one drain and one answer."""

    async def work() -> None:
        async with Bench() as bench:
            bench.core.answers = lambda client, _: [Answer(client, Pong(), after_save=False)]
            for request in (OPEN, Ping(), Ping()):
                bench.say(request)
            assert await bench.hear() == [Pong(), Pong(), Pong()]
            assert [each[0] for each in bench.core.given] == ["request"] * 3
            assert bench.core.drains == 1

    run(work())


def test_an_answer_after_save_waits_for_the_disk_and_others_do_not() -> None:
    """Saves of a turn are one batch; what depends on them leaves when the disk says so, from whichever thread."""

    async def work() -> None:
        disk = Paper()
        async with Bench(disk) as bench:
            receipt = Receipt(1, ID, 1)
            bench.core.answers = lambda client, _: [
                Save("a", b"1"),
                Answer(client, receipt, after_save=True),
                Save("b", None),
                Answer(client, Pong(), after_save=False),
            ]
            bench.say(OPEN)
            assert await bench.hear() == [Pong()]
            assert disk.batches == [[("a", b"1"), ("b", None)]]
            assert bench.driver.clients.held == 1
            await asyncio.to_thread(disk.waiting[0])
            assert await bench.hear() == [receipt]

    run(work())


def test_the_core_hears_when_the_disk_has_what_it_saved() -> None:
    """Not before; and at once where there is no disk."""

    async def work() -> None:
        disk = Paper()
        async with Bench(disk) as bench:
            bench.core.effects = [Save("a", b"1"), Settle(7)]
            bench.driver.wake()
            await until(lambda: disk.batches == [[("a", b"1")]])
            assert "saved" not in [what for what, *_ in bench.core.given]
            await asyncio.to_thread(disk.waiting[0])
            await until(lambda: ("saved", 7) in [each[:2] for each in bench.core.given])
        async with Bench() as bench:
            bench.core.effects = [Save("a", b"1"), Settle(7)]
            bench.driver.wake()
            await until(lambda: ("saved", 7) in [each[:2] for each in bench.core.given])

    run(work())


def test_a_subscription_does_not_wait_for_a_sick_disk() -> None:
    """Real-time events go on being served; a receipt waits all the same."""

    async def work() -> None:
        disk = Paper()
        async with Bench(disk) as bench:
            bench.core.answers = lambda client, _: [
                Save("a", b"1"),
                Answer(client, Subscribed(1), after_save=True),
                Answer(client, Receipt(1, ID, 1), after_save=True),
            ]
            disk.sickness = "full"
            bench.say(OPEN)
            assert await bench.hear() == [Subscribed(1)]
            assert bench.driver.clients.held == 1
            disk.sickness = None
            bench.say(OPEN)
            await until(lambda: bench.driver.clients.held == 2)

    run(work())


def test_without_a_disk_nothing_waits() -> None:
    """A node that keeps nothing answers at once."""

    async def work() -> None:
        async with Bench() as bench:
            bench.core.answers = lambda client, _: [Save("a", b"1"), Answer(client, Receipt(1, ID, 1), after_save=True)]
            bench.say(OPEN)
            assert await bench.hear() == [Receipt(1, ID, 1)]

    run(work())


def test_saves_that_nobody_waits_for_are_written_too() -> None:
    """Without an answer that depends on them, saves are handed to the disk and nobody is called."""

    async def work() -> None:
        disk = Paper()
        async with Bench(disk) as bench:
            bench.core.effects = [Save("a", b"1")]
            bench.driver.wake()
            await until(lambda: disk.batches == [[("a", b"1")]])
            assert disk.waiting == []

    run(work())


def test_a_datagram_of_another_node_reaches_the_core_and_the_answer_leaves() -> None:
    """By index both ways; a view's neighbours get the broadcasts."""

    async def work() -> None:
        async with Bench() as bench:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.bind(("127.0.0.2", 0))
                other.settimeout(PATIENCE)
                other.sendto(b"frames", bench.driver.mesh.address)
                await until(lambda: bench.core.given == [("datagram", b"frames", 2)])
                bench.driver.route_changed(RouteView(1, neighbours=frozenset({2})))
                bench.core.effects = [Transmit(2, b"answer"), Transmit(None, b"beacon")]
                await until(lambda: bench.core.effects == [])
                await bench.driver.mesh.flushed()
                assert [other.recv(100), other.recv(100)] == [b"answer", b"beacon"]

    run(work())


def test_the_core_ticks_when_its_deadline_has_come() -> None:
    """Not before; and a deadline that a turn has moved ahead is noticed."""

    async def work() -> None:
        async with Bench() as bench:
            bench.driver.wake()
            await until(lambda: bench.core.drains == 1)
            due = Clock()() + 0.05
            bench.core.deadline = due
            bench.driver.battery_changed(0.5)
            await until(lambda: ("tick",) in bench.core.given)
            assert bench.core.deadline >= due + 3600
            assert bench.core.given == [("battery", 0.5), ("tick",)]

    run(work())


def test_sessions_that_go_on_keep_their_address() -> None:
    """The row of a session tells the port whose address must not be given away."""

    async def work() -> None:
        async with Bench() as bench:
            bench.core.answers = lambda client, _: [SessionRow(client, "on", 0)] if client == "c" else []
            bench.say(OPEN)
            for number in range(5 * bench.core.config.session_limit):
                bench.driver.clients.received(datagrams([OPEN._replace(client=f"x{number}")])[0], ("127.0.0.1", number))
                await asyncio.sleep(0)
            await until(lambda: len(bench.core.given) == 1 + 5 * bench.core.config.session_limit)
            bench.core.answers = lambda client, _: [Answer(client, Pong(), after_save=False)]
            bench.say(Ping())
            assert await bench.hear() == [Pong()]

    run(work())


def test_a_mistake_of_the_core_costs_one_input() -> None:
    """It is counted, the next input is served, and a few mistakes do not end the daemon; many do."""

    async def work() -> None:
        async with Bench() as bench:
            bench.core.is_broken = True
            for _ in range(FAULTS_PER_MINUTE - 1):
                bench.driver.battery_changed(0.5)
            assert bench.driver.faults == FAULTS_PER_MINUTE - 1
            assert not bench.driver.given_up.is_set()
            bench.core.is_broken = False
            bench.core.answers = lambda client, _: [Answer(client, Pong(), after_save=False)]
            bench.say(OPEN)
            assert await bench.hear() == [Pong()]
            bench.core.is_broken = True
            bench.driver.battery_changed(0.5)
            assert bench.driver.given_up.is_set()

    run(work())


def test_stopping_hears_no_more_clients() -> None:
    """After stop, requests are not taken, and `stopped` says when the core is done."""

    async def work() -> None:
        async with Bench() as bench:
            bench.driver.stop()
            bench.say(OPEN)
            async with asyncio.timeout(PATIENCE):
                await bench.driver.stopped.wait()
            await until(lambda: bench.driver.clients.unanswered == 1)
            assert bench.core.given == [("stop",)]

    run(work())
