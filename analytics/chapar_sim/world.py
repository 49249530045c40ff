"""One simulated network: cores and their disks, clients, radio, routing and faults, on one virtual clock."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from chapar_olsr.agent.messages import PORT as OLSR_PORT
from chapar_sim import workload
from chapar_sim.agents import Agents
from chapar_sim.clock import Clock
from chapar_sim.daemon import Daemon
from chapar_sim.datasets import Recorder
from chapar_sim.faults import Faults
from chapar_sim.ground import Ground
from chapar_sim.ip import Ip
from chapar_sim.merges import watch_merge
from chapar_sim.mischief import Mischief
from chapar_sim.routing import Routing, RoutingDaemons
from chapar_sim.trace import Reroute, Trace
from chapar_sim.workload import LOOPBACK, RECONNECT
from chapard.core.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.session import Message, Request
    from chapar_olsr.view import RouteView
    from chapar_sim.daemon import NodeFactory
    from chapar_sim.links import Pairs
    from chapar_sim.scenario import Scenario

PROGRESS_STEPS = 400


class World:
    """A scenario come to life. Make it, `run` it once, read the trace.

    `node_factory` makes the cores, so that a test can put a faulty one in their place. With `record_rows`, the rows of
    the datasets are kept in the trace, those of all frames among them.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        node_factory: NodeFactory = Node,
        *,
        record_rows: bool = False,
    ) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.clock = Clock()
        self.trace = Trace()
        nodes = [spec.index for spec in scenario.nodes]
        self.ground = Ground(scenario, self.seed, self.clock, self.trace, self._links_changed)
        self.links = self.ground.links
        routes, agents = scenario.routes, None
        if routes.has_agents:
            agents = Agents(routes, self.seed, self.clock, nodes, self._send_olsr, self._rerouted)
        self.routing: RoutingDaemons = agents or Routing(
            routes, self.clock, nodes, self._random("routing"), self._view_changed
        )
        self.ip = Ip(
            scenario.radio, self.clock, self.links, self.routing, self._random("radio"), self.trace, self.deliver
        )
        if agents is not None:
            self.ip.listen(OLSR_PORT, agents.datagram_received)
        config = scenario.daemon_config()
        recorder = None
        if record_rows:
            config = replace(config, record=True, record_frames=True)
            recorder = Recorder(self.trace, scenario.name)
        self._daemons = {
            spec.index: Daemon(spec, config, self.seed, node_factory, self.clock, self, self.trace, recorder)
            for spec in scenario.nodes
            if spec.chapard
        }
        self._clients = workload.build(scenario, self.seed, config.keep_alive, self.clock, self.trace, self)
        self._faults = Faults(self, Mischief(self, self.seed).kinds)

    def run(self, progress: Callable[[float], None] | None = None) -> Trace:
        """Let everything happen. `progress` is called now and then with the virtual time."""
        self._begin()
        end = self.scenario.duration
        for step in range(1, PROGRESS_STEPS + 1):
            self.clock.run_until(end * step / PROGRESS_STEPS)
            if progress is not None:
                progress(self.clock.now)
        if not self.trace.snapshots or self.trace.snapshots[-1].t < end:
            self._look_at_tables()
        for daemon in self._daemons.values():
            daemon.count_messages()
        self.trace.end = end
        return self.trace

    def _begin(self) -> None:
        self.ground.lay()
        self.routing.start(self.links.pairs)
        for daemon in self._daemons.values():
            daemon.start()
        self._faults.schedule(self.scenario.faults)
        self.ground.set_moving()
        if self.scenario.snapshot_every:
            self.clock.after(self.scenario.snapshot_every, self._look_regularly)

    def _random(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{purpose}")

    # What daemons, clients and faults need of the world

    def daemons_of(self, nodes: Iterable[int]) -> list[Daemon]:
        """The daemons of these nodes, of those that have one."""
        return [self._daemons[node] for node in nodes if node in self._daemons]

    def disturbed(self) -> None:
        """Something from outside happened just now."""
        self.trace.quiet_since = self.clock.now

    def _links_changed(self, pairs: Pairs) -> None:
        self.routing.links_changed(pairs)

    def healed(self, since: float) -> None:
        """A cut that was there since `since` has ended: what the merge costs is of interest."""
        watch_merge(self.trace, self.clock, since, self.scenario.duration)

    def power(self, node: int, *, on: bool) -> None:
        """The routing daemon of a node ends, or starts, with the node."""
        if on:
            self.routing.wake(node)
        else:
            self.routing.forget(node)

    def set_duplicate(self, probability: float) -> float:
        """Have frames heard twice with this probability; returns what it was."""
        before, self.ip.radio.duplicate = self.ip.radio.duplicate, probability
        return before

    def send(self, source: int, to: int | None, payload: bytes) -> None:
        self.ip.send(source, to, payload)

    def deliver(self, node: int, payload: bytes, source: int) -> None:
        """A datagram has arrived at a node."""
        daemon = self._daemons.get(node)
        if daemon is not None:
            daemon.datagram_received(payload, source)

    def view(self, node: int) -> RouteView:
        return self.routing.view(node)

    def answer(self, client: str, message: Message) -> None:
        """A daemon sends a message to a client of its node."""
        if client in self._clients:
            self.clock.after(LOOPBACK, partial(self._clients[client].received, message))

    def request(self, home: int, client: str, requests: Iterable[Request]) -> None:
        """Requests of a client arrive at its daemon, if that runs."""
        self._daemons[home].client_request(client, requests)

    def is_up(self, home: int) -> bool:
        return self._daemons[home].is_up

    def daemon_changed(self, node: int, *, up: bool) -> None:
        """The daemon of a node has started or ended; its clients notice."""
        for client in self._clients.values():
            if client.home == node:
                notice = client.daemon_up if up else client.daemon_down
                self.clock.after(RECONNECT if up else LOOPBACK, notice)

    def _send_olsr(self, node: int, packet: bytes) -> None:
        self.ip.broadcast_olsr(node, packet)

    def _rerouted(self, node: int) -> None:
        self.trace.reroutes.append(Reroute(self.clock.now, node))
        self._view_changed(node)

    def _view_changed(self, node: int) -> None:
        if node in self._daemons:
            self._daemons[node].route_changed()

    # Looking inside

    def _look_regularly(self) -> None:
        self._look_at_tables()
        self.clock.after(self.scenario.snapshot_every, self._look_regularly)

    def _look_at_tables(self) -> None:
        for daemon in self._daemons.values():
            snapshot = daemon.snapshot()
            if snapshot is not None:
                self.trace.snapshots.append(snapshot)
