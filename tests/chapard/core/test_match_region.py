"""Regions say exactly which values the constraints on a name admit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op
from chapar.event import Event
from chapar.filter import Filter
from chapard.core.match_region import (
    EVERYTHING,
    admits,
    element_of,
    is_set,
    only_element,
    position_of,
    regions_of,
)
from strategies.values import constraints_on, values

if TYPE_CHECKING:
    from chapar.value import Value


@given(st.lists(constraints_on("a"), min_size=1, max_size=4), values)
def test_a_region_admits_what_the_constraints_do(constraints: list[Constraint], value: Value) -> None:
    """A value is in the region of a name exactly if a filter with those constraints matches an event that has it."""
    asked = Filter.of(constraints)
    region = regions_of(asked.constraints)["a"]
    assert admits(region, position_of(element_of(value))) == asked.matches(Event(attributes={"a": value}))


@given(st.lists(constraints_on("a"), min_size=1, max_size=4))
def test_a_region_is_an_ascending_even_number_of_cuts(constraints: list[Constraint]) -> None:
    """Whatever is intersected, a region enters and leaves in turn and ends outside."""
    region = regions_of(Filter.of(constraints).constraints)["a"]
    assert len(region) % 2 == 0
    assert all(low < high for low, high in pairwise(region))


@given(values, values)
def test_elements_are_equal_exactly_if_kind_and_value_are(one: Value, other: Value) -> None:
    """1 and 1.0 are one element; 1 and True, which Python holds equal, are two."""
    alike = one == other and isinstance(one, bool) == isinstance(other, bool)
    assert (element_of(one) == element_of(other)) == alike
    if alike:
        assert hash(element_of(one)) == hash(element_of(other))


@given(values)
def test_the_only_element_of_an_equality_is_that_of_its_value(value: Value) -> None:
    """`=`, however it is put, leaves one element; what admits several, or nothing, has no only element."""
    (asked,) = Filter.of([Constraint("a", Op.EQ, value)]).constraints
    assert only_element(regions_of([asked])["a"]) == element_of(value)
    different = [asked, Constraint("a", Op.NE, asked.value)]
    assert regions_of(different)["a"] == ()
    assert only_element(()) is None
    assert only_element(EVERYTHING) is None


def test_an_equality_in_other_words_is_one() -> None:
    """`x >= 5 and x <= 5` asks for equality, and `x in (4, 5) and x > 4` does."""
    for text in ("x >= 5 and x <= 5", "x in (4, 5) and x > 4", "x = 5 and x exists"):
        assert only_element(regions_of(Filter.parse(text).constraints)["x"]) == 5


def test_sets_are_told_from_ranges() -> None:
    """A region of single values is a set, whose positions are every other cut; a range is none."""
    region = regions_of(Filter.parse('x in (1, 2.5, "a", true)').constraints)["x"]
    assert is_set(region)
    values_in_order: tuple[Value, ...] = (1, 2.5, "a", True)
    assert list(region[::2]) == [position_of(value) for value in values_in_order]
    for text in ("x > 1", "x != 1", 'x starts with "a"', "x exists", "x >= 1 and x < 2", "x != true"):
        assert not is_set(regions_of(Filter.parse(text).constraints)["x"])
