"""Flooding: no interest leaves its broker; events go everywhere and are filtered at the edge (1.1.3)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from chapard.core.overlay.forwarding import Prompt
from chapard.core.overlay.interest import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapard.core.overlay.interest import Delta, Interest


class Flooding(Prompt):
    sent: Mapping[Interest, None] = MappingProxyType({})

    def __contains__(self, interest: Interest) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def gained(self, _interest: Interest) -> Delta:
        return NOTHING

    def lost(self, _interest: Interest) -> Delta:
        return NOTHING
