"""The last losses of a node: which event which homes did not get, why, and when. For who asks where an event went.

The counters know every loss; this knows the latest by name, as many as `MOST_KEPT`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from chapard.core.effects import Drop, Loss, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chapar.event import EventId

COPIES: Final = frozenset({Reason.DUPLICATE, Reason.LOOP})
"""Reasons for which a copy of an event that is here was dropped."""
MOST_KEPT: Final = 1000
"""Losses that are remembered: some 200 kB."""


class Entry(NamedTuple):
    """One loss."""

    at: float
    event_id: EventId
    homes: tuple[int, ...]
    reason: str
    client: str | None


class Ledger:
    """Takes note of losses; the oldest make room for new ones."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._entries: deque[Entry] = deque(maxlen=MOST_KEPT)
        self.total = 0
        """Losses since the start: number `total` is the last one kept."""

    def note(self, effect: Loss | Drop, now: float) -> None:
        """Keep it, if it says which event was lost. A copy is none: the event is there."""
        if effect.event_id is None or effect.reason in COPIES:
            return
        homes = effect.homes.indexes() if isinstance(effect, Loss) else (self._index,)
        self._entries.append(Entry(now, effect.event_id, tuple(homes), str(effect.reason), effect.client))
        self.total += 1

    def __len__(self) -> int:
        return len(self._entries)

    def latest(self) -> Iterator[tuple[int, Entry]]:
        """Numbers and losses, the newest first."""
        return zip(range(self.total, 0, -1), reversed(self._entries), strict=False)
