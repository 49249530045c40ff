"""What a daemon records of itself: the rows of all datasets, in spools until somebody compacts them.

A row costs well under a microsecond, and once it is written, the death of this process does not touch it. Nothing of
recording may hurt the daemon: where the disk is full or refuses, nothing is recorded until it takes something again,
which is tried now and then and told once, and how many rows are missing is recorded afterwards. Beyond its budget the
oldest files go, which is recorded too.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapard import log
from chapard.core.hotspool import HOT
from chapard.core.records import OF_A_NODE, VERSION, rows_of
from chapard.core.spool import SUFFIX, rows_in
from chapard.spoolfile import FullSpoolError, SpoolFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from chapard.core.effects import Effect
    from chapard.settings import RecordSettings

FOLDER: Final = "spool"
PROGRAM: Final = "chapard"
MICRO: Final = 1_000_000
RETRY_AFTER: Final = 60.0
"""Seconds until a disk that refused is tried again."""
SPARED: Final = ("runs", "removals")
"""Never removed: small, and nothing can be audited without."""
_NAME: Final = re.compile(r"(?P<began>\d{16})-(?P<node>\d+)-(?P<dataset>[a-z]+)(-(?P<rows>\d+)\.parquet|\.spool)")

_log = logging.getLogger(__name__)


class _Kept(NamedTuple):
    """A file that holds records of this node."""

    began: str
    dataset: str
    path: Path
    size: int
    rows: int | None
    """None: it is a spool, and they must be counted."""


class Recorder:
    """Records for one node, below one directory. Times are those of the daemon's clock."""

    def __init__(self, settings: RecordSettings, folder: Path, node: int, now: float) -> None:
        self.folder = folder
        self.fault: str | None = None
        """Why nothing is recorded at present."""
        self.has_closed = False
        """Whether spools wait to be compacted; for who does that to say that they do not."""
        self._settings = settings
        self._node = node
        self._datasets = tuple(name for name in OF_A_NODE if settings.frames or name != "frames")
        self._files: dict[str, SpoolFile] = {}
        self._began: dict[str, float] = {}
        """When each spool was begun."""
        self._first: set[SpoolFile] = set()
        """Spools that are kept without a row too: that nothing happened is worth knowing once."""
        self._missed: Counter[str] = Counter()
        self._adders: dict[type, Callable[[Any, int], None]] = {}
        self._now, self._ts_us = now, _us(now)
        self._tried = now
        self._last_name = 0
        self._begin_all(now)
        self._first.update(self._files.values())

    def started(self, settings: Mapping[str, Any], now: float) -> None:
        """A daemon with these settings has started."""
        text = json.dumps(settings, separators=(",", ":"))
        self._add("runs", (_us(now), VERSION, PROGRAM, self._settings.world, text), 1, now)

    def at(self, now: float) -> Callable[[Effect], None]:
        """What takes note of effects that are drained now, of those that are recorded."""
        self._now, self._ts_us = now, int(now * MICRO)
        return self._record

    def _record(self, effect: Effect) -> None:
        adder = self._adders.get(type(effect))
        if adder is not None:
            try:
                adder(effect, self._ts_us)
            except (FullSpoolError, OSError):  # the row is not there
                pass
            else:
                return
        for dataset, values, times in rows_of(effect, self._node, self._ts_us):
            self._add(dataset, values, times, self._now)

    def look(self, now: float) -> None:
        """Begin afresh what is old, keep to the budget, try a disk again that refused: to be called now and then."""
        if self.fault is not None:
            if now - self._tried >= RETRY_AFTER:
                self._try_again(now)
            return
        try:
            for dataset, began in [*self._began.items()]:
                if now - began >= self._settings.rotate_after and self._files[dataset].rows:
                    self._rotate(dataset, now)
            self._keep_to_budget(now)
        except OSError as error:
            self._refused(error, now)

    def close(self) -> None:
        """Record no more."""
        for dataset in [*self._files]:
            self._end(dataset)

    # Spools

    def _add(self, dataset: str, values: tuple[Any, ...], times: int, now: float) -> None:
        """Add a row, to a new spool if the one there is full; if the disk refuses, count it."""
        try:
            if dataset in self._files:
                try:
                    self._files[dataset].append(values, times)
                except FullSpoolError:
                    self._rotate(dataset, now)
                    self._files[dataset].append(values, times)
                return
        except OSError as error:
            self._refused(error, now)
        self._missed[dataset] += times

    def _rotate(self, dataset: str, now: float) -> None:
        self._end(dataset)
        self._begin(dataset, now)

    def _begin_all(self, now: float) -> bool:
        """Begin a spool of each dataset; whether the disk took them."""
        try:
            (self.folder / FOLDER).mkdir(parents=True, exist_ok=True)
            for dataset in self._datasets:
                self._begin(dataset, now)
        except OSError as error:
            self._refused(error, now)
            return False
        return True

    def _begin(self, dataset: str, now: float) -> None:
        self._last_name = max(self._last_name + 1, _us(now))
        path = self.folder / FOLDER / f"{self._last_name:016d}-{self._node}-{dataset}{SUFFIX}"
        settings = self._settings
        file = self._files[dataset] = SpoolFile(path, dataset, settings.run, self._node, settings.rotate_bytes)
        self._began[dataset] = now
        if file.adder is not None:
            self._adders[HOT[dataset][0]] = file.adder

    def _end(self, dataset: str) -> None:
        file = self._files.pop(dataset)
        del self._began[dataset]
        if file.adder is not None:
            del self._adders[HOT[dataset][0]]
        is_kept = file.rows > 0 or file in self._first
        self._first.discard(file)
        file.close(keep=is_kept)
        self.has_closed |= is_kept

    # A disk that refuses

    def _refused(self, error: OSError, now: float) -> None:
        for dataset in [*self._files]:
            self._end(dataset)
        if self.fault is None:
            why = f"{self.folder}: {error.strerror}"
            log.event(_log, logging.ERROR, "nothing is recorded: the disk refuses; all else goes on", detail=why)
        self.fault, self._tried = str(error.strerror), now

    def _try_again(self, now: float) -> None:
        if not self._begin_all(now):
            return
        missed, self._missed = self._missed, Counter()
        log.event(_log, logging.INFO, "recording again", after=self.fault, missed=missed.total())
        self.fault = None
        for dataset, rows in sorted(missed.items()):
            self._add("removals", (_us(now), dataset, rows, 0), 1, now)

    # The budget

    def _keep_to_budget(self, now: float) -> None:
        live = {file.path for file in self._files.values()}
        kept = sorted(self._kept())
        excess = sum(each.size for each in kept) - self._settings.budget_bytes
        for each in kept:
            if excess <= 0:
                return
            if each.path in live or each.dataset in SPARED:
                continue
            rows = _remove(each)
            if rows is not None:
                excess -= each.size
                self._add("removals", (_us(now), each.dataset, rows, each.size), 1, now)

    def _kept(self) -> Iterator[_Kept]:
        """The files of this node, of whichever run."""
        for pattern in (f"{FOLDER}/*{SUFFIX}", f"*/run=*/node={self._node}/*.parquet"):
            for path in self.folder.glob(pattern):
                found = _NAME.fullmatch(path.name)
                if found is None or int(found["node"]) != self._node:
                    continue
                try:
                    size = path.stat().st_blocks * 512
                except FileNotFoundError:  # compacted meanwhile
                    continue
                rows = found["rows"]
                yield _Kept(found["began"], found["dataset"], path, size, None if rows is None else int(rows))


def _us(now: float) -> int:
    return int(now * MICRO)


def _remove(kept: _Kept) -> int | None:
    """Remove a file and say how many rows were in it; None if it is not there any more, or somebody compacts it."""
    try:
        if kept.rows is not None:
            kept.path.unlink()
            return kept.rows
        with kept.path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(file.fileno()).st_nlink:
                return None
            rows = rows_in(file.read())
            kept.path.unlink()
            return rows
    except OSError:
        return None
