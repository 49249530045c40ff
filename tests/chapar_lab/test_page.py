"""One page of a daemon, from inside its network; the daemon is a server that says what the test wants."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from boxed import wired
from chapar_lab.namespaces import inside
from chapar_lab.page import PLACE, get

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter


def fetched(path: str, answer: bytes) -> tuple[dict[str, Any] | None, list[str], bool]:
    """What `get` makes of an answer, the request line and headers, and whether this thread stayed where it is."""

    async def work(networks: dict[int, int]) -> tuple[dict[str, Any] | None, list[str], bool]:
        asked: list[str] = []

        async def serve(reader: StreamReader, writer: StreamWriter) -> None:
            asked.extend((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n"))
            writer.write(answer)
            writer.close()

        network = networks[1]
        before = os.readlink("/proc/thread-self/ns/net")
        with inside(network):
            server = await asyncio.start_server(serve, *PLACE)
        async with server:
            found = await get(network, path)
        return found, asked, before == os.readlink("/proc/thread-self/ns/net")

    return wired([1], work)


def test_a_page_is_what_its_json_says() -> None:
    """However long. It is asked for in the node's network, by a thread that stays where it is."""
    body = b'{"a": "' + b"x" * 100_000 + b'"}'
    found, (request, *headers), stayed = fetched("/status/fmt", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" + body)
    assert found == {"a": "x" * 100_000}
    assert request == "GET /status/fmt HTTP/1.1"
    assert {"Host: 127.0.0.1", "Connection: close"} <= set(headers)
    assert stayed


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 404 Not Found\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n\r\n{", b"\x00\xff", b"HTTP/1.1 200"]
)
def test_an_answer_without_a_page_is_none(answer: bytes) -> None:
    """Not found, broken off, or something else."""
    assert fetched("/status", answer)[0] is None


def test_nobody_there_is_no_page() -> None:
    """The daemon is down: no error, and no waiting."""

    async def work(networks: dict[int, int]) -> dict[str, Any] | None:
        return await get(networks[1], "/status")

    assert wired([1], work) is None
