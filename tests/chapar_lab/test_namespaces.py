"""Namespaces: entered, furnished, and gone back and forth between."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from boxed import END_PATIENCE, boxed, marked, marker, open_box, sleeper, wait_until
from chapar_lab.namespaces import (
    SCRATCH,
    NamespaceError,
    end_with_parent,
    enter,
    inside,
    mount,
    new_network,
    setns,
    staying,
)

PR_SET_DUMPABLE = 4
NETWORK = "/proc/thread-self/ns/net"


def of(descriptor: int) -> int:
    """Which namespace a descriptor is of."""
    return os.fstat(descriptor).st_ino


def here() -> int:
    """The network namespace of this thread."""
    return os.stat(NETWORK).st_ino


def test_a_network_is_made_without_going_there() -> None:
    """Two are two others; nothing is in them but a loopback that is down."""

    def work() -> tuple[list[int], list[int], str]:
        before = here()
        first, second = new_network(), new_network()
        with inside(first):
            devices = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
        return [before, here()], [of(first), of(second)], devices

    (before, after), made, devices = boxed(work)
    assert before == after
    assert len({before, *made}) == 3
    assert [line.split(":")[0].strip() for line in devices.splitlines()[2:]] == ["lo"]


def test_inside_a_network_are_the_processes_started_there_and_nobody_afterwards() -> None:
    """The way back is taken also from an exception, and from a network within another."""

    def work() -> list[bool]:
        home, first, second = here(), new_network(), new_network()
        print_it = [sys.executable, "-S", "-c", f"import os; print(os.stat({NETWORK!r}).st_ino)"]
        with inside(first):
            with inside(second):
                deep = here() == of(second)
            between = here() == of(first)
            child = int(subprocess.check_output(print_it)) == of(first)  # noqa: S603 - our own
        back = here() == home
        try:
            with inside(first):
                raise RuntimeError
        except RuntimeError:
            again = here() == home
        with staying():
            setns(second)
        return [deep, between, child, back, again, here() == home]

    assert boxed(work) == [True] * 6


def test_a_descriptor_of_something_else_is_refused() -> None:
    """With what the kernel says, and this thread stays where it is."""
    before = here()
    with open("/dev/null", "rb") as file, pytest.raises(NamespaceError, match="setns: "):
        setns(file.fileno())
    assert here() == before


def test_mounts_are_refused_in_words() -> None:
    """The target is named."""
    error = boxed(lambda: str(_error_of_mounting("/nowhere")))
    assert error == "[Errno 2] mount /nowhere: No such file or directory"


def _error_of_mounting(target: str) -> NamespaceError:
    with pytest.raises(NamespaceError) as caught:
        mount("tmpfs", target, "tmpfs")
    return caught.value


def test_a_furnished_box_has_an_empty_place_for_files() -> None:
    """In memory, and of its own."""

    def work() -> tuple[list[str], str]:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        (kind,) = {line.split()[2] for line in lines if line.split()[1] == SCRATCH and line.startswith("tmpfs")}
        return os.listdir(SCRATCH), kind

    assert boxed(work) == ([], "tmpfs")


def test_a_process_that_ends_with_its_parent() -> None:
    """The kernel kills it, however its parent ended."""
    word = marker()

    def work() -> None:
        parent = os.fork()
        if parent == 0:
            if os.fork() == 0:
                end_with_parent()
                os.execv(sys.executable, sleeper(word))  # noqa: S606 - our own
            signal.pause()
        wait_until(lambda: marked(word), END_PATIENCE, "the sleeper")
        os.kill(parent, signal.SIGKILL)
        wait_until(lambda: not marked(word), END_PATIENCE, "the end of the sleeper")

    with open_box(work) as box:
        box.result()


def test_somebody_without_privileges_becomes_root_in_a_namespace_of_users() -> None:
    """With their own user behind it."""

    def work() -> tuple[bool, int, list[str]] | None:
        try:
            os.setgid(65534)
            os.setuid(65534)
        except OSError:
            return None  # root of a namespace with one user
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, ctypes.c_ulong(1))  # as if they had started this process themselves
        way = enter()
        return way.is_user, os.getuid(), Path("/proc/self/uid_map").read_text(encoding="utf-8").split()

    found = boxed(work)
    if found is None:
        pytest.skip("nobody else to be than root")
    assert found == (True, 0, ["0", "65534", "1"])
