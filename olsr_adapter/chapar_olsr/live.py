"""Keeps the view of one source current: starts it again when it fails, and lets its last view age out.

A source that has failed may be back in a moment, and its routes may still be right: the last view stands for
`max_age` seconds. After that the node is alone, which is a state it can serve in. `state` says where it stands:

    ok          the view is what the source says now
    starting    there was no answer yet
    stale: …    the last view still stands, though the source has failed or fallen silent
    down: …     no view for so long, or never: this node serves alone

A source can fail and be back each second, so a log line is due to what lasts: from where there is no view, and back.
What failed is told as every other fault, once per kind and interval.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chapar_olsr.source import SourceError
from chapar_olsr.view import RouteView

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_olsr.faults import Faults
    from chapar_olsr.source import Source

OK: Final = "ok"
STARTING: Final = "starting"
MAX_AGE: Final = 15.0
"""Seconds: OLSR's own hold time for topology (RFC 3626, 18.3)."""
FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 8.0
"""Seconds before a source that failed is asked again; they double with each failure in a row."""

_log = logging.getLogger(__name__)


class LiveRoutes:
    """One source under supervision. `run` it; `view`, `state` and `version` say where it stands."""

    def __init__(self, source: Source, *, index: int, max_age: float | None = MAX_AGE) -> None:
        """`max_age` None: the last view stands for ever."""
        self.view = RouteView(index)
        self.state = STARTING
        self._source = source
        self._index = index
        self._max_age = max_age
        self._on_view: Callable[[RouteView], None] = lambda _: None
        self._ageing: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def version(self) -> int:
        return self.view.version

    @property
    def faults(self) -> Faults:
        """What was wrong with what the source said."""
        return self._source.faults

    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        """Hand over the view there is, and every later one that differs, until cancelled."""
        self._on_view = on_view
        on_view(self.view)
        self._age()
        retry = FIRST_RETRY
        try:
            while True:
                answered = await self._follow()
                retry = FIRST_RETRY if answered else min(2 * retry, LAST_RETRY)
                await asyncio.sleep(retry)
        finally:
            if self._ageing is not None:
                self._ageing.cancel()

    async def _follow(self) -> bool:
        """Follow the source until it fails; whether it gave a view."""
        answered = False
        try:
            async with aclosing(self._source.views()) as views:  # type: ignore[type-var]  # every one is a generator
                async for view in views:
                    answered = True
                    self._took(view)
                    self._tell_faults()
            raise SourceError("it has ended")
        except SourceError as error:
            self.faults.add(error.fault, str(error))
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - a mistake of ours in a source must not end the node's service
            _log.error("a mistake in the route source: please report this", exc_info=error)
            self._failed(f"a mistake in the route source ({type(error).__name__})")
        self._tell_faults()
        return answered

    def _took(self, view: RouteView) -> None:
        self._age()
        if self._is_down:
            _log.info("routes from %s: %d neighbours, %d nodes", self.name, len(view.neighbours), len(view.routes))
        self.state = OK
        self._change(view)

    def _failed(self, why: str) -> None:
        self.state = f"down: {why}" if self._is_down else f"stale: {why}"

    @property
    def _is_down(self) -> bool:
        """Whether no view stands: there was none, or it has aged out."""
        return self.view.version == 0 or self.state.startswith("down")

    def _age(self) -> None:
        """Begin to wait for the next sign of life."""
        if self._ageing is not None:
            self._ageing.cancel()
        if self._max_age is not None:
            self._ageing = asyncio.get_running_loop().call_later(self._max_age, self._aged_out)

    def _aged_out(self) -> None:
        self._ageing = None
        why = self.state.partition(": ")[2] or f"no answer for {self._max_age:g} s"
        self.state = f"down: {why}"
        _log.warning("routes from %s: %s; this node serves alone", self.name, self.state)
        if self.view.version:  # else nothing was ever known
            self._change(RouteView(self._index))

    def _change(self, view: RouteView) -> None:
        """Take a view; one that says the same as the last causes nothing, but its quality is the newer one."""
        if view == self.view and self.view.version:
            self.view = replace(view, version=self.view.version)
            return
        self.view = replace(view, version=self.view.version + 1)
        self._on_view(self.view)

    def _tell_faults(self) -> None:
        for fault, count, detail in self.faults.news(asyncio.get_running_loop().time()):
            _log.warning("routes from %s: %s (%d so far): %s", self.name, fault, count, detail)


