"""A daemon small enough to see through, on a real socket: sessions, receipts, deliveries and restarts, but no network.

    async with FakeDaemon() as daemon:
        async with chapar.connect(daemon.address) as client:
            ...

It runs in the event loop of the test. What a real daemon keeps on its disk survives `crash` and `start` in `_Session`;
what it does not keep is forgotten. Hooks (`is_mute`, `refuse`, `window`) let a test play a daemon that is ill.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Self

from chapar.event import Delivery, Event, EventId, event_id
from chapar.session import (
    Acknowledge,
    Close,
    Closed,
    Deliver,
    Goodbye,
    Inquire,
    Message,
    Open,
    Opened,
    Ping,
    Pong,
    Publish,
    Receipt,
    Refused,
    Request,
    Standing,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from chapar.wire.client import datagrams, decode_requests_untrusted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from chapar.filter import Filter

Peer = tuple[str, int]

NODE = 7


class Watch:
    """Lets a test wait for a condition, which is looked at whenever something has `changed`."""

    def __init__(self) -> None:
        self._watchers: list[asyncio.Future[None]] = []

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds`; the test fails if that takes too long."""
        async with asyncio.timeout(10):
            while not holds():
                watcher = asyncio.get_running_loop().create_future()
                self._watchers.append(watcher)
                await watcher

    def changed(self) -> None:
        for watcher in self._watchers:
            if not watcher.done():
                watcher.set_result(None)
        self._watchers.clear()


@dataclass
class _Session:
    client: str
    epoch: int
    peer: Peer | None = None
    """Where its client is, if it is ON."""
    subscriptions: dict[int, Filter] = field(default_factory=dict)
    queue: deque[tuple[int, bytes]] = field(default_factory=deque)
    """Deliveries that the client has not confirmed; those up to `sent` have left."""
    number: int = 0
    sent: int = 0
    published: int = 0
    ids: dict[int, EventId] = field(default_factory=dict)
    taken: set[EventId] = field(default_factory=set)


