"""The clock looks like the time of day and never goes back."""

from __future__ import annotations

import time

from chapard.clock import Clock


def test_it_starts_at_the_time_of_day_and_runs_forward() -> None:
    """Its first reading is now; later ones are never smaller, and keep up with the machine's own clock."""
    clock = Clock()
    before, started = time.monotonic(), clock()
    assert abs(started - time.time()) < 1
    readings = [clock() for _ in range(1000)]
    assert readings == sorted(readings)
    assert 0 <= readings[-1] - started <= time.monotonic() - before + 0.001
