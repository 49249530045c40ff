"""What a daemon records is on the disk when it happens, stays within its budget, and never costs the daemon more."""

from __future__ import annotations

import fcntl
import logging
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from chapar.event import event_id, later
from chapar_audit.compact import compact
from chapard.core.effects import DeliveryRow, FrameRow, InterestRow, Loss, PublishRow, Reason, RoleRow, TrafficClass
from chapard.core.nodevector import NodeVector
from chapard.core.records import OF_A_NODE
from chapard.recorder import RETRY_AFTER, Recorder
from chapard.settings import RecordSettings
from chapard.spoolfile import FIRST_ROOM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

NOW = 1_700_000_000.0
ID = event_id(1, 2, 3)
FRAME = FrameRow("tx", None, "beacon", TrafficClass.CONTROL, 40, None, None, 0)


def recorder(folder: Path, now: float = NOW, **settings: Any) -> Recorder:
    return Recorder(RecordSettings(enabled=True, **settings), folder, 7, now)


def rows(folder: Path, dataset: str) -> list[dict[str, Any]]:
    """What a dataset has once everything is compacted, in order of time."""
    assert compact(folder).complaints == ()
    return [*pq.read_table(folder / dataset).sort_by("ts_us").to_pylist()]


def test_every_effect_becomes_a_row_of_its_dataset(tmp_path: Path) -> None:
    """With the time of its turn, its run and its node; what is not there is null, and a run is rows of its own."""
    mine = recorder(tmp_path, run="r")
    mine.started({"mode": "chapar"}, NOW)
    record = mine.at(NOW + 1)
    for effect in (
        FRAME,
        FrameRow("rx", 3, "event", TrafficClass.DATA, 90, ID, b"f" * 20, 2),
        PublishRow("pub", ID, "realtime", 0, 70, None, 3),
        DeliveryRow(["sub"], ID, 1, 2, "memorised", 9, 2),
        DeliveryRow(["sub", "two"], later(ID, 5), 1, 0, "realtime", 0, 2),
        InterestRow("sub", b"g" * 20, "subscribe"),
        Loss(ID, NodeVector.of([4, 5], 8), Reason.NO_ROUTE),
        RoleRow("broker", "alone"),
    ):
        record(effect)
    mine.close()
    here = {"ts_us": round((NOW + 1) * 1e6), "run": "r", "node": 7}
    frame = {"direction": "rx", "peer": 3, "kind": "event", "traffic_class": "data", "bytes": 90, "retry": 2}
    assert {**frame, "event_id": ID, "filter_id": b"f" * 20, **here} in rows(tmp_path, "frames")
    assert [row["peer"] for row in rows(tmp_path, "frames")].count(None) == 1
    assert [row["event_id"] for row in rows(tmp_path, "publishes")] == [later(ID, place) for place in range(3)]
    assert [(row["client"], row["event_id"], row["published_us"]) for row in rows(tmp_path, "deliveries")] == [
        *(("sub", later(ID, place), None) for place in (0, 1, 5, 6)),
        *(("two", later(ID, place), None) for place in (5, 6)),
    ]
    assert [(row["home"], row["reason"]) for row in rows(tmp_path, "losses")] == [(4, "no_route"), (5, "no_route")]
    assert {row["settings"] for row in rows(tmp_path, "runs")} == {'{"mode":"chapar"}'}
    assert rows(tmp_path, "interests")[0]["filter_id"] == b"g" * 20
    assert sorted(each.name for each in tmp_path.iterdir() if each.name != "spool") == sorted(OF_A_NODE)


def test_frames_can_be_left_out(tmp_path: Path) -> None:
    """Then that dataset is not there at all, which is not the same as an empty one."""
    recorder(tmp_path, frames=False).close()
    compact(tmp_path)
    assert not (tmp_path / "frames").exists()
    assert (tmp_path / "sessions").exists()


CHILD = """
import os, sys
from pathlib import Path
from chapar.event import event_id
from chapard.core.effects import PublishRow
from chapard.recorder import Recorder
from chapard.settings import RecordSettings

mine = Recorder(RecordSettings(enabled=True, rotate_bytes=70_000), Path(sys.argv[1]), 7, 1e9)
for number in range(1, 10**9):
    now = 1e9 + number
    mine.at(now)(PublishRow(f"client {number % 300}", event_id(7, 1, number), "realtime", 0, 70, "s"))
    if number % 10 == 0:
        os.write(1, b"%d\\n" % number)
"""


def test_kill_9_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """A process that records as fast as it can is killed: all rows it had finished are there, in order, once."""
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE) as child:  # noqa: S603
        assert child.stdout is not None
        told = 0
        while told < 8000:
            told = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        told = int((child.stdout.read().splitlines() or [b"%d" % told])[-1])
    found = rows(tmp_path, "publishes")
    numbers = [int.from_bytes(row["event_id"][-4:], "big") for row in found]
    assert len(numbers) >= told
    assert numbers == [*range(1, len(numbers) + 1)]
    assert all(row["client"] == f"client {number % 300}" for row, number in zip(found, numbers, strict=True))
    assert len([*tmp_path.glob("publishes/*/*/*.parquet")]) > 3, "it had been rotated meanwhile"


