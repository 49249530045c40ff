"""What lies in a folder, from the files themselves and before Spark is started: which runs, and what cannot be read.

A file that cannot be read, or whose columns are not those of the schema, is left out and complained of by name: what
is left is audited, and the complaint keeps the verdict from holding.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from chapar_audit.schema import DATASETS, METADATA_KEY, OF_THE_MEDIUM, VERSION
from chapar_audit.spool import SUFFIX, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

RUNS: Final = "runs"
_NODE: Final = re.compile(r"node=(\d{1,9})")
_MOST_NAMED: Final = 8
"""Runs that a message names."""


class RecordedError(Exception):
    """What is in the folder cannot be audited; the message says why, in one line."""


class Start(NamedTuple):
    """A daemon started: a row of `runs`."""

    node: int
    ts_us: int
    world: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What there is of one run."""

    run: str
    files: Mapping[str, tuple[Path, ...]]
    """Those that can be read, by dataset; every dataset is there."""
    partial: frozenset[str]
    """Datasets of which a file was left out."""
    starts: tuple[Start, ...]
    """In order of time."""
    spans: Mapping[int, tuple[int, int]]
    """By node the first and last time of what it recorded of frames."""
    rows: int
    """Of all datasets."""
    complaints: tuple[str, ...]
    """A line each."""

    @property
    def missing(self) -> frozenset[str]:
        """Datasets without a single file, which is not the same as that nothing happened."""
        return frozenset(name for name, files in self.files.items() if not files and name not in self.partial)


@dataclass(slots=True)
class _Notes:
    """What is found on the way."""

    complaints: list[str] = field(default_factory=list)
    partial: set[str] = field(default_factory=set)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    rows: int = 0


def survey(folder: Path, run: str | None = None) -> Survey:
    """The only run in a folder, or the one that is named. Raises RecordedError."""
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "there is no such folder"
        raise RecordedError(f"{folder}: {what}; name the one that a run was recorded in")
    chosen = _chosen(folder, run)
    notes = _Notes()
    files = {name: tuple(_readable(folder, name, chosen, notes)) for name in DATASETS}
    starts = tuple(sorted(_starts(files[RUNS], folder, notes), key=lambda start: start.ts_us))
    if not starts:
        raise RecordedError(f"{folder}: nothing of run {chosen!r} can be read: {notes.complaints[0]}")
    spools = sum(1 for _ in folder.rglob(f"*{SUFFIX}"))
    if spools:
        some = "a spool is" if spools == 1 else f"{spools} spools are"
        notes.complaints.append(f"{some} not compacted, and not audited: run `chapar-audit compact {folder}`")
    for word, values in (("worlds", {s.world for s in starts}), ("modes", {s.settings["mode"] for s in starts})):
        if len(values) > 1:
            notes.complaints.append(f"one run in several {word}, {' and '.join(sorted(values))}: they are several")
    return Survey(
        run=chosen,
        files=files,
        partial=frozenset(notes.partial),
        starts=starts,
        spans=notes.spans,
        rows=notes.rows,
        complaints=tuple(notes.complaints),
    )


def _chosen(folder: Path, run: str | None) -> str:
    """The run to audit."""
    names = sorted(_runs_of(folder, RUNS))
    if not names:
        others = sorted({name for dataset in DATASETS for name in _runs_of(folder, dataset)})
        if others:
            raise RecordedError(f"{folder}: `runs` is missing, which says what run {others[0]!r} was")
        if next(folder.rglob(f"*{SUFFIX}"), None) is not None:
            raise RecordedError(f"{folder}: only spools here; run `chapar-audit compact {folder}` first")
        raise RecordedError(f"{folder}: no dataset `runs` here; name a folder that a run was recorded in")
    listed = ", ".join(islice(names, _MOST_NAMED)) + (", …" if len(names) > _MOST_NAMED else "")
    if run is None and len(names) > 1:
        raise RecordedError(f"{folder}: several runs ({listed}); say which with --run")
    if run is not None and run not in names:
        raise RecordedError(f"{folder}: no run {run!r}; there are {listed}")
    return run or names[0]


