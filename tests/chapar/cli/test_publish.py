"""`chapar pub`, as a process against a daemon played by the test."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest

from chapar.cli.command import main
from chapar.cli.event_text import id_text
from chapar.event import Delivery
from chapar.limits import MAX_EVENT_BYTES
from chapar.session import Inquire, Publish, Request, Standing
from chapar_command import chapar, ran, running
from fake_daemon import FakeDaemon

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

NOWHERE = "127.0.0.1:9"


def with_daemon(test: Callable[[FakeDaemon], Coroutine[Any, Any, None]]) -> None:
    """Run a test beside a daemon."""

    async def played() -> None:
        async with FakeDaemon() as daemon:
            await test(daemon)

    asyncio.run(played())


def test_an_event_is_published_as_told() -> None:
    """Every field arrives; success is silent."""
    options = shlex.split("""--attr celsius=21.5 --attr room='"12"' --type t --group g --lifetime 5m --to 7 --to 9""")

    async def test(daemon: FakeDaemon) -> None:
        assert await ran("pub", "temp", "-m", "größer", *options, "-a", daemon.address) == (0, b"", "")
        (event,) = daemon.events
        assert (event.subject, event.type, event.group) == ("temp", "t", "g")
        assert event.attributes == {"celsius": 21.5, "room": "12"}
        assert (event.payload, event.lifetime_ms, event.to) == ("größer".encode(), 300_000, (7, 9))

    with_daemon(test)


def test_the_id_is_printed_when_asked_for() -> None:
    """As text and as JSON; it is the id that the network knows."""

    async def test(daemon: FakeDaemon) -> None:
        assert (await ran("pub", "s", "-v", "--persistent", "-a", daemon.address)).code == 0
        outcome = await ran("pub", "s", "-v", "-a", daemon.address)
        told = await ran("pub", "s", "--json", "-a", daemon.address)
        ids = [id_text(event.id) for event in daemon.events if event.id]
        assert outcome == (0, f"{ids[1]}\n".encode(), "")
        assert json.loads(told.out) == {"id": ids[2]}
        persistent = [event.delivery is Delivery.PERSISTENT for event in daemon.events]
        assert persistent == [True, False, False]

    with_daemon(test)


def test_a_payload_comes_from_a_file_or_standard_input(tmp_path: Path) -> None:
    """All of it, as it is."""
    file = tmp_path / "payload"
    file.write_bytes(b"\xff\n\0")

    async def test(daemon: FakeDaemon) -> None:
        assert await ran("pub", "s", "-f", str(file), "-a", daemon.address) == (0, b"", "")
        assert await ran("pub", "s", "-f", "-", "-a", daemon.address, stdin=b"two\nlines\n") == (0, b"", "")
        assert [event.payload for event in daemon.events] == [b"\xff\n\0", b"two\nlines\n"]

    with_daemon(test)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["s", "-f", "/nowhere/at/all"], "cannot read /nowhere/at/all: No such file or directory"),
        (["s", "-f", "/dev/zero"], f"/dev/zero does not fit into an event of {MAX_EVENT_BYTES} bytes"),
        (["s", "-m", "x" * (MAX_EVENT_BYTES - 10)], "is too large"),
        (["s", "--attr", "a=1", "--attr", "a=2"], "attribute a is given twice"),
        (["s" * 2000], "subject: string of 2000 characters is longer"),
        (["s", "--lifetime", "9999d"], "use persistent"),
        (["s", "--wait-confirmed", "5s"], "nobody confirms a real-time event"),
        (["s", "--persistent", "--stdin-lines", "--wait-confirmed", "5s"], "leave it out with --stdin-lines"),
    ],
)
def test_an_event_that_cannot_be_is_wrong_usage(
    arguments: list[str], complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Found before any daemon is asked: none is there."""
    assert main(["-a", NOWHERE, "pub", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert complaint in err
    assert err.startswith("chapar pub: ")
    assert err.count("\n") == 1


def test_an_address_that_cannot_be_is_wrong_usage() -> None:
    """One line says how to write it."""
    outcome = chapar("pub", "s", "-a", "nowhere:")
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.err.startswith("chapar pub: 'nowhere:' is no address: ")


def test_without_a_daemon_the_exit_code_is_3() -> None:
    """With a line that says what to do; the environment names the daemon."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    outcome = chapar("pub", "s", env={"CHAPAR_DAEMON": address})
    advice = "start chapard there, or name another with --address or CHAPAR_DAEMON"
    assert outcome == (3, b"", f"chapar pub: no daemon answers at {address}: {advice}\n")


def test_a_refusal_is_exit_code_1() -> None:
    """With the daemon's own reason."""

    async def test(daemon: FakeDaemon) -> None:
        daemon.refuse = lambda request: "the queue is full" if isinstance(request, Publish) else None
        outcome = await ran("pub", "s", "-a", daemon.address)
        assert (outcome.code, outcome.out) == (1, b"")
        assert outcome.err.startswith("chapar pub: ")
        assert "the queue is full" in outcome.err
        assert outcome.err.count("\n") == 1

    with_daemon(test)


def test_each_line_is_an_event() -> None:
    """All of them, in order, empty ones too, each with the fields of the command."""
    lines = [b"%d" % number for number in range(3000)] + [b"", b"\xff", b"no newline"]

    async def test(daemon: FakeDaemon) -> None:
        options = ["--attr", "unit=C", "--lifetime", "60"]
        outcome = await ran("pub", "s", "--stdin-lines", *options, "-a", daemon.address, stdin=b"\n".join(lines))
        assert outcome == (0, b"", "")
        assert [event.payload for event in daemon.events] == lines
        assert {(event.attributes["unit"], event.lifetime_ms) for event in daemon.events} == {("C", 60_000)}

    with_daemon(test)


def test_a_line_is_published_before_the_next_one_is_there() -> None:
    """The pipe is endless; ids come out as they are known; Ctrl-C ends it without a word."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("pub", "s", "--stdin-lines", "-v", "-a", daemon.address) as pub:
            for number in range(3):
                pub.type(b"line %d\n" % number)
                event_id = await pub.line()
                assert daemon.events[-1].payload == b"line %d" % number
                assert daemon.events[-1].id is not None
                assert event_id.decode() == id_text(daemon.events[-1].id) + "\n"
            pub.signal(signal.SIGINT)
            assert await pub.ended() == (130, b"", "")

    with_daemon(test)


def test_a_stream_outlives_its_daemon() -> None:
    """What is typed while the daemon is away arrives when it is back."""

    async def test(daemon: FakeDaemon) -> None:
        async with running("pub", "s", "--stdin-lines", "--persistent", "-a", daemon.address) as pub:
            pub.type(b"before\n")
            await daemon.until(lambda: len(daemon.events) == 1)
            daemon.crash()
            pub.type(b"during\n")
            daemon.start()
            await daemon.until(lambda: len(daemon.events) == 2)
            pub.end_input()
            assert await pub.ended() == (0, b"", "")
        assert [event.payload for event in daemon.events] == [b"before", b"during"]

    with_daemon(test)


def test_lines_that_fail_are_told_and_stop_nothing() -> None:
    """By number, the first ones; the exit code says that there were some."""

    def refuse(request: Request) -> str | None:
        return "not this one" if isinstance(request, Publish) and b"bad" in request.payloads else None

    async def test(daemon: FakeDaemon) -> None:
        daemon.refuse = refuse
        async with running("pub", "s", "--stdin-lines", "-v", "-a", daemon.address) as pub:
            for line in (b"good\n", b"bad\n", b"good\n"):
                pub.type(line)
                if line != b"bad\n":
                    await pub.line()
            pub.end_input()
            outcome = await pub.ended()
        assert [event.payload for event in daemon.events] == [b"good", b"good"]
        assert outcome.code == 1
        first, last = outcome.err.splitlines()
        assert first.startswith("chapar pub: line 2: ")
        assert "not this one" in first
        assert last == "chapar pub: 1 of the lines did not become an event"

    with_daemon(test)


def test_a_line_without_end_is_refused() -> None:
    """By number; the lines before it are published."""

    async def test(daemon: FakeDaemon) -> None:
        stdin = b"fits\n" + b"x" * (MAX_EVENT_BYTES + 1)
        outcome = await ran("pub", "s", "--stdin-lines", "-a", daemon.address, stdin=stdin)
        assert outcome.code == 2
        assert outcome.err.startswith(f"chapar pub: line 2 does not fit into an event of {MAX_EVENT_BYTES} bytes")
        assert [event.payload for event in daemon.events] == [b"fits"]

    with_daemon(test)


class Following(FakeDaemon):
    """A daemon whose three homes confirm one after the other, as they are asked about."""

    def _serve(self, session: Any, request: Request) -> None:
        if isinstance(request, Inquire):
            confirmed = sum(isinstance(each, Inquire) for each in self.requests)
            self._tell(session, Standing(request.number, 3, min(confirmed, 3)))
        else:
            super()._serve(session, request)


def test_waiting_ends_when_all_have_confirmed() -> None:
    """And says how many those are."""

    async def test() -> None:
        async with Following() as daemon:
            options = ["--persistent", "--wait-confirmed", "20s", "--json"]
            outcome = await ran("pub", "s", *options, "-a", daemon.address)
            assert (outcome.code, outcome.err) == (0, "")
            assert daemon.events[0].id is not None
            assert json.loads(outcome.out) == {"id": id_text(daemon.events[0].id), "wanted": 3, "confirmed": 3}

    asyncio.run(test())


def test_waiting_ends_in_time() -> None:
    """With exit code 1 and how far it came; the event is published all the same."""

    async def test(daemon: FakeDaemon) -> None:
        outcome = await ran("pub", "s", "--lifetime", "1h", "--wait-confirmed", "10ms", "-a", daemon.address)
        assert (outcome.code, outcome.out) == (1, b"")
        line = "not confirmed in time: 2 of 3 homes have it; it is still kept, see chapar met"
        assert outcome.err == f"chapar pub: {line}\n"
        assert len(daemon.events) == 1

    with_daemon(test)
