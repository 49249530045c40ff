"""The database file: whole batches, refusal of what is not ours or damaged, and reasons in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from chapard.database import FORMAT, FREE_PAGES, ROWS, Database, DiskError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chapard.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    with closing(Database.open(file)) as opened:
        yield opened


def log_of(file: Path) -> Path:
    return file.with_name(file.name + "-wal")


def refusal(file: Path) -> str:
    """What is said of a file that is not opened, which stays as it was."""
    before = file.read_bytes()
    with pytest.raises(DiskError) as caught:
        Database.open(file)
    assert file.read_bytes() == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS + 7])
def test_a_batch_of_any_size_is_applied(database: Database, rows: int) -> None:
    """Puts and deletes, of few and of more rows than one statement has."""
    database.apply({f"{number}": b"%d" % number for number in range(rows)})
    assert database.load() == {f"{number}": b"%d" % number for number in range(rows)}
    database.apply({f"{number}": None if number % 2 else b"new" for number in range(rows)})
    assert database.load() == {f"{number}": b"new" for number in range(0, rows, 2)}
    assert database.keys() == database.load().keys()


@pytest.mark.parametrize("rows", [3, ROWS + 3])
def test_a_batch_is_applied_whole_or_not_at_all(database: Database, rows: int) -> None:
    """A failure at its last row undoes the rows before, and the next batch is applied as if nothing had been."""
    database.apply({"a": b"1"})
    with pytest.raises(DiskError):
        database.apply({**{f"{number}": b"x" for number in range(rows)}, "bad": object()})  # type: ignore[dict-item] # on purpose
    assert database.load() == {"a": b"1"}
    database.apply({"b": b"2"})
    assert database.load() == {"a": b"1", "b": b"2"}


def test_the_first_success_after_a_fault_writes_in_any_case(database: Database, file: Path) -> None:
    """Even if there is nothing to save: what the failed attempt left in the log must be overwritten."""
    log = log_of(file)
    before = log.stat().st_size
    database.apply({}, after_fault=False)
    assert log.stat().st_size == before
    database.apply({}, after_fault=True)
    assert log.stat().st_size > before


def test_it_reaches_the_disk_before_it_returns(database: Database, file: Path) -> None:
    """Write-ahead log and full synchronisation: the settings that an acknowledged publish relies on."""
    [mode] = database._connection.execute("PRAGMA journal_mode").fetchone()  # noqa: SLF001 - no power cut in a test
    [level] = database._connection.execute("PRAGMA synchronous").fetchone()  # noqa: SLF001 - no power cut in a test
    assert (mode, level) == ("wal", 2)
    assert log_of(file).exists()


def test_the_log_can_be_emptied(database: Database, file: Path) -> None:
    """Its space comes back at once."""
    database.apply({"a": b"x" * 10_000})
    assert log_of(file).stat().st_size > 10_000
    assert database.empty_log()
    assert log_of(file).stat().st_size == 0
    assert database.load() == {"a": b"x" * 10_000}


def test_pages_are_given_back_in_portions(database: Database, file: Path) -> None:
    """Trimming goes on until few pages are free, and then has nothing to do."""
    assert not database.trim()
    database.apply({f"{number}": b"x" * 3000 for number in range(4 * FREE_PAGES)})
    database.empty_log()
    assert file.stat().st_size > 16 * 1024 * FREE_PAGES
    assert not database.trim()
    database.apply(dict.fromkeys(database.keys()))
    rounds = 0
    while database.trim():
        rounds += 1
    assert rounds == 2
    database.empty_log()
    assert file.stat().st_size < 4200 * (FREE_PAGES + 10)


# What is refused


def test_another_format_is_left_alone(file: Path) -> None:
    """The operator learns both versions and what to do."""
    Database.open(file).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE meta SET value = 99 WHERE name = 'format'")
    assert refusal(file) == (
        f"{file} has format 99, this chapard reads {FORMAT}: start the one that wrote it, or move the file away to "
        f"begin with nothing"
    )


def test_a_database_of_something_else_is_left_alone(file: Path) -> None:
    """A file of another program is not touched."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    assert refusal(file).startswith(f"{file} is a database of something else: move it away, or set node.state_dir")


def test_a_database_without_a_format_is_left_alone(file: Path) -> None:
    """Its tables have our names, but no version."""
    Database.open(file).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM meta")
    assert refusal(file).startswith(f"{file} has format unknown")


def test_a_file_that_is_no_database_is_named(file: Path) -> None:
    """Garbage is called damaged, with the way out."""
    file.write_bytes(b"chapar" * 1000)
    assert refusal(file) == (
        f"{file} is damaged (file is not a database): move it away to begin with nothing, or put a copy back"
    )


@pytest.mark.parametrize("page", [1, 3, 20])
def test_a_damaged_page_is_found_at_the_start(file: Path, page: int) -> None:
    """Wherever it is: no node runs on half of its state."""
    with closing(Database.open(file)) as database:
        database.apply({f"{number:05}": b"x" * 500 for number in range(500)})
    with file.open("r+b") as stream:
        stream.seek(page * 4096)
        stream.write(b"\xa5" * 4096)
    assert refusal(file).startswith(f"{file} is damaged (")


def test_a_truncated_file_is_found_at_the_start(file: Path) -> None:
    """The end is missing."""
    with closing(Database.open(file)) as database:
        database.apply({f"{number:05}": b"x" * 500 for number in range(500)})
    with file.open("r+b") as stream:
        stream.truncate(20 * 4096)
    assert refusal(file).startswith(f"{file} is damaged (")


def test_a_file_in_use_elsewhere_is_named(file: Path) -> None:
    """Somebody has it open in a database shell."""
    Database.open(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as shell:
        shell.execute("PRAGMA locking_mode = EXCLUSIVE")
        shell.execute("BEGIN EXCLUSIVE")
        assert refusal(file) == f"{file} is open in another program: close that"


def test_a_directory_in_its_place_is_named(file: Path) -> None:
    """What SQLite cannot open is said with its reason."""
    file.mkdir()
    with pytest.raises(DiskError, match=f"^{file} cannot be used: unable to open database file"):
        Database.open(file)


def test_a_file_whose_disk_is_gone_still_gives_a_reason(file: Path) -> None:
    """An error without a code, in a directory that does not exist."""
    text = reason(sqlite3.OperationalError("disk I/O error"), file / "gone" / "chapard.db")
    assert text.startswith(f"{file}/gone/chapard.db cannot be used: disk I/O error")
