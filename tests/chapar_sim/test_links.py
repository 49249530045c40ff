"""Who can hear whom."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chapar_sim.faultspec import FaultSpec
from chapar_sim.links import Cut, Links, graph_links, hearers, is_connected, range_links
from chapar_sim.terrain import TopologySpec

NODES = [1, 2, 3, 4, 5, 6]


def edges(kind: str, **options: int) -> set[tuple[int, int]]:
    """The symmetric edges of a named graph over six nodes, lower index first."""
    links = graph_links(TopologySpec(kind=kind, **options), NODES)  # type: ignore[arg-type]  # integers only
    assert all((b, a) in links for a, b in links)
    return {(a, b) for a, b in links if a < b}


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("chain", {}, {(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}),
        ("ring", {}, {(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (1, 6)}),
        ("grid", {"columns": 3}, {(1, 2), (2, 3), (4, 5), (5, 6), (1, 4), (2, 5), (3, 6)}),
        ("grid", {"columns": 4}, {(1, 2), (2, 3), (3, 4), (5, 6), (1, 5), (2, 6)}),
        ("star", {"centre": 3}, {(1, 3), (2, 3), (3, 4), (3, 5), (3, 6)}),
        ("full", {}, {(a, b) for a in NODES for b in NODES if a < b}),
    ],
)
def test_named_graphs(kind: str, options: dict[str, int], expected: set[tuple[int, int]]) -> None:
    """Each name stands for its graph."""
    assert edges(kind, **options) == expected


@example(places=[(1.0, 0.0), (-2e-303, 0.0)], reach=1.0)
@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), max_size=20), st.floats(1, 400))
def test_range_links_are_those_within_reach(places: list[tuple[float, float]], reach: float) -> None:
    """Looking cell by cell finds exactly what looking at every pair finds."""
    positions = dict(enumerate(places))
    expected = {
        (a, b)
        for a, (ax, ay) in positions.items()
        for b, (bx, by) in positions.items()
        if a != b and math.hypot(ax - bx, ay - by) <= reach
    }
    assert range_links(positions, reach) == expected


def test_a_network_is_connected_if_everyone_can_answer() -> None:
    """A one-way link does not connect."""
    assert is_connected([1, 2], frozenset({(1, 2), (2, 1)}))
    assert not is_connected([1, 2], frozenset({(1, 2)}))
    assert not is_connected([1, 2, 3], frozenset({(1, 2), (2, 1)}))
    assert is_connected([1], frozenset())


def heard(links: Links) -> dict[int, tuple[int, ...]]:
    links.refresh()
    return {node: links.heard_by(node) for node in NODES}


def test_cuts_add_up_and_heal_one_by_one() -> None:
    """Each cut stands until it is healed itself, or all are."""
    links = Links(TopologySpec(kind="chain"), NODES)
    whole = heard(links)
    first = Cut(FaultSpec(at=0, kind="cut", edges=((1, 2),)))
    second = Cut(FaultSpec(at=0, kind="cut", groups=((1, 2, 3), (5, 6))))
    links.cut(first)
    links.cut(second)
    assert heard(links) == {1: (), 2: (3,), 3: (2,), 4: (), 5: (6,), 6: (5,)}
    assert links.heal(first)
    assert heard(links) == {1: (2,), 2: (1, 3), 3: (2,), 4: (), 5: (6,), 6: (5,)}
    assert links.heal()
    assert heard(links) == whole
    assert not links.heal()


def test_a_cut_can_go_one_way() -> None:
    """Then only that direction fails."""
    links = Links(TopologySpec(kind="chain"), NODES)
    links.cut(Cut(FaultSpec(at=0, kind="cut", one_way=((1, 2),))))
    assert heard(links)[1] == ()
    assert heard(links)[2] == (1, 3)


def test_refresh_says_whether_anything_changed() -> None:
    """A node that was off already does not change anything again."""
    links = Links(TopologySpec(kind="chain"), NODES)
    assert links.refresh()
    assert not links.refresh()
    links.power(3, on=False)
    assert links.refresh()
    assert (links.heard_by(2), links.heard_by(3), links.is_on(3)) == ((1,), (), False)
    links.power(3, on=True)
    assert links.refresh()


def test_hearers_by_who_is_heard() -> None:
    """In ascending order; a node that nobody hears is not there."""
    assert hearers(frozenset({(1, 3), (1, 2), (3, 1)})) == {1: (2, 3), 3: (1,)}
