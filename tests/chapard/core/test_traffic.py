"""What a frame counts as in the records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import peek_id
from chapar.filter import Filter
from chapar.wire import (
    Brief,
    Bye,
    EventFrame,
    Frame,
    InterestFrame,
    Kind,
    Publish,
    Records,
    Replay,
    Store,
    Subscribe,
    Unsubscribe,
    encode,
    fragment,
    kind_of,
)
from chapard.core.effects import FrameRow, TrafficClass
from chapard.core.traffic import TRAFFIC, event_of, filter_of, frame_row
from strategies.frames import frames

DATA = {Kind.PUBLISH, Kind.EVENT, Kind.BRIEF, Kind.STORE, Kind.FRAGMENT}
SYNC = {Kind.DIGESTS, Kind.LISTING, Kind.WANT, Kind.RECORDS, Kind.REPLAY}


def test_kinds_are_data_sync_or_control() -> None:
    """Events and their pieces are data, comparing tables is sync, and whatever is not listed is control."""
    assert {kind for kind, traffic in TRAFFIC.items() if traffic is TrafficClass.DATA} == DATA
    assert {kind for kind, traffic in TRAFFIC.items() if traffic is TrafficClass.SYNC} == SYNC
    assert set(TRAFFIC) == DATA | SYNC
    assert frame_row(Bye(1), encode(Bye(1)), "tx", None, 0).traffic_class is TrafficClass.CONTROL


@given(frames(), st.sampled_from(["tx", "rx"]), st.none() | st.integers(0, 255), st.integers(0, 5))
def test_a_row_tells_what_the_frame_is_about(frame: Frame, direction: str, peer: int | None, retry: int) -> None:
    """Kind and class; the event of a frame that carries one, the first filter of a frame that carries some."""
    data = encode(frame)
    row = frame_row(frame, data, direction, peer, retry)
    kind = kind_of(frame)
    carried = peek_id(frame.body) if isinstance(frame, Publish | EventFrame | Store) else None
    first = frame.filters[:1] if isinstance(frame, Subscribe | Unsubscribe | Replay | InterestFrame) else ()
    assert row == FrameRow(
        direction=direction,
        peer=peer,
        kind=kind.name.lower(),
        traffic_class=TRAFFIC.get(kind, TrafficClass.CONTROL),
        event_id=carried,
        filter_id=first[0].fid if first else None,
        retry=retry,
        bytes=len(data),
    )
    assert (event_of(frame), filter_of(frame)) == (row.event_id, row.filter_id)


def test_a_row_is_of_what_went_on_the_air() -> None:
    """A brief or a piece of an event is a row of its own kind and size, and still names the event."""
    event = EventFrame(1, 64, 0, 0, 0, b"\x02", b"\x9a\xc4\x0a" + bytes(10) + bytes(3000))
    brief = encode(Brief(1, 7, 1, b"payload"))
    row = frame_row(event, brief, "tx", 2, 1)
    assert row == FrameRow("tx", 2, "brief", TrafficClass.DATA, len(brief), peek_id(event.body), None, 1)
    for piece in fragment(encode(event), 5, 1, 1400):
        row = frame_row(event, piece, "tx", 2, 0)
        assert row == FrameRow("tx", 2, "fragment", TrafficClass.DATA, len(piece), peek_id(event.body), None, 0)


def test_a_piece_is_of_the_class_of_what_it_is_a_piece_of() -> None:
    """Records of tables are compared, in however many pieces."""
    records = Records(1, 0, (bytes(1400),) * 3, 0)
    rows = [frame_row(records, piece, "tx", 2, 0) for piece in fragment(encode(records), 5, 1, 1400)]
    assert {(row.kind, row.traffic_class) for row in rows} == {("fragment", TrafficClass.SYNC)}


def test_a_frame_without_filters_is_about_none() -> None:
    """An empty set of filters has no id; a set of several is known by its first."""
    some = (Filter(subject="a"), Filter(subject="b"))
    assert filter_of(Subscribe(1, 1, 1, 0, ())) is None
    assert filter_of(Unsubscribe(1, 1, 1, 0, some)) == some[0].fid
    assert filter_of(Replay(1, some)) == some[0].fid
