"""What the lab takes of scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from chapar_lab.lineup import MOST_NODES, ONLY_SIMULATED, check_lineup
from chapar_sim.faults import Faults
from chapar_sim.faultspec import FAULTS
from chapar_sim.scenario import Scenario, load
from chapar_sim.table import ScenarioError

FILE = Path("some.toml")
LIBRARY = Path(__file__).resolve().parents[2] / "deploy" / "scenarios"


def scenario(**more: object) -> Scenario:
    return Scenario.from_dict({"duration": 10, "nodes": 2, "topology": {"kind": "chain"}, **more})


def refusal(**more: object) -> str:
    """Why it is not taken: a line that names the file, and the tool that takes it."""
    with pytest.raises(ScenarioError) as caught:
        check_lineup(scenario(**more), FILE, 1)
    text = str(caught.value)
    assert text.startswith("some.toml: ")
    assert text.endswith("; use chapar-sim run")
    return text.removeprefix("some.toml: ").removesuffix("; use chapar-sim run")


def test_what_the_lab_can_do_is_taken() -> None:
    """A fault of a link and one of a daemon, a node without chapard, and as many nodes as there may be."""
    faults = [{"kind": "cut", "at": 1, "edges": [[1, 2]]}, {"kind": "crash", "at": 2, "nodes": [2], "disk": "kept"}]
    check_lineup(scenario(fault=faults, node=[{"index": 1, "chapard": False}]), FILE, 1)
    check_lineup(scenario(nodes=MOST_NODES), FILE, 1)


def test_a_fault_inside_a_daemon_is_refused() -> None:
    """By its place among the faults."""
    faults = [{"kind": "restart", "at": 1, "nodes": [2]}, {"kind": "battery", "at": 2, "nodes": [2], "level": 0.5}]
    assert refusal(fault=faults) == "fault[1].kind: only the simulator has battery"


def test_every_fault_is_either_refused_or_can_be_carried_out() -> None:
    """A new kind is not forgotten."""
    everywhere = Faults(None).kinds  # type: ignore[arg-type]  # it is not touched before a fault begins
    assert everywhere | ONLY_SIMULATED == frozenset(FAULTS)
    assert not everywhere & ONLY_SIMULATED


@pytest.mark.parametrize("special", [{"clock_offset": 1}, {"clock_drift": 0.001}, {"battery": 0.5}])
def test_clocks_and_batteries_are_refused(special: dict[str, float]) -> None:
    """All nodes of a machine have the machine's."""
    assert refusal(node=[{"index": 2, **special}]) == "node 2: only the simulator has clocks and batteries of nodes"


def test_too_many_nodes_are_refused() -> None:
    """One more than the most."""
    assert refusal(nodes=MOST_NODES + 1) == f"nodes: a lab has {MOST_NODES} at most"


def test_a_network_that_cannot_be_laid_out_is_refused() -> None:
    """Which depends on the seed: nodes stand where that has them stand."""
    wide = {"kind": "range", "range": 10, "area": [5000, 5000], "connected": True}
    with pytest.raises(ScenarioError, match="draws gave no connected network"):
        check_lineup(scenario(topology=wide), FILE, 1)
    check_lineup(scenario(topology={**wide, "range": 9000}), FILE, 1)


def test_the_library_is_for_both_worlds() -> None:
    """All but the one that is too large for a lab."""
    refused = {}
    for file in sorted(LIBRARY.glob("*.toml")):
        given = load(file)
        try:
            check_lineup(given, file, given.seed)
        except ScenarioError as error:
            refused[file] = str(error)
    thousand = LIBRARY / "thousand.toml"
    assert refused == {thousand: f"{thousand}: nodes: a lab has {MOST_NODES} at most; use chapar-sim run"}
