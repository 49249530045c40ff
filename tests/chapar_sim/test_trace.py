"""The trace and its digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.trace import Accepted, AirRow, Connectivity, Interest, NodeChange, Snapshot, Trace
from chapar_sim.traffic import Merge

if TYPE_CHECKING:
    from collections.abc import Callable

ID = event_id(1, 2, 3)
CHANGES: dict[str, Callable[[Trace], object]] = {
    "accepted": lambda trace: trace.accepted.append(Accepted(1, "a", 1, ID, Event(subject="s"))),
    "interest": lambda trace: trace.interests.append(Interest(1, "a", 1, Filter(subject="s"), active=True)),
    "connectivity": lambda trace: trace.connectivity.append(Connectivity(1, frozenset({(1, 2)}))),
    "nodes": lambda trace: trace.nodes.append(NodeChange(1, 1, up=True, disk=True)),
    "air": lambda trace: trace.air.append(AirRow(1, 1, (2,), 9, 7701, ())),
    "snapshot": lambda trace: trace.snapshots.append(Snapshot(1, 1, True, {}, {ID: frozenset({1})}, {})),  # noqa: FBT003
    "rows": lambda trace: trace.spools.update({("roles", 1): bytearray(1)}),
    "drops": lambda trace: trace.drops.update([(1, "stale")]),
    "traffic": lambda trace: trace.traffic.bytes.update(sync=5),
    "merges": lambda trace: trace.merges.append(Merge(0, 1, 2, 3, 4)),
    "quiet": lambda trace: setattr(trace, "quiet_since", 5.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_everything_shows_in_the_digest(change: Callable[[Trace], object]) -> None:
    """Two traces that differ anywhere differ in their digest."""
    trace = Trace()
    change(trace)
    assert trace.digest() != Trace().digest()


def test_the_order_in_which_sets_were_filled_does_not() -> None:
    """Links and tables are sets: how they came about is no part of the run."""
    pairs = [(a, b) for a in range(20) for b in range(20)]
    digests = set()
    for order in (pairs, pairs[::-1]):
        trace = Trace()
        trace.connectivity.append(Connectivity(0, frozenset(order)))
        digests.add(trace.digest())
    assert len(digests) == 1
