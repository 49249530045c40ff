"""Spools become Parquet: whole, once, and never at the cost of what was recorded."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from chapar_audit.cli import main
from chapar_audit.compact import compact
from chapar_audit.schema import DATASETS
from chapard.core.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [(1, "sub", "on", 0), (5, "sub", "off", 3)]


def extend(buffer: bytearray, end: int) -> None:
    buffer.extend(bytes(end - len(buffer) + 100))


def lay(folder: Path, name: str, rows: list[tuple[Any, ...]], *, run: str = "r", node: int = 3) -> Path:
    """A spool of sessions, as a recorder leaves it."""
    buffer = bytearray()
    spool = Spool("sessions", run, node, buffer, partial(extend, buffer))
    for row in rows:
        spool.append(row)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.spool"
    path.write_bytes(buffer)
    return path


def rows_in(folder: Path) -> list[tuple[Any, ...]]:
    """The rows of sessions below a folder, without run and node."""
    table = pq.read_table(folder / "sessions").sort_by("ts_us")
    return [tuple(row[column.name] for column in DATASETS["sessions"]) for row in table.to_pylist()]


def files_in(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_a_spool_becomes_a_file_of_its_name(tmp_path: Path) -> None:
    """In the place of its run and node, as the schema says; the spool is gone, and nothing hidden is left."""
    lay(tmp_path / "spool", "s-1", ROWS)
    assert main(["compact", str(tmp_path)]) == 0
    assert files_in(tmp_path) == ["sessions/run=r/node=3/s-1-2.parquet"]
    file = pq.ParquetFile(tmp_path / "sessions/run=r/node=3/s-1-2.parquet")
    assert file.schema_arrow.names == [column.name for column in DATASETS["sessions"]]
    assert file.metadata.metadata == {b"chapar.schema": b"1"}
    column = file.metadata.row_group(0).column(0)
    assert (column.compression, "DELTA_BINARY_PACKED" in column.encodings) == ("ZSTD", True)
    assert "RLE_DICTIONARY" in file.metadata.row_group(0).column(1).encodings
    assert rows_in(tmp_path) == ROWS


@pytest.mark.parametrize("run", ["a b", "x=1/2", "50%", "wörld", "../up", "[a]:b"])
def test_a_run_may_have_any_name(tmp_path: Path, run: str) -> None:
    """What a path cannot have is written as Spark and Arrow read it back."""
    lay(tmp_path / "spool", "s", ROWS, run=run)
    compact(tmp_path)
    assert set(pq.read_table(tmp_path / "sessions")["run"].to_pylist()) == {run}
    assert len(list(tmp_path.glob("sessions/run=*/node=3/s-2.parquet"))) == 1


def test_spools_of_many_nodes_are_found_at_any_depth(tmp_path: Path) -> None:
    """As somebody has collected them from the field."""
    lay(tmp_path / "field" / "rover-7", "s", ROWS[:1], node=7)
    lay(tmp_path / "field" / "rover-8", "s", ROWS[1:], node=8)
    assert main(["compact", str(tmp_path / "field"), "--out", str(tmp_path / "all")]) == 0
    assert rows_in(tmp_path / "all") == ROWS
    assert files_in(tmp_path / "field") == []


def test_what_cannot_be_read_is_named_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each; the others are compacted all the same."""
    lay(tmp_path, "good", ROWS)
    (tmp_path / "bad.spool").write_bytes(b"PAR1")
    (tmp_path / "empty.spool").touch()
    assert main(["compact", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"chapar-audit: {tmp_path}/bad.spool: left alone: no spool",
        f"chapar-audit: {tmp_path}/empty.spool: left alone: it is empty",
    ]
    assert rows_in(tmp_path) == ROWS
    assert (tmp_path / "bad.spool").exists()


def test_a_missing_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a line that says what to do."""
    assert main(["compact", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == (
        f"chapar-audit: {tmp_path}/none: there is no such directory; name the one that holds spools\n"
    )


def test_a_spool_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """Its writer holds a lock on it; once that is gone, so is the writer."""
    spool = lay(tmp_path, "live", ROWS)
    with spool.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert compact(tmp_path) == ((), 0, ())
        assert spool.exists()
    assert compact(tmp_path).rows == 2


def test_times_are_counted_from_an_epoch(tmp_path: Path) -> None:
    """Daemons write the time of day; what is compared with a run counts from its start."""
    lay(tmp_path, "s", ROWS)
    assert main(["compact", str(tmp_path), "--epoch-us", "3"]) == 0
    assert rows_in(tmp_path) == [(-2, *ROWS[0][1:]), (2, *ROWS[1][1:])]


def test_a_run_that_is_made_again_replaces_itself(tmp_path: Path) -> None:
    """And no other run."""
    lay(tmp_path, "first", ROWS)
    lay(tmp_path, "other", ROWS[:1], run="other")
    compact(tmp_path)
    lay(tmp_path, "second", ROWS[1:])
    compact(tmp_path, replace=True)
    assert files_in(tmp_path) == ["sessions/run=other/node=3/other-1.parquet", "sessions/run=r/node=3/second-1.parquet"]


CHILD = """
import os, sys
from pathlib import Path
from chapar_audit import compact

def end_at(point, folder):
    calls = 0

    def look(event, arguments):
        nonlocal calls
        if event in {"open", "os.rename", "os.remove", "os.mkdir"} and str(folder) in str(arguments):
            calls += 1
            if calls > point:
                os._exit(9)

    sys.addaudithook(look)
    compact.compact(folder)
    os._exit(0)

for point, folder in enumerate(map(Path, sys.argv[1:])):
    child = os.fork() or end_at(point, folder)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
POINTS = 14


def test_a_compactor_that_is_killed_anywhere_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """It ends at once at its first, second, ... touch of the disk; whoever comes next makes good."""
    folders = [tmp_path / str(point) for point in range(POINTS)]
    for folder in folders:
        lay(folder, "a", ROWS)
    done = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", CHILD, *map(str, folders)], capture_output=True, text=True, check=True
    )
    codes = done.stdout.split()
    assert codes == sorted(codes, reverse=True)
    assert codes.count("9") > 5, "it was killed at many points"
    assert codes[-1] == "0", "and in the end at none"
    for folder in folders:
        compact(folder)
        assert rows_in(folder) == ROWS
        assert files_in(folder) == ["sessions/run=r/node=3/a-2.parquet"]


def test_half_a_file_of_a_killed_compactor_is_written_over(tmp_path: Path) -> None:
    """It has a hidden name, so that nobody reads it meanwhile."""
    lay(tmp_path, "a", ROWS)
    half = tmp_path / "sessions/run=r/node=3/.a-2.parquet.new"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"PAR1")
    compact(tmp_path)
    assert files_in(tmp_path) == ["sessions/run=r/node=3/a-2.parquet"]
    assert rows_in(tmp_path) == ROWS
