"""Heads: what is told once is understood in brief, byte for byte, and what is not known is not guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.event import Event, event_id
from chapar.limits import U32_MAX
from chapar.wire import Brief, Bye, EventFrame, Frame, Publish, Store, encode
from chapard.core.heads import (
    LONGEST_HEAD,
    MOST_HEADS,
    Heard,
    Splitter,
    Told,
    number_of,
    room_of,
)
from strategies.frames import frames


def body(number: int = 1, subject: str = "s", payload: bytes = b"hello", **others: object) -> bytes:
    memorised = bool(others)
    event = Event(subject=subject, payload=payload, **others)  # type: ignore[arg-type]  # what the test names
    return event.accepted(id=event_id(3, 7, number), chain=int(memorised)).encode()


def an_event(number: int = 1, rnv: bytes = b"\x02", **others: object) -> EventFrame:
    return EventFrame(5, 60, 0, 0, 0, rnv, body(number, **others))  # type: ignore[arg-type]  # as above


class Line:
    """One direction of a link: what is said on it, and what is understood."""

    def __init__(self, *, is_numbered: bool = True) -> None:
        self.told, self.heard = Told(), Heard()
        self.splitter, self.other_splitter = Splitter(), Splitter()
        self._is_numbered = is_numbered

    def say(self, frame: Frame) -> Frame:
        """The frame that goes on the air."""
        parts = self.splitter.parts(frame)
        brief = None if parts is None else self.told.brief(frame.sender, parts, is_numbered=self._is_numbered)
        return frame if brief is None else brief

    def hear(self, said: Frame) -> list[Frame] | None:
        return self.heard.whole([said], self.other_splitter)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.integers(0, U32_MAX),
            st.one_of(st.binary(max_size=10), st.integers(250, 260).map(bytes), st.just(bytes(2**16))),
            st.sampled_from([b"", b"\x02", b"\x06"]),
            st.booleans(),
        ),
        max_size=20,
    ),
)
def test_what_is_said_is_understood(stream: list[tuple[str, int, bytes, bytes, bool]]) -> None:
    """Byte for byte, whatever streams are mixed, whole or in brief; nothing is said in brief for the first time."""
    line = Line()
    known = set()
    for subject, number, payload, rnv, is_publish in stream:
        encoded = Event(subject=subject, payload=payload[:60_000]).accepted(id=event_id(3, 7, number)).encode()
        frame: Frame = Publish(5, encoded) if is_publish else EventFrame(5, 9, 0, 0, 1, rnv, encoded)
        said = line.say(frame)
        head = (subject, is_publish or rnv)
        assert isinstance(said, Brief) is (head in known)
        known.add(head)
        assert line.hear(said) == [frame]


@given(st.lists(frames(), max_size=8))
def test_any_frame_is_understood(said: list[Frame]) -> None:
    """Whatever a peer sends, whole frames come out as they came in; a head that is not known is no frame."""
    heard, splitter = Heard(), Splitter()
    for frame in said:
        whole = heard.whole([frame], splitter)
        assert whole == [frame] or (isinstance(frame, Brief) and whole is None) or whole is not None
        assert len(heard) <= MOST_HEADS


def test_what_a_stream_has_in_common_is_left_out() -> None:
    """From the second event on: the head's number, the sequence number and the payload."""
    line = Line()
    assert line.say(an_event(1)) == an_event(1)
    parts = Splitter().parts(an_event(1))
    assert parts is not None
    assert line.say(an_event(2, payload=b"other")) == Brief(5, number_of(parts.head), 2, b"other")
    assert line.say(an_event(2, rnv=b"\x03")) == an_event(2, rnv=b"\x03")
    assert line.say(an_event(3, subject="t")) == an_event(3, subject="t")
    assert line.say(Publish(5, body(4))) == Publish(5, body(4))


@pytest.mark.parametrize(
    "frame",
    [
        an_event(lifetime=30),
        an_event(persistent=True),
        an_event()._replace(remaining_ms=1),
        an_event(subject="x" * (LONGEST_HEAD + 1)),
        an_event()._replace(body=body()[:-1]),
        an_event()._replace(body=body()[:-5] + b"world!"),
        Store(5, 0, b"", body(persistent=True)),
        Bye(5),
    ],
)
def test_everything_else_travels_whole(frame: Frame) -> None:
    """Memorised events, long heads, bodies that nobody of us wrote, and all other frames."""
    assert Splitter().parts(frame) is None


def test_a_head_that_is_not_known_is_not_guessed() -> None:
    """One frame that cannot be read makes the datagram unreadable."""
    line = Line()
    line.say(an_event(1))
    brief = line.say(an_event(2))
    assert line.hear(brief) is None
    assert line.heard.whole([an_event(9, subject="t"), brief], line.other_splitter) is None
    assert line.hear(an_event(1)) == [an_event(1)]
    assert line.hear(brief) == [an_event(2)]


def test_after_a_break_all_heads_are_told_again() -> None:
    """When a link has failed or the peer is new, nobody knows what the peer knows."""
    line = Line()
    line.say(an_event(1))
    line.told.clear()
    assert line.say(an_event(2)) == an_event(2)
    assert isinstance(line.say(an_event(3)), Brief)


def test_the_oldest_head_is_forgotten_by_its_sender_first() -> None:
    """With more streams than `MOST_HEADS` some travel whole, and all are understood."""
    line = Line()
    for turn in range(1, 4):
        for stream in range(MOST_HEADS + 5):
            frame = an_event(turn, subject=f"stream {stream}")
            assert line.hear(line.say(frame)) == [frame]
    assert len(line.heard) == MOST_HEADS


def test_two_heads_of_one_number_do_not_share_it() -> None:
    """The second always travels whole."""
    by_number: dict[int, EventFrame] = {}
    for place in range(20_000):
        frame = an_event(1, subject=f"stream {place}")
        parts = Splitter().parts(frame)
        assert parts is not None
        other = by_number.setdefault(number_of(parts.head), frame)
        if other is not frame:
            break
    line = Line()
    assert line.say(other) == other
    assert [line.say(frame) for _ in range(3)] == [frame] * 3
    assert isinstance(line.say(other), Brief)


def test_where_nothing_is_numbered_a_head_is_used_when_the_peer_has_said_so() -> None:
    """It says so when the head comes again; that it does not know it ends it, and so does being forgotten."""
    line = Line(is_numbered=False)
    said = [line.say(an_event(number)) for number in range(3)]
    assert said == [an_event(number) for number in range(3)]
    assert line.heard.learn(said[0], line.other_splitter) is None
    number = line.heard.learn(said[1], line.other_splitter)
    assert number is not None
    line.told.is_known(number)
    line.told.is_known(number ^ 1)
    brief = line.say(an_event(4))
    assert isinstance(brief, Brief)
    assert line.hear(brief) == [an_event(4)]
    line.told.is_unknown(number)
    assert line.say(an_event(5)) == an_event(5)
    line.told.is_known(number)
    for stream in range(MOST_HEADS):
        line.say(an_event(6, subject=f"stream {stream}"))
    assert [line.say(an_event(number)) for number in (7, 8)] == [an_event(7), an_event(8)]


def test_room_is_kept_for_the_whole_frame() -> None:
    """What leaves in brief may have to be repeated whole."""
    for frame in (an_event(U32_MAX, payload=bytes(1000), rnv=bytes(511) + b"\1"), Publish(4095, body(1, payload=b""))):
        parts = Splitter().parts(frame)
        assert parts is not None
        assert len(encode(frame)) <= room_of(parts) <= len(encode(frame)) + 32
