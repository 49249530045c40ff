"""Has spools compacted by a process that lives as long as that takes: this one never pays for loading pyarrow."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from chapard import log

if TYPE_CHECKING:
    from pathlib import Path

COMPACTOR: Final = "chapar_audit.compact"
NEEDED: Final = ("pyarrow", "numpy", "chapar_audit")

_log = logging.getLogger(__name__)


def what_lacks() -> str | None:
    """What is not installed that compacting needs; None if all is."""
    return next((name for name in NEEDED if find_spec(name) is None), None)


class Compaction:
    """Compacts what lies below one directory, whenever that is asked for; one process at a time."""

    def __init__(self, folder: Path, module: str = COMPACTOR) -> None:
        self._command = (sys.executable, "-m", module, str(folder))
        self._task: asyncio.Task[None] | None = None
        self._is_due = False

    def soon(self) -> None:
        """Compact; if that is under way, once more after it."""
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def finish(self, patience: float) -> bool:
        """Wait until all that was asked for is done, or end it: what it leaves is compacted another time."""
        task = self._task
        if task is None:
            return True
        done, _ = await asyncio.wait([task], timeout=patience)
        if not done:
            task.cancel()
            await asyncio.wait([task])
        return bool(done)

    async def _run(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._compact()
            except OSError as error:
                log.event(_log, logging.WARNING, "records are not compacted", detail=error)

    async def _compact(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await process.communicate()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            for line in said.decode(errors="replace").splitlines()[-1:]:
                log.event(_log, logging.WARNING, "records are not compacted", detail=line)
