"""Sets of admissible values: the exact algebra behind `covers`, `overlaps` and `satisfiable`.

All constraints on one attribute reduce to one set over numbers ∪ strings ∪ booleans. Attributes are independent and an
event has room for all that a filter can ask for, so questions about filters become questions about these sets, one
attribute at a time, and the answers are sound and complete. `type`, `subject` and `group` hold strings only, `sender`
node indexes only. An event that no home has stamped yet has no sender, so `sender exists` does ask for something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from chapar.constraint import Constraint, Op
from chapar.ordered_set import NUMBERS, SENDERS, STRINGS, Domain, Number, OrderedSet, T, after_prefix
from chapar.value import STRING_HEADER, Kind, Value, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NO_NUMBER: Final[OrderedSet[Number]] = OrderedSet.only(NUMBERS, ())
_NO_STRING: Final[OrderedSet[str]] = OrderedSet.only(STRINGS, ())
_BOOLEANS: Final = frozenset({True, False})
_NO_BOOLEAN: Final = frozenset[bool]()


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Values one attribute may have, kind by kind."""

    numbers: OrderedSet[Number] = _NO_NUMBER
    strings: OrderedSet[str] = _NO_STRING
    booleans: frozenset[bool] = _NO_BOOLEAN

    @property
    def is_empty(self) -> bool:
        return not self.booleans and self.numbers.is_empty and self.strings.is_empty

    def __contains__(self, value: Value) -> bool:
        if isinstance(value, bool):
            return value in self.booleans
        return value in self.strings if isinstance(value, str) else value in self.numbers

    def __and__(self, other: ValueSet) -> ValueSet:
        return ValueSet(self.numbers & other.numbers, self.strings & other.strings, self.booleans & other.booleans)

    def __le__(self, other: ValueSet) -> bool:
        return self.booleans <= other.booleans and self.numbers <= other.numbers and self.strings <= other.strings


def value_sets(constraints: Iterable[Constraint]) -> dict[str, ValueSet]:
    """The admissible values of every attribute that a conjunction constrains."""
    sets: dict[str, ValueSet] = {}
    for constraint in constraints:
        name = constraint.name
        admitted = admitted_values(constraint)
        sets[name] = sets[name] & admitted if name in sets else admitted
    return sets


def is_satisfiable(sets: Mapping[str, ValueSet]) -> bool:
    """Whether some event matches."""
    return not any(admitted.is_empty for admitted in sets.values())


def covers(wide: Mapping[str, ValueSet], narrow: Mapping[str, ValueSet]) -> bool:
    """Whether every event that matches `narrow` matches `wide`."""
    if all(name in narrow and narrow[name] <= admitted for name, admitted in wide.items()):
        return True
    return not is_satisfiable(narrow)


def overlaps(one: Mapping[str, ValueSet], other: Mapping[str, ValueSet]) -> bool:
    """Whether some event matches both."""
    both = {**one, **other, **{name: one[name] & other[name] for name in one if name in other}}
    return is_satisfiable(both)


def universe(name: str) -> ValueSet:
    """Every value that events can hold under `name`."""
    if name == "sender":
        return ValueSet(numbers=OrderedSet.everything(SENDERS))
    strings = OrderedSet.everything(STRINGS)
    if name in STRING_HEADER:
        return ValueSet(strings=strings)
    return ValueSet(OrderedSet.everything(NUMBERS), strings, _BOOLEANS)


def admitted_values(constraint: Constraint) -> ValueSet:
    """The values that satisfy one constraint."""
    name, op, value = constraint
    everything = universe(name)
    if value is None:
        return everything
    if isinstance(value, tuple) or op is Op.EQ:
        return everything & _exactly(value if isinstance(value, tuple) else (value,), everything.numbers.domain)
    if isinstance(value, bool):
        return everything & ValueSet(booleans=_BOOLEANS - {value})
    if isinstance(value, str):
        return everything & ValueSet(strings=_compared(STRINGS, op, value))
    return everything & ValueSet(numbers=_compared(everything.numbers.domain, op, value))


def _exactly(values: tuple[Value, ...], numbers: Domain[Number]) -> ValueSet:
    by_kind: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    for value in values:
        by_kind[kind_of(value)].append(value)
    return ValueSet(
        OrderedSet.only(numbers, by_kind[Kind.NUMBER]),
        OrderedSet.only(STRINGS, by_kind[Kind.STRING]),
        frozenset(by_kind[Kind.BOOLEAN]),
    )


def _compared(domain: Domain[T], op: Op, value: T) -> OrderedSet[T]:
    """The elements of the domain that stand in relation `op` to `value`."""
    between = OrderedSet.between
    match op:
        case Op.NE:
            return OrderedSet.all_but(domain, value)
        case Op.LT:
            return between(domain, domain.bottom, domain.at_least(value))
        case Op.LE:
            return between(domain, domain.bottom, domain.above(value))
        case Op.GT:
            return between(domain, domain.above(value), None)
        case Op.GE:
            return between(domain, domain.at_least(value), None)
        case Op.PREFIX:
            assert isinstance(value, str), "constraints are checked"
            return between(domain, value, after_prefix(value))
    raise AssertionError(f"{op.name} compares no order")
