"""Shelf: what is put there is the same after a restart, unless it has expired."""

from __future__ import annotations

import pytest

from chapar.event import Event, event_id
from chapard.core.effects import Drop, Loss, Reason, Save
from chapard.core.met import Evicted, Memory, memory_of
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet
from chapard.core.shelf import Shelf, given_up
from chapard.core.store import Store, saved_under

NODES = 16


def a_memory(*, persistent: bool) -> Memory:
    event = Event(subject="x", lifetime=0 if persistent else 60, persistent=persistent)
    event = event.accepted(id=event_id(3, 1, 1), chain=1)
    homes = NodeVector.of([2], NODES)
    memory = memory_of(event, event.encode(), event.lifetime_ms, homes, homes, 100.0)
    memory.is_own = True
    return memory


@pytest.mark.parametrize("persistent", [False, True])
def test_an_event_outlives_a_restart(*, persistent: bool) -> None:
    """Event, expiry, who has it and whose it is; who wants it is found out anew."""
    outlet = Outlet()
    shelf, memory = Shelf(Store(outlet), NODES), a_memory(persistent=persistent)
    shelf.put(memory)
    saved = {each.key: each.value for each in outlet.drain() if isinstance(each, Save) and each.value is not None}
    [(_, (body, expiry, delivered, flags))] = saved_under(saved, "event/")
    read = shelf.read(body, expiry, delivered, flags, 120.0)
    assert read is not None
    assert (read.event, read.body, read.expiry) == (memory.event, memory.body, memory.expiry)
    assert (read.delivered, read.is_own, read.is_taken) == (memory.delivered, True, False)
    assert not read.wanted.any()


def test_what_has_expired_is_taken_off() -> None:
    """It is not there any more, and the disk forgets it."""
    outlet = Outlet()
    shelf, memory = Shelf(Store(outlet), NODES), a_memory(persistent=False)
    assert shelf.read(memory.body, memory.expiry, memory.delivered.to_wire(), 1, memory.expiry) is None
    assert outlet.drain() == [Save(f"event/{memory.event_id.hex()}", None)]


def test_what_had_to_go_is_on_record() -> None:
    """Counted with its reason, and lost to those who want it and do not have it."""
    outlet, memory = Outlet(), a_memory(persistent=False)
    other = a_memory(persistent=True)
    other.wanted = NodeVector.of([2, 5], NODES)
    assert given_up(outlet, Evicted([memory], [other])) == [memory, other]
    assert outlet.drain() == [
        Drop(Reason.TABLE_FULL, None, None, memory.event_id),
        Loss(other.event_id, NodeVector.of([5], NODES), Reason.DISCARDED, None),
        Drop(Reason.DISCARDED, None, None, other.event_id),
    ]
