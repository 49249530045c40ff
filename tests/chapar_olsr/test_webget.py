"""One question to a daemon on this machine."""

from __future__ import annotations

import asyncio

import pytest

from chapar_olsr import webget
from chapar_olsr.faults import Fault
from chapar_olsr.source import SourceError
from fake_olsrd import FakeOlsrd

BODY = b'{"routes": []}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 14\r\n\r\n" + BODY,
        HEAD + b"\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 200\r\nCONTENT-TYPE:text/plain; charset=utf-8\r\ncontent-length: nonsense\r\n\r\n" + BODY,
        BODY,
    ],
)
def test_the_body_of_a_good_answer(answer: bytes) -> None:
    """With a length or without, and whatever daemons call JSON; an olsrd before 0.9.5 sends no head at all."""
    assert webget.body_of_untrusted(answer, "here") == BODY


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"", Fault.TRUNCATED),
        (HEAD, Fault.TRUNCATED),
        (HEAD + b"Content-Length: 15\r\n\r\n" + BODY, Fault.TRUNCATED),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", Fault.NOT_HTTP),
        (b"HTTP/1.1\r\n\r\n", Fault.NOT_HTTP),
        (b"\x00\x01\x02", Fault.NOT_HTTP),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Fault.NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", Fault.CONTENT_TYPE),
    ],
)
def test_any_other_answer_is_one_error(answer: bytes, fault: Fault) -> None:
    """In one line that says where, and counted as what it is."""
    with pytest.raises(SourceError, match=r"^here: ") as refused:
        webget.body_of_untrusted(answer, "here")
    assert refused.value.fault is fault


def test_nobody_there_is_said_with_what_to_check() -> None:
    """The port was free a moment ago."""

    async def work() -> None:
        server = FakeOlsrd({})
        async with server:
            port = server.port
        with pytest.raises(SourceError, match="does the routing daemon run") as refused:
            await webget.get("127.0.0.1", port, "/routes")
        assert refused.value.fault is Fault.UNREACHABLE

    asyncio.run(work())


def test_a_daemon_that_says_nothing_is_not_waited_for() -> None:
    """It may have been stopped."""

    async def work() -> None:
        async with FakeOlsrd({}) as server:
            server.broken["/routes"] = None
            with pytest.raises(SourceError, match=r"no answer within 0\.05 s"):
                await webget.get("127.0.0.1", server.port, "/routes", patience=0.05)

    asyncio.run(work())


def test_an_answer_without_end_is_cut_off() -> None:
    """Before it fills the memory."""

    async def work() -> None:
        async with FakeOlsrd({}) as server:
            server.broken["/routes"] = bytes(webget.MAX_ANSWER + 1)
            with pytest.raises(SourceError) as refused:
                await webget.get("127.0.0.1", server.port, "/routes")
            assert refused.value.fault is Fault.TOO_LARGE

    asyncio.run(work())
