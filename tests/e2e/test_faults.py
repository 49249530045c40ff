"""Clients that do what no client should: they are held to bounds and told so in words, and others do not notice."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import chapar
from chapar.event import Event
from chapar.filter import Filter
from chapar.session import (
    Acknowledge,
    Deliver,
    Open,
    Opened,
    Ping,
    Publish,
    Receipt,
    Refused,
    Subscribe,
    Subscribed,
)
from e2e.daemons import alone
from e2e.rawclient import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from e2e.daemons import Daemon

PACE: Final = 0.005
"""Seconds between two events of the bystanders."""
PATIENCE: Final = 60.0


class Bystanders:
    """A publisher and a subscriber on the same daemon, at work all the time."""

    def __init__(self) -> None:
        self.published = 0
        self.got: list[int] = []
        self._is_over = False
        self._caught_up = asyncio.Event()

    async def publish(self, client: chapar.Client) -> None:
        while not self._is_over:
            await client.publish(subject="bystander", payload=self.published.to_bytes(4, "big"))
            self.published += 1
            await asyncio.sleep(PACE)

    async def read(self, events: chapar.Subscription) -> None:
        async for event in events:
            self.got.append(int.from_bytes(event.payload, "big"))
            if self._is_over and len(self.got) == self.published:
                self._caught_up.set()

    async def finish(self, client: chapar.Client) -> None:
        """All that was published has arrived, once and in order."""
        await client.publish(subject="bystander", payload=self.published.to_bytes(4, "big"))
        self.published += 1
        self._is_over = True
        await asyncio.wait_for(self._caught_up.wait(), PATIENCE)
        assert self.got == list(range(self.published))


@asynccontextmanager
async def bystanders(daemon: Daemon) -> AsyncIterator[Bystanders]:
    """Others, who are to be served as if nothing happened."""
    async with (
        chapar.connect(daemon.address, client_id="source") as source,
        chapar.connect(daemon.address, client_id="sink") as sink,
        sink.subscribe(subject="bystander") as events,
        asyncio.TaskGroup() as tasks,
    ):
        others = Bystanders()
        publishing = tasks.create_task(others.publish(source))
        reading = tasks.create_task(others.read(events))
        yield others
        publishing.cancel()
        await others.finish(source)
        reading.cancel()


def attacked(tmp_path: Path, attack: Callable[[Daemon], Awaitable[None]], *settings: str) -> Daemon:
    """Have one daemon attacked while bystanders use it; it must keep its bounds and write nothing it should not."""

    async def play(daemon: Daemon) -> None:
        await daemon.run()
        async with bystanders(daemon):
            await attack(daemon)
            status = await daemon.status()
            assert [name for name, (used, limit) in status["sizes"].items() if used > limit] == []
        assert await daemon.stop() == 0

    with alone(tmp_path, *settings) as daemon:
        asyncio.run(play(daemon))
        assert daemon.faults() == []
    return daemon


def test_a_flood(tmp_path: Path) -> None:
    """A client that publishes without waiting for receipts takes nothing from others; the daemon does not grow."""

    async def flood(daemon: Daemon) -> None:
        head = Event(subject="flood").head()
        with RawClient(daemon) as client:
            await client.open(Open(client.name, 0, 1, lasting=False))
            await client.send(Subscribe(1, Filter(subject="flood")))
            before = daemon.resident_bytes()
            async with asyncio.timeout(PATIENCE):
                for number in range(1, 160_000, 8):
                    # What it follows is never said to be missing, so that nothing is left out for a lost predecessor.
                    await client.send(Publish(0, number, head, (b"x" * 100,) * 8))
                    client.drain()
            assert daemon.resident_bytes() < before + 64 * 1024 * 1024
            session = await session_of(daemon, client.name)
            assert session["published"] > 2000
            assert session["queue"] + session["in_flight"] <= 4096

    attacked(tmp_path, flood)


def test_a_client_that_never_acknowledges(tmp_path: Path) -> None:
    """It gets a window of events and no more, its queue stays within its bound, what finds it full is counted."""

    async def ignore(daemon: Daemon) -> None:
        with RawClient(daemon) as client:
            await client.open(Open(client.name, 0, 1, lasting=False))
            await client.send(Subscribe(1, Filter(subject="bystander")))
            async with asyncio.timeout(PATIENCE):
                while (await daemon.status())["losses"].get("queue_full", 0) < 100:
                    client.drain()
                    await client.send(Ping())
                    await asyncio.sleep(0.05)
            session = await session_of(daemon, client.name)
            assert session["state"] == "on"
            assert session["in_flight"] <= 16
            assert session["queue"] + session["in_flight"] <= 64

    attacked(tmp_path, ignore, "protocol.session_queue=64", "protocol.session_window=16")


def test_wrong_sessions(tmp_path: Path) -> None:
    """Whoever has no session is told to open one; acknowledgements of other lives and foreign numbers do nothing."""

    async def confuse(daemon: Daemon) -> None:
        with RawClient(daemon) as stranger, RawClient(daemon, "x" * 500) as nameless:
            for request in (Ping(), Subscribe(1, Filter(subject="bystander")), Acknowledge(1, 1)):
                await stranger.send(request)
                refused = await stranger.answer(Refused)
                assert isinstance(refused, Refused)
                assert refused.number == 0
                assert "open it again" in refused.reason
            await nameless.send(Open(nameless.name, 0, 1, lasting=False))
            refused = await nameless.answer(Refused)
            assert isinstance(refused, Refused)
            assert "name" in refused.reason
        with RawClient(daemon, "forgetful") as client:
            opened = await client.open(Open(client.name, 12345, 1, lasting=False))
            assert not opened.resumed
            await client.send(Subscribe(1, Filter(subject="own")))
            await client.answer(Subscribed)
            await client.send(Publish(0, 1, Event(subject="own").head(), (b"1",)))
            delivery = await client.answer(Deliver)
            assert isinstance(delivery, Deliver)
            await client.send(Acknowledge(delivery.incarnation - 1, 1))
            assert await client.answer(Deliver) == delivery
            await client.send(Acknowledge(delivery.incarnation, 2**40))
            await client.send(Publish(1, 2, Event(subject="own").head(), (b"2",)))
            second = await client.answer(Deliver)
            assert isinstance(second, Deliver)
            assert second.number == 2

    attacked(tmp_path, confuse, "protocol.session_retry=0.2")


def test_a_session_taken_over(tmp_path: Path) -> None:
    """A second connection of one name takes the session; the first is told so, and cannot speak for it any more."""

    async def take(daemon: Daemon) -> None:
        with RawClient(daemon, "one") as first, RawClient(daemon, "one") as second:
            await first.open(Open("one", 0, 1, lasting=True))
            await second.open(Open("one", 0, 1, lasting=True))
            await first.send(Ping())
            refused = await first.answer(Refused)
            assert isinstance(refused, Refused)
            assert "another connection" in refused.reason

    attacked(tmp_path, take)


def test_a_hundred_thousand_filters(tmp_path: Path) -> None:
    """A client gets as many subscriptions as one may have; every other request is refused, in words."""
    filters, batch = 100_000, 500
    wanted = [Filter(where=f"level = {number}") for number in range(2000)]

    async def subscribe(daemon: Daemon) -> None:
        answers: Counter[str] = Counter()
        with RawClient(daemon) as client:
            await client.open(Open(client.name, 0, 1, lasting=False))
            for start in range(1, filters + 1, batch):
                numbers = range(start, start + batch)
                await client.send(*(Subscribe(number, wanted[number % len(wanted)]) for number in numbers))
                waiting = set(numbers)
                async with asyncio.timeout(PATIENCE):
                    while waiting:
                        for message in await client.receive():
                            if isinstance(message, Subscribed | Refused) and message.number in waiting:
                                waiting.remove(message.number)
                                answers[message.reason if isinstance(message, Refused) else "ok"] += 1
        assert answers == {"ok": 1024, "a client has at most 1024 subscriptions": filters - 1024}

    attacked(tmp_path, subscribe)


def test_a_thousand_sessions(tmp_path: Path) -> None:
    """As many sessions are opened as the node serves; the others are refused, in words."""

    async def open_many(daemon: Daemon) -> None:
        answers: Counter[str] = Counter()
        for number in range(1000):
            with RawClient(daemon, f"session-{number}") as client:
                await client.send(Open(client.name, 0, 1, lasting=True))
                answer = await client.answer((Opened, Refused))
                answers[answer.reason if isinstance(answer, Refused) else "ok"] += 1
        assert answers == {"ok": 254, "this node serves 256 sessions already": 746}

    attacked(tmp_path, open_many)


def test_a_client_that_publishes_what_no_event_is(tmp_path: Path) -> None:
    """A publication that cannot be read is refused by its number; what comes after it is taken."""

    async def garble(daemon: Daemon) -> None:
        with RawClient(daemon) as client:
            await client.open(Open(client.name, 0, 1, lasting=False))
            await client.send(Publish(0, 1, b"\xff\xff\xff", (b"",)))
            refused = await client.answer((Refused, Receipt))
            assert isinstance(refused, Refused)
            assert refused.number == 1
            await client.send(Publish(1, 2, Event(subject="fine").head(), (b"",)))
            receipt = await client.answer((Refused, Receipt))
            assert isinstance(receipt, Receipt)

    attacked(tmp_path, garble)


async def session_of(daemon: Daemon, name: str) -> dict[str, Any]:
    clients = (await daemon.status("clients"))["clients"]
    found: dict[str, Any] = next(each for each in clients if each["client"] == name)
    return found
