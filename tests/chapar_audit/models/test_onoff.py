"""The ON/OFF queue: theorem 2 against its Markov chain."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff

stations = st.builds(OnOff, st.floats(0.05, 2), st.floats(0.5, 5), st.floats(0, 5))


@given(stations, st.floats(0.05, 0.9))
def test_theorem_2_is_the_mean_of_the_chain(station: OnOff, load: float) -> None:
    """By Little's law, from the distribution of the queue's length."""
    lam = load * station.fastest
    levels = station.queue_lengths(lam, tail=1e-11)
    mean = math.fsum(n * (on + off) for n, (on, off) in enumerate(levels))
    assert mean / lam == pytest.approx(station.response_time(lam), rel=1e-5)


@given(stations, st.floats(0.05, 0.9))
def test_the_chain_is_in_balance(station: OnOff, load: float) -> None:
    """Probabilities, of which the server's own share and each level's balance are as they must be."""
    lam = load * station.fastest
    levels = station.queue_lengths(lam)
    assert all(on >= 0 <= off for on, off in levels)
    assert math.fsum(off for _, off in levels) == pytest.approx(station.off / (station.on + station.off), abs=1e-6)
    for (on, off), (after, _) in pairwise(levels):
        assert lam * (on + off) == pytest.approx(after / station.d, rel=1e-6)


def test_a_server_that_is_never_away_is_m_m_1() -> None:
    """D/(1 − lam D)."""
    assert OnOff(0.25).response_time(2) == pytest.approx(0.25 / (1 - 0.5))
    assert OnOff(0.25).utilisation(2) == 0.5
    assert OnOff(0.25).queue_lengths(2)[3] == pytest.approx((0.5**4, 0))


def test_other_events_make_service_seem_slower() -> None:
    """16 for M/M/1; and at the effective demand a stream alone waits as it did in company (15)."""
    assert OnOff(0.25).effective_demand(1, 2) == pytest.approx(0.25 / (1 - 2 * 0.25))
    shared = OnOff(0.125, 20, 10)
    alone = OnOff(shared.effective_demand(1, 2), 20, 10)
    assert alone.response_time(1) == pytest.approx(shared.response_time(3))


def test_an_unstable_queue_is_refused_with_its_condition() -> None:
    """At the limit already; and the line says which rate it could bear."""
    station = OnOff(0.125, 20, 20)
    assert station.fastest == 4
    for lam in (4, 5):
        with pytest.raises(ImpossibleInputError, match="must be below 1, so lambda below 4"):
            station.response_time(lam)


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, -1)])
def test_impossible_stations_are_refused(wrong: tuple[float, float, float]) -> None:
    """No service, never there, away for less than no time."""
    with pytest.raises(ImpossibleInputError):
        OnOff(*wrong)
