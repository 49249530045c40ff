"""Whether the lab can run a scenario at all: what only the simulator can do is refused before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_sim.mobility import first_positions
from chapar_sim.table import ScenarioError
from chapar_sim.terrain import RANGE

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_sim.scenario import Scenario

MOST_NODES: Final = 250
"""Nodes of one lab: the medium holds a socket of each, and so many daemons are more than a machine bears anyway."""
ONLY_SIMULATED: Final = frozenset({"battery", "skew", "corrupt", "garbage", "replay"})
"""Faults that need a hand inside the daemons."""


def check_lineup(scenario: Scenario, file: Path, seed: int) -> None:
    """Raises ScenarioError for what the lab has not, and for a network that cannot be laid out."""
    for place, fault in enumerate(scenario.faults):
        if fault.kind in ONLY_SIMULATED:
            raise ScenarioError(f"{file}: fault[{place}].kind: only the simulator has {fault.kind}; use chapar-sim run")
    for spec in scenario.nodes:
        if spec.clock_offset or spec.clock_drift or spec.battery != 1.0:
            raise ScenarioError(
                f"{file}: node {spec.index}: only the simulator has clocks and batteries of nodes; use chapar-sim run"
            )
    if len(scenario.nodes) > MOST_NODES:
        raise ScenarioError(f"{file}: nodes: a lab has {MOST_NODES} at most; use chapar-sim run")
    if scenario.topology.kind == RANGE:
        first_positions(scenario, seed)
