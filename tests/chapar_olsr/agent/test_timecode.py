"""Times in one byte."""

from __future__ import annotations

from math import ceil, floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.agent.timecode import LONGEST, SHORTEST, C, code_of, seconds

CODES = st.integers(0, 255)


def by_the_rfc(time: float) -> int:
    """The steps of RFC 3626, 18.3, one by one."""
    b = floor(log2(time / C))
    a = ceil(16 * (time / (C * (1 << b)) - 1))
    if a == 16:
        a, b = 0, b + 1
    return a << 4 | b


@pytest.mark.parametrize(("time", "code"), [(2.0, 0x05), (5.0, 0x46), (6.0, 0x86), (15.0, 0xE7), (30.0, 0xE8)])
def test_the_rfcs_intervals_and_hold_times(time: float, code: int) -> None:
    """The times of RFC 3626, 18.2 and 18.3, have exact codes."""
    assert code_of(time) == code
    assert seconds(code) == time


@pytest.mark.parametrize("code", range(256))
def test_every_code_is_the_code_of_its_time(code: int) -> None:
    """Nothing is lost on the way there and back."""
    assert code_of(seconds(code)) == code
    assert SHORTEST <= seconds(code) <= LONGEST


def test_no_two_codes_mean_the_same() -> None:
    """A time has one code."""
    assert len({seconds(code) for code in range(256)}) == 256
    assert (SHORTEST, LONGEST) == (0.0625, 3968.0)


@given(st.floats(SHORTEST, LONGEST))
def test_a_time_is_told_by_the_nearest_code_above_it(time: float) -> None:
    """Others must not forget us before we speak again; the RFC's own steps lead to the same code."""
    told = seconds(code_of(time))
    assert time <= told <= time * 17 / 16
    assert not [code for code in range(256) if time <= seconds(code) < told]
    assert code_of(time) == by_the_rfc(time)


@given(CODES, CODES)
def test_codes_keep_the_order_of_times(one: int, other: int) -> None:
    """A time between two codes is told by neither less than the lower nor more than the upper."""
    lower, upper = sorted((seconds(one), seconds(other)))
    assert lower <= seconds(code_of((lower + upper) / 2)) <= upper


@pytest.mark.parametrize(("time", "told"), [(-1.0, SHORTEST), (0.0, SHORTEST), (3968.5, LONGEST), (1e9, LONGEST)])
def test_what_no_code_can_say_is_told_as_near_as_can_be(time: float, told: float) -> None:
    """There is no code beyond the shortest and the longest time."""
    assert seconds(code_of(time)) == told
