"""Messages in pieces: whatever order they come in, a message comes out whole and once, and within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.errors import WireError, WireReason
from chapar.limits import LINK_ROOM, MAX_MESSAGE_BYTES, MAX_NODES, MTU, U32_MAX
from chapar.wire import MIN_MTU, Bye, Fragment, Link, Publish, Reassembly, decode_untrusted, encode, fragment
from chapar.wire.frames import MAX_FRAGMENTS, MIN_CHUNK_BYTES

if TYPE_CHECKING:
    from random import Random

PATIENCE = 10.0
PEER = 7


def published(size: int, sender: int = PEER, fill: int = 0) -> bytes:
    """An encoded PUBLISH of about `size` bytes, whose bytes differ from place to place."""
    content = b"".join((fill + n).to_bytes(4, "big") for n in range(size // 4))
    return encode(Publish(sender, b"\x9a\xc4\x0a" + bytes(10) + content))


def pieces(encoded: bytes, message: int = 1, sender: int = PEER, mtu: int = MIN_MTU) -> list[Fragment]:
    """The fragments of a frame as they arrive."""
    datagrams = fragment(encoded, message, sender, mtu)
    return [cast("Fragment", decode_untrusted(datagram, nodes=MAX_NODES)[0]) for datagram in datagrams]


def machine(max_messages: int = 16, max_bytes: int = MAX_MESSAGE_BYTES, max_per_peer: int = 8) -> Reassembly:
    return Reassembly(max_messages, max_bytes, PATIENCE, max_per_peer=max_per_peer)


@given(st.integers(0, 3000), st.sampled_from((MIN_MTU, 256, 576, MTU, 9000)), st.sampled_from((0, 127, 128, 4095)))
def test_fragments_fit_and_hold_the_message(size: int, mtu: int, sender: int) -> None:
    """Each fragment fits a datagram beside the largest LINK header, and together they are the message."""
    encoded = published(size, sender)
    largest_link = encode(Link(sender, *(U32_MAX,) * 5))
    fragments = fragment(encoded, U32_MAX, sender, mtu)
    assert all(len(each) + len(largest_link) <= mtu for each in fragments)
    assert b"".join(each.chunk for each in pieces(encoded, U32_MAX, sender, mtu)) == encoded


def test_a_link_header_fits_its_room() -> None:
    """The room that is kept for the LINK header is enough for any."""
    assert len(encode(Link(MAX_NODES - 1, *(U32_MAX,) * 5))) <= LINK_ROOM


@pytest.mark.parametrize("mtu", [MIN_MTU, MTU])
def test_the_largest_message_travels(mtu: int) -> None:
    """MAX_MESSAGE_BYTES go through, in datagrams of any permitted size, in the least room a machine may have."""
    encoded = encode(Publish(4095, bytes(MAX_MESSAGE_BYTES - 12)))
    assert len(encoded) == MAX_MESSAGE_BYTES
    parts = pieces(encoded, U32_MAX, 4095, mtu)
    assert len(parts) <= MAX_FRAGMENTS
    reassembly = machine(max_messages=1)
    results = [reassembly.add(4095, part, 0.0) for part in reversed(parts)]
    assert results[-1] == encoded
    assert not any(results[:-1])
    assert (len(reassembly), reassembly.size) == (0, 0)


def test_a_frame_larger_than_a_message_is_our_mistake() -> None:
    """What no peer would accept is not sent."""
    with pytest.raises(ValueError, match="several frames"):
        fragment(bytes(MAX_MESSAGE_BYTES + 1), 1, PEER, MTU)
    with pytest.raises(ValueError, match="too small"):
        fragment(bytes(1000), 1, PEER, MIN_MTU - 1)


@given(st.randoms(use_true_random=False), st.lists(st.integers(200, 1500), min_size=1, max_size=4))
def test_order_and_repetition_do_not_matter(chance: Random, sizes: list[int]) -> None:
    """Messages whose fragments come shuffled, interleaved and repeated come out whole, each once."""
    messages = {number: published(size, fill=number) for number, size in enumerate(sizes)}
    parts = [part for number, encoded in messages.items() for part in pieces(encoded, number)]
    arriving = parts + chance.choices(parts, k=len(parts))
    chance.shuffle(arriving)
    reassembly = machine()
    out = [message for part in arriving if (message := reassembly.add(PEER, part, 0.0)) is not None]
    assert sorted(out) == sorted(messages.values())
    assert (len(reassembly), reassembly.size, reassembly.next_deadline()) == (0, 0, None)


@given(st.randoms(use_true_random=False), st.lists(st.integers(200, 1500), min_size=1, max_size=6))
def test_loss_is_told(chance: Random, sizes: list[int]) -> None:
    """Of messages that lost fragments, those that arrived in part are given up and named; the others come out."""
    messages = {number: published(size, fill=number) for number, size in enumerate(sizes)}
    parts = [part for number, encoded in messages.items() for part in pieces(encoded, number)]
    arriving = [part for part in parts if chance.random() < 0.8]
    chance.shuffle(arriving)
    reassembly = machine()
    out = [message for part in arriving if (message := reassembly.add(PEER, part, 0.0)) is not None]
    arrived = {number: sum(part.message == number for part in arriving) for number in messages}
    whole = {number for number, encoded in messages.items() if arrived[number] == len(pieces(encoded))}
    partly = {number for number in messages if arrived[number]} - whole
    assert sorted(out) == sorted(messages[number] for number in whole)
    assert reassembly.expire(PATIENCE - 0.1) == []
    assert sorted(reassembly.expire(PATIENCE)) == sorted((PEER, number) for number in partly)
    assert (len(reassembly), reassembly.size, reassembly.next_deadline()) == (0, 0, None)


@given(st.data())
def test_the_bounds_hold_at_every_moment(data: st.DataObject) -> None:
    """Whatever fragments come from whomever, no bound is passed, and every message begun is whole, kept or told."""
    reassembly = machine(max_messages=5, max_per_peer=2)
    parts = {(peer, number): pieces(published(500, peer), number, peer) for peer in range(4) for number in range(4)}
    begun, ended = set(), []
    for step in range(data.draw(st.integers(0, 60))):
        key = data.draw(st.sampled_from(sorted(parts)))
        part = data.draw(st.sampled_from(parts[key]))
        begun.add(key)
        if reassembly.add(key[0], part, float(step)) is not None:
            ended.append(key)
        ended += reassembly.expire(float(step)) if data.draw(st.booleans()) else []
        assert len(reassembly) <= 5
        assert reassembly.size <= MAX_MESSAGE_BYTES
    kept = len(reassembly)
    left = reassembly.expire(1000.0)
    assert len(left) >= kept
    assert begun == set(ended) | set(left)
    assert reassembly.size == 0


def first_piece(message: int, peer: int = PEER) -> Fragment:
    return pieces(published(300, peer), message, peer)[0]


def test_the_oldest_of_a_peer_goes_first() -> None:
    """A peer with too many open messages loses the one that waited longest, and others lose nothing."""
    reassembly = machine(max_per_peer=2)
    reassembly.add(8, first_piece(1, 8), 0.0)
    for number in (1, 2, 3):
        reassembly.add(PEER, first_piece(number), float(number))
    assert reassembly.next_deadline() == 3.0
    assert reassembly.expire(3.0) == [(PEER, 1)]
    assert len(reassembly) == 3


def test_the_oldest_of_all_goes_first() -> None:
    """Where the machine is full, the message that waited longest is given up, whosever it is."""
    reassembly = machine(max_messages=2)
    for peer in (8, 9, 10):
        reassembly.add(peer, first_piece(1, peer), float(peer))
    assert reassembly.expire(10.0) == [(8, 1)]


def test_something_new_makes_a_message_young() -> None:
    """What still brings fragments is not the oldest; repetitions are nothing new."""
    reassembly = machine(max_messages=2)
    parts = pieces(published(600, 8), 1, 8)
    reassembly.add(8, parts[0], 0.0)
    reassembly.add(9, first_piece(1, 9), 1.0)
    reassembly.add(8, parts[1], 2.0)
    reassembly.add(9, first_piece(1, 9), 3.0)
    reassembly.add(10, first_piece(1, 10), 4.0)
    assert reassembly.expire(4.0) == [(9, 1)]
    assert reassembly.next_deadline() == 2.0 + PATIENCE


def test_bytes_are_bounded() -> None:
    """Two large messages in the room of one: the one that waited longest is given up."""
    reassembly = machine()
    large = MAX_MESSAGE_BYTES * 3 // 4
    for peer in (8, 9):
        for part in pieces(published(large, peer), 1, peer, 9000)[:-1]:
            reassembly.add(peer, part, 0.0)
            assert reassembly.size <= MAX_MESSAGE_BYTES
    assert reassembly.expire(0.0) == [(8, 1)]


def test_expiry_is_due_when_it_says() -> None:
    """The next deadline is that of the message that waited longest."""
    reassembly = machine()
    assert reassembly.next_deadline() is None
    reassembly.add(PEER, first_piece(1), 5.0)
    reassembly.add(PEER, first_piece(2), 6.0)
    assert reassembly.next_deadline() == 5.0 + PATIENCE
    assert reassembly.expire(5.0 + PATIENCE) == [(PEER, 1)]
    assert reassembly.next_deadline() == 6.0 + PATIENCE


def refused(reassembly: Reassembly, part: Fragment) -> WireReason:
    with pytest.raises(WireError) as error:
        reassembly.add(PEER, part, 0.0)
    return error.value.reason


def test_fragments_that_contradict_each_other_end_the_message() -> None:
    """A changed count, an index beyond it or a second content is refused, and the message given up and told."""
    first = first_piece(1)
    for other in (
        first._replace(index=1, count=first.count + 1),
        first._replace(index=first.count),
        first._replace(chunk=bytes(MIN_CHUNK_BYTES)),
    ):
        reassembly = machine()
        reassembly.add(PEER, first, 0.0)
        assert refused(reassembly, other) is WireReason.RANGE
        assert reassembly.expire(0.0) == [(PEER, 1)]
        assert reassembly.size == 0


def test_a_message_larger_than_any_is_refused() -> None:
    """Fragments that add up to more than a message may have are refused as they come."""
    reassembly = machine(max_bytes=2 * MAX_MESSAGE_BYTES)
    chunk = bytes(60_000)
    for index in range(MAX_MESSAGE_BYTES // len(chunk)):
        reassembly.add(PEER, Fragment(PEER, 1, index, 100, chunk), 0.0)
    assert refused(reassembly, Fragment(PEER, 1, 50, 100, chunk)) is WireReason.OVERSIZED
    assert (len(reassembly), reassembly.size) == (0, 0)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (encode(Fragment(PEER, 1, 0, 1, bytes(300))), WireReason.KIND),
        (encode(Link(PEER, 1, 1, 0, 0, 0)), WireReason.KIND),
        (encode(Bye(PEER)) + encode(Link(PEER, 1, 1, 0, 0, 0)), WireReason.TRAILING),
        (encode(Bye(PEER + 1)), WireReason.SENDER),
        (published(300)[:-1], WireReason.TRUNCATED),
        (b"\xc1" * 300, WireReason.MALFORMED),
    ],
    ids=["fragment", "link", "link behind a frame", "frame of another", "half a frame", "no frame"],
)
def test_a_message_is_one_frame_that_may_travel_in_pieces(message: bytes, reason: WireReason) -> None:
    """Pieces of pieces, headers of the link, and what is not one frame of the peer are refused when complete."""
    reassembly = machine()
    *others, last = pieces(message)
    assert [reassembly.add(PEER, part, 0.0) for part in others] == [None] * len(others)
    assert refused(reassembly, last) is reason
    assert reassembly.expire(0.0) == [(PEER, 1)]
    assert reassembly.size == 0


def test_a_restarted_peer_is_understood() -> None:
    """A peer that counts from 1 again is not taken for one that repeats itself."""
    reassembly = machine()
    before, after = published(300, fill=0), published(300, fill=5)
    assert [reassembly.add(PEER, part, 0.0) for part in pieces(before)][-1] == before
    assert [reassembly.add(PEER, part, 1.0) for part in pieces(before)] == [None] * len(pieces(before))
    assert [reassembly.add(PEER, part, 2.0) for part in pieces(after)][-1] == after
    assert reassembly.expire(100.0) == []


def test_what_is_remembered_of_complete_messages_is_bounded() -> None:
    """As many complete messages are known by their repetitions as may be incomplete; older ones are forgotten."""
    reassembly = machine(max_messages=2)
    messages = {number: pieces(published(300, fill=number), number) for number in (1, 2, 3)}
    for parts in messages.values():
        assert [reassembly.add(PEER, part, 0.0) for part in parts][-1] is not None
    assert [reassembly.add(PEER, part, 0.0) for part in messages[3]][-1] is None
    assert [reassembly.add(PEER, part, 0.0) for part in messages[1]][-1] is not None


def test_a_peer_can_be_forgotten() -> None:
    """What came from a peer known to have restarted is dropped, and what came from others is not."""
    reassembly = machine()
    complete = published(300)
    for part in pieces(complete):
        reassembly.add(PEER, part, 0.0)
    reassembly.add(PEER, first_piece(2), 0.0)
    reassembly.add(8, first_piece(1, 8), 0.0)
    reassembly.forget(PEER)
    assert len(reassembly) == 1
    assert [reassembly.add(PEER, part, 1.0) for part in pieces(complete)][-1] == complete
    assert reassembly.expire(100.0) == [(8, 1)]
    assert reassembly.size == 0
