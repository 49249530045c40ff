"""Every parameter of the protocol, with its unit and the reason for its default.

The relations between them that the design relies on are checked when a `Config` is made, so that a configuration that
could not keep the promises is refused at once and in words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from chapar.limits import (
    DEFAULT_NODES,
    HOP_LIMIT,
    MAX_EVENT_BYTES,
    MAX_FILTERS_PER_FRAME,
    MAX_MESSAGE_BYTES,
    MAX_NODES,
    MTU,
)
from chapard.core.overlay.plan import ConfigError, Mode, Overlay, Routing

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Config", "ConfigError", "Group", "Mode", "Overlay", "QueuePolicy", "Routing"]


class QueuePolicy(StrEnum):
    """What a client's full queue does with one event more."""

    OLDEST = "oldest"
    """Drop the oldest waiting event."""
    NEWEST = "newest"
    """Drop the one that came."""
    REFUSE = "refuse"
    """Take nothing: a local publisher is refused, a memorised event stays with the brokers, a real-time one is lost."""


@dataclass(frozen=True, slots=True)
class Group:
    """Who may publish to a group (report 2.2.3). A group that no one configured is open."""

    nodes: frozenset[int] = frozenset()
    clients: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Parameters of one node. Times are seconds, sizes are counts unless the name says bytes."""

    nodes: int = DEFAULT_NODES
    """Length of every node vector; the same on all nodes of a network."""
    mtu: int = MTU
    hop_limit: int = HOP_LIMIT
    groups: Mapping[str, Group] = field(default_factory=lambda: MappingProxyType({}))
    routing: Routing = field(default_factory=Routing)
    overlay: Overlay = field(default_factory=Overlay)

    # Beacons and refresh
    beacon_min: float = 1.0
    """Shortest Trickle interval: news reaches the neighbours within it."""
    refresh_period: float = 16.0
    """Longest Trickle interval, and the period in which every home restates version and digest of its filters."""
    contact_periods: float = 4.0
    """Refresh periods of silence after which a peer is no longer in contact."""

    # Roles
    broker_min: int = 2
    """Brokers a full mesh elects: two, so that one failure loses nothing (report 3.3.4)."""
    dismissal_time: float = 30.0
    """DTT: how long a dismissed broker keeps its tables before it checks out (report 3.3.6)."""
    orphan_patience: float = 3.0
    """How long a node looks for a broker before it serves itself."""

    # Subscriptions
    subscription_lease: float = 600.0
    """How long the filters of a home that nobody hears of stand."""
    filters_per_home: int = 4096
    fmt_homes: int = 4096
    merge_window: float = 10.0
    """What is learnt from a peer this soon after contact is passed on as news at once: two partitions are merging."""

    # Hop reliability
    hop_ack: bool = True
    """False: fire and forget; nothing is numbered, confirmed or repeated."""
    ack_every: int = 8
    """Datagrams after which a receiver confirms at once: it costs each of them 6 bytes."""
    ack_delay: float = 0.25
    """How long a silence is in which a receiver confirms: it waits for traffic, or a beacon, that can carry it."""
    retry_first: float = 0.5
    """How long a sender waits for news of what it sent: longer than a confirmation waits and travels."""
    retry_max: float = 3.0
    retries: int = 5
    link_window: int = 256
    """Datagrams a link keeps for repetition, and a receiver holds behind a gap."""
    link_queue: int = 4096
    """Frames that wait for room in the window of one link."""
    reassembly_messages: int = 64
    reassembly_bytes: int = 4 * 1024 * 1024
    reassembly_patience: float = 20.0
    """How long an incomplete message waits for its next fragment: longer than a link takes to repair one."""

    # Real-time events
    publish_patience: float = 5.0
    """How long a home keeps a real-time event for which it knows no broker."""
    overtaking_patience: float = 2.5
    """How long a home holds a real-time event that overtook another: a link with bad luck repairs it in that time."""
    seen_limit: int = 8192
    """Events whose accepted residual vectors are remembered."""
    outbox_limit: int = 1024
    """Publications that wait at their home for a broker."""

    # Memorised events
    met_events: int = 4096
    met_bytes: int = 16 * 1024 * 1024
    persistent_events: int = 1024
    """Length of the FIFO of persistent events (report 2.2.2)."""
    order_patience: float = 5.0
    """How long a broker waits for the missing predecessor of a memorised event before it serves out of order."""
    serve_window: int = 32
    serve_retry: float = 3.0
    """How long a broker waits for DELIVERED before it serves the event again."""
    delivered_delay: float = 0.2
    """How long a home gathers confirmations of delivery for its broker."""
    gossip_delay: float = 1.0
    """How long brokers gather them for each other: nobody waits for these."""

    # Integrity check
    sync_delay: float = 0.25
    """How long a difference must stand before old acquaintances compare tables: floods in flight settle meanwhile."""
    sync_retry: float = 2.0

    # Clients
    keep_alive: float = 30.0
    session_limit: int = 256
    session_window: int = 1024
    """Deliveries under way to a client without its acknowledgement."""
    session_window_bytes: int = 128 * 1024
    """Bytes of them: what a socket's default receive buffer holds with room to spare."""
    session_retry: float = 1.0
    session_queue: int = 4096
    """Events that wait for a client or are under way to it."""
    session_bytes: int = 4 * 1024 * 1024
    """Bytes of them."""
    queue_policy: QueuePolicy = QueuePolicy.OLDEST
    subscriptions_per_client: int = 1024

    # Power (report 2.2.4): battery levels in 0..1
    power_low: float = 0.3
    power_critical: float = 0.1

    record: bool = True
    """Emit rows for what clients publish and receive."""
    record_frames: bool = False
    """Emit a row for every frame sent and received."""

    @property
    def outbox_most(self) -> int:
        """Publications that wait at their home for a broker or for the disk."""
        return max(self.outbox_limit, self.met_events)

    @property
    def hop_patience(self) -> float:
        """How long a link without progress is tried: every repetition's delay, doubling up to `retry_max`."""
        return sum(min(self.retry_first * 2.0**tries, self.retry_max) for tries in range(self.retries + 1))

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            _check(low <= getattr(self, name) <= high, f"{name} must be between {low} and {high}")
        for name in _COUNTS:
            _check(getattr(self, name) >= 1, f"{name} must be at least 1")
        for name in _TIMES:
            _check(getattr(self, name) > 0, f"{name} must be above 0 s")
        _check(self.beacon_min <= self.refresh_period, "beacon_min must not exceed refresh_period")
        _check(self.contact_periods >= 2, "contact_periods must be at least 2: one beacon may be lost")
        _check(
            self.subscription_lease >= 3 * self.refresh_period,
            "subscription_lease must be at least 3 refresh_period: it is renewed three times in its length",
        )
        _check(self.retry_first <= self.retry_max, "retry_first must not exceed retry_max")
        _check(
            0 <= self.ack_delay < self.retry_first,
            "ack_delay must be below retry_first: else all is repeated before it can be confirmed",
        )
        _check(
            not self.hop_ack or self.reassembly_patience >= self.hop_patience,
            f"reassembly_patience must be at least {self.hop_patience:.1f} s: a link repairs a fragment for so long",
        )
        is_repaired = self.hop_ack or self.routing.mode is not Mode.TREE
        _check(is_repaired, "hop_ack must be true where routing.mode is tree: there, interest is said once")
        beyond = [node for node in (*self.overlay.nodes, *self.routing.publisher_roots) if node >= self.nodes]
        _check(not beyond, f"overlay and publisher_roots name nodes below {self.nodes} (nodes), not {beyond}")
        _check(0 <= self.power_critical <= self.power_low <= 1, "need 0 <= power_critical <= power_low <= 1")


_RANGES: Final = (
    ("nodes", 1, MAX_NODES),
    ("mtu", 256, 65507),
    ("hop_limit", 1, HOP_LIMIT),
    ("broker_min", 1, MAX_NODES),
    ("filters_per_home", 1, MAX_FILTERS_PER_FRAME),
    ("ack_every", 1, 256),
    ("retries", 1, 32),
    ("reassembly_bytes", MAX_MESSAGE_BYTES, 2**40),
    ("met_bytes", MAX_EVENT_BYTES, 2**40),
)
_COUNTS: Final = (
    *("fmt_homes", "link_window", "link_queue", "reassembly_messages", "seen_limit", "outbox_limit", "met_events"),
    *("persistent_events", "serve_window", "session_limit", "session_window", "session_queue"),
    *("session_window_bytes", "session_bytes", "subscriptions_per_client"),
)
_TIMES: Final = (
    *("beacon_min", "refresh_period", "retry_first", "sync_delay", "sync_retry", "keep_alive", "serve_retry"),
    "session_retry",
)


def _check(holds: bool, message: str) -> None:  # noqa: FBT001 - an assertion with words
    if not holds:
        raise ConfigError(message)
