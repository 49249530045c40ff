"""Standard input and output in the loop, shown with pipes and files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

import pytest

from chapar.cli.streams import CHUNK, LineTooLong, lines, watch_reader, write

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 10.0


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe; those a test has not closed itself are closed after it."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


async def collected(descriptor: int, limit: int = 100) -> list[bytes]:
    async with asyncio.timeout(LIMIT):
        return [line async for line in lines(descriptor, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"\n", [b""]),
        (b"a\r\n\xff\0", [b"a\r", b"\xff\0"]),
        (b"x" * 100 + b"\ny", [b"x" * 100, b"y"]),
    ],
)
def test_lines_are_cut_at_newlines_only(text: bytes, expected: list[bytes]) -> None:
    """From a pipe and from a file alike; the last line needs no newline."""
    with pipe() as (source, target), tempfile.TemporaryFile() as file:
        os.write(target, text)
        os.close(target)
        assert asyncio.run(collected(source)) == expected
        file.write(text)
        file.seek(0)
        assert asyncio.run(collected(file.fileno())) == expected


def test_a_line_comes_as_soon_as_it_is_there() -> None:
    """The writer waits for each line to arrive before it writes the next, so nothing is held back."""

    async def dialogue(source: int, target: int) -> list[bytes]:
        seen = []
        os.write(target, b"0\npart of ")
        async with asyncio.timeout(LIMIT):
            async for line in lines(source, 100):
                seen.append(line)
                if len(seen) < 5:
                    os.write(target, b"%d\n" % len(seen))
                else:
                    break
        return seen

    with pipe() as (source, target):
        assert asyncio.run(dialogue(source, target)) == [b"0", b"part of 1", b"2", b"3", b"4"]


def test_nothing_is_read_while_the_consumer_is_busy() -> None:
    """Of endless input, at most a chunk is in memory."""

    async def first(source: int) -> bytes:
        async with asyncio.timeout(LIMIT):
            return await anext(lines(source, 100))

    with tempfile.TemporaryFile() as file:
        file.write(b"line\n" * CHUNK)
        file.seek(0)
        assert asyncio.run(first(file.fileno())) == b"line"
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == CHUNK


@pytest.mark.parametrize("text", [b"ok\n" + b"x" * 101 + b"\n", b"ok\n" + b"x" * 101])
def test_a_line_without_end_is_refused(text: bytes) -> None:
    """By its number, before memory fills, and after the lines in front of it."""

    async def until_refused(source: int) -> bytes:
        reading = lines(source, 100)
        first = await anext(reading)
        with pytest.raises(LineTooLong) as raised:
            await anext(reading)
        assert raised.value.number == 2
        return first

    with pipe() as (source, target):
        os.write(target, text)
        assert asyncio.run(until_refused(source)) == b"ok"


def test_a_slow_reader_stops_nobody_else() -> None:
    """More than a pipe holds is written while the same loop reads it: a blocking write would never return."""
    data = os.urandom(300_000)

    async def both(source: int, target: int) -> bytes:
        async with asyncio.timeout(LIMIT):
            writing = asyncio.create_task(write(target, data))
            read = b""
            while len(read) < len(data):
                await readable(source)
                read += os.read(source, CHUNK)
            await writing
            return read

    with pipe() as (source, target):
        assert asyncio.run(both(source, target)) == data


async def readable(descriptor: int) -> None:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ready.set)
    await ready.wait()
    loop.remove_reader(descriptor)


def test_a_reader_that_has_gone_is_an_error_to_the_writer() -> None:
    """BrokenPipeError, while it waits too."""

    async def write_much(source: int, target: int) -> None:
        writing = asyncio.create_task(write(target, bytes(300_000)))
        await asyncio.sleep(0)
        os.close(source)
        async with asyncio.timeout(LIMIT):
            await writing

    with pipe() as (source, target), pytest.raises(BrokenPipeError):
        asyncio.run(write_much(source, target))


def test_a_reader_that_goes_is_noticed_without_writing() -> None:
    """As soon as it goes, and not before."""

    async def watched(source: int, target: int) -> None:
        gone = asyncio.Event()
        watch_reader(target, gone.set)
        await write(target, b"data that nobody has read yet")
        await asyncio.sleep(0)
        assert not gone.is_set()
        os.close(source)
        async with asyncio.timeout(LIMIT):
            await gone.wait()

    with pipe() as (source, target):
        asyncio.run(watched(source, target))


def test_what_is_no_pipe_is_not_watched() -> None:
    """Nor what is closed: there is no reader to lose."""

    async def watched(descriptor: int) -> None:
        watch_reader(descriptor, lambda: pytest.fail("nobody can have gone"))
        await asyncio.sleep(0)

    with tempfile.TemporaryFile() as file:
        asyncio.run(watched(file.fileno()))
        closed = os.dup(file.fileno())
        os.close(closed)
        asyncio.run(watched(closed))
