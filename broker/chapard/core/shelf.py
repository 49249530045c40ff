"""Memorised events on the disk, whatever strategy keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.event import Delivery, Event
from chapard.core.effects import Reason
from chapard.core.met import memory_of
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from chapard.core.met import Evicted, Memory
    from chapard.core.outlet import Outlet
    from chapard.core.store import Store


class Shelf:
    """The events of one node. What is put there outlives a restart."""

    def __init__(self, store: Store, nodes: int) -> None:
        self._store = store
        self._nodes = nodes

    def put(self, memory: Memory) -> None:
        expiry = None if memory.event.delivery is Delivery.PERSISTENT else memory.expiry
        flags = int(memory.is_own) + 2 * int(memory.is_taken)
        self._store.put(_key(memory), memory.body, expiry, memory.delivered.to_wire(), flags)

    def forget(self, memory: Memory) -> None:
        self._store.forget(_key(memory))

    def read(self, body: bytes, expiry: float | None, delivered: bytes, flags: int, now: float) -> Memory | None:
        """An event that was put there before a restart, wanted by nobody yet. One that has expired is taken off."""
        event = Event.decode_untrusted(body)
        homes = NodeVector.from_wire(delivered, self._nodes)
        memory = memory_of(event, body, event.lifetime_ms, homes, NodeVector.empty(self._nodes), now)
        if expiry is not None:
            memory.expiry = expiry
        memory.is_own, memory.is_taken = bool(flags & 1), bool(flags & 2)
        if memory.expiry <= now:
            self.forget(memory)
            return None
        return memory


def given_up(outlet: Outlet, evicted: Evicted) -> list[Memory]:
    """What had to go to make room: it is counted, and a loss to whoever wanted it and lacks it."""
    for reason, gone in ((Reason.TABLE_FULL, evicted.overflow), (Reason.DISCARDED, evicted.discarded)):
        for each in gone:
            outlet.lose(each.event_id, each.wanted & ~each.delivered, reason)
            outlet.drop(reason, event_id=each.event_id)
    return [*evicted.overflow, *evicted.discarded]


def _key(memory: Memory) -> str:
    return f"event/{memory.event_id.hex()}"
