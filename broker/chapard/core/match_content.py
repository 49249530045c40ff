"""Filters by what they ask for beyond equality: popular names go through bitmaps, rare ones through short lists.

Bitmaps (`match_bitmaps`) serve names that many filters constrain. A name that few constrain would cost an operation in
every lookup and memory for every filter, and there can be any number of such names. So a filter with a rare name is
kept outside, in the *bucket* of one of its rare names, and is compared only with events that have an attribute of
that name. A bucket that grows beyond 1/256 of the slots of the bitmaps (but at least 32) makes its name popular; a
popular name that is constrained by less than a quarter of that becomes rare again. A small index is therefore a few
short lists, and has no bitmaps at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapard.core.match_bitmaps import BitmapIndex, Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar.value import Value
    from chapard.core.match_region import Cut
    from chapard.core.nodevector import NodeVector

LARGEST_BUCKET: Final = 32
"""Filters that are compared one by one as fast as bitmaps would find the matching ones."""
BUCKET_SHARE: Final = 256
"""Of so many filters in the bitmaps, one more in a bucket: comparing them costs about as much as the bitmaps do."""


class ContentIndex:
    """Entries by what they ask for. Every entry asks for something."""

    __slots__ = ("_bitmaps", "_buckets")

    def __init__(self) -> None:
        self._buckets: dict[str, dict[Entry, None]] = {}
        """Entries with a rare name, under one of their rare names."""
        self._bitmaps: BitmapIndex | None = None
        """Entries whose names are all popular; its attributes are the popular names."""

    def is_empty(self) -> bool:
        return not self._buckets and not self._bitmaps

    def add(self, entry: Entry) -> None:
        capacity = self._capacity()
        self._place([entry])
        if self._bitmaps is not None and self._capacity() > capacity:
            self._close_rare(list(self._bitmaps.attributes))

    def remove(self, entry: Entry) -> None:
        names = entry.names()
        if entry.slot < 0:
            name = next(name for name in names if entry in self._buckets.get(name, ()))
            bucket = self._buckets[name]
            del bucket[entry]
            if not bucket:
                del self._buckets[name]
        else:
            assert self._bitmaps is not None, "the entry has a slot in them"
            self._bitmaps.remove(entry)
        self._close_rare(names)

    def hold(self, entry: Entry, node: int) -> None:
        """Note that `node` holds the entry, too."""
        if self._bitmaps is not None and entry.slot >= 0:
            self._bitmaps.hold(entry, node)

    def release(self, entry: Entry, node: int) -> None:
        """Note that `node` holds the entry no more."""
        if self._bitmaps is not None and entry.slot >= 0:
            self._bitmaps.release(entry, node)

    def match(self, values: Mapping[str, Value], positions: Mapping[str, Cut], found: list[NodeVector]) -> None:
        """Append to `found` node vectors whose union is that of all entries that admit the event.

        It is given twice, by name: as values, and as their positions.
        """
        if self._buckets:
            value_of = values.get
            for name in values:
                if name in self._buckets:
                    found += [entry.vector for entry in self._buckets[name] if entry.admits(value_of)]
        if self._bitmaps is not None:
            self._bitmaps.match(values, positions, found)

    def compact(self) -> None:
        """Give back memory after many entries have gone."""
        self._buckets = dict(self._buckets)

    def _capacity(self) -> int:
        return 0 if self._bitmaps is None else self._bitmaps.capacity

    def _largest_bucket(self) -> int:
        return max(LARGEST_BUCKET, self._capacity() // BUCKET_SHARE)

    def _place(self, waiting: list[Entry]) -> None:
        """Put entries where they belong. A bucket that overflows joins them, so that nothing is called in turn."""
        while waiting:
            entry = waiting.pop()
            popular = {} if self._bitmaps is None else self._bitmaps.attributes
            rare = [name for name in entry.names() if name not in popular]
            if self._bitmaps is not None and not rare:
                self._bitmaps.add(entry)
                continue
            name = min(rare, key=lambda name: len(self._buckets.get(name, ())))
            bucket = self._buckets.setdefault(name, {})
            bucket[entry] = None
            if len(bucket) > self._largest_bucket():
                self._bitmaps = self._bitmaps if self._bitmaps is not None else BitmapIndex()
                self._bitmaps.open(name)
                waiting.extend(self._buckets.pop(name))

    def _close_rare(self, names: list[str]) -> None:
        """Make those of the popular names rare that too few filters constrain."""
        bitmaps = self._bitmaps
        if bitmaps is None:
            return
        few = self._largest_bucket() // 4
        waiting: list[Entry] = []
        for name in names:
            if name in bitmaps.attributes and bitmaps.attributes[name].count < few:
                for entry in bitmaps.constraining(name):
                    bitmaps.remove(entry)
                    waiting.append(entry)
                bitmaps.close(name)
        if not bitmaps.attributes:
            self._bitmaps = None
        self._place(waiting)
