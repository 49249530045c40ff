"""Where nodes are."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.links import is_connected, range_links
from chapar_sim.mobility import Mobility, first_positions
from chapar_sim.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from pathlib import Path


def scenario(topology: dict[str, Any] | None = None, folder: Path | None = None, **more: Any) -> Scenario:
    data = {
        "duration": 100,
        "nodes": 12,
        "topology": {"kind": "range", "range": 300, "area": [1000, 500], **(topology or {})},
        **more,
    }
    return Scenario.from_dict(data, "test", folder)


def test_random_positions_follow_from_the_seed_and_lie_in_the_area() -> None:
    """Two runs with one seed begin at the same places."""
    positions = first_positions(scenario(), 7)
    assert positions == first_positions(scenario(), 7)
    assert positions != first_positions(scenario(), 8)
    assert all(0 <= x <= 1000 and 0 <= y <= 500 for x, y in positions.values())


def test_a_grid_is_spread_evenly_and_a_node_that_says_where_it_stands_stands_there() -> None:
    """Four columns over 1000 m are 250 m apart."""
    made = first_positions(scenario({"placement": "grid", "columns": 4}, node=[{"index": 2, "x": 1, "y": 2}]), 1)
    assert made[1] == (125.0, 500 / 6)
    assert made[2] == (1.0, 2.0)
    assert made[12] == (875.0, 2500 / 6)


def test_a_connected_network_is_connected_or_refused() -> None:
    """Positions are drawn until they fit; where they cannot, the scenario is at fault and is told so."""
    for seed in range(5):
        positions = first_positions(scenario({"connected": True}), seed)
        assert is_connected(positions, range_links(positions, 300))
    with pytest.raises(ScenarioError, match="connected"):
        first_positions(scenario({"connected": True, "range": 1}), 1)


def test_random_waypoint_keeps_to_the_area_and_the_speed() -> None:
    """Nobody leaves the area, nobody is faster than the fastest, and those who do not move stand."""
    mobility = Mobility(scenario(mobility={"kind": "waypoint", "speed": [2, 5], "pause": [0, 3], "nodes": [1, 2]}), 3)
    assert mobility.moves
    tracks: dict[int, list[tuple[float, float]]] = {node: [] for node in mobility.positions}
    for second in range(300):
        mobility.advance(float(second))
        for node, position in mobility.positions.items():
            tracks[node].append(position)
    for node, track in tracks.items():
        assert all(0 <= x <= 1000 and 0 <= y <= 500 for x, y in track)
        longest = max(math.dist(here, there) for here, there in pairwise(track))
        assert longest <= 5 + 1e-9
        assert (longest > 0) == (node in {1, 2})


def test_a_recorded_trace_is_followed(tmp_path: Path) -> None:
    """Between two sightings a node is on the line; before the first and after the last it stands."""
    (tmp_path / "way.csv").write_text("time,node,x,y\n10,3,0,0\n20,3,100,50\n")
    mobility = Mobility(scenario(mobility={"kind": "trace", "file": "way.csv"}, folder=tmp_path), 1)
    seen = []
    for time in (0, 10, 15, 20, 90):
        mobility.advance(time)
        seen.append(mobility.positions[3])
    assert seen == [(0, 0), (0, 0), (50, 25), (100, 50), (100, 50)]


def test_a_node_that_is_carried_away_goes_on_from_there(tmp_path: Path) -> None:
    """Whatever it was doing before."""
    (tmp_path / "way.csv").write_text("time,node,x,y\n0,3,0,0\n20,3,100,50\n")
    for kind in ({"kind": "waypoint", "speed": 1}, {"kind": "trace", "file": "way.csv"}):
        mobility = Mobility(scenario(mobility=kind, folder=tmp_path), 1)
        mobility.advance(5)
        mobility.put(3, 5.0, (700.0, 300.0))
        mobility.advance(6)
        assert math.dist(mobility.positions[3], (700, 300)) <= 1 + 1e-9
