"""Merging-based routing: filters that together are one filter are sent as that one, after gathering (1.4.2).

Only perfect merges are made, so that a merger admits what one of its parts admits and nothing else. What is new waits
to be gathered with others. A merger is withdrawn at once with the last of its parts; while some of them remain it
stands until the next gathering is over, when it is made again of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.overlay.cover_index import CoverIndex
from chapard.core.overlay.forwarding import Plain
from chapard.core.overlay.interest import NOTHING, Delta, Interest
from chapard.core.overlay.perfect_merge import merged

if TYPE_CHECKING:
    from collections.abc import Iterable


class Merging(Plain):
    def __init__(self) -> None:
        self.sent: dict[Interest, None] = {}
        self.unsettled = False
        self._parts = CoverIndex()

    def __contains__(self, interest: Interest) -> bool:
        return interest in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def gained(self, interest: Interest) -> Delta:
        self._parts.add(interest)
        self.unsettled = True
        return NOTHING

    def lost(self, interest: Interest) -> Delta:
        self._parts.remove(interest)
        self.unsettled = True
        alone = tuple(
            each for each in self.sent if each.filter.covers(interest.filter) and not self._parts.covered_by(each)
        )
        for each in alone:
            del self.sent[each]
        return Delta(gone=alone)

    def settle(self) -> Delta:
        self.unsettled = False
        filters = merged(each.filter for each in widest(self._parts.members))
        mergers = widest(map(Interest, filters))
        new = tuple(each for each in mergers if each not in self.sent)
        gone = tuple(each for each in self.sent if each not in mergers)
        self.sent = mergers
        return Delta(new, gone)


def widest(interests: Iterable[Interest]) -> dict[Interest, None]:
    """Those that no other covers; of two that cover each other, one."""
    index = CoverIndex()
    for interest in sorted(interests, key=lambda each: str(each.filter)):
        if not index.covers(interest):
            for narrower in index.covered_by(interest):
                index.remove(narrower)
            index.add(interest)
    return index.members
