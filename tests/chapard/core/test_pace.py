"""The pace of a link: what comes steadily is expected on a link that loses, and on no other."""

from __future__ import annotations

import pytest

from chapard.core.pace import LATEST, SAMPLES, WARY, Pace

TRIP = 0.004


def stream(gaps: list[float], *, is_lossy: bool = True) -> Pace:
    """A pace after datagrams with these times between them; the last came at 0."""
    pace = Pace(0, -sum(gaps))
    if is_lossy:
        pace.lost()
    now = -sum(gaps)
    for number, gap in enumerate(gaps, 1):
        now += gap
        pace.came(number, now, was_asked=False)
    return pace


def test_the_next_one_is_expected_on_a_link_that_has_lost() -> None:
    """A little after it is due; on a link without losses never."""
    assert stream([0.1] * 10).overdue(TRIP, 0.0) == pytest.approx(0.1 + 2 * TRIP)
    assert stream([0.1] * 10, is_lossy=False).overdue(TRIP, 0.0) is None


def test_what_comes_late_now_and_then_is_given_time() -> None:
    """Behind a hop that repairs its losses; but no more than `LATEST` times the pace."""
    late = stream([*[0.1] * 10, 0.12, 0.08, 0.1]).overdue(TRIP, 0.0)
    assert late == pytest.approx(0.12 + 2 * TRIP, abs=0.002)
    latest = stream([*[0.1] * 20, 0.19, 0.1]).overdue(TRIP, 0.0)
    assert latest == pytest.approx(LATEST * 0.11 + 2 * TRIP, abs=0.01)


def test_what_comes_at_random_is_not_expected() -> None:
    """Bursts have no pace, and neither has what has only begun."""
    assert stream([0.01, 0.5] * 10).overdue(TRIP, 0.0) is None
    assert stream([0.1] * (SAMPLES - 1)).overdue(TRIP, 0.0) is None
    assert stream([0.1] * SAMPLES).overdue(TRIP, 0.0) is not None


def test_wariness_ends() -> None:
    """After so many datagrams without a loss."""
    assert stream([0.1] * (WARY - 1)).overdue(TRIP, 0.0) is not None
    assert stream([0.1] * WARY).overdue(TRIP, 0.0) is None


def test_what_was_asked_for_does_not_shift_the_pace() -> None:
    """It came late; the next one is due when it would have been, and the link has lost again."""
    pace = stream([0.1] * (WARY - 1))
    pace.came(WARY, 0.15, was_asked=True)
    assert pace.overdue(TRIP, 0.15) == pytest.approx(0.2 + 2 * TRIP)
    pace.came(WARY + 1, 0.2, was_asked=False)
    assert pace.overdue(TRIP, 0.2) == pytest.approx(0.3 + 2 * TRIP)


def test_a_number_that_is_missing_counts_as_a_step() -> None:
    """Two numbers in twice the time is the same pace."""
    pace = stream([0.1] * 10)
    pace.came(12, 0.2, was_asked=False)
    pace.came(11, 0.204, was_asked=True)
    assert pace.highest == 12
    assert pace.overdue(TRIP, 0.204) == pytest.approx(0.3 + 2 * TRIP)


def test_what_is_overdue_already_is_given_a_round_trip() -> None:
    """It may have left together with what has just come."""
    assert stream([0.1] * 10).overdue(TRIP, 5.0) == pytest.approx(5.0 + 2 * TRIP)
