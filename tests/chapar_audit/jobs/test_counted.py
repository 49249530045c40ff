"""The verdict link by link: what is wrong turns red, with the most likely reason."""

from __future__ import annotations

import pytest

from chapar_audit.jobs.counted import Count, judged
from chapar_audit.verdict import State

RIGHT = Count(sent=4, heard=4, due=4)


def test_links_that_agree_are_one_row() -> None:
    """With the sums, and with what was under way."""
    (row,) = judged("refreshes", {(1, 2): RIGHT, (2, 1): Count(5, 5, 4, more=1), (2, 3): Count(2, 1, 3, 1, 1)})
    assert row.state is State.HOLDS
    assert (row.measured, row.expected) == (11, 11)
    assert row.subject == "refreshes over each of 3 directions of links"
    assert row.tolerance == "exact on each, but for 3 that were under way"


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (Count(8, 4, 4), "2 received 4, as it should: rows of 1 are there that were never sent"),
        (Count(0, 4, 4), "rows of 1 are missing"),
        (Count(4, 8, 4), "2 recorded 8: it has received more than was sent"),
        (Count(4, 1, 4), "2 recorded 1: it lacks what was sent: lost, or its rows"),
        (Count(8, 8, 4), "both ends say so: each message was sent twice"),
        (Count(7, 7, 4), "both ends say so: more was told than clients' interest changed"),
        (Count(1, 1, 4), "both ends say so: less was told"),
        (Count(1, 9, 4), "neither end agrees"),
        (Count(6, 6, 4, begun=2), "begun anew 2 times"),
        (Count(4, 6, 4, repeated=1), "2 recorded 6"),
    ],
)
def test_a_link_that_deviates_has_a_row_and_a_reason(count: Count, reason: str) -> None:
    """Beside one for those that agree."""
    right, wrong = judged("refreshes", {(1, 2): count, (2, 1): RIGHT})
    assert right.state is State.HOLDS
    assert wrong.state is State.DEVIATES
    assert (wrong.subject, wrong.measured, wrong.expected) == ("refreshes from 1 to 2", count.sent, 4)
    assert reason in wrong.reason


def test_a_repetition_may_be_heard_twice() -> None:
    """And is no message of its own."""
    assert Count(4, 6, 4, repeated=2).holds


def test_rows_that_the_recorder_removed_explain_what_lacks() -> None:
    """They are named first."""
    (row,) = judged("refreshes", {(1, 2): Count(1, 4, 4)}, removed=30)
    assert row.reason.startswith("recorders removed 30 rows")


def test_many_links_that_deviate_are_summed_up() -> None:
    """The five that are most wrong are named."""
    rows = judged("refreshes", {(1, other): Count(other, other, 1) for other in range(2, 10)})
    assert [row.subject for row in rows[:2]] == ["refreshes from 1 to 9", "refreshes from 1 to 8"]
    assert rows[-1].subject == "refreshes over 3 more directions of links"
    assert (len(rows), rows[-1].measured, rows[-1].state) == (6, 9, State.DEVIATES)
