"""What a home keeps of one client: its subscriptions, its queue, and what it was given and gave."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Delivery, Event, EventId
from chapard.core.uptake import Uptake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.filter import Filter


class Incoming(NamedTuple):
    """Events that have reached the home of some of their subscribers: one, or a run with all but the payload in common.

    `event` is what they have in common; ids and payloads are in the bodies, whose ids ascend.
    """

    event: Event
    bodies: Sequence[bytes]
    expiry: float
    hops: int
    via: str

    @property
    def is_memorised(self) -> bool:
        return self.event.delivery is not Delivery.REALTIME


class Waiting(NamedTuple):
    """A run of deliveries, numbered from `number` on, that waits in a queue or for its acknowledgement."""

    number: int
    bodies: Sequence[bytes]
    is_memorised: bool
    expiry: float
    hops: int
    via: str
    since: float

    @property
    def last(self) -> int:
        return self.number + len(self.bodies) - 1

    def without_first(self, count: int) -> Waiting:
        """What is left when so many deliveries are done with."""
        return self._replace(number=self.number + count, bodies=self.bodies[count:])


@dataclass(slots=True)
class Session:
    """One client's session."""

    client: str
    slot: int
    epoch: int
    is_lasting: bool
    is_on: bool = False
    heard: float = 0.0
    subscriptions: dict[int, Filter] = field(default_factory=dict)
    queue: deque[Waiting] = field(default_factory=deque)
    """What has not left yet."""
    expires: float = inf
    """Nothing in the queue expires before this."""
    flight: deque[Waiting] = field(default_factory=deque)
    """What has left and is not acknowledged."""
    events: int = 0
    bytes: int = 0
    """Of everything in queue and flight."""
    flight_events: int = 0
    flight_bytes: int = 0
    number: int = 0
    """The last delivery number used."""
    saved: set[int] = field(default_factory=set)
    """The deliveries that are on the disk."""
    uptake: Uptake = field(default_factory=Uptake)
    retry_at: float | None = None
    taken: dict[EventId, float] = field(default_factory=dict)
    latest: dict[int, EventId] = field(default_factory=dict)
    unsaved: set[int] = field(default_factory=set)
    """Publishers whose latest event is not on the disk."""
    published: int = 0
    """The last publication accepted or refused."""
    receipts: deque[tuple[int, EventId, int, bool]] = field(default_factory=deque)
    """Runs of publications accepted: number, id, count, whether their receipt waits for the disk."""
    refused: dict[int, dict[EventId, float]] = field(default_factory=dict)
    """By publisher, the memorised events that found the queue full, and until when each keeps its place."""

    @property
    def queued_events(self) -> int:
        """Events that have not left yet."""
        return self.events - self.flight_events

    def refused_ids(self) -> list[EventId]:
        """What the queue has refused, per publisher in order."""
        return sorted(event_id for refused in self.refused.values() for event_id in refused)
