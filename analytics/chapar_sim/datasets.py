"""The datasets of a run: what the daemons said of themselves, and what the medium saw (`air`), as Parquet.

The rows are packed as the real daemon packs them (`chapard.core.spool`), and the same compactor makes files of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from chapar.event import later
from chapar_sim.trace import MICRO
from chapard.core.effects import DeliveryRow, PublishRow
from chapard.core.records import AIR, OF_A_NODE, VERSION, rows_of, run_settings
from chapard.core.spool import SUFFIX, Spool

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chapar.event import EventId
    from chapar_sim.trace import AirRow, Trace
    from chapard.core.config import Config
    from chapard.core.effects import Effect

FOLDER: Final = "spool"
"""Where spools lie until they have been compacted."""
COMPACTOR: Final = ("-m", "chapar_audit.compact")
SMALLEST: Final = 4096
"""Bytes of a buffer; it doubles when it is full."""
PROGRAM, WORLD = "chapar-sim", "sim"


class DatasetsError(Exception):
    """The datasets could not be written; the message says why."""


class Recorder:
    """Packs what the daemons of a run did into the trace."""

    def __init__(self, trace: Trace, run: str) -> None:
        self._buffers = trace.spools
        self._run = run
        self._spools: dict[tuple[str, int], Spool] = {}
        self._published: dict[EventId, int] = {}

    def started(self, time: float, node: int, config: Config) -> None:
        """A daemon has started."""
        settings = json.dumps(run_settings(config), separators=(",", ":"))
        self._append("runs", node, (round(time * MICRO), VERSION, PROGRAM, WORLD, settings))

    def record(self, time: float, node: int, effect: Effect) -> None:
        """A daemon drained this effect. Deliveries learn here when their event was published."""
        ts_us = round(time * MICRO)
        if isinstance(effect, PublishRow):
            for place in range(effect.times):
                self._published[later(effect.event_id, place)] = ts_us
        if isinstance(effect, DeliveryRow):
            self._delivered(node, ts_us, effect)
            return
        for dataset, values, times in rows_of(effect, node, ts_us):
            self._append(dataset, node, values, times)

    def _delivered(self, node: int, ts_us: int, row: DeliveryRow) -> None:
        clients, first, origin, hops, via, queued_us, times = row
        for event_id in (later(first, place) for place in range(times)):
            published = self._published.get(event_id)
            for client in clients:
                values = (ts_us, client, event_id, origin, published, hops, via, queued_us)
                self._append("deliveries", node, values)

    def _append(self, dataset: str, node: int, values: tuple[Any, ...], times: int = 1) -> None:
        spool = self._spools.get((dataset, node))
        if spool is None:
            buffer = self._buffers[dataset, node] = bytearray(SMALLEST)
            spool = self._spools[dataset, node] = Spool(dataset, self._run, node, buffer, partial(_extend, buffer))
        spool.append(values, times)


def air_spool(rows: Iterable[AirRow], run: str, epoch_us: int) -> bytearray:
    """What the medium saw, packed."""
    buffer = bytearray(SMALLEST)
    spool = Spool(AIR, run, None, buffer, partial(_extend, buffer))
    for row in rows:
        kinds = tuple(share.kind.lower() for share in row.frames)
        sizes = tuple(share.bytes for share in row.frames)
        spool.append(
            (epoch_us + row.ts_us, row.sender, row.receivers, row.bytes, row.port, row.lost, kinds, sizes, row.source)
        )  # fmt: skip
    return buffer


def _extend(buffer: bytearray, end: int) -> None:
    buffer.extend(bytes(max(end - len(buffer), len(buffer))))


def write(trace: Trace, run: str, folder: Path, *, has_medium: bool = True) -> None:
    """Write all datasets below `folder`; where there is no medium, all but what it would see. Raises DatasetsError.

    A dataset without a row is there as well, for the first node: nothing happened, which is not the same as that
    nothing was recorded.
    """
    spools: dict[tuple[str, int], bytearray] = dict(trace.spools)
    first = min((node for _, node in spools), default=0)
    for missing in set(OF_A_NODE) - {dataset for dataset, _ in spools}:
        buffer = spools[missing, first] = bytearray(SMALLEST)
        Spool(missing, run, first, buffer, partial(_extend, buffer))
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        for (dataset, node), buffer in spools.items():
            (folder / FOLDER / f"{dataset}-{node}{SUFFIX}").write_bytes(buffer)
        if has_medium:
            write_air(trace, run, folder)
    except OSError as error:
        raise DatasetsError(f"{folder}: {error.strerror}") from None
    compact(folder)


def write_air(trace: Trace, run: str, folder: Path, epoch: float = 0.0) -> None:
    """Write what the medium saw as a spool below `folder`, in times that `epoch` is the zero of. Raises OSError."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / f"{AIR}{SUFFIX}").write_bytes(air_spool(trace.air, run, round(epoch * MICRO)))


def compact(folder: Path, epoch: float = 0.0) -> None:
    """Turn the spools below `folder` into Parquet, in a process of its own, instead of what was there of their runs.

    Times are counted from `epoch`. Raises DatasetsError.
    """
    command = [sys.executable, *COMPACTOR, str(folder), "--replace", "--epoch-us", str(round(epoch * MICRO))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2] or f"ended with {done.returncode}"
        raise DatasetsError(f"the datasets are still in {folder / FOLDER}: {why}")
    with suppress(OSError):  # what else is there stays
        (folder / FOLDER).rmdir()
