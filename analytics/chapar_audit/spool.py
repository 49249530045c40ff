"""Reads a spool: the rows that a recorder left in records of one size, as a table of Arrow.

The format is told where it is written (`chapard.core.spool`). A spool says itself which columns it has; those of the
schema must be among them, with their types, or it is of another version and not read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from chapar_audit.schema import DATASETS, EVENT_ID_BYTES, FILTER_ID_BYTES, OF_THE_MEDIUM, VERSION, Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MAGIC: Final = b"chspool\x01"
WHOLE, ENTRY, MORE = 0x01, 0x40, 0x80
SUFFIX: Final = ".spool"
TIMES_OF_DAY: Final = frozenset({"ts_us", "published_us"})
"""Columns that are points in time; the other times are lengths."""
_DTYPES: Final[Mapping[str, str]] = {"i64": "<i8", "i32": "<i4", "i16": "<i2", "event_id": f"V{EVENT_ID_BYTES}"}
_TIMES, _CLIENTS, _MARK = " times", " clients", " mark"
_ENTRY_DTYPE: Final = "<u4"
_ARROW: Final[Mapping[str, Any]] = {
    "i64": pa.int64(),
    "i32": pa.int32(),
    "i16": pa.int16(),
    "str": pa.string(),
    "event_id": pa.binary(EVENT_ID_BYTES),
    "filter_id": pa.binary(FILTER_ID_BYTES),
    "list<i32>": pa.list_(pa.int32()),
    "list<str>": pa.list_(pa.string()),
}


class SpoolError(ValueError):
    """A file that is no spool, or one that cannot be read; the message says what is wrong."""


class About(NamedTuple):
    """What a spool says of itself."""

    dataset: str
    run: str
    node: int | None
    size: int
    """Of a slot."""
    begin: int
    """Where the slots begin."""
    has_runs: bool
    """A record may stand for several events, whose ids count up, and for several clients."""


def arrow_schema(dataset: str) -> pa.Schema:
    """The columns of a dataset as its files have them."""
    fields = [pa.field(name, _ARROW[kind], nullable=nullable) for name, kind, nullable in DATASETS[dataset]]
    return pa.schema(fields)


def about(data: bytes | memoryview) -> About:
    """Read the head of a spool. Raises SpoolError."""
    start = len(MAGIC) + 4
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise SpoolError("no spool")
    begin = start + int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        said = json.loads(bytes(data[start:begin]))
        dataset, run, node, size = said["dataset"], said["run"], said["node"], said["size"]
        columns, version = tuple(Column(*each) for each in said["columns"]), said["schema"]
        has_runs = said["runs"] is True
    except (ValueError, KeyError, TypeError):
        raise SpoolError("its head cannot be read") from None
    if version != VERSION:
        raise SpoolError(f"it is of schema version {version}, this reads {VERSION}")
    if columns != DATASETS.get(dataset):
        raise SpoolError(f"these are not the columns of {dataset!r}")
    if not isinstance(run, str) or not run:
        raise SpoolError(f"no run is called {run!r}")
    if (node is None) is not (dataset in OF_THE_MEDIUM) or not isinstance(node, int | None):
        raise SpoolError(f"{node!r} is no node of {dataset}")
    expected = _dtype(dataset, has_runs=has_runs).itemsize
    if size != expected:
        raise SpoolError(f"its records have {size} bytes, those of {dataset} {expected}")
    return About(dataset, run, node, size, begin, has_runs)


def table_of(data: bytes | memoryview, epoch_us: int = 0) -> tuple[About, pa.Table]:
    """All rows of a spool, in the order they were written; times count from `epoch_us`. Raises SpoolError."""
    found = about(data)
    count = (len(data) - found.begin) // found.size
    slots = np.frombuffer(data, np.uint8, count * found.size, found.begin).reshape(count, found.size)
    marks = slots[:, -1]
    is_row = (marks & WHOLE) != 0
    entries = _entries(slots, marks)
    rows = np.frombuffer(data, _dtype(found.dataset, has_runs=found.has_runs), count, found.begin)[is_row]
    if found.has_runs:
        rows = _unrolled(rows, entries)
    marks = rows[_MARK]
    arrays, bit = [], WHOLE
    for name, kind, nullable in DATASETS[found.dataset]:
        nulls = None
        if nullable:
            bit <<= 1
            nulls = (marks & bit) != 0
        values = np.ascontiguousarray(rows[name])
        if name in TIMES_OF_DAY and epoch_us:
            values = values - epoch_us
        arrays.append(_array(values, kind, nulls, entries))
    return found, pa.Table.from_arrays(arrays, schema=arrow_schema(found.dataset))


def _dtype(dataset: str, *, has_runs: bool) -> np.dtype[Any]:
    columns = [(column.name, _DTYPES.get(column.type, _ENTRY_DTYPE)) for column in DATASETS[dataset]]
    runs = [(_TIMES, "<u2"), (_CLIENTS, "<u2")] if has_runs else []
    return np.dtype([*columns, *runs, (_MARK, "u1")])


def _unrolled(records: NDArray[Any], entries: Sequence[bytes]) -> NDArray[Any]:
    """A row for each event and client that the records stand for: of each client, the events in order."""
    times, clients = records[_TIMES].astype(np.int64), records[_CLIENTS].astype(np.int64)
    total = times * clients
    if (total == 1).all():
        return records
    rows = np.repeat(records, total)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(total) - total, total)
    event, client = place % rows[_TIMES], place // rows[_TIMES]
    ids = np.frombuffer(rows["event_id"].tobytes(), np.uint8).reshape(len(rows), EVENT_ID_BYTES).copy()
    sequences = ids[:, -4:].copy().view(">u4").reshape(-1).astype(np.int64) + event
    ids[:, -4:] = sequences.astype(">u4").view(np.uint8).reshape(len(rows), 4)
    rows["event_id"] = ids.reshape(-1).view(f"V{EVENT_ID_BYTES}")
    for number in np.unique(rows["client"][rows[_CLIENTS] > 1]).tolist():
        chosen = (rows["client"] == number) & (rows[_CLIENTS] > 1)
        names = np.frombuffer(entries[number], "<u4") if number < len(entries) else np.empty(0, "<u4")
        if len(names) != rows[_CLIENTS][chosen][0]:
            raise SpoolError(f"entry {number} is no list of clients")
        rows["client"][chosen] = names[client[chosen]]
    return rows


def _entries(slots: NDArray[np.uint8], marks: NDArray[np.uint8]) -> list[bytes]:
    """The table of a spool. One that broke off in the end is left out."""
    room = slots.shape[1] - 1
    found = []
    for at in np.flatnonzero(marks == ENTRY).tolist():
        length = int.from_bytes(slots[at, :4].tobytes(), "little")
        parts = -(-(4 + length) // room)
        if at + parts > len(slots) or not (marks[at + 1 : at + parts] == MORE).all():
            break
        found.append(slots[at : at + parts, :room].tobytes()[4 : 4 + length])
    return found


def _array(values: NDArray[Any], kind: str, nulls: NDArray[np.bool_] | None, entries: Sequence[bytes]) -> pa.Array:
    """A column."""
    if kind == "event_id":
        valid = None if nulls is None else pa.array(~nulls).buffers()[1]
        return pa.FixedSizeBinaryArray.from_buffers(_ARROW[kind], len(values), [valid, pa.py_buffer(values.tobytes())])
    if kind in _DTYPES:
        return pa.array(values, _ARROW[kind], mask=nulls)
    used, places = np.unique(values if nulls is None else values[~nulls], return_inverse=True)
    if len(used) and int(used[-1]) >= len(entries):
        raise SpoolError("a record names an entry that is not there")
    dictionary = pa.array([_value(entries, int(number), kind) for number in used], _ARROW[kind])
    if nulls is None:
        return dictionary.take(pa.array(places.astype(np.int32)))
    indices = np.zeros(len(values), np.int32)
    indices[~nulls] = places
    return dictionary.take(pa.array(indices, mask=nulls))


def _value(entries: Sequence[bytes], number: int, kind: str) -> Any:
    data = entries[number]
    try:
        if kind == "str":
            return data.decode()
        if kind == "list<i32>":
            return np.frombuffer(data, "<i4").tolist()
        if kind == "list<str>":
            return [entries[each].decode() for each in np.frombuffer(data, "<u4").tolist()]
    except (ValueError, IndexError):
        raise SpoolError(f"entry {number} is no {kind}") from None
    if len(data) != FILTER_ID_BYTES:
        raise SpoolError(f"entry {number} is no {kind}")
    return data
