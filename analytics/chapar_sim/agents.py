"""OLSR agents in virtual time: every node's routing daemon is a real one, and finds out by itself what it knows.

Each node that is switched on runs one agent (`chapar_olsr.agent`), whether or not chapard runs there. Agents talk to
each other over the same radio as everything else, so that their messages take time, are lost and cost airtime. Nothing
is known at the start, and a node that was off starts again from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.findings import findings
from chapar_olsr.faults import Faults
from chapar_olsr.source import Identity, assemble
from chapar_olsr.view import RouteView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chapar_sim.clock import Clock
    from chapar_sim.links import Pairs
    from chapar_sim.terrain import RouteSpec

FIRST_ADDRESS: Final = 0x0A42_0000
"""10.66.0.0; a node's address is its index more. They are in one order, so ties between nodes are broken alike."""


@dataclass(slots=True)
class Running:
    """The agent of a node that is on."""

    agent: Agent
    view: RouteView
    version: int = -1
    """Of the agent when the view was made."""
    armed: float | None = None
    """When its timer fires."""


class Agents:
    """The agents of all nodes.

    `send(node, data)` broadcasts an OLSR packet; `changed(node)` is called when a node's view has changed.
    """

    def __init__(
        self,
        spec: RouteSpec,
        seed: int,
        clock: Clock,
        nodes: Sequence[int],
        send: Callable[[int, bytes], None],
        changed: Callable[[int], None],
    ) -> None:
        self._config = AgentConfig(
            hello_interval=spec.hello_interval, tc_interval=spec.tc_interval, link_quality=spec.link_quality
        )
        self._clock = clock
        self._rngs = {node: Random(f"{seed}/olsr/{node}") for node in nodes}
        self._send = send
        self._changed = changed
        self._running: dict[int, Running] = {}

    def start(self, pairs: Pairs) -> None:  # noqa: ARG002 - agents find out by themselves
        """Start them all; nobody knows anything."""
        for node in self._rngs:
            self.wake(node)

    def links_changed(self, pairs: Pairs) -> None:
        """The true links are these from now on. Agents find out by themselves."""

    def forget(self, node: int) -> None:
        """The node was switched off: its agent is gone, and what it knew."""
        self._running.pop(node, None)

    def wake(self, node: int) -> None:
        """The node was switched on: an agent starts there, unless one runs."""
        if node not in self._running:
            agent = Agent(self._config, [FIRST_ADDRESS + node], self._rngs[node], self._clock.now)
            running = self._running[node] = Running(agent, RouteView(node))
            self._carry_out(node, running)

    def view(self, node: int) -> RouteView:
        """What the node's agent knows now; nothing where none runs."""
        running = self._running.get(node)
        return RouteView(node) if running is None else running.view

    def datagram_received(self, node: int, payload: bytes, source: int) -> None:
        """An OLSR packet has arrived at a node."""
        running = self._running.get(node)
        if running is not None:
            local = FIRST_ADDRESS + node
            running.agent.datagram_received(payload, FIRST_ADDRESS + source, local, self._clock.now)
            self._carry_out(node, running)

    def _carry_out(self, node: int, running: Running) -> None:
        """Send what the agent wants sent, pass on what it has learnt, and wait for its next deadline."""
        agent = running.agent
        for each in agent.drain(self._clock.now):
            self._send(node, each.data)
        due = agent.next_deadline()
        if running.armed is None or due < running.armed:
            running.armed = max(due, self._clock.now)
            self._clock.at(running.armed, partial(self._fire, node, running, running.armed))
        if agent.version != running.version:
            running.version = agent.version
            view = _view(node, agent)
            if view != running.view:
                running.view = view
                self._changed(node)

    def _fire(self, node: int, running: Running, due: float) -> None:
        if running.armed != due or self._running.get(node) is not running:
            return  # set to an earlier time since, or the node was switched off
        running.armed = None
        if running.agent.next_deadline() <= due:
            running.agent.tick(due)
        self._carry_out(node, running)


def _view(node: int, agent: Agent) -> RouteView:
    return assemble(Identity(node, "", int), findings(agent, _name), Faults())


def _name(address: int) -> str:
    """Where only the simulator reads it, an index says as much as an address."""
    return str(address - FIRST_ADDRESS)
