"""The events of one subscription, as an application iterates over them.

The client puts what arrives into the subscription's inbox; iterating takes it out, and only what has been taken out by
every subscription that holds it is confirmed to the daemon. What is not confirmed stays with the daemon, which stops to
send once its window is full: a slow application slows its daemon's deliveries down, and loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol, Self

from chapar.errors import ClosedError
from chapar.session import Arrival

if TYPE_CHECKING:
    from types import TracebackType

    from chapar.errors import ChaparError
    from chapar.event import Event
    from chapar.filter import Filter

STRETCH: Final = 256
"""Events handed out before the other tasks of the loop have their turn."""


class Inbox:
    """What has arrived for one subscription and was not handed to the application yet."""

    __slots__ = ("buffer", "fault", "filter", "is_ended", "keep", "limit", "number", "waiters")

    def __init__(self, filter: Filter, *, limit: int, keep: bool | None = None) -> None:  # noqa: A002 - the field's own noun
        self.filter = filter
        self.limit = limit
        self.keep = keep
        """Whether the subscription outlives whoever iterates over it."""
        self.number = 0
        """The subscription's number in the session."""
        self.buffer: deque[Arrival] = deque()
        self.waiters: list[asyncio.Future[None]] = []
        self.is_ended = False
        self.fault: ChaparError | None = None
        """Why it has ended, if the application did not ask for it."""

    @property
    def is_full(self) -> bool:
        return len(self.buffer) >= self.limit

    def offer(self, arrivals: list[Arrival]) -> list[Arrival]:
        """Take what the filter asks for; returns the rest."""
        matches = self.filter.matches
        wanted = [arrival for arrival in arrivals if matches(arrival[1])]
        self.buffer += wanted
        self.wake()
        return [] if len(wanted) == len(arrivals) else [each for each in arrivals if not matches(each.event)]

    def wake(self) -> None:
        """Whoever waits for an event looks again."""
        if self.waiters:
            for waiter in self.waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self.waiters.clear()

    def renumber(self) -> None:
        """The daemon was restarted: the numbers that events arrived under mean nothing to it any more."""
        held = [Arrival(0, event) for _, event in self.buffer]
        self.buffer.clear()
        self.buffer += held

    def end(self, fault: ChaparError | None = None) -> None:
        """Nothing more is handed out."""
        self.is_ended, self.fault = True, fault
        self.buffer.clear()
        self.wake()


class Desk(Protocol):
    """Who serves subscriptions."""

    async def enter(self, inbox: Inbox) -> None: ...
    def leave(self, inbox: Inbox) -> None: ...
    def handed(self, arrival: Arrival) -> None: ...


class Subscription:
    """An asynchronous iterator over the events that match a filter; made by `Client.subscribe`.

        async with client.subscribe(subject="position", where="speed > 2") as events:
            async for event in events:
                ...

    The subscription stands from entering the block to leaving it; of a client with a name that is left with it, it
    stands on. An event counts as delivered when it was handed out; what was not handed out before the client is closed
    comes again when a client of the same name subscribes again.
    A cancelled wait for the next event loses nothing.
    """

    __slots__ = ("_buffer", "_desk", "_handed", "_in_a_row", "_inbox")

    def __init__(self, desk: Desk, inbox: Inbox) -> None:
        self._desk = desk
        self._inbox = inbox
        self._buffer = inbox.buffer
        self._handed = desk.handed
        self._in_a_row = 0

    @property
    def filter(self) -> Filter:
        """What it asks for."""
        return self._inbox.filter

    def __len__(self) -> int:
        """Events that have arrived and wait to be handed out."""
        return len(self._buffer)

    def __bool__(self) -> bool:
        return True

    async def __aenter__(self) -> Self:
        await self._desk.enter(self._inbox)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the subscription, and every iteration over it."""
        if not self._inbox.is_ended:
            self._desk.leave(self._inbox)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._buffer or self._in_a_row >= STRETCH:
            await self._ready()
        self._in_a_row += 1
        arrival = self._buffer.popleft()
        self._handed(arrival)
        return arrival[1]

    async def _ready(self) -> None:
        """Wait until there is an event to hand out, and at least for the other tasks to have their turn."""
        self._in_a_row = 0
        if self._buffer:
            await asyncio.sleep(0)
        inbox = self._inbox
        if not inbox.number:
            raise ClosedError("the subscription does not stand yet: iterate inside its `async with` block")
        while not self._buffer:
            if inbox.fault is not None:
                raise inbox.fault
            if inbox.is_ended:
                raise StopAsyncIteration
            waiter = asyncio.get_running_loop().create_future()
            inbox.waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in inbox.waiters:  # it was cancelled
                    inbox.waiters.remove(waiter)
