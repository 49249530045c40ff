"""How fast a client takes what there is for it."""

from __future__ import annotations

from random import Random

import pytest

from chapard.core.effects import AcknowledgementRow
from chapard.core.uptake import ROW_EVERY, Uptake


def test_what_is_acknowledged_adds_up_until_a_row_is_due() -> None:
    """A second after the last row, which is then counted anew."""
    uptake = Uptake()
    uptake.row("c", 10.0)
    assert not uptake.taken(2, 0.5, 10.5, more=False)
    assert uptake.taken(1, 0.25, 10.0 + ROW_EVERY, more=False)
    assert uptake.row("c", 11.0) == AcknowledgementRow("c", 3, 750_000, 0, 0)
    assert uptake.row("c", 11.0) == AcknowledgementRow("c", 0, 0, 0, 0)


def test_only_between_events_that_waited_does_time_tell_the_service() -> None:
    """After the last that waited, nobody knows when the client was done with it."""
    uptake = Uptake()
    uptake.taken(1, 0, 10, more=True)
    uptake.taken(1, 0, 13, more=True)
    uptake.taken(1, 0, 14, more=False)
    uptake.taken(1, 0, 99, more=False)
    assert uptake.row("c", 99)[3:] == (2, 4_000_000)


def test_time_off_is_not_service() -> None:
    """What was in hand when the client went OFF counts for as long as it was ON."""
    uptake = Uptake()
    uptake.taken(1, 0, 10, more=True)
    uptake.gone_off(11)
    uptake.gone_on(50)
    uptake.taken(1, 0, 53, more=False)
    uptake.gone_off(54)
    uptake.gone_on(60)
    uptake.taken(1, 0, 61, more=False)
    assert uptake.row("c", 61)[3:] == (1, 4_000_000)


def test_the_mean_service_is_found_whatever_the_load() -> None:
    """In a queue with Poisson arrivals: which events count does not depend on how long they take."""
    rng = Random(7)
    uptake, arrival, free, count = Uptake(), 0.0, 0.0, 4000
    arrivals = [arrival := arrival + rng.expovariate(1.2) for _ in range(count)]
    for place, came in enumerate(arrivals):
        begun = max(came, free)
        free = begun + rng.expovariate(2.0)
        more = place + 1 < count and arrivals[place + 1] <= begun
        uptake.taken(1, begun - came, begun, more=more)
    row = uptake.row("c", free)
    assert row.events == count
    assert 1000 < row.served < count
    assert row.busy_us / row.served == pytest.approx(500_000, rel=0.05)
