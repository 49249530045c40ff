"""What survives a restart, written by one thread in group commits, so that the event loop never waits for the disk.

`write` adds to a table of what is to be saved, by key, where the last value wins; the thread takes the whole table and
commits it as one. Somebody who waits (a `done`) gets the next commit at once; what nobody waits for may stay LINGER,
in which much of it is superseded and never written at all.

A disk that is full, read-only or broken loses nothing: the table is kept, which the state itself bounds, the thread
tries again, `fault` says why meanwhile, and once the disk is back everything is written and those who wait are told.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from chapard.database import Database, DiskError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["Disk", "DiskError"]

FILE: Final = "chapard.db"
LOCK_FILE: Final = "lock"
LINGER: Final = 0.05
"""Seconds that saves gather when nobody waits for them: at most 20 commits a second, and less wear of flash."""
RETRY_FIRST: Final = 0.1
RETRY_MAX: Final = 2.0
"""Seconds between attempts while the disk takes nothing, doubling from the first to the longest."""
WAITING: Final = 4096
"""Callbacks that wait; commits are fast, so only a fault brings them to that. Beyond it a later one takes the place of
the last, as it speaks for all earlier writes too."""
TRIM_AFTER: Final = 4096
"""Deletions after which the size of the file is looked at."""
GRACE: Final = 1.0
"""Seconds the thread gets to end once it was told to give up."""


class Disk:
    """The state directory of one daemon. Made by `open`; all methods but `open` are for one thread."""

    def __init__(self, database: Database, stored: set[str], release: ExitStack) -> None:
        self._database = database
        self._release = release
        self._stored = stored
        """Keys in the database: deleting any other one costs nothing."""
        self._deletions = TRIM_AFTER
        """Since the size of the file was looked at; of an earlier life there may be any number."""
        self._using = threading.Lock()
        """Held while the database is used."""
        self._changed = threading.Condition()
        """Guards all below."""
        self._queued: dict[str, bytes | None] = {}
        self._taken: dict[str, bytes | None] = {}
        """Under way to the database; the writer's own."""
        self._waiting: list[Callable[[], None]] = []
        self._fault: str | None = None
        self._is_closing = False
        self._has_given_up = False
        self._thread = threading.Thread(target=self._run, name="chapard-disk", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, directory: Path) -> Disk:
        """Take the directory for this process, and open or create what is in it. Raises DiskError."""
        with ExitStack() as stack:
            stack.callback(os.close, _lock(directory))
            database = Database.open(directory / FILE)
            stack.callback(database.close)
            return cls(database, database.keys(), stack.pop_all())

    def load(self) -> dict[str, bytes]:
        """Everything that is on the disk."""
        with self._using:
            return self._database.load()

    def write(self, saves: Sequence[tuple[str, bytes | None]], done: Callable[[], None] | None = None) -> None:
        """Save each value under its key (None: delete the key), all of these at once, without waiting.

        The writer thread calls `done`, which must not raise, when these and all earlier saves are on the disk. It may
        leave out one after which a later one is due at once.
        """
        with self._changed:
            if self._is_closing:
                raise DiskError("the disk was closed")
            is_news = not self._queued or (done is not None and not self._waiting)
            self._queued.update(saves)
            if done is not None:
                del self._waiting[WAITING - 1 :]
                self._waiting.append(done)
            if is_news:
                self._changed.notify()

    def fault(self) -> str | None:
        """Why the disk takes nothing at present; None if it does."""
        if not self._thread.is_alive() and not self._is_closing:
            return "the thread that writes has ended: restart chapard"
        return self._fault

    def pending(self) -> int:
        """Saves that are not on the disk yet."""
        with self._changed:
            return len(self._queued) + len(self._taken)

    def close(self, timeout: float) -> bool:
        """Write what is left, for at most so many seconds, and let the directory go. Whether all is on the disk."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(timeout)
        with self._changed:
            self._has_given_up = True
            self._changed.notify()
        self._thread.join(GRACE)
        return self.pending() == 0

    # The writer thread

    def _run(self) -> None:
        with self._release:
            while self._has_work() and self._write_out():
                pass

    def _has_work(self) -> bool:
        """Wait for something to do. False: there is nothing left, and nothing will come."""
        with self._changed:
            self._changed.wait_for(lambda: self._queued or self._waiting or self._is_closing)
            self._changed.wait_for(lambda: self._waiting or self._is_closing, LINGER)
            return bool(self._queued or self._waiting)

    def _write_out(self) -> bool:
        """Commit all there is, however long that takes, and tell those who wait. False: told to give up."""
        delay = RETRY_FIRST
        waiting = self._take()
        while not self._commit():
            if self._gives_up_after(delay):
                return False
            delay = min(2 * delay, RETRY_MAX)
            with self._using:
                self._database.empty_log()  # its space may be all that was missing
            waiting += self._take()
            del waiting[WAITING - 1 : -1]
        for done in waiting:
            done()
        self._trim()
        return True

    def _trim(self) -> None:
        """Now and then, give back what deletions left free; if that was not all, go on after the next commit."""
        if self._deletions >= TRIM_AFTER:
            with self._using:
                has_more = self._database.trim()
            self._deletions = TRIM_AFTER if has_more else 0

    def _take(self) -> list[Callable[[], None]]:
        """Take what has been queued, and whoever waits for it. What was to be put and then deleted is gone."""
        with self._changed:
            self._taken.update(self._queued)
            self._queued = {}
            waiting, self._waiting = self._waiting, []
        self._taken = {key: value for key, value in self._taken.items() if value is not None or key in self._stored}
        return waiting

    def _commit(self) -> bool:
        try:
            if self._taken or self._fault:
                with self._using:
                    self._database.apply(self._taken, after_fault=self._fault is not None)
        except DiskError as error:
            self._fault = str(error)
            return False
        gone = [key for key, value in self._taken.items() if value is None]
        self._stored.update(self._taken)
        self._stored.difference_update(gone)
        self._deletions += len(gone)
        self._taken = {}
        self._fault = None
        return True

    def _gives_up_after(self, delay: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._has_given_up, delay)


def _lock(directory: Path) -> int:
    """Take the directory for this process; the lock ends with the process, however that ends."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DiskError(
            f"cannot write to the state directory {directory}: {error.strerror}; make it writable for this user, set "
            f"node.state_dir to another, or set node.durable = false to keep nothing"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            raise DiskError(f"cannot lock {directory}: {error.strerror}; set node.state_dir to another") from None
        raise DiskError(
            f"{directory} is in use by another chapard (process {holder}): stop that one, or set node.state_dir to "
            f"another directory for this one"
        ) from None
    with suppress(OSError):  # a full disk; the number is only for people
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