def _runs_of(folder: Path, dataset: str) -> Iterator[str]:
    for place in (folder / dataset).glob("run=*"):
        if place.is_dir():
            yield unquote(place.name.removeprefix("run="))


def _readable(folder: Path, dataset: str, run: str, notes: _Notes) -> Iterator[Path]:
    """The files of a run that can be read."""
    for place in sorted((folder / dataset).glob("run=*")):
        if unquote(place.name.removeprefix("run=")) != run:
            continue
        for path in sorted(place.rglob("*.parquet")):
            if path.name.startswith((".", "_")):
                continue
            said = _problem(path, place, dataset, notes)
            if not said:
                yield path
            else:
                notes.complaints.append(f"{path.relative_to(folder)} is left out: {said}")
                notes.partial.add(dataset)


def _problem(path: Path, place: Path, dataset: str, notes: _Notes) -> str:
    """Why a file cannot be audited; empty if it can."""
    above = path.parent.relative_to(place).parts
    if dataset in OF_THE_MEDIUM:
        if above:
            return f"files of `{dataset}` lie directly below run=RUN"
    elif len(above) != 1 or not _NODE.fullmatch(above[0]):
        return "it does not lie below run=RUN/node=NODE"
    try:
        with pq.ParquetFile(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
            said = _version_problem(metadata) or _column_problem(dataset, schema)
            if said:
                return said
            for group in range(metadata.num_row_groups):
                read = file.read_row_group(group, use_threads=True)
                for column in arrow_schema(dataset):
                    if not column.nullable and read[column.name].null_count:
                        return f"`{column.name}` is not there in every row"
    except (pa.ArrowException, OSError, ValueError) as error:
        return _first_line(error)
    notes.rows += metadata.num_rows
    if dataset == "frames" and metadata.num_rows:
        _note_span(int(above[0].removeprefix("node=")), metadata, schema.get_field_index("ts_us"), notes)
    return ""


def _version_problem(metadata: Any) -> str:
    said = (metadata.metadata or {}).get(METADATA_KEY.encode())
    if said is None:
        return f"it has no schema version (`{METADATA_KEY}`), so it is not from our recorders"
    version = said.decode(errors="replace")
    return "" if version == str(VERSION) else f"it is of schema version {version}, this audit reads {VERSION}"


def _column_problem(dataset: str, found: pa.Schema) -> str:
    for column in arrow_schema(dataset):
        if found.get_field_index(column.name) < 0:
            return f"it has no column `{column.name}`"
        kind = found.field(column.name).type
        if not _is_same(kind, column.type):
            return f"`{column.name}` is {kind}, not {column.type}"
    return ""


def _is_same(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column has the type it must have; the name that a file gives the values of a list does not count."""
    if pa.types.is_list(wanted):
        return bool(pa.types.is_list(found) and found.value_type == wanted.value_type)
    return bool(found == wanted)


def _note_span(node: int, metadata: Any, column: int, notes: _Notes) -> None:
    """Widen the span of a node by that of a file."""
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is not None and statistics.has_min_max:
            first, last = notes.spans.get(node, (statistics.min, statistics.max))
            notes.spans[node] = (min(first, statistics.min), max(last, statistics.max))


def _starts(files: tuple[Path, ...], folder: Path, notes: _Notes) -> Iterator[Start]:
    """The rows of `runs`. Raises RecordedError if they are of a schema that we do not know."""
    for path in files:
        node = int(path.parent.name.removeprefix("node="))
        for row in pq.ParquetFile(path).read().to_pylist():
            if row["schema_version"] != VERSION:
                raise RecordedError(
                    f"{folder}: recorded under schema version {row['schema_version']}, this audit reads {VERSION}"
                )
            try:
                settings = json.loads(row["settings"])
                settings["mode"]
            except (ValueError, TypeError, KeyError):
                notes.complaints.append(f"the settings of node {node} cannot be read: it is not among those of the run")
                continue
            yield Start(node, row["ts_us"], row["world"], settings)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
