"""The asyncio client: publish, subscribe, and stay connected.

    async with chapar.connect(client_id="rover-3") as client:
        await client.publish(subject="position", attributes={"lat": 52.1, "lon": 5.2}, lifetime=60)
        async with client.subscribe(subject="order") as events:
            async for event in events:
                ...

The protocol is in `chapar.session`, the socket in `chapar.connection`; here the session's numbers become what an
application holds: receipts, and iterators over events.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Final, Self

from chapar.connection import Connection
from chapar.endpoint import Endpoint
from chapar.errors import (
    ClosedError,
    ConnectRefusedError,
    EventError,
    EventLostError,
    NoDaemonError,
    PublishRefusedError,
    RefusedError,
    SessionTakenError,
)
from chapar.event import Delivery, Event
from chapar.filter import Filter
from chapar.inboxes import Inboxes
from chapar.limits import MAX_EVENT_BYTES, STAMP_BYTES
from chapar.receipt import Confirmations, Receipt
from chapar.session import (
    PUBLISH_WINDOW,
    TAKEN_OVER,
    ClientSession,
    Closed,
    Deliver,
    Goodbye,
    Message,
    Opened,
    Refused,
    Standing,
    Subscribed,
)
from chapar.session import Receipt as Accepted
from chapar.subscription import Inbox, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from chapar.event import EventId, Value

DAEMON: Final = Endpoint("127.0.0.1", 7700)
TIMEOUT: Final = 5.0
"""Seconds that connecting waits for the daemon, and closing for its last word."""
OUTGOING: Final = 4096
"""Events that wait for their receipts before publishing waits."""
BUFFER: Final = 1024
"""Events that wait in a subscription before no more are taken from the daemon: what a daemon has under way at most."""
HEADS_KEPT: Final = 256
"""Heads of events remembered for those who publish many alike."""

_serial = count(1)


def connect(
    address: str | None = None,
    *,
    client_id: str | None = None,
    timeout: float | None = TIMEOUT,
    outgoing: int = OUTGOING,
) -> Client:
    """A client of the daemon at `address`, to be entered with `async with`.

    - `address` is `host:port`, `[v6]:port` or a host alone; without it the variable CHAPAR_DAEMON counts, and then
      127.0.0.1:7700, where the daemon of this node listens.
    - `client_id` names the session, which outlives the connection: what a client of this name is subscribed to when it
      leaves is queued for it while it is away. Without a name it gets one of its own, which never returns.
    - Entering waits until the daemon answers, and raises NoDaemonError after `timeout` seconds; leaving waits as long
      for the daemon to have all that was published. None waits for ever.
    - `outgoing` events may wait for their receipts before `publish` waits.
    """
    return Client(address, client_id=client_id, timeout=timeout, outgoing=outgoing)


class Client:
    """One session with the daemon of this node; see `connect`. It belongs to one event loop."""

    def __init__(
        self,
        address: str | None = None,
        *,
        client_id: str | None = None,
        timeout: float | None = TIMEOUT,
        outgoing: int = OUTGOING,
    ) -> None:
        self._address = Endpoint.parse(address or os.environ.get("CHAPAR_DAEMON") or str(DAEMON), DAEMON.port)
        self._timeout = timeout
        self._outgoing = max(1, outgoing)
        self._session = ClientSession(client_id or "", lasting=client_id is not None)
        self._connection = Connection(self._session, self._address, self._received)
        self._inboxes = Inboxes(self._session, self._connection.flush_soon, self._answer)
        self._closed: ClosedError | None = ClosedError("the client is not open: enter it with `async with`")
        """Why nothing can be asked of it; None while it is open."""
        self._is_closing = False
        self._is_off = False
        self._lost = 0
        self._heads: dict[object, tuple[bytes, bool, int]] = {}
        self._receipts: dict[int, Receipt] = {}
        """Of the publications whose outcome is open."""
        self._publishers: deque[asyncio.Future[None]] = deque()
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._watchers: list[asyncio.Future[None]] = []
        self._refusal: str | None = None
        self._openings = 0
        self._life: tuple[int, int] | None = None
        """The daemon's incarnation and the session's epoch, within which deliveries are numbered."""

    @property
    def client_id(self) -> str:
        """The name of the session; empty before the client is open if none was given."""
        return self._session.client

    @property
    def node(self) -> int:
        """Index of the daemon's node. Raises ClosedError if it has never answered."""
        if self._session.node is None:
            raise ClosedError("the client was never open: enter it with `async with`")
        return self._session.node

    @property
    def is_connected(self) -> bool:
        """Whether the daemon answers. If it does not, the client tries again by itself for as long as it is open."""
        return self._session.is_on

    # Coming and going

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close(self._timeout)
        except EventLostError:
            if error is None:
                raise

    async def open(self) -> None:
        """Connect; what `async with` does on entering."""
        if self._openings or self._is_closing:
            raise ClosedError("a client opens once: connect another")
        self._session.client = self._session.client or _anonymous()
        self._refusal = None
        try:
            async with asyncio.timeout(self._timeout):
                await self._connection.open()
                await self._until(lambda: self._session.is_on or self._refusal is not None)
            if self._refusal is not None:
                raise ConnectRefusedError(self._refusal)
            self._closed = None
        except TimeoutError:
            raise NoDaemonError(str(self._address)) from None
        finally:
            if self._closed is not None:
                self._connection.close()

    async def close(self, timeout: float | None = TIMEOUT) -> None:
        """Go OFF: wait until the daemon has all that was published, and has on its disk what was received.

        Iterations over events end at once; what they did not hand out stays with the daemon. After `timeout` seconds
        the client goes without that, and raises EventLostError if events were not taken by a daemon.
        """
        if self._closed is not None:
            return
        self._closed, self._is_closing = ClosedError("the client is closed"), True
        self._inboxes.end()
        self._wake_publishers()
        try:
            async with asyncio.timeout(timeout):
                await self._until(lambda: self._is_off or not self._receipts)
                await self._go_off()
        except TimeoutError:
            pass
        finally:
            self._stop(self._closed)
        if self._lost:
            raise EventLostError(f"{self._lost} events were not taken by the daemon at {self._address} in time")

    async def _go_off(self) -> None:
        """Say Close until the daemon confirms it, and open the session again first if the daemon has forgotten it."""
        session = self._session
        while not self._is_off:
            await self._until(lambda: self._is_off or session.is_on)
            session.close(asyncio.get_running_loop().time())
            self._connection.flush()
            await self._until(lambda: self._is_off or session.is_on)

    def _closed_by_daemon(self) -> None:
        """The daemon has closed the session, and all that it had sent us before is here.

        If it was restarted, that may be events which it does not know we have: they are confirmed before we go.
        """
        if self._session.owes_acknowledgement:
            self._connection.lost()
        else:
            self._is_off = self._is_closing

    def _stop(self, reason: ClosedError) -> None:
        """The end, in whatever order: nobody who waits is left waiting."""
        self._closed, self._is_off = reason, True
        self._lost += len(self._receipts)
        self._connection.close()
        self._inboxes.end(reason if isinstance(reason, SessionTakenError) else None)
        self._wake_publishers()
        for receipt in self._receipts.values():
            receipt.settle(EventLostError(f"what became of this event is not known: {reason}"))
        self._receipts.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(reason)
        self._changed()

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds`, looked at again after every message that is no event."""
        while not holds():
            watcher = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            try:
                await watcher
            finally:
                if watcher in self._watchers:  # it was cancelled
                    self._watchers.remove(watcher)

    def _changed(self) -> None:
        for watcher in self._watchers:
            if not watcher.done():
                watcher.set_result(None)
        self._watchers.clear()

    # Publishing

    async def publish(
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

        Waits only while `outgoing` events have no receipt, in particular if the daemon is away. Await the receipt to
        know that the daemon has the event. Raises EventError for what no event can be, ClosedError.
        """
        if event is None and not attributes and not to and payload.__class__ is bytes:
            try:
                head, is_realtime, room = self._heads[subject, type, group, lifetime, persistent]
            except (KeyError, TypeError):  # new, or no event at all, which Event explains
                event = Event(
                    subject=subject, type=type, group=group, payload=payload, lifetime=lifetime, persistent=persistent
                )
                head, is_realtime, room = self._remember(event)
            if len(payload) > room:
                raise EventError(f"payload of {len(payload)} bytes is too large: send at most {room} in one event")
        else:
            if event is None:
                event = Event(
                    subject=subject, type=type, group=group, attributes=attributes, payload=payload, to=to,
                    lifetime=lifetime, persistent=persistent,
                )  # fmt: skip
            elif event.id is not None:
                raise EventError("this event was published before: build one with the same content instead")
            head, payload, is_realtime = event.head(), event.payload, event.delivery is Delivery.REALTIME
        if self._closed is not None or len(self._receipts) >= self._outgoing:
            await self._room()
        number = self._session.publish_head(head, payload, is_realtime=is_realtime)
        self._receipts[number] = receipt = Receipt(self, number)
        self._connection.queued(len(payload))
        return receipt

    def _remember(self, event: Event) -> tuple[bytes, bool, int]:
        """The head of an event without attributes and destinations, for the next one alike."""
        head = event.head()
        row = head, event.delivery is Delivery.REALTIME, MAX_EVENT_BYTES - STAMP_BYTES - len(head)
        if len(self._heads) >= HEADS_KEPT:
            self._heads.clear()
        persistent = event.delivery is Delivery.PERSISTENT
        self._heads[event.subject, event.type, event.group, event.lifetime_ms / 1000, persistent] = row
        return row

    async def _room(self) -> None:
        """Wait until the outgoing queue takes another event."""
        while self._closed is None and len(self._receipts) >= self._outgoing:
            waiter = asyncio.get_running_loop().create_future()
            self._publishers.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter in self._publishers:
                    self._publishers.remove(waiter)
                else:
                    self._wake_publishers()  # the room that was meant for this one is another's
                raise
        if self._closed is not None:
            raise self._closed

    def _wake_publishers(self) -> None:
        room = len(self._publishers) if self._closed is not None else self._outgoing - len(self._receipts)
        while room > 0 and self._publishers:
            waiter = self._publishers.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1

    async def inquire(self, event_id: EventId) -> Confirmations:
        """How many nodes have confirmed a memorised event that was published here; what `Receipt.confirmed` asks."""
        number = self._session.inquire(event_id)
        try:
            answer = await self._answer(number)
        finally:
            self._session.forget_inquiry(number)
        if isinstance(answer, Refused):
            raise RefusedError(answer.reason)
        assert isinstance(answer, Standing), "what an inquiry is answered with"
        return Confirmations(answer.wanted, answer.confirmed)

    async def _answer(self, number: int) -> Message:
        """What the daemon answers to request `number`, which leaves now."""
        if self._closed is not None:
            raise self._closed
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._connection.flush()
        try:
            return await answer
        finally:
            del self._answers[number]

    # Subscribing

    def subscribe(
        self,
        *,
        subject: str | None = None,
        type: str | None = None,  # noqa: A002 - the event's own noun
        group: str | None = None,
        sender: int | None = None,
        where: str = "",
        filter: Filter | None = None,  # noqa: A002 - the field's own noun
        buffer: int = BUFFER,
        keep: bool | None = None,
    ) -> Subscription:
        """The events that match, to be entered with `async with` and iterated over with `async for`.

        Say what to match by keywords, as `Filter` takes them, or with a whole `filter`. An event that several
        subscriptions match goes to each of them. A subscription that is not iterated over holds up the others of its
        client once about `buffer` events wait in it: the daemon keeps the rest.

        Leaving the block ends the subscription. Of a client with a name that is left at the same time, as nested blocks
        are, it stands: what matches is queued at the daemon until a client of this name subscribes to the same again.
        `keep=True` has it stand whenever the block is left, `keep=False` never.
        """
        if filter is None:
            filter = Filter(subject=subject, type=type, group=group, sender=sender, where=where)  # noqa: A001 - as above
        elif (subject, type, group, sender, where) != (None, None, None, None, ""):
            raise TypeError("give a whole filter, or what to make one of, not both")
        if keep and not self._session.is_lasting:
            raise ValueError("keep wants a client_id: a session without a name ends with its client")
        return Subscription(self._inboxes, Inbox(filter, limit=max(1, buffer), keep=keep))

    # What the daemon says

    def _received(self, message: Message, now: float) -> None:
        session = self._session
        if isinstance(message, Deliver):
            if not self._inboxes.is_full:
                self._inboxes.arrived(session.received(message, now))
            return
        if isinstance(message, Refused) and message.number == 0:
            self._session_refused(message, now)
        else:
            session.received(message, now)
        match message:
            case Accepted():
                self._accepted(message)
            case Opened():
                self._opened(message)
            case Refused(number, reason):
                self._refused(message, number, reason)
            case Subscribed(number) | Standing(number, _, _):
                self._answered(number, message)
            case Closed() if not session.is_on:
                self._closed_by_daemon()
            case Goodbye():
                self._connection.lost()
        self._changed()

    def _accepted(self, run: Accepted) -> None:
        receipts = self._receipts
        for number in range(run.number, run.number + min(run.length, PUBLISH_WINDOW)):
            receipt = receipts.pop(number, None)
            if receipt is not None:
                receipt.settle(run)
        self._wake_publishers()

    def _opened(self, opened: Opened) -> None:
        if not self._session.is_on:
            return
        life = opened.incarnation, opened.epoch
        if self._life is None and opened.subscriptions:
            self._inboxes.expect_claims()
        elif life != self._life:
            self._inboxes.renumber()
        self._openings += 1
        self._life = life
        for number in self._session.given_up:
            receipt = self._receipts.pop(number, None)
            if receipt is not None:
                receipt.settle(EventLostError("the daemon lost the session while this real-time event was on its way"))
        self._session.given_up.clear()
        self._wake_publishers()

    def _refused(self, message: Refused, number: int, reason: str) -> None:
        receipt = self._receipts.pop(number, None)
        if receipt is not None:
            receipt.settle(PublishRefusedError(reason))
            self._wake_publishers()
        elif not self._answered(number, message):
            self._inboxes.refused(number, reason)

    def _answered(self, number: int, message: Message) -> bool:
        """Whether someone waited for this answer."""
        answer = self._answers.get(number)
        if answer is not None and not answer.done():
            answer.set_result(message)
        return answer is not None

    def _session_refused(self, refusal: Refused, now: float) -> None:
        """The daemon does not know the session, does not want it, or has given it to another connection."""
        if not self._openings:
            self._refusal = refusal.reason
        elif TAKEN_OVER in refusal.reason:
            self._stop(SessionTakenError(self._session.client))
        elif self._is_closing and not self._session.is_on:
            self._connection.lost()  # it is opened again, and then closed in good order
        else:
            self._session.received(refusal, now)


def _anonymous() -> str:
    """A name that no other client has had, as far as anybody can remember."""
    now = asyncio.get_running_loop().time()
    return f"{socket.gethostname()[:64]}-{os.getpid()}-{round(1e6 * now):x}-{next(_serial)}"
