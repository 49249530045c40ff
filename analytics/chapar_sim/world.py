"""One simulated network: cores and their disks, clients, radio, routing and faults, on one virtual clock."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

from chapar_sim import workload
from chapar_sim.clock import Clock
from chapar_sim.daemon import Daemon
from chapar_sim.datasets import Recorder
from chapar_sim.faults import Faults
from chapar_sim.ip import Ip
from chapar_sim.links import Links, Position
from chapar_sim.mobility import Mobility
from chapar_sim.routing import Routing
from chapar_sim.terrain import RANGE
from chapar_sim.trace import Connectivity, Trace
from chapar_sim.workload import LOOPBACK, RECONNECT
from chapard.core.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.session import Message, Request
    from chapar_olsr.view import RouteView
    from chapar_sim.daemon import NodeFactory
    from chapar_sim.scenario import Scenario

PROGRESS_STEPS = 400


class World:
    """A scenario come to life. Make it, `run` it once, read the trace.

    `node_factory` makes the cores, so that a test can put a faulty one in their place. With `record_rows`, the rows of
    the datasets are kept in the trace.
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
        dead = frozenset((link.a, link.b) for link in scenario.radio.links if link.loss >= 1)
        self.links = Links(scenario.topology, nodes, dead)
        self._mobility = Mobility(scenario, self.seed) if scenario.topology.kind == RANGE else None
        self.routing = Routing(scenario.routes, self.clock, nodes, self._random("routing"), self._view_changed)
        self.ip = Ip(
            scenario.radio, self.clock, self.links, self.routing, self._random("radio"), self.trace, self.deliver
        )
        config = scenario.daemon_config()
        recorder = Recorder(self.trace, scenario.name) if record_rows else None
        self._daemons = {
            spec.index: Daemon(spec, config, self.seed, node_factory, self.clock, self, self.trace, recorder)
            for spec in scenario.nodes
            if spec.chapard
        }
        self._clients = workload.build(scenario, self.seed, config.keep_alive, self.clock, self.trace, self)
        self._faults = Faults(self, self.seed)

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
        self.trace.end = end
        return self.trace

    def _begin(self) -> None:
        if self._mobility is not None:
            self.links.place(self._mobility.positions)
        self.links.refresh()
        self.trace.connectivity.append(Connectivity(0.0, self.links.pairs))
        self.routing.start(self.links.pairs)
        for daemon in self._daemons.values():
            daemon.start()
        self._faults.schedule(self.scenario.faults)
        if self._mobility is not None and self._mobility.moves:
            self.clock.after(self.scenario.mobility.step, self._step)
        if self.scenario.snapshot_every:
            self.clock.after(self.scenario.snapshot_every, self._look_regularly)

    def _random(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{purpose}")

    # Links and positions

    def links_changed(self) -> None:
        """Something about the links may have changed; everyone concerned learns of it in time."""
        if self.links.refresh():
            self.disturbed()
            self.trace.connectivity.append(Connectivity(self.clock.now, self.links.pairs))
            self.routing.links_changed(self.links.pairs)

    def move(self, node: int, position: Position) -> None:
        """Carry a node to another place."""
        assert self._mobility is not None, "the scenario has been checked: nodes have positions"
        self._mobility.put(node, self.clock.now, position)
        self._placed()

    def _step(self) -> None:
        assert self._mobility is not None, "only moving nodes step"
        if self.clock.now <= self.scenario.active:
            self._mobility.advance(self.clock.now)
            self._placed()
            self.clock.after(self.scenario.mobility.step, self._step)

    def _placed(self) -> None:
        assert self._mobility is not None, "only nodes with positions are placed"
        self.links.place(self._mobility.positions)
        self.links_changed()

    # What daemons, clients and faults need of the world

    def daemons_of(self, nodes: Iterable[int]) -> list[Daemon]:
        """The daemons of these nodes, of those that have one."""
        return [self._daemons[node] for node in nodes if node in self._daemons]

    def disturbed(self) -> None:
        """Something from outside happened just now."""
        self.trace.quiet_since = self.clock.now

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
