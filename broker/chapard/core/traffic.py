"""What a frame counts as: its traffic class, and the event or filter it is about."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from chapar.event import EventId, peek_id
from chapar.wire import EventFrame, Frame, InterestFrame, Kind, Publish, Replay, Store, Subscribe, Unsubscribe, kind_of
from chapard.core.effects import FrameRow, TrafficClass

TRAFFIC: Final = MappingProxyType(
    {
        Kind.PUBLISH: TrafficClass.DATA,
        Kind.EVENT: TrafficClass.DATA,
        Kind.BRIEF: TrafficClass.DATA,
        Kind.STORE: TrafficClass.DATA,
        Kind.FRAGMENT: TrafficClass.DATA,
        Kind.DIGESTS: TrafficClass.SYNC,
        Kind.LISTING: TrafficClass.SYNC,
        Kind.WANT: TrafficClass.SYNC,
        Kind.RECORDS: TrafficClass.SYNC,
        Kind.REPLAY: TrafficClass.SYNC,
    }
)
"""Kinds that are not listed are control. A piece counts as what it is a piece of, where that is known."""
_NAMES: Final = MappingProxyType({int(kind): kind.name.lower() for kind in Kind})
_CLASSES: Final = MappingProxyType({int(kind): TRAFFIC.get(kind, TrafficClass.CONTROL) for kind in Kind})
_KIND_AT: Final = 2
"""Of a frame's bytes, after its length and the version."""


def event_of(frame: Frame) -> EventId | None:
    match frame:
        case Publish() | EventFrame() | Store():
            return peek_id(frame.body)
    return None


def filter_of(frame: Frame) -> bytes | None:
    match frame:
        case Subscribe() | Unsubscribe() | Replay() | InterestFrame():
            return frame.filters[0].fid if frame.filters else None
    return None


def frame_row(frame: Frame, data: bytes, direction: str, peer: int | None, retry: int) -> FrameRow:
    """The recorder's row for one frame sent or received: `data`, which may be the frame in brief, or a piece of it."""
    kind = data[_KIND_AT]
    about = int(kind_of(frame)) if kind == Kind.FRAGMENT else kind
    return FrameRow(
        direction=direction,
        peer=peer,
        kind=_NAMES[kind],
        traffic_class=_CLASSES[about],
        bytes=len(data),
        event_id=event_of(frame),
        filter_id=filter_of(frame),
        retry=retry,
    )
