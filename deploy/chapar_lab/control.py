"""How commands reach a lab that is up: a socket in the abstract namespace of the network that the user is in.

It has no file, so none is left behind. Its name says whose run it is; it answers that user alone.

A question is one line; the answer is one line of JSON, with open descriptors of namespaces where these were asked for.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import re
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LINE: Final = 4096
"""Bytes of a question."""
MOST_DESCRIPTORS: Final = 8
PATIENCE: Final = 10.0
"""Seconds for an answer."""
_CREDENTIALS: Final = struct.Struct("3i")


class Answer(NamedTuple):
    """To a question."""

    data: Any
    descriptors: tuple[int, ...] = ()


class ControlError(Exception):
    """No lab answers; the message is one line that says what to do."""


def listen() -> socket.socket:
    """The socket of this run. Make it before the box is entered: names belong to a network namespace."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    sock.bind(f"\0chapar-lab/{os.getuid()}/{os.getpid()}")
    sock.listen()
    return sock


async def serve(sock: socket.socket, answer: Callable[[list[str]], Awaitable[Answer]]) -> None:
    """Answer questions, one at a time, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        peer, _ = await loop.sock_accept(sock)
        with peer, suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(PATIENCE):
                if _user_of(peer) == os.geteuid():
                    await _answer(peer, answer)


async def _answer(peer: socket.socket, answer: Callable[[list[str]], Awaitable[Answer]]) -> None:
    loop = asyncio.get_running_loop()
    question = await loop.sock_recv(peer, LINE)
    found = await answer(json.loads(question))
    if found.descriptors:
        rights = array.array("i", found.descriptors).tobytes()
        peer.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    else:
        await loop.sock_sendall(peer, b"\n")
    await loop.sock_sendall(peer, json.dumps(found.data).encode())


def _user_of(peer: socket.socket) -> int:
    _, user, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(user)


# From outside


def runs() -> list[int]:
    """The runs of this user that are up, by the id of their process."""
    pattern = re.compile(rf"@chapar-lab/{os.getuid()}/(\d+)$")
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
        found = {int(match[1]) for line in table if (match := pattern.search(line.rstrip()))}
    return sorted(found)


def ask(run: int | None, *question: str) -> Answer:
    """Ask a run, or (None) the only one that is up. Raises ControlError."""
    chosen = _the_run(run)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(f"\0chapar-lab/{os.getuid()}/{chosen}")
            sock.sendall(json.dumps(question).encode())
            _, descriptors, _, _ = socket.recv_fds(sock, 1, MOST_DESCRIPTORS)
            parts = []
            while part := sock.recv(1 << 16):
                parts.append(part)
            return Answer(json.loads(b"".join(parts)), tuple(descriptors))
        except (OSError, ValueError):
            raise ControlError(f"the run {chosen} does not answer: it is ending, or busy; try again") from None


def _the_run(run: int | None) -> int:
    up = runs()
    if run is not None and run not in up:
        raise ControlError(f"no run {run} is up; " + (f"there are {_list(up)}" if up else "there is none"))
    if not up:
        raise ControlError("no lab is up; start one with chapar-lab run SCENARIO.toml --hold")
    if run is None and len(up) > 1:
        raise ControlError(f"several labs are up; choose one with --run: {_list(up)}")
    return run if run is not None else up[0]


def _list(found: list[int]) -> str:
    return ", ".join(map(str, found))
