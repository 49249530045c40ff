"""Event ids: ten bytes whose order is publish order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.errors import EventError
from chapar.event_id import event_id, later, origin_of, split_id
from chapar.limits import EVENT_ID_BYTES, MAX_NODES, U32_MAX

parts = st.tuples(st.integers(0, MAX_NODES - 1), st.integers(0, U32_MAX), st.integers(0, U32_MAX))


@given(parts)
def test_an_id_holds_its_parts(ids: tuple[int, int, int]) -> None:
    """Origin, incarnation and sequence come back as they went in, and the id is ten bytes."""
    eid = event_id(*ids)
    assert len(eid) == EVENT_ID_BYTES
    assert split_id(eid) == ids
    assert origin_of(eid) == ids[0]


@given(parts, parts)
def test_byte_order_is_publish_order(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    """Ids compare as their parts do, so those of one origin sort by incarnation and sequence."""
    assert (event_id(*one) < event_id(*other)) is (one < other)


@given(parts, st.integers(0, U32_MAX))
def test_later_ids_are_those_of_events_published_later(ids: tuple[int, int, int], by: int) -> None:
    """The same node and incarnation, counted on; there is none behind the last."""
    origin, incarnation, sequence = ids
    if sequence + by <= U32_MAX:
        assert later(event_id(*ids), by) == event_id(origin, incarnation, sequence + by)
    else:
        with pytest.raises(EventError, match="no event id"):
            later(event_id(*ids), by)


def test_the_bytes_are_fixed() -> None:
    """Big endian, two, four and four bytes: this is what other implementations must read."""
    assert event_id(0x0102, 0x03040506, 0x0708090A).hex() == "0102030405060708090a"


@pytest.mark.parametrize("ids", [(-1, 0, 0), (MAX_NODES, 0, 0), (0, U32_MAX + 1, 0), (0, 0, -1), (0, 0, U32_MAX + 1)])
def test_parts_out_of_range_are_refused(ids: tuple[int, int, int]) -> None:
    """No id is silently cut down to its width."""
    with pytest.raises(EventError, match="no event id"):
        event_id(*ids)
