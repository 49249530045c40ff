"""Frames share datagrams up to the MTU."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.wire import pack

FRAMES = st.lists(st.binary(min_size=1, max_size=50), max_size=30)


@given(FRAMES, st.integers(50, 120))
def test_nothing_is_lost_or_reordered(frames: list[bytes], mtu: int) -> None:
    """The datagrams hold all frames, in order, and none is empty or larger than the MTU."""
    datagrams = pack(frames, mtu)
    assert [frame for datagram in datagrams for frame in datagram] == frames
    assert all(0 < sum(map(len, datagram)) <= mtu for datagram in datagrams)


@given(FRAMES, st.integers(50, 120))
def test_a_datagram_is_as_full_as_order_allows(frames: list[bytes], mtu: int) -> None:
    """The first frame of a datagram had no room in the one before."""
    datagrams = pack(frames, mtu)
    for before, after in pairwise(datagrams):
        assert sum(map(len, before)) + len(after[0]) > mtu


def test_the_mtu_is_reached_but_not_passed() -> None:
    """A frame that fills the datagram exactly still goes in."""
    assert pack([b"abc", b"de", b"f"], 5) == [[b"abc", b"de"], [b"f"]]
    assert pack(iter(()), 5) == []


def test_frames_may_be_more_than_their_bytes() -> None:
    """What says how large a frame is decides, whatever the frame is kept with."""
    frames = [("first", b"abc"), ("second", b"de"), ("third", b"f")]
    assert pack(frames, 5, lambda frame: len(frame[1])) == [frames[:2], frames[2:]]


def test_a_frame_larger_than_a_datagram_is_our_mistake() -> None:
    """It should have been fragmented."""
    with pytest.raises(ValueError, match="fragment it first"):
        pack([b"abcdef"], 5)
