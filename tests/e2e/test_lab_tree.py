"""Real daemons on a tree of brokers over a grid: each routing algorithm delivers the same events to the same clients.

The measure is what the simulator delivers of the same scenario, so each algorithm can be run by itself.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapar_sim.compare import delivered
from chapar_sim.outcome import outcomes
from chapar_sim.scenario import load
from chapar_sim.world import World
from e2e import labs

if TYPE_CHECKING:
    from chapar_sim.scenario import Scenario

pytestmark = pytest.mark.lab

SCENARIO = Path(__file__).resolve().parents[2] / "deploy" / "scenarios" / "tree.toml"
FILTERING = ("simple", "identity", "covering", "merging")


@cache
def simulated() -> frozenset[tuple[str, int, str]]:
    scenario: Scenario = load(SCENARIO)
    trace = World(scenario).run()
    return frozenset(delivered({"per_event": [each.to_json() for each in outcomes(trace)]}))


@pytest.mark.parametrize("algorithm", ["flooding", *FILTERING])
def test_every_algorithm_delivers_the_same(algorithm: str, tmp_path: Path) -> None:
    """All that is wanted, to whom the others deliver it; and the summary tells the messages by what they say."""
    done = labs.kept(tmp_path, SCENARIO, "--algorithm", algorithm)
    assert delivered(done.figures) == simulated()
    assert done.missed() == []
    routing = done.figures["routing"]
    assert (routing["algorithm"], routing["links"], routing["brokers"]) == (algorithm, 6, 7)
    interest = {kind: count for kind, count in routing["messages"].items() if kind != "notification"}
    assert routing["messages"]["notification"] > 0
    if algorithm == "flooding":
        assert sum(interest.values()) == 0
    else:
        assert interest["refresh"] > interest["subscribe"] > interest["unsubscribe"] > 0
