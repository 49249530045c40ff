"""What a home keeps of one client."""

from __future__ import annotations

from math import inf

from chapar.event import Event, event_id
from chapard.core.session import Incoming, Session, Waiting


def test_a_run_of_deliveries_is_shortened_from_its_front() -> None:
    """What is done with goes; the rest keeps its numbers."""
    run = Waiting(7, (b"a", b"b", b"c"), is_memorised=False, expiry=inf, hops=0, via="realtime", since=1.0)
    assert run.last == 9
    rest = run.without_first(2)
    assert (rest.number, rest.bodies, rest.last) == (9, (b"c",), 9)
    assert rest[2:] == run[2:]


def test_what_is_not_real_time_is_memorised() -> None:
    """The delivery class decides, for lifetimes and persistent events alike."""
    events = [Event(subject="x"), Event(subject="x", lifetime=1), Event(subject="x", persistent=True)]
    assert [Incoming(event, (b"",), inf, 0, "realtime").is_memorised for event in events] == [False, True, True]


def test_refused_events_come_in_their_publishers_order() -> None:
    """Whatever order they were refused in."""
    first, second, other = event_id(1, 1, 1), event_id(1, 1, 2), event_id(2, 1, 1)
    session = Session("client", 0, 1, is_lasting=True)
    session.refused = {1: {second: 9.0, first: 9.0}, 2: {other: 9.0}}
    assert session.refused_ids() == [first, second, other]
