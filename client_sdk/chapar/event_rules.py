"""The rules every event obeys, each told twice: to our caller as an EventError that helps, of a peer as a WireError.

Functions named `checked_…` take what our caller gave and return what the event holds; functions named `check_…` look at
the fields of a foreign body, whose types the decoder has already seen to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from chapar.errors import EventError, WireError, WireReason
from chapar.event_id import ORIGIN_LIMIT, EventId, origin_of
from chapar.limits import (
    EVENT_ID_BYTES,
    INT64_MAX,
    INT64_MIN,
    MAX_ATTRIBUTES,
    MAX_DESTINATIONS,
    MAX_EVENT_BYTES,
    MAX_LIFETIME_MS,
    MAX_NODES,
    MAX_STRING,
    STAMP_BYTES,
    U64_MAX,
)
from chapar.value import Value, name_fault, plain, string_fault, value_fault

if TYPE_CHECKING:
    from collections.abc import Iterable


class Delivery(IntEnum):
    """How long an event is kept for those who are away (report 2.2.2)."""

    REALTIME = 0
    LIFETIME = 1
    PERSISTENT = 2

    @property
    def label(self) -> str:
        return self.name.lower()


def check_unstamped(eid: object, length: int) -> None:
    """An event without id must leave room for it, or its home could not stamp it."""
    if eid is not None:
        reason = WireReason.RANGE if isinstance(eid, bytes) else WireReason.TYPE
        raise WireError(reason, "event id")
    if length > MAX_EVENT_BYTES - STAMP_BYTES:
        raise WireError(WireReason.OVERSIZED, "event body leaves no room for its id")


def check_memorised(chain: int, delivery: int, lifetime_ms: int) -> None:
    if not 0 <= chain <= U64_MAX or not 0 <= delivery < len(Delivery) or not 0 <= lifetime_ms <= MAX_LIFETIME_MS:
        raise WireError(WireReason.RANGE, "event header")
    if (delivery == Delivery.LIFETIME) is not (lifetime_ms > 0) or (chain and delivery == Delivery.REALTIME):
        raise WireError(WireReason.RANGE, "delivery contradicts lifetime or chain")


def check_strings(*elements: object) -> None:
    for text in elements:
        if text is not None:
            if not isinstance(text, str):
                raise WireError(WireReason.TYPE, "header element")
            if len(text) > MAX_STRING:
                raise WireError(WireReason.OVERSIZED, "header element")


def check_attributes(attributes: dict[Any, Any]) -> None:
    if len(attributes) > MAX_ATTRIBUTES:
        raise WireError(WireReason.OVERSIZED, "attributes")
    for name, value in attributes.items():
        if name.__class__ is not str:
            raise WireError(WireReason.TYPE, "attribute name")
        if name_fault(name) is not None:
            raise WireError(WireReason.RANGE, "attribute name")
        kind = value.__class__
        if kind is int:
            if not INT64_MIN <= value <= INT64_MAX:
                raise WireError(WireReason.RANGE, "integer")
        elif kind is float:
            if not isfinite(value):
                raise WireError(WireReason.RANGE, "float")
        elif kind is str:
            if len(value) > MAX_STRING:
                raise WireError(WireReason.OVERSIZED, "string")
        elif kind is not bool:
            raise WireError(WireReason.TYPE, "attribute value")


def check_destinations(to: tuple[Any, ...]) -> None:
    previous = -1
    for index in to:
        if type(index) is not int:
            raise WireError(WireReason.TYPE, "destination")
        if not previous < index < MAX_NODES:
            raise WireError(WireReason.RANGE, "destinations do not ascend within the mesh")
        previous = index


def checked_lifetime(lifetime: float) -> int:
    if isinstance(lifetime, bool) or not isinstance(lifetime, (int, float)) or not lifetime >= 0:
        raise EventError(f"lifetime is {lifetime!r}: give seconds, 0 for a real-time event")
    if lifetime > MAX_LIFETIME_MS // 1000:
        raise EventError(f"a lifetime is at most {MAX_LIFETIME_MS // 1000} s: use persistent=True")
    # Rounding must not turn a memorised event into a real-time one.
    return max(1, round(lifetime * 1000)) if lifetime else 0


def checked_origin(eid: EventId | None, sender: int | None) -> EventId | int | None:
    """The first field: the id, or else the sender."""
    if sender is not None and (type(sender) is not int or not 0 <= sender < MAX_NODES):
        raise EventError(f"sender {sender!r} is no node index: use 0 to {MAX_NODES - 1}")
    if eid is None:
        return sender
    if type(eid) is not bytes or len(eid) != EVENT_ID_BYTES or eid[0] >= ORIGIN_LIMIT:
        raise EventError(f"{eid!r} is no event id: make one with event_id()")
    if sender not in (None, origin_of(eid)):
        raise EventError(f"sender {sender} is not the origin {origin_of(eid)} of the event's id")
    return eid


def checked_chain(chain: int, delivery: int) -> int:
    if type(chain) is not int or not 0 <= chain <= U64_MAX:
        raise EventError(f"chain is {chain!r}: it counts from 1")
    if chain and delivery == Delivery.REALTIME:
        raise EventError("a real-time event is not memorised: its chain is 0")
    return chain


def checked_string(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise EventError(f"{name} is {type(text).__name__}: it holds a string")
    if fault := string_fault(text):
        raise EventError(f"{name}: {fault}")
    return text if type(text) is str else str(text)


def checked_attributes(attributes: Mapping[str, Value]) -> dict[str, Value]:
    if type(attributes) is not dict and not isinstance(attributes, Mapping):
        raise EventError(f"attributes are {type(attributes).__name__}: map names to values")
    if len(attributes) > MAX_ATTRIBUTES:
        raise EventError(f"{len(attributes)} attributes are more than {MAX_ATTRIBUTES}")
    for name in attributes:
        if type(name) is not str:
            raise EventError(f"attribute name {name!r} is no string")
    checked: dict[str, Value] = {}
    for name in sorted(attributes):
        if fault := name_fault(name):
            raise EventError(fault)
        value = plain(attributes[name])
        if fault := value_fault(value):
            raise EventError(f"attribute {name!r}: {fault}")
        checked[name] = cast("Value", value)
    return checked


def checked_payload(payload: object) -> bytes:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    hint = ": encode the text first" if isinstance(payload, str) else ""
    raise EventError(f"payload is {type(payload).__name__}, not bytes{hint}")


def checked_destinations(to: Iterable[int]) -> tuple[int, ...]:
    if isinstance(to, int):
        raise EventError(f"to takes several node indexes: write to=[{to}]")
    destinations = tuple(to)
    for index in destinations:
        if type(index) is not int or not 0 <= index < MAX_NODES:
            raise EventError(f"destination {index!r} is no node index: use 0 to {MAX_NODES - 1}")
    if len(destinations) > MAX_DESTINATIONS:
        raise EventError(f"{len(destinations)} destinations are more than {MAX_DESTINATIONS}: let them subscribe")
    return tuple(sorted(set(destinations)))
