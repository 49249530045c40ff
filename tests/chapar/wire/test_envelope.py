"""The envelope: datagrams become the frames they were, or one WireError; nothing a peer sends does anything else."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.errors import WireError, WireReason
from chapar.filter import Filter
from chapar.limits import MAX_MESSAGE_BYTES, MAX_NODES, MTU
from chapar.wire import (
    VERSION,
    Bye,
    Decoder,
    FmtRecord,
    Frame,
    Kind,
    Link,
    Listing,
    Publish,
    Subscribe,
    Table,
    decode_fmt_record_untrusted,
    decode_met_record_untrusted,
    decode_untrusted,
    encode,
    encode_record,
)
from chapar.wire.envelope import check_message_untrusted
from strategies.frames import datagrams, fmt_records, frames, met_records

if TYPE_CHECKING:
    from collections.abc import Callable

BYE = encode(Bye(7))


def reason_of(datagram: bytes, nodes: int = 256) -> WireReason:
    with pytest.raises(WireError) as refused:
        decode_untrusted(datagram, nodes=nodes)
    return refused.value.reason


def exact_or_refused(datagram: bytes, nodes: int = 256) -> None:
    """The claim about foreign bytes: they are refused, or they are exactly what our encoder makes of their frames."""
    try:
        decoded = decode_untrusted(datagram, nodes=nodes)
    except WireError:
        return
    assert b"".join(map(encode, decoded)) == datagram


@given(datagrams())
def test_what_was_encoded_is_decoded(sent: list[Frame]) -> None:
    """A datagram gives back its frames, in order, each of its own class."""
    received = decode_untrusted(b"".join(map(encode, sent)))
    assert received == sent
    assert list(map(type, received)) == list(map(type, sent))


@given(datagrams(MAX_NODES, max_size=2))
def test_the_largest_network_is_like_any_other(sent: list[Frame]) -> None:
    """Indexes and node vectors beyond one byte travel too."""
    assert decode_untrusted(b"".join(map(encode, sent)), nodes=MAX_NODES) == sent


@given(st.integers(1, 40).flatmap(lambda nodes: st.tuples(st.just(nodes), datagrams(nodes, max_size=2))))
def test_networks_whose_size_is_no_multiple_of_eight(case: tuple[int, list[Frame]]) -> None:
    """The last byte of a node vector may be a partial one."""
    nodes, sent = case
    assert decode_untrusted(b"".join(map(encode, sent)), nodes=nodes) == sent


@given(st.binary(max_size=80))
def test_arbitrary_bytes(datagram: bytes) -> None:
    """Noise is refused with a WireError."""
    exact_or_refused(datagram)


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(anything, st.sampled_from(Kind))
def test_arbitrary_msgpack(value: object, kind: Kind) -> None:
    """Well-formed msgpack of any shape is refused with a WireError, as a frame and as the fields of one."""
    exact_or_refused(msgpack.packb(value))
    fields = value if isinstance(value, list) else [value]
    exact_or_refused(msgpack.packb([VERSION, kind, 7, *fields]))


@given(datagrams(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3))
def test_mutated_datagrams(sent: list[Frame], changes: list[tuple[int, int]]) -> None:
    """Bytes flipped on the way are refused, or are another datagram in its one form."""
    datagram = bytearray(b"".join(map(encode, sent)))
    for place, value in changes:
        datagram[place % len(datagram)] = value
    exact_or_refused(bytes(datagram))


@given(datagrams(), st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_inserted_bytes(sent: list[Frame], place: int, inserted: bytes) -> None:
    """Bytes put in on the way are refused, or make another datagram in its one form."""
    datagram = b"".join(map(encode, sent))
    place %= len(datagram) + 1
    exact_or_refused(datagram[:place] + inserted + datagram[place:])


@given(frames(), st.integers(0, 10**6))
def test_a_truncated_frame_is_refused_as_such(frame: Frame, place: int) -> None:
    """A datagram that ends within a frame says so, wherever it ends."""
    encoded = encode(frame)
    assert reason_of(encoded[: place % len(encoded)]) is WireReason.TRUNCATED


@given(datagrams(), st.binary(max_size=30))
def test_nothing_is_carried_over_to_the_next_datagram(sent: list[Frame], noise: bytes) -> None:
    """A decoder that was fed noise, or half a datagram, decodes the next one as if nothing had been."""
    decoder = Decoder(256)
    datagram = b"".join(map(encode, sent))
    for bad in (noise, datagram[:-1], datagram + b"\xc0", datagram + noise):
        try:
            decoder.frames_untrusted(bad)
        except WireError:
            continue
    assert decoder.frames_untrusted(datagram) == sent


@given(frames(sender=st.just(7)), frames(sender=st.just(8)))
def test_a_datagram_has_one_sender(ours: Frame, theirs: Frame) -> None:
    """Frames of two senders in one datagram are refused."""
    assert reason_of(encode(ours) + encode(theirs)) is WireReason.SENDER


@pytest.mark.parametrize("count", [1, 15, 16, 64, 65, 300])
def test_a_datagram_holds_any_number_of_frames(count: int) -> None:
    """Packed to the MTU or beyond, all frames come out."""
    assert decode_untrusted(BYE * count) == [Bye(7)] * count


@pytest.mark.parametrize("count", [63, 64, 65, 1024, 8192])
def test_lists_may_be_long(count: int) -> None:
    """Lists up to their limit are decoded, whichever way that takes."""
    listing = Listing(7, Table.FMT, (), tuple((bytes((0, n % 256)), n) for n in range(count)), 0)
    assert decode_untrusted(encode(listing)) == [listing]
    subscribe = Subscribe(7, 7, 1, 0, (Filter(subject="position"),) * count)
    assert decode_untrusted(encode(subscribe)) == [subscribe]


def test_a_list_beyond_its_limit_is_oversized() -> None:
    """A list that no frame may have is refused though it is all there."""
    assert reason_of(encode(Subscribe(7, 7, 1, 0, (Filter(),) * 8193))) is WireReason.OVERSIZED


def test_a_datagram_larger_than_any_message_is_oversized() -> None:
    """Nothing larger than a message is looked at."""
    assert reason_of(BYE * (MAX_MESSAGE_BYTES // len(BYE) + 1)) is WireReason.OVERSIZED


BOMBS = {
    "arrays": (b"\xdd\xff\xff\xff\xff" * (MTU // 5), WireReason.TRUNCATED),
    "modest arrays": (b"\xdc\x20\x00" * (MTU // 3), WireReason.TRUNCATED),
    "deep arrays": (b"\xdc\x20\x00" * 1000, WireReason.TRUNCATED),
    "deeper arrays": (b"\xdc\x20\x00" * 1100, WireReason.MALFORMED),
    "short arrays": (b"\xdc\x00\x40" * 1000, WireReason.TRUNCATED),
    "maps": (b"\xdf\x7f\xff\xff\xff" * (MTU // 5), WireReason.TRUNCATED),
    "bytes": (b"\x94\x01\x04\x07\xc6\xff\xff\xff\xff", WireReason.TRUNCATED),
    "string": (b"\x94\x01\x04\x07\xdb\xff\xff\xff\xff", WireReason.TRUNCATED),
    "extension": (b"\x94\x01\x04\x07\xc9\xff\xff\xff\xfe\x05", WireReason.TRUNCATED),
    # One more than msgpack can count; it takes the length for 0.
    "largest extension": (b"\x94\x01\x04\x07\xc9\xff\xff\xff\xff\x05", WireReason.TYPE),
}


@pytest.mark.parametrize(("bomb", "reason"), BOMBS.values(), ids=BOMBS.keys())
def test_lengths_that_lie_allocate_next_to_nothing(bomb: bytes, reason: WireReason) -> None:
    """A length bomb is refused for less than a megabyte."""
    decoder = Decoder(256)
    decoder.frames_untrusted(BYE)
    tracemalloc.start()
    try:
        with pytest.raises(WireError) as refused:
            decoder.frames_untrusted(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.reason is reason
    assert peak < 2**20


@pytest.mark.parametrize("depth", [200, 511, 600, 1000, 1023, 1024, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    """Arrays in arrays in arrays end in a WireError, however deep they go."""
    nested = b"\x91" * depth + b"\x00"
    assert reason_of(nested) in (WireReason.SHAPE, WireReason.MALFORMED)
    assert reason_of(b"\x95\x01\x04\x07" + nested + b"\x00") in (WireReason.TYPE, WireReason.MALFORMED)
    assert reason_of(b"\x94" + nested * 4) in (WireReason.VERSION, WireReason.MALFORMED)


def test_frames_refer_to_possible_nodes_only() -> None:
    """The size of the network decides which senders there are."""
    assert decode_untrusted(encode(Bye(255)), nodes=256) == [Bye(255)]
    assert reason_of(encode(Bye(255)), nodes=255) is WireReason.RANGE


@pytest.mark.parametrize(
    "longer", [b"\xcc\x07", b"\xcd\x00\x07", b"\xce\x00\x00\x00\x07", b"\xd0\x07", b"\xd3" + bytes(7) + b"\x07"]
)
def test_a_value_has_one_form(longer: bytes) -> None:
    """The same number in more bytes than it needs is refused, so that equal frames are equal bytes."""
    assert reason_of(BYE[:3] + longer) is WireReason.MALFORMED


def test_a_filter_has_one_form() -> None:
    """Constraints in another order than the canonical one are refused: digests are taken of the bytes."""
    in_order = Filter(subject="a", type="b")
    wired = in_order.to_wire()
    swapped = wired[3:] + wired[:3]
    assert Filter.from_wire_untrusted(swapped) == in_order
    assert reason_of(msgpack.packb([VERSION, Kind.REPLAY, 7, [swapped]])) is WireReason.RANGE
    with pytest.raises(WireError, match="canonical"):
        decode_fmt_record_untrusted(msgpack.packb([7, 1, 0, [swapped]]), 256)


@given(fmt_records())
def test_fmt_records_round_trip(record: FmtRecord) -> None:
    """A record of the FMT is decoded to what was encoded, and refused if anything follows or is missing."""
    check_record(encode_record(record), record, decode_fmt_record_untrusted)


@given(met_records())
def test_met_records_round_trip(record: FmtRecord) -> None:
    """A record of the MET is decoded to what was encoded, and refused if anything follows or is missing."""
    check_record(encode_record(record), record, decode_met_record_untrusted)


def check_record(data: bytes, record: tuple[object, ...], decode: Callable[[bytes, int], tuple[object, ...]]) -> None:
    decoded = decode(data, 256)
    assert decoded == record
    assert type(decoded) is type(record)
    for bad in (data + b"\x00", data[:-1], b""):
        with pytest.raises(WireError) as refused:
            decode(bad, 256)
        assert refused.value.reason is (WireReason.TRAILING if len(bad) > len(data) else WireReason.TRUNCATED)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_as_records(data: bytes) -> None:
    """Noise is refused with a WireError, or is a record in its one form."""
    for decode in (decode_fmt_record_untrusted, decode_met_record_untrusted):
        try:
            record = decode(data, 256)
        except WireError:
            continue
        assert encode_record(record) == data


def test_records_may_be_large() -> None:
    """A home with many filters is one record."""
    record = FmtRecord(7, 1, 0, tuple(Filter(where=f"a = {n}") for n in range(1000)))
    assert decode_fmt_record_untrusted(encode_record(record), 256) == record


def test_a_message_is_one_frame_of_its_sender() -> None:
    """A reassembled message is neither two frames, nor of another sender, nor a frame of the link itself."""
    body = b"\x9a\xc4\x0a" + bytes(10)
    check_message_untrusted(encode(Publish(200, body)), 200)
    bad = {
        WireReason.TRAILING: encode(Publish(200, body)) * 2,
        WireReason.SENDER: encode(Publish(201, body)),
        WireReason.KIND: encode(Link(200, 1, 1, 0, 0, 0)),
        WireReason.TRUNCATED: encode(Publish(200, body))[:-1],
        WireReason.MALFORMED: b"\xc1",
    }
    for reason, message in bad.items():
        with pytest.raises(WireError) as refused:
            check_message_untrusted(message, 200)
        assert refused.value.reason is reason
