"""How fast a client takes what its home has for it: how long events waited, and how long it spends on one.

A client asks for the next event when it is done with the last. While more waits for it, from one acknowledgement to
the next is therefore the time that it spends on an event, less the time that it was OFF. Which events those are does
not depend on how long they take: the next was there before they were begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chapard.core.effects import AcknowledgementRow

ROW_EVERY: Final = 1.0
"""Seconds; a row sums up what was acknowledged since the last one."""


@dataclass(slots=True)
class Uptake:
    """Of one client, since the last row."""

    events: int = 0
    waited: float = 0.0
    """Seconds, of all of them, from their arrival at the home."""
    served: int = 0
    """Of these, how many it took after one that it is known to have begun with more waiting; in `busy` seconds."""
    busy: float = 0.0
    _since: float | None = None
    """When it began an event with more waiting."""
    _is_cut: bool = False
    """It was OFF before that was done."""
    _reported: float = 0.0

    def taken(self, events: int, waited: float, now: float, *, more: bool) -> bool:
        """It has acknowledged events, and there is `more` for it; whether a row is due."""
        self.events += events
        self.waited += waited
        if self._since is not None:
            self.served += events
            self.busy += now - self._since
        self._since = now if more else None
        return now >= self._reported + ROW_EVERY

    def gone_on(self, now: float) -> None:
        if self._is_cut:
            self._since, self._is_cut = now, False

    def gone_off(self, now: float) -> None:
        if self._since is not None:
            self.busy += now - self._since
            self._since, self._is_cut = None, True

    def row(self, client: str, now: float) -> AcknowledgementRow:
        """What has come together; it is counted anew from here."""
        row = AcknowledgementRow(client, self.events, round(1e6 * self.waited), self.served, round(1e6 * self.busy))
        self.events, self.waited, self.served, self.busy, self._reported = 0, 0.0, 0, 0.0, now
        return row
