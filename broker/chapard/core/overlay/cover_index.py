"""An index of filters for two questions: does one of them cover this filter, and which of them does it cover?

A filter that covers another asks for nothing under a name that the other leaves open, and where it admits one value the
other admits that one only. So what a filter *demands* (names, and single values under names) is part of what each
filter that it covers demands. Only filters found by what follows from that are compared.

- To find who covers a filter, each is filed under one demand. One that demands no single value, but numbers between two
  bounds, is filed under the smallest *cell* that holds them: the cells of a size part the line of numbers, each size
  four times the one before. The cells in which the covered filter's numbers lie are few.
- To find whom a filter covers, each is filed under all its demands. Where the covering filter has bounds, the other's
  lower bound lies between them: those are found in an ascending list of lower bounds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar.value import Kind, kind_of
from chapar.valueset import value_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chapar.filter import Filter
    from chapar.ordered_set import OrderedSet, T
    from chapar.value import Value
    from chapar.valueset import ValueSet
    from chapard.core.overlay.interest import Interest

Demand = tuple[Any, ...]
"""A name, a name with the only value admitted under it, or a name with a cell; the empty demand is everybody's."""
CELLS: Final = tuple(4.0**power for power in range(-8, 16))
"""Sizes of cells: from far below what readings tell apart to far above what they reach. Division by them is exact."""


class Span(NamedTuple):
    """Between which values of one kind a filter's values under a name lie."""

    kind: Kind
    low: Any
    """The least value."""
    high: Any
    """The greatest value, or the least above all; None if there is none."""


class Shape(NamedTuple):
    """What the index asks a filter for."""

    demands: tuple[Demand, ...]
    """Single values first: fewer filters share these."""
    spans: dict[str, Span]
    """By name."""


def shape_of(filter_: Filter) -> Shape:
    values: list[Demand] = []
    names: list[Demand] = []
    spans: dict[str, Span] = {}
    for name, admitted in value_sets(filter_.constraints).items():
        names.append((name,))
        only = _only(admitted)
        if only is not None:
            values.append((name, kind_of(only), only))
        span = _span(admitted)
        if span is not None:
            spans[name] = span
    return Shape((*values, *names, ()), spans)


def _only(admitted: ValueSet) -> Value | None:
    """The only value admitted, or None."""
    values = chain(admitted.numbers.elements(), admitted.strings.elements(), admitted.booleans)
    found = list(islice(values, 2))
    return found[0] if len(found) == 1 else None


def _span(admitted: ValueSet) -> Span | None:
    """The span of values of one ordered kind; None if there are others, or none at all."""
    if admitted.booleans or admitted.numbers.is_empty == admitted.strings.is_empty:
        return None
    if not admitted.numbers.is_empty:
        return Span(Kind.NUMBER, *_ends(admitted.numbers))
    return Span(Kind.STRING, *_ends(admitted.strings))


def _ends(values: OrderedSet[T]) -> tuple[T, T | None]:
    return next(values.elements()), values.high if values.points is None else max(values.points)


def _may_cover(wide: Shape, narrow: Shape) -> bool:
    """Whether each least value of the narrower filter lies between the wider one's ends: cheap, and seldom so."""
    for name, span in wide.spans.items():
        inner = narrow.spans.get(name)
        if inner is None or inner.kind is not span.kind or inner.low < span.low:
            return False
        if span.high is not None and inner.low > span.high:
            return False
    return True


def _own_cell(name: str, span: Span) -> Demand | None:
    """The smallest cell that holds all numbers of a span."""
    if span.kind is Kind.NUMBER and span.high is not None:
        for size in CELLS:
            if span.low // size == span.high // size:
                return name, size, span.low // size
    return None


