"""Heads: what the events of a stream have in common crosses a link once.

Between two nodes the real-time events of one publisher mostly differ in their sequence number and payload alone. All
the rest of a PUBLISH or EVENT, its residual node vector included, is the *head*. The rules:

- A frame that travels whole makes its head known, under a number that both ends derive from it.
- Later frames with a known head travel as BRIEF: the number, the sequence number and the payload.
- Two heads of one number never travel under it: the second is always whole.
- A sender forgets `MOST_HEADS` heads back, a receiver no earlier.
- On a numbered link a head is known once its frame was sent, as frames arrive in order. Where nothing is numbered, it
  is known when the receiver has said so, which it does when a head comes whole that it had heard before.

Nobody keeps the heads of both ends equal; a receiver says what it cannot read (see links.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import mmh3
import msgpack

from chapar.limits import MAX_EVENT_BYTES
from chapar.wire import Brief, EventFrame, Frame, Publish

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_HEADS: Final = 32
LONGEST_HEAD: Final = 512
"""Bytes of an event beside number and payload; longer ones always travel whole."""
NUMBERS: Final = 2**16
MOST_STREAMS: Final = 256
"""Publishers whose last event is remembered, to take the next one apart quickly."""
MOST_HEADERS: Final = 32
"""Bytes of a frame beside RNV, the body up to its payload, and payload: 3, sender 3, hops 1, attempt 2, remaining 1,
behind 2, the headers of three byte strings 9, sequence number 4; and some to spare."""
_SEQUENCE: Final = 9
"""Where the sequence number of the id stands in a body, which begins with a header of three bytes."""
_REST: Final = 13
_REALTIME: Final = b"\0\0\0"
"""Chain, delivery and lifetime of a real-time event."""
_FIELDS_BEFORE_PAYLOAD: Final = 9
_BIN: Final = (b"\xc4", b"\xc5")

Head: TypeAlias = tuple[int, int, int, bytes, bytes, bytes]
"""Kind (hops; -1 for PUBLISH), attempt, behind, RNV, the body up to its sequence number, from there to the payload."""

_pack = msgpack.Packer().pack


class Parts(NamedTuple):
    """A frame, taken apart."""

    head: Head
    sequence: int
    payload: bytes


def number_of(head: Head) -> int:
    hops, attempt, behind, rnv, start, rest = head
    numbers = (hops, attempt, behind, len(rnv))
    return mmh3.hash(b"%d %d %d %d %b%b%b" % (*numbers, rnv, start, rest), signed=False) % NUMBERS


def room_of(parts: Parts) -> int:
    """Bytes of the whole frame, at most."""
    _, _, _, rnv, start, rest = parts.head
    return len(rnv) + len(start) + len(rest) + len(parts.payload) + MOST_HEADERS


class Splitter:
    """Takes frames apart. It remembers where the payload began in the last event of each publisher."""

    def __init__(self) -> None:
        self._rests: dict[bytes, bytes] = {}

    def parts(self, frame: Frame) -> Parts | None:
        """None for what always travels whole."""
        if isinstance(frame, EventFrame):
            if frame.remaining_ms:
                return None
            hops, attempt, behind, rnv, body = frame.hops, frame.attempt, frame.behind, frame.rnv, frame.body
        elif isinstance(frame, Publish):
            hops, attempt, behind, rnv, body = -1, 0, frame.behind, b"", frame.body
        else:
            return None
        if not body.startswith(_REALTIME, _REST) or len(body) > MAX_EVENT_BYTES:
            return None
        start = body[:_SEQUENCE]
        rest = self._rests.get(start)
        if rest is None or not body.startswith(rest, _REST):
            rest = self._learn(start, body)
            if rest is None:
                return None
        packed = body[_REST + len(rest) :]
        payload = packed[2:] if packed.startswith(b"\xc4") else packed[3:]
        if _pack(payload) != packed:
            return None
        return Parts((hops, attempt, behind, rnv, start, rest), int.from_bytes(body[_SEQUENCE:_REST], "big"), payload)

    def _learn(self, start: bytes, body: bytes) -> bytes | None:
        """What stands between sequence number and payload; None if the body is not as we would write it."""
        unpacker = msgpack.Unpacker(max_buffer_size=MAX_EVENT_BYTES)
        unpacker.feed(body)
        try:
            unpacker.read_array_header()
            for _ in range(_FIELDS_BEFORE_PAYLOAD):
                unpacker.skip()
            end = unpacker.tell()
        except (msgpack.UnpackException, ValueError):
            return None
        if end > LONGEST_HEAD or body[end : end + 1] not in _BIN:
            return None
        if len(self._rests) >= MOST_STREAMS:
            self._rests.clear()
        self._rests[start] = body[_REST:end]
        return self._rests[start]


class Told:
    """The heads that a peer has been told."""

    def __init__(self) -> None:
        self._numbers: dict[Head, int] = {}
        self._heads: dict[int, Head] = {}
        self._known: set[int] = set()

    def clear(self) -> None:
        """What the peer knows is uncertain."""
        self._numbers.clear()
        self._heads.clear()
        self._known.clear()

    def is_known(self, number: int) -> None:
        """The peer says that it knows a head."""
        if number in self._heads:
            self._known.add(number)

    def is_unknown(self, number: int) -> None:
        """The peer could not read a frame for want of this head."""
        self._known.discard(number)

    def brief(self, sender: int, parts: Parts, *, is_numbered: bool) -> Brief | None:
        """The frame in brief; None if it has to travel whole, which tells its head."""
        number = self._numbers.get(parts.head)
        if number is None:
            number = number_of(parts.head)
            if number not in self._heads:
                self._tell(number, parts.head)
            return None
        if not is_numbered and number not in self._known:
            return None
        return Brief(sender, number, parts.sequence, parts.payload)

    def _tell(self, number: int, head: Head) -> None:
        if len(self._heads) >= MOST_HEADS:
            oldest = next(iter(self._heads))
            del self._numbers[self._heads.pop(oldest)]
            self._known.discard(oldest)
        self._heads[number] = head
        self._numbers[head] = number


class Heard:
    """The heads that a peer has told us."""

    def __init__(self) -> None:
        self._heads: dict[int, Head] = {}

    def __len__(self) -> int:
        return len(self._heads)

    def whole(self, frames: Iterable[Frame], splitter: Splitter) -> list[Frame] | None:
        """The frames, each whole; None if one of them has a head that we have not heard."""
        found: list[Frame] = []
        for frame in frames:
            if isinstance(frame, Brief):
                known = self._heads.get(frame.head)
                restored = None if known is None else _restored(frame, known)
                if restored is None:
                    return None
                found.append(restored)
                continue
            self.learn(frame, splitter)
            found.append(frame)
        return found

    def learn(self, frame: Frame, splitter: Splitter) -> int | None:
        """Take a whole frame; returns the number of its head if that was known already."""
        parts = splitter.parts(frame)
        if parts is None:
            return None
        number = number_of(parts.head)
        before = self._heads.pop(number, None)
        self._heads[number] = parts.head
        if len(self._heads) > MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        return number if before == parts.head else None


def _restored(brief: Brief, head: Head) -> Frame | None:
    hops, attempt, behind, rnv, start, rest = head
    body = start + brief.sequence.to_bytes(4, "big") + rest + _pack(brief.payload)
    if len(body) > MAX_EVENT_BYTES:
        return None
    if hops < 0:
        return Publish(brief.sender, body, behind)
    return EventFrame(brief.sender, hops, attempt, 0, behind, rnv, body)
