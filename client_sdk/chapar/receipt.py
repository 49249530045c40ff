"""What a publisher holds of an event it has published: whether the home has it, and who has confirmed it.

Nobody waits for most receipts, so one costs little until it is awaited: what became of the event is a single field, and
a future is made only for those who wait.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Protocol

from chapar.errors import ChaparError
from chapar.event_id import EventId, later
from chapar.session import Receipt as Accepted

if TYPE_CHECKING:
    from collections.abc import Generator


class Confirmations(NamedTuple):
    """Of the `wanted` nodes whose subscribers are to have an event, so many have `confirmed` that they have it."""

    wanted: int
    confirmed: int


class Inquirer(Protocol):
    """Who can ask the home about an event."""

    async def inquire(self, event_id: EventId) -> Confirmations: ...


class Receipt:
    """The receipt of one publication.

    Await it to know that the daemon has the event (for one with a lifetime, or a persistent one, on its disk):

        receipt = await client.publish(subject="alarm", persistent=True)
        event_id = await receipt
        wanted, confirmed = await receipt.confirmed()

    Raises PublishRefusedError if the daemon refuses the event, EventLostError if nobody can know what became of it, and
    ClosedError if the connection ended first.
    """

    __slots__ = ("_client", "_number", "_state")

    def __init__(self, client: Inquirer, number: int) -> None:
        self._client = client
        self._number = number
        self._state: Accepted | ChaparError | asyncio.Future[None] | None = None
        """The run of publications it was accepted with, or why it was not; before that, a future if someone waits."""

    @property
    def id(self) -> EventId | None:
        """The id under which the network knows the event; None until the home has it."""
        state = self._state
        return later(state.id, self._number - state.number) if isinstance(state, Accepted) else None

    @property
    def is_accepted(self) -> bool:
        """Whether the home has the event."""
        return isinstance(self._state, Accepted)

    def __await__(self) -> Generator[object, None, EventId]:
        return self.accepted().__await__()

    async def accepted(self, timeout: float | None = None) -> EventId:
        """Wait until the home has the event; its id. Raises TimeoutError after `timeout` seconds."""
        while (state := self._state) is None or isinstance(state, asyncio.Future):
            if state is None:
                state = self._state = asyncio.get_running_loop().create_future()
            async with asyncio.timeout(timeout):
                await asyncio.shield(state)  # others may wait for it too
        if isinstance(state, ChaparError):
            raise state
        return later(state.id, self._number - state.number)

    async def confirmed(self, timeout: float | None = None) -> Confirmations:
        """Ask how many of the nodes that are to have the event have confirmed it; waits until the home has it.

        Raises RefusedError if the home does not follow this event (real-time events are not followed) or no longer
        does, and TimeoutError after `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            return await self._client.inquire(await self.accepted())

    def settle(self, outcome: Accepted | ChaparError) -> None:
        """What became of the publication; for the client to tell."""
        waiting, self._state = self._state, outcome
        if isinstance(waiting, asyncio.Future) and not waiting.done():
            waiting.set_result(None)

    def __repr__(self) -> str:
        state = self._state
        if isinstance(state, Accepted):
            return f"<Receipt of event {self.id!r}>"
        return f"<Receipt: {state}>" if isinstance(state, ChaparError) else "<Receipt: waiting>"
