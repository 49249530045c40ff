"""Where nodes are: their first positions, and how they move (standing still, random waypoint, a recorded trace)."""

from __future__ import annotations

from bisect import bisect_right
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.links import Position, is_connected, range_links
from chapar_sim.table import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_sim.scenario import Scenario
    from chapar_sim.terrain import Sample

PLACEMENT_TRIES: Final = 2000
"""Draws of random positions before a scenario that asks for a connected network is refused."""


class Leg(NamedTuple):
    """A straight walk: from `start` to `end` in time, from one point to another."""

    start: float
    end: float
    here: Position
    there: Position

    def at(self, time: float) -> Position:
        if time >= self.end:
            return self.there
        if time <= self.start:
            return self.here
        share = (time - self.start) / (self.end - self.start)
        (x, y), (to_x, to_y) = self.here, self.there
        return x + share * (to_x - x), y + share * (to_y - y)


class Waypoints:
    """Random waypoint: walk to a point drawn evenly from the area at a speed drawn evenly, stay a while, go on."""

    def __init__(self, scenario: Scenario, start: Position, rng: Random) -> None:
        self._spec = scenario.mobility
        self._area = scenario.topology.area
        self._rng = rng
        self._leg = self._next_leg(0.0, start)

    def at(self, time: float) -> Position:
        """Where the node is; ask in order of time."""
        while time > self._leg.end:
            self._leg = self._next_leg(self._leg.end + self._rng.uniform(*self._spec.pause), self._leg.there)
        return self._leg.at(time)

    def put(self, time: float, position: Position) -> None:
        """Someone carried the node here; it goes on from here."""
        self._leg = self._next_leg(time, position)

    def _next_leg(self, start: float, here: Position) -> Leg:
        there = (self._rng.uniform(0, self._area[0]), self._rng.uniform(0, self._area[1]))
        distance = ((there[0] - here[0]) ** 2 + (there[1] - here[1]) ** 2) ** 0.5
        return Leg(start, start + distance / self._rng.uniform(*self._spec.speed), here, there)


class Recorded:
    """A node of a recorded trace: on the straight line between the places where it was seen."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._times = [sample.time for sample in samples]
        self._places = [(sample.x, sample.y) for sample in samples]

    def at(self, time: float) -> Position:
        after = bisect_right(self._times, time)
        if after == 0 or after == len(self._times):
            return self._places[max(0, after - 1)]
        return Leg(self._times[after - 1], self._times[after], self._places[after - 1], self._places[after]).at(time)

    def put(self, time: float, position: Position) -> None:
        """Someone carried the node here; the rest of the recording does not count any more."""
        self._times, self._places = [time], [position]


class Mobility:
    """The positions of all nodes of a scenario whose links depend on them."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.positions = first_positions(scenario, seed)
        self._walkers: dict[int, Waypoints | Recorded] = {}
        spec = scenario.mobility
        if spec.kind == "waypoint":
            for node in spec.nodes or tuple(self.positions):
                self._walkers[node] = Waypoints(scenario, self.positions[node], Random(f"{seed}/mobility/{node}"))
        elif spec.kind == "trace":
            for node in sorted({sample.node for sample in spec.samples}):
                self._walkers[node] = Recorded([sample for sample in spec.samples if sample.node == node])
            self.advance(0.0)

    @property
    def moves(self) -> bool:
        return bool(self._walkers)

    def advance(self, time: float) -> None:
        """Move everyone to where they are at `time`."""
        for node, walker in self._walkers.items():
            self.positions[node] = walker.at(time)

    def put(self, node: int, time: float, position: Position) -> None:
        """A node is carried to another place."""
        self.positions[node] = position
        if node in self._walkers:
            self._walkers[node].put(time, position)


def first_positions(scenario: Scenario, seed: int) -> dict[int, Position]:
    """Where nodes stand at the start. Raises ScenarioError if no draw gives the connected network asked for."""
    topology = scenario.topology
    rng = Random(f"{seed}/placement")
    for _ in range(PLACEMENT_TRIES):
        drawn = _grid(scenario) if topology.placement == "grid" else _random(scenario, rng)
        positions = {spec.index: spec.position or drawn[spec.index] for spec in scenario.nodes}
        if not topology.connected or is_connected(positions, range_links(positions, topology.range)):
            return positions
    raise ScenarioError(
        f"{scenario.name}: topology.connected: {PLACEMENT_TRIES} draws gave no connected network; enlarge the range"
    )


def _random(scenario: Scenario, rng: Random) -> dict[int, Position]:
    width, height = scenario.topology.area
    return {spec.index: (rng.uniform(0, width), rng.uniform(0, height)) for spec in scenario.nodes}


def _grid(scenario: Scenario) -> dict[int, Position]:
    """Evenly over the area, row by row, each node in the middle of its field."""
    (width, height), columns = scenario.topology.area, scenario.topology.columns
    rows = -(-len(scenario.nodes) // columns)
    return {
        spec.index: ((place % columns + 0.5) * width / columns, (place // columns + 0.5) * height / rows)
        for place, spec in enumerate(scenario.nodes)
    }
