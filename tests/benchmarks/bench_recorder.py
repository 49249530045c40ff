"""What recording costs: a record, a busy daemon with it beside one without, and compacting what was recorded.

A busy daemon takes and gives real-time events in runs of a hundred or so, each of which is one record. Two daemons, of
which one records everything, are loaded in turns, slice by slice, so that whatever else the machine does meets both;
what is compared is their processor time per delivery, over all slices.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from benchmarks.brokers import Broker, chapard
from benchmarks.contest import System, contest
from benchmarks.figure import Figure
from chapar.event import event_id
from chapar.wire import EventFrame, encode
from chapard.core.effects import DeliveryRow, FrameRow, PublishRow, TrafficClass
from chapard.core.traffic import frame_row
from chapard.recorder import Recorder
from chapard.settings import RecordSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chapard.core.effects import Effect

MOST_NS = 1000
MOST_SHARE = 5
"""Per cent of the daemon's processor time."""
CALLS = 1000
ROUNDS = 100
PAIRS = 12
ROWS = 100_000
ID = event_id(7, 1_700_000_000, 1)
FRAME = FrameRow("tx", 3, "event", TrafficClass.DATA, 120, ID, None, 0)
HOT: tuple[Effect, ...] = (
    FRAME,
    PublishRow("publisher", ID, "realtime", 0, 120, "position", 100),
    DeliveryRow(["subscriber"], ID, 7, 2, "realtime", 0, 70),
)


def measure() -> list[Figure]:
    return [*record_figures(), *share_figures(), *compaction_figures()]


def recorder(folder: Path) -> Recorder:
    return Recorder(RecordSettings(enabled=True, rotate_bytes=2**28, budget_bytes=2**40), folder, 7, 1e9)


def record_figures() -> list[Figure]:
    figures = []
    for effect in HOT:
        name = type(effect).__name__.removesuffix("Row").lower()
        with TemporaryDirectory(prefix="chapar-bench-") as folder:
            mine = recorder(Path(folder))
            times = []
            for _ in range(ROUNDS):
                began = process_time()
                record = mine.at(1e9)
                for _ in range(CALLS):
                    record(effect)
                times.append((process_time() - began) / CALLS * 1e9)
            mine.close()
        cost = median(times)
        figures.append(Figure(f"a record: {name}", cost, "ns", f"≤ {MOST_NS}", cost <= MOST_NS))
    frame = EventFrame(7, 64, 0, 0, 0, b"\x02", b"\x9a\xc4\x0a" + ID + bytes(80))
    data = encode(frame)
    began = process_time()
    for _ in range(CALLS * 10):
        frame_row(frame, data, "tx", 3, 0)
    cost = (process_time() - began) / CALLS / 10 * 1e9
    return [*figures, Figure("to tell what a frame is, before", cost, "ns", "", None)]


@contextmanager
def recording(folder: Path) -> Iterator[Broker]:
    settings = ("mesh.port=0", "record.enabled=true", f"record.dir={folder / 'record'}")
    with chapard(folder, *settings) as broker:
        yield broker


def share_figures() -> list[Figure]:
    systems = [System("plain", chapard, "load_chapar"), System("recording", recording, "load_chapar")]
    beside = partial(contest, systems=systems, rate=0)
    figures = []
    for subscribers in (1, 10):
        with TemporaryDirectory() as name, beside(Path(name) / "c", subscribers=subscribers) as runs:
            slices = [[each.slice().cpu for each in runs] for _ in range(PAIRS)]
        without, with_it = (sum(each) for each in zip(*slices, strict=True))
        share = 100 * (with_it / without - 1)
        title = f"1 → {subscribers}: recording, of the daemon's processor time"
        figures.append(Figure(title, share, "%", f"≤ {MOST_SHARE}", share <= MOST_SHARE))
    return figures


def compaction_figures() -> list[Figure]:
    with TemporaryDirectory(prefix="chapar-bench-") as name:
        folder = Path(name)
        mine = recorder(folder)
        for step in range(ROWS // 100):
            record = mine.at(1e9 + step / 10)
            for number in range(100):
                record(FRAME._replace(event_id=event_id(7, 1_700_000_000, 100 * step + number)))
        mine.close()
        began = perf_counter()
        run([sys.executable, "-m", "chapar_audit.compact", str(folder)], check=True)  # noqa: S603 - our own program
        seconds = perf_counter() - began
        size = sum(path.stat().st_size for path in folder.rglob("frames/**/*.parquet"))
    return [
        Figure(f"to compact {ROWS} frames, start and end of the process included", 1000 * seconds, "ms", "", None),
        Figure("a frame in Parquet", size / ROWS, "bytes", "", None),
    ]
