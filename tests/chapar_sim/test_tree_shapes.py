"""Shapes of broker trees: brokers, links and members as the text counts them."""

from __future__ import annotations

import pytest

from chapar_sim.tree_shapes import apart, battalion, distance, m_ary


@pytest.mark.parametrize(("m", "k", "brokers", "leaves"), [(2, 4, 15, 8), (3, 4, 40, 27), (3, 7, 1093, 729)])
def test_m_ary_trees(m: int, k: int, brokers: int, leaves: int) -> None:
    """(m^k − 1) / (m − 1) brokers, m^(k−1) of them leaves, one link fewer than brokers (2.1)."""
    tree = m_ary(m, k)
    assert tree.nodes == brokers
    assert len(tree.leaves) == leaves
    assert len(tree.links) == brokers - 1
    assert [len(level) for level in tree.levels] == [m**level for level in range(k)]


def test_children_are_numbered_from_left_to_right() -> None:
    assert m_ary(2, 3).links == ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6))


def test_the_radio_nets_of_a_battalion() -> None:
    """125 nets, 124 links, 928 participants (3.2.1, table 3.2)."""
    tree, members = battalion()
    assert tree.nodes == 125
    assert len(tree.links) == 124
    assert sum(members.values()) == 928
    assert [len(level) for level in tree.levels] == [1, 4, 24, 96]
    assert [members.get(level[0], 0) for level in tree.levels] == [0, 16, 4, 8]
    assert [sum(upper == net for upper, _ in tree.links) for net in (0, 1, 5, 29)] == [4, 6, 4, 0]


@pytest.mark.parametrize(("m", "k"), [(2, 4), (3, 4), (1, 3)])
def test_end_brokers_apart(m: int, k: int) -> None:
    """The first s of them have min(s, m^i) different brokers above them on each level i: nobody can do better (2.2)."""
    tree = m_ary(m, k)
    order = apart(tree)
    assert sorted(order) == list(tree.leaves)
    for count in range(1, len(order) + 1):
        for level in range(1, k):
            below = m ** (k - 1 - level)
            assert len({(each - tree.leaves.start) // below for each in order[:count]}) == min(count, m**level)


def test_distances_in_the_battalion() -> None:
    """28, 196 and 696 members are near the first squad, at an average distance and far away (3.4.4)."""
    tree, members = battalion()
    squad = tree.leaves[0]
    away = distance(tree, squad)
    counts = [sum(n for net, n in members.items() if away[net] == far and net != squad) for far in range(3)]
    assert counts == [28, 196, 696]
    assert [away[net] for net in (squad, 0, 1, 2, 5, 6, 11)] == [0, 2, 1, 2, 0, 1, 2]
