"""A spool: the rows of one dataset, of one node and one run, in records of one size that survive their writer.

    file    = MAGIC, length of the head (u32), head (JSON), slots
    slot    = size - 1 bytes, mark (u8)
    record  = a slot: the columns packed little-endian; in a dataset with runs also how many events (u16) and how many
              clients (u16) it stands for; mark = WHOLE, and a bit for each nullable column that is null
    entry   = slots: length (u32) and bytes, mark = ENTRY in the first, MORE in the others

Text, filter ids and lists are entries of a table, and records hold their numbers: entries count from 0 in the order
they were written, each before the first record that names it. A list of text is the numbers of its entries, and that is
what a record for several clients names as its client. Events of a run have ids that count up. The head says which
columns there are, so that whoever reads a spool needs to know nothing but this.

A slot counts once it has its mark, which is written last: a writer that is killed leaves whole rows and, at most,
half an entry that nothing names. What follows is zero.
"""

from __future__ import annotations

import json
from math import prod
from struct import Struct, pack
from struct import error as StructError  # noqa: N812 - an exception has the name of one
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from chapard.core.records import COLUMNS, RUNS, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from mmap import mmap

    Buffer: TypeAlias = bytearray | mmap

MAGIC: Final = b"chspool\x01"
WHOLE: Final = 0x01
ENTRY: Final = 0x40
MORE: Final = 0x80
SUFFIX: Final = ".spool"
_LENGTH: Final = Struct("<I")
_TIMES: Final = Struct("<HH")
_CODES: Final[Mapping[str, str]] = MappingProxyType({"i64": "q", "i32": "i", "i16": "h", "event_id": "10s"})
"""Of the types that stand in the record itself; the others are entries."""
_BITS: Final[Mapping[str, int]] = MappingProxyType({"i64": 63, "i32": 31, "i16": 15})


def record_of(dataset: str) -> Struct:
    """How a record of a dataset is packed, its mark included."""
    codes = "".join(_CODES.get(column.type, "I") for column in COLUMNS[dataset])
    return Struct(f"<{codes}{'HH' if dataset in RUNS else ''}B")


def head(dataset: str, run: str, node: int | None) -> bytes:
    """What a spool begins with; `node` is None for what the medium writes."""
    columns = [list(column) for column in COLUMNS[dataset]]
    size = record_of(dataset).size
    about = {"schema": VERSION, "dataset": dataset, "run": run, "node": node, "size": size, "columns": columns}
    about["runs"] = dataset in RUNS
    text = json.dumps(about, separators=(",", ":")).encode()
    return MAGIC + _LENGTH.pack(len(text)) + text


def rows_in(data: bytes) -> int:
    """How many rows are in a spool; 0 for what is none."""
    start = len(MAGIC) + _LENGTH.size
    if data[: len(MAGIC)] != MAGIC:
        return 0
    begin = start + _LENGTH.unpack_from(data, len(MAGIC))[0]
    try:
        about = json.loads(data[start:begin])
        size, has_runs = about["size"], about["runs"]
        marks = data[begin + size - 1 :: size]
    except (ValueError, KeyError, TypeError):
        return 0
    ends = (begin + size * (place + 1) for place, mark in enumerate(marks) if mark & WHOLE)
    return sum(prod(_TIMES.unpack_from(data, end - _TIMES.size - 1)) if has_runs else 1 for end in ends)


class Spool:
    """Writes rows into a buffer of zeros. `grow` is called with the size it must have to go on, or raises."""

    def __init__(
        self, dataset: str, run: str, node: int | None, buffer: Buffer, grow: Callable[[int], None]
    ) -> None:
        columns = COLUMNS[dataset]
        self.dataset = dataset
        self.rows = 0
        record = record_of(dataset)
        self.pack_into = record.pack_into
        self.size = record.size
        self.buffer = buffer
        self.room = len(buffer)
        self._grow = grow
        self.numbers: dict[object, int] = {}
        self._entries = 0
        self._entry_places = tuple(place for place, column in enumerate(columns) if column.type not in _CODES)
        self._nullable = []
        """Of each column that may be null: its place, its bit, and what is in a record then."""
        bit = WHOLE
        for place, column in enumerate(columns):
            if column.nullable:
                bit <<= 1
                self._nullable.append((place, bit, b"" if column.type == "event_id" else 0))
        self._has_runs = dataset in RUNS
        begin = head(dataset, run, node)
        self._make_room(len(begin))
        buffer[: len(begin)] = begin
        self.used = len(begin)
        """Bytes that are written; the rest of the buffer is zero."""

    def append(self, values: Sequence[Any], times: int = 1) -> None:
        """Add a row: the values of all columns, the time first. Raises what `grow` raises; then it is not there.

        `times`, in a dataset with runs: it stands for so many rows, whose event ids count up.
        """
        fields = [*values]
        numbers = self.numbers
        for place in self._entry_places:
            value = fields[place]
            if value is not None:
                try:
                    fields[place] = numbers[value]
                except KeyError:
                    fields[place] = self.number(value)
        mark = WHOLE
        for place, bit, empty in self._nullable:
            if fields[place] is None:
                mark |= bit
                fields[place] = empty
        at = self.used
        end = at + self.size
        if end > self.room:
            self._make_room(end)
        if self._has_runs:
            fields += (times, 1)
        try:
            self.pack_into(self.buffer, at, *fields, mark)
        except StructError:
            self.pack_into(self.buffer, at, *self._clamped(fields), mark)
        self.used = end
        self.rows += times

    def _clamped(self, fields: Sequence[Any]) -> list[Any]:
        """The nearest values that the columns hold: an event may live for longer than there are microseconds."""
        columns = COLUMNS[self.dataset]
        kept = [_clamped(value, column.type) for value, column in zip(fields, columns, strict=False)]
        return [*kept, *fields[len(columns) :]]

    def number(self, value: Any) -> int:
        """The number of an entry, which is added if it is new."""
        number = self.numbers.get(value)
        if number is not None:
            return number
        self._add(self._encoded(value))
        number = self.numbers[value] = self._entries
        self._entries += 1
        return number

    def _encoded(self, value: Any) -> bytes:
        """Text as UTF-8, numbers as i32 each, lists of text as the numbers of their entries, u32 each."""
        if isinstance(value, str):
            return value.encode(errors="replace")
        if isinstance(value, bytes):
            return value
        if value and isinstance(value[0], str):
            return pack(f"<{len(value)}I", *map(self.number, value))
        return pack(f"<{len(value)}i", *value)

    def _add(self, data: bytes) -> None:
        room = self.size - 1
        data = _LENGTH.pack(len(data)) + data
        parts = [data[at : at + room] for at in range(0, len(data), room)]
        at = self.used
        end = at + len(parts) * self.size
        self._make_room(end)
        for place, part in enumerate(parts):
            self.buffer[at : at + len(part)] = part
            self.buffer[at + room] = MORE if place else ENTRY
            at += self.size
        self.used = end

    def _make_room(self, end: int) -> None:
        if end > self.room:
            self._grow(end)
            self.room = len(self.buffer)


def _clamped(value: Any, type_: str) -> Any:
    bits = _BITS.get(type_)
    return value if bits is None else min(max(value, -(1 << bits)), (1 << bits) - 1)
