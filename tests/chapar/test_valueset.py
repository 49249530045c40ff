"""Value sets agree, value by value, with what filters match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op, canonical
from chapar.event import Event
from chapar.filter import Filter
from chapar.limits import MAX_NODES
from chapar.valueset import ValueSet, admitted_values, is_satisfiable, universe, value_sets
from strategies.values import constraints_on, numbers, strings, values

if TYPE_CHECKING:
    from chapar.value import Value


@given(constraints_on("a"), values)
@settings(max_examples=300)
def test_a_set_admits_exactly_what_matches(constraint: Constraint, value: Value) -> None:
    """A value is in the set of a constraint if and only if an event with that value satisfies it."""
    (canonical_,) = canonical([constraint])
    assert (value in admitted_values(canonical_)) is Filter.of([constraint]).matches(Event(attributes={"a": value}))


@given(st.one_of(*map(constraints_on, ("subject", "type", "group"))), strings)
def test_header_strings_admit_exactly_what_matches(constraint: Constraint, text: str) -> None:
    """The same holds for the header elements that are strings."""
    (canonical_,) = canonical([constraint])
    event = Event(subject=text, type=text, group=text)
    assert (text in admitted_values(canonical_)) is Filter.of([constraint]).matches(event)


@given(constraints_on("sender"), st.integers(0, MAX_NODES - 1))
def test_senders_admit_exactly_what_matches(constraint: Constraint, index: int) -> None:
    """The same holds for the sender, a node index."""
    (canonical_,) = canonical([constraint])
    assert (index in admitted_values(canonical_)) is Filter.of([constraint]).matches(Event(sender=index))


@pytest.mark.parametrize(
    ("name", "held", "not_held"),
    [
        ("a", (1, 1.5, "x", True), ()),
        ("subject", ("x", ""), (1, True)),
        ("type", ("x", ""), (1, False)),
        ("group", ("x", ""), (1.5, True)),
        ("sender", (0, MAX_NODES - 1), (-1, MAX_NODES, 0.5, "0", False, True)),
    ],
)
def test_header_elements_are_typed(name: str, held: tuple[Value, ...], not_held: tuple[Value, ...]) -> None:
    """Strings for three of them, node indexes for the sender, anything for an attribute."""
    assert all(value in universe(name) for value in held)
    assert not any(value in universe(name) for value in not_held)


def test_truth_is_no_number() -> None:
    """The set of 1 holds no True, and the set of True no 1."""
    one, true = (admitted_values(Constraint("a", Op.EQ, value)) for value in (1, True))
    assert (1 in one, True in one, 1 in true, True in true) == (True, False, False, True)
    assert (one & true).is_empty
    assert not one <= true


@given(
    st.lists(constraints_on("a", st.sampled_from((1, 2, 3)), st.sampled_from("abc")), min_size=1, max_size=4), values
)
def test_constraints_on_one_attribute_intersect(asked: list[Constraint], value: Value) -> None:
    """The set of a conjunction holds what all its constraints admit."""
    checked = canonical(asked)
    assert (value in value_sets(checked)["a"]) is all(value in admitted_values(each) for each in checked)


@given(st.lists(constraints_on("a", numbers, strings), min_size=1, max_size=3))
def test_a_conjunction_is_satisfiable_if_its_set_is_not_empty(asked: list[Constraint]) -> None:
    """Emptiness is decided kind by kind."""
    sets = value_sets(canonical(asked))
    kinds = sets["a"].numbers.is_empty, sets["a"].strings.is_empty, not sets["a"].booleans
    assert is_satisfiable(sets) is not all(kinds)


def test_nothing_is_in_the_empty_set() -> None:
    """The empty set is part of every set."""
    assert ValueSet().is_empty
    assert ValueSet() <= ValueSet()
    assert ValueSet() <= universe("a")
    assert not universe("a") <= ValueSet()
