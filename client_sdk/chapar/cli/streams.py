"""Standard input and output in the loop, so that the command composes in pipelines without a thread.

Neither is made non-blocking: that would change them for every other process that shares them. Instead, no read or write
starts before the descriptor is ready for it; of what is not a pipe, terminal or socket, that is always.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

CHUNK: Final = 64 * 1024
"""Bytes read at a time: what a pipe holds."""


class LineTooLong(Exception):  # noqa: N818 - the sender's fault, told in the command's own words
    """Line `number` has no end within the limit."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number}")
        self.number = number


async def lines(descriptor: int, limit: int) -> AsyncIterator[bytes]:
    """Each line as soon as it is there, without its newline; the last one need not have any.

    Nothing is read while the consumer is busy. Raises LineTooLong for a line of more than `limit` bytes.
    """
    rest = b""
    number = 0
    while chunk := await _read(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            if len(line) > limit:
                raise LineTooLong(number)
            yield line
        if len(rest) > limit:
            raise LineTooLong(number + 1)
    if rest:
        yield rest


async def _read(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    try:
        loop.add_reader(descriptor, _settle, ready)
    except PermissionError:  # a regular file: always ready, and not known to epoll
        return os.read(descriptor, CHUNK)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, CHUNK)


async def write(descriptor: int, data: bytes) -> None:
    """Write all of `data`. Others run while the reader is slow. Raises BrokenPipeError when it has gone."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    while data:
        if not poll.poll(0):
            await _writable(descriptor)
        # So much a pipe that is ready takes without blocking.
        data = data[os.write(descriptor, data[: select.PIPE_BUF]) :]


async def _writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(descriptor, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_writer(descriptor)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def watch_reader(descriptor: int, gone: Callable[[], None]) -> None:
    """Call `gone` when whoever reads the pipe `descriptor` goes away, so that the writer need not try to find out."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # closed by whoever started us
        return
    if not is_pipe:
        return
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(descriptor)
        gone()

    # The writing end is never readable: this fires for the error that a missing reader is.
    loop.add_reader(descriptor, end)
