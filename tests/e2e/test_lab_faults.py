"""Daemons of a lab are killed, stopped, paused and left without a disk, and keep what they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e import labs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lab


def test_the_only_relay_is_killed_and_comes_back(tmp_path: Path) -> None:
    """kill -9 and a restart: what leaves published meanwhile reaches all others afterwards, once and in order."""
    done = labs.kept(
        tmp_path,
        f"""
duration = 50
settle = 20
nodes = 5
{labs.BRISK}
[topology]
kind = "star"
centre = 1
[[client]]
name = "leaf"
nodes = [2, 3, 4, 5]
publish = [{{ subject = "note", every = 1, start = 2, stop = 25, lifetime = 60 }}]
subscribe = [{{ filter = 'subject = "note"' }}]
[[fault]]
kind = "crash"
node = 1
at = 8
until = 14
""",
    )
    assert len(done.events) == 4 * 23
    assert done.missed() == []


def test_a_daemon_hangs_and_a_disk_is_full(tmp_path: Path) -> None:
    """SIGSTOP for some seconds, and a disk without a byte left: events wait, none is lost or comes twice."""
    done = labs.kept(
        tmp_path,
        f"""
duration = 50
settle = 25
nodes = 3
{labs.BRISK}
[topology]
kind = "chain"
[[client]]
name = "source"
node = 1
publish = [{{ subject = "note", every = 0.5, start = 2, stop = 22, lifetime = 60 }}]
[[client]]
name = "sink"
node = 3
subscribe = [{{ filter = 'subject = "note"' }}]
[[fault]]
kind = "pause"
node = 2
at = 5
until = 8
[[fault]]
kind = "full_disk"
node = 3
at = 9
until = 21
""",
    )
    assert len(done.events) == 40
    assert done.missed() == []
    assert "level=error" in (tmp_path / "out" / "logs" / "3" / "chapard.log").read_text(encoding="utf-8")
