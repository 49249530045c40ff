"""The blocking client: the same behaviour, from threads that have no event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import chapar
from chapar import Event
from fake_daemon import NODE, FakeDaemon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    T = TypeVar("T")


class Remote:
    """A fake daemon in a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, daemon: FakeDaemon) -> None:
        self._loop = loop
        self._daemon = daemon
        self.address = daemon.address

    def do(self, deed: Callable[[FakeDaemon], T]) -> T:
        """Have something done in the daemon's thread."""

        async def done() -> T:
            return deed(self._daemon)

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(10)

    def until(self, holds: Callable[[FakeDaemon], bool]) -> None:
        asyncio.run_coroutine_threadsafe(self._daemon.until(lambda: holds(self._daemon)), self._loop).result(10)

    def deliver(self, *payloads: bytes) -> None:
        for payload in payloads:
            self.do(lambda daemon, payload=payload: daemon.deliver(Event(subject="x", payload=payload)))  # type: ignore[misc]  # mypy cannot infer a lambda with a default


@contextmanager
def remote() -> Iterator[Remote]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    daemon = FakeDaemon()
    asyncio.run_coroutine_threadsafe(daemon.__aenter__(), loop).result(10)
    try:
        yield Remote(loop, daemon)
    finally:
        asyncio.run_coroutine_threadsafe(daemon.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def interrupted_when_told() -> Iterator[threading.Event]:
    """Setting the event has the main thread interrupted, as Ctrl-C does, at some time after that."""
    told = threading.Event()
    main = threading.get_ident()

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        if told.wait(10):
            signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield told
    finally:
        told.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_publish_and_subscribe() -> None:
    """Everything has the name it has in the asynchronous client."""
    with remote() as daemon:
        client = chapar.sync.connect(daemon.address, client_id="s")
        with client, client.subscribe(subject="x") as events:
            assert (client.node, client.client_id, client.is_connected) == (NODE, "s", True)
            receipts = [client.publish(subject="x", payload=b"%d" % number, persistent=True) for number in range(3)]
            client.publish(Event(subject="x", payload=b"3"))
            assert [event.payload for event in islice(events, 4)] == [b"0", b"1", b"2", b"3"]
            ids = [receipt.accepted(timeout=10) for receipt in receipts]
            assert ids == [receipt.id for receipt in receipts]
            assert receipts[0].is_accepted
            assert receipts[0].confirmed(timeout=10) == (3, 2)
            assert events.filter == chapar.Filter(subject="x")
        assert not client.is_connected
        assert daemon.do(lambda each: each.unconfirmed("s")) == 0
        assert daemon.do(lambda each: each.standing("s")) == [chapar.Filter(subject="x")], "it was left with its client"


def test_errors_are_the_same() -> None:
    """They are raised where the program waits."""
    with remote() as daemon:
        daemon.do(lambda each: setattr(each, "refuse", lambda _: "no"))
        with pytest.raises(chapar.ConnectRefusedError, match="no"):
            chapar.sync.connect(daemon.address).open()
        daemon.do(lambda each: each.crash())
        with pytest.raises(chapar.NoDaemonError):
            chapar.sync.connect(daemon.address, timeout=0.02).open()
    with pytest.raises(chapar.AddressError):
        chapar.sync.connect("nowhere:0")


def test_next_gives_up_in_time_and_misses_nothing() -> None:
    """The event that comes later is the next one's."""
    with remote() as daemon, chapar.sync.connect(daemon.address) as client:
        with client.subscribe(subject="x") as events:
            for _ in range(2):
                with pytest.raises(TimeoutError, match="no event within 0"):
                    events.next(timeout=0)
            daemon.deliver(b"1", b"2")
            assert [events.next(timeout=10).payload, next(events).payload] == [b"1", b"2"]
        with pytest.raises(chapar.ClosedError, match="has ended"):
            events.next(timeout=10)
        assert list(events) == []


def test_an_interrupted_wait_misses_nothing() -> None:
    """After Ctrl-C the client is as it was: the event that was waited for is the next one's."""
    with remote() as daemon, chapar.sync.connect(daemon.address) as client, client.subscribe(subject="x") as events:
        with interrupted_when_told() as interrupt, pytest.raises(KeyboardInterrupt):
            _wait_after(interrupt.set, events)
        daemon.deliver(b"1", b"2")
        assert [event.payload for event in islice(events, 2)] == [b"1", b"2"]


def _wait_after(deed: Callable[[], Any], events: chapar.sync.Subscription) -> None:
    deed()
    events.next(timeout=10)


def test_an_interrupted_publisher_leaves_in_good_order() -> None:
    """Ctrl-C ends the wait for room, and leaving the block sees off what was published before.

    Whether the interrupted one is published depends on when the interruption came; it is not published twice.
    """

    def publish(client: chapar.sync.Client, interrupt: threading.Event) -> None:
        for _ in range(2):
            client.publish(subject="x")
        interrupt.set()
        client.publish(subject="x")

    with remote() as daemon:
        with chapar.sync.connect(daemon.address, outgoing=2) as client:
            daemon.do(lambda each: each.pause())
            with interrupted_when_told() as interrupt, pytest.raises(KeyboardInterrupt):
                publish(client, interrupt)
            daemon.do(lambda each: each.resume())
        assert daemon.do(lambda each: len(each.events)) in {2, 3}


def test_closing_in_one_thread_ends_the_wait_of_another() -> None:
    """An iteration ends, a publisher is told; nobody is left waiting, and nothing works afterwards."""
    with remote() as daemon:
        client = chapar.sync.connect(daemon.address)
        client.open()
        got: list[int] = []

        def listen() -> None:
            with client.subscribe(subject="x") as events:
                got.append(len(list(events)))

        listener = threading.Thread(target=listen)
        listener.start()
        daemon.until(lambda each: bool(each.standing(client.client_id)))
        client.close()
        listener.join(10)
        assert got == [0]
        client.close()
        with pytest.raises(chapar.ClosedError):
            client.publish(subject="x")
        with pytest.raises(chapar.ClosedError):
            client.subscribe(subject="x")


def test_any_thread_may_publish() -> None:
    """Each thread's events stay in its order."""
    with remote() as daemon, chapar.sync.connect(daemon.address) as client:

        def publish(name: bytes) -> None:
            for number in range(100):
                client.publish(subject="x", payload=b"%s%d" % (name, number))

        threads = [threading.Thread(target=publish, args=(name,)) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        daemon.until(lambda each: len(each.events) == 300)
        payloads = daemon.do(lambda each: [event.payload for event in each.events])
        for name in (b"a", b"b", b"c"):
            assert [each for each in payloads if each.startswith(name)] == [b"%s%d" % (name, i) for i in range(100)]


def test_a_client_opens_once() -> None:
    """And can be entered again after it failed to open."""
    with remote() as daemon:
        daemon.do(lambda each: setattr(each, "is_mute", True))
        client = chapar.sync.connect(daemon.address, timeout=0.02)
        with pytest.raises(chapar.NoDaemonError):
            client.open()
        daemon.do(lambda each: setattr(each, "is_mute", False))
        opened = chapar.sync.connect(daemon.address)
        with opened, pytest.raises(chapar.ClosedError, match="opens once"):
            opened.open()
