"""Numbers as people type them."""

from __future__ import annotations

import argparse

import pytest

from chapar_audit.planning.options import number, numbers, whole, wholes


def test_numbers_may_be_fractions() -> None:
    """And lists of them are between commas."""
    assert [number(each) for each in ("1/6", ".5", "1e-3", "-2", "inf")] == [1 / 6, 0.5, 1e-3, -2, float("inf")]
    assert numbers("1/2,3") == (0.5, 3)
    assert wholes("2,3") == (2, 3)


@pytest.mark.parametrize("text", ["", "x", "1/0", "1/x", "nan", "1,2", "inf/inf"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """With examples of what is."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a number; write"):
        number(text)


@pytest.mark.parametrize("text", ["", "1.5", "x"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    """By its text."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        whole(text)
