"""A spool as a file."""

from __future__ import annotations

import fcntl
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING

import pytest

from chapar_audit.spool import table_of
from chapard.spoolfile import FIRST_ROOM, FullSpoolError, SpoolFile

if TYPE_CHECKING:
    from pathlib import Path

ROW = (7, "sub", "on", 3)


def spool(folder: Path, limit: int = 2**20) -> SpoolFile:
    return SpoolFile(folder / "s.spool", "sessions", "r", 1, limit)


def test_rows_are_in_the_file_at_once(tmp_path: Path) -> None:
    """Nobody closes or flushes anything first; closing gives back the room that was not used."""
    mine = spool(tmp_path)
    mine.append(ROW)
    data = mine.path.read_bytes()
    assert len(data) == FIRST_ROOM
    assert table_of(data)[1].num_rows == 1
    mine.close()
    assert mine.path.stat().st_size < 400
    assert table_of(mine.path.read_bytes())[1].num_rows == 1


def test_it_grows_up_to_its_limit(tmp_path: Path) -> None:
    """Then another must be begun; the row that found no room is not there."""
    mine = spool(tmp_path, limit=4 * FIRST_ROOM)
    endless = map(mine.append, repeat(ROW))
    with pytest.raises(FullSpoolError):
        deque(endless, maxlen=0)
    rows = mine.rows
    mine.close()
    assert 2 * FIRST_ROOM < mine.path.stat().st_size <= 4 * FIRST_ROOM
    assert table_of(mine.path.read_bytes())[1].num_rows == rows


def test_one_row_may_be_larger_than_the_limit(tmp_path: Path) -> None:
    """It has to be somewhere."""
    mine = spool(tmp_path, limit=FIRST_ROOM)
    mine.append((7, "x" * 2 * FIRST_ROOM, "on", 3))
    assert table_of(mine.path.read_bytes())[1].num_rows == 1
    mine.close()


def test_it_is_locked_while_it_is_written(tmp_path: Path) -> None:
    """And free when it is closed."""
    mine = spool(tmp_path)
    with mine.path.open("rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine.close()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_is_not_to_be_kept_is_gone(tmp_path: Path) -> None:
    """An empty spool of many."""
    spool(tmp_path).close(keep=False)
    assert list(tmp_path.iterdir()) == []
