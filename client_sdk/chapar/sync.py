"""The client for programs without an event loop: the same names, blocking.

    with chapar.sync.connect() as client:
        client.publish(subject="alarm", payload=b"fire", persistent=True).accepted()
        with client.subscribe(subject="order") as events:
            for event in events:
                ...

An event loop in a thread of its own does the work, so the connection stays alive while the program is busy elsewhere.
Any thread may call. Ctrl-C interrupts every wait, and loses no event: what was on its way to an interrupted `next` is
what the following one returns.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar

from chapar import client as asynchronous
from chapar.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping
    from types import TracebackType
    from typing import Any

    from chapar.event import Event, EventId, Value
    from chapar.filter import Filter
    from chapar.receipt import Confirmations
    from chapar.receipt import Receipt as AsyncReceipt
    from chapar.subscription import Subscription as AsyncSubscription

    T = TypeVar("T")


def connect(
    address: str | None = None,
    *,
    client_id: str | None = None,
    timeout: float | None = asynchronous.TIMEOUT,
    outgoing: int = asynchronous.OUTGOING,
) -> Client:
    """A client of the daemon at `address`, to be entered with `with`; takes what `chapar.connect` takes."""
    return Client(address, client_id=client_id, timeout=timeout, outgoing=outgoing)


class _StoppedError(ClosedError):
    """The thread that would do it is there no more."""


class _Runner:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.is_stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chapar", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if not self.is_stopped:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise _StoppedError("the client is closed")

    def run(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Wait for `work`. An interruption of the wait, by Ctrl-C for one, cancels it, and so does its end."""
        future = self.start(work)
        try:
            return future.result(timeout)
        except CancelledError:
            raise _StoppedError("the client was closed meanwhile") from None
        finally:
            future.cancel()

    def stop(self) -> None:
        """End the thread, and whatever still waits in it."""
        with self._lock:  # what was started before this is cancelled, and nothing is started after
            ended = asyncio.run_coroutine_threadsafe(_cancel_the_rest(), self._loop)
            self.is_stopped = True
        ended.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_the_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


class Client:
    """One session with the daemon of this node; see `chapar.connect`."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client_id: str | None = None,
        timeout: float | None = asynchronous.TIMEOUT,
        outgoing: int = asynchronous.OUTGOING,
    ) -> None:
        self._client = asynchronous.Client(address, client_id=client_id, timeout=timeout, outgoing=outgoing)
        self._runner: _Runner | None = None

    @property
    def client_id(self) -> str:
        """The name of the session; empty before the client is open if none was given."""
        return self._client.client_id

    @property
    def node(self) -> int:
        """Index of the daemon's node. Raises ClosedError if it has never answered."""
        return self._client.node

    @property
    def is_connected(self) -> bool:
        """Whether the daemon answers. If it does not, the client tries again by itself for as long as it is open."""
        return self._client.is_connected

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            try:
                runner.run(self._client.__aexit__(kind, error, trace))
            finally:
                runner.stop()

    def open(self) -> None:
        """Connect; what `with` does on entering."""
        if self._runner is not None:
            raise ClosedError("a client opens once: connect another")
        runner = _Runner()
        try:
            runner.run(self._client.open())
            self._runner = runner
        finally:
            if self._runner is None:
                runner.stop()

    def close(self, timeout: float | None = asynchronous.TIMEOUT) -> None:
        """Go OFF: wait until the daemon has all that was published, and has on its disk what was received.

        After `timeout` seconds the client goes without that, and raises EventLostError if events were not taken by a
        daemon.
        """
        runner, self._runner = self._runner, None
        if runner is not None:
            try:
                runner.run(self._client.close(timeout))
            finally:
                runner.stop()

    def publish(
        self,
        event: Event | None = None,
        /,
        *,
        subject: str | None = None,
        attributes: Mapping[str, Value] | None = None,
        payload: bytes = b"",
        type: str | None = None,  # noqa: A002 - the event's own noun
        group: str | None = None,
        to: Iterable[int] = (),
        lifetime: float = 0,
        persistent: bool = False,
    ) -> Receipt:
        """Publish an event, given whole or by what `Event` takes; it is on its way when this returns.

        Waits only while `outgoing` events have no receipt, in particular if the daemon is away.
        """
        runner = self._running()
        work = self._client.publish(
            event, subject=subject, attributes=attributes, payload=payload, type=type, group=group, to=to,
            lifetime=lifetime, persistent=persistent,
        )  # fmt: skip
        return Receipt(runner, runner.run(work))

    def subscribe(
        self,
        *,
        subject: str | None = None,
        type: str | None = None,  # noqa: A002 - the event's own noun
        group: str | None = None,
        sender: int | None = None,
        where: str = "",
        filter: Filter | None = None,  # noqa: A002 - the field's own noun
        buffer: int = asynchronous.BUFFER,
        keep: bool | None = None,
    ) -> Subscription:
        """The events that match, to be entered with `with` and iterated over; takes what `chapar.Client` takes."""
        made = self._client.subscribe(
            subject=subject, type=type, group=group, sender=sender, where=where, filter=filter, buffer=buffer, keep=keep
        )
        return Subscription(self._running(), made)

    def _running(self) -> _Runner:
        if self._runner is None:
            raise ClosedError("the client is not open: enter it with `with`")
        return self._runner


