"""The claims of the scenario library that need a whole run: what a partition and its merge do, and what they cost."""

from __future__ import annotations

from pathlib import Path

from chapar.event import Delivery
from chapar_sim.checkers import check
from chapar_sim.scenario import load
from chapar_sim.summary import summarise
from chapar_sim.world import World

LIBRARY = Path(__file__).resolve().parents[2] / "deploy" / "scenarios"


def test_a_long_partition_loses_nothing_and_brings_nothing_back() -> None:
    """Every lifetime event reaches every subscriber once, no ended subscription stands, the merge is accounted for."""
    scenario = load(LIBRARY / "partition-merge.toml")
    trace = World(scenario).run()
    assert check(trace, scenario) == []
    figures = summarise(trace, scenario, scenario.seed, [])
    assert figures["duplicates"] == 0
    assert figures["events"][Delivery.LIFETIME.label]["ratio"] == 1.0
    assert [merge.t for merge in trace.merges] == [170]
    assert 0 < trace.merges[0].sync_bytes < trace.merges[0].all_bytes
    gone = {interest.client for interest in trace.interests if interest.client.startswith("leaver")}
    homes = {presence.home for presence in trace.presence if presence.client in gone}
    assert homes
    assert not any(row.fmt.get(home) for row in trace.snapshots if row.t == trace.end for home in homes)


def test_one_record_among_ten_thousand_is_cheap_to_mend() -> None:
    """The exchange after the merge costs under 1500 bytes, headers included, and both brokers hold the same."""
    scenario = load(LIBRARY / "one-in-ten-thousand.toml")
    trace = World(scenario).run()
    assert check(trace, scenario) == []
    tables = [row.met for row in trace.snapshots if row.t == trace.end]
    assert len(tables) == 2
    assert tables[0] == tables[1]
    assert len(tables[0]) > 10_000
    assert 0 < trace.merges[0].sync_bytes < 1500
