"""Recording in the life of a daemon: it begins with what an earlier life left, and ends with nothing left to write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from chapard import log
from chapard.compaction import Compaction, what_lacks
from chapard.core.records import run_settings
from chapard.recorder import Recorder

if TYPE_CHECKING:
    from chapard.clock import Clock
    from chapard.core.config import Config
    from chapard.settings import Settings

FINISH_PATIENCE: Final = 5.0
"""Seconds at the end of a daemon for compacting; what is left is compacted at its next start."""

_log = logging.getLogger(__name__)


class Recording:
    """A recorder, and who compacts what it leaves."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._clock = clock
        self.recorder = Recorder(settings.record, settings.record_dir, settings.index, clock())
        self._compaction: Compaction | None = None
        lacks = what_lacks() if settings.record.compact else None
        if settings.record.compact and lacks is None:
            self._compaction = Compaction(settings.record_dir)
        how = {"lacks": lacks, "instead": "chapar-audit compact DIR, elsewhere"} if lacks else {}
        log.event(
            _log, logging.INFO, "recording", dir=settings.record_dir, run=settings.record.run,
            compacting=self._compaction is not None, **how,
        )  # fmt: skip

    def started(self, settings: Settings, config: Config, version: str) -> None:
        """The daemon works with this configuration; what an earlier life left is compacted now."""
        about = {**run_settings(config), "version": version, "routes": settings.routes.source}
        self.recorder.started(about, self._clock())
        if self._compaction is not None:
            self._compaction.soon()

    def look(self) -> None:
        """To be called now and then."""
        self.recorder.look(self._clock())
        if self.recorder.has_closed and self._compaction is not None:
            self.recorder.has_closed = False
            self._compaction.soon()

    async def close(self) -> None:
        """Record no more, and have compacted what there is time for."""
        self.recorder.close()
        if self._compaction is not None:
            self._compaction.soon()
            await self._compaction.finish(FINISH_PATIENCE)
