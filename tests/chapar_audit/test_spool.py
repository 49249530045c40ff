"""What was put into a spool comes out of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.event import event_id, later
from chapar_audit import spool as reading
from chapar_audit.schema import DATASETS, VERSION
from chapar_audit.spool import SpoolError, arrow_schema, table_of
from chapard.core import records
from chapard.core import spool as writing
from chapard.core.spool import Spool
from strategies.rows import rows_of


def extend(buffer: bytearray, end: int) -> None:
    buffer.extend(bytes(end - len(buffer) + 100))


def spooled(dataset: str, rows: list[tuple[Any, ...]], node: int | None = 3) -> bytes:
    """A spool with these rows."""
    buffer = bytearray()
    spool = Spool(dataset, "a run", node, buffer, partial(extend, buffer))
    for row in rows:
        spool.append(row)
    return bytes(buffer)


def node_of(dataset: str) -> int | None:
    return None if dataset == "air" else 3


def test_both_sides_mean_the_same() -> None:
    """The recorder's columns are the audit's; neither imports the other, so this holds them equal."""
    ours, theirs = (
        [(name, [tuple(column) for column in columns]) for name, columns in table.items()]
        for table in (records.COLUMNS, DATASETS)
    )
    assert ours == theirs
    assert records.VERSION == VERSION
    names = ("MAGIC", "WHOLE", "ENTRY", "MORE", "SUFFIX")
    assert [getattr(writing, name) for name in names] == [getattr(reading, name) for name in names]


@given(st.data(), st.sampled_from(sorted(DATASETS)))
def test_whatever_rows_go_in_come_out_in_order(data: st.DataObject, dataset: str) -> None:
    """Every value of every type, and what is missing, as it was; with the columns of the schema."""
    rows = data.draw(st.lists(rows_of(dataset), max_size=12))
    about, table = table_of(spooled(dataset, rows, node_of(dataset)))
    assert (about.dataset, about.run, about.node) == (dataset, "a run", node_of(dataset))
    assert table.schema.equals(arrow_schema(dataset))
    out = [tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in table.to_pylist()]
    assert out == rows


@given(st.lists(st.tuples(rows_of("publishes"), st.integers(1, 5)), max_size=8))
def test_a_run_comes_out_as_the_rows_it_stands_for(runs: list[tuple[tuple[Any, ...], int]]) -> None:
    """Each event has its own id, and nothing else differs."""
    buffer = bytearray()
    spool = Spool("publishes", "r", 3, buffer, partial(extend, buffer))
    expected = []
    for (ts_us, client, _, *rest), times in runs:
        first = event_id(3, 1, 2**32 - 9)
        spool.append((ts_us, client, first, *rest), times)
        expected += [(ts_us, client, later(first, place), *rest) for place in range(times)]
    assert spool.rows == len(expected)
    assert [tuple(row.values()) for row in table_of(bytes(buffer))[1].to_pylist()] == expected


@given(st.data(), st.lists(rows_of("losses"), min_size=1, max_size=6))
def test_a_spool_that_breaks_off_anywhere_has_its_first_rows(
    data: st.DataObject, rows: list[tuple[Any, ...]]
) -> None:
    """A writer was killed: whatever is not there of the end, every row before it is."""
    whole = spooled("losses", rows)
    begin = len(writing.head("losses", "a run", 3))
    cut = data.draw(st.integers(begin, len(whole)))
    out = [tuple(row.values()) for row in table_of(whole[:cut] + bytes(500))[1].to_pylist()]
    assert out == rows[: len(out)]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: b"PAR1" + data, "no spool"),
        (lambda data: data[:20], "its head cannot be read"),
        (lambda data: data.replace(b'"schema":1', b'"schema":9'), "it is of schema version 9, this reads 1"),
        (lambda data: data.replace(b'"home"', b'"hume"'), "these are not the columns of 'losses'"),
        (lambda data: data.replace(b'"losses"', b'"glosss"'), "these are not the columns of 'glosss'"),
        (lambda data: data.replace(b'"size":31', b'"size":30'), "its records have 30 bytes, those of losses 31"),
        (lambda data: data.replace(b'"node":3', b'"node":"').replace(b',"size', b'","siz'), "head"),
        (lambda data: data.replace(b'"run":"a run"', b'"run":"",    '.replace(b",    ", b"     ")), "no run is called"),
        (lambda data: data.replace(b"no_route", b"\xffo_route"), "entry 0 is no str"),
    ],
)
def test_what_is_no_spool_is_refused_in_words(spoil: Any, why: str) -> None:
    """And never read as something else."""
    data = spooled("losses", [(1, bytes(10), 2, None, "no_route")])
    with pytest.raises(SpoolError, match=why):
        table_of(spoil(data))


def test_a_record_that_names_nothing_is_refused() -> None:
    """Its text was never there: whoever wrote it was no recorder of ours."""
    data = bytearray(spooled("losses", [(1, bytes(10), 2, None, "no_route")]))
    at = len(writing.head("losses", "a run", 3))
    data[at + 30] = 0  # the mark of the entry
    with pytest.raises(SpoolError, match="names an entry that is not there"):
        table_of(bytes(data))
