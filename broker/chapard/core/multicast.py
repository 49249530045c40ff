"""Real-time multicast by residual node vectors (report 3.3.2, equations 3.10 to 3.14).

The root groups the destinations by their next hop and sends one EVENT to each, with the residual node vector (RNV) of
its group; every node on the way takes what is for itself and does the same with the rest, broker or not. The printed
`NNV xor BNV` of (3.10) is wrong, as it admits brokers that are not neighbours; grouping by next hop needs neither.

- Where routing knows the links of the network, the next hops are those of a tree of shortest paths that shares as many
  as it can (tree.py); else, and for whom it does not reach, the next hop is that of the route.
- A next hop that runs no chapard is skipped: the event goes straight to the destination, and IP carries it there.
- Nothing loops: an event is accepted once per destination (and attempt), is never sent back to where it came from, and
  carries a hop limit.
- Where routing has no way, or only the way back, one that it took back a moment ago is tried (`lapsed`).
- When a link gives an event up, its RNV is grouped again over the routes of that moment. Destinations that are reached
  only over the dead node, or one that the event came from, are lost, and the loss is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.event import EventId, peek_id
from chapar.wire import EventFrame
from chapard.core.effects import Reason
from chapard.core.nodevector import NodeVector
from chapard.core.tree import Paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapard.core.links import Links
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.topology import RouteView

MOST_GROUPINGS = 1024
"""Groupings that are remembered until the routes or the peers change."""


class Multicast:
    """Forwards events along the routes of one node."""

    def __init__(self, station: Station, links: Links, outlet: Outlet) -> None:
        self._station = station
        self._links = links
        self._outlet = outlet
        self._nodes = station.config.nodes
        self._accepted: dict[tuple[EventId, int], tuple[NodeVector, tuple[int, ...]]] = {}
        """By event and attempt: the destinations accepted, and the nodes it came from."""
        self._groupings: dict[tuple[NodeVector, tuple[int, ...]], Mapping[int | None, NodeVector]] = {}
        """By residual vector, and the nodes not to hand it to."""
        self._paths: Paths | None = None
        self._grouped_by: tuple[RouteView, tuple[int, int]] | None = None
        """The view, and the states of peers and lapsed routes, that these stand on."""

    def __len__(self) -> int:
        return len(self._accepted)

    def accept(self, frame: EventFrame) -> NodeVector:
        """The destinations of an arriving event that this node has not accepted before: its own to serve now."""
        rnv = NodeVector.from_wire(frame.rnv, self._nodes)
        return self.first_seen(peek_id(frame.body), frame.attempt, rnv, came_from=frame.sender)

    def first_seen(
        self, event_id: EventId, attempt: int, rnv: NodeVector, *, came_from: int | None = None
    ) -> NodeVector:
        key = (event_id, attempt)
        before, sources = self._accepted.pop(key, (None, ()))
        if came_from is not None and came_from not in sources:
            sources = (*sources, came_from)
        self._accepted[key] = (rnv if before is None else before | rnv, sources)
        if len(self._accepted) > self._station.config.seen_limit:
            del self._accepted[next(iter(self._accepted))]
        return rnv if before is None else rnv & ~before

    def forward(self, frame: EventFrame, rnv: NodeVector) -> None:
        """Pass an event on to the destinations in `rnv`, from where it arrived in `frame`."""
        if frame.hops <= 1:
            self._outlet.lose(peek_id(frame.body), rnv, Reason.HOP_LIMIT)
            return
        onward = frame._replace(sender=self._station.index, hops=frame.hops - 1)
        self.send(onward, rnv, came_from=frame.sender)

    def start(
        self, body: bytes, rnv: NodeVector, *, attempt: int = 0, remaining_ms: int = 0, behind: int = 0
    ) -> None:
        """Send an event on its way: to the destinations in `rnv`, with this node as the root of its tree."""
        hops = self._station.config.hop_limit
        self.send(EventFrame(self._station.index, hops, attempt, remaining_ms, behind, b"", body), rnv)

    def send(self, frame: EventFrame, rnv: NodeVector, came_from: int | None = None) -> None:
        """Send one EVENT per next hop, each with the part of `rnv` that lies behind it."""
        avoid = () if came_from is None else (came_from,)
        for next_hop, group in self._groups(rnv, avoid).items():
            if next_hop is None or next_hop == came_from:
                self._outlet.lose(peek_id(frame.body), group, Reason.NO_ROUTE)
            else:
                self._links.send(next_hop, frame._replace(rnv=group.to_wire()))

    def gave_up(self, dead: int | None, frame: EventFrame) -> None:
        """An event comes back, as `dead` does not answer or (None) the next hop is gone: try the routes of now."""
        _, sources = self._accepted.get((peek_id(frame.body), frame.attempt), (None, ()))
        avoid = sources if dead is None else (*sources, dead)
        for next_hop, group in self._groups(NodeVector.from_wire(frame.rnv, self._nodes), avoid).items():
            if next_hop is None or next_hop in sources:
                self._outlet.lose(peek_id(frame.body), group, Reason.NO_ROUTE)
            elif next_hop == dead:
                self._outlet.lose(peek_id(frame.body), group, Reason.HOP_DEAD)
            else:
                self._links.send(next_hop, frame._replace(rnv=group.to_wire()))

    def _groups(self, rnv: NodeVector, avoid: tuple[int, ...]) -> Mapping[int | None, NodeVector]:
        """The destinations by the node to hand the event to; under None those without a route.

        A node to avoid is among them only where the route leads there and no other path is as short.
        """
        view, changes = self._station.view, (self._station.peers.changes, self._station.lapsed.changes)
        if self._grouped_by is None or self._grouped_by[0] is not view or self._grouped_by[1] != changes:
            self._groupings.clear()
            self._paths = None if view.links is None else Paths(self._station.index, view.links)
            self._grouped_by = (view, changes)
        groups = self._groupings.get((rnv, avoid))
        if groups is None:
            if len(self._groupings) >= MOST_GROUPINGS:
                self._groupings.clear()
            groups = self._groupings[rnv, avoid] = self._group(rnv, avoid)
        return groups

    def _group(self, rnv: NodeVector, avoid: tuple[int, ...]) -> Mapping[int | None, NodeVector]:
        next_hop_of: dict[int, int] = {}
        destinations = rnv.indexes()
        if self._paths is not None:
            station = self._station
            next_hops = {node for node in station.view.neighbours if node in station.peers and node not in avoid}
            plan = self._paths.plan(destinations, next_hops)
            if plan is not None:
                next_hop_of = {node: next_hop for next_hop, group in plan.groups.items() for node in group}
        members: dict[int | None, list[int]] = {}
        for node in destinations:
            next_hop = next_hop_of[node] if node in next_hop_of else self._hand_to(node, avoid)
            members.setdefault(next_hop, []).append(node)
        return {next_hop: NodeVector.of(group, self._nodes) for next_hop, group in members.items()}

    def _hand_to(self, node: int, avoid: tuple[int, ...]) -> int | None:
        station = self._station
        route = station.route(node)
        if route is None and (node in station.peers or node in station.view.neighbours):
            return node  # contact is enough: a peer that routing does not know yet is one hop away
        if route is None or route.next_hop in avoid:
            lapsed = station.lapsed.next_hop(node)
            if lapsed is not None and lapsed not in avoid:
                return lapsed
        if route is None:
            return None
        return route.next_hop if route.next_hop in station.peers else node
