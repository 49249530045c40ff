"""`chapar sub`, as a process against a daemon played by the test."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from chapar.cli.event_text import columns
from chapar.event import Event
from chapar.filter import Filter
from chapar.session import Close, Subscribe, Unsubscribe
from chapar_command import chapar, ran, running
from fake_daemon import FakeDaemon

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

WARM = Event(subject="temp", attributes={"celsius": 21.5}, payload=b"hello")
COLD = Event(subject="temp", attributes={"celsius": 3})


def with_daemon(test: Callable[[FakeDaemon], Coroutine[Any, Any, None]]) -> None:
    """Run a test beside a daemon."""

    async def played() -> None:
        async with FakeDaemon() as daemon:
            await test(daemon)

    asyncio.run(played())


async def subscribed(daemon: FakeDaemon, asked: Filter) -> None:
    """Wait until the command has asked for this."""
    await daemon.until(
        lambda: any(isinstance(request, Subscribe) and request.filter == asked for request in daemon.requests)
    )


def test_events_that_match_are_printed_as_they_come() -> None:
    """The example of the README: one line, there at once, and none for what does not match."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("sub", "temp", "--where", "celsius > 20", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter(subject="temp", where="celsius > 20"))
            for number in range(3):
                daemon.deliver(COLD)
                daemon.deliver(Event(subject="temp", attributes={"celsius": 21.5}, payload=b"%d" % number))
                assert await sub.line() == b"temp\tcelsius=21.5\t%d\n" % number
            sub.signal(signal.SIGINT)
            assert await sub.ended() == (130, b"", "")

    with_daemon(test)


def test_every_part_of_a_filter_can_be_asked_for() -> None:
    """And nothing at all, which is everything."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("sub", "--type", "t", "--group", "g", "--sender", "7", "-a", daemon.address):
            await subscribed(daemon, Filter(type="t", group="g", sender=7))
        async with running("sub", "-a", daemon.address):
            await subscribed(daemon, Filter())

    with_daemon(test)


def test_json_and_payloads_are_for_programs() -> None:
    """One object per line; the bytes as they are."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("sub", "-n", "2", "--json", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter())
            daemon.deliver(WARM)
            daemon.deliver(Event(payload=b"\xff"))
            outcome = await sub.ended()
        told = [json.loads(line) for line in outcome.out.splitlines()]
        assert (outcome.code, outcome.err) == (0, "")
        assert [(each["subject"], each["payload"], each["encoding"]) for each in told] == [
            ("temp", "hello", "utf-8"),
            (None, "/w==", "base64"),
        ]
        daemon.requests.clear()
        async with running("sub", "-n", "1", "--payload", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter())
            daemon.deliver(Event(payload=b"\xff\0"))
            assert await sub.ended() == (0, b"\xff\0\n", "")

    with_daemon(test)


def test_a_count_is_exact() -> None:
    """More events may be waiting: so many are printed, in order."""

    async def test(daemon: FakeDaemon) -> None:
        events = [Event(subject="s", payload=b"%d" % number) for number in range(2000)]
        async with running("sub", "-n", "1500", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter())
            for event in events:
                daemon.deliver(event)
            outcome = await sub.ended()
        assert outcome == (0, b"".join(map(columns, events[:1500])), "")

    with_daemon(test)


def test_a_timeout_without_enough_events_is_exit_code_1() -> None:
    """One line says what was missing."""

    async def test(daemon: FakeDaemon) -> None:
        silent, too_few = await asyncio.gather(
            ran("sub", "none", "--timeout", "10ms", "-a", daemon.address), one_of_two(daemon)
        )
        assert silent == (1, b"", "chapar sub: no event within 10 ms\n")
        assert too_few == (1, b"", "chapar sub: 1 of 2 events within 1 s\n")

    async def one_of_two(daemon: FakeDaemon) -> tuple[int, bytes, str]:
        async with running("sub", "temp", "-n", "2", "--timeout", "1s", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter(subject="temp"))
            daemon.deliver(WARM)
            assert await sub.line() == columns(WARM)
            return await sub.ended()

    with_daemon(test)


