"""Groups: the filters that ask for the same values under the same names, and what else they ask for.

Most groups are of one filter, which then needs no group (`matcher`). Those of a handful are short lists, whose filters
are compared with an event one by one; only larger ones have a `ContentIndex`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapard.core.match_content import ContentIndex

if TYPE_CHECKING:
    from chapard.core.match_bitmaps import Entry

FEW: Final = 16
"""Filters that are compared one by one, whatever names they use, as fast as an index finds the matching ones."""


class Group:
    """Several entries."""

    __slots__ = ("exact", "few", "index")

    def __init__(self) -> None:
        self.exact: Entry | None = None
        """The one that asks for nothing else."""
        self.few: list[Entry] = []
        """Those that do, while they are few;"""
        self.index: ContentIndex | None = None
        """those that do, when they have been more than a few."""

    def add(self, entry: Entry) -> None:
        if not entry.asked:
            assert self.exact is None, "another one says the same, and keeps something as asked for"
            self.exact = entry
        elif self.index is not None:
            self.index.add(entry)
        else:
            self.few.append(entry)
            if len(self.few) > FEW:
                self.index = ContentIndex()
                for each in self.few:
                    self.index.add(each)
                self.few = []

    def remove(self, entry: Entry) -> None:
        if self.exact is entry:
            self.exact = None
        elif self.index is not None:
            self.index.remove(entry)
            if self.index.is_empty():
                self.index = None
        else:
            self.few.remove(entry)

    def entries(self) -> list[Entry] | None:
        """Its entries, while they are few."""
        if self.index is not None:
            return None
        return self.few if self.exact is None else [self.exact, *self.few]
