"""Constraints in the form in which they are evaluated.

A value satisfies a constraint if it is of a type that the comparison takes, and compares so with the operand. There is
one comparison for all constraints of the same operator and kind, so that the constraints of many filters take little
memory.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar.constraint import Op
from chapar.value import Kind, Value, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar.constraint import Constraint

SHORT_SET: Final = 8
"""Values of `in` that are found as fast in a tuple as in a set, which would be several times as large."""


class Comparison(NamedTuple):
    """What an operator asks of values of some types."""

    op: Op
    types: frozenset[type]
    """Exactly the types that a value may have."""
    holds: Callable[[Any, Any], bool]
    """Whether a value, of one of these types, stands in this relation to the operand."""


Operand = Value | tuple[Value, ...] | frozenset[Value] | None


def comparison_of(asked: Constraint) -> Comparison:
    """How a value under the constraint's name is compared with the operand."""
    _, op, value = asked
    if value is None:
        return _EXISTS
    if not isinstance(value, tuple):
        return _COMPARISONS[op, kind_of(value)]
    first, *others = {kind_of(each) for each in value}
    return _COMPARISONS[op, first] if not others else _IN_MIXED


def operand_of(asked: Constraint) -> Operand:
    """What values under the constraint's name are compared with."""
    value = asked.value
    if not isinstance(value, tuple) or len(value) <= SHORT_SET or comparison_of(asked) is _IN_MIXED:
        return value
    return frozenset(value)


def _is_in(value: Value, members: tuple[Value, ...] | frozenset[Value]) -> bool:
    return value in members


def _is_in_mixed(value: Value, members: tuple[Value, ...]) -> bool:
    # Python holds True equal to 1.
    return value in members and any(value == each and kind_of(value) is kind_of(each) for each in members)


_TYPES: Final = {
    Kind.NUMBER: frozenset({int, float}),
    Kind.STRING: frozenset({str}),
    Kind.BOOLEAN: frozenset({bool}),
}
_ANY_TYPE: Final = frozenset({int, float, str, bool})
_HOLDS: Final[dict[Op, Callable[[Any, Any], bool]]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
    Op.PREFIX: str.startswith,
    Op.IN: _is_in,
}
_COMPARISONS: Final = {(op, kind): Comparison(op, _TYPES[kind], _HOLDS[op]) for op in _HOLDS for kind in Kind}
_EXISTS: Final = Comparison(Op.EXISTS, _ANY_TYPE, operator.is_not)
_IN_MIXED: Final = Comparison(Op.IN, _ANY_TYPE, _is_in_mixed)
