"""Successors leave no gap, and sets over ordered domains answer as enumeration does."""

from __future__ import annotations

import sys
from itertools import islice, pairwise
from math import floor, inf, isfinite, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.limits import INT64_MAX, INT64_MIN, MAX_NODES, MAX_STRING
from chapar.ordered_set import NUMBERS, SENDERS, STRINGS, Number, OrderedSet, after_prefix, next_number, next_string
from strategies.values import LAST, numbers, strings


def is_number(value: float) -> bool:
    """Whether the domain of numbers holds `value`: as a finite double, or as an integer of 64 bits."""
    return INT64_MIN <= value <= INT64_MAX if isinstance(value, int) else isfinite(value)


@given(numbers)
def test_no_number_lies_between_a_number_and_the_next(number: float) -> None:
    """Neither a double nor an integer does, and the next one is itself a number."""
    following = next_number(number)
    assert following is not None or number == sys.float_info.max
    if following is not None:
        assert following > number
        assert is_number(following)
        assert not number < floor(number) + 1 < following or not is_number(floor(number) + 1)
        assert not number < INT64_MIN < following
        below = nextafter(following, -inf) if float(following) == following else float(following)
        below = below if below < following else nextafter(below, -inf)
        assert below <= number


@pytest.mark.parametrize(
    ("number", "following"),
    [
        (1, nextafter(1.0, inf)),
        (0, 5e-324),
        (-5e-324, 0),
        (2**53 - 1, 2**53),
        (2**53, 2**53 + 1),
        (nextafter(float(2**53), 0), 2**53),
        (2**62, 2**62 + 1),
        (INT64_MAX, 2.0**63),
        (2.0**63, 2.0**63 + 2048),
        (nextafter(float(INT64_MIN), -inf), INT64_MIN),
        (INT64_MIN, INT64_MIN + 1),
        (-sys.float_info.max, nextafter(-sys.float_info.max, 0)),
        (sys.float_info.max, None),
    ],
)
def test_integers_and_doubles_interleave(number: float, following: float | None) -> None:
    """Below 2^53 the doubles are the finer, up to 2^63 the integers, beyond it there are doubles only."""
    assert next_number(number) == following


@pytest.mark.parametrize(
    ("text", "following", "beyond"),
    [
        ("", "\0", None),
        ("a", "a\0", "b"),
        ("a" + LAST, "a" + LAST + "\0", "b"),
        (LAST, LAST + "\0", None),
        ("\ud7ff", "\ud7ff\0", "\ue000"),
        ("a" * MAX_STRING, "a" * (MAX_STRING - 1) + "b", "a" * (MAX_STRING - 1) + "b"),
        ("a" + LAST * (MAX_STRING - 1), "b", "b"),
        (LAST * MAX_STRING, None, None),
    ],
    ids=repr,
)
def test_strings_have_a_next_one_and_a_next_prefix(text: str, following: str | None, beyond: str | None) -> None:
    """Followed by U+0000 while there is room; surrogates are skipped, and a tail of U+10FFFF is dropped."""
    assert next_string(text) == following
    assert after_prefix(text) == beyond


@given(strings, strings)
def test_the_next_string_is_the_next(text: str, other: str) -> None:
    """Whatever lies above a string lies at or above its successor; what starts with it ends where the range ends."""
    following, beyond = next_string(text), after_prefix(text)
    assert (other > text) is (following is not None and other >= following)
    assert other.startswith(text) is (other >= text and (beyond is None or other < beyond))


@given(numbers, st.sampled_from((0, 1, 2, MAX_NODES - 1)) | st.integers(0, MAX_NODES - 1))
def test_senders_are_node_indexes(bound: float, index: int) -> None:
    """The least index at or above, and above, any number, or none."""
    for least, holds in ((SENDERS.at_least(bound), index >= bound), (SENDERS.above(bound), index > bound)):
        assert holds is (least is not None and index >= least)
        assert least is None or (type(least) is int and 0 <= least < MAX_NODES)


def test_elements_of_a_short_range_are_all_there_is() -> None:
    """The strings from a up to a followed by two U+0000 are two."""
    assert list(OrderedSet.between(STRINGS, "a", "a\0\0").elements()) == ["a", "a\0"]


def test_elements_ascend_one_by_one() -> None:
    """From the least number on, no step is skipped."""
    head = list(islice(OrderedSet.everything(NUMBERS).elements(), 5))
    assert head[0] == -sys.float_info.max
    assert all(next_number(one) == other for one, other in pairwise(head))


# A set over senders is small enough to be written out in full, so it can stand for all domains here.
@st.composite
def sender_sets(draw: st.DrawFn) -> OrderedSet[Number]:
    bounds = st.sampled_from([-1, 0, 1, 1.5, 2, 3, 4, 5, MAX_NODES - 2, MAX_NODES - 1, MAX_NODES])
    if draw(st.booleans()):
        return OrderedSet.only(SENDERS, draw(st.lists(bounds, max_size=4)))
    made = OrderedSet.between(SENDERS, SENDERS.at_least(draw(bounds)), SENDERS.at_least(draw(bounds)))
    for excluded in draw(st.lists(bounds, max_size=4)):
        made &= OrderedSet.all_but(SENDERS, excluded)
    return made


@given(sender_sets(), sender_sets())
def test_the_algebra_is_that_of_sets(one: OrderedSet[Number], other: OrderedSet[Number]) -> None:
    """Membership, intersection, emptiness and inclusion agree with the sets written out."""
    ones, others = set(one.elements()), set(other.elements())
    assert ones == {index for index in range(MAX_NODES) if index in one}
    assert set((one & other).elements()) == ones & others
    assert one.is_empty is (not ones)
    assert (one <= other) is (ones <= others)
    assert 1.5 not in one
