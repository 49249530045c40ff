"""Running until done or told to stop, in a process of its own: signals are not for the test runner."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 30.0
PROGRAM = """
import asyncio, os, sys
from chapar.cli import stopping
from chapar.cli.exits import Exit

async def work():
    try:
        os.write(1, b"ready\\n")
        {what}
        return Exit.FAILED
    finally:
        os.write(2, b"goodbye")

sys.exit(stopping.run(work()))
"""


@contextlib.contextmanager
def running(what: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, doing `what`, once it has said that it runs."""
    arguments = [sys.executable, "-W", "error", "-c", PROGRAM.format(what=what)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Its exit code and what it said at the end."""
    assert process.stderr is not None
    return process.wait(LIMIT), process.stderr.read()


def test_work_that_ends_gives_the_exit_code() -> None:
    """Its own."""
    with running("pass") as process:
        assert ended(process) == (1, b"goodbye")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_the_work(number: signal.Signals, code: int) -> None:
    """It can say goodbye; the exit code is what shells give, and there is no traceback."""
    with running("await asyncio.sleep(60)") as process:
        process.send_signal(number)
        assert ended(process) == (code, b"goodbye")


def test_a_reader_who_leaves_ends_the_work() -> None:
    """Without anything being written; that is success."""
    with running("await asyncio.sleep(60)") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert ended(process) == (0, b"goodbye")


def test_a_write_to_nobody_ends_the_work() -> None:
    """The same, if the writer is the one to find out."""
    with running("raise BrokenPipeError") as process:
        assert ended(process) == (0, b"goodbye")


def test_work_that_cancels_itself_is_no_stop() -> None:
    """A bug is not hidden as an exit code."""
    with running("raise asyncio.CancelledError") as process:
        code, err = ended(process)
        assert code == 1
        assert b"CancelledError" in err
