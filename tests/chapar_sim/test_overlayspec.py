"""[routing] and [overlay] of a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from chapar_sim.scenario import Scenario, ScenarioError
from chapard.core.config import Mode, Overlay, Routing
from chapard.core.overlay.router import Algorithm

BASE: dict[str, Any] = {
    "name": "t", "duration": 10, "nodes": 5, "topology": {"kind": "full"}, "node": [{"index": 5, "chapard": False}],
}  # fmt: skip
TREE = {"routing": {"mode": "tree"}, "overlay": {"links": [[1, 2], [2, 3]]}}


def test_without_them_the_tables_are_replicated() -> None:
    """As ever."""
    scenario = Scenario.from_dict(BASE)
    assert (scenario.routing, scenario.overlay, scenario.is_tree) == (Routing(), Overlay(), False)


def test_a_tree_reaches_the_daemons() -> None:
    """Every key of both tables is part of their configuration."""
    routing = {
        "mode": "tree", "algorithm": "merging", "refresh_period": 5, "merge_delay": 0.2, "publisher_roots": [1],
    }  # fmt: skip
    overlay = {"kind": "static", "links": [[1, 2], [2, 4]]}
    scenario = Scenario.from_dict({**BASE, "routing": routing, "overlay": overlay})
    config = scenario.daemon_config()
    made = Routing(
        mode=Mode.TREE, algorithm=Algorithm.MERGING, refresh_period=5.0, merge_delay=0.2, publisher_roots=(1,)
    )
    assert (config.routing, config.overlay) == (made, Overlay(((1, 2), (2, 4))))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"routing": {"mode": "trees"}}, "routing.mode: 'trees' is not known; did you mean 'tree'?"),
        ({"routing": {"algoritm": "simple"}}, "routing.algoritm: unknown key; did you mean algorithm?"),
        ({"routing": {"refresh_period": 0}}, "routing.refresh_period: 0 is out of range"),
        ({"routing": {"publisher_roots": [5]}}, "routing.publisher_roots[0]: "),
        ({"routing": {"mode": "tree"}}, "overlay.links: missing; routing.mode = \"tree\" needs a tree"),
        ({"overlay": {"kind": "somer"}}, "overlay.kind: 'somer' is not known; write one of static"),
        ({"overlay": {"links": [[1, 2], [2, 3], [3, 1]]}}, "overlay.links: has the cycle 1 - 3 - 2 - 1: leave one"),
        ({"overlay": {"links": [[1, 1]]}}, "overlay.links: joins node 1 to itself"),
        ({"overlay": {"links": [[1, 2], [2, 1]]}}, "overlay.links: names [2, 1] twice"),
        ({"overlay": {"links": [[1, 7]]}}, "overlay.links[0]: node 7 is none that runs chapard; those are 1, 2, 3, 4"),
        ({"overlay": {"links": [[1, 5]]}}, "overlay.links[0]: node 5 is none that runs chapard"),
        ({"overlay": {"links": [3]}}, "overlay.links[0]: 3 is not a pair of nodes; write [a, b]"),
        ({**TREE, "config": {"hop_ack": False}}, "hop_ack must be true where routing.mode is tree"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_line(changes: dict[str, Any], says: str) -> None:
    """The line names the key and says what to write."""
    with pytest.raises(ScenarioError) as refused:
        Scenario.from_dict({**BASE, **changes})
    assert str(refused.value).startswith(f"scenario: {says}")
    assert "\n" not in str(refused.value)


def test_a_tree_can_be_routed_by_another_algorithm() -> None:
    """The same tree; what is no tree, or no algorithm, is refused."""
    scenario = Scenario.from_dict({**BASE, **TREE})
    other = scenario.routed_by("covering")
    assert (other.routing.algorithm, other.overlay) == (Algorithm.COVERING, scenario.overlay)
    with pytest.raises(ScenarioError, match="not known; write one of flooding, simple"):
        scenario.routed_by("magic")
    with pytest.raises(ScenarioError, match="--algorithm is for a tree"):
        Scenario.from_dict(BASE).routed_by("covering")
