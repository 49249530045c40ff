"""The socket and the timer under a session: addresses, packing, loss and return of the daemon."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from chapar.connection import FIRST_PAUSE, Connection
from chapar.endpoint import Endpoint
from chapar.errors import AddressError
from chapar.session import ClientSession, Message, Opened, Publish, Receipt
from fake_daemon import FakeDaemon, Watch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


class Application(Watch):
    """Keeps what a connection hands over, and lets a test wait for it."""

    def __init__(self, daemon_address: str, new_socket: Callable[..., socket.socket] = socket.socket) -> None:
        super().__init__()
        self.session = CountingSession("app", self.changed)
        self.messages: list[Message] = []
        self.connection = Connection(
            self.session, Endpoint.parse(daemon_address), self.received, new_socket=new_socket
        )

    def received(self, message: Message, now: float) -> None:
        self.session.received(message, now)
        self.messages.append(message)
        self.changed()

    def publish(self, payload: bytes) -> None:
        self.session.publish_head(HEAD, payload, is_realtime=False)
        self.connection.queued(len(payload))


class CountingSession(ClientSession):
    """Knows when it was opened, and says so."""

    def __init__(self, client: str, changed: Callable[[], None]) -> None:
        super().__init__(client)
        self.opened_at: list[float] = []
        self._changed = changed

    def open(self, now: float) -> None:
        self.opened_at.append(now)
        super().open(now)
        self._changed()

    def lost(self) -> None:
        super().lost()
        self._changed()


HEAD = bytes((0x99, 0xC0, 0, 2, 0, 0xC0, 0xA1)) + b"x" + bytes((0xC0, 0x80, 0x90))
"""Of a persistent event with subject x."""


def play(
    scene: Callable[[FakeDaemon], Awaitable[None]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    async def staged() -> None:
        async with FakeDaemon() as daemon:
            await scene(daemon)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(staged())


@contextmanager
def closing(app: Application) -> Iterator[Application]:
    try:
        yield app
    finally:
        app.connection.close()


def test_the_first_of_a_turn_leaves_at_once_and_the_rest_packed() -> None:
    """One event is not held back for company; those that follow in the same turn share datagrams."""

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address)) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)
            daemon.pause()
            app.publish(b"1")
            assert [type(each) for each in daemon.mail()] == [Publish]
            app.publish(b"2")
            app.publish(b"3")
            assert daemon.mail() == []
            await asyncio.sleep(0)
            assert [each.payloads for each in daemon.mail() if isinstance(each, Publish)] == [(b"2", b"3")]

    play(scene)


def test_a_full_datagram_does_not_wait_for_the_turn_to_end() -> None:
    """A publisher that never pauses is heard all the same."""

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address)) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)
            daemon.pause()
            for _ in range(600):
                app.publish(bytes(64))
            runs = [each for each in daemon.mail() if isinstance(each, Publish)]
            assert len(runs) == 3
            assert min(len(each.payloads) for each in runs[1:]) > 150

    play(scene)


def test_datagrams_that_are_not_the_protocol_are_counted_and_dropped() -> None:
    """The connection goes on."""

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address)) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)
            daemon.say("app", b"\xc1")
            daemon.say("app", b"")
            app.publish(b"1")
            await app.until(lambda: any(isinstance(each, Receipt) for each in app.messages))
            assert app.connection.malformed == 2

    play(scene)


def test_a_daemon_that_is_not_there_is_tried_again_ever_more_slowly() -> None:
    """The pause doubles; it starts short, as a daemon that is restarted is back soon."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.crash()
        with closing(Application(daemon.address)) as app:
            await app.connection.open()
            await app.until(lambda: len(app.session.opened_at) >= 4)
            times = app.session.opened_at
            pauses = [later - earlier for earlier, later in pairwise(times)]
            assert all(pause >= FIRST_PAUSE * 2**place * 0.99 for place, pause in enumerate(pauses))

    play(scene)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_daemon_that_returns_is_found_again(loop: str) -> None:
    """What was published while it was away is its first news, and the pause is short again the next time.

    With uvloop too, which stops to watch a socket that had an error pending.
    """
    factory = pytest.importorskip(loop).new_event_loop

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address)) as app:
            await app.connection.open()
            for round_ in (1, 2):
                await app.until(lambda: app.session.is_on)
                daemon.crash()
                for _ in range(2):  # the first is sent, and comes back as refused
                    app.publish(b"%d" % round_)
                await app.until(lambda: not app.session.is_on)
                daemon.start()
                await daemon.until(lambda round_=round_: len(daemon.events) == 2 * round_)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            assert [event.payload for event in daemon.events] == [b"1", b"1", b"2", b"2"]

    play(scene, factory)


