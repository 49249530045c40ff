"""The frames and the table of what a receiver accepts in them."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.errors import WireError, WireReason
from chapar.filter import Filter
from chapar.limits import U32_MAX, U64_MAX
from chapar.wire import (
    DIGEST_WIDTH,
    VERSION,
    Digests,
    Fragment,
    Frame,
    InterestFrame,
    Kind,
    Listing,
    Nack,
    Table,
    Want,
    Word,
    decode_untrusted,
    encode,
    kind_of,
)
from chapar.wire.frames import MIN_CHUNK_BYTES, SPECS
from strategies.frames import frames, frames_by_kind

EID = bytes(10)


def reason_of(frame: Frame) -> WireReason | None:
    try:
        decode_untrusted(encode(frame))
    except WireError as refused:
        return refused.reason
    return None


def test_every_kind_is_drawn() -> None:
    """The strategies that the properties of the wire rest on leave out no kind."""
    drawn = frames_by_kind(256, st.just(7))
    assert set(drawn) == set(Kind)


@given(frames())
def test_a_frame_begins_with_its_kind(frame: Frame) -> None:
    """The first three bytes of a frame are the number of its elements, the version and the kind."""
    elements = 2 + len(frame)
    assert encode(frame)[:3] == bytes((0x90 | elements, VERSION, kind_of(frame)))


PLACES = [(kind, place) for kind in Kind for place in range(len(SPECS[kind].rules))]


@pytest.mark.parametrize(("kind", "place"), PLACES, ids=lambda value: getattr(value, "name", str(value)))
@settings(max_examples=9)  # for each of 80 fields
@given(data=st.data())
def test_every_field_has_a_type(kind: Kind, place: int, data: st.DataObject) -> None:
    """A value of another type in any field of any kind is refused as such."""
    frame = data.draw(frames_by_kind(256, st.just(7))[kind])
    wired = msgpack.unpackb(encode(frame), use_list=False)
    good_type = type(wired[2 + place])
    strangers: tuple[Any, ...] = (1, True, 1.5, None, "a", b"a", (1,), {}, msgpack.ExtType(5, b"a"))
    stranger = data.draw(st.sampled_from([each for each in strangers if type(each) is not good_type]))
    changed = (*wired[: 2 + place], stranger, *wired[3 + place :])
    with pytest.raises(WireError) as refused:
        decode_untrusted(msgpack.packb(changed))
    assert refused.value.reason is WireReason.TYPE


NUMBERS = [(kind, place, rule(256)) for kind, spec in SPECS.items() for place, rule in enumerate(spec.rules)]


@pytest.mark.parametrize(
    ("kind", "place", "limit"),
    [case for case in NUMBERS if isinstance(case[2], int)],
    ids=lambda value: getattr(value, "name", str(value)),
)
@settings(max_examples=3)  # for each of 60 fields
@given(data=st.data())
def test_every_number_has_a_limit(kind: Kind, place: int, limit: int, data: st.DataObject) -> None:
    """A number beyond its field's limit is refused, and so is a negative one."""
    frame = data.draw(frames_by_kind(256, st.just(7))[kind])
    wired = msgpack.unpackb(encode(frame), use_list=False)
    for beyond in (limit + 1, -1):
        with pytest.raises(WireError) as refused:
            decode_untrusted(msgpack.packb((*wired[: 2 + place], beyond, *wired[3 + place :])))
        assert refused.value.reason is WireReason.RANGE


def test_the_limits_are_those_of_the_protocol() -> None:
    """Numbers are 32 bits, 16 of a head, 63 of a version or a time; indexes are below the number of nodes."""
    limits = {limit for _, _, limit in NUMBERS if isinstance(limit, int)}
    assert limits == {1, 5, 31, 64, 255, 4095, 4096, 65535, U32_MAX, U64_MAX}


@given(frames(), st.integers(0, 20))
def test_every_kind_has_a_length(frame: Frame, elements: int) -> None:
    """A frame with a field too many or too few is refused."""
    wired = msgpack.unpackb(encode(frame))
    stretched = (wired + [0] * 20)[: max(3, elements)]
    if len(stretched) != len(wired):
        with pytest.raises(WireError) as refused:
            decode_untrusted(msgpack.packb(stretched))
        assert refused.value.reason is WireReason.SHAPE


