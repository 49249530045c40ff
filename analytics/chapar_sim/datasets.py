"""The datasets of a run as plain rows: what the daemons said of themselves, and what the medium saw (`air`)."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from chapar_sim.trace import MICRO
from chapard.core.effects import (
    DeliveryRow,
    FrameRow,
    InterestRow,
    PublishRow,
    RoleRow,
    RouteRow,
    SessionRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from chapar_sim.trace import Trace
    from chapard.core.effects import Row

DATASET_OF: Final[Mapping[type, str]] = MappingProxyType(
    {
        FrameRow: "frames",
        PublishRow: "publishes",
        DeliveryRow: "deliveries",
        InterestRow: "interests",
        SessionRow: "sessions",
        RoleRow: "roles",
        RouteRow: "routes",
    }
)
AIR: Final = "air"


class Recorder:
    """Writes the cores' rows into the trace, with the time, the run and the node that only the driver knows."""

    def __init__(self, trace: Trace, run: str) -> None:
        self._rows = trace.rows
        self._run = run
        for name in DATASET_OF.values():
            self._rows.setdefault(name, [])

    def record(self, time: float, node: int, row: Row) -> None:
        """One row that a core emitted."""
        stamped = {"ts_us": round(time * MICRO), "run": self._run, "node": node, **row._asdict()}
        self._rows[DATASET_OF[type(row)]].append(stamped)


def datasets(trace: Trace, run: str) -> dict[str, list[dict[str, object]]]:
    """All datasets of a run by name. Deliveries learn here when their event was published."""
    published = {row["event_id"]: row["ts_us"] for row in trace.rows.get("publishes", ())}
    tables = {name: list(rows) for name, rows in trace.rows.items()}
    tables["deliveries"] = [
        {**row, "published_us": published.get(row["event_id"])} for row in trace.rows.get("deliveries", ())
    ]
    tables[AIR] = [
        {
            "ts_us": row.ts_us,
            "run": run,
            "sender": row.sender,
            "receivers": list(row.receivers),
            "bytes": row.bytes,
            "port": row.port,
            "lost": list(row.lost),
        }
        for row in trace.air
    ]
    return tables


def write_json_lines(tables: Mapping[str, Iterable[Mapping[str, object]]], folder: Path) -> list[Path]:
    """Write each dataset to `folder`/NAME.jsonl; ids appear as hexadecimal text. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in sorted(tables):
        file = folder / f"{name}.jsonl"
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(_lines(tables[name]))
        files.append(file)
    return files


def _lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for row in rows:
        plain = {key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}
        yield json.dumps(plain, separators=(",", ":")) + "\n"
