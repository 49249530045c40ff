"""Rounds on a tree where nothing changes: each stands for itself."""

from __future__ import annotations

import pytest

from chapar_sim.tree_round import Rounds
from chapar_sim.tree_shapes import m_ary
from chapard.core.overlay.router import Algorithm

SHAPE = m_ary(2, 4)


@pytest.mark.parametrize("algorithm", [each for each in Algorithm if each is not Algorithm.FLOODING])
def test_one_round_leaves_nothing_to_the_next(algorithm: Algorithm) -> None:
    """A subscription and a notification over each of the three links, however often, and wherever the last one was."""
    rounds = Rounds(SHAPE, algorithm)
    for leaf in (*SHAPE.leaves, *SHAPE.leaves):
        messages = rounds.run([leaf])
        assert (messages.subscriptions, messages.notifications, messages.total) == (3, 3, 6)


def test_flooding_needs_no_subscriptions() -> None:
    messages = Rounds(SHAPE, Algorithm.FLOODING).run([])
    assert (messages.notifications, messages.total) == (14, 14)


def test_each_subscriber_is_reached() -> None:
    rounds = Rounds(SHAPE, Algorithm.MERGING)
    rounds.run(SHAPE.leaves[2:5])
    assert sorted(at for at, _ in rounds.tree.delivered) == list(SHAPE.leaves[2:5])
