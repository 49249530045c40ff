"""A spool on the disk: rows are written into memory that is the file, so that what was written survives the process.

Room is taken from the disk before it is written to, in steps: a full disk is an error when a spool grows, and never a
signal when a row is added. As long as a spool is written it is locked; who finds it without a lock knows that its
writer is gone, whether that closed it or was killed.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from mmap import mmap
from typing import TYPE_CHECKING, Final

from chapard.core.hotspool import HOT
from chapard.core.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path

FIRST_ROOM: Final = 64 * 1024
"""Bytes of a new spool; it doubles when they are used up."""
LARGEST_STEP: Final = 1024 * 1024


class FullSpoolError(Exception):
    """This spool has its size: go on with another."""


class SpoolFile:
    """Writes rows of one dataset to a new file. Raises OSError where the disk refuses."""

    def __init__(self, path: Path, dataset: str, run: str, node: int, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            os.posix_fallocate(self._descriptor, 0, FIRST_ROOM)
            self._memory = mmap(self._descriptor, FIRST_ROOM)
            self._spool = Spool(dataset, run, node, self._memory, self._grow)
        except BaseException:
            path.unlink(missing_ok=True)
            os.close(self._descriptor)
            raise
        hot = HOT.get(dataset)
        self.adder = hot[1](self._spool) if hot is not None else None
        """Adds rows of the effect of this dataset, if it has a quick way."""
        self.append = self._spool.append
        """Add a row, as `Spool.append` does. Raises FullSpoolError when this file has reached its limit."""

    @property
    def rows(self) -> int:
        return self._spool.rows

    def _grow(self, end: int) -> None:
        size = len(self._memory)
        wanted = max(end, size + min(size, LARGEST_STEP))
        if wanted > self._limit and self.rows:
            raise FullSpoolError
        os.posix_fallocate(self._descriptor, size, wanted - size)
        self._memory.resize(wanted)

    def close(self, *, keep: bool = True) -> None:
        """Give back what was not used, and let go of it; `keep` False: and forget it."""
        used = self._spool.used
        self._memory.close()
        try:
            if keep:
                with suppress(OSError):  # zeros at its end do not matter
                    os.ftruncate(self._descriptor, used)
            else:
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self._descriptor)
