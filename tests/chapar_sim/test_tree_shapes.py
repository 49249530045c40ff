"""Shapes of broker trees: brokers, links and members as the text counts them."""

from __future__ import annotations

import pytest

from chapar_sim.tree_shapes import battalion, m_ary


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
