"""Flooding: no interest leaves its broker."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.overlay.flooding import Flooding
from chapard.core.overlay.interest import NOTHING, Interest


def test_nothing_is_ever_sent() -> None:
    flooding = Flooding()
    interest = Interest(Filter(subject="f"))
    assert flooding.gained(interest) == NOTHING
    assert interest not in flooding
    assert flooding.lost(interest) == NOTHING
    assert flooding.settle() == NOTHING
    assert not flooding.sent
    assert not flooding.unsettled
