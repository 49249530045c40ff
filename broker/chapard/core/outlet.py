"""Where the machines of one node leave their effects: in order, with every drop and loss counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chapard.core.effects import Drop, Effect, Loss, Reason

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapard.core.nodevector import NodeVector


class Outlet:
    """The effects of one node since the last drain."""

    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self.counters: Counter[Reason] = Counter()
        """Drops and losses since the node started, by reason."""

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def drop(
        self, reason: Reason, *, peer: int | None = None, client: str | None = None, event_id: EventId | None = None
    ) -> None:
        self.counters[reason] += 1
        self._effects.append(Drop(reason, peer, client, event_id))

    def lose(self, event_id: EventId, homes: NodeVector, reason: Reason, client: str | None = None) -> None:
        """Record that these homes (or this client of ours) do not get this event. An empty vector is no loss."""
        if homes.any():
            self.counters[reason] += 1
            self._effects.append(Loss(event_id, homes, reason, client))

    def drain(self) -> list[Effect]:
        drained, self._effects = self._effects, []
        return drained
