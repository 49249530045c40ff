"""Identity-based routing: of equal filters one is sent, and it is withdrawn with the last of them (1.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.overlay.forwarding import Prompt
from chapard.core.overlay.interest import Delta

if TYPE_CHECKING:
    from chapard.core.overlay.interest import Interest


class Identity(Prompt):
    def __init__(self) -> None:
        self.sent: dict[Interest, None] = {}

    def __contains__(self, interest: Interest) -> bool:
        return interest in self.sent

    def __len__(self) -> int:
        return len(self.sent)

    def gained(self, interest: Interest) -> Delta:
        self.sent[interest] = None
        return Delta(new=(interest,))

    def lost(self, interest: Interest) -> Delta:
        del self.sent[interest]
        return Delta(gone=(interest,))
