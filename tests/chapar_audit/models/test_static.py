"""The static closed forms against every placement of subscribers on small trees."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from chapar_audit.models import static
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.tree import leaves, m_ary


@pytest.mark.parametrize(("m", "k"), [(1, 4), (2, 2), (2, 4), (3, 3), (4, 2)])
def test_best_worst_and_mean_are_those_of_all_placements(m: int, k: int) -> None:
    """Over all placements of S subscribers, for every S."""
    tree = m_ary(m, k)
    ends = leaves(tree)
    for subscribers in range(len(ends) + 1):
        costs = [2 * static.used_links(tree, placed) for placed in combinations(ends, subscribers)]
        assert static.best(m, k, subscribers) == min(costs)
        assert static.worst(m, k, subscribers) == max(costs)
        assert static.homogeneous(m, k, subscribers) == pytest.approx(sum(costs) / len(costs))


def test_break_evens_are_where_the_curves_cross() -> None:
    """12.75, 8.25 and 9.727 of 27: at the whole number before, flooding is not cheaper, at the next it is."""
    points = [static.break_even(3, 4, cost) for cost in (static.best, static.worst, static.homogeneous)]
    assert points == pytest.approx([12.75, 8.25, 9.726551184040616])
    for point, cost in zip(points, (static.best, static.worst, static.homogeneous), strict=True):
        assert point is not None
        assert cost(3, 4, int(point)) <= static.flooding(3, 4) < cost(3, 4, int(point) + 1)


def test_where_flooding_is_never_cheaper_there_is_no_break_even() -> None:
    """A curve that stays below has none; a chain of brokers breaks even at half a subscriber."""
    assert static.break_even(2, 3, lambda *_: 1) is None
    assert static.break_even(1, 5, static.worst) == 0.5


@pytest.mark.parametrize("cost", [static.best, static.worst, static.homogeneous])
def test_more_subscribers_never_cost_less(cost: static.Cost) -> None:
    """So there is one break-even."""
    assert all(a <= b + 1e-9 for a, b in pairwise(cost(3, 3, each) for each in range(10)))


def test_no_subscriber_uses_no_link() -> None:
    """2.3 is never negative, and the publisher's own broker needs no link."""
    tree = m_ary(2, 3)
    assert static.used_links(tree, []) == 0
    assert static.used_links(tree, [1]) == 0


@pytest.mark.parametrize(("m", "k", "subscribers"), [(3, 4, 28), (3, 4, -1), (0, 3, 0), (3, 1, 0), (2, 17, 1)])
def test_impossible_numbers_are_refused(m: int, k: int, subscribers: int) -> None:
    """More subscribers than end-brokers, no children, no links."""
    with pytest.raises(ImpossibleInputError):
        static.best(m, k, subscribers)


def test_a_subscriber_that_is_nowhere_is_refused() -> None:
    """By its number."""
    with pytest.raises(ImpossibleInputError, match="broker 99"):
        static.used_links(m_ary(2, 3), [99])
