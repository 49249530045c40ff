"""The kinds that carry the traffic, checked without a call per field.

`frames.SPECS` says what a frame may hold. This module says it again for LINK, EVENT, PUBLISH and BRIEF in an expression
each, because a table of checks costs twice as much as the frame. It only ever says yes: what one of these expressions
does not accept is handed to `otherwise`, which goes by the table. A test holds both equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar.limits import HOP_LIMIT, MAX_EVENT_BYTES, U32_MAX, U64_MAX
from chapar.wire.fields import BODY_START, SHORTEST_BODY
from chapar.wire.frames import Brief, EventFrame, Frame, Kind, Link, Publish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Maker = Callable[[Any], Frame]


def hot_makers(nodes: int, version: int, otherwise: Maker) -> Mapping[int, Maker]:
    """For each hot kind, what makes a frame of an array `[version, kind, sender, *fields]` of that kind.

    May raise ValueError or TypeError for a value that is no such array.
    """
    full_bytes = nodes // 8
    beyond = BODY_START + nodes.to_bytes(2, "big")  # see fields.body
    new = tuple.__new__

    def link(array: Any) -> Frame:
        version_, kind, sender, epoch, seq, behind, ack_epoch, ack = array
        if (
            type(array) is tuple
            and type(version_) is type(kind) is type(sender) is type(epoch) is type(seq) is int
            and type(behind) is type(ack_epoch) is type(ack) is int
            and version_ == version
            and 0 <= sender < nodes
            # Of ors: negative if one of them is, and below a power of two only if all are.
            and 0 <= epoch | seq | behind | ack_epoch | ack <= U32_MAX
        ):
            return new(Link, (sender, epoch, seq, behind, ack_epoch, ack))
        return otherwise(array)

    def event(array: Any) -> Frame:
        version_, kind, sender, hops, attempt, remaining_ms, behind, rnv, body = array
        if (
            type(array) is tuple
            and type(version_) is type(kind) is type(sender) is type(hops) is type(attempt) is type(remaining_ms) is int
            and type(behind) is int
            and type(rnv) is type(body) is bytes
            and version_ == version
            and 0 <= sender < nodes
            and 0 <= hops <= HOP_LIMIT
            and 0 <= attempt <= 255
            and 0 <= remaining_ms <= U64_MAX
            and 0 <= behind <= 255
            and BODY_START <= body < beyond
            and SHORTEST_BODY <= len(body) <= MAX_EVENT_BYTES
            and (not rnv or (len(rnv) <= full_bytes and rnv[-1]))
        ):
            return new(EventFrame, (sender, hops, attempt, remaining_ms, behind, rnv, body))
        return otherwise(array)

    def publish(array: Any) -> Frame:
        version_, kind, sender, body, behind = array
        if (
            type(array) is tuple
            and type(version_) is type(kind) is type(sender) is type(behind) is int
            and type(body) is bytes
            and version_ == version
            and 0 <= sender < nodes
            and BODY_START <= body < beyond
            and SHORTEST_BODY <= len(body) <= MAX_EVENT_BYTES
            and 0 <= behind <= 255
        ):
            return new(Publish, (sender, body, behind))
        return otherwise(array)

    brief = _brief_maker(nodes, version, otherwise)
    return {int(Kind.LINK): link, int(Kind.EVENT): event, int(Kind.PUBLISH): publish, int(Kind.BRIEF): brief}


def _brief_maker(nodes: int, version: int, otherwise: Maker) -> Maker:
    new = tuple.__new__

    def brief(array: Any) -> Frame:
        version_, kind, sender, head, sequence, payload = array
        if (
            type(array) is tuple
            and type(version_) is type(kind) is type(sender) is type(head) is type(sequence) is int
            and type(payload) is bytes
            and version_ == version
            and 0 <= sender < nodes
            and 0 <= head < 2**16
            and 0 <= sequence <= U32_MAX
            and len(payload) <= MAX_EVENT_BYTES
        ):
            return new(Brief, (sender, head, sequence, payload))
        return otherwise(array)

    return brief
