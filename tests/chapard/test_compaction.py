"""Spools are compacted by a process of its own, one at a time, and never at the daemon's cost."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from chapard import compaction
from chapard.compaction import Compaction, what_lacks

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOTING = """
import os, sys, time
folder = sys.argv[1]
os.mkdir(f"{folder}/running")
time.sleep(0.05)
os.rmdir(f"{folder}/running")
with open(f"{folder}/runs", "a") as file:
    file.write("once\\n")
"""
FAILING = "import sys\nsys.exit('first line\\nchapar-audit: a.spool: left alone: no spool')"
SLOW = "import time\ntime.sleep(60)"


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """A program that stands in for the compactor."""
    (folder / "stand_in.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return "stand_in"


def test_it_runs_once_more_after_what_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked meanwhile, and never two at a time."""
    name = module(tmp_path, monkeypatch, NOTING)

    async def work() -> None:
        mine = Compaction(tmp_path, name)
        mine.soon()
        await asyncio.sleep(0)
        for _ in range(5):
            mine.soon()
            await asyncio.sleep(0)
        assert await mine.finish(30)

    asyncio.run(work())
    assert 1 <= len((tmp_path / "runs").read_text().splitlines()) <= 2


def test_what_it_complains_of_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In one line."""
    name = module(tmp_path, monkeypatch, FAILING)

    async def work() -> None:
        mine = Compaction(tmp_path, name)
        mine.soon()
        await mine.finish(30)

    with caplog.at_level(logging.INFO):
        asyncio.run(work())
    assert [record.message for record in caplog.records] == ["records are not compacted"]


def test_the_end_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a process left behind."""
    name = module(tmp_path, monkeypatch, SLOW)

    async def work() -> None:
        mine = Compaction(tmp_path, name)
        mine.soon()
        await asyncio.sleep(0)
        assert not await mine.finish(0.2)

    asyncio.run(work())


def test_nothing_asked_for_is_done_at_once(tmp_path: Path) -> None:
    """There is no process to wait for."""
    assert asyncio.run(Compaction(tmp_path).finish(0.0))


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small nodes leave their spools to be compacted elsewhere. Nothing is loaded to find out."""
    assert what_lacks() is None
    monkeypatch.setattr(compaction, "NEEDED", ("sys", "no_such_package"))
    assert what_lacks() == "no_such_package"
    assert "no_such_package" not in sys.modules
