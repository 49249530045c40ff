"""One page of a daemon's HTTP server, asked from inside its network."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any, Final

from chapar_lab.namespaces import inside

PLACE: Final = ("127.0.0.1", 7780)
PATIENCE: Final = 5.0
"""Seconds for an answer on a busy machine."""
LIMIT: Final = 1 << 24
"""Bytes of the longest page."""


async def get(network: int, path: str) -> dict[str, Any] | None:
    """The JSON of a page; None if nobody answers with one."""
    with inside(network):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with sock, suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_connect(sock, PLACE)
            reader, writer = await asyncio.open_connection(sock=sock, limit=LIMIT)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {PLACE[0]}\r\nConnection: close\r\n\r\n".encode())
                answer = await reader.read()
            finally:
                writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        if head.split(b" ", 2)[1:2] == [b"200"]:
            found: dict[str, Any] = json.loads(body)
            return found
    return None
