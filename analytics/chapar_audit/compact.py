"""Spools to Parquet: `chapar-audit compact DIR`, and `python -m chapar_audit.compact DIR` for those who record.

A file appears whole or not at all: it is written under a hidden name, brought to the disk, renamed, and only then is
its spool removed. It has its spool's name and the number of its rows, which do not change once nobody writes the spool:
one that is left over after all that is written over its own file and adds nothing.
A spool that somebody still writes is left alone, and so is one that cannot be read.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import sys
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow.parquet as pq

from chapar_audit import compaction
from chapar_audit.schema import DATASETS, METADATA_KEY, VERSION
from chapar_audit.spool import SUFFIX, TIMES_OF_DAY, SpoolError, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from chapar_audit.schema import Column
    from chapar_audit.spool import About

DONE, FAILED, USAGE = 0, 1, 2
FOLDER: Final = "spool"
"""Where spools lie, below the folder that gets the datasets."""
BEHIND: Final = 10
"""How much more willingly than others we give way to them."""
LEVEL: Final = 3
"""Of zstd."""
_ESCAPED: Final = {ord(each): f"%{ord(each):02X}" for each in "\"#%'*/:=?\\{[]^\x7f"} | {
    code: f"%{code:02X}" for code in range(32)
}
"""What the name of a run cannot have in a path, as Spark and Arrow read it back."""
_REPEATED: Final = frozenset({"str", "filter_id", "list<i32>", "list<str>"})
"""Types whose values come again and again."""


class Compacted(NamedTuple):
    """What became of the spools."""

    files: tuple[Path, ...] = ()
    rows: int = 0
    complaints: tuple[str, ...] = ()
    """A line for each spool that could not be read or written."""


def compact(folder: Path, target: Path | None = None, *, replace: bool = False, epoch_us: int = 0) -> Compacted:
    """Turn every spool anywhere below `folder` that nobody writes into Parquet below `target`, else `folder`.

    Times are counted from `epoch_us`.
    With `replace`, these spools are all there is of their runs, and can be made again: what was there of a run goes,
    and files are not waited for to reach the disk.
    """
    files, rows, complaints = [], 0, []
    target = target or folder
    fresh: set[Path] | None = set() if replace else None
    for spool in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            written = _compact_one(spool, target, fresh, epoch_us)
        except (SpoolError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else error
            complaints.append(f"{spool}: left alone: {said}")
            continue
        if written is not None:
            files.append(written[0])
            rows += written[1]
    return Compacted(tuple(files), rows, tuple(complaints))


def path_of(folder: Path, about: About, name: str) -> Path:
    """Where the file of a spool belongs."""
    place = _run_path(folder, about.dataset, about.run)
    if about.node is not None:
        place /= f"node={about.node}"
    return place / f"{name}.parquet"


def _run_path(folder: Path, dataset: str, run: str) -> Path:
    return folder / dataset / f"run={run.translate(_ESCAPED)}"


def _remove_run(folder: Path, run: str, fresh: set[Path]) -> None:
    """Remove what was there of a run, unless that has been done."""
    for dataset in DATASETS:
        place = _run_path(folder, dataset, run)
        if place not in fresh:
            fresh.add(place)
            shutil.rmtree(place, ignore_errors=True)


def _compact_one(spool: Path, folder: Path, fresh: set[Path] | None, epoch_us: int) -> tuple[Path, int] | None:
    """The file and its rows; None for a spool that is being written, or that another has just compacted."""
    try:
        descriptor = os.open(spool, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        status = os.fstat(descriptor)
        if not status.st_nlink:
            return None
        if not status.st_size:
            raise SpoolError("it is empty")
        with mmap(descriptor, 0, access=ACCESS_READ) as mapped:
            about, table = table_of(mapped[:], epoch_us)
        if fresh is not None:
            _remove_run(folder, about.run, fresh)
        path = path_of(folder, about, f"{spool.name.removesuffix(SUFFIX)}-{table.num_rows}")
        write(path, about.dataset, table, is_durable=fresh is None)
        spool.unlink()
        return path, table.num_rows
    finally:
        os.close(descriptor)


def write(path: Path, dataset: str, table: pa.Table, *, is_durable: bool = True) -> None:
    """Write a file that is there as a whole or not at all; if it is durable, over a loss of power too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}.new")
    columns = DATASETS[dataset]
    try:
        _write(hidden, columns, table)
        if is_durable:
            _sync(hidden)
        hidden.rename(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise
    if is_durable:
        _sync(path.parent)


def _write(path: Path, columns: Sequence[Column], table: pa.Table) -> None:
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[column.name for column in columns if column.type in _REPEATED],
        column_encoding={column.name: "DELTA_BINARY_PACKED" for column in columns if column.name in TIMES_OF_DAY},
        store_schema=False,
    ) as file:
        file.write_table(table)
        file.add_key_value_metadata({METADATA_KEY: str(VERSION)})


def _sync(path: Path) -> None:
    """Have a file, or what a directory says, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compact for a program that records, behind what else it does: 0, or 1 if a spool was left alone."""
    with suppress(OSError):
        os.nice(BEHIND)
    parser = argparse.ArgumentParser(prog="chapar-audit compact", description="Turn spools into Parquet.")
    compaction.add_options(parser)
    return run(parser.parse_args(arguments))


def run(args: argparse.Namespace) -> int:
    """The command, with its options read."""
    folder: Path = args.folder
    if not folder.is_dir():
        sys.stderr.write(f"chapar-audit: {folder}: there is no such directory; name the one that holds spools\n")
        return USAGE
    done = compact(folder, args.out, replace=args.replace, epoch_us=args.epoch_us)
    for complaint in done.complaints:
        sys.stderr.write(f"chapar-audit: {complaint}\n")
    return FAILED if done.complaints else DONE


if __name__ == "__main__":
    sys.exit(main())
