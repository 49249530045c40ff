"""The trace of a run: what clients and the medium saw. The checkers read it, the scenario, and nothing of the core."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.traffic import Merge, Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar.event import Event, EventId
    from chapar.filter import Filter
    from chapar_sim.traffic import Share

MICRO: Final = 1_000_000
"""Microseconds in a second."""


class Accepted(NamedTuple):
    """The home took a publication: the client got its Receipt."""

    t: float
    """When the application published."""
    client: str
    home: int
    event_id: EventId
    event: Event
    """As the application gave it."""


class Delivered(NamedTuple):
    """The application got an event."""

    t: float
    client: str
    home: int
    event_id: EventId
    subscription: int = 0
    """Where each subscription hands out its events by itself: which one. Two of them have no common order."""


class Handed(NamedTuple):
    """A Deliver message reached the client, the first time with this (incarnation, number)."""

    t: float
    client: str
    incarnation: int
    number: int
    event_id: EventId


class Interest(NamedTuple):
    """The application subscribed (active) or unsubscribed."""

    t: float
    client: str
    number: int
    filter: Filter
    active: bool


class Presence(NamedTuple):
    """The client went ON or OFF, or lost its daemon."""

    t: float
    client: str
    home: int
    on: bool


class Connectivity(NamedTuple):
    """From `t` on, a → b is usable for exactly these pairs. Radio only: whether daemons run is another matter."""

    t: float
    links: frozenset[tuple[int, int]]


class Reroute(NamedTuple):
    """The OLSR agent of a node came to know something else: neighbours, relays or routes."""

    t: float
    node: int


class NodeChange(NamedTuple):
    """A daemon started or stopped; with `disk` False, its state was wiped."""

    t: float
    node: int
    up: bool
    disk: bool


class RecordedLoss(NamedTuple):
    """A node said that these homes will not get this event from it.

    A Drop that names an event is recorded here too, with the node's own index as the home.
    """

    t: float
    node: int
    event_id: EventId
    homes: tuple[int, ...]
    reason: str


class AirRow(NamedTuple):
    """One transmission on the medium."""

    ts_us: int
    sender: int
    receivers: tuple[int, ...]
    bytes: int
    port: int
    lost: tuple[int, ...]
    frames: tuple[Share, ...] = ()
    """Of a datagram of chapard's, without the headers around them."""
    source: int | None = None
    """Whose datagram it is: the sender may only pass it on."""


class Snapshot(NamedTuple):
    """One daemon's tables at one instant."""

    t: float
    node: int
    is_broker: bool
    fmt: Mapping[int, frozenset[Filter]]
    met: Mapping[EventId, frozenset[int]]
    """Event → the homes that are known to have it."""
    sizes: Mapping[str, tuple[int, int]]
    """Name of a table or queue → (used, limit)."""


@dataclass
class Trace:
    """Everything recorded in one run, each list in order of time."""

    accepted: list[Accepted] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    interests: list[Interest] = field(default_factory=list)
    presence: list[Presence] = field(default_factory=list)
    connectivity: list[Connectivity] = field(default_factory=list)
    nodes: list[NodeChange] = field(default_factory=list)
    reroutes: list[Reroute] = field(default_factory=list)
    """Of agents; what ideal routing knows follows from the links."""
    losses: list[RecordedLoss] = field(default_factory=list)
    air: list[AirRow] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    spools: dict[tuple[str, int], bytearray] = field(default_factory=dict)
    """Dataset and node → the rows that its daemon wrote."""
    drops: Counter[tuple[int, str]] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    """On the links of a tree of brokers, by what they say."""
    traffic: Traffic = field(default_factory=Traffic)
    merges: list[Merge] = field(default_factory=list)
    end: float = 0.0
    quiet_since: float = 0.0
    """Time of the last fault, topology change or workload change."""

    def digest(self) -> str:
        """A hash of everything: two runs with one seed agree in it, whatever PYTHONHASHSEED is."""
        hasher = hashlib.sha256()
        for line in self._lines():
            hasher.update(line.encode())
            hasher.update(b"\n")
        return hasher.hexdigest()

    def _lines(self) -> list[str]:
        plain = (
            self.accepted,
            self.delivered,
            self.handed,
            self.interests,
            self.presence,
            self.nodes,
            self.reroutes,
            self.losses,
            self.air,
        )
        lines = [repr(row) for table in plain for row in table]
        lines += [f"{row.t} {sorted(row.links)}" for row in self.connectivity]
        lines += [_snapshot_line(row) for row in self.snapshots]
        lines += [f"{key} {hashlib.sha256(self.spools[key]).hexdigest()}" for key in sorted(self.spools)]
        lines += [f"{key} {count}" for key, count in sorted(self.drops.items())]
        counters = (self.traffic.frames, self.traffic.frame_bytes, self.traffic.transmissions, self.traffic.bytes)
        lines += [f"{sorted(counter.items())}" for counter in counters]
        lines.append(f"{self.merges} {self.traffic.overflows} {self.end} {self.quiet_since}")
        return lines


def _snapshot_line(snapshot: Snapshot) -> str:
    fmt = [(home, sorted(map(str, snapshot.fmt[home]))) for home in sorted(snapshot.fmt)]
    met = [(event_id, sorted(snapshot.met[event_id])) for event_id in sorted(snapshot.met)]
    return f"{snapshot.t} {snapshot.node} {snapshot.is_broker} {fmt} {met} {sorted(snapshot.sizes.items())}"
