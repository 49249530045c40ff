"""The file in the state directory: SQLite as a table of keys and values that takes whole batches or nothing.

WAL with synchronous=FULL: a batch that was applied has reached the disk. The lock on the file is kept (exclusive
locking), so that no shared memory file is needed beside it. SQLite's own checkpoint every 1000 pages keeps the log at
about 4 MB, pages of deleted rows are used again, and `trim` gives back what stays free.

A batch is one statement, not one per row: after each step the calling thread has to win the interpreter lock back,
which takes 5 ms when the event loop is busy. Measured with a busy loop and batches of 100 saves: 5 commits/s with
`executemany`, 44 with one statement for puts and one for deletes, 125 with the view below; with an idle loop 2200.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT: Final = 1
"""Version of keys and values. A database of another version is left alone."""
LOG_BYTES: Final = 8 * 1024 * 1024
"""What the log shrinks to after a batch that was larger."""
ROWS: Final = 256
"""Rows of one statement: two parameters each, and SQLite may be built for 999."""
FREE_PAGES: Final = 1024
"""Pages (of 4 kB) kept free for what comes next, at least."""
TRIMMED_PAGES: Final = 2048
"""Pages given back at once: a few tens of milliseconds."""

_SETUP: Final = (
    "PRAGMA temp_store = MEMORY",
    "PRAGMA synchronous = FULL",
    f"PRAGMA journal_size_limit = {LOG_BYTES}",
)
_SCHEMA: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('faults', 0)",
)
# One statement puts and deletes: rows without a value delete their key, and a row of two NULLs does nothing.
_CHANGES: Final = (
    "CREATE TEMP VIEW changes AS SELECT key, value FROM kv",
    """CREATE TEMP TRIGGER put INSTEAD OF INSERT ON changes WHEN new.value IS NOT NULL
    BEGIN INSERT OR REPLACE INTO kv VALUES (new.key, new.value); END""",
    """CREATE TEMP TRIGGER forget INSTEAD OF INSERT ON changes WHEN new.value IS NULL
    BEGIN DELETE FROM kv WHERE key = new.key; END""",
)
# Of a few sizes only, so that SQLite parses each once; a batch is filled up with rows that do nothing.
_STATEMENTS: Final = {
    rows: f"INSERT INTO changes VALUES {', '.join(['(?, ?)'] * rows)}"  # noqa: S608 - made of constants
    for rows in (1, 2, 4, 8, 16, 32, 64, 128, ROWS)
}


class DiskError(Exception):
    """The disk cannot be used; one line that says why and what to do."""


class Database:
    """An open database. One thread at a time."""

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection

    @classmethod
    def open(cls, file: Path) -> Database:
        """Open or create. Refuses, and leaves alone, what is damaged or of another format."""
        try:
            connection = sqlite3.connect(file, timeout=1.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise DiskError(reason(error, file)) from None
        database = cls(file, connection)
        try:
            database._prepare()
        except sqlite3.Error as error:
            connection.close()
            raise DiskError(reason(error, file)) from None
        except DiskError:
            connection.close()
            raise
        return database

    def _prepare(self) -> None:
        ask = self._connection.execute
        ask("PRAGMA locking_mode = EXCLUSIVE")
        is_new = not ask("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if is_new:
            ask("PRAGMA auto_vacuum = INCREMENTAL")
        else:
            self._check()
        if ask("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise DiskError(f"{self._file}: this file system allows no write-ahead log; set node.state_dir to another")
        for statement in _SETUP:
            ask(statement)
        if is_new:
            self._create()
        for statement in _CHANGES:
            ask(statement)

    def _create(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        self._connection.execute("COMMIT")

    def _check(self) -> None:
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"meta", "kv"} <= tables:
            raise DiskError(f"{self._file} is a database of something else: move it away, or set node.state_dir")
        row = self._connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        if row != (FORMAT,):
            found = row[0] if row else "unknown"
            raise DiskError(
                f"{self._file} has format {found}, this chapard reads {FORMAT}: start the one that wrote it, or move "
                f"the file away to begin with nothing"
            )
        [verdict] = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DiskError(_damaged(self._file, verdict))

    def load(self) -> dict[str, bytes]:
        """Everything that is kept."""
        try:
            return dict(self._connection.execute("SELECT key, value FROM kv"))
        except sqlite3.Error as error:
            raise DiskError(reason(error, self._file)) from None

    def keys(self) -> set[str]:
        """The keys of everything that is kept."""
        try:
            return {key for (key,) in self._connection.execute("SELECT key FROM kv")}
        except sqlite3.Error as error:
            raise DiskError(reason(error, self._file)) from None

    def apply(self, changes: Mapping[str, bytes | None], *, after_fault: bool = False) -> None:
        """Put and (where the value is None) delete, all or nothing, and on the disk when this returns.

        What a failed attempt wrote to the log is void only once something else was written in its place, so the
        first success `after_fault` writes in any case.
        """
        flat: list[str | bytes | None] = list(chain.from_iterable(changes.items()))
        try:
            if len(changes) <= ROWS and not after_fault:
                self._insert(flat)
                return
            self._connection.execute("BEGIN IMMEDIATE")
            if after_fault:
                self._connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'faults'")
            for start in range(0, len(flat), 2 * ROWS):
                self._insert(flat[start : start + 2 * ROWS])
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise DiskError(reason(error, self._file)) from None

    def _insert(self, flat: list[str | bytes | None]) -> None:
        if flat:
            rows = next(size for size in _STATEMENTS if 2 * size >= len(flat))
            self._connection.execute(_STATEMENTS[rows], flat + [None] * (2 * rows - len(flat)))

    def _undo(self) -> None:
        with suppress(sqlite3.Error):  # the next attempt fails then too, and is reported
            self._connection.rollback()

    def empty_log(self) -> bool:
        """Move the log into the database and give its space back. Whether it could."""
        try:
            [is_busy, _, _] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False
        return not is_busy

    def trim(self) -> bool:
        """Give some pages back to the file system if more than half of the file is free. Whether there may be more.

        Nothing depends on it, so it does not fail.
        """
        try:
            [free] = self._connection.execute("PRAGMA freelist_count").fetchone()
            [pages] = self._connection.execute("PRAGMA page_count").fetchone()
            if free <= max(FREE_PAGES, pages // 2):
                return False
            wanted = min(free - FREE_PAGES, TRIMMED_PAGES)
            # Not `execute`: that takes one step, which is one page, of a statement without columns.
            self._connection.executescript(f"PRAGMA incremental_vacuum({wanted})")
        except sqlite3.Error:
            self._undo()
        return True

    def close(self) -> None:
        """SQLite empties the log on the way, if the disk allows it."""
        self._connection.close()


def reason(error: sqlite3.Error, file: Path) -> str:
    """Why SQLite failed, and what to do about it."""
    name = getattr(error, "sqlite_errorname", "")
    text = str(error)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _damaged(file, text)
    if name.startswith("SQLITE_BUSY"):
        return f"{file} is open in another program: close that"
    cause = _state_of_disk(file)
    if name == "SQLITE_FULL" or cause == "full":
        return f"the disk of {file.parent} is full: free some space there"
    if name.startswith("SQLITE_READONLY") or cause == "read-only":
        return f"the disk of {file.parent} is read-only: make it writable again"
    return f"{file} cannot be used: {text} ({name}); check its disk and permissions, or set node.state_dir"


def _state_of_disk(file: Path) -> str:
    try:
        state = os.statvfs(file.parent)
    except OSError:
        return "gone"
    if state.f_flag & os.ST_RDONLY:
        return "read-only"
    return "full" if state.f_bavail == 0 else "fine"


def _damaged(file: Path, what: str) -> str:
    detail = what.splitlines()[-1]
    return f"{file} is damaged ({detail}): move it away to begin with nothing, or put a copy back"
