"""Filters: conjunctions of constraints on header elements and attributes of events.

A constraint holds only if the attribute is present and of the same kind (number, string, boolean) as the value, for
`!=` too; `exists` holds for any kind. Filters are values: canonical, immutable, hashable, and equal exactly if their
canonical constraints are.

A broker holds filters by the hundred thousand, and evaluates hardly any of them one by one. So a filter is kept as its
encoding, from which the rest is made when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from chapar import constraint, valueset
from chapar.check import comparison_of, operand_of
from chapar.constraint import Constraint, Op
from chapar.errors import FilterError, WireError, WireReason
from chapar.filter_id import filter_id
from chapar.filter_text import parse, to_text
from chapar.limits import MAX_FILTER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.event import Event
    from chapar.valueset import ValueSet

__all__ = ["Constraint", "Filter", "Op"]

Check = tuple[str, frozenset[type], "Callable[[Any, Any], bool]", Any]
"""Attribute name, types its value may have, comparison of the value with the operand."""


class Filter:
    """One filter. Build it with keywords, which ask for equality, and `where`, in the filter language."""

    __slots__ = ("_checks", "_encoded", "_fid", "_sets")

    _encoded: bytes
    _checks: tuple[Check, ...] | None
    _fid: bytes | None
    _sets: dict[str, ValueSet] | None

    def __init__(
        self,
        *,
        subject: str | None = None,
        type: str | None = None,  # noqa: A002 - the report's name of the element
        sender: int | None = None,
        group: str | None = None,
        where: str = "",
    ) -> None:
        constraints = parse(where) if where else []
        for name, text in (("subject", subject), ("type", type), ("group", group)):
            if text is not None:
                if not isinstance(text, str):
                    raise FilterError(f"{name} is {text!r}: it holds a string")
                constraints.append(Constraint(name, Op.EQ, text))
        if sender is not None:
            if isinstance(sender, bool) or not isinstance(sender, int):
                raise FilterError(f"sender is {sender!r}: it holds the index of a node, an integer")
            constraints.append(Constraint("sender", Op.EQ, sender))
        self._set(_encoded(constraints))

    @classmethod
    def of(cls, constraints: Iterable[Constraint]) -> Self:
        """The filter that asks for all of `constraints`."""
        return cls._made(_encoded(constraints))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The filter that `text` asks for, in the filter language (`chapar.filter_text`); `*` asks for every event."""
        return cls.of(parse(text))

    @classmethod
    def _made(cls, encoded: bytes) -> Self:
        made = cls.__new__(cls)
        made._set(encoded)  # noqa: SLF001 - the second half of this constructor
        return made

    def _set(self, encoded: bytes) -> None:
        set_ = object.__setattr__
        set_(self, "_encoded", encoded)
        set_(self, "_checks", None)
        set_(self, "_fid", None)
        set_(self, "_sets", None)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"filters are immutable: cannot set {name}")

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The canonical constraints."""
        return constraint.decode(self._encoded)

    @property
    def fid(self) -> bytes:
        """The filter id: five big-endian 32-bit hashes (report 3.1)."""
        fid = self._fid
        if fid is None:
            fid = filter_id(self.constraints)
            object.__setattr__(self, "_fid", fid)
        return fid

    def matches(self, event: Event) -> bool:
        """Whether `event` satisfies every constraint."""
        checks = self._checks
        if checks is None:
            checks = tuple(map(_check, self.constraints))
            object.__setattr__(self, "_checks", checks)
        value_of = event.value
        for name, types, compare, operand in checks:
            value = value_of(name)
            if value.__class__ not in types or not compare(value, operand):
                return False
        return True

    @property
    def satisfiable(self) -> bool:
        """Whether any event can match."""
        return valueset.is_satisfiable(self._value_sets())

    def covers(self, other: Filter) -> bool:
        """Whether every event that matches `other` matches this filter too. Exact, contradictions included."""
        return valueset.covers(self._value_sets(), other._value_sets())

    def overlaps(self, other: Filter) -> bool:
        """Whether some event matches both filters. Exact."""
        return valueset.overlaps(self._value_sets(), other._value_sets())

    def _value_sets(self) -> dict[str, ValueSet]:
        sets = self._sets
        if sets is None:
            sets = valueset.value_sets(self.constraints)
            object.__setattr__(self, "_sets", sets)
        return sets

    def to_wire(self) -> list[Any]:
        """Name, operator and value of each constraint in one flat list; header elements travel as their number."""
        return list(constraint.unpacked(self._encoded))

    @classmethod
    def from_wire_untrusted(cls, obj: object) -> Self:
        """The filter that a foreign list stands for. Raises WireError, and nothing else, if it stands for none."""
        encoded = constraint.encode(constraint.from_wire_untrusted(obj))
        if len(encoded) > MAX_FILTER_BYTES:
            raise WireError(WireReason.OVERSIZED, "filter")
        return cls._made(encoded)

    def __eq__(self, other: object) -> bool:
        return self._encoded == other._encoded if isinstance(other, Filter) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._encoded)

    def __str__(self) -> str:
        return to_text(self.constraints)

    def __repr__(self) -> str:
        return f"Filter.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.of, (self.constraints,)


def _encoded(constraints: Iterable[Constraint]) -> bytes:
    """The encoding of our caller's constraints in canonical form, which is what filters are compared by."""
    encoded = constraint.encode(constraint.canonical(constraints))
    if len(encoded) > MAX_FILTER_BYTES:
        raise FilterError(f"filter of {len(encoded)} bytes is larger than {MAX_FILTER_BYTES}: use several filters")
    return encoded


def _check(asked: Constraint) -> Check:
    """A constraint as `matches` evaluates it."""
    _, types, holds = comparison_of(asked)
    return asked.name, types, holds, operand_of(asked)
