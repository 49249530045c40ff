"""Exact sets over ordered domains of values: numbers, strings and node indexes.

The domains are taken as they are, not as approximations by the reals or by dense text:

- numbers are the 64-bit integers and the finite doubles together, in one order: a finite set in which every element but
  the last has a next one (between 2^53 and 2^63 the integers are the finer of the two);
- strings are those of at most MAX_STRING characters, by code point, without surrogates: the next one of `s` is `s`
  followed by U+0000, and "starts with p" is the range from `p` up to the next string that does not start so;
- the `sender` of an event is a node index, hence an integer from 0 to MAX_NODES - 1.

So every bound can be written `low <= x < high`, and a range is empty exactly if stepping from `low` over its excluded
points, which are no more than a filter has constraints, reaches `high`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, inf, isinf, nextafter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from chapar.limits import INT64_MAX, INT64_MIN, MAX_NODES, MAX_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Number = int | float
T = TypeVar("T", int | float, str)


def next_number(number: Number) -> Number | None:
    """The least number above `number`, or None above the greatest double."""
    double = float(number)
    if double <= number:
        double = nextafter(double, inf)
    whole = max(floor(number) + 1, INT64_MIN)
    if whole <= INT64_MAX and whole <= double:
        return whole
    return None if isinf(double) else double


def next_string(text: str) -> str | None:
    """The least string above `text`, or None above the greatest."""
    return text + "\0" if len(text) < MAX_STRING else after_prefix(text)


def after_prefix(prefix: str) -> str | None:
    """The least string above every string that starts with `prefix`, or None if there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    following = "\ue000" if stem[-1] == "\ud7ff" else chr(ord(stem[-1]) + 1)
    return stem[:-1] + following


def _same(value: T) -> T | None:
    return value


def _sender_at_least(number: Number) -> Number | None:
    index = max(0, ceil(number))
    return index if index < MAX_NODES else None


def _sender_above(number: Number) -> Number | None:
    index = max(0, floor(number) + 1)
    return index if index < MAX_NODES else None


@dataclass(frozen=True, slots=True)
class Domain(Generic[T]):
    """An ordered set in which there is a least element at or above, and above, any value that is not too great."""

    bottom: T
    at_least: Callable[[T], T | None]
    above: Callable[[T], T | None]


NUMBERS: Final[Domain[Number]] = Domain(-sys.float_info.max, _same, next_number)
STRINGS: Final[Domain[str]] = Domain("", _same, next_string)
SENDERS: Final[Domain[Number]] = Domain(0, _sender_at_least, _sender_above)


@dataclass(frozen=True, slots=True)
class OrderedSet(Generic[T]):
    """Either exactly `points`, or the elements of the domain with `low <= x < high`, less the `excluded` ones.

    `high` is None where there is no upper bound. A set that is empty from the start is one without points.
    """

    domain: Domain[T]
    points: frozenset[T] | None = None
    low: T | None = None
    high: T | None = None
    excluded: frozenset[T] = frozenset()

    @classmethod
    def everything(cls, domain: Domain[T]) -> OrderedSet[T]:
        return cls(domain, low=domain.bottom)

    @classmethod
    def all_but(cls, domain: Domain[T], value: T) -> OrderedSet[T]:
        return cls(domain, low=domain.bottom, excluded=frozenset({value}))

    @classmethod
    def only(cls, domain: Domain[T], values: Iterable[T]) -> OrderedSet[T]:
        return cls(domain, points=frozenset(value for value in values if domain.at_least(value) == value))

    @classmethod
    def between(cls, domain: Domain[T], low: T | None, high: T | None) -> OrderedSet[T]:
        """From `low` to below `high`. A `low` of None lies above everything, a `high` of None bounds nothing."""
        return cls.only(domain, ()) if low is None else cls(domain, low=low, high=high)

    def __contains__(self, value: T) -> bool:
        if self.points is not None:
            return value in self.points
        return self._within(value) and self.domain.at_least(value) == value

    def _within(self, value: T) -> bool:
        low, high = self.low, self.high
        return low is not None and low <= value and (high is None or value < high) and value not in self.excluded

    def elements(self) -> Iterator[T]:
        """The elements in ascending order: take only as many as you need."""
        if self.points is not None:
            yield from sorted(self.points)
            return
        value = self.low
        while value is not None and (self.high is None or value < self.high):
            if value not in self.excluded:
                yield value
            value = self.domain.above(value)

    @property
    def is_empty(self) -> bool:
        return not self.points if self.points is not None else next(self.elements(), None) is None

    def __and__(self, other: OrderedSet[T]) -> OrderedSet[T]:
        if self.points is not None:
            return OrderedSet.only(self.domain, (value for value in self.points if value in other))
        if other.points is not None:
            return other & self
        assert self.low is not None, "a range begins somewhere"
        assert other.low is not None, "a range begins somewhere"
        highs = [high for high in (self.high, other.high) if high is not None]
        low, high = max(self.low, other.low), min(highs) if highs else None
        return OrderedSet(self.domain, low=low, high=high, excluded=self.excluded | other.excluded)

    def __le__(self, other: OrderedSet[T]) -> bool:
        """Whether every element is one of `other`."""
        if self.points is not None:
            return all(value in other for value in self.points)
        if other.points is not None:
            # One element more than `other` has cannot all be in it.
            return all(value in other for value in islice(self.elements(), len(other.points) + 1))
        return (
            not any(value in self for value in other.excluded)
            and self._misses_below(other.low)
            and self._misses_from(other.high)
        )

    def _misses_below(self, bound: T | None) -> bool:
        """Whether a range has no element below `bound`."""
        assert self.low is not None, "a range begins somewhere"
        assert bound is not None, "a range begins somewhere"
        return self.low >= bound or (OrderedSet(self.domain, low=self.low, high=bound) & self).is_empty

    def _misses_from(self, bound: T | None) -> bool:
        """Whether a range has no element at or above `bound`."""
        if bound is None or (self.high is not None and self.high <= bound):
            return True
        return (OrderedSet(self.domain, low=bound) & self).is_empty
