"""A node's place in the network: who it is, what routing tells it, who it hears, and which broker it has chosen.

Every machine of the node reads it; only the node itself (on a new view, a beacon, a lost peer) changes it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from chapard.core.config import Mode
from chapard.core.lapsed import LapsedRoutes
from chapard.core.nodevector import NodeVector
from chapard.core.peers import Peer, Peers
from chapard.core.power import Power
from chapard.core.topology import Alone, Route, RouteView, available

if TYPE_CHECKING:
    from chapar.wire import Frame
    from chapard.core.config import Config
    from chapard.core.links import Links

PROBE_ROUNDS = 3
"""How often a node nearer than a broker that answered is tried: its first beacons, or ours, may have been lost."""

SEARCH_SHARE = 1 / 200
"""The part of the time for which somebody is missed that may pass between two beacons."""


class Station:
    """Identity and surroundings of one node."""

    def __init__(self, index: int, incarnation: int, config: Config) -> None:
        self.index = index
        self.incarnation = incarnation
        self.config = config
        self.view: RouteView = Alone()
        self.available = NodeVector.of([index], config.nodes)
        """ANV: every node that routing can reach now."""
        self.peers = Peers(config.nodes, config.contact_periods * config.refresh_period)
        self.power = Power.FULL
        self.is_broker = False
        self.broker: int | None = None
        """The broker this node hands its events to: itself, if it is one."""
        self.relays: frozenset[int] = frozenset()
        """MPRs: the routing daemon's, or our own selection where it has none."""
        self.lapsed = LapsedRoutes()
        self._neighbour_since: dict[int, float] = {}
        self._probes: dict[int, int] = {}
        """How many destinations were tried behind each silent neighbour."""
        self._missed: dict[int, float] = {}
        """Nodes that were in contact and fell silent, and since when."""

    def adopt(self, view: RouteView, now: float) -> frozenset[int]:
        """Take a new route view; returns the neighbours and other contacts that it no longer reaches."""
        self.lapsed.taken_back(self.view.routes, view.routes, self.peers.__contains__, now)
        before, self.available = self.available, available(view, self.index, self.config.nodes)
        unreached = {peer.index for peer in self.peers if before[peer.index] and not self.available[peer.index]}
        # On a tree, a link spans any number of hops: who has moved away is not gone.
        departed = frozenset() if self.config.routing.mode is Mode.TREE else self.view.neighbours - view.neighbours
        gone = departed | unreached
        self.view = view
        self._neighbour_since = {n: self._neighbour_since.get(n, now) for n in sorted(view.neighbours)}
        self._probes = {n: tried for n, tried in self._probes.items() if n in view.neighbours}
        self.select_relays()
        return gone

    def select_relays(self) -> None:
        """Use the source's MPRs, or select relays from the two-hop neighbourhood that beacons reveal."""
        if self.view.mprs is not None:
            self.relays = self.view.mprs
            return
        two_hop = {peer.index: frozenset(peer.neighbours.indexes()) for peer in self.peers}
        self.relays = self.view.select_relays(two_hop)

    def selectors(self) -> frozenset[int]:
        """The neighbours that chose this node as a relay."""
        if self.view.selectors is not None:
            return self.view.selectors
        return frozenset(peer.index for peer in self.peers if peer.relays[self.index])

    def widest(self) -> int:
        """Hops to the farthest node, exact up to 2.

        A source without MPRs may state no more than that a node is no neighbour (the kernel knows gateways, not hops).
        Two hops then hold only for whom a neighbour's beacon names; anybody else is farther.
        """
        hops = max((route.hops for route in self.view.routes.values()), default=1)
        if hops != 2 or self.view.mprs is not None:
            return hops
        near = {self.index, *self.view.neighbours}
        for peer in self.peers:
            if peer.index in self.view.neighbours:
                near.update(peer.neighbours.indexes())
        return 2 if self.view.routes.keys() <= near else 3

    def route(self, node: int) -> Route | None:
        return self.view.routes.get(node)

    def is_adjacent(self, node: int) -> bool:
        """Whether a node is one hop away. A contact that routing does not know yet is."""
        route = self.view.routes.get(node)
        return node in self.view.neighbours or route is None or route.hops <= 1

    def adjoining_brokers(self) -> list[Peer]:
        """Brokers in contact, by index."""
        return [peer for peer in self.peers if peer.is_broker]

    def reachable(self) -> NodeVector:
        """Every node that it makes sense to send to: those available, and those that were a moment ago."""
        nodes = self.config.nodes
        return self.available | NodeVector.of((node for node in self.lapsed if node < nodes), nodes)

    def strangers(self) -> list[int]:
        """Contacts that routing does not reach: another part of the network, and this node is between the two."""
        return [peer.index for peer in self.peers if not self.available[peer.index]]

    def homes(self) -> list[int]:
        """The homes that have chosen this node as their broker, itself included."""
        chosen = [peer.index for peer in self.peers if peer.broker == self.index]
        return sorted([*chosen, self.index]) if self.broker == self.index else chosen

    def flood(self, links: Links, frame: Frame, *, came_from: int | None = None) -> None:
        """Hand a frame to the adjoining brokers: one broadcast, and a copy to each behind nodes without chapard.

        The one it came from has it, and alone is no reason to relay.
        """
        brokers = [peer for peer in self.adjoining_brokers() if peer.index != came_from]
        if any(self.is_adjacent(peer.index) for peer in brokers):
            links.send_loose(None, frame)
        for peer in brokers:
            if not self.is_adjacent(peer.index):
                links.send(peer.index, frame)

    def miss(self, node: int, now: float) -> None:
        """A node that was in contact, and did not say goodbye, is none any more."""
        self._missed[node] = now

    def found(self, node: int) -> None:
        """A node is in contact, or has said goodbye: it is not missed."""
        self._missed.pop(node, None)

    def search_interval(self, now: float) -> float:
        """How long at most between beacons, for nodes that were in contact and can be reached in no way now.

        They may be back any moment, with a partition of the network behind them. The longer they are missed the rarer
        the beacons, so that a partition takes the same small part of its length to be bridged, and nobody who is gone
        for good costs for ever.
        """
        longest = self.config.refresh_period
        self._missed = {node: since for node, since in self._missed.items() if (now - since) * SEARCH_SHARE < longest}
        missed = [since for node, since in self._missed.items() if not self.available[node]]
        return (now - max(missed)) * SEARCH_SHARE if missed else inf

    def is_looking(self, now: float) -> bool:
        """Whether a neighbour is so new that its beacon may only be on its way."""
        patience = self.config.orphan_patience
        return any(n not in self.peers and since + patience > now for n, since in self._neighbour_since.items())

    def beacon_targets(self, now: float) -> list[int]:
        """Who must get our beacon by unicast because no broadcast reaches them.

        Peers several hops away, and, behind each neighbour that is silent (it runs no chapard), the destinations in
        turn, nearest first, until a broker has answered and those nearer than it had their chance.
        """
        targets = {peer.index for peer in self.peers if not self.is_adjacent(peer.index)}
        patience = self.config.orphan_patience
        for neighbour, since in self._neighbour_since.items():
            if neighbour not in self.peers and since + patience <= now:
                targets.update(self._probe(neighbour))
        return sorted(targets)

    def _probe(self, neighbour: int) -> list[int]:
        """Whom to try this time behind a silent neighbour: one node, or none."""
        routes = self.view.routes
        behind = sorted(
            (route.hops, node)
            for node, route in routes.items()
            if route.next_hop == neighbour and node != neighbour and node < self.config.nodes
        )
        brokers = {peer.index for peer in self.adjoining_brokers()}
        answered = next((place for place, (_, node) in enumerate(behind) if node in brokers), None)
        candidates = behind[:answered]
        tried = self._probes.get(neighbour, 0)
        if not candidates or (answered is not None and tried >= PROBE_ROUNDS * len(candidates)):
            return []
        self._probes[neighbour] = tried + 1
        return [candidates[tried % len(candidates)][1]]
