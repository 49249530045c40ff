"""The journey of each event, from frames, deliveries and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs.journeys import MARKS, Journey, Sent, in_full, marked

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

EVENT = bytearray(b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07")


def frame(ts_us: int, way: tuple[int, int | None], kind: str, retry: int = 0, direction: str = "tx") -> tuple[Any, ...]:
    return (ts_us, direction, way[1], kind, "data", 90, EVENT, None, retry, "r", way[0])


def full(run: Recorded) -> dict[bytes, Journey]:
    return in_full(run, marked(run))


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
                    for client, hops, node in (("a", 1, 3), ("b", 1, 3), ("c", 2, 4), ("p", 0, 1), ("q", 3, 1))],
        losses=[(21, EVENT, home, client, reason, "r", 2)
                for home, client, reason in ((6, None, "late"), (7, None, "unreachable"), (3, "d", "queue_full"))],
    )  # fmt: skip
    sent = {(1, 2): Sent(1), (2, 3): Sent(1), (2, 4): Sent(0, 2)}
    assert full(run) == {bytes(EVENT): Journey(1, sent, {3: 1, 4: 2}, frozenset({6}))}
    (row,) = marked(run).collect()
    assert (row.ts_us, row.last_us, row.is_repeated, row.is_kept, row.is_lost) == (5, 400, 1, 0, 0)


def test_an_event_that_could_not_be_passed_on_is_lost(made: Callable[..., Recorded]) -> None:
    """It ends where it was published, if nobody sent it anywhere. One that nobody published is no journey."""
    publishes = [(5, "p", EVENT, "persistent", 0, 60, None, "r", 1)]
    losses = [(21, each, 6, None, "no_route", "r", 2) for each in (EVENT, bytearray(10))]
    run = made(publishes=publishes, losses=losses)
    assert full(run) == {bytes(EVENT): Journey(1, {}, {})}
    (row,) = marked(run).collect()
    assert (row.last_us, row.is_kept, row.is_lost) == (5, 1, 1)


def test_journeys_have_the_same_marks_if_they_went_alike(made: Callable[..., Recorded]) -> None:
    """In whatever order their rows are; each way once more, in pieces, over other hops or to another home is not."""
    base = [(1, 2), (2, 3)]
    ways = [base, base[::-1], [*base, (2, 3)], [(1, 2), (3, 2)], base, base, base]
    given = [{3: 2}, {3: 2}, {3: 2}, {3: 2}, {3: 1}, {2: 2}, {}]
    ids = [EVENT[:9] + bytes([number]) for number in range(len(ways))]
    run = made(
        publishes=[(5, "p", each, "realtime", 0, 60, None, "r", 1) for each in ids],
        frames=[
            (number, "tx", peer, "event", "data", 90, each, None, 0, "r", node)
            for each, went in zip(ids, ways, strict=True)
            for number, (node, peer) in enumerate(went)
        ],
        deliveries=[
            (20, "a", each, 1, 5, hops, "realtime", 0, "r", node)
            for each, came in zip(ids, given, strict=True)
            for node, hops in came.items()
        ],
    )
    marks = {bytes(row.event_id)[9]: tuple(row[name] for name in MARKS) for row in marked(run).collect()}
    assert marks[0] == marks[1]
    assert len(set(marks.values())) == len(ids) - 1
