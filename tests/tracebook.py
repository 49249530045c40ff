"""Hand-made traces: a run written down line by line, for tests of those who judge runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.event import Event, EventId, event_id
from chapar.filter import Filter
from chapar_sim.bounds import Bounds
from chapar_sim.case import Case
from chapar_sim.trace import (
    Accepted,
    Connectivity,
    Delivered,
    Handed,
    Interest,
    NodeChange,
    Presence,
    RecordedLoss,
    Snapshot,
    Trace,
)
from chapard.core.config import Config

if TYPE_CHECKING:
    from chapar_sim.spells import Disturbance

QUICK = Config(
    beacon_min=0.5, refresh_period=2.0, dismissal_time=5.0, orphan_patience=1.0, subscription_lease=20.0,
    sync_retry=0.5, serve_retry=1.0, order_patience=1.0, session_retry=0.5, publish_patience=1.0, retry_max=1.0,
)  # fmt: skip
BOUNDS = Bounds(QUICK)


class Tracebook:
    """A trace under construction. Node n's client is cn; all are ON and all daemons run unless said otherwise."""

    def __init__(
        self, *, nodes: int, end: float, bounds: Bounds = BOUNDS, clients: tuple[int, ...] | None = None
    ) -> None:
        self.nodes = range(1, nodes + 1)
        self.bounds = bounds
        self.plain: frozenset[int] = frozenset()
        self.disturbances: list[Disturbance] = []
        self.trace = Trace(end=end)
        self._sequence = 0
        for node in self.nodes if clients is None else clients:
            self.trace.presence.append(Presence(0.0, f"c{node}", node, on=True))

    def links(self, t: float, *edges: tuple[int, int], one_way: tuple[tuple[int, int], ...] = ()) -> Tracebook:
        """From `t` on these nodes hear each other, and no others."""
        both = frozenset(edges) | {(b, a) for a, b in edges} | frozenset(one_way)
        self.trace.connectivity.append(Connectivity(t, both))
        return self

    def chain(self, t: float = 0.0) -> Tracebook:
        return self.links(t, *((a, a + 1) for a in self.nodes[:-1]))

    def wants(self, t: float, node: int, filter_: str = "*", *, number: int = 1) -> Tracebook:
        self.trace.interests.append(Interest(t, f"c{node}", number, Filter.parse(filter_), active=True))
        return self

    def leaves(self, t: float, node: int, filter_: str = "*", *, number: int = 1) -> Tracebook:
        self.trace.interests.append(Interest(t, f"c{node}", number, Filter.parse(filter_), active=False))
        return self

    def presence(self, t: float, node: int, *, on: bool) -> Tracebook:
        self.trace.presence.append(Presence(t, f"c{node}", node, on=on))
        return self

    def daemon(self, t: float, node: int, *, up: bool, disk: bool = True) -> Tracebook:
        """A daemon starts or stops, and its client is OFF and ON with it."""
        self.trace.nodes.append(NodeChange(t, node, up=up, disk=disk))
        return self.presence(t, node, on=up)

    def publish(
        self, t: float, node: int, *, lifetime: float = 0.0, persistent: bool = False, to: tuple[int, ...] = (),
        subject: str = "s",
    ) -> EventId:  # fmt: skip
        """The client of `node` publishes; returns the id its home gave the event."""
        self._sequence += 1
        id_ = event_id(node, 1, self._sequence)
        event = Event(subject=subject, lifetime=lifetime, persistent=persistent, to=to)
        self.trace.accepted.append(Accepted(t, f"c{node}", node, id_, event))
        return id_

    def deliver(self, t: float, node: int, *ids: EventId) -> Tracebook:
        self.trace.delivered += [Delivered(t, f"c{node}", node, id_) for id_ in ids]
        return self

    def hand(self, t: float, node: int, id_: EventId, *, incarnation: int, number: int) -> Tracebook:
        self.trace.handed.append(Handed(t, f"c{node}", incarnation, number, id_))
        return self

    def lose(self, t: float, node: int, id_: EventId, homes: tuple[int, ...], reason: str) -> Tracebook:
        self.trace.losses.append(RecordedLoss(t, node, id_, homes, reason))
        return self

    def look(
        self, node: int, *, is_broker: bool = True, fmt: dict[int, set[str]] | None = None,
        met: dict[EventId, set[int]] | None = None, sizes: dict[str, tuple[int, int]] | None = None,
    ) -> Tracebook:  # fmt: skip
        """The tables of a node at the end."""
        filters = {home: frozenset(map(Filter.parse, texts)) for home, texts in (fmt or {}).items()}
        served = {id_: frozenset(homes) for id_, homes in (met or {}).items()}
        self.trace.snapshots.append(Snapshot(self.trace.end, node, is_broker, filters, served, sizes or {}))
        return self

    def case(self) -> Case:
        return Case.made(
            self.trace, self.bounds, nodes=self.nodes, plain=self.plain, disturbances=tuple(self.disturbances)
        )
