"""All subscriptions of one client: which events go where, and when each is confirmed to the daemon.

An event is confirmed when every subscription that it was put into has handed it to the application, or has ended. One
that no subscription wants is confirmed at once, with two exceptions, in which it waits for a subscription that does:

- a subscription that was left with `keep`, or of a named client a moment ago, had asked for it;
- the session is older than this client, and the application may not have come to subscribe again yet.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from chapar.errors import ChaparError, ClosedError, SubscribeRefusedError
from chapar.session import Arrival, Refused, Subscribed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chapar.event import Event, EventId
    from chapar.filter import Filter
    from chapar.session import ClientSession, Message
    from chapar.subscription import Inbox

LEAVE_TIME: Final = 0.1
"""Seconds after leaving a subscription in which a client that is left too takes it along, as nested blocks do."""
CLAIM_TIME: Final = 5.0
"""Seconds that an application has to subscribe again to what it was subscribed to when it was last connected."""


class Inboxes:
    """The inboxes of one client. `ask` waits for the answer to a numbered request; `flush_soon` has requests leave."""

    def __init__(
        self,
        session: ClientSession,
        flush_soon: Callable[[], None],
        ask: Callable[[int], Awaitable[Message]],
        claim_time: float = CLAIM_TIME,
    ) -> None:
        self._session = session
        self._flush_soon = flush_soon
        self._ask = ask
        self._claim_time = claim_time
        self._standing: dict[int, Inbox] = {}
        self._kept: dict[Filter, int] = {}
        """Subscriptions that stand though they were left, and their numbers."""
        self._leaving: dict[int, tuple[asyncio.TimerHandle, list[Arrival]]] = {}
        """Subscriptions that were left a moment ago, when each ends, and what it had not handed out."""
        self._shared: dict[EventId, int] = {}
        """Events that several inboxes hold, and how many still do."""
        self._unclaimed: list[Arrival] = []
        """What waits for a subscription. None of it is confirmed, so the daemon's window bounds it."""
        self._claim: asyncio.TimerHandle | None = None
        self._is_ended = False

    # Subscriptions

    async def enter(self, inbox: Inbox) -> None:
        """Have a subscription stand. Raises SubscribeRefusedError, ClosedError."""
        if inbox.is_ended or inbox.number:
            raise ClosedError("a subscription is entered once: subscribe again")
        kept = self._kept.pop(inbox.filter, 0)
        inbox.number = kept or self._session.subscribe(inbox.filter)
        self._standing[inbox.number] = inbox
        self._unclaimed = inbox.offer(self._unclaimed)
        if kept:
            return
        answer: Message | None = None
        try:
            answer = await self._ask(inbox.number)
        finally:
            if not isinstance(answer, Subscribed):
                self._leave(inbox, keep=False)
        if isinstance(answer, Refused):
            raise SubscribeRefusedError(answer.reason)

    def leave(self, inbox: Inbox) -> None:
        """Have a subscription end; one of a lasting session only if the client stays."""
        if inbox.keep is not None or not self._session.is_lasting:
            self._leave(inbox, keep=bool(inbox.keep))
        elif inbox.number in self._standing and inbox.number not in self._leaving:
            held = list(inbox.buffer)
            inbox.end()
            timer = asyncio.get_running_loop().call_later(LEAVE_TIME, self._left, inbox)
            self._leaving[inbox.number] = (timer, held)

    def _left(self, inbox: Inbox) -> None:
        _, held = self._leaving.pop(inbox.number)
        inbox.buffer.extend(held)
        self._leave(inbox, keep=False)

    def _leave(self, inbox: Inbox, *, keep: bool) -> None:
        if self._standing.pop(inbox.number, None) is None:
            return
        held = list(inbox.buffer)
        inbox.end()
        if keep and inbox.filter not in self._kept:
            self._kept[inbox.filter] = inbox.number
            self._unclaimed += held
        else:
            self._session.unsubscribe(inbox.number)
            for arrival in held:
                self.handed(arrival)
        self._flush_soon()

    def refused(self, number: int, reason: str) -> None:
        """A subscription that stood does not stand any more: the daemon was restarted, and will not have it."""
        inbox = self._standing.pop(number, None)
        if inbox is not None:
            inbox.end(SubscribeRefusedError(reason))
        self._kept = {filter_: each for filter_, each in self._kept.items() if each != number}

    def end(self, fault: ChaparError | None = None) -> None:
        """Nothing more is handed out, nor confirmed."""
        self._is_ended = True
        for number, inbox in self._standing.items():
            inbox.end(fault)
            if not (self._session.is_lasting if inbox.keep is None else inbox.keep):
                self._session.unsubscribe(number)
        self._standing.clear()
        for timer, _ in self._leaving.values():
            timer.cancel()
        self._leaving.clear()
        if self._claim is not None:
            self._claim.cancel()

    # Events

    @property
    def is_full(self) -> bool:
        """Whether an inbox has no room: what arrives now is left to the daemon to repeat."""
        return any(inbox.is_full for inbox in self._standing.values())

    def arrived(self, arrivals: list[Arrival]) -> None:
        """Put events into the inboxes of all subscriptions that match."""
        if self._is_ended:
            return
        rest = arrivals
        if len(self._standing) == 1:
            for inbox in self._standing.values():
                rest = inbox.offer(arrivals)
        elif self._standing:
            rest = self._spread(arrivals)
        for arrival in rest:
            if self._claim is not None or self._is_kept(arrival.event):
                self._unclaimed.append(arrival)
            else:
                self.handed(arrival)

    def _spread(self, arrivals: list[Arrival]) -> list[Arrival]:
        rest = []
        for arrival in arrivals:
            event = arrival.event
            takers = [inbox for inbox in self._standing.values() if inbox.filter.matches(event)]
            for inbox in takers:
                inbox.buffer.append(arrival)
            if not takers:
                rest.append(arrival)
            elif len(takers) > 1 and event.id is not None:
                self._shared[event.id] = len(takers)
        for inbox in self._standing.values():
            if inbox.buffer:
                inbox.wake()
        return rest

    def handed(self, arrival: Arrival) -> None:
        """An inbox does not hold this event any more."""
        number, event = arrival
        if self._shared and self._is_shared(event):
            return
        if number:
            self._session.consumed(number)
        elif event.id is not None:
            self._session.consumed_since(event.id)
        self._flush_soon()

    def _is_shared(self, event: Event) -> bool:
        """Whether another inbox still holds an event that one has handed out."""
        assert event.id is not None, "its home has stamped it"
        holders = self._shared.pop(event.id, 1) - 1
        if holders:
            self._shared[event.id] = holders
        return holders > 0

    def renumber(self) -> None:
        """The daemon was restarted: the numbers that events arrived under mean nothing to it any more."""
        for inbox in self._standing.values():
            inbox.renumber()
        self._unclaimed = [Arrival(0, event) for _, event in self._unclaimed]
        for number, (timer, held) in self._leaving.items():
            self._leaving[number] = (timer, [Arrival(0, event) for _, event in held])

    # Events of subscriptions that are no more, or not yet again

    def _is_kept(self, event: Event) -> bool:
        return any(filter_.matches(event) for filter_ in self._kept)

    def expect_claims(self) -> None:
        """The session had subscriptions before this client: give the application time to make them again."""
        self._claim = asyncio.get_running_loop().call_later(self._claim_time, self._claims_end)

    def _claims_end(self) -> None:
        self._claim = None
        unclaimed, self._unclaimed = self._unclaimed, []
        self.arrived(unclaimed)
