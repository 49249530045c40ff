"""SIGKILL at any moment loses no acknowledged event and repeats none."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
import pytest

import chapar
from chapar_audit.compact import compact
from chapar_audit.spool import SUFFIX
from e2e.daemons import alone, network, write_links

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from chapar import Client, Receipt
    from e2e.daemons import Daemon

pytestmark = pytest.mark.lab

EVENTS: Final = 2000
KILLS: Final = 10
UNDER_WAY: Final = 16
"""Publications that wait for their receipts at a time."""
PATIENCE: Final = 90.0
"""Seconds for all of it; a quiet machine takes a fifth."""


def number_of(event: chapar.Event) -> int:
    return int.from_bytes(event.payload, "big")


class Run:
    """One daemon that is killed, one publisher, two subscribers."""

    def __init__(self, daemon: Daemon, seed: str) -> None:
        self.daemon = daemon
        self.kills = 0
        self.steady: list[int] = []
        self.nomad: list[int] = []
        self.accepted: list[bytes] = []
        """The ids of all events, from the daemon's receipts."""
        self.visits = 0
        """How often the nomad was connected."""
        self._rng = Random(seed)
        self._moments = deque(sorted(self._rng.sample(range(EVENTS), KILLS)))
        self._due = asyncio.Semaphore(0)

    async def run(self) -> None:
        await self.daemon.run()
        async with asyncio.timeout(PATIENCE), chapar.connect(self.daemon.address, client_id="publisher") as publisher:
            ready = asyncio.Barrier(3)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._be_steady(ready))
                tasks.create_task(self._be_nomad(ready))
                await ready.wait()
                tasks.create_task(self._kill())
                await self._publish(publisher)

    async def _publish(self, client: Client) -> None:
        """Publish all, and have the daemon's word for each."""
        under_way: deque[Receipt] = deque()
        for number in range(EVENTS):
            payload = number.to_bytes(2, "big")
            under_way.append(await client.publish(subject="count", payload=payload, persistent=True))
            if len(under_way) >= UNDER_WAY:
                self.accepted.append(await under_way.popleft())
            if self._moments and number >= self._moments[0]:
                self._moments.popleft()
                self._due.release()
        for receipt in under_way:
            self.accepted.append(await receipt)

    async def _kill(self) -> None:
        """Kill the daemon when its moment has come, some milliseconds later, and start it again."""
        while self.kills < KILLS:
            await self._due.acquire()
            await asyncio.sleep(self._rng.uniform(0, 0.02))
            self.daemon.kill()
            self.kills += 1
            await self.daemon.run()

    async def _be_steady(self, ready: asyncio.Barrier) -> None:
        """One client object over all lives of the daemon; its application reads half of the time."""
        async with (
            chapar.connect(self.daemon.address, client_id="steady") as client,
            client.subscribe(subject="count") as events,
        ):
            await ready.wait()
            async for event in events:
                self.steady.append(number_of(event))
                if len(self.steady) == EVENTS:
                    break
                if len(self.steady) % 100 == 0:
                    await asyncio.sleep(self._rng.uniform(0, 0.4))

    async def _be_nomad(self, ready: asyncio.Barrier) -> None:
        """Clients of one name, one after the other: connected half of the time."""
        is_first = True
        while len(self.nomad) < EVENTS:
            self.visits += 1
            async with (
                chapar.connect(self.daemon.address, client_id="nomad", timeout=None) as client,
                client.subscribe(subject="count", keep=True) as events,
            ):
                if is_first:
                    await ready.wait()
                    is_first = False
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._rng.uniform(0.1, 0.5)):
                        await self._read(events)
                await client.close(timeout=PATIENCE)
            await asyncio.sleep(self._rng.uniform(0.1, 0.5))

    async def _read(self, events: chapar.Subscription) -> None:
        async for event in events:
            self.nomad.append(number_of(event))
            if len(self.nomad) == EVENTS:
                return


