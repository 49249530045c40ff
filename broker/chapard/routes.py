"""Where route views come from: the one module of the daemon that knows the route adapter.

A source runs as a task and hands every new view to the daemon; the daemon knows none of its ways. `StaticRoutes` is a
file that is read again when it changes. Once a second its mtime, size and inode are looked at (2 µs); only a change is
read and parsed, in a thread, as the edges of a large network take longer than a loop turn may (0.2 s for 20 000 edges).

A source that fails keeps its last view: routes that were right a moment ago are better than none. Its state says so.
"""

from __future__ import annotations

import asyncio
import logging
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from chapar_olsr.static import StaticRoutesError, parse
from chapar_olsr.view import RouteView as StaticView
from chapard.log import event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chapard.core.topology import RouteView

OK: Final = "ok"
"""The state of a source whose view is what it supplies now; any other state is a sentence."""
POLL_SECONDS: Final = 1.0
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a routes file: ten times the edges of the largest network."""

_log = logging.getLogger(__name__)


class RoutesError(Exception):
    """There are no routes to start with; the message is one line that says what to do."""


class RouteSource(Protocol):
    """Whatever supplies routes."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str:
        """`OK`, or a sentence that says what is wrong."""
    @property
    def view(self) -> RouteView | None:
        """The last view, None before the first."""
    @property
    def version(self) -> int:
        """How many views there were."""
    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        """Hand over the view there is and every later one that differs, until cancelled."""


class NoRoutes:
    """The source of a node that is alone."""

    name = "none"
    state = OK
    version = 1

    def __init__(self, *, index: int) -> None:
        self.view: RouteView = StaticView(index)

    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        on_view(self.view)
        await asyncio.get_running_loop().create_future()


class _Signature(NamedTuple):
    """What tells that a file has changed, without reading it."""

    inode: int
    size: int
    mtime_ns: int


class _Reading(NamedTuple):
    """A file as it was read: the view, or what is wrong with it."""

    signature: _Signature
    found: RouteView | str


class StaticRoutes:
    """A file written by hand, read again when it changes."""

    name = "static"

    def __init__(self, file: Path, *, index: int, nodes: int, every: float = POLL_SECONDS) -> None:
        self.state = "starting"
        self.view: RouteView | None = None
        self.version = 0
        self._file = file
        self._index = index
        self._nodes = nodes
        self._every = every
        self._signature: _Signature | None = None
        """The file as it was when it was read; None if it could not be and is to be tried again."""

    def load(self) -> None:
        """Read the file before the daemon starts, or to check it. Raises RoutesError if it gives no view."""
        try:
            reading = self._reading()
        except OSError as error:
            raise RoutesError(self._no_file(error)) from None
        if isinstance(reading.found, str):
            raise RoutesError(f"{self._file}: {reading.found}")
        self._took(reading)

    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        told = None
        while True:
            await self.refresh()
            if self.view is not None and self.view is not told:
                told = self.view
                on_view(told)
            await asyncio.sleep(self._every)

    async def refresh(self) -> None:
        """Read the file if it is not as it was."""
        try:
            if _signature_of(self._file) != self._signature:
                self._took(await asyncio.to_thread(self._reading))
        except OSError as error:
            self._signature = None
            self._failed(self._no_file(error))

    def _reading(self) -> _Reading:
        # Looked at before it is read: whatever is written from here on is seen as a change.
        signature = _signature_of(self._file)
        with self._file.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            return _Reading(signature, f"a routes file has at most {MAX_FILE_BYTES} bytes")
        try:
            return _Reading(signature, parse(data.decode(), index=self._index, nodes=self._nodes))
        except UnicodeDecodeError:
            return _Reading(signature, "this is not a text in UTF-8")
        except StaticRoutesError as error:
            return _Reading(signature, str(error))

    def _took(self, reading: _Reading) -> None:
        self._signature, found = reading
        if isinstance(found, str):
            self._failed(f"{self._file}: {found}")
            return
        is_news = found != self.view
        if is_news:
            self.view = found
            self.version += 1
        if is_news or self.state != OK:
            self.state = OK
            counts = {"neighbours": len(found.neighbours), "destinations": len(found.routes)}
            event(_log, logging.INFO, "routes read", file=self._file, **counts)

    def _failed(self, why: str) -> None:
        state = f"down: {why}" if self.view is None else f"stale: {why}"
        if state != self.state:
            self.state = state
            event(_log, logging.WARNING, "routes not read", state=state)

    def _no_file(self, error: OSError) -> str:
        return f"{self._file}: {error.strerror or error}; write it (neighbours = [2, 3]) or set routes.source to none"


def source_of(kind: str, file: Path, *, index: int, nodes: int) -> NoRoutes | StaticRoutes:
    """The source that the configuration names."""
    if kind == NoRoutes.name:
        return NoRoutes(index=index)
    assert kind == StaticRoutes.name, "the settings have been checked"
    return StaticRoutes(file, index=index, nodes=nodes)


def _signature_of(file: Path) -> _Signature:
    status = file.stat()
    if not S_ISREG(status.st_mode):  # reading from a pipe might never end
        raise OSError(0, "not a regular file")
    return _Signature(status.st_ino, status.st_size, status.st_mtime_ns)

