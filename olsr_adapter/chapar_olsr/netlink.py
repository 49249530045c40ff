"""Netlink for a daemon that runs on any event loop.

pyroute2's asyncio interface opens its socket through the event loop, and uvloop opens none of netlink's. So netlink has
a thread and a plain loop of its own, and whoever wants something of it waits for the answer where they are.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")

CLOSING_PATIENCE = 2.0
"""Seconds for what is under way to end when netlink is closed."""


class NetlinkError(Exception):
    """The kernel refuses; `code` is an errno."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Netlink:
    """A connection to the kernel. `open` it, then `run` coroutines over `socket` in its thread."""

    def __init__(self) -> None:
        self.socket: Any = None
        """pyroute2's AsyncIPRoute, to be used in coroutines given to `run` only."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was opened, and not closed since."""
        return self._loop is not None

    async def open(self, groups: int = 0) -> None:
        """Connect, and hear of changes in these multicast groups. Raises NetlinkError, OSError or ImportError."""
        from pyroute2 import AsyncIPRoute  # noqa: PLC0415 - 0.1 s and 15 MB that most nodes do not need

        async def connect() -> None:
            self.socket = AsyncIPRoute()
            await self.socket.setup_endpoint()
            if groups:
                await self.socket.bind(groups)

        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="netlink", daemon=True)
        self._thread.start()
        await self.run(connect())

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What the coroutine gives, run in netlink's thread. Raises NetlinkError for a refusal of the kernel."""
        from pyroute2.netlink.exceptions import NetlinkError as Refusal  # noqa: PLC0415 - as above

        assert self._loop is not None, "it is open"
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        except Refusal as error:
            raise NetlinkError(error.code, str(error.args[-1])) from None

    async def close(self) -> None:
        """End the connection and its thread, if it is open."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None

        async def disconnect() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.socket is not None:
                self.socket.close()

        try:
            async with asyncio.timeout(CLOSING_PATIENCE):
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(disconnect(), loop))
        except TimeoutError:
            pass  # the thread is a daemon's: it ends with the process
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, CLOSING_PATIENCE)
        if not thread.is_alive():
            loop.close()
