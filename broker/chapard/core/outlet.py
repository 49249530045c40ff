"""Where the machines of one node leave their effects: in order, with everything counted since the node started."""

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
        self.drops: Counter[Reason] = Counter()
        self.losses: Counter[Reason] = Counter()
        self.published = 0
        """Events accepted from clients."""
        self.delivered = 0
        """Events handed to clients, each client counted."""

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def drop(
        self, reason: Reason, *, peer: int | None = None, client: str | None = None, event_id: EventId | None = None
    ) -> None:
        self.drops[reason] += 1
        self._effects.append(Drop(reason, peer, client, event_id))

    def lose(self, event_id: EventId, homes: NodeVector, reason: Reason, client: str | None = None) -> None:
        """Record that these homes (or this client of ours) do not get this event. An empty vector is no loss."""
        if homes.any():
            self.losses[reason] += 1
            self._effects.append(Loss(event_id, homes, reason, client))

    def drain(self) -> list[Effect]:
        drained, self._effects = self._effects, []
        return drained
