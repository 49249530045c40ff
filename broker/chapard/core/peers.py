"""The daemons this node is in contact with, as their beacons describe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chapar.wire import NO_BROKER, Beacon, BeaconFlag
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Peer:
    """One daemon in contact: what its last beacon said, and since when we hear it."""

    index: int
    since: float
    heard: float
    beacon: Beacon
    neighbours: NodeVector
    relays: NodeVector

    @property
    def is_broker(self) -> bool:
        return bool(self.beacon.flags & BeaconFlag.BROKER)

    @property
    def saves_power(self) -> bool:
        return bool(self.beacon.flags & (BeaconFlag.LOW_POWER | BeaconFlag.CRITICAL_POWER))

    @property
    def broker(self) -> int | None:
        """The broker this node has chosen."""
        return None if self.beacon.broker == NO_BROKER else self.beacon.broker


class Peers:
    """Every peer in contact. A peer that is silent for `hold` seconds is none any more."""

    def __init__(self, nodes: int, hold: float) -> None:
        self._nodes = nodes
        self._hold = hold
        self._peers: dict[int, Peer] = {}
        self.changes = 0
        """How often a peer was found or lost."""

    def __contains__(self, index: int) -> bool:
        return index in self._peers

    def __iter__(self) -> Iterator[Peer]:
        """All peers, by index."""
        return iter([self._peers[index] for index in sorted(self._peers)])

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, index: int) -> Peer | None:
        return self._peers.get(index)

    def beacon(self, beacon: Beacon, now: float) -> Peer | None:
        """Take a beacon; returns the peer as it was known before, None if it is a new contact or a new incarnation."""
        before = self._peers.get(beacon.sender)
        self.changes += before is None
        if before is not None and before.beacon.incarnation != beacon.incarnation:
            before = None
        self._peers[beacon.sender] = Peer(
            index=beacon.sender,
            since=before.since if before else now,
            heard=now,
            beacon=beacon,
            neighbours=NodeVector.from_wire(beacon.neighbours, self._nodes),
            relays=NodeVector.from_wire(beacon.relays, self._nodes),
        )
        return before

    def heard(self, index: int, now: float) -> bool:
        """Any frame of a peer keeps the contact; False if there is none."""
        peer = self._peers.get(index)
        if peer is not None:
            peer.heard = now
        return peer is not None

    def forget(self, index: int) -> bool:
        self.changes += index in self._peers
        return self._peers.pop(index, None) is not None

    def expire(self, now: float) -> list[int]:
        """Forget the peers that have been silent for too long."""
        silent = [peer.index for peer in self if peer.heard + self._hold <= now]
        for index in silent:
            self.forget(index)
        return silent

    def next_deadline(self) -> float | None:
        return min((peer.heard + self._hold for peer in self._peers.values()), default=None)
