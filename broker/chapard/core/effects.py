"""What the core wants done: the only way anything leaves it.

A driver drains effects in order and carries them out: it transmits, saves, answers clients and records. Nothing is
dropped silently: whatever does not reach its goal is a `Loss` (an event that some home should have had) or a `Drop`
(anything else), each with its reason.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapar.session import Message
    from chapard.core.nodevector import NodeVector


class Reason(StrEnum):
    """Why something did not go on. One counter each."""

    # what a peer did wrong
    MALFORMED = "malformed"
    SPOOFED = "spoofed"
    """The frame names another sender than the address it came from."""
    NOT_MEMBER = "not_member"
    FOREIGN = "foreign"
    """A record or frame for a home or role that the sender may not speak for."""
    STALE = "stale"
    """Older than what is known: a lower version, an earlier incarnation."""
    DUPLICATE = "duplicate"
    GAP = "gap"
    """Publications of a client whose predecessors have not arrived: they come again."""
    REASSEMBLY = "reassembly"
    UNREADABLE = "unreadable"
    """An event in brief whose head has not arrived."""
    # what the network did
    NO_ROUTE = "no_route"
    NO_BROKER = "no_broker"
    HOP_DEAD = "hop_dead"
    """A next hop did not confirm within the retries."""
    HOP_LIMIT = "hop_limit"
    LOOP = "loop"
    """An event returned over another link of a tree than it came: the tree has a cycle."""
    LATE = "late"
    """A real-time event that a later one of its publisher overtook."""
    EXPIRED = "expired"
    NO_CLIENT = "no_client"
    """Addressed to a node where no client wants it."""
    UNREACHABLE = "unreachable"
    """The destination is a subscriber but not available now (real-time events reach who is there)."""
    # what our own bounds did
    QUEUE_FULL = "queue_full"
    TABLE_FULL = "table_full"
    DISCARDED = "discarded"
    """Fell off the end of the bounded FIFO of persistent events."""
    SESSION_LIMIT = "session_limit"
    SESSION_ENDED = "session_ended"
    """A client that wanted no lasting session went away before it had acknowledged the event."""
    TOO_MANY_FILTERS = "too_many_filters"
    TOO_LARGE = "too_large"


class TrafficClass(StrEnum):
    DATA = "data"
    CONTROL = "control"
    SYNC = "sync"
    CLIENT = "client"


class Transmit(NamedTuple):
    """Send one datagram: to a node, or (None) as a one-hop broadcast."""

    to: int | None
    data: bytes


class Answer(NamedTuple):
    """Send a message to a client. With `after_save`, not before all Saves to the end of this drain are on the disk."""

    client: str
    message: Message
    after_save: bool


class Save(NamedTuple):
    """Keep `value` under `key` over a restart; None forgets it."""

    key: str
    value: bytes | None


class Settle(NamedTuple):
    """Call `Node.saved` with this number when every earlier Save is on the disk."""

    number: int


class Loss(NamedTuple):
    """These homes will not get this event from us; at its home, this client will not."""

    event_id: EventId
    homes: NodeVector
    reason: Reason
    client: str | None = None


class Drop(NamedTuple):
    """Something was not carried on; what is known of it."""

    reason: Reason
    peer: int | None
    client: str | None
    event_id: EventId | None


# Rows of the datasets (the driver adds time, run and node)

FilterKey: TypeAlias = bytes
"""A filter's id. (`bytes` is the name of a column.)"""


class FrameRow(NamedTuple):
    direction: str
    peer: int | None
    kind: str
    traffic_class: TrafficClass
    bytes: int
    event_id: EventId | None
    filter_id: FilterKey | None
    retry: int


class PublishRow(NamedTuple):
    """An event of a client was accepted, or a run of them that differ in nothing: their ids follow this one."""

    client: str
    event_id: EventId
    delivery: str
    lifetime_ms: int
    bytes: int
    subject: str | None
    times: int = 1


class DeliveryRow(NamedTuple):
    """Clients were given an event, or a run of them: their ids follow this one. Until it is drained, clients join."""

    clients: list[str]
    event_id: EventId
    origin: int
    hops: int
    via: str
    queued_us: int
    times: int = 1


class AcknowledgementRow(NamedTuple):
    """What a client has acknowledged for a while, how long that had been here, and how long it took over an event."""

    client: str
    events: int
    waited_us: int
    served: int
    busy_us: int


class InterestRow(NamedTuple):
    """A client of ours changed its interest; or, with a peer, an interest message crossed the link to it."""

    client: str | None
    filter_id: bytes
    change: str
    peer: int | None = None
    direction: str | None = None


class SessionRow(NamedTuple):
    client: str
    state: str
    queue_length: int


class RoleRow(NamedTuple):
    role: str
    reason: str


class RouteRow(NamedTuple):
    """A route in a view that has changed; without a next hop, there is none any more."""

    destination: int
    next_hop: int | None
    hops: int


Row = FrameRow | PublishRow | DeliveryRow | AcknowledgementRow | InterestRow | SessionRow | RoleRow | RouteRow
Effect = Transmit | Answer | Save | Settle | Loss | Drop | Row
