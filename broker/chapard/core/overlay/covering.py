"""Covering-based routing: what a filter already sent covers is not sent, and is withdrawn if it was (1.4.2, 2.5.3).

When a sent filter goes, what it alone had hidden is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.overlay.cover_index import CoverIndex
from chapard.core.overlay.forwarding import Prompt
from chapard.core.overlay.interest import NOTHING, Delta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapard.core.overlay.interest import Interest


class Covering(Prompt):
    def __init__(self) -> None:
        self._sent = CoverIndex()
        self._hidden = CoverIndex()
        self.sent: Mapping[Interest, None] = self._sent.members

    def __contains__(self, interest: Interest) -> bool:
        return interest in self._sent or interest in self._hidden

    def __len__(self) -> int:
        return len(self._sent) + len(self._hidden)

    def gained(self, interest: Interest) -> Delta:
        if self._sent.covers(interest):
            self._hidden.add(interest)
            return NOTHING
        covered = tuple(self._sent.covered_by(interest))
        for each in covered:
            self._sent.remove(each)
            self._hidden.add(each)
        self._sent.add(interest)
        return Delta((interest,), covered)

    def lost(self, interest: Interest) -> Delta:
        if interest in self._hidden:
            self._hidden.remove(interest)
            return NOTHING
        self._sent.remove(interest)
        bared = self._hidden.covered_by(interest)
        for each in bared:
            self._hidden.remove(each)
            self.gained(each)
        return Delta(tuple(each for each in bared if each in self._sent), (interest,))