def test_a_fragment_is_one_of_its_count() -> None:
    """The index is below the count, and there is at least one."""
    chunk = bytes(MIN_CHUNK_BYTES)
    assert reason_of(Fragment(7, 1, 1, 2, chunk)) is None
    assert reason_of(Fragment(7, 1, 2, 2, chunk)) is WireReason.RANGE
    assert reason_of(Fragment(7, 1, 0, 0, chunk)) is WireReason.RANGE


def test_small_fragments_are_last() -> None:
    """A message of crumbs would cost more to keep than it has bytes; only the last fragment may be small."""
    assert reason_of(Fragment(7, 1, 1, 2, b"a")) is None
    assert reason_of(Fragment(7, 1, 0, 2, bytes(MIN_CHUNK_BYTES - 1))) is WireReason.RANGE


def test_digests_of_the_whole_table_name_no_group() -> None:
    """At level 0 there is no group to name; at level 1 any of the 32."""
    digests = (0,) * DIGEST_WIDTH
    assert reason_of(Digests(7, Table.FMT, 1, 31, 5, digests, 0)) is None
    assert reason_of(Digests(7, Table.FMT, 0, 0, 5, digests, 0)) is None
    assert reason_of(Digests(7, Table.FMT, 0, 1, 5, digests, 0)) is WireReason.RANGE
    assert reason_of(Digests(7, Table.FMT, 0, 0, 5, digests[1:], 0)) is WireReason.SHAPE


def test_keys_are_those_of_the_table() -> None:
    """The FMT is asked for homes, the MET for events."""
    home = b"\x00\x07"
    for table, key, other in ((Table.FMT, home, EID), (Table.MET, EID, home)):
        assert reason_of(Listing(7, table, (), ((key, 1),), 0)) is None
        assert reason_of(Listing(7, table, (), ((key, 1), (other, 1)), 0)) is WireReason.RANGE
        assert reason_of(Want(7, table, (key,), (1,))) is None
        assert reason_of(Want(7, table, (key, other), (1, 1))) is WireReason.RANGE


def test_a_want_has_a_stamp_for_each_key() -> None:
    """Keys and stamps are two lists of the same length."""
    assert reason_of(Want(7, Table.MET, (EID, EID), (0, 0))) is None
    assert reason_of(Want(7, Table.MET, (EID, EID), (0,))) is WireReason.SHAPE
    assert reason_of(Want(7, Table.MET, (), (0,))) is WireReason.SHAPE


def test_an_interest_has_a_subscriber_for_each_filter_or_none() -> None:
    """Simple routing says whose each filter is; the others say of none."""
    filters, who = (Filter(subject="a"), Filter(subject="b")), (3, "rover")
    assert reason_of(InterestFrame(7, Word.SUBSCRIBE, (), filters)) is None
    assert reason_of(InterestFrame(7, Word.SUBSCRIBE, (who, who), filters)) is None
    assert reason_of(InterestFrame(7, Word.SUBSCRIBE, (who,), filters)) is WireReason.SHAPE
    assert reason_of(InterestFrame(7, Word.SUBSCRIBE, (who,), ())) is WireReason.SHAPE


def test_a_nack_asks_for_so_many_at_most() -> None:
    """What one NACK can make a sender repeat is bounded."""
    assert reason_of(Nack(7, 1, 2, tuple(range(64)))) is None
    assert reason_of(Nack(7, 1, 2, tuple(range(65)))) is WireReason.OVERSIZED


@pytest.mark.parametrize("kind", [Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, Kind.REPLAY, Kind.INTEREST])
def test_filters_are_parsed(kind: Kind) -> None:
    """A receiver gets filters, and what is no filter is refused with the frame."""
    wanted = Filter(subject="position", where="speed > 2")
    fields: dict[Kind, list[object]] = {Kind.REPLAY: [7], Kind.INTEREST: [7, 0, []]}
    before = fields.get(kind, [7, 7, 1, 0])
    [frame] = decode_untrusted(msgpack.packb([VERSION, kind, *before, [wanted.to_wire()]]))
    assert frame[-1] == (wanted,)
    with pytest.raises(WireError):
        decode_untrusted(msgpack.packb([VERSION, kind, *before, [[0, 99, "position"]]]))
