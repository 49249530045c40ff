"""The data of one session: runs that can be shortened, and what is refused in its publishers' order."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import Event, event_id
from chapard.core.session import Incoming, Session, Waiting


@given(st.integers(1, 100), st.lists(st.binary(max_size=3), min_size=1, max_size=6), st.data())
def test_what_is_left_of_a_run_keeps_its_numbers(number: int, bodies: list[bytes], data: st.DataObject) -> None:
    """Every delivery has the number that it had in the whole run, and all else is as it was."""
    run = Waiting(number, bodies, True, inf, 2, "memorised", 10.0)  # noqa: FBT003 - a field of the tuple
    assert run.last == number + len(bodies) - 1
    count = data.draw(st.integers(0, len(bodies) - 1))
    rest = run.without_first(count)
    assert dict(enumerate(rest.bodies, rest.number)) == {
        n: body for n, body in enumerate(bodies, number) if n >= number + count
    }
    assert rest.last == run.last
    assert rest[2:] == run[2:]


def test_only_real_time_events_are_not_memorised() -> None:
    """What brokers keep, with a lifetime or without, must survive here too."""
    events = (Event(), Event(lifetime=5), Event(persistent=True))
    assert [Incoming(each, (b"",), inf, 0, "").is_memorised for each in events] == [False, True, True]


def test_what_was_refused_is_told_in_the_order_of_its_publishers() -> None:
    """Whatever order it was refused in."""
    session = Session("c", 0, 1, is_lasting=True)
    one, two, other = event_id(1, 1, 1), event_id(1, 2, 1), event_id(2, 1, 1)
    session.refused = {2: {other: 5.0}, 1: {two: 5.0, one: 5.0}}
    assert session.refused_ids() == [one, two, other]
