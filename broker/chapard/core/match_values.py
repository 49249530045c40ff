"""Which filters the value of one attribute excludes: two indexes from values to bitmaps over filters.

A bitmap has one bit per *slot*, the number of a filter in `match_bitmaps`. Both indexes answer a value by setting,
in a bitmap of failed slots, those slots of theirs that do not admit it. Slots they do not hold stay untouched.

`SetIndex` holds the slots that ask for one of a finite set of values: a dict from value to slots, exact.

`RangeIndex` holds all others (ranges, prefixes, `!=`, `exists`). It cuts the line of values (`match_region`) into bins.
In each bin it knows the slots that *miss* it, which admit no value there, and those in *doubt*, which admit some
values and not others; the rest admit all of it. Only the survivors in doubt are compared with the value one by one.
A bin in which too many slots are in doubt is split at the middle one of their cuts; the limit is about √E with E cuts
in all regions, so that bins and doubts both grow with the square root of the number of filters, up to MAX_BINS bins.
Bins are joined, where that leaves few slots in doubt, when there are MAX_BINS of them (filters that come in ascending
order leave many nearly empty ones behind), and when three quarters of the slots have gone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import isqrt
from typing import TYPE_CHECKING, Final

from bitarray import bitarray
from bitarray.util import count_xor

from chapard.core.match_region import KIND_CUTS, Cut, Region

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BINS: Final = 1024
"""Bins of one attribute: their memory is one bit per filter and bin."""
FEWEST_DOUBTS: Final = 16
"""Slots in doubt for which no bin is split: comparing them costs no more than the rest of a lookup."""
DENSE_SHARE: Final = 256
"""A list of more than one in so many slots takes more memory than a bitmap."""
SHORT_LIST: Final = 32
"""Slots for which a list is kept however few there are in all."""


def blank(capacity: int) -> bitarray:
    """A bitmap of so many zeros."""
    return bitarray(capacity, "little")


def fit(bits: bitarray, capacity: int) -> None:
    """Cut a bitmap off, or fill it up with zeros."""
    missing = capacity - len(bits)
    if missing > 0:
        bits.extend(blank(missing))
    else:
        del bits[capacity:]


class SetIndex:
    """Slots that admit a finite set of values. Cost: a lookup O(1) plus bitmap operations, a change O(values)."""

    __slots__ = ("_counts", "_dense", "_members", "_sparse")

    def __init__(self, capacity: int) -> None:
        self._members = blank(capacity)
        self._sparse: dict[Cut, list[int]] = {}
        """The slots that admit a value, by its position, as a list; or, if they are many, as a bitmap, in"""
        self._dense: dict[Cut, bitarray] = {}
        self._counts: dict[Cut, int] = {}
        """The number of bits in each dense bitmap."""

    def is_empty(self) -> bool:
        return not self._sparse and not self._dense

    def add(self, slot: int, region: Region) -> None:
        self._members[slot] = 1
        most = self._longest_list()
        for position in region[::2]:
            if position in self._dense:
                self._dense[position][slot] = 1
                self._counts[position] += 1
                continue
            slots = self._sparse.setdefault(position, [])
            slots.append(slot)
            if len(slots) > most:
                self._dense[position] = bits = blank(len(self._members))
                bits[self._sparse.pop(position)] = 1
                self._counts[position] = len(slots)

    def remove(self, slot: int, region: Region) -> None:
        self._members[slot] = 0
        few = self._longest_list() // 2
        for position in region[::2]:
            if position in self._dense:
                self._dense[position][slot] = 0
                self._counts[position] -= 1
                if self._counts[position] <= few:
                    self._sparse[position] = list(self._dense.pop(position).search(1))
                    del self._counts[position]
                continue
            slots = self._sparse[position]
            slots.remove(slot)
            if not slots:
                del self._sparse[position]

    def exclude(self, position: Cut, failed: bitarray) -> None:
        """Set in `failed` the slots that do not admit the value at `position`."""
        if slots := self._sparse.get(position):
            others = self._members.copy()
            others[slots] = 0
            failed |= others
        elif position in self._dense:
            failed |= self._members ^ self._dense[position]
        else:
            failed |= self._members

    def resize(self, capacity: int) -> None:
        fit(self._members, capacity)
        self._sparse = dict(self._sparse)  # which lets go of the memory of what was removed
        for bits in self._dense.values():
            fit(bits, capacity)

    def _longest_list(self) -> int:
        return max(SHORT_LIST, len(self._members) // DENSE_SHARE)


class RangeIndex:
    """Slots that admit stretches of the line. Cost with b bins: a lookup O(log b) plus one bitmap operation, and a
    comparison for each slot in doubt; a change O(b) bit writes, and now and then a split."""

    __slots__ = ("_cuts", "_doubt", "_ends", "_joined", "_max_bins", "_miss", "_peak", "_region_of", "_slots")

    def __init__(self, capacity: int, region_of: Callable[[int], Region], max_bins: int = MAX_BINS) -> None:
        self._region_of = region_of
        """From a slot to its region. It is not kept here: only a split needs those of the slots in one bin."""
        self._max_bins = max_bins
        bins = len(KIND_CUTS) - 1
        self._cuts = list(KIND_CUTS)
        """Bin i lies between cut i and cut i + 1."""
        self._miss = [blank(capacity) for _ in range(bins)]
        """For each bin, the slots that admit no value in it."""
        self._doubt: list[set[int]] = [set() for _ in range(bins)]
        """For each bin, the slots that admit some values in it and not others."""
        self._slots = 0
        """The number of slots."""
        self._ends = 0
        """The number of cuts in all regions."""
        self._peak = 0
        """The largest number of slots since bins were last joined."""
        self._joined = 0
        """The number of cuts in all regions when bins were last joined."""

    def is_empty(self) -> bool:
        return not self._slots

    def bins(self) -> int:
        return len(self._miss)

    def add(self, slot: int, region: Region) -> None:
        self._slots += 1
        self._ends += len(region)
        self._peak = max(self._peak, self._slots)
        missed, doubted = self._place(region)
        for stretch in missed:
            for bits in self._miss[stretch]:
                bits[slot] = 1
        most = self._most_doubts()
        for bin_ in reversed(doubted):
            doubt = self._doubt[bin_]
            doubt.add(slot)
            if len(doubt) > most and len(self._miss) < self._max_bins:
                self._split(bin_)
        if len(self._miss) >= self._max_bins and self._ends > 2 * self._joined:
            self._join()

    def remove(self, slot: int, region: Region) -> None:
        self._slots -= 1
        self._ends -= len(region)
        missed, doubted = self._place(region)
        for stretch in missed:
            for bits in self._miss[stretch]:
                bits[slot] = 0
        for bin_ in doubted:
            self._doubt[bin_].remove(slot)
        if self._slots < self._peak // 4:
            self._join()

    def exclude(self, position: Cut, failed: bitarray) -> set[int]:
        """Set in `failed` the slots that certainly do not admit the value at `position`; return those in doubt."""
        bin_ = bisect_right(self._cuts, position) - 1
        failed |= self._miss[bin_]
        return self._doubt[bin_]

    def resize(self, capacity: int) -> None:
        for bits in self._miss:
            fit(bits, capacity)

    def _most_doubts(self) -> int:
        # The last term is twice what each of all bins would have at most, so that joining frees some of them.
        return max(FEWEST_DOUBTS, isqrt(self._ends), 2 * self._ends // self._max_bins)

    def _place(self, region: Region) -> tuple[list[slice], list[int]]:
        """The bins that the region misses, and, ascending, those that it neither misses nor fills."""
        missed: list[slice] = []
        doubted: list[int] = []
        start, outside = 0, True
        for cut in region:
            place = bisect_left(self._cuts, cut)
            inside_bin = self._cuts[place] != cut
            if outside:
                missed.append(slice(start, place - inside_bin))
            if inside_bin and (not doubted or doubted[-1] != place - 1):
                doubted.append(place - 1)
            start, outside = place, not outside
        missed.append(slice(start, len(self._miss)))
        return missed, doubted

    def _split(self, bin_: int) -> None:
        low, high = self._cuts[bin_ : bin_ + 2]
        regions = {slot: self._region_of(slot) for slot in self._doubt[bin_]}
        inside = sorted(cut for region in regions.values() for cut in region if low < cut < high)
        middle = inside[len(inside) // 2]
        self._cuts.insert(bin_ + 1, middle)
        self._miss.insert(bin_ + 1, self._miss[bin_].copy())
        self._doubt[bin_ : bin_ + 1] = [set(), set()]
        for half, start, end in ((bin_, low, middle), (bin_ + 1, middle, high)):
            for slot, region in regions.items():
                before = bisect_right(region, start)
                if bisect_left(region, end) != before:
                    self._doubt[half].add(slot)
                elif not before & 1:
                    self._miss[half][slot] = 1

    def _join(self) -> None:
        """Join neighbouring bins while that leaves few slots in doubt."""
        self._peak, self._joined = self._slots, self._ends
        bin_, most = 0, self._most_doubts()
        while bin_ + 1 < len(self._miss):
            one, other = self._miss[bin_ : bin_ + 2]
            if count_xor(one, other) <= most:
                doubt = {*(one ^ other).search(1), *self._doubt[bin_], *self._doubt[bin_ + 1]}
                if len(doubt) <= most:
                    del self._cuts[bin_ + 1]
                    self._miss[bin_ : bin_ + 2] = [one & other]
                    self._doubt[bin_ : bin_ + 2] = [doubt]
                    continue
            bin_ += 1