class FakeDaemon(Watch):
    """One daemon. `requests` holds all that clients asked for, `events` all that was published, in order."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__()
        self.requests: list[Request] = []
        self.events: list[Event] = []
        self.datagrams = 0
        self.is_mute = False
        """Whether it hears and answers nothing, as if it hung."""
        self.refuse: Callable[[Request], str | None] = lambda _: None
        """Why a request is not carried out."""
        self.window = 1024
        self.incarnation = 1
        self._host = host
        self._port = 0
        self._socket: socket.socket | None = None
        self._sessions: dict[str, _Session] = {}
        self._names: dict[Peer, str] = {}
        self._sequence = 0
        self._epochs = count(1)

    @property
    def address(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    # Life and death

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.crash()

    def start(self) -> None:
        """Come (back) to life, at the same address."""
        self._socket = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0)
        self._socket.bind((self._host, self._port))
        self._port = self._socket.getsockname()[1]
        asyncio.get_running_loop().add_reader(self._socket, self._readable)

    def crash(self) -> None:
        """Die without a word. Sessions and what was memorised survive; numbers of deliveries and addresses do not."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        self.incarnation += 1
        self._sequence = 0
        self._names.clear()
        for session in self._sessions.values():
            session.peer = None
            kept = [body for _, body in session.queue if Event.decode_untrusted(body).delivery is not Delivery.REALTIME]
            session.queue = deque(enumerate(kept, 1))
            session.number, session.sent = len(kept), 0

    def stop(self) -> None:
        """Die in good order."""
        for session in self._sessions.values():
            self._tell(session, Goodbye())
        self.crash()

    def pause(self) -> None:
        """Let datagrams wait in the kernel."""
        assert self._socket is not None, "it lives"
        asyncio.get_running_loop().remove_reader(self._socket)

    def resume(self) -> None:
        assert self._socket is not None, "it lives"
        asyncio.get_running_loop().add_reader(self._socket, self._readable)

    def forget_addresses(self) -> None:
        """Take every client for OFF."""
        for session in self._sessions.values():
            session.peer = None

    def forget_session(self, client: str) -> None:
        """As when a session that does not last is over."""
        del self._sessions[client]

    def mail(self) -> list[Request]:
        """What waits in the kernel while it is paused."""
        assert self._socket is not None, "it lives"
        waiting: list[Request] = []
        try:
            while True:
                waiting += decode_requests_untrusted(self._socket.recv(65536))
        except BlockingIOError:
            return waiting

    def say(self, client: str, datagram: bytes) -> None:
        """Send a client these very bytes."""
        peer = self._sessions[client].peer
        assert self._socket is not None, "it lives"
        assert peer is not None, "its client is ON"
        self._socket.sendto(datagram, peer)

    # What a test asks for

    def standing(self, client: str) -> list[Filter]:
        """The subscriptions of a client."""
        return list(self._sessions[client].subscriptions.values())

    def unconfirmed(self, client: str) -> int:
        """Deliveries that a client has not confirmed."""
        return len(self._sessions[client].queue)

    # What clients ask for

    def _readable(self) -> None:
        assert self._socket is not None, "it is readable"
        data, peer = self._socket.recvfrom(65536)
        self.datagrams += 1
        if not self.is_mute:
            for request in decode_requests_untrusted(data):
                self.requests.append(request)
                self._carry_out(request, peer[:2])
        self.changed()

    def _carry_out(self, request: Request, peer: Peer) -> None:
        reason = self.refuse(request)
        if isinstance(request, Open):
            if reason is None:
                self._open(request, peer)
            else:
                self._send(peer, Refused(0, reason))
            return
        session = self._sessions.get(self._names.get(peer, ""))
        if session is None or session.peer is None:
            self._send(peer, Refused(0, "no open session: open it again"))
        elif session.peer != peer:
            self._send(peer, Refused(0, "another connection has opened this session"))
        elif reason is not None:
            self._refuse(session, request, reason)
        else:
            self._serve(session, request)

    def _refuse(self, session: _Session, request: Request, reason: str) -> None:
        number = getattr(request, "number", 0)
        if isinstance(request, Publish):
            session.published = number + len(request.payloads) - 1
        self._tell(session, Refused(number, reason))

    def _open(self, request: Open, peer: Peer) -> None:
        session = self._sessions.setdefault(request.client, _Session(request.client, next(self._epochs)))
        resumed = request.epoch == session.epoch
        if not resumed:
            session.published = 0
            session.ids.clear()
        session.published = max(session.published, request.floor - 1)
        self._names[peer], session.peer, session.sent = request.client, peer, 0
        numbers = tuple(session.subscriptions)
        self._tell(session, Opened(session.epoch, self.incarnation, resumed, NODE, session.published, numbers))
        self._pump(session)

    def _serve(self, session: _Session, request: Request) -> None:
        match request:
            case Close():
                self._tell(session, Closed())
                session.peer = None
            case Subscribe(number, filter_):
                session.subscriptions[number] = filter_
                self._tell(session, Subscribed(number))
            case Unsubscribe(number):
                session.subscriptions.pop(number, None)
            case Publish():
                self._publish(session, request)
            case Acknowledge(incarnation, number):
                while incarnation == self.incarnation and session.queue and session.queue[0][0] <= number:
                    session.queue.popleft()
                self._pump(session)
            case Inquire(number, _):
                self._tell(session, Standing(number, 3, 2))
            case Ping():
                self._tell(session, Pong())

    def _publish(self, session: _Session, run: Publish) -> None:
        if run.after > session.published:
            return
        made = Event.decode_head_untrusted(run.head)
        for number, payload in enumerate(run.payloads, run.number):
            if number > session.published:
                session.published = number
                session.ids[number] = self.deliver(Event(
                    subject=made.subject, type=made.type, group=made.group, attributes=made.attributes, to=made.to,
                    lifetime=made.lifetime_ms / 1000, persistent=made.delivery is Delivery.PERSISTENT, payload=payload,
                ))  # fmt: skip
            self._tell(session, Receipt(number, session.ids[number], 1))

    def deliver(self, event: Event) -> EventId:
        """An event has come into being: give it to all who want it."""
        self._sequence += 1
        is_memorised = event.delivery is not Delivery.REALTIME
        stamped = event.accepted(
            id=event_id(NODE, self.incarnation, self._sequence), chain=self._sequence if is_memorised else 0
        )
        assert stamped.id is not None, "just stamped"
        self.events.append(stamped)
        for session in self._sessions.values():
            if any(each.matches(stamped) for each in session.subscriptions.values()):
                session.number += 1
                session.queue.append((session.number, stamped.encode()))
                self._pump(session)
        return stamped.id

    def _pump(self, session: _Session) -> None:
        """Send what the window admits."""
        before = 0
        for place, (number, body) in enumerate(session.queue):
            if place >= self.window:
                break
            if number > session.sent:
                self._tell(session, Deliver(self.incarnation, number, before, (body,)))
                session.sent = number
            before = number

    def repeat(self) -> None:
        """Send again what nobody has confirmed."""
        for session in self._sessions.values():
            session.sent = 0
            self._pump(session)

    def _tell(self, session: _Session, message: Message) -> None:
        if session.peer is not None:
            self._send(session.peer, message)

    def _send(self, peer: Peer, message: Message) -> None:
        if self._socket is not None:
            for datagram in datagrams([message]):
                self._socket.sendto(datagram, peer)
