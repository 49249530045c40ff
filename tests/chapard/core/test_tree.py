"""Trees of shortest paths: they reach everybody as soon as routes do, with no more transmissions, often with fewer."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.paths import shortest_paths
from chapard.core.tree import MOST_PLANNED, Paths
from fake_network import chain, cycle, grid, neighbourhoods, random_links

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fake_network import Links


class Field:
    """A network in which every node plans for itself, as the residual vectors travel."""

    def __init__(self, links: Links) -> None:
        self.near = neighbourhoods(links)
        self.paths = {node: Paths(node, self.near) for node in self.near}

    def planned(self, root: int, destinations: Iterable[int]) -> int:
        plan = self.paths[root].plan(sorted(destinations), self.near[root])
        assert plan is not None
        return plan.transmissions

    def carry(self, root: int, destinations: Iterable[int], came_from: int | None = None) -> tuple[int, dict[int, int]]:
        """Hand an event on from `root`: the transmissions it takes, and after how many hops each was reached."""
        plan = self.paths[root].plan(sorted(destinations), self.near[root] - {came_from})
        assert plan is not None
        assert sorted(node for group in plan.groups.values() for node in group) == sorted(destinations)
        spent = 0
        reached: dict[int, int] = {}
        for next_hop, group in plan.groups.items():
            beyond, hops = self.carry(next_hop, [node for node in group if node != next_hop], root)
            spent += 1 + beyond
            reached |= {node: 1 + each for node, each in hops.items()} | ({next_hop: 1} if next_hop in group else {})
        assert spent <= plan.transmissions, "the next nodes do no worse than was planned for them"
        return spent, reached

    def by_routes(self, root: int, destinations: Iterable[int]) -> int:
        """The transmissions of plain grouping by next hop: the links on the routes."""
        used = set()
        for destination in destinations:
            at = root
            while at != destination:
                next_hop = shortest_paths(at, self.near)[destination].next_hop
                used.add((at, next_hop))
                at = next_hop
        return len(used)


@pytest.mark.parametrize("seed", range(60))
def test_everybody_is_reached_over_a_shortest_path_and_no_dearer_than_by_routes(seed: int) -> None:
    """On random networks, with every node on the way planning anew for its part."""
    rng = Random(seed)
    field = Field(random_links(30, rng, extra=rng.randrange(80)))
    root = rng.randrange(30)
    wanted = set(rng.sample([node for node in range(30) if node != root], rng.randint(1, 12)))
    spent, reached = field.carry(root, wanted)
    assert reached == {node: shortest_paths(root, field.near)[node].hops for node in wanted}
    assert spent <= field.by_routes(root, wanted)


def test_trees_are_cheaper_than_routes() -> None:
    """Over many random networks a good part of what routes do not share is shared."""
    by_tree = by_routes = 0
    for seed in range(40):
        rng = Random(seed)
        field = Field(random_links(30, rng, extra=60))
        wanted = rng.sample(range(1, 30), 8)
        by_tree += field.carry(0, wanted)[0]
        by_routes += field.by_routes(0, wanted)
    assert by_tree < 0.95 * by_routes


@pytest.mark.parametrize(
    ("side", "root", "wanted", "groups", "transmissions"),
    [
        (3, 1, (2, 6, 8), {2: [2], 4: [6, 8]}, 5),
        (3, 0, (2, 6, 8), {1: [2, 8], 3: [6]}, 6),
        (5, 1, (4, 20, 24), {2: [4], 6: [20, 24]}, 11),
        (5, 0, (4, 20, 24), {1: [4, 24], 5: [20]}, 12),
    ],
)
def test_the_corners_of_a_grid(
    side: int, root: int, wanted: tuple[int, ...], groups: dict[int, list[int]], transmissions: int
) -> None:
    """From a corner, or the broker next to it, to the three others: as few transmissions as any tree needs."""
    field = Field(grid(side))
    plan = field.paths[root].plan(wanted, field.near[root])
    assert plan is not None
    assert {next_hop: sorted(group) for next_hop, group in plan.groups.items()} == groups
    assert plan.transmissions == field.carry(root, wanted)[0] == transmissions


def test_without_a_choice_the_tree_is_that_of_the_routes() -> None:
    """In a chain there is one path to everybody, and who is on it costs nothing more."""
    plan = Field(chain(6)).paths[2].plan([0, 1, 4, 5], {1, 3})
    assert plan == ({1: [0, 1], 3: [4, 5]}, 5)


def test_a_next_hop_to_avoid_is_gone_round_where_another_path_is_as_short() -> None:
    """Over a ring of six the opposite node is reached either way; others are reached over no way round."""
    paths = Field(cycle(6)).paths[0]
    assert paths.plan([3], {1, 5}) == ({1: [3]}, 3)
    assert paths.plan([3], {5}) == ({5: [3]}, 3)
    assert paths.plan([1, 2, 3], {5}) == ({5: [3]}, 3)
    assert paths.plan([2], set()) == ({}, 0)


def test_who_is_not_in_the_links_is_in_no_group() -> None:
    """Nor is the node itself."""
    assert Paths(0, {0: {1}, 1: {0}}).plan([0, 1, 9], {1}) == ({1: [1]}, 1)
    assert Paths(0, {}).plan([1], {1}) == ({}, 0)


def test_links_count_in_the_direction_they_are_known_in() -> None:
    """As routes do: what a node says of its own links."""
    assert Paths(0, {0: {1}, 1: {2}, 3: {0}}).distance == {0: 0, 1: 1, 2: 2}


def test_many_destinations_are_not_planned_for() -> None:
    """The work is bounded."""
    paths = Paths(0, neighbourhoods(chain(2 * MOST_PLANNED)))
    assert paths.plan(range(1, MOST_PLANNED + 1), {1}) is not None
    assert paths.plan(range(1, MOST_PLANNED + 2), {1}) is None
