"""Comparisons decide what the definition of the operators says, for values of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.check import SHORT_SET, comparison_of, operand_of
from chapar.constraint import Constraint, Op, canonical
from chapar.value import kind_of
from strategies.values import constraints, values

if TYPE_CHECKING:
    from chapar.value import Value


def holds(asked: Constraint, value: Value) -> bool:
    _, types, compare = comparison_of(asked)
    return type(value) in types and compare(value, operand_of(asked))


def defined(asked: Constraint, value: Value) -> bool:
    """The operators, word by word."""
    _, op, operand = asked
    if op is Op.EXISTS:
        return True
    members: tuple[Any, ...] = operand if isinstance(operand, tuple) else (operand,)
    same_kind: list[Any] = [each for each in members if kind_of(each) is kind_of(value)]
    held: Any = value
    match op:
        case Op.EQ | Op.IN:
            return held in same_kind
        case Op.NE:
            return bool(same_kind) and held not in same_kind
        case Op.LT:
            return any(held < each for each in same_kind)
        case Op.LE:
            return any(held <= each for each in same_kind)
        case Op.GT:
            return any(held > each for each in same_kind)
        case Op.GE:
            return any(held >= each for each in same_kind)
        case _:
            return any(held.startswith(each) for each in same_kind)


@given(constraints, st.data())
def test_a_comparison_does_what_the_operator_says(asked: Constraint, data: st.DataObject) -> None:
    """Any operator with any operand, for any value and for the operand's own."""
    (asked,) = canonical([asked])
    own = asked.value if isinstance(asked.value, tuple) else () if asked.value is None else (asked.value,)
    value = data.draw(values | st.sampled_from(own) if own else values)
    assert holds(asked, value) is defined(asked, value)


@pytest.mark.parametrize("value", [1, True, 0, False, "1", 1.0])
def test_one_and_true_are_told_apart_in_a_set(value: Value) -> None:
    """A set of both kinds has the one that it names, and not the other that Python holds equal."""
    one_or_false = value is False or (type(value) in (int, float) and value == 1)
    assert holds(Constraint("x", Op.IN, (1, "a", False)), value) is one_or_false
    assert holds(Constraint("x", Op.IN, (1, True)), value) is (value == 1)


def test_long_sets_of_one_kind_are_looked_up() -> None:
    """A short set stays the constraint's own tuple; a long one is hashed; a mixed one would lose 1 or True by that."""
    short = Constraint("x", Op.IN, tuple(range(SHORT_SET)))
    assert operand_of(short) is short.value
    long = Constraint("x", Op.IN, tuple(range(SHORT_SET + 1)))
    assert operand_of(long) == frozenset(range(SHORT_SET + 1))
    mixed = Constraint("x", Op.IN, (*range(SHORT_SET + 1), True))
    assert operand_of(mixed) is mixed.value
    assert holds(long, SHORT_SET)
    assert all(holds(mixed, each) for each in (True, 1, SHORT_SET))


def test_constraints_of_one_operator_and_kind_share_their_comparison() -> None:
    """What many filters ask for alike is there once."""
    assert comparison_of(Constraint("x", Op.GT, 1)) is comparison_of(Constraint("y", Op.GT, 2.5))
    assert comparison_of(Constraint("x", Op.GT, 1)) is not comparison_of(Constraint("x", Op.GT, "1"))
