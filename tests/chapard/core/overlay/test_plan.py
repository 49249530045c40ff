"""Plan: a tree is a tree, and every broker knows who is behind each of its links."""

from __future__ import annotations

from random import Random

import pytest

from chapard.core.overlay.plan import ConfigError, Mode, Overlay, Routing
from fake_network import chain, cycle

TREE = Overlay(((1, 2), (2, 3), (2, 4), (7, 8)))


def test_each_broker_has_its_neighbours() -> None:
    """A link is one of both its ends; a node that no link names has none. Several pieces are allowed."""
    assert {node: TREE.neighbours(node) for node in (1, 2, 7, 9)} == {1: (2,), 2: (1, 3, 4), 7: (8,), 9: ()}
    assert TREE.nodes == [1, 2, 3, 4, 7, 8]


def test_each_link_has_brokers_behind_it() -> None:
    """All that are reached over it, and no others."""
    assert TREE.behind(2, 1) == {1}
    assert TREE.behind(1, 2) == {2, 3, 4}
    assert TREE.behind(8, 7) == {7}


def test_depth_is_the_longest_way() -> None:
    """From the end of a chain it is the whole chain."""
    overlay = Overlay(tuple(sorted(chain(5))))
    assert [overlay.depth(node) for node in range(5)] == [4, 3, 2, 3, 4]
    assert overlay.depth(9) == 0


@pytest.mark.parametrize(
    ("links", "complaint"),
    [
        ([(1, 1)], "overlay.links joins node 1 to itself: leave [1, 1] out"),
        ([(1, 2), (2, 1)], "overlay.links names [2, 1] twice: write it once"),
        ([(3, 1), (1, 2), (2, 3)], "overlay.links has the cycle 1 - 2 - 3 - 1: leave one of its links out"),
        ([(9, 5), (1, 2), (5, 7), (7, 9)], "overlay.links has the cycle 5 - 7 - 9 - 5: leave one of its links out"),
    ],
)
def test_what_is_no_tree_is_refused(links: list[tuple[int, int]], complaint: str) -> None:
    """In one line that names the link or the cycle."""
    with pytest.raises(ConfigError) as refused:
        Overlay(tuple(links))
    found = str(refused.value)
    reverse = " - ".join(reversed(complaint.partition("cycle ")[2].partition(":")[0].split(" - ")))
    assert found == complaint or reverse in found


@pytest.mark.parametrize("seed", range(30))
def test_every_cycle_is_found(seed: int) -> None:
    """A random tree passes in any order of its links; with one link more it does not."""
    rng = Random(seed)
    nodes = rng.randint(3, 20)
    links = [(rng.randrange(node), node) for node in range(1, nodes)]
    rng.shuffle(links)
    Overlay(tuple(links))
    others = [(a, b) for a in range(nodes) for b in range(a) if (a, b) not in links and (b, a) not in links]
    with pytest.raises(ConfigError, match="cycle"):
        Overlay((*links, rng.choice(others)))


def test_a_ring_is_named_whole() -> None:
    """Every node of it, once round."""
    with pytest.raises(ConfigError) as refused:
        Overlay(tuple(sorted(cycle(4))))
    assert all(f"{node}" in str(refused.value) for node in range(4))


def test_routing_refuses_what_cannot_be() -> None:
    """A period has a length; publishers are known, or say so themselves."""
    assert Routing().mode is Mode.CHAPAR
    with pytest.raises(ConfigError, match="refresh_period"):
        Routing(refresh_period=0)
    with pytest.raises(ConfigError, match="publisher_roots"):
        Routing(advertisements=True, publisher_roots=(1,))
