"""The ground of a run: where its nodes are and who hears whom, as faults and mobility change it.

It asks its surroundings for the time only, so the simulator and the lab stand on the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_sim.links import Links, Pairs, Position
from chapar_sim.mobility import Mobility
from chapar_sim.terrain import RANGE
from chapar_sim.trace import Connectivity, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar_sim.scenario import Scenario
    from chapar_sim.workload import Schedule


class Ground:
    """Who hears whom, written down in the trace. `changed` is called with the new links when they change."""

    def __init__(
        self, scenario: Scenario, seed: int, clock: Schedule, trace: Trace, changed: Callable[[Pairs], None]
    ) -> None:
        dead = frozenset((link.a, link.b) for link in scenario.radio.links if link.loss >= 1)
        self.links = Links(scenario.topology, [spec.index for spec in scenario.nodes], dead)
        self._active = scenario.active
        self._step_seconds = scenario.mobility.step
        self._clock = clock
        self._trace = trace
        self._changed = changed
        self._mobility = Mobility(scenario, seed) if scenario.topology.kind == RANGE else None

    @property
    def positions(self) -> Mapping[int, Position] | None:
        """Where nodes are; None if only a graph is known of them."""
        return None if self._mobility is None else self._mobility.positions

    def lay(self) -> None:
        """Put everyone in place. Nobody is told of a change."""
        if self._mobility is not None:
            self.links.place(self._mobility.positions)
        self.links.refresh()
        self._trace.connectivity.append(Connectivity(0.0, self.links.pairs))

    def set_moving(self) -> None:
        """From now on those move who move."""
        if self._mobility is not None and self._mobility.moves:
            self._clock.at(self._clock.now + self._step_seconds, self._step)

    def links_changed(self) -> None:
        """Something about the links may have changed; everyone concerned learns of it in time."""
        if self.links.refresh():
            self._trace.quiet_since = self._clock.now
            self._trace.connectivity.append(Connectivity(self._clock.now, self.links.pairs))
            self._changed(self.links.pairs)

    def move(self, node: int, position: Position) -> None:
        """Carry a node to another place."""
        assert self._mobility is not None, "the scenario has been checked: nodes have positions"
        self._mobility.put(node, self._clock.now, position)
        self._placed()

    def _step(self) -> None:
        assert self._mobility is not None, "only moving nodes step"
        if self._clock.now <= self._active:
            self._mobility.advance(self._clock.now)
            self._placed()
            self._clock.at(self._clock.now + self._step_seconds, self._step)

    def _placed(self) -> None:
        assert self._mobility is not None, "only nodes with positions are placed"
        self.links.place(self._mobility.positions)
        self.links_changed()
