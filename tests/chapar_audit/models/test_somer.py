"""SOMER's bounds."""

from __future__ import annotations

import math

import pytest

from chapar_audit.models import somer
from chapar_audit.models.conditions import ImpossibleInputError


def test_the_overhead_of_paths_is_bounded() -> None:
    """√2 − 1 with four neighbouring trees, 2/√3 − 1 with six."""
    assert somer.path_overhead_bound(4) == pytest.approx(math.sqrt(2) - 1)
    assert somer.path_overhead_bound(6) == pytest.approx(2 / math.sqrt(3) - 1)
    with pytest.raises(ImpossibleInputError, match="4 or 6"):
        somer.path_overhead_bound(5)


def test_more_causal_nodes_nearer_the_root_expand() -> None:
    """And a tree that holds their descendants already has less to gain; deep leaves have less than shallow ones."""
    potential = somer.expansion_potential(4, 1.5, 0.25, 0.1)
    assert somer.expansion_potential(5, 1.5, 0.25, 0.1) > potential
    assert somer.expansion_potential(4, 2.5, 0.25, 0.1) < potential
    assert somer.expansion_potential(4, 1.5, 0.5, 0.1) < potential
    assert somer.local_expansion_potential(potential, 4, 0.1) < somer.local_expansion_potential(potential, 3, 0.1)


def test_between_equals_there_is_no_contention() -> None:
    """The band is around 1, the same seen from both sides."""
    low, high = somer.no_contention(0.325)
    assert low < 1 < high
    assert low * high == pytest.approx(1)


def test_impossible_input_is_refused() -> None:
    """eta is there to be above 0."""
    with pytest.raises(ImpossibleInputError, match="eta"):
        somer.expansion_potential(4, 1, 0.2, 0)
    with pytest.raises(ImpossibleInputError, match="gamma"):
        somer.expansion_potential(4, 1, 1.2, 0.1)
    with pytest.raises(ImpossibleInputError, match="delta"):
        somer.no_contention(-0.1)
