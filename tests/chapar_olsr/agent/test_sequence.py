"""Sequence numbers that wrap around."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.agent.sequence import MODULUS, after, gap, is_newer

NUMBERS = st.integers(0, MODULUS - 1)


@given(NUMBERS)
def test_the_next_number_is_newer(number: int) -> None:
    """Also where it wraps around."""
    assert is_newer(after(number), number)
    assert not is_newer(number, after(number))
    assert not is_newer(number, number)


@given(NUMBERS, st.integers(1, MODULUS // 2 - 1))
def test_newer_is_decided_by_the_shorter_way_round(number: int, step: int) -> None:
    """RFC 3626, 19: of two different numbers one is newer, the other is not."""
    later = (number + step) % MODULUS
    assert is_newer(later, number)
    assert not is_newer(number, later)


@given(NUMBERS, st.integers(1, 1000))
def test_a_gap_counts_what_was_left_out(number: int, step: int) -> None:
    """Numbers that follow each other leave nothing out, and an older one never does."""
    later = (number + step) % MODULUS
    assert gap(later, number) == step - 1
    assert gap(number, later) == 0
