"""PSOO-FCAT's similarity and cost."""

from __future__ import annotations

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.prediction import similarity, traffic_cost

SHIP = {("type", "ship"), ("zone", "A")}
FAST_SHIP = {*SHIP, ("speed", 10)}


def test_similarity_is_not_symmetric() -> None:
    """It is a share of the first filter's attributes."""
    assert similarity(FAST_SHIP, SHIP) == pytest.approx(2 / 3)
    assert similarity(SHIP, FAST_SHIP) == 1
    assert similarity({("zone", "B")}, SHIP) == 0


def test_the_best_match_alone_predicts() -> None:
    """Not the sum over all that match; without others there is nothing to predict from."""
    assert traffic_cost([3, 4], [(0.5, [10]), (1.0, [5, 2, 2]), (0.1, [100])]) == 16
    assert traffic_cost([3, 4], []) == 7


def test_a_filter_without_attributes_is_refused() -> None:
    """There is no share of nothing."""
    with pytest.raises(ImpossibleInputError):
        similarity(set(), SHIP)
