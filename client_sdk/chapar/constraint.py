"""Constraints: what a filter asks of one header element or attribute, in the one form that means it.

On the wire a conjunction is one flat list: name, operator and value of each constraint; header elements are numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgpack

from chapar.errors import FilterError, WireError, WireReason
from chapar.limits import INT64_MAX, INT64_MIN, MAX_CONSTRAINTS, MAX_SET_VALUES
from chapar.value import HEADER, Kind, Value, kind_of, name_fault, plain, value_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Op(IntEnum):
    """Operators; the numbers travel."""

    EQ = 1
    NE = 2
    LT = 3
    LE = 4
    GT = 5
    GE = 6
    IN = 7
    PREFIX = 8
    EXISTS = 9

    @property
    def text(self) -> str:
        return _TEXT[self]


_TEXT: Final = {
    Op.EQ: "=",
    Op.NE: "!=",
    Op.LT: "<",
    Op.LE: "<=",
    Op.GT: ">",
    Op.GE: ">=",
    Op.IN: "in",
    Op.PREFIX: "starts with",
    Op.EXISTS: "exists",
}
_ORDERING: Final = frozenset({Op.LT, Op.LE, Op.GT, Op.GE})


class Constraint(NamedTuple):
    """`name op value`. The value is a tuple for IN and None for EXISTS.

    Python holds True equal to 1, so compare constraints by `sort_key`, not by `==`.
    """

    name: str
    op: Op
    value: Value | tuple[Value, ...] | None = None


SortKey = tuple[int, str, int, tuple[tuple[Kind, Value], ...]]


def sort_key(constraint: Constraint) -> SortKey:
    """Header elements first, then attributes by name; equal for equal constraints only."""
    name, op, value = constraint
    rank = HEADER.index(name) if name in HEADER else len(HEADER)
    values = () if value is None else value if isinstance(value, tuple) else (value,)
    return rank, name, op, tuple((kind_of(each), each) for each in values)


def canonical(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints of a conjunction, each in canonical form, in canonical order, once."""
    checked = {sort_key(each): each for each in (checked_constraint(*constraint) for constraint in constraints)}
    if len(checked) > MAX_CONSTRAINTS:
        raise FilterError(f"{len(checked)} constraints are more than {MAX_CONSTRAINTS}: use in (…), or several filters")
    return tuple(checked[key] for key in sorted(checked))


def checked_constraint(name: str, op: Op, value: object = None) -> Constraint:
    """One constraint in canonical form: `in` with a single value is `=`, and a number that is whole an integer."""
    if not isinstance(name, str):
        raise FilterError(f"{name!r} is no attribute name: use a string")
    if not isinstance(op, Op):
        raise FilterError(f"{name}: {op!r} is no operator: use one of Op")
    if name not in HEADER and (fault := name_fault(name)):
        raise FilterError(fault)
    if op is Op.EXISTS:
        if value is not None:
            raise FilterError(f"{name} exists takes no value")
        return Constraint(name, op)
    if op is Op.IN:
        return _checked_membership(name, value)
    operand = _checked_value(name, op, value)
    kind = kind_of(operand)
    if kind is Kind.BOOLEAN and op in _ORDERING:
        raise FilterError(f"{name} {op.text} {str(operand).lower()}: booleans have no order, use = or !=")
    if op is Op.PREFIX and kind is not Kind.STRING:
        raise FilterError(f"{name} starts with {str(operand).lower()}: only strings have a start, use = or quote it")
    return Constraint(name, op, operand)


def _checked_membership(name: str, value: object) -> Constraint:
    if isinstance(value, str) or not isinstance(value, (tuple, list, set, frozenset)):
        raise FilterError(f"{name} in takes several values: write in (1, 2)")
    values = {(kind_of(each), each): each for each in (_checked_value(name, Op.IN, each) for each in value)}
    if not values:
        raise FilterError(f"{name} in () holds for no event: write at least one value")
    if len(values) > MAX_SET_VALUES:
        raise FilterError(f"{name} in has {len(values)} values, more than {MAX_SET_VALUES}: use several filters")
    members = tuple(values[key] for key in sorted(values))
    return Constraint(name, Op.IN, members) if len(members) > 1 else Constraint(name, Op.EQ, members[0])


def _checked_value(name: str, op: Op, value: object) -> Value:
    value = plain(value)
    if value is None:
        raise FilterError(f"{name} {op.text} needs a value; to ask for any value, write {name} exists")
    if fault := value_fault(value):
        raise FilterError(f"{name} {op.text}: {fault}")
    if type(value) is float and value.is_integer() and INT64_MIN <= value <= INT64_MAX:
        return int(value)
    return cast("Value", value)


_OPS: Final = {int(op): op for op in Op}
_HEADER_NUMBER: Final = {name: number for number, name in enumerate(HEADER)}


def to_wire(constraints: Iterable[Constraint]) -> list[Any]:
    """Canonical constraints as they travel."""
    return [part for name, op, value in constraints for part in (_HEADER_NUMBER.get(name, name), int(op), value)]


def encode(constraints: Iterable[Constraint]) -> bytes:
    """Canonical constraints as bytes: equal for equal constraints only, since msgpack tells True from 1."""
    return cast("bytes", msgpack.packb(to_wire(constraints)))


def unpacked(encoded: bytes) -> tuple[Any, ...]:
    """What `encode` made bytes of: canonical constraints as they travel."""
    return cast("tuple[Any, ...]", msgpack.unpackb(encoded, use_list=False))


def decode(encoded: bytes) -> tuple[Constraint, ...]:
    """The canonical constraints that `encode` made bytes of."""
    parts = iter(unpacked(encoded))
    return tuple(
        Constraint(name if type(name) is str else HEADER[name], _OPS[op], value)
        for name, op, value in zip(parts, parts, parts, strict=True)
    )


def from_wire_untrusted(obj: object) -> tuple[Constraint, ...]:
    """The canonical constraints that a foreign list stands for. Raises WireError, and nothing else, if for none."""
    if not isinstance(obj, (list, tuple)) or len(obj) % 3:
        raise WireError(WireReason.SHAPE, "filter")
    if len(obj) > 3 * MAX_CONSTRAINTS:
        raise WireError(WireReason.OVERSIZED, "filter")
    foreign = [_foreign_constraint(obj[place : place + 3]) for place in range(0, len(obj), 3)]
    try:
        return canonical(foreign)
    except FilterError as error:
        raise WireError(WireReason.RANGE, str(error)) from None


def _foreign_constraint(parts: Sequence[Any]) -> Constraint:
    name, op, value = parts
    if type(name) is int:
        if not 0 <= name < len(HEADER):
            raise WireError(WireReason.RANGE, "header element")
        name = HEADER[name]
    if type(name) is not str or type(op) is not int:
        raise WireError(WireReason.TYPE, "constraint")
    if not Op.EQ <= op <= Op.EXISTS:
        raise WireError(WireReason.RANGE, "operator")
    return Constraint(name, Op(op), value)
