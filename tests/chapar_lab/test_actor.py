"""Clients of the real SDK, at a real daemon."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from chapar.event import Event
from chapar.filter import Filter
from chapar_lab.actor import Actor, WallClock
from chapar_sim.trace import Accepted, Delivered, Interest, Presence
from e2e.daemons import alone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from chapar_lab.rows import Row
    from e2e.daemons import Daemon

PATIENCE = 20
ASKS, ASKS_TOO = Filter.parse('subject = "a"'), Filter.parse('subject starts with "a"')


class Play:
    """One actor at one daemon, and what it told."""

    def __init__(self, daemon: Daemon, tasks: asyncio.TaskGroup, *, name: str = "rover", **more: Any) -> None:
        self.daemon = daemon
        self.rows: list[Row] = []
        self.news = asyncio.Event()
        self.actor = Actor(name, 1, daemon.address, WallClock(), self._told, tasks, **{"keep": False, **more})

    def _told(self, row: Row) -> None:
        self.rows.append(row)
        self.news.set()

    def of(self, kind: type[Row]) -> list[Row]:
        return [row for row in self.rows if type(row) is kind]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for the actor to have told enough; it is looked at as its process does."""
        while not condition():
            self.actor.look()
            self.news.clear()
            try:
                async with asyncio.timeout(0.02):
                    await self.news.wait()
            except TimeoutError:
                pass


def play(folder: Path, script: Callable[[Play], Awaitable[None]], *, is_up: bool = True, **more: Any) -> Play:
    async def work() -> Play:
        with alone(folder, "log.level=warning") as daemon:
            await daemon.run()
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                stage = Play(daemon, tasks, **more)
                await script(stage)
                await stage.actor.end()
            assert not is_up or await daemon.stop() == 0
        return stage

    return asyncio.run(work())


def test_what_it_does_and_sees_is_told(tmp_path: Path) -> None:
    """Coming, subscribing, publishing, getting, unsubscribing and leaving, each a row with its time."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        number = stage.actor.subscribe(ASKS)
        stage.actor.publish(Event(subject="a", payload=b"1"))
        await stage.until(lambda: len(stage.of(Delivered)) == 1 and len(stage.of(Accepted)) == 1)
        stage.actor.unsubscribe(number)
        await stage.until(lambda: len(stage.of(Interest)) == 2)

    rows = play(tmp_path, script).rows
    accepted = next(row for row in rows if isinstance(row, Accepted))
    delivered = next(row for row in rows if isinstance(row, Delivered))
    assert accepted.event == Event(subject="a", payload=b"1")
    assert delivered[1:] == ("rover", 1, accepted.event_id, 1)
    assert accepted.t <= delivered.t
    assert [row.on for row in rows if isinstance(row, Presence)] == [True, False]
    assert [(row.filter, row.active) for row in rows if isinstance(row, Interest)] == [(ASKS, True), (ASKS, False)]


def test_what_is_wanted_while_off_waits(tmp_path: Path) -> None:
    """A publication and a subscription of a client that is OFF take effect when it is ON."""

    async def script(stage: Play) -> None:
        stage.actor.publish(Event(subject="a", lifetime=60))
        stage.actor.subscribe(ASKS)
        stage.actor.go_on()
        await stage.until(lambda: len(stage.of(Delivered)) == 1)

    rows = play(tmp_path, script).rows
    assert len([row for row in rows if isinstance(row, Accepted)]) == 1


def test_an_event_counts_once_however_many_subscriptions_it_matches(tmp_path: Path) -> None:
    """Each of the two hands it out; the application has it."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        stage.actor.subscribe(ASKS)
        stage.actor.subscribe(ASKS_TOO)
        for payload in (b"1", b"2"):
            stage.actor.publish(Event(subject="a", payload=payload))
        stage.actor.publish(Event(subject="ab"))
        await stage.until(lambda: len(stage.of(Delivered)) == 3)

    assert len(play(tmp_path, script).of(Delivered)) == 3


def test_a_client_that_sleeps_stays_subscribed(tmp_path: Path) -> None:
    """What was published meanwhile is there when it is back."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        stage.actor.subscribe(ASKS)
        stage.actor.publish(Event(subject="a", payload=b"before"))
        await stage.until(lambda: len(stage.of(Delivered)) == 1)
        stage.actor.go_off()
        await stage.until(lambda: len(stage.of(Presence)) == 2)
        async with asyncio.TaskGroup() as tasks:
            other = Play(stage.daemon, tasks, name="other")
            other.actor.go_on()
            other.actor.publish(Event(subject="a", payload=b"meanwhile", lifetime=60))
            await other.until(lambda: len(other.of(Accepted)) == 1)
            await other.actor.end()
        stage.actor.go_on()
        await stage.until(lambda: len(stage.of(Delivered)) == 2)

    play(tmp_path, script, keep=True)


def test_a_daemon_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    """The client is absent from when its daemon was killed, whatever it believes itself, and back with the daemon."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        await stage.until(lambda: len(stage.of(Presence)) == 1)
        stage.daemon.kill()
        stage.actor.daemon_down()
        stage.actor.publish(Event(subject="a", lifetime=60))
        running = asyncio.ensure_future(stage.daemon.run())
        await stage.until(lambda: running.done() and len(stage.of(Presence)) == 3 and len(stage.of(Accepted)) == 1)

    rows = play(tmp_path, script).rows
    assert [row.on for row in rows if isinstance(row, Presence)][:3] == [True, False, True]


def test_it_ends_though_its_daemon_is_gone(tmp_path: Path) -> None:
    """What it had asked for last was never confirmed; nobody waits for that."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        await stage.until(lambda: bool(stage.of(Presence)))
        stage.daemon.kill()
        stage.actor.daemon_down()
        stage.actor.subscribe(ASKS)
        stage.actor.publish(Event(subject="a"))
        await stage.until(lambda: bool(stage.of(Interest)))

    assert not play(tmp_path, script, is_up=False).of(Delivered)


def test_a_clock_can_count_anew() -> None:
    """From a time of the loop's clock on, which may lie ahead; what is asked for then is done in order."""

    async def work() -> tuple[bool, list[int]]:
        clock, done = WallClock(), list[int]()
        clock.restart(asyncio.get_running_loop().time() + 0.02)
        is_before = clock.now < 0
        for number in (1, 2, 3):
            clock.at(0.0, lambda number=number: done.append(number))  # type: ignore[misc]  # the number of now
        await clock.reach(0.001)
        return is_before, done

    assert asyncio.run(work()) == (True, [1, 2, 3])


def test_a_relay_publishes_what_it_has_taken(tmp_path: Path) -> None:
    """Once, under its own subject."""

    async def script(stage: Play) -> None:
        stage.actor.go_on()
        stage.actor.subscribe(ASKS)
        stage.actor.publish(Event(subject="a", payload=b"1"))
        await stage.until(lambda: len(stage.of(Accepted)) == 2)

    rows = play(tmp_path, script, relay="b").rows
    events = [row.event for row in rows if isinstance(row, Accepted)]
    assert [(event.subject, event.payload) for event in events] == [("a", b"1"), ("b", b"1")]
