"""What a frame counts as in the records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import peek_id
from chapar.filter import Filter
from chapar.wire import Bye, EventFrame, Frame, Kind, Publish, Replay, Store, Subscribe, Unsubscribe, kind_of
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
    assert frame_row(Bye(1), 3, "tx", None, 0).traffic_class is TrafficClass.CONTROL


@given(frames(), st.sampled_from(["tx", "rx"]), st.none() | st.integers(0, 255), st.integers(0, 5))
def test_a_row_tells_what_the_frame_is_about(frame: Frame, direction: str, peer: int | None, retry: int) -> None:
    """Kind and class; the event of a frame that carries one, the first filter of a frame that carries some."""
    row = frame_row(frame, 99, direction, peer, retry)
    kind = kind_of(frame)
    carried = peek_id(frame.body) if isinstance(frame, Publish | EventFrame | Store) else None
    first = frame.filters[:1] if isinstance(frame, Subscribe | Unsubscribe | Replay) else ()
    assert row == FrameRow(
        direction=direction,
        peer=peer,
        kind=kind.name.lower(),
        traffic_class=TRAFFIC.get(kind, TrafficClass.CONTROL),
        event_id=carried,
        filter_id=first[0].fid if first else None,
        retry=retry,
        bytes=99,
    )
    assert (event_of(frame), filter_of(frame)) == (row.event_id, row.filter_id)


def test_a_frame_without_filters_is_about_none() -> None:
    """An empty set of filters has no id; a set of several is known by its first."""
    some = (Filter(subject="a"), Filter(subject="b"))
    assert filter_of(Subscribe(1, 1, 1, 0, ())) is None
    assert filter_of(Unsubscribe(1, 1, 1, 0, some)) == some[0].fid
    assert filter_of(Replay(1, some)) == some[0].fid
