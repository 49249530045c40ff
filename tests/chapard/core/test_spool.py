"""Packing rows; that they come out again is shown where they are read (`chapar_audit.test_spool`)."""

from __future__ import annotations

from functools import partial

import pytest

from chapard.core.records import COLUMNS
from chapard.core.spool import MAGIC, WHOLE, Spool, head, record_of, rows_in

ROW = (7, "sub", "on", 3)


class FullError(Exception):
    """There is no more room."""


def refuse(_: int) -> None:
    raise FullError


def extend(buffer: bytearray, end: int) -> None:
    buffer.extend(bytes(end - len(buffer)))


def test_a_record_is_small_and_of_one_size() -> None:
    """Of each dataset; a frame takes 45 bytes."""
    assert {name: record_of(name).size for name in ("frames", "publishes", "deliveries")} == {
        "frames": 45,
        "publishes": 47,
        "deliveries": 53,
    }
    assert all(record_of(name).size <= 64 for name in COLUMNS)


def test_equal_text_is_there_once() -> None:
    """The second row of a client takes a record and nothing else."""
    buffer = bytearray()
    spool = Spool("sessions", "r", 1, buffer, partial(extend, buffer))
    spool.append(ROW)
    before = spool.used
    spool.append(ROW)
    assert spool.used - before == record_of("sessions").size
    assert spool.rows == 2
    assert buffer.count(b"sub") == 1
    assert buffer.startswith(MAGIC)
    assert buffer[-1] == WHOLE


def test_the_rows_of_a_spool_can_be_counted() -> None:
    """Those that a run stands for too, and without knowing what is in them."""
    buffer = bytearray()
    spool = Spool("publishes", "r", 1, buffer, partial(extend, buffer))
    for times in (1, 7):
        spool.append((1, "a publisher with a long name", bytes(10), "lifetime", 5, 70, None), times)
    assert rows_in(bytes(buffer)) == 8
    assert rows_in(bytes(buffer[:-1])) == 1
    assert rows_in(b"something else") == 0
    assert rows_in(MAGIC + b"\5\0\0\0nojson") == 0


def test_a_row_without_room_is_not_there() -> None:
    """What refuses to grow says so to whoever adds a row; the rows before are whole."""
    begin = len(head("sessions", "r", 1))
    buffer = bytearray(begin + 3 * record_of("sessions").size)
    spool = Spool("sessions", "r", 1, buffer, refuse)
    spool.append(ROW)
    with pytest.raises(FullError):
        spool.append(ROW)
    assert spool.rows == 1


def test_numbers_beyond_their_column_are_the_nearest_it_holds() -> None:
    """An event may live for longer than there are microseconds in 64 bits: that must not stop a recorder."""
    buffer = bytearray()
    spool = Spool("publishes", "r", 1, buffer, partial(extend, buffer))
    spool.append((1, "pub", bytes(10), "lifetime", 2**64 - 1, 70, None))
    assert record_of("publishes").unpack_from(buffer, spool.used - 47)[4] == 2**63 - 1
