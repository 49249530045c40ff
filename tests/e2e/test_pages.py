"""The pages of a running daemon, read as tools read them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

import chapar
from e2e.daemons import alone

if TYPE_CHECKING:
    from pathlib import Path

    from e2e.daemons import Daemon

EVENTS = 200


def test_pages_of_a_daemon_at_work(tmp_path: Path) -> None:
    """The metrics page passes prometheus-client's own parser and counts what was done; health and status agree."""

    async def play(daemon: Daemon) -> str:
        await daemon.run()
        async with (
            chapar.connect(daemon.address, client_id="one") as client,
            client.subscribe(subject="work") as events,
        ):
            for _ in range(EVENTS):
                await client.publish(subject="work", lifetime=60)
            async with asyncio.timeout(30):
                for _ in range(EVENTS):
                    await anext(events)
            assert await daemon.page("/healthz") == (200, "ok\n")
            status = await daemon.status()
            assert status["sessions"]["on"] == 1
            assert status["tables"]["met"]["events"] == EVENTS
            code, page = await daemon.page("/metrics")
            assert code == 200
        assert await daemon.stop() == 0
        return page

    with alone(tmp_path) as daemon:
        families = {family.name: family for family in text_string_to_metric_families(asyncio.run(play(daemon)))}
        assert daemon.faults() == []
    ours = [name for name in families if name.startswith("chapar_")]
    assert len(ours) > 20
    assert {name.partition("_")[0] for name in families} <= {"chapar", "process", "python"}
    values = {
        (sample.name, *sample.labels.values()): sample.value for each in families.values() for sample in each.samples
    }
    assert values["chapar_events_published_total",] == EVENTS
    assert values["chapar_events_delivered_total",] == EVENTS
    assert values["chapar_met_events",] == EVENTS
    assert values["chapar_sessions", "on"] == 1
    assert values["chapar_malformed_total", "client"] == 0
