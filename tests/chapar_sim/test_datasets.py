"""The datasets of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from chapar.event import event_id
from chapar_audit.schema import DATASETS
from chapar_sim.datasets import DatasetsError, Recorder, compact, write
from chapar_sim.trace import AirRow, Trace
from chapar_sim.traffic import Share
from chapard.core.config import Config
from chapard.core.effects import (
    DeliveryRow,
    FrameRow,
    InterestRow,
    Loss,
    PublishRow,
    Reason,
    RoleRow,
    RouteRow,
    SessionRow,
    TrafficClass,
)
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from pathlib import Path

ID = event_id(1, 2, 3)


def filled() -> Trace:
    """A trace with rows of every dataset that has any."""
    trace = Trace()
    recorder = Recorder(trace, "demo")
    recorder.started(0.0, 4, Config())
    recorder.record(1.5, 4, FrameRow("tx", 2, "event", TrafficClass.DATA, 90, ID, None, 0))
    recorder.record(1.0, 1, PublishRow("pub", ID, "realtime", 0, 70, "s"))
    recorder.record(2.0, 4, DeliveryRow(["sub"], ID, 1, 3, "realtime", 0))
    recorder.record(0.5, 4, InterestRow("sub", bytes(20), "subscribe"))
    recorder.record(0.4, 4, SessionRow("sub", "on", 0))
    recorder.record(0.1, 4, RoleRow("broker", "mpr"))
    recorder.record(0.1, 4, RouteRow(2, 3, 2))
    recorder.record(3.0, 4, Loss(ID, NodeVector.of([2, 5], 8), Reason.NO_ROUTE))
    trace.air.append(AirRow(1_500_000, 4, (2, 3), 132, 7701, (5,), (Share("EVENT", "data", 90),), 4))
    return trace


def test_every_dataset_is_written_and_says_what_happened(tmp_path: Path) -> None:
    """Times are microseconds of the run; a delivery knows when its event was published, a loss is a row per home."""
    write(filled(), "demo", tmp_path)
    tables = {name: pq.read_table(tmp_path / name) for name in DATASETS}
    rows = {name: table.to_pylist() for name, table in tables.items()}
    here = {"run": "demo", "node": 4}
    (delivery,) = rows["deliveries"]
    assert (delivery["ts_us"], delivery["published_us"], delivery["node"]) == (2_000_000, 1_000_000, 4)
    assert rows["losses"] == [
        {"ts_us": 3_000_000, "event_id": ID, "home": home, "client": None, "reason": "no_route", **here}
        for home in (2, 5)
    ]
    (air,) = rows["air"]
    assert (air["receivers"], air["lost"], air["kinds"], air["kind_bytes"]) == ([2, 3], [5], ["event"], [90])
    (run,) = rows["runs"]
    assert (run["schema_version"], run["program"], run["world"]) == (1, "chapar-sim", "sim")
    assert json.loads(run["settings"])["protocol"]["refresh_period"] == Config().refresh_period
    assert rows["removals"] == []
    assert not (tmp_path / "spool").exists()


def test_what_cannot_be_compacted_stays(tmp_path: Path) -> None:
    """The error says where the rows are."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "frames-1.spool").write_bytes(b"nonsense")
    with pytest.raises(DatasetsError, match=r"still in .*spool: .*frames-1\.spool: left alone: no spool"):
        compact(tmp_path)
    assert (tmp_path / "spool" / "frames-1.spool").exists()
