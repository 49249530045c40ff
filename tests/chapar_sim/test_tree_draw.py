"""Random scenarios on trees of brokers."""

from __future__ import annotations

import tomllib

import pytest

from chapar_sim.case import bounds_of
from chapar_sim.scenario import Scenario
from chapar_sim.tomltext import dumps
from chapar_sim.tree_draw import TROUBLED, draw_tree, tree_of
from chapard.core.overlay.router import Algorithm

SEEDS = range(120)


def test_a_scenario_can_be_saved_and_read_again() -> None:
    """What a seed draws is a scenario file, value by value."""
    for seed in SEEDS:
        assert Scenario.from_dict(tomllib.loads(dumps(draw_tree(seed))), f"seed {seed}") == tree_of(seed)


def test_every_algorithm_has_its_turn() -> None:
    """So many seeds in a row as there are algorithms have all of them."""
    assert {tree_of(seed).routing.algorithm for seed in range(7, 7 + len(Algorithm))} == set(Algorithm)


@pytest.mark.parametrize(
    "is_drawn",
    [
        pytest.param(lambda s: s.radio.loss > 0, id="loss"),
        pytest.param(lambda s: s.routing.advertisements, id="advertisements"),
        pytest.param(lambda s: s.routing.publisher_roots, id="known publishers"),
        pytest.param(lambda s: len(s.overlay.nodes) < len(s.nodes), id="nodes beside the tree"),
        pytest.param(lambda s: any(f.kind == "cut" for f in s.faults), id="cuts"),
        pytest.param(lambda s: any(f.kind == "crash" and not f.disk for f in s.faults), id="lost disks"),
        pytest.param(lambda s: any(f.kind == "corrupt" for f in s.faults), id="corrupt tables"),
        pytest.param(lambda s: any(p.to for c in s.clients for p in c.publish), id="addressed events"),
        pytest.param(lambda s: any(c.presence.on for c in s.clients), id="brief clients"),
    ],
)
def test_variety(is_drawn: object) -> None:
    """Each kind of tree, fault and workload is drawn now and then, and none always."""
    assert callable(is_drawn)
    drawn = [bool(is_drawn(tree_of(seed))) for seed in SEEDS]
    assert 0 < sum(drawn) < len(SEEDS)


def test_the_quiet_time_lets_promises_fall_due() -> None:
    """The end is quiet for as long as the stated bounds ask of a tree that spans two hops; faults end before."""
    for seed in SEEDS:
        scenario = tree_of(seed)
        bounds = bounds_of(scenario)
        assert scenario.settle >= bounds.overlay_up(2) + bounds.overlay_spread(len(scenario.nodes), 2) + bounds.drain()
        assert all(max(fault.at, fault.until or 0) <= TROUBLED for fault in scenario.faults)
