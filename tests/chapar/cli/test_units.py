"""Times and sizes for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.cli.units import bytes_text, seconds_text

LENGTHS = {"d": 86_400, "h": 3_600, "min": 60, "s": 1, "ms": 0.001}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.34, "340 ms"),
        (12.4, "12 s"),
        (60, "1 min"),
        (303, "5 min 3 s"),
        (3600, "1 h"),
        (11_520, "3 h 12 min"),
        (187_200, "2 d 4 h"),
        (86_400 * 400, "400 d"),
        (-5, "-5 s"),
    ],
)
def test_a_time_has_at_most_two_parts(seconds: float, text: str) -> None:
    """The largest unit that fits and the one below it; parts that are zero are left out."""
    assert seconds_text(seconds) == text


@given(st.floats(1, 1e9))
def test_a_time_is_off_by_less_than_its_smallest_unit(seconds: float) -> None:
    """Reading the text back gives the time, cut to two units."""
    parts = seconds_text(seconds).split()
    read = sum(int(count) * LENGTHS[unit] for count, unit in zip(parts[::2], parts[1::2], strict=True))
    largest = list(LENGTHS).index(parts[1])
    assert abs(read - seconds) < list(LENGTHS.values())[min(largest + 1, 3)] + 0.5


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (999.7, "1.0 kB"),
        (12_345, "12.3 kB"),
        (999_999, "1.0 MB"),
        (4_000_000, "4.0 MB"),
        (7e12, "7000.0 GB"),
    ],
)
def test_a_size_has_three_digits_and_its_unit(size: float, text: str) -> None:
    """Rounding moves on to the next unit rather than print four digits."""
    assert bytes_text(size) == text
