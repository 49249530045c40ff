"""Refresh periods begin at the same moments on all brokers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapard.core.overlay.refresh import Refresh


@given(st.floats(0.01, 100), st.floats(0, 1e9), st.lists(st.floats(0, 1000), max_size=20))
def test_periods_begin_at_multiples(period: float, start: float, waits: list[float]) -> None:
    """Whenever a broker starts, and however late it is called: the deadline lies ahead, at most a period away."""
    refresh = Refresh(period, start)
    now = start
    for wait in waits:
        due = refresh.deadline
        now += wait
        assert refresh.has_begun(now) == (due <= now)
        assert not refresh.has_begun(now)
        assert now < refresh.deadline <= (now + period) * (1 + 1e-12)


def test_brokers_share_them() -> None:
    assert Refresh(10, 3).deadline == Refresh(10, 7.5).deadline == 10


def test_a_deadline_met_exactly_is_met_once() -> None:
    """Also where multiples are not exact in floating point."""
    refresh = Refresh(0.1, 0)
    for _ in range(1000):
        assert refresh.has_begun(refresh.deadline)
        assert not refresh.has_begun(refresh.deadline - 0.05)
