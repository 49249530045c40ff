"""A daemon that records, from its start to its end and over a death."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from chapar_audit.schema import DATASETS, OF_THE_MEDIUM
from chapard import recording
from chapard.clock import Clock
from chapard.core.config import Config
from chapard.core.effects import RoleRow
from chapard.recording import Recording
from chapard.settings import NodeSettings, RecordSettings, Settings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def settings(folder: Path, **record: Any) -> Settings:
    return Settings(node=NodeSettings(state_dir=folder), record=RecordSettings(enabled=True, **record))


def rows(folder: Path, dataset: str) -> list[dict[str, Any]]:
    return [*pq.read_table(folder / dataset).to_pylist()]


def test_it_ends_with_parquet_and_nothing_else(tmp_path: Path) -> None:
    """What an earlier life left is there too; the settings of each start are a row."""

    async def live(config: Config) -> None:
        mine = Recording(settings(tmp_path), Clock())
        mine.started(settings(tmp_path), config, "1.2")
        mine.recorder.at(1e9)(RoleRow("broker", "alone"))
        mine.look()
        await mine.close()

    Recording(settings(tmp_path, compact=False), Clock()).recorder.close()
    for hop_ack in (True, False):
        asyncio.run(live(Config(hop_ack=hop_ack)))
    folder = tmp_path / "record"
    assert list((folder / "spool").iterdir()) == []
    runs = sorted(rows(folder, "runs"), key=lambda row: row["ts_us"])
    about = [json.loads(row["settings"]) for row in runs]
    assert [each["protocol"]["hop_ack"] for each in about] == [True, False]
    assert {(each["version"], each["routes"], each["mode"]) for each in about} == {("1.2", "none", "chapar")}
    assert [row["role"] for row in rows(folder, "roles")] == ["broker"] * 2


def test_without_pyarrow_spools_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says what lacks, and what to do."""
    monkeypatch.setattr(recording, "what_lacks", lambda: "pyarrow")
    with caplog.at_level(logging.INFO):
        mine = Recording(settings(tmp_path), Clock())
    mine.look()
    asyncio.run(mine.close())
    assert len([*tmp_path.glob("record/spool/*.spool")]) == len(DATASETS.keys() - OF_THE_MEDIUM)
    assert vars(caplog.records[0])["chapard_fields"]["lacks"] == "pyarrow"


def test_the_place_of_records(tmp_path: Path) -> None:
    """Beside the state, or where it is said."""
    here = settings(tmp_path)
    assert here.record_dir == tmp_path / "record"
    assert replace(here, record=RecordSettings(dir=tmp_path / "r")).record_dir == tmp_path / "r"
