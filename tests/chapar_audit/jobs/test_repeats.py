"""What daemons sent again, against what did not arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs import repeats
from chapar_audit.jobs.repeats import Link, judged
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")


def frame(ts_us: int, node: int, direction: str, peer: int | None, kind: str, retry: int = 0) -> tuple[Any, ...]:
    return (ts_us, direction, peer, kind, "control", 11, None, None, retry, "r", node)


ASKED = [
    frame(10, 1, "tx", 2, "link"), frame(20, 1, "tx", 2, "link"), frame(21, 2, "rx", 1, "link"),
    frame(22, 2, "tx", 1, "nack"), frame(30, 1, "rx", 2, "nack"), frame(31, 1, "tx", 2, "link", 1),
    frame(32, 2, "rx", 1, "link"), frame(33, 2, "tx", 1, "ack"), frame(34, 1, "rx", 2, "ack"),
]  # fmt: skip
"""The first datagram was overtaken, or lost, and its receiver asked for it."""
UNASKED = [frame(600_000, 1, "tx", 2, "link", 1), frame(600_001, 2, "rx", 1, "link")]


def test_what_was_asked_for_is_told_from_what_was_not(made: Callable[..., Recorded]) -> None:
    run = made(frames=[*ASKED, *UNASKED, frame(700_000, 2, "tx", None, "beacon")])
    assert repeats.of_links(run.tables["frames"]) == {(1, 2): Link(sent=4, repeated=2, asked=1, unheard=2)}


def test_a_repetition_needs_something_that_did_not_arrive(made: Callable[..., Recorded]) -> None:
    """The datagram itself, or what could confirm it: not one that arrived, as all others did."""
    fine = made(frames=ASKED)
    assert repeats.rows(fine, removed=0)[0].state is State.HOLDS
    heard = [
        *ASKED,
        frame(5, 1, "tx", 2, "link"),
        frame(6, 2, "rx", 1, "link"),
        frame(35, 2, "rx", 1, "link"),
        *UNASKED,
    ]
    (row,) = repeats.rows(made(frames=heard), removed=0)
    assert (row.state, row.measured, row.expected) == (State.DEVIATES, 1, 0)
    assert row.reason == (
        "1 repeated 1 datagrams to 2, though of 5 and their confirmations only 0 did not arrive: rows are there twice, "
        "or 2 confirms too late"
    )
    lost_ack = [*heard, frame(590_000, 2, "tx", 1, "ack")]
    assert repeats.rows(made(frames=lost_ack), removed=0)[0].state is State.HOLDS


def test_confirmations_may_be_late_where_the_processor_is_shared() -> None:
    links = {(1, 2): Link(sent=500, repeated=7, asked=2, unheard=0)}
    assert judged(links, None, late=0.0).state is State.DEVIATES
    assert judged(links, None, late=0.01).state is State.HOLDS


def test_the_row_says_what_the_medium_lost_and_what_was_asked_for() -> None:
    row = judged({(1, 2): Link(sent=50, repeated=3, asked=1, unheard=4)}, 4, late=0.0)
    assert (row.state, row.measured, row.expected) == (State.HOLDS, 2, 4)
    assert row.tolerance == (
        "on each of 1 ways at most what did not arrive either way; the medium reports 4 datagrams lost; 1 more were "
        "asked for"
    )


def test_the_medium_counts_datagrams_with_a_number(made: Callable[..., Recorded]) -> None:
    """Where nobody watched it, there is no count."""
    air = [
        (0, 1, [2], 60, 7701, [2], ["link", "event"], [11, 49], 1, "r"),
        (1, 1, [2], 60, 7701, [], ["link", "event"], [11, 49], 1, "r"),
        (2, 1, [], 40, 7701, [2, 3], ["beacon"], [40], 1, "r"),
    ]
    run = made(air=air)
    assert repeats.lost(run) == 1
    assert repeats.lost(replace(run, missing=frozenset({"air"}))) is None


def test_nothing_is_decided_where_rows_were_removed(made: Callable[..., Recorded]) -> None:
    """And nothing said where daemons number nothing."""
    assert repeats.rows(made(frames=ASKED), removed=5)[0].state is State.OPEN
    assert not repeats.rows(made(frames=[frame(1, 1, "tx", None, "beacon")]), removed=0)