class Reluctant(socket.socket):
    """Takes every datagram at the third attempt only."""

    attempts = 0

    def send(self, *args: object, **_: object) -> int:
        self.attempts += 1
        if self.attempts % 3:
            raise BlockingIOError(errno.EAGAIN, "later")
        return super().send(args[0])  # type: ignore[arg-type]  # the one buffer it is called with


def test_what_the_kernel_does_not_take_now_leaves_later_and_in_order() -> None:
    """A full send buffer delays; it loses nothing."""

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address, Reluctant)) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)
            for number in range(700):
                app.publish(b"%d" % number)
            await daemon.until(lambda: len(daemon.events) == 700)
            assert [event.payload for event in daemon.events] == [b"%d" % number for number in range(700)]
            assert daemon.incarnation == sum(isinstance(each, Opened) for each in app.messages)

    play(scene)


def test_a_socket_that_fails_is_replaced() -> None:
    """As when the host has got another address."""
    made: list[socket.socket] = []

    class Failing(socket.socket):
        def __init__(self, *args: int) -> None:
            super().__init__(*args)
            made.append(self)

        def send(self, *args: object, **_: object) -> int:
            if len(made) == 1:
                raise OSError(errno.ENETUNREACH, "no network")
            return super().send(args[0])  # type: ignore[arg-type]  # the one buffer it is called with

        def connect(self, *args: object) -> None:
            if len(made) == 2:
                raise OSError(errno.ENETUNREACH, "no network")
            super().connect(args[0])  # type: ignore[arg-type]  # the one address it is called with

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(daemon.address, Failing)) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)
            assert [each.fileno() >= 0 for each in made] == [False, False, True]

    play(scene)


def test_a_name_that_nobody_knows_is_an_error_of_the_address() -> None:
    """It says which name. This one is longer than names can be, so that nobody is asked for it."""
    name = "n" * 64

    async def scene() -> None:
        with closing(Application(f"{name}:1")) as app, pytest.raises(AddressError, match=f"{name}' is no known host"):
            await app.connection.open()

    asyncio.run(scene())


def test_a_name_is_resolved() -> None:
    """localhost is this host, over IPv4 if it has both."""

    async def scene(daemon: FakeDaemon) -> None:
        with closing(Application(f"localhost:{Endpoint.parse(daemon.address).port}")) as app:
            await app.connection.open()
            await app.until(lambda: app.session.is_on)

    play(scene)


def test_after_close_nothing_is_sent() -> None:
    """And no timer is left that would; another connection's attempts in vain tell the time."""

    async def scene(daemon: FakeDaemon) -> None:
        app = Application(daemon.address)
        await app.connection.open()
        await app.until(lambda: app.session.is_on)
        daemon.pause()
        app.connection.close()
        app.publish(b"1")
        app.connection.lost()
        async with FakeDaemon() as dead:
            dead.crash()
            with closing(Application(dead.address)) as clock:
                await clock.connection.open()
                await clock.until(lambda: len(clock.session.opened_at) >= 3)
        assert daemon.mail() == []
        assert len(app.session.opened_at) == 1

    play(scene)
