"""Perfect merges: one filter that matches an event exactly if one of several filters does.

Filters that ask for the same under all names but one are the filter that asks there for the union, if the union of
these regions can be asked for: a set of values, or a stretch of one kind with single values missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar.constraint import Constraint, Op
from chapar.errors import FilterError
from chapar.filter import Filter
from chapar.limits import MAX_SET_VALUES
from chapar.ordered_set import NUMBERS
from chapar.value import Kind
from chapard.core.match_region import EVERYTHING, is_set, regions_of, union_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.match_region import Cut, Region

    Regions = dict[str, Region]

_ALL_OF_KIND: Final = {
    Kind.NUMBER: (Op.GE, NUMBERS.bottom),
    Kind.STRING: (Op.GE, ""),
    Kind.BOOLEAN: (Op.IN, (False, True)),
}


def merged(filters: Iterable[Filter]) -> list[Filter]:
    """Filters that together match what these do: pairs are merged while there are any that can be.

    The same filters give the same mergers, in whatever order they come; what took no part in a merge stays as it is.
    """
    standing = sorted(set(filters), key=str)
    regions = {each: regions_of(each.constraints) for each in standing}
    before = len(standing) + 1
    while len(standing) < before:
        before = len(standing)
        for name in sorted({name for each in standing for name in regions[each]}):
            standing = _merged_under(name, standing, regions)
    return standing


def _merged_under(name: str, filters: list[Filter], regions: dict[Filter, Regions]) -> list[Filter]:
    """Merge the filters that differ under `name` only."""
    alike: dict[object, list[Filter]] = {}
    for each in filters:
        asked = regions[each]
        rest = frozenset((other, region) for other, region in asked.items() if other != name)
        alike.setdefault(rest if name in asked else each, []).append(each)
    return [each for group in alike.values() for each in _folded(name, group, regions)]


def _folded(name: str, group: list[Filter], regions: dict[Filter, Regions]) -> list[Filter]:
    """Merge filters that differ under `name` only, in the order of their regions, in which neighbours can meet."""
    done: list[Filter] = []
    for each in sorted(group, key=lambda member: regions[member][name]) if len(group) > 1 else group:
        union = _joined(done[-1], each, name, regions) if done else None
        if union is None:
            done.append(each)
        else:
            done[-1] = union
    return done


def _joined(one: Filter, other: Filter, name: str, regions: dict[Filter, Regions]) -> Filter | None:
    region = union_of(regions[one][name], regions[other][name])
    asked = constraints_for(name, region)
    if asked is None:
        return None
    try:
        union = Filter.of([*(each for each in one.constraints if each.name != name), *asked])
    except FilterError:  # too large
        return None
    regions[union] = {**regions[one], name: region}
    return union


def constraints_for(name: str, region: Region) -> list[Constraint] | None:
    """Constraints that hold exactly for the values of a region that is not empty; None if no conjunction does."""
    if region == EVERYTHING:
        return [Constraint(name, Op.EXISTS)]
    if is_set(region):
        values = tuple(cut[1] for cut in region[::2])
        return [Constraint(name, Op.IN, values)] if len(values) <= MAX_SET_VALUES else None
    low, *inner, high = region
    kind = low[0]
    holes = list(zip(inner[::2], inner[1::2], strict=True))
    if not _is_within(kind, high) or any(before[:2] != after[:2] for before, after in holes):
        return None
    asked = [Constraint(name, Op.NE, before[1]) for before, _ in holes]
    if len(low) > 1:
        asked.append(Constraint(name, Op.GT if low[2] else Op.GE, low[1]))
    if len(high) > 1:
        asked.append(Constraint(name, Op.LE if high[2] else Op.LT, high[1]))
    return asked or [Constraint(name, *_ALL_OF_KIND[Kind(kind)])]


def _is_within(kind: int, high: Cut) -> bool:
    """Whether a stretch that begins in this kind and ends at `high` holds nothing of another kind."""
    return high[0] == kind or high == (kind + 1,)
