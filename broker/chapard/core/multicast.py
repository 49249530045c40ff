"""Real-time multicast by residual node vectors (report 3.3.2, equations 3.10 to 3.14).

The root groups the destinations by their next hop and sends one EVENT to each, with the residual node vector (RNV) of
its group; every node on the way takes what is for itself and does the same with the rest, broker or not. The printed
`NNV xor BNV` of (3.10) is wrong, as it admits brokers that are not neighbours; grouping by next hop needs neither.

- A next hop that runs no chapard is skipped: the event goes straight to the destination, and IP carries it there.
- Nothing loops: an event is accepted once per destination (and attempt), is never sent back to where it came from, and
  carries a hop limit.
- When a link gives an event up, its RNV is grouped again over the routes of that moment. Destinations whose next hop is
  still the dead one, or a node that the event came from, are lost, and the loss is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.event import EventId, peek_id
from chapar.wire import EventFrame
from chapard.core.effects import Reason
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from chapard.core.links import Links
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station


class Multicast:
    """Forwards events along the routes of one node."""

    def __init__(self, station: Station, links: Links, outlet: Outlet) -> None:
        self._station = station
        self._links = links
        self._outlet = outlet
        self._nodes = station.config.nodes
        self._accepted: dict[tuple[EventId, int], tuple[NodeVector, tuple[int, ...]]] = {}
        """By event and attempt: the destinations accepted, and the nodes it came from."""

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

    def start(self, body: bytes, rnv: NodeVector, *, attempt: int = 0, remaining_ms: int = 0) -> None:
        """Send an event on its way: to the destinations in `rnv`, with this node as the root of its tree."""
        hops = self._station.config.hop_limit
        self.send(EventFrame(self._station.index, hops, attempt, remaining_ms, b"", body), rnv)

    def send(self, frame: EventFrame, rnv: NodeVector, came_from: int | None = None) -> None:
        """Send one EVENT per next hop, each with the part of `rnv` that lies behind it."""
        for next_hop, group in self._groups(rnv).items():
            if next_hop is None or next_hop == came_from:
                self._outlet.lose(peek_id(frame.body), group, Reason.NO_ROUTE)
            else:
                self._links.send(next_hop, frame._replace(rnv=group.to_wire()))

    def gave_up(self, dead: int | None, frame: EventFrame) -> None:
        """An event comes back, as `dead` does not answer or (None) the next hop is gone: try the routes of now."""
        _, sources = self._accepted.get((peek_id(frame.body), frame.attempt), (None, ()))
        for next_hop, group in self._groups(NodeVector.from_wire(frame.rnv, self._nodes)).items():
            if next_hop is None or next_hop in sources:
                self._outlet.lose(peek_id(frame.body), group, Reason.NO_ROUTE)
            elif next_hop == dead:
                self._outlet.lose(peek_id(frame.body), group, Reason.HOP_DEAD)
            else:
                self._links.send(next_hop, frame._replace(rnv=group.to_wire()))

    def _groups(self, rnv: NodeVector) -> dict[int | None, NodeVector]:
        """The destinations by the node to hand the event to; under None those without a route."""
        members: dict[int | None, list[int]] = {}
        for node in rnv.indexes():
            members.setdefault(self._hand_to(node), []).append(node)
        return {next_hop: NodeVector.of(group, self._nodes) for next_hop, group in members.items()}

    def _hand_to(self, node: int) -> int | None:
        route = self._station.route(node)
        if route is None:
            # Contact is enough: a peer that routing does not know yet is one hop away.
            return node if node in self._station.peers or node in self._station.view.neighbours else None
        return route.next_hop if route.next_hop in self._station.peers else node
