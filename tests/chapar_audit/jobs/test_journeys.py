"""The journey of each event, from frames, deliveries and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs.journeys import Journey, Sent, journey_of, journeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

EVENT = bytearray(b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07")


def frame(ts_us: int, way: tuple[int, int | None], kind: str, retry: int = 0, direction: str = "tx") -> tuple[Any, ...]:
    return (ts_us, direction, way[1], kind, "data", 90, EVENT, None, retry, "r", way[0])


def test_a_journey_is_who_handed_an_event_to_whom_and_where_it_came_to(made: Callable[..., Recorded]) -> None:
    """Repetitions lengthen it and are no part of it, nor is what goes to all in range, what others received, or a copy
    for memory; losses at a client and of homes that were not there say nothing of it."""
    run = made(
        publishes=[(5, "p", EVENT, "realtime", 0, 60, "report", "r", 1)],
        frames=[
            frame(6, (1, 2), "publish"), frame(7, (2, 3), "brief"), frame(8, (2, 4), "fragment"),
            frame(9, (2, 4), "fragment"), frame(400, (2, 3), "brief", retry=1), frame(8, (3, 2), "event", 0, "rx"),
            frame(9, (2, None), "store"), frame(9, (2, 5), "store"),
        ],
        deliveries=[(20, client, EVENT, 1, 5, hops, "realtime", 0, "r", node)
                    for client, hops, node in (("a", 1, 3), ("b", 1, 3), ("c", 2, 4), ("p", 0, 1))],
        losses=[(21, EVENT, home, client, reason, "r", 2)
                for home, client, reason in ((6, None, "late"), (7, None, "unreachable"), (3, "d", "queue_full"))],
    )  # fmt: skip
    (row,) = journeys(run, 1_000).collect()
    sent = {(1, 2): Sent(1, 0, 1), (2, 3): Sent(1, 0, 0), (2, 4): Sent(0, 2, 0)}
    assert journey_of(row) == Journey(1, sent, {3: 1, 4: 2}, frozenset({6}), is_lost=False)
    assert (row.ts_us, row.last_us, row.is_repeated, row.subject, row.is_kept) == (5, 400, True, "report", False)


def test_an_event_that_could_not_be_passed_on_is_lost(made: Callable[..., Recorded]) -> None:
    """It ends where it was published, if nobody sent it anywhere."""
    publishes = [(5, "p", EVENT, "persistent", 0, 60, None, "r", 1)]
    run = made(publishes=publishes, losses=[(21, EVENT, 6, None, "no_route", "r", 2)])
    (row,) = journeys(run, 1_000).collect()
    assert journey_of(row) == Journey(1, {}, {}, frozenset(), is_lost=True)
    assert (row.last_us, row.is_kept) == (5, True)
