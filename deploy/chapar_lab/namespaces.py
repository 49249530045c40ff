"""Linux namespaces: entering new ones, with or without privileges, and going back and forth between them.

A lab lives in namespaces of its own for users, mounts, processes and networks. They have no names, so nothing of them
is left when the last process in them has ended; and the first process of a namespace of processes takes all others
with it, however it ends. A user without privileges is root in a namespace of users of its own, and may do all the rest
there.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# <linux/sched.h>
NEW_MOUNT: Final = 0x00020000
NEW_IPC: Final = 0x08000000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000
# <linux/mount.h>
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 1 << 18
# <linux/prctl.h>
PR_SET_PDEATHSIG: Final = 1

SCRATCH: Final = "/run"
"""Where a lab keeps its files: a tmpfs of its own is mounted there, which nobody else sees."""


class NamespaceError(OSError):
    """The kernel refused; the message says what."""


class Way(NamedTuple):
    """How namespaces were entered."""

    is_user: bool
    """As the root of a namespace of users, not of the machine."""


_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise NamespaceError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Have the calling thread in new namespaces (of processes: its next child)."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, flags: int = 0) -> None:
    """Enter the namespace of a descriptor."""
    _check(_libc.setns(fd, flags), "setns")


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system, or change how one is mounted."""
    arguments = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*arguments), f"mount {target}")


def end_with_parent() -> None:
    """From now on the kernel kills this process when its parent has ended."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)), "prctl")


def enter() -> Way:
    """Enter new namespaces for everything; the next child of this process is the first in its namespace of processes.

    Root does without a namespace of users where it may, as sockets then get all the room they ask for. Others, and a
    root that may not, need one. Raises NamespaceError if neither works. Call it in a process with one thread.
    """
    user, group = os.geteuid(), os.getegid()
    rest = NEW_MOUNT | NEW_NETWORK | NEW_PROCESSES | NEW_IPC
    if user == 0:
        with suppress(NamespaceError):
            unshare(rest)
            return Way(is_user=False)
    unshare(NEW_USER | rest)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")
    return Way(is_user=True)


def furnish() -> None:
    """In the first process of the new namespaces: mounts of its own, with a view of its own processes."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")


def new_network() -> int:
    """A new network namespace, as a descriptor that keeps it; this thread stays where it is."""
    with staying():
        unshare(NEW_NETWORK)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextmanager
def inside(network: int) -> Iterator[None]:
    """Be in a network namespace: sockets opened and processes started here belong to it for good."""
    with staying():
        setns(network, NEW_NETWORK)
        yield


@contextmanager
def staying() -> Iterator[None]:
    """Come back to the network namespace of now, whatever happens in between."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        setns(here, NEW_NETWORK)
        os.close(here)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise NamespaceError(error.errno, f"{path}: {error.strerror}") from None
