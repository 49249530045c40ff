"""The memorised event table: which events are kept, who wants them, who has them (report 3.2.5, 3.3.3).

A record is (event, expiry, wanted NV, delivered NV). `delivered` only grows and two copies merge by OR, so the order of
exchanges does not matter. `wanted` is derived: the homes whose filters match now, or the destinations the publisher
named. A home is in `delivered` because it said so, never because it has become reachable (the report's purge (3.16)
assumes that, and loses events).

Brokers hold every event; a regular node holds the events it published and those it took for its clients.

Events of one publisher are served in order. Brokers hold all of a publisher's memorised events, which are numbered in
their `chain`; one whose predecessor is missing is held back for a while: the predecessor is probably on its way.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any

from chapar.event import Delivery, Event, EventId
from chapar.wire import MetRecord, Table, encode_record
from chapard.core.digest import DigestTree, hash63
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chapard.core.config import Config

STREAM_BYTES = 6
"""The first bytes of an event id: origin and incarnation, within which `chain` counts."""
GONE_FACTOR = 4
"""How many times met_events ids of expired and discarded events are remembered, so that they are not taken again."""


@dataclass(slots=True)
class Memory:
    """One memorised event."""

    event: Event
    body: bytes
    expiry: float
    wanted: NodeVector
    delivered: NodeVector
    is_own: bool = False
    """Published here: this node keeps it until it expires, broker or not."""
    is_taken: bool = False
    """Confirmed here for our clients: kept for those that subscribe later."""
    is_flooded: bool = False
    """The other brokers have been told."""
    is_unsaved: bool = False
    """Published here, and not on the disk yet: a crash could still undo it, so nobody else hears of it."""
    held_until: float = 0.0
    """Not served before this time, because its predecessor is missing."""

    @property
    def event_id(self) -> EventId:
        assert self.event.id is not None, "memorised events have been accepted by a home"
        return self.event.id

    def remaining_ms(self, now: float) -> int:
        return 0 if self.expiry == inf else max(1, int(1000 * (self.expiry - now)))


@dataclass(slots=True)
class Evicted:
    """Events that had to go to make room."""

    overflow: list[Memory] = field(default_factory=list)
    discarded: list[Memory] = field(default_factory=list)


class MET:
    """The table of one node."""

    table = Table.MET

    def __init__(self, config: Config, *, is_whole: bool = True) -> None:
        """`is_whole`: it is meant to hold all of a publisher's events, so that a gap in their chain is worth a wait."""
        self._config = config
        self._is_whole = is_whole
        self.limit = config.met_events
        """Events kept; the power policy shrinks it."""
        self._memories: dict[EventId, Memory] = {}
        self._persistent: dict[EventId, None] = {}
        self._expiries: list[tuple[float, EventId]] = []
        self._pending: dict[int, list[EventId]] = {}
        self._chains: dict[tuple[bytes, int], EventId] = {}
        self._over: dict[tuple[bytes, int], float] = {}
        """Places in the chain of events that are gone, and until when whoever follows them is held."""
        self._gone: dict[EventId, None] = {}
        self.bytes = 0
        self.tree = DigestTree()

    def __len__(self) -> int:
        return len(self._memories)

    def __iter__(self) -> Iterator[Memory]:
        """All memories by event id: per publisher in order."""
        return iter([self._memories[event_id] for event_id in sorted(self._memories)])

    def __contains__(self, event_id: EventId) -> bool:
        return event_id in self._memories

    def get(self, event_id: EventId) -> Memory | None:
        return self._memories.get(event_id)

    def is_gone(self, event_id: EventId) -> bool:
        """Whether the event was here and has expired or been discarded."""
        return event_id in self._gone

    def pending(self, home: int) -> list[EventId]:
        """Events that a home wants and does not have, per publisher in order."""
        return self._pending.get(home, [])

    def has_successor(self, memory: Memory) -> bool:
        """Whether the publisher's next event is here: if this one came later, it closed a gap."""
        return (memory.event_id[:STREAM_BYTES], memory.event.chain + 1) in self._chains

    def is_waiting(self, now: float) -> bool:
        """Whether an event is held back, as its predecessor is missing."""
        return any(memory.held_until > now for memory in self._memories.values())

    # Changes

    def add(self, memory: Memory, now: float) -> Evicted:
        """Keep an event that is not here yet; returns what had to go."""
        event_id = memory.event_id
        assert event_id not in self._memories, "an event is memorised once"
        self._gone.pop(event_id, None)
        self._memories[event_id] = memory
        self.bytes += len(memory.body)
        if memory.expiry == inf:
            self._persistent[event_id] = None
        else:
            heappush(self._expiries, (memory.expiry, event_id))
        self._link_chain(memory, now)
        self._stamp(memory)
        for home in (memory.wanted & ~memory.delivered).indexes():
            insort(self._pending.setdefault(home, []), event_id)
        return self._make_room()

    def deliver(self, event_id: EventId, homes: NodeVector) -> NodeVector:
        """These homes have the event; returns those that are news."""
        memory = self._memories.get(event_id)
        if memory is None:
            return NodeVector.empty(self._config.nodes)
        news = homes & ~memory.delivered
        if news.any():
            memory.delivered |= homes
            self._stamp(memory)
            for home in news.indexes():
                self._unpend(home, event_id)
        return news

    def settle(self, event_id: EventId) -> None:
        """An event of our own is on the disk: from now on it is part of the table that others see."""
        memory = self._memories.get(event_id)
        if memory is not None:
            memory.is_unsaved = False
            self._stamp(memory)

    def want(self, home: int, matches: Callable[[Event], bool]) -> None:
        """A home's filters have changed: see anew which events it wants. Named destinations stand."""
        for memory in self._memories.values():
            if memory.event.to:
                continue
            wants = matches(memory.event)
            if wants == bool(memory.wanted[home]):
                continue
            memory.wanted = memory.wanted.with_(home) if wants else memory.wanted.without(home)
            if not wants:
                self._unpend(home, memory.event_id)
            elif not memory.delivered[home]:
                insort(self._pending.setdefault(home, []), memory.event_id)

    def expire(self, now: float) -> list[Memory]:
        """Remove what has outlived its lifetime."""
        over: list[Memory] = []
        while self._expiries and self._expiries[0][0] <= now:
            expiry, event_id = heappop(self._expiries)
            memory = self._memories.get(event_id)
            if memory is not None and memory.expiry == expiry:
                over.append(self._remove(event_id))
        return over

    def keep_only(self, kept: Callable[[Memory], bool]) -> list[Memory]:
        """Drop the table after check-out, except what this node keeps for itself; returns what was dropped."""
        dropped = [memory for memory in self if not kept(memory)]
        for memory in dropped:
            self._remove(memory.event_id)
            # It lives on elsewhere, and may come back.
            self._gone.pop(memory.event_id, None)
            self._over.pop((memory.event_id[:STREAM_BYTES], memory.event.chain), None)
        return dropped

    def release(self, now: float) -> None:
        """Stop waiting for predecessors that did not come in time."""
        for memory in self._memories.values():
            if memory.held_until <= now:
                memory.held_until = 0.0

    def next_deadline(self) -> float | None:
        return self._expiries[0][0] if self._expiries else None

    # Exchange with other brokers

    def encoded(self, key: bytes, now: float) -> bytes | None:
        """The record of a key as it travels; None if there is none or it is about to expire."""
        memory = self._memories.get(EventId(key))
        if memory is None or memory.is_unsaved or memory.expiry <= now:
            return None
        return encode_record(MetRecord(memory.remaining_ms(now), memory.delivered.to_wire(), memory.body))

    # Inside

    def _stamp(self, memory: Memory) -> None:
        if not memory.is_unsaved:
            self.tree.set(memory.event_id, hash63(memory.delivered.to_wire()))

    def _unpend(self, home: int, event_id: EventId) -> None:
        pending = self._pending.get(home, [])
        at = bisect_left(pending, event_id)
        if at < len(pending) and pending[at] == event_id:
            del pending[at]
            if not pending:
                del self._pending[home]

    def _link_chain(self, memory: Memory, now: float) -> None:
        """Hold back an event whose predecessor is missing, or held itself; release those that waited for this one."""
        stream, chain = memory.event_id[:STREAM_BYTES], memory.event.chain
        self._chains[stream, chain] = memory.event_id
        if chain > 1 and self._is_whole:
            held_until = self._held_until(stream, chain - 1)
            memory.held_until = now + self._config.order_patience if held_until is None else held_until
        if memory.held_until <= now:
            self._release_after(stream, chain)

    def _held_until(self, stream: bytes, chain: int) -> float | None:
        """Until when the event at this place in the chain is held, here or gone; None if it is not known."""
        event_id = self._chains.get((stream, chain))
        return self._over.get((stream, chain)) if event_id is None else self._memories[event_id].held_until

    def _release_after(self, stream: bytes, chain: int) -> None:
        """Whoever waited for this one waits no more, nor do those that waited for them."""
        while self._held_until(stream, chain := chain + 1):
            event_id = self._chains.get((stream, chain))
            if event_id is None:
                self._over[stream, chain] = 0.0
            else:
                self._memories[event_id].held_until = 0.0

    def _make_room(self) -> Evicted:
        evicted = Evicted()
        while len(self._persistent) > self._config.persistent_events:
            evicted.discarded.append(self._remove(next(iter(self._persistent))))
        while len(self._memories) > self.limit or self.bytes > self._config.met_bytes:
            victim = self._victim()
            evicted.overflow.append(self._remove(victim))
        return evicted

    def _victim(self) -> EventId:
        """The event to go when the table is full: the next to expire; persistent ones last, oldest first."""
        while self._expiries:
            expiry, event_id = heappop(self._expiries)
            memory = self._memories.get(event_id)
            if memory is not None and memory.expiry == expiry:
                return event_id
        return next(iter(self._persistent))

    def _remove(self, event_id: EventId) -> Memory:
        memory = self._memories.pop(event_id)
        self._persistent.pop(event_id, None)
        self.bytes -= len(memory.body)
        self.tree.discard(event_id)
        stream, chain = event_id[:STREAM_BYTES], memory.event.chain
        self._chains.pop((stream, chain), None)
        self._over[stream, chain] = memory.held_until
        for home in (memory.wanted & ~memory.delivered).indexes():
            self._unpend(home, event_id)
        self._gone[event_id] = None
        _bound(self._gone, GONE_FACTOR * self._config.met_events)
        _bound(self._over, GONE_FACTOR * self._config.met_events)
        return memory


def _bound(remembered: dict[Any, Any], limit: int) -> None:
    while len(remembered) > limit:
        del remembered[next(iter(remembered))]


def memory_of(
    event: Event, body: bytes, remaining_ms: int, delivered: NodeVector, wanted: NodeVector, now: float
) -> Memory:
    """A memory as it comes in over the air. Lifetimes travel as what remains of them, so clocks need not agree."""
    expiry = inf if event.delivery is Delivery.PERSISTENT else now + min(remaining_ms, event.lifetime_ms) / 1000
    return Memory(event, body, expiry, wanted, delivered)


def destinations(event: Event, nodes: int) -> NodeVector:
    """The homes a publisher named; indexes beyond this network name nobody."""
    return NodeVector.of((node for node in event.to if node < nodes), nodes)

