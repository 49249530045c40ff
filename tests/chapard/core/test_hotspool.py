"""The quick way writes what the usual way writes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.spool import table_of
from chapard.core.effects import DeliveryRow, FrameRow, PublishRow
from chapard.core.hotspool import HOT
from chapard.core.records import rows_of
from chapard.core.spool import Spool, rows_in

text = st.sampled_from(["a", "bb", "ccc"])
i64, i32, i16 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (64, 32, 16))
some_id = st.binary(min_size=6, max_size=6).map(lambda start: start + bytes(4))
EFFECTS = {
    "frames": st.builds(
        FrameRow, text, st.none() | i32, text, text, i32, st.none() | some_id, st.none() | st.just(b"f" * 20), i16
    ),
    "publishes": st.builds(
        PublishRow, text, some_id, text, st.integers(0, 2**65), i32, st.none() | text, st.integers(1, 300)
    ),
    "deliveries": st.builds(
        DeliveryRow, st.lists(text, min_size=1, max_size=4), some_id, i32, i16, text, i64, st.integers(1, 5)
    ),
}


def extend(buffer: bytearray, end: int) -> None:
    buffer.extend(bytes(max(0, end - len(buffer))))


@pytest.mark.parametrize("dataset", HOT)
@given(data=st.data())
def test_both_ways_write_the_same(dataset: str, data: st.DataObject) -> None:
    """New text, no room, numbers out of bounds, nulls, several clients: row for row."""
    effects: list[Any] = data.draw(st.lists(EFFECTS[dataset], max_size=12))
    buffers = bytearray(), bytearray()
    quick, usual = (Spool(dataset, "r", 1, buffer, partial(extend, buffer)) for buffer in buffers)
    add = HOT[dataset][1](quick)
    for ts_us, effect in enumerate(effects):
        add(effect, ts_us)
        for _, values, times in rows_of(effect, 1, ts_us):
            usual.append(values, times)
    assert table_of(bytes(buffers[0])) == table_of(bytes(buffers[1]))
    assert quick.rows == usual.rows == rows_in(bytes(buffers[0]))