def test_a_spool_is_rotated_by_size_and_by_age(tmp_path: Path) -> None:
    """Whichever comes first; what is empty is not old."""
    mine = recorder(tmp_path, rotate_bytes=65536, rotate_after=60.0)
    record = mine.at(NOW)
    for _ in range(3000):
        record(FRAME)
    assert len([*tmp_path.glob("spool/*-frames.spool")]) == 3
    assert mine.has_closed
    mine.look(NOW + 61)
    assert len([*tmp_path.glob("spool/*-frames.spool")]) == 4
    assert len([*tmp_path.glob("spool/*-roles.spool")]) == 1
    mine.close()
    assert len(rows(tmp_path, "frames")) == 3000


def test_a_spool_of_a_recorder_is_not_compacted_while_it_lives(tmp_path: Path) -> None:
    """Its rows are, once it has closed."""
    mine = recorder(tmp_path)
    mine.at(NOW)(FRAME)
    assert compact(tmp_path).files == ()
    mine.close()
    assert compact(tmp_path).rows == 1


def test_beyond_the_budget_the_oldest_goes_and_that_is_recorded(tmp_path: Path) -> None:
    """Compacted or not; rows kept and rows removed are all there were."""
    mine = recorder(tmp_path, rotate_bytes=65536, budget_bytes=64 * 65536)
    for step in range(40):
        record = mine.at(NOW + step)
        for _ in range(1450):
            record(FRAME._replace(event_id=event_id(1, step, int.from_bytes(os.urandom(4), "big"))))
        if step == 20:
            compact(tmp_path)
    mine.look(NOW + 50)
    before = sum(path.stat().st_blocks * 512 for path in tmp_path.rglob("*") if path.is_file())
    mine = _again(mine, tmp_path, budget_bytes=16 * 65536)
    mine.look(NOW + 70)
    after = sum(path.stat().st_blocks * 512 for path in tmp_path.rglob("*") if path.is_file())
    assert after <= 16 * 65536 < before
    mine.close()
    removed = rows(tmp_path, "removals")
    kept = rows(tmp_path, "frames")
    assert {row["dataset"] for row in removed} <= {"frames", *OF_A_NODE}
    assert sum(row["rows"] for row in removed if row["dataset"] == "frames") + len(kept) == 40 * 1450
    assert min(row["ts_us"] for row in kept) > NOW * 1e6, "the oldest went"
    assert all(row["bytes"] > 0 for row in removed)


def _again(mine: Recorder, folder: Path, **settings: Any) -> Recorder:
    """A next life of the daemon."""
    mine.close()
    return recorder(folder, NOW + 60, rotate_bytes=65536, **settings)


def test_what_is_being_compacted_is_not_removed(tmp_path: Path) -> None:
    """Or its rows would be told to be gone, and then be there."""
    _again(recorder(tmp_path), tmp_path, budget_bytes=16 * 65536).close()
    spool = next(tmp_path.glob("spool/*-frames.spool"))
    os.truncate(spool, 2**22)
    os.posix_fallocate(os.open(spool, os.O_RDWR), 0, 2**22)
    mine = recorder(tmp_path, NOW + 100, rotate_bytes=65536, budget_bytes=16 * 65536)
    with spool.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        mine.look(NOW + 100)
        assert spool.exists()
    mine.look(NOW + 200)
    assert not spool.exists()


@contextmanager
def refusing(size: int) -> Iterator[None]:
    """A kernel that takes no more than so many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_stops_the_recording_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, tried again now and then, and how many rows are missing is recorded."""
    mine = recorder(tmp_path)
    caplog.set_level(logging.INFO)
    with refusing(FIRST_ROOM):
        for step in range(3000):
            mine.at(NOW + step / 1000)(FRAME)
        assert mine.fault == "File too large"
    with refusing(FIRST_ROOM - 1):
        mine.look(NOW + 10)
        mine.look(NOW + 2 * RETRY_AFTER)
    assert [each.message for each in caplog.records] == ["nothing is recorded: the disk refuses; all else goes on"]
    mine.look(NOW + 4 * RETRY_AFTER)
    assert caplog.records[-1].message == "recording again"
    assert not mine.fault
    mine.at(NOW + 5 * RETRY_AFTER)(FRAME)
    mine.close()
    kept = len(rows(tmp_path, "frames"))
    (missing,) = rows(tmp_path, "removals")
    assert (missing["dataset"], missing["rows"], missing["bytes"]) == ("frames", 3001 - kept, 0)
    assert 1000 < kept < 2000


def test_a_disk_that_refuses_from_the_start_is_no_reason_not_to_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon serves, and says that nothing is recorded."""
    (tmp_path / "file").touch()
    mine = recorder(tmp_path / "file" / "below")
    mine.started({}, NOW)
    mine.at(NOW)(FRAME)
    mine.look(NOW + 1)
    mine.close()
    assert "Not a directory" in str(mine.fault)
    assert len(caplog.records) == 1
