"""Rows of a trace as lines."""

from __future__ import annotations

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_lab.rows import Dropped, Row, RowError, enter, from_line, to_line
from chapar_sim.trace import Accepted, Delivered, Interest, Presence, Trace

ID = event_id(3, 1_700_000_000, 7)
ROWS: list[Row] = [
    Accepted(1.5, "pub", 3, ID, Event(subject="a", attributes={"x": 1.5, "y": "é\n"}, payload=b"\0\xff", lifetime=60)),
    Delivered(1.625, "sub-4", 4, ID, 2),
    Interest(0.25, "sub", 1, Filter.parse('subject = "a" and x > 2'), active=True),
    Presence(0.0, "sub", 4, on=False),
    Dropped(2.0, "pub", 3, "EventLostError"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_a_row_survives_its_line(row: Row) -> None:
    """It is the same row of the same kind, whatever is in it, and the line is one line."""
    line = to_line(row)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    again = from_line(line)
    assert (type(again), again) == (type(row), row)
    assert from_line(line.encode()) == row


@pytest.mark.parametrize(
    "line", ["", "{}", '"ready"', '["unknown", 1]', '["presence", 1, "sub"]', '["accepted", 1, "p", 1, "zz", "00"]']
)
def test_what_is_no_row_is_refused(line: str) -> None:
    """With the line, so that whoever wrote it can be found."""
    with pytest.raises(RowError, match="is no row of a trace"):
        from_line(line)


def test_rows_find_their_place_in_the_trace() -> None:
    """Each kind in its list; what came to nothing is counted."""
    trace = Trace()
    for row in ROWS:
        enter(row, trace)
    assert [trace.accepted, trace.delivered, trace.interests, trace.presence] == [[row] for row in ROWS[:4]]
    assert trace.drops == {(3, "EventLostError"): 1}
