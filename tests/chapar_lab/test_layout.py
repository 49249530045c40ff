"""Where nodes are drawn."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from chapar_lab.layout import layout, springs
from chapar_sim.links import graph_links
from chapar_sim.terrain import TopologySpec

NODES = list(range(1, 10))


def laid_out(kind: str, nodes: list[int], **more: object) -> dict[int, tuple[float, float]]:
    topology = TopologySpec(kind=kind, **more)  # type: ignore[arg-type]  # as the caller says
    return layout(topology, nodes, graph_links(topology, nodes))


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("chain", {}),
        ("ring", {}),
        ("grid", {"columns": 3}),
        ("star", {"centre": 5}),
        ("full", {}),
        ("edges", {"edges": tuple((a, a + 1) for a in range(1, 9))}),
    ],
)
def test_every_node_has_a_place_of_its_own_in_the_square(kind: str, more: dict[str, object]) -> None:
    """No two on top of each other, none outside."""
    places = laid_out(kind, NODES, **more)
    assert sorted(places) == NODES
    assert all(-1e-9 <= x <= 1 + 1e-9 and -1e-9 <= y <= 1 + 1e-9 for x, y in places.values())
    assert min(math.dist(a, b) for a, b in combinations(places.values(), 2)) > 0.05


def test_shapes() -> None:
    """A chain is a line, a grid is a grid, and the centre of a star is its centre."""
    assert {y for _, y in laid_out("chain", NODES).values()} == {0.5}
    assert laid_out("grid", NODES, columns=3)[9] == (1.0, 1.0)
    assert laid_out("star", NODES, centre=5)[5] == (0.5, 0.5)


@pytest.mark.parametrize("kind", ["chain", "ring", "full", "edges"])
def test_small_networks(kind: str) -> None:
    """One node has a place too."""
    assert list(laid_out(kind, [1], **({"edges": ()} if kind == "edges" else {}))) == [1]


def test_linked_nodes_are_near_each_other() -> None:
    """Of two cliques joined by one link, the nodes of each are nearer to each other than to the other's."""
    first, second = range(1, 5), range(5, 9)
    links = {*combinations(first, 2), *combinations(second, 2), (4, 5)}
    places = springs([*first, *second], links)
    inside = [math.dist(places[a], places[b]) for group in (first, second) for a, b in combinations(group, 2)]
    between = [math.dist(places[a], places[b]) for a in first for b in second if (a, b) != (4, 5)]
    assert sum(inside) / len(inside) < 0.7 * sum(between) / len(between)
