"""Fragments: an encoded frame larger than a datagram, cut into FRAGMENT frames and put together again.

Every fragment travels in a numbered datagram of its own, so the link repeats exactly those that were lost; nothing here
asks for anything. The receiving end is a machine with these rules:

- The fragments of a message may come in any order and more than once. The message is handed on once.
- A message that has brought nothing new for `patience` seconds is given up.
- At a bound (messages of one peer, messages, bytes) the message that has waited longest for something new is given up:
  for the first bound one of that peer, else of any, but never the one that is being added to.
- A fragment that contradicts an earlier one of its message ends that message: a WireError, and given up.
- What is put together must be one frame of the peer that sent the pieces, and neither a FRAGMENT nor a LINK.

A peer that restarts counts its messages from the beginning. What it sends then differs from what the same number meant
before, and is taken for what it is: only a fragment with the content of one already used is a repetition.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import mmh3

from chapar.errors import WireError, WireReason
from chapar.limits import LINK_ROOM, MAX_MESSAGE_BYTES
from chapar.wire.envelope import check_message_untrusted, encode
from chapar.wire.frames import MAX_FRAGMENTS, MIN_CHUNK_BYTES, Fragment

FRAGMENT_HEADER: Final = 20
"""Bytes of a FRAGMENT frame beside its chunk, at most: 3, sender 3, message 5, index 3, count 3, length 3."""
MIN_MTU: Final = LINK_ROOM + FRAGMENT_HEADER + MIN_CHUNK_BYTES
"""The smallest datagrams into which messages can be cut."""

if TYPE_CHECKING:
    Key = tuple[int, int]
    """A peer and the number of its message."""


def fragment(encoded: bytes, message: int, sender: int, mtu: int) -> list[bytes]:
    """The encoded FRAGMENT frames of an encoded frame, each of a size for a datagram of `mtu` bytes with a LINK header.

    `message` tells the messages of one sender apart. ValueError if the frame is larger than any message may be.
    """
    if len(encoded) > MAX_MESSAGE_BYTES:
        raise ValueError(f"frame of {len(encoded)} bytes is larger than {MAX_MESSAGE_BYTES}: send it in several frames")
    if mtu < MIN_MTU:
        raise ValueError(f"datagrams of {mtu} bytes are too small for fragments: use at least {MIN_MTU}")
    size = mtu - LINK_ROOM - FRAGMENT_HEADER
    chunks = [encoded[start : start + size] for start in range(0, len(encoded), size)]
    return [encode(Fragment(sender, message, index, len(chunks), chunk)) for index, chunk in enumerate(chunks)]


class _Partial:
    """A message some of whose fragments have arrived."""

    __slots__ = ("chunks", "count", "deadline", "size")

    def __init__(self, count: int) -> None:
        self.count = count
        self.chunks: dict[int, bytes] = {}
        self.size = 0
        self.deadline = 0.0


class Reassembly:
    """Puts messages of many peers together, within bounds. `max_bytes` counts the chunks that are kept."""

    def __init__(self, max_messages: int, max_bytes: int, patience: float, *, max_per_peer: int = 8) -> None:
        assert max_messages > 0, "room for one message"
        assert max_per_peer > 0, "room for one message of each peer"
        assert max_bytes >= MAX_MESSAGE_BYTES, "room for the largest message"
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._max_per_peer = max_per_peer
        self._patience = patience
        # In the order of the last new fragment, so that the first is the next to be given up.
        self._partial: dict[Key, _Partial] = {}
        self._bytes = 0
        # Hashes of the fragments of the last messages put together, to know their repetitions by.
        self._done: dict[Key, array[int]] = {}
        self._given_up: list[Key] = []
        self._told_from: float | None = None

    def __len__(self) -> int:
        """Messages that are incomplete."""
        return len(self._partial)

    @property
    def size(self) -> int:
        """Bytes that are kept for them."""
        return self._bytes

    def add(self, peer: int, fragment: Fragment, now: float) -> bytes | None:
        """Take one decoded fragment; returns the message, for `decode_untrusted`, if this completes it."""
        key = (peer, fragment.message)
        if self._is_repetition(key, fragment):
            return None
        partial = self._partial.pop(key, None) or _Partial(fragment.count)
        self._partial[key] = partial
        try:
            _check_consistent(partial, fragment)
        except WireError:
            self._give_up(key, now)
            raise
        partial.chunks[fragment.index] = fragment.chunk
        partial.size += len(fragment.chunk)
        partial.deadline = now + self._patience
        self._bytes += len(fragment.chunk)
        if len(partial.chunks) == partial.count:
            return self._complete(key, fragment.sender, now)
        self._keep_bounds(key, now)
        return None

    def expire(self, now: float) -> list[Key]:
        """Give up what is overdue. Returns every (peer, message) given up since the last call, whatever for."""
        while self._partial:
            key = next(iter(self._partial))
            if self._partial[key].deadline > now:
                break
            self._give_up(key, now)
        given_up, self._given_up, self._told_from = self._given_up, [], None
        return given_up

    def forget(self, peer: int) -> None:
        """Drop all that came from a peer, without telling; for one that is known to have restarted."""
        for key in [key for key in self._partial if key[0] == peer]:
            self._bytes -= self._partial.pop(key).size
        for key in [key for key in self._done if key[0] == peer]:
            del self._done[key]

    def next_deadline(self) -> float | None:
        """When `expire` has something to tell."""
        if self._told_from is not None:
            return self._told_from
        return next((partial.deadline for partial in self._partial.values()), None)

    def _is_repetition(self, key: Key, fragment: Fragment) -> bool:
        """Whether this very fragment was used before."""
        partial = self._partial.get(key)
        if partial is not None:
            return partial.count == fragment.count and partial.chunks.get(fragment.index) == fragment.chunk
        done = self._done.get(key)
        return (
            done is not None
            and len(done) == fragment.count
            and fragment.index < fragment.count
            and done[fragment.index] == _hash(fragment.chunk)
        )

    def _complete(self, key: Key, sender: int, now: float) -> bytes:
        partial = self._partial[key]
        chunks = [partial.chunks[index] for index in range(partial.count)]
        message = b"".join(chunks)
        try:
            check_message_untrusted(message, sender)
        except WireError:
            self._give_up(key, now)
            raise
        self._bytes -= self._partial.pop(key).size
        self._done.pop(key, None)
        self._done[key] = array("I", map(_hash, chunks))
        if len(self._done) > self._max_messages:
            del self._done[next(iter(self._done))]
        return message

    def _keep_bounds(self, newest: Key, now: float) -> None:
        """Give up what exceeds a bound. The newest stays: alone it is within all of them."""
        of_peer = [key for key in self._partial if key[0] == newest[0]]
        if len(of_peer) > self._max_per_peer:
            self._give_up(of_peer[0], now)
        while len(self._partial) > self._max_messages or self._bytes > self._max_bytes:
            self._give_up(next(iter(self._partial)), now)

    def _give_up(self, key: Key, now: float) -> None:
        self._bytes -= self._partial.pop(key).size
        self._given_up.append(key)
        if self._told_from is None:
            self._told_from = now


def _check_consistent(partial: _Partial, fragment: Fragment) -> None:
    if fragment.count != partial.count:
        raise WireError(WireReason.RANGE, "fragments that disagree about their number")
    if not 0 <= fragment.index < fragment.count <= MAX_FRAGMENTS:
        raise WireError(WireReason.RANGE, "fragment index beyond the count")
    if fragment.index in partial.chunks:
        raise WireError(WireReason.RANGE, "one fragment with two contents")
    if partial.size + len(fragment.chunk) > MAX_MESSAGE_BYTES:
        raise WireError(WireReason.OVERSIZED, "message")


def _hash(chunk: bytes) -> int:
    return mmh3.hash(chunk, signed=False)
