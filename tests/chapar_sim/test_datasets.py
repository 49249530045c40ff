"""The datasets of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chapar.event import event_id
from chapar_sim.datasets import Recorder, datasets, write_json_lines
from chapar_sim.trace import AirRow, Trace
from chapard.core.effects import (
    DeliveryRow,
    FrameRow,
    InterestRow,
    PublishRow,
    RoleRow,
    RouteRow,
    SessionRow,
    TrafficClass,
)

if TYPE_CHECKING:
    from pathlib import Path

ID = event_id(1, 2, 3)
COLUMNS = {
    "frames": "ts_us run node direction peer kind traffic_class bytes event_id filter_id retry",
    "publishes": "ts_us run node client event_id delivery lifetime_ms bytes subject",
    "deliveries": "ts_us run node client event_id origin published_us hops via queued_us",
    "interests": "ts_us run node client filter_id change peer direction",
    "sessions": "ts_us run node client state queue_length",
    "roles": "ts_us run node role reason",
    "routes": "ts_us run node destination next_hop hops",
    "air": "ts_us run sender receivers bytes port lost",
}


def filled() -> Trace:
    """A trace with one row of every dataset."""
    trace = Trace()
    recorder = Recorder(trace, "demo")
    recorder.record(1.5, 4, FrameRow("tx", 2, "event", TrafficClass.DATA, ID, None, 0, 90))
    recorder.record(1.0, 1, PublishRow("pub", ID, "realtime", 0, 70, "s"))
    recorder.record(2.0, 4, DeliveryRow("sub", ID, 1, 3, "realtime", 0))
    recorder.record(0.5, 4, InterestRow("sub", bytes(20), "subscribe"))
    recorder.record(0.4, 4, SessionRow("sub", "on", 0))
    recorder.record(0.1, 4, RoleRow("broker", "mpr"))
    recorder.record(0.1, 4, RouteRow(2, 3, 2))
    trace.air.append(AirRow(1_500_000, 4, (2, 3), 90, 7701, (5,)))
    return trace


def test_every_dataset_has_the_columns_of_the_design() -> None:
    """No column is missing and none is made up."""
    tables = datasets(filled(), "demo")
    assert {name: set(rows[0]) for name, rows in tables.items()} == {
        name: set(columns.split()) for name, columns in COLUMNS.items()
    }


def test_deliveries_know_when_their_event_was_published() -> None:
    """The driver joins what two daemons saw; times are microseconds of the run."""
    row = datasets(filled(), "demo")["deliveries"][0]
    assert (row["ts_us"], row["published_us"], row["run"], row["node"]) == (2_000_000, 1_000_000, "demo", 4)


def test_rows_are_written_as_json_lines(tmp_path: Path) -> None:
    """One file for each dataset, one object for each row, ids as hexadecimal text."""
    files = write_json_lines(datasets(filled(), "demo"), tmp_path / "new" / "run")
    assert sorted(file.name for file in files) == sorted(f"{name}.jsonl" for name in COLUMNS)
    frames = [json.loads(line) for line in (tmp_path / "new" / "run" / "frames.jsonl").read_text().splitlines()]
    assert [(row["event_id"], row["traffic_class"]) for row in frames] == [(ID.hex(), "data")]
