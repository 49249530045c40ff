"""What routing algorithms cost for one class of filters."""

from __future__ import annotations

import pytest

from chapar_audit.jobs.overlay import Overlay
from chapar_audit.jobs.populations import Local
from chapar_audit.jobs.pricing import Demand, prices

PLAIN, NARROW, OTHER = b"abcd" + bytes(16), b"abcdefgh" + bytes(12), b"abcdxxxx" + bytes(12)
CHAIN = Overlay(((1, 2), (2, 3)), "auto", 2.0, roots=(1,))
HERE = Local(idle=0.5, toggles=0.25, arrivals=0.25, active=1.0)


def test_one_filter_at_the_end_of_a_chain() -> None:
    """x and d of a chain by hand: both links are in use half of the time; there is nothing to cover."""
    found = prices(CHAIN, Demand(4.0, 4.0, {PLAIN: {3: HERE}}))
    assert found["flooding"] == 8
    assert found["identity"] == 4 + 2 * (0.5 / 2 + 0.25)
    assert found["simple"] == 4 + 2 * (1.0 / 2 + 2 * 0.25)
    assert found["covering"] == found["identity"]


def test_one_filter_covers_another() -> None:
    """By 2.5.3 on each link: while the wide one is there, the narrow one is neither said nor refreshed."""
    found = prices(CHAIN, Demand(4.0, 4.0, {PLAIN: {3: HERE}, NARROW: {3: HERE}}))
    each = 0.5 / 2 + 0.25 + 0.5 * 0.5 / 2 + 0.25 * 0.5 + 0.25 * 0.5
    assert found["covering"] == pytest.approx(4 + 2 * each)
    assert found["identity"] == 4 + 2 * 2 * (0.5 / 2 + 0.25)


@pytest.mark.parametrize("filters", [(NARROW, OTHER), (PLAIN, NARROW, OTHER)])
def test_what_covers_what_is_not_always_known(filters: tuple[bytes, ...]) -> None:
    """Then covering routing has no price."""
    found = prices(CHAIN, Demand(4.0, 4.0, {each: {3: HERE} for each in filters}))
    assert sorted(found) == ["flooding", "identity", "simple"]


def test_events_that_nobody_wants() -> None:
    """Only flooding carries them."""
    assert prices(CHAIN, Demand(4.0, 0.0, {})) == {"flooding": 8, "simple": 0, "identity": 0, "covering": 0}
