"""An event loop whose clock jumps to the next timer: waiting costs no time, and the order of things is the same."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

GRACE = 0.02
"""Seconds of real time that sockets and threads get before the clock jumps, if the loop has nothing else to do."""


class _Selector(selectors.DefaultSelector):
    """Waits for sockets a moment; then time has passed."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        ready = super().select(GRACE if self._loop.has_company else 0)
        if not ready and timeout is not None:
            self._loop.jump(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time is what was waited for. With `has_company`, real sockets or threads take part, and get their time."""

    def __init__(self, *, has_company: bool = False) -> None:
        self._virtual = 1000.0
        self.has_company = has_company
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._virtual

    def jump(self, seconds: float) -> None:
        self._virtual += seconds


def run(work: Coroutine[Any, Any, None], *, has_company: bool = False) -> None:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(has_company=has_company)) as runner:
        runner.run(work)