class CoverIndex:
    """Interests by their filters. One whose filter no event matches is covered by anything, even by an empty index."""

    def __init__(self) -> None:
        self.members: dict[Interest, None] = {}
        self._shapes: dict[Interest, tuple[Shape, int]] = {}
        """With a number that nobody else has."""
        self._filed: dict[Demand, dict[Interest, None]] = {}
        """Each under one demand, or its cell."""
        self._demanding: dict[Demand, dict[Interest, None]] = {}
        """Each under all its demands."""
        self._lows: dict[tuple[str, Kind], list[tuple[Any, int, Interest]]] = {}
        """Ascending lower bounds of the spans under a name."""
        self._numbers = count()

    def __contains__(self, interest: Interest) -> bool:
        return interest in self.members

    def __len__(self) -> int:
        return len(self.members)

    def add(self, interest: Interest) -> None:
        if interest in self.members:
            return
        shape, number = shape_of(interest.filter), next(self._numbers)
        self.members[interest] = None
        self._shapes[interest] = (shape, number)
        self._filed.setdefault(_file_of(shape), {})[interest] = None
        for demand in shape.demands:
            self._demanding.setdefault(demand, {})[interest] = None
        for name, span in shape.spans.items():
            insort(self._lows.setdefault((name, span.kind), []), (span.low, number, interest))

    def remove(self, interest: Interest) -> None:
        del self.members[interest]
        shape, number = self._shapes.pop(interest)
        _unfile(self._filed, _file_of(shape), interest)
        for demand in shape.demands:
            _unfile(self._demanding, demand, interest)
        for name, span in shape.spans.items():
            lows = self._lows[name, span.kind]
            del lows[bisect_left(lows, (span.low, number))]
            if not lows:
                del self._lows[name, span.kind]

    def covers(self, interest: Interest) -> bool:
        """Whether another member covers this filter."""
        return not interest.filter.satisfiable or any(True for _ in self.coverers(interest))

    def coverers(self, interest: Interest) -> Iterator[Interest]:
        """The other members that cover this filter, which some event matches."""
        shape = shape_of(interest.filter)
        for file in chain(shape.demands, _cells(shape)):
            for member in self._filed.get(file, ()):
                if member == interest or not _may_cover(self._shapes[member][0], shape):
                    continue
                if member.filter.covers(interest.filter):
                    yield member

    def covered_by(self, interest: Interest) -> list[Interest]:
        """The other members that this filter covers, but for such as no event matches."""
        shape = shape_of(interest.filter)
        return [
            each
            for each in self._perhaps_covered(shape)
            if _may_cover(shape, self._shapes[each][0]) and interest.filter.covers(each.filter) and each != interest
        ]

    def _perhaps_covered(self, shape: Shape) -> Sequence[Interest]:
        fewest = min((self._demanding.get(demand, {}) for demand in shape.demands), key=len)
        best, start, stop = None, 0, len(fewest)
        for name, span in shape.spans.items():
            lows = self._lows.get((name, span.kind), [])
            first = bisect_left(lows, (span.low,))
            end = len(lows) if span.high is None else bisect_right(lows, span.high, key=lambda entry: entry[0])
            if end - first < stop - start:
                best, start, stop = lows, first, end
        return list(fewest) if best is None else [member for _, _, member in best[start:stop]]


def _file_of(shape: Shape) -> Demand:
    """Where a filter is found by those that it may cover."""
    first = shape.demands[0]
    if len(first) != 1:
        return first
    cells = [cell for name, span in shape.spans.items() if (cell := _own_cell(name, span)) is not None]
    return min(cells, key=lambda cell: float(cell[1]), default=first)


def _cells(shape: Shape) -> Iterator[Demand]:
    """The cells of all sizes in which a filter's numbers begin."""
    for name, span in shape.spans.items():
        if span.kind is Kind.NUMBER and span.high is not None:
            for size in CELLS:
                yield name, size, span.low // size


def _unfile(files: dict[Demand, dict[Interest, None]], demand: Demand, interest: Interest) -> None:
    filed = files[demand]
    del filed[interest]
    if not filed:
        del files[demand]