class Receipt:
    """The receipt of one publication; see `chapar.Receipt`."""

    def __init__(self, runner: _Runner, receipt: AsyncReceipt) -> None:
        self._runner = runner
        self._receipt = receipt

    @property
    def id(self) -> EventId | None:
        """The id under which the network knows the event; None until the home has it."""
        return self._receipt.id

    @property
    def is_accepted(self) -> bool:
        """Whether the home has the event."""
        return self._receipt.is_accepted

    def accepted(self, timeout: float | None = None) -> EventId:
        """Wait until the home has the event; its id. Raises TimeoutError after `timeout` seconds."""
        return self._runner.run(self._receipt.accepted(timeout))

    def confirmed(self, timeout: float | None = None) -> Confirmations:
        """Ask how many of the nodes that are to have the event have confirmed it; waits until the home has it."""
        return self._runner.run(self._receipt.confirmed(timeout))

    def __repr__(self) -> str:
        return repr(self._receipt)


class Subscription:
    """An iterator over the events that match a filter; see `chapar.Subscription`."""

    def __init__(self, runner: _Runner, subscription: AsyncSubscription) -> None:
        self._runner = runner
        self._subscription = subscription
        self._fetched: deque[Event] = deque()
        self._fetching = asyncio.Lock()

    @property
    def filter(self) -> Filter:
        """What it asks for."""
        return self._subscription.filter

    def __enter__(self) -> Self:
        self._runner.run(self._subscription.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the subscription, and every iteration over it."""
        with suppress(_StoppedError):  # then it has ended with its client
            self._runner.run(self._subscription.__aexit__(None, None, None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._take(None)
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: float | None = None) -> Event:
        """The next event. Raises TimeoutError after `timeout` seconds, ClosedError if there will be none."""
        try:
            event = self._take(timeout)
        except TimeoutError:
            raise TimeoutError(f"no event within {timeout} s") from None
        if event is None:
            raise ClosedError("the subscription has ended")
        return event

    def _take(self, timeout: float | None) -> Event | None:
        """The next event; None at the end."""
        while True:
            try:
                return self._fetched.popleft()
            except IndexError:
                pass
            try:
                if not self._runner.run(self._fetch(), timeout):
                    return None
            except _StoppedError:
                return None

    async def _fetch(self) -> bool:
        """See to it that there is an event to take; False at the end.

        It is put down in the thread of the loop, where nothing interrupts: an interrupted `next` leaves it to the
        following one.
        """
        async with self._fetching:
            if not self._fetched:
                try:
                    self._fetched.append(await self._subscription.__anext__())
                except StopAsyncIteration:
                    return False
        return True
