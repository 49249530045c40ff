"""The box that a lab runs in: namespaces of its own, whose first process takes everything in them with it when it ends.

The process that the user started stays outside, passes signals on, and waits. If it is killed, so is the first process
inside, and with that every process in the box; networks, mounts and files go with them. Nothing has to be cleaned up.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Final

from chapar_lab.namespaces import NamespaceError, end_with_parent, enter, furnish

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAILED: Final = 1
CANNOT: Final = 70
"""How the first process says that it could not furnish the box."""


class NoBoxError(Exception):
    """This machine allows no box; the message is one line that says why."""


def inside_box(work: Callable[[], int]) -> int:
    """Do `work` as the first process of a new box; returns its exit code. Raises NoBoxError if there can be none.

    Call it in a process with one thread; it is in other namespaces afterwards.
    """
    try:
        enter()
    except NamespaceError as error:
        raise NoBoxError(str(error.strerror)) from None
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _live(work)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == CANNOT:
        raise NoBoxError("mounts are refused in a new namespace of users")
    return code if code >= 0 else FAILED


def can_box() -> str:
    """Why this machine allows no box; empty if it does. Tried in a process of its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os._exit(inside_box(lambda: 0))
        except NoBoxError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(FAILED)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        why = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return "" if status == 0 else why or "the kernel refuses"


def _live(work: Callable[[], int]) -> None:
    """The life of the first process inside."""
    code = FAILED
    try:
        end_with_parent()
        try:
            furnish()
        except NamespaceError:
            code = CANNOT
        else:
            code = work()
    except KeyboardInterrupt:
        code = 130
    except Exception:  # noqa: BLE001 - a mistake of ours: nobody else would tell of it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
