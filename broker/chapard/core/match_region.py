"""Regions: the values that the constraints of a filter admit under one name, as cuts on one line.

All values lie on one line: numbers, then strings, then booleans, each kind in its own order. A *cut* is a place
between two neighbouring values: `(kind, value, 0)` just before a value, `(kind, value, 1)` just after it, `(kind,)`
before all values of a kind. Cuts are tuples and compare as such, so `bisect` finds a value's place among them.

A *region* is an ascending tuple of cuts: the line is outside before the first cut, and each cut changes sides. So
`x > 5` is `((1, 5, 1), (2,))`, `x != 5` is `((1,), (1, 5, 0), (1, 5, 1), (2,))`, a prefix is the stretch between two
strings, a set is a pair of cuts around each of its values, and `exists` is the whole line. The constraints on one name
make the intersection of their regions; the empty region admits nothing.

The *position* of a value is the cut just before it: a region admits the value if it has an odd number of cuts up to
there. The *element* of a value is its key where equality is asked for: the value itself, but for a boolean its
position, since Python holds True equal to 1.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, cast

from chapar.constraint import Op
from chapar.ordered_set import after_prefix
from chapar.value import KIND_OF_TYPE, Kind, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.check import Operand

Cut = tuple[Any, ...]
"""(kind,) or (kind, value, 0 or 1)."""
Region = tuple[Cut, ...]
Element = int | float | str | Cut

KIND_CUTS: Final[Region] = tuple((kind,) for kind in range(min(Kind), max(Kind) + 2))
"""The cuts between kinds, with the two ends of the line."""
_KIND: Final = {type_: int(kind) for type_, kind in KIND_OF_TYPE.items()}
EVERYTHING: Final[Region] = (KIND_CUTS[0], KIND_CUTS[-1])


def element_of(value: Value) -> Element:
    """The key of a value: equal to another's exactly if kind and value are."""
    return position_of(value) if value is True or value is False else value


def position_of(element: Element) -> Cut:
    """The cut just before a value, which is given by itself or by its element."""
    return element if element.__class__ is tuple else (_KIND[element.__class__], element, 0)


def admits(region: Region, position: Cut) -> bool:
    """Whether the region holds the value at `position`."""
    return bisect_right(region, position) & 1 == 1


def regions_of(constraints: Iterable[tuple[str, Op, Operand]]) -> dict[str, Region]:
    """The region of each name that the canonical constraints of one filter ask for."""
    regions: dict[str, Region] = {}
    for name, op, operand in constraints:
        region = _region(op, operand)
        regions[name] = _intersection(regions[name], region) if name in regions else region
    return regions


def only_element(region: Region) -> Element | None:
    """The element of the only value in the region; None if it holds several, or none."""
    if len(region) != 2 or not is_set(region):
        return None
    low, _ = region
    return low if low[0] == Kind.BOOLEAN else cast("Element", low[1])


def is_set(region: Region) -> bool:
    """Whether the region is a finite set of values, whose positions are then `region[::2]`."""
    return all(low[:2] == high[:2] for low, high in zip(region[::2], region[1::2], strict=True))


def _region(op: Op, value: Operand) -> Region:
    if value is None:
        return EVERYTHING
    if isinstance(value, (tuple, frozenset)):
        return tuple(cut for low in sorted(map(position_of, value)) for cut in (low, (*low[:2], 1)))
    before = position_of(value)
    kind = before[0]
    first, after, end = KIND_CUTS[kind - 1], (kind, value, 1), KIND_CUTS[kind]
    match op:
        case Op.EQ:
            return before, after
        case Op.NE:
            return first, before, after, end
        case Op.LT:
            return first, before
        case Op.LE:
            return first, after
        case Op.GT:
            return after, end
        case Op.GE:
            return before, end
        case Op.PREFIX:
            following = after_prefix(str(value))
            return before, end if following is None else (kind, following, 0)
    raise AssertionError(f"{op.name} takes a set of values, or none")


def _intersection(one: Region, other: Region) -> Region:
    return _where(one, other, lambda cut: admits(one, cut) and admits(other, cut))


def union_of(one: Region, other: Region) -> Region:
    """The region of the values that one of two regions holds."""
    return _where(one, other, lambda cut: admits(one, cut) or admits(other, cut))


def _where(one: Region, other: Region, holds: Callable[[Cut], bool]) -> Region:
    """The region of the places, told apart by the cuts of two regions, where something holds."""
    cuts: list[Cut] = []
    for cut in sorted({*one, *other}):
        if holds(cut) != len(cuts) & 1:
            cuts.append(cut)
    return tuple(cuts)