@pytest.mark.parametrize("seed", ["kill", "s22"])
def test_kill_at_random_moments(seed: str, tmp_path: Path) -> None:
    """2000 acknowledged persistent events reach two subscribers, each once and in order, over ten kills: one whose
    client stays, and one that is OFF half of the time and comes back as a new client of the same name.

    The second seed kills at the very first event, when a subscription had been confirmed that was not on the disk yet.
    What was recorded in all these lives is there as well, each row once.
    """
    records = tmp_path / "records"
    recording = ("record.enabled=true", f"record.dir={records}", "record.rotate_bytes=65536")
    with alone(tmp_path, "log.level=warning", *recording) as daemon:

        async def play() -> Run:
            run = Run(daemon, seed)
            await run.run()
            assert await daemon.stop() == 0
            return run

        run = asyncio.run(play())
        assert run.kills == KILLS
        assert run.visits > 2
        assert run.steady == list(range(EVENTS))
        assert run.nomad == list(range(EVENTS))
        assert daemon.faults() == []
    finish(records)
    published = pq.read_table(records / "publishes")["event_id"].to_pylist()
    assert set(run.accepted) <= set(published)
    assert len(set(published)) == len(published)
    delivered = pq.read_table(records / "deliveries").select(["client", "event_id"]).to_pylist()
    assert {(row["client"], row["event_id"]) for row in delivered} >= {
        (client, event_id) for client in ("steady", "nomad") for event_id in run.accepted
    }
    assert pq.read_table(records / "runs").num_rows == KILLS + 1


def finish(records: Path) -> None:
    """Compact what the end had no time for. A compactor that a killed daemon has left may still hold some of it."""
    end = time.monotonic() + PATIENCE
    while [*records.rglob(f"*{SUFFIX}")] and time.monotonic() < end:
        compact(records)
        time.sleep(0.1)


# Two nodes

CROSSING: Final = 300
QUICK: Final = (
    *("protocol.beacon_min=0.2", "protocol.refresh_period=1.0", "protocol.orphan_patience=0.5"),
    *("protocol.subscription_lease=30.0", "protocol.sync_delay=0.1", "protocol.sync_retry=0.5"),
    *("protocol.serve_retry=0.5", "protocol.dismissal_time=2.0", "log.level=warning"),
)
"""News travels within a fraction of a second, so that a test need not take longer."""


class Crossing:
    """A publisher on node 1, a subscriber on node 2, and somebody who kills their daemons in turn."""

    def __init__(self, daemons: Mapping[int, Daemon], seed: str) -> None:
        self.daemons = daemons
        self.got: list[int] = []
        self.kills: Counter[int] = Counter()
        self._rng = Random(seed)

    async def run(self) -> None:
        for daemon in self.daemons.values():
            await daemon.run()
        async with (
            asyncio.timeout(PATIENCE),
            chapar.connect(self.daemons[2].address, client_id="subscriber", timeout=None) as subscriber,
            chapar.connect(self.daemons[1].address, client_id="publisher", timeout=None) as publisher,
            subscriber.subscribe(subject="count") as events,
        ):
            killing = asyncio.create_task(self._kill())
            await self._publish(publisher)
            killing.cancel()
            await asyncio.wait([killing])
            for daemon in self.daemons.values():
                if not daemon.is_up:
                    await daemon.run()
            while len(self.got) < CROSSING:
                self.got.append(number_of(await anext(events)))

    async def _publish(self, client: Client) -> None:
        for number in range(CROSSING):
            payload = number.to_bytes(2, "big")
            await (await client.publish(subject="count", payload=payload, persistent=True))
            await asyncio.sleep(self._rng.uniform(0, 0.02))

    async def _kill(self) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(0.2, 0.8))
            node = self._rng.choice([1, 1, 2])
            self.daemons[node].kill()
            self.kills[node] += 1
            await asyncio.sleep(self._rng.uniform(0, 0.2))
            await self.daemons[node].run()


def test_kill_either_node(tmp_path: Path) -> None:
    """What the publisher's daemon had acknowledged reaches a client of another node, once, though both daemons are
    killed again and again. What was on its way at a kill may come after what was published later."""
    with network(tmp_path, [1, 2], *QUICK) as daemons:
        write_links(tmp_path, frozenset({(1, 2), (2, 1)}))
        crossing = Crossing(daemons, "crossing")
        asyncio.run(crossing.run())
        assert sorted(crossing.got) == list(range(CROSSING))
        assert crossing.kills[1] > 0
        assert crossing.kills[2] > 0
        assert [daemon.faults() for daemon in daemons.values()] == [[], []]