def test_a_timeout_after_some_events_is_success_if_no_count_was_asked_for() -> None:
    """Whatever came in that time is what was asked for."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("sub", "--timeout", "1s", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter())
            daemon.deliver(WARM)
            assert await sub.ended() == (0, columns(WARM), "")

    with_daemon(test)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_in_good_order(number: signal.Signals, code: int) -> None:
    """The daemon is told; nothing is printed."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("sub", "-a", daemon.address) as sub:
            await subscribed(daemon, Filter())
            sub.signal(number)
            assert await sub.ended() == (code, b"", "")
        assert any(isinstance(request, Close) for request in daemon.requests)

    with_daemon(test)


def test_a_reader_who_leaves_ends_it() -> None:
    """`chapar sub | head -1`: at once, though no other event comes; that is success."""

    async def test(daemon: FakeDaemon) -> None:
        source, target = os.pipe()
        try:
            async with running("sub", "-a", daemon.address, stdout=target) as sub:
                os.close(target)
                await subscribed(daemon, Filter())
                os.close(source)
                assert await sub.ended() == (0, b"", "")
        finally:
            for end in (source, target):
                try:
                    os.close(end)
                except OSError:
                    continue

    with_daemon(test)


def test_a_hint_is_for_terminals() -> None:
    """On standard error, so that output can be piped; elsewhere there is none, as the other tests show."""

    async def test(daemon: FakeDaemon) -> None:
        terminal, inner = os.openpty()
        try:
            async with running("sub", "temp", "-a", daemon.address, stderr=inner) as sub:
                os.close(inner)
                hint = await asyncio.to_thread(os.read, terminal, 1000)
                assert hint == b'listening for subject = "temp" (Ctrl-C ends)\r\n'
                sub.signal(signal.SIGINT)
                assert await sub.ended() == (130, b"", "")
        finally:
            os.close(terminal)

    with_daemon(test)


def test_a_named_client_leaves_its_subscription_standing() -> None:
    """What comes while it is away is kept for it; of one without a name, nothing stays."""

    async def test(daemon: FakeDaemon) -> None:
        for options in (["--client-id", "till-3"], []):
            daemon.requests.clear()
            async with running("sub", "order", *options, "-n", "1", "-a", daemon.address) as sub:
                await subscribed(daemon, Filter(subject="order"))
                daemon.deliver(Event(subject="order", payload=b"1", persistent=True))
                assert await sub.ended() == (0, b"order\t\t1\n", "")
            assert any(isinstance(request, Unsubscribe) for request in daemon.requests) is not bool(options)
        assert daemon.standing("till-3") == [Filter(subject="order")]
        assert daemon.unconfirmed("till-3") == 1, "the first event was confirmed, the second came while it was away"

    with_daemon(test)


def test_a_refusal_is_exit_code_1() -> None:
    """Of the subscription; the line has the daemon's reason."""

    async def test(daemon: FakeDaemon) -> None:
        daemon.refuse = lambda request: "too many filters" if isinstance(request, Subscribe) else None
        outcome = await ran("sub", "-a", daemon.address)
        assert (outcome.code, outcome.out) == (1, b"")
        assert outcome.err.startswith("chapar sub: ")
        assert "too many filters" in outcome.err
        assert outcome.err.count("\n") == 1

    with_daemon(test)


def test_a_filter_that_nothing_matches_is_wrong_usage() -> None:
    """It would wait for ever."""
    outcome = chapar("sub", "temp", "--where", "celsius > 20 and celsius < 3")
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.err.startswith("chapar sub: no event can match ")


def test_a_full_disk_ends_it_with_1() -> None:
    """One line, no traceback."""

    async def test(daemon: FakeDaemon) -> None:
        with open("/dev/full", "wb") as full:
            async with running("sub", "-a", daemon.address, stdout=full) as sub:
                await subscribed(daemon, Filter())
                daemon.deliver(WARM)
                line = "chapar sub: cannot read or write any more: No space left on device\n"
                assert await sub.ended() == (1, b"", line)

    with_daemon(test)
