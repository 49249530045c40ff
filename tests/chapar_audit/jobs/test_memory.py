"""Memorised events: how they are flooded to the brokers, and served to homes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs import memory
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.recorded import Recorded
    from chapar_audit.verdict import Finding

pytestmark = pytest.mark.xdist_group("spark")

SECOND = 1_000_000
EVENT = bytearray(b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07")
OTHER = bytearray(b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08")


def frame(
    ts_us: int, node: int, peer: int | None, kind: str, *, event_id: bytearray | None = EVENT, heard: bool = False
) -> tuple[Any, ...]:
    return (ts_us, "rx" if heard else "tx", peer, kind, "data", 90, event_id, None, 0, "r", node)


def delivered(node: int, hops: int, event_id: bytearray = EVENT) -> tuple[Any, ...]:
    return (SECOND, "c", event_id, 1, 0, hops, "memorised", 0, "r", node)


def published(event_id: bytearray = EVENT) -> tuple[Any, ...]:
    return (0, "p", event_id, "lifetime", 60_000, 60, "report", "r", 1)


FLOODED = [frame(1, 1, None, "store"), frame(2, 2, 1, "store", heard=True), frame(2, 2, None, "store")]


def flood(run: Recorded) -> Finding:
    (row,) = memory.flood_rows(run, removed=0)
    return row


def test_each_broker_relays_a_flood_once(made: Callable[..., Recorded]) -> None:
    row = flood(made(frames=[*FLOODED, frame(9, 3, None, "store", event_id=OTHER)]))
    assert (row.state, row.measured, row.expected) == (State.HOLDS, 3, 3)


def test_a_relay_that_is_there_twice_deviates(made: Callable[..., Recorded]) -> None:
    row = flood(made(frames=[*FLOODED, frame(3, 2, None, "store")]))
    assert (row.state, row.measured, row.expected) == (State.DEVIATES, 3, 2)
    assert row.reason == "1 relays are too many, of node 2 most: its rows are there twice"


def test_a_broker_that_gave_up_its_tables_may_relay_once_more(made: Callable[..., Recorded]) -> None:
    """Or whose daemon started again; not one that did so before."""
    frames = [*FLOODED, frame(9 * SECOND, 2, None, "store")]
    dropped = made(frames=frames, roles=[(5 * SECOND, "regular", "none", "r", 2)])
    restarted = made(frames=frames, starts=[(1, 0), (2, 0), (2, 5 * SECOND)])
    early = made(frames=frames, roles=[(1, "regular", "none", "r", 2)])
    assert [flood(each).state for each in (dropped, restarted, early)] == [State.HOLDS, State.HOLDS, State.DEVIATES]


def test_a_relay_that_was_received_was_sent(made: Callable[..., Recorded]) -> None:
    row = flood(made(frames=[*FLOODED, frame(3, 1, 3, "store", heard=True)]))
    assert (row.state, row.measured, row.expected) == (State.DEVIATES, 2, 3)
    assert row.reason == "1 relays were received that nobody recorded to have sent: rows of their senders are missing"


def served(run: Recorded) -> Finding:
    (row,) = memory.served_rows(run, 3.0, removed=0)
    return row


def test_a_home_is_served_once_over_each_hop(made: Callable[..., Recorded]) -> None:
    """Handing the event to the broker is no service; once more after a while is allowed, and counted."""
    frames = [
        frame(0, 1, 2, "publish"), frame(1, 2, 3, "event"), frame(2, 2, 4, "event"), frame(3, 4, 5, "event"),
        frame(9 * SECOND, 2, 3, "event"),
    ]  # fmt: skip
    row = served(made(frames=frames, publishes=[published()], deliveries=[delivered(3, 1), delivered(5, 2)]))
    assert (row.state, row.measured, row.expected) == (State.HOLDS, 4, 4)
    assert "1 again after 3 s" in row.tolerance


def test_service_that_is_not_recorded_deviates(made: Callable[..., Recorded]) -> None:
    """What one event was served too often does not make up for another."""
    frames = [frame(1, 2, 3, "event"), frame(9 * SECOND, 2, 3, "event")]
    events = [published(), published(OTHER)]
    row = served(made(frames=frames, publishes=events, deliveries=[delivered(3, 1), delivered(3, 1, OTHER)]))
    assert (row.state, row.measured, row.expected) == (State.DEVIATES, 2, 3)
    assert row.reason == (
        "clients were given events that 1 transmissions less brought to their homes: rows of their brokers are missing"
    )


def test_service_that_comes_again_at_once_deviates(made: Callable[..., Recorded]) -> None:
    frames = [frame(1, 2, 3, "event"), frame(2, 2, 3, "event")]
    row = served(made(frames=frames, publishes=[published()], deliveries=[delivered(3, 1)]))
    assert (row.state, row.measured, row.expected) == (State.DEVIATES, 2, 1)
    assert row.reason == "1 came again within 3 s: rows are there twice"


def test_pieces_of_events_are_left_open(made: Callable[..., Recorded]) -> None:
    row = served(made(frames=[frame(1, 2, 3, "fragment")], publishes=[published()], deliveries=[delivered(3, 1)]))
    assert row.state is State.OPEN


def test_leases_are_renewed_in_their_time(made: Callable[..., Recorded]) -> None:
    """Two nodes for 20 s, of which one is a broker, at a lease of 30 s: three renewals of each, once relayed."""
    floods = [frame(at, 1, None, "lease", event_id=None) for at in range(6)]
    (row,) = memory.lease_rows(made(frames=floods), 30.0)
    assert (row.state, row.measured, row.expected) == (State.HOLDS, 6, 6)
    (row,) = memory.lease_rows(made(frames=[*floods, floods[0]]), 30.0)
    assert row.state is State.DEVIATES
    assert not memory.lease_rows(made(frames=[]), 30.0)
