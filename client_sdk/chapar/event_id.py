"""Event ids: unique across restarts, and in publish order per origin when compared as bytes."""

from __future__ import annotations

import struct
from typing import Final, NewType, cast

from chapar.errors import EventError
from chapar.limits import EVENT_ID_BYTES, MAX_NODES, U32_MAX

EventId = NewType("EventId", bytes)
"""Ten bytes, big endian: origin index, incarnation, sequence."""

ORIGIN_LIMIT: Final = MAX_NODES >> 8
"""First byte of an origin that no node has."""
_ID = struct.Struct(">HII")
assert _ID.size == EVENT_ID_BYTES


def event_id(origin: int, incarnation: int, sequence: int) -> EventId:
    """The id of the `sequence`-th event of a node's `incarnation`."""
    if not (0 <= origin < MAX_NODES and 0 <= incarnation <= U32_MAX and 0 <= sequence <= U32_MAX):
        raise EventError(f"no event id has origin {origin}, incarnation {incarnation}, sequence {sequence}")
    return EventId(_ID.pack(origin, incarnation, sequence))


def split_id(eid: EventId) -> tuple[int, int, int]:
    """Origin index, incarnation, sequence."""
    return cast("tuple[int, int, int]", _ID.unpack(eid))


def origin_of(eid: EventId) -> int:
    """Index of the node the event was published at."""
    return eid[0] << 8 | eid[1]


def later(eid: EventId, by: int) -> EventId:
    """The id of the event that the same node published so many events later."""
    origin, incarnation, sequence = split_id(eid)
    return event_id(origin, incarnation, sequence + by)
