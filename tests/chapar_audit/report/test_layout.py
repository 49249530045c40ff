"""Where nodes are drawn."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest

from chapar_audit.report.layout import layout


def grid(columns: int, lines: int) -> list[tuple[int, int]]:
    nodes = range(columns * lines)
    return [(node, node + 1) for node in nodes if (node + 1) % columns] + [
        (node, node + columns) for node in nodes if node + columns < columns * lines
    ]


def test_a_chain_is_a_line() -> None:
    """From left to right, each as far from the next."""
    places = layout(range(6), pairwise(range(6)))
    xs = [places[node][0] for node in range(6)]
    assert [b - a for a, b in pairwise(xs)] == pytest.approx([1] * 5, abs=0.05)
    assert max(abs(places[node][1]) for node in range(6)) < 0.1


def test_a_grid_is_level_and_begins_at_the_upper_left() -> None:
    """Rows are rows, and the first node is where one begins to read."""
    places = layout(range(15), grid(5, 3))
    for a, b in grid(5, 3):
        (ax, ay), (bx, by) = places[a], places[b]
        across = abs(a - b) == 1
        assert abs(by - ay) < 0.35 if across else abs(bx - ax) < 0.35
        assert 0.6 < math.dist(places[a], places[b]) < 1.4
    assert places[0][0] < places[4][0]
    assert places[0][1] > places[10][1]


def test_a_star_has_no_two_nodes_on_one_spot() -> None:
    """Nor has a network without a link, or one in pieces; the same each time."""
    for links in ([(0, node) for node in range(1, 9)], [], [(0, 1), (2, 3)]):
        places = layout(range(9), links)
        assert min(math.dist(places[a], places[b]) for a, b in combinations(range(9), 2)) > 0.2
        assert places == layout(range(9), links)


def test_one_node_or_none_is_no_trouble() -> None:
    """And links to nodes that are not drawn are not looked at."""
    assert layout([], [(1, 2)]) == {}
    assert layout([7], [(7, 8)]) == {7: (0.0, 0.0)}
