"""Real daemons keep events for clients that come and go, and those wait as long as theorem 2 says."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from chapar_audit.models.onoff import OnOff
from chapar_sim.scenario import load
from chapar_sim.world import World
from e2e import labs

pytestmark = pytest.mark.lab

SCENARIO = Path(__file__).resolve().parents[2] / "deploy" / "scenarios" / "on-off-fast.toml"
RUNS = 3
LATE = 0.002
"""Seconds by which clients publish late on average where a machine has no time for them: four times the usual."""


def test_events_wait_for_who_is_away_as_theorem_2_says(tmp_path: Path) -> None:
    """0.137 s within 10 %, a hundredth of what it is in the simulator's long run.

    Processes that have to wait for a processor are late for their ON time, and all that waits for them is. Such a run
    says nothing: it is known by when its events were published, which are those of the simulator.
    """
    scenario, late = load(SCENARIO), list[float]()
    due = [row.t for row in World(scenario).run().accepted]
    expected = OnOff(0.00125, 0.2, 0.2).response_time(100)
    for place in range(RUNS):
        folder = tmp_path / str(place)
        folder.mkdir()
        done = labs.kept(folder, SCENARIO)
        assert len(done.events) == len(due)
        times = done.figures["events"]["realtime"]
        assert times["ratio"] > 0.98
        if times["latency_s"]["mean"] == pytest.approx(expected, rel=0.1):
            return
        late.append(fmean(each["t"] for each in done.events) - fmean(due))
        assert late[-1] > LATE, f"{times['latency_s']}, expected {expected:.4g} s"
    pytest.skip(f"this machine is too busy: clients published {1e3 * min(late):.1f} ms late on average")
