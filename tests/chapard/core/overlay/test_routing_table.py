"""The routing table: who holds what, and what is forgotten when."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.overlay.interest import Interest
from chapard.core.overlay.routing_table import RoutingTable

F, G = (Interest(Filter(subject=name)) for name in "fg")


def test_an_interest_is_news_once_per_link() -> None:
    """Each link holds an interest for itself; only the first time is news, and only what is held can be dropped."""
    table = RoutingTable()
    assert table.take(1, F)
    assert not table.take(1, F)
    assert table.take(2, F)
    assert table.take(1, G)
    assert table.holders(F) == (1, 2)
    assert table.received(1) == (F, G)
    assert (table.count(1), table.count(2), table.count(3)) == (2, 1, 0)
    assert table.has(2, F)
    assert not table.has(2, G)
    assert table.drop(1, F)
    assert not table.drop(1, F)
    assert not table.drop(9, F)
    assert table.holders(F) == (2,)
    assert table.drop(2, F)
    assert table.holders(F) == ()


def test_elsewhere_is_what_another_link_holds() -> None:
    """What this link alone holds does not stand elsewhere; what it shares with another does."""
    table = RoutingTable()
    table.take(1, F)
    assert list(table.elsewhere(1)) == []
    assert list(table.elsewhere(2)) == [F]
    table.take(2, F)
    assert list(table.elsewhere(1)) == [F]


def test_an_interest_expires_in_the_period_after_those_it_may_miss() -> None:
    """Second chance: it outlives two periods without a refresh, and a refresh gives it both of them again."""
    table = RoutingTable()
    table.take(1, F)
    table.take(1, G)
    for _ in range(2):
        assert table.age(1) == []
    table.take(1, G)
    assert table.age(1) == [F]
    assert table.received(1) == (F, G), "dropping it is for the caller, who tells others"
    assert table.age(1) == [F]
    assert table.age(1) == [F, G]
