"""Algorithm 1 and table 3."""

from __future__ import annotations

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff
from chapar_audit.models.path import response_time, response_times, stops

PUBLISHER, SUBSCRIBER = OnOff(0.0625, 109, 121.5), OnOff(0.0625, 146.3, 96)


def test_a_path_has_the_stations_of_figure_6() -> None:
    """Over three brokers: two ON/OFF queues, and six that are always there."""
    path = stops(PUBLISHER, SUBSCRIBER, 3, 0.0625)
    assert [stop.name for stop in path] == [
        "publisher", "broker 1 in", "broker 1 out", "broker 2 in", "broker 2 out", "broker 3 in", "to subscriber",
        "subscriber",
    ]  # fmt: skip
    assert [stop.station.off for stop in path] == [121.5, 0, 0, 0, 0, 0, 96, 0]


@pytest.mark.parametrize(
    ("ends", "printed"),
    [((PUBLISHER, SUBSCRIBER), 116.76), ((OnOff(0.0625, 292.1, 78.7), OnOff(0.0625, 155.8, 72.1)), 43.70)],
)
def test_the_first_rows_of_table_3_follow_with_four_queues(ends: tuple[OnOff, OnOff], printed: float) -> None:
    """With two brokers, not the three of figure 6."""
    assert response_time(stops(*ends, 2, 0.0625), 1) == pytest.approx(printed, abs=0.005)


def test_the_time_is_the_sum_over_the_stops() -> None:
    """Other events make only the brokers slower."""
    quiet, busy = stops(PUBLISHER, SUBSCRIBER, 2, 0.0625), stops(PUBLISHER, SUBSCRIBER, 2, 0.0625, others=8)
    before, after = response_times(quiet, 1), response_times(busy, 1)
    assert response_time(quiet, 1) == pytest.approx(sum(before))
    assert [a > b for a, b in zip(after, before, strict=True)] == [False, True, True, True, False, False]
    assert after[1] == pytest.approx(0.0625 / (1 - 9 * 0.0625))


def test_impossible_paths_are_refused() -> None:
    """No broker; a negative rate; a broker with more than it can serve."""
    with pytest.raises(ImpossibleInputError, match="at least 1 broker"):
        stops(PUBLISHER, SUBSCRIBER, 0, 0.0625)
    with pytest.raises(ImpossibleInputError, match="others"):
        stops(PUBLISHER, SUBSCRIBER, 1, 0.0625, others=-1)
    with pytest.raises(ImpossibleInputError, match="unstable"):
        response_time(stops(PUBLISHER, SUBSCRIBER, 1, 0.0625, others=15), 1)
