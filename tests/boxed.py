"""Work done inside a box: a child of the test's process makes one, and its first process does the work.

    assert boxed(lambda: os.getpid()) == 1

What the work returns comes back, an exception of it as AssertionError with its trace. Where there can be no box, the
test is skipped. `open_box` gives the box while it works, for tests that end it or look at it from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pickle
import select
import signal
import sys
import time
import traceback
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import pytest

from chapar_lab.box import NoBoxError, can_box, inside_box
from chapar_lab.namespaces import end_with_parent
from chapar_lab.wiring import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

T = TypeVar("T")
PATIENCE: Final = 60.0
"""Seconds for the work in a box."""
END_PATIENCE: Final = 10.0
"""Seconds for the kernel to clear away a box, on a busy machine."""
LOOK_EVERY: Final = 0.01
_serial = count(1)


@functools.cache
def _why_not() -> str:
    return can_box()


def require_box() -> None:
    """Skip the test where there can be no box."""
    if why := _why_not():
        pytest.skip(f"no box here: {why}")


class Box(Generic[T]):
    """A box at work, as the process outside sees it."""

    def __init__(self, pid: int, result: int) -> None:
        self.pid = pid
        """Of the process that waits outside the box."""
        self._result = result

    def first(self) -> int:
        """The first process inside, as this process knows it; 0 before there is one."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
        return int(children[0]) if children else 0

    def result(self) -> T:
        """What the work came to."""
        kind, value = self._read()
        if kind == "raised":
            raise AssertionError(f"in the box:\n{value}")
        found: T = value
        return found

    def _read(self) -> tuple[str, Any]:
        deadline = time.monotonic() + PATIENCE
        data = b""
        while select.select([self._result], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(self._result, 1 << 16)
            if not part:
                assert data, "the box has ended without a result"
                kind, value = pickle.loads(data)  # noqa: S301 - from our own child
                return kind, value
            data += part
        raise AssertionError(f"the box was not done within {PATIENCE:g} s")

    def ended(self) -> int:
        """Wait for its end; the exit code of the process outside, as Popen would have it."""
        wait_until(self._reap, END_PATIENCE, "the end of the box")
        return self.code

    def _reap(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.pid = 0
            self.code = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._result)


@contextlib.contextmanager
def open_box(work: Callable[[], T], *, code: Callable[[T], int] = lambda _: 0) -> Iterator[Box[T]]:
    """A box in which `work` is done; `code` is the exit code that follows from what it returns."""
    require_box()
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        with contextlib.suppress(BaseException):
            end_with_parent()
            os._exit(_outside(work, code, writing))
        os._exit(1)
    os.close(writing)
    box: Box[T] = Box(pid, reading)
    try:
        yield box
    finally:
        box.close()


def boxed(work: Callable[[], T]) -> T:
    """Do the work as the first process of a box; what it returns, which must be something that pickle takes."""
    with open_box(work) as box:
        return box.result()


def wired(nodes: Sequence[int], work: Callable[[dict[int, int]], Coroutine[Any, Any, T]]) -> T:
    """Do the work in a box with these nodes; it is given their networks."""
    return boxed(lambda: asyncio.run(work(wire(nodes))))


def _outside(work: Callable[[], T], code: Callable[[T], int], writing: int) -> int:
    """The process that makes the box and waits outside it."""

    def first() -> int:
        try:
            value = work()
            data = pickle.dumps(("returned", value))
        except BaseException:  # noqa: BLE001 - whatever it was, the test is to show it
            data = pickle.dumps(("raised", traceback.format_exc()))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)
        kind, value = pickle.loads(data)  # noqa: S301 - our own
        return code(value) if kind == "returned" else 1

    try:
        return inside_box(first)
    except NoBoxError as error:
        os.write(writing, pickle.dumps(("raised", str(error))))
        return 1


# From outside


def marker() -> str:
    """A word that no other process has among its arguments."""
    return f"chapar-marked-{os.getpid()}-{next(_serial)}"


def sleeper(word: str) -> list[str]:
    """A command that does nothing for longer than any test, with a marker."""
    return [sys.executable, "-S", "-c", "import signal; signal.pause()", word]


def marked(word: str) -> list[int]:
    """The processes with a marker among their arguments, as this process sees them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found


def wait_until(condition: Callable[[], T], patience: float, what: str) -> T:
    """What the condition gives once it is true."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        time.sleep(LOOK_EVERY)
    return found
