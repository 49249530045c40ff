"""Routes from a file written by hand, read again when it changes.

Once a second its mtime, size and inode are looked at (2 µs); only a change is read and parsed, in a thread, as the
edges of a large network take longer than a loop turn may (0.2 s for 20 000 edges).
"""

from __future__ import annotations

import asyncio
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.source import SourceError
from chapar_olsr.static import StaticRoutesError, parse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from chapar_olsr.view import RouteView

LOOK_EVERY: Final = 1.0
"""Seconds."""
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a routes file: ten times the edges of the largest network."""


class _Signature(NamedTuple):
    """What tells that a file has changed, without reading it."""

    inode: int
    size: int
    mtime_ns: int


class StaticSource:
    """Reads one file."""

    name: Final = "static"

    def __init__(self, file: Path, *, index: int, nodes: int, every: float = LOOK_EVERY) -> None:
        self.faults = Faults()
        self._file = file
        self._index = index
        self._nodes = nodes
        self._every = every

    async def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`."""
        signature: _Signature | None = None
        view: RouteView | None = None
        while True:
            # Looked at before it is read: whatever is written from here on is seen as a change.
            now = self._look()
            if view is None or now != signature:
                view = await asyncio.to_thread(self.load)
                signature = now
            yield view
            await asyncio.sleep(self._every)

    def load(self) -> RouteView:
        """The view that the file gives now. Raises SourceError."""
        self._look()
        try:
            with self._file.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise self._no_file(error) from None
        if len(data) > MAX_FILE_BYTES:
            raise SourceError(f"{self._file}: a routes file has at most {MAX_FILE_BYTES} bytes", Fault.TOO_LARGE)
        try:
            return parse(data.decode(), index=self._index, nodes=self._nodes)
        except UnicodeDecodeError:
            raise SourceError(f"{self._file}: this is not a text in UTF-8", Fault.SYNTAX) from None
        except StaticRoutesError as error:
            raise SourceError(f"{self._file}: {error}", Fault.SYNTAX) from None

    def _look(self) -> _Signature:
        try:
            status = self._file.stat()
        except OSError as error:
            raise self._no_file(error) from None
        if not S_ISREG(status.st_mode):  # reading from a pipe might never end
            raise self._no_file(OSError(0, "not a regular file"))
        return _Signature(status.st_ino, status.st_size, status.st_mtime_ns)

    def _no_file(self, error: OSError) -> SourceError:
        why = error.strerror or error
        return SourceError(f"{self._file}: {why}; write it (neighbours = [2, 3]) or set routes.source to none")
