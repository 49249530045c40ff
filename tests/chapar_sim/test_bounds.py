"""The stated times."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from chapar_sim.bounds import OVERLAY_REFRESHES, OVERLAY_REFRESHES_OF_AUTO, RARE, Bounds
from chapard.core.config import Mode, Routing
from chapard.core.overlay.class_traffic import ALWAYS
from chapard.core.overlay.router import Algorithm
from chapard.core.overlay.routing_table import MISSED_PERIODS, SILENT_PERIODS
from tracebook import QUICK


@given(loss=st.floats(0.001, 0.5))
def test_tries_make_failure_rare(loss: float) -> None:
    """So many tries are granted that all of them fail with the stated probability at most."""
    assert loss ** Bounds(QUICK, loss=loss).tries() <= RARE


@given(
    diameter=st.integers(0, 12), loss=st.floats(0, 0.4), convergence=st.floats(0, 10), delay=st.floats(0, 0.5),
    more=st.floats(0, 0.4),
)  # fmt: skip
def test_worse_networks_are_granted_more(
    diameter: int, loss: float, convergence: float, delay: float, more: float
) -> None:
    """No stated time is shorter in a network that is wider, slower or lossier."""
    good = Bounds(QUICK, loss=loss, convergence=convergence, delay=delay)
    bad = Bounds(QUICK, loss=loss + more, convergence=convergence + more, delay=delay + more)
    for time in (Bounds.spread, Bounds.settle, Bounds.deliver, Bounds.crossing, Bounds.tables):
        assert time(good, diameter) <= time(bad, diameter) <= time(bad, diameter + 1)
    assert good.roles() <= bad.roles()
    assert good.check_out() <= bad.check_out()


def test_the_bound_on_tables_is_whole_refresh_periods() -> None:
    """The time until all tables are right is stated in refresh periods, and covers settling."""
    bounds = Bounds(QUICK, loss=0.1, convergence=3.0)
    assert bounds.tables(4) == bounds.table_refreshes(4) * QUICK.refresh_period
    assert bounds.tables(4) >= bounds.settle(4)


@given(brokers=st.integers(1, 9), diameter=st.integers(1, 4), loss=st.floats(0, 0.1), more=st.floats(0, 0.4))
def test_wider_trees_are_granted_more(brokers: int, diameter: int, loss: float, more: float) -> None:
    """Of more brokers, over more hops or lossier ones; and where links come and go, nothing is promised."""
    good, bad = Bounds(QUICK, loss=loss, convergence=1.0), Bounds(QUICK, loss=loss + more, convergence=1.0)
    assert good.overlay_up(diameter) <= bad.overlay_up(diameter) <= bad.overlay_up(diameter + 1)
    for time in (Bounds.overlay_spread, Bounds.overlay_crossing):
        assert time(good, brokers, diameter) <= time(bad, brokers, diameter)
        assert time(good, brokers, diameter) <= time(good, brokers + 1, diameter + 1)
    assert Bounds(QUICK, loss=0.5).overlay_spread(2, 4) == inf


def test_recovery_of_a_tree_is_stated_in_refresh_periods() -> None:
    """As many as the routers say of themselves; with auto whole classes are refreshed every ALWAYS periods at least."""
    config = replace(QUICK, routing=Routing(mode=Mode.TREE, refresh_period=5.0))
    assert OVERLAY_REFRESHES == MISSED_PERIODS + 1
    assert Bounds(config).overlay_recovery() == 5.0 * OVERLAY_REFRESHES
    auto = replace(config, routing=replace(config.routing, algorithm=Algorithm.AUTO))
    assert max(ALWAYS, SILENT_PERIODS) + 1 == OVERLAY_REFRESHES_OF_AUTO
    assert Bounds(auto).overlay_recovery() == 5.0 * OVERLAY_REFRESHES_OF_AUTO


def test_clocks_that_err_make_lives_uncertain() -> None:
    """A drifting or jumping clock makes the sure life of an event shorter and its possible life longer."""
    good, bad = Bounds(QUICK), Bounds(QUICK, drift=0.01, jumps=5.0)
    assert bad.shortest_life(100) == 94
    assert bad.shortest_life(100) < good.shortest_life(100) <= 100
    assert 100 < good.longest_life(100, 3) < bad.longest_life(100, 3)
