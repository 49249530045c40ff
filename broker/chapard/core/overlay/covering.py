"""Covering-based routing: what a filter already sent covers is not sent, and is withdrawn if it was (1.4.2, 2.5.3).

When a sent filter goes, what it alone had hidden is sent. In each period some of what is hidden is looked at once more,
so that nothing stays hidden that no sent filter covers, whatever has happened to these tables.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from chapard.core.overlay.cover_index import CoverIndex
from chapard.core.overlay.forwarding import Prompt
from chapard.core.overlay.interest import NOTHING, Delta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapard.core.overlay.interest import Interest


LOOKED_AT: Final = 64
"""Hidden filters looked at in each period: a broker with more takes several periods for all of them."""


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

    def settle(self) -> Delta:
        """What is hidden wrongly is sent. Those looked at go to the end of the line."""
        looked_at = tuple(islice(self._hidden.members, LOOKED_AT))
        bare = [each for each in looked_at if not self._sent.covers(each)]
        for each in looked_at:
            self._hidden.remove(each)
            self._hidden.add(each)
        gone: dict[Interest, None] = {}
        for each in bare:
            self._hidden.remove(each)
            gone.update(dict.fromkeys(self.gained(each).gone))
        new = tuple(each for each in bare if each in self._sent)
        return Delta(new, tuple(each for each in gone if each not in bare))
