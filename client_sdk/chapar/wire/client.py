"""What a client and its daemon say to each other, as bytes.

A datagram holds msgpack arrays `[VERSION, kind, *fields]` back to back, as between nodes, with kinds of its own. Both
ends fill datagrams up to `CLIENT_MTU`: runs of publications and deliveries are cut to fit, and an event that is larger
than that alone has a datagram of its own.

Foreign bytes raise WireError and nothing else. Bodies and heads of events are bytes here; whoever needs what is in them
decodes them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, cast

import msgpack

from chapar.errors import WireError, WireReason
from chapar.filter import Filter
from chapar.limits import (
    CLIENT_MTU,
    EVENT_ID_BYTES,
    MAX_CLIENT_DATAGRAM,
    MAX_CLIENT_NAME,
    MAX_EVENT_BYTES,
    MAX_REASON,
    U32_MAX,
    U64_MAX,
)
from chapar.session import (
    Acknowledge,
    Close,
    Closed,
    Deliver,
    Goodbye,
    Inquire,
    Message,
    Open,
    Opened,
    Ping,
    Pong,
    Publish,
    Receipt,
    Refused,
    Request,
    Standing,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from chapar.wire.envelope import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Rule = Callable[[Any], bool]


class ClientKind(IntEnum):
    """What an array on the client port is; disjoint from the kinds that nodes send each other."""

    OPEN = 64
    CLOSE = 65
    SUBSCRIBE = 66
    UNSUBSCRIBE = 67
    PUBLISH = 68
    ACKNOWLEDGE = 69
    INQUIRE = 70
    PING = 71
    OPENED = 80
    SUBSCRIBED = 81
    DELIVER = 82
    RECEIPT = 83
    STANDING = 84
    REFUSED = 85
    CLOSED = 86
    PONG = 87
    GOODBYE = 88


RUN_OVERHEAD: Final = 48
"""Bytes of a run beside its events: the array's and the list's headers, kind and numbers."""
_PER_EVENT: Final = 5
"""Bytes of the longest header of a binary."""
_LONGEST_RUN: Final = CLIENT_MTU // 2
"""Events of a run: each takes two bytes at least."""

_BYTES: Final = {bytes}
_INCOMPLETE: Final = "Unpack failed: incomplete input"

# One packer serves all: it holds configuration and a buffer that is empty between calls.
_pack = msgpack.Packer().pack


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= U64_MAX


def _short(value: Any) -> bool:
    return type(value) is int and 0 <= value <= U32_MAX


def _name(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= MAX_CLIENT_NAME and value.isprintable() and "/" not in value


def _reason(value: Any) -> bool:
    return type(value) is str and len(value) <= MAX_REASON


def _flag(value: Any) -> bool:
    return type(value) is bool


def _id(value: Any) -> bool:
    return type(value) is bytes and len(value) == EVENT_ID_BYTES


def _body(value: Any) -> bool:
    return type(value) is bytes and 0 < len(value) <= MAX_EVENT_BYTES


def _bodies(value: Any) -> bool:
    return type(value) is tuple and 0 < len(value) <= _LONGEST_RUN and set(map(type, value)) == {bytes}


def _numbers(value: Any) -> bool:
    return type(value) is tuple and all(map(_count, value))


def _any(_value: Any) -> bool:
    return True


_REQUESTS: Final[Mapping[int, tuple[type[Request], tuple[Rule, ...]]]] = {
    ClientKind.OPEN: (Open, (_name, _short, _count, _flag)),
    ClientKind.CLOSE: (Close, ()),
    ClientKind.SUBSCRIBE: (Subscribe, (_count, _any)),
    ClientKind.UNSUBSCRIBE: (Unsubscribe, (_count,)),
    ClientKind.PUBLISH: (Publish, (_count, _count, _body, _bodies)),
    ClientKind.ACKNOWLEDGE: (Acknowledge, (_short, _count)),
    ClientKind.INQUIRE: (Inquire, (_count, _id)),
    ClientKind.PING: (Ping, ()),
}
_MESSAGES: Final[Mapping[int, tuple[type[Message], tuple[Rule, ...]]]] = {
    ClientKind.OPENED: (Opened, (_short, _short, _flag, _short, _count, _numbers)),
    ClientKind.SUBSCRIBED: (Subscribed, (_count,)),
    ClientKind.DELIVER: (Deliver, (_short, _count, _count, _bodies)),
    ClientKind.RECEIPT: (Receipt, (_count, _id, _count)),
    ClientKind.STANDING: (Standing, (_count, _short, _short)),
    ClientKind.REFUSED: (Refused, (_count, _reason)),
    ClientKind.CLOSED: (Closed, ()),
    ClientKind.PONG: (Pong, ()),
    ClientKind.GOODBYE: (Goodbye, ()),
}
_KINDS: Final = {form: kind for table in (_REQUESTS, _MESSAGES) for kind, (form, _) in table.items()}


def encode(item: Request | Message) -> bytes:
    """One request or message, whole."""
    if type(item) is Subscribe:
        return cast("bytes", _pack((VERSION, ClientKind.SUBSCRIBE, item.number, item.filter.to_wire())))
    return cast("bytes", _pack((VERSION, _KINDS[type(item)], *item)))


def datagrams(items: Iterable[Request | Message], mtu: int = CLIENT_MTU) -> list[bytes]:
    """Everything in `items`, in order, in as few datagrams of at most `mtu` bytes as that allows."""
    full: list[bytes] = []
    parts: list[bytes] = []
    room = mtu
    for item in items:
        frame = encode(item)
        for each in (frame,) if len(frame) <= mtu else _cut(item, frame, mtu):
            if len(each) > room and parts:
                full.append(b"".join(parts))
                parts, room = [], mtu
            parts.append(each)
            room -= len(each)
    if parts:
        full.append(b"".join(parts))
    return full


def _cut(item: Request | Message, frame: bytes, mtu: int) -> list[bytes]:
    """A run that is too long as one frame, in several; of other things, and of an event alone, there is only one."""
    if isinstance(item, Deliver):
        return [encode(each) for each in _cut_deliveries(item, mtu)]
    if isinstance(item, Publish):
        return [encode(each) for each in _cut_publications(item, mtu)]
    return [frame]


def _cut_deliveries(run: Deliver, mtu: int) -> Iterator[Deliver]:
    incarnation, number, after, bodies = run
    for start, stop in _stretches(bodies, mtu - RUN_OVERHEAD):
        yield Deliver(incarnation, number + start, after, bodies[start:stop])
        after = number + stop - 1


def _cut_publications(run: Publish, mtu: int) -> Iterator[Publish]:
    after, number, head, payloads = run
    for start, stop in _stretches(payloads, mtu - RUN_OVERHEAD - len(head)):
        yield Publish(after, number + start, head, payloads[start:stop])
        after = number + stop - 1


def _stretches(parts: Sequence[bytes], room: int) -> Iterator[tuple[int, int]]:
    """Where to cut a list of bytes so that each stretch fits; a part that does not fit alone is a stretch."""
    start, left = 0, room
    for place, part in enumerate(parts):
        size = len(part) + _PER_EVENT
        if size > left and place > start:
            yield start, place
            start, left = place, room
        left -= size
    yield start, len(parts)


def decode_requests_untrusted(datagram: bytes) -> list[Request]:
    """What a client asks for in one datagram. Raises WireError only: a datagram is taken whole or not at all."""
    return [_request(array) for array in _arrays_untrusted(datagram)]


def decode_messages_untrusted(datagram: bytes) -> list[Message]:
    """What a daemon says in one datagram. Raises WireError only."""
    return [_message(array) for array in _arrays_untrusted(datagram)]


def _request(array: Any) -> Request:
    """The request of an array. Of those that carry the traffic, the usual forms are seen without a call per field."""
    if type(array) is tuple and array[:1] == (VERSION,) and type(array[0]) is int:
        if len(array) == len(Publish._fields) + 2 and array[1] == ClientKind.PUBLISH:
            _, kind, after, number, head, payloads = array
            if (
                type(kind) is type(after) is type(number) is int
                and type(head) is bytes
                and type(payloads) is tuple
                and 0 <= after | number <= U64_MAX  # negative if one of them is, and small only if both are
                and 0 < len(head) <= MAX_EVENT_BYTES
                and set(map(type, payloads)) == _BYTES
            ):
                return Publish(after, number, head, payloads)
        elif len(array) == len(Acknowledge._fields) + 2 and array[1] == ClientKind.ACKNOWLEDGE:
            _, kind, incarnation, number = array
            if (
                type(kind) is type(incarnation) is type(number) is int
                and 0 <= incarnation <= U32_MAX
                and 0 <= number <= U64_MAX
            ):
                return Acknowledge(incarnation, number)
    return cast("Request", _checked(array, _REQUESTS))


def _message(array: Any) -> Message:
    """The message of an array; a run of deliveries without a call per field."""
    if (
        type(array) is tuple
        and len(array) == len(Deliver._fields) + 2
        and array[1] == ClientKind.DELIVER
        and type(array[0]) is int
        and array[0] == VERSION
    ):
        _, kind, incarnation, number, after, bodies = array
        if (
            type(kind) is type(incarnation) is type(number) is type(after) is int
            and type(bodies) is tuple
            and 0 <= incarnation <= U32_MAX
            and 0 <= number | after <= U64_MAX
            and set(map(type, bodies)) == _BYTES
        ):
            return Deliver(incarnation, number, after, bodies)
    return cast("Message", _checked(array, _MESSAGES))


def _arrays_untrusted(datagram: bytes) -> Sequence[Any]:
    """The values back to back in a datagram. Most datagrams hold one, for which nothing need be set up."""
    if not datagram:
        raise WireError(WireReason.TRUNCATED, "empty")
    # A bomb of nested arrays claims memory for each level before its bytes are there.
    longest = min(len(datagram), _LONGEST_RUN)
    try:
        only = msgpack.unpackb(datagram, use_list=False, max_array_len=longest, max_map_len=0, max_ext_len=0)
        return (only,)
    except msgpack.ExtraData:
        return _several_untrusted(datagram, longest)
    except UnicodeDecodeError:
        raise WireError(WireReason.UTF8) from None
    except ValueError as error:
        is_short = str(error) == _INCOMPLETE
        raise WireError(WireReason.TRUNCATED if is_short else WireReason.MALFORMED, str(error)) from None
    except msgpack.UnpackException as error:
        raise WireError(WireReason.MALFORMED, str(error)) from None


def _several_untrusted(datagram: bytes, longest: int) -> list[Any]:
    unpacker = msgpack.Unpacker(
        use_list=False,
        max_buffer_size=MAX_CLIENT_DATAGRAM,
        max_array_len=longest,
        max_map_len=0,
        max_ext_len=0,
    )
    arrays = []
    try:
        unpacker.feed(datagram)
        while unpacker.tell() < len(datagram):  # an iterator would end in silence where the last one is cut
            arrays.append(unpacker.unpack())
    except msgpack.BufferFull:
        raise WireError(WireReason.OVERSIZED, f"{len(datagram)} bytes") from None
    except msgpack.OutOfData:
        raise WireError(WireReason.TRUNCATED) from None
    except UnicodeDecodeError:
        raise WireError(WireReason.UTF8) from None
    except (ValueError, msgpack.UnpackException) as error:
        raise WireError(WireReason.MALFORMED, str(error)) from None
    return arrays


def _checked(array: Any, table: Mapping[int, tuple[type[Any], tuple[Rule, ...]]]) -> Any:
    if type(array) is not tuple or len(array) < 2:
        raise WireError(WireReason.SHAPE, "not a frame")
    version, kind = array[:2]
    if type(version) is not int or version != VERSION:
        raise WireError(WireReason.VERSION)
    row = table.get(kind) if type(kind) is int else None
    if row is None:
        raise WireError(WireReason.KIND)
    form, rules = row
    values = array[2:]
    if len(values) != len(rules):
        raise WireError(WireReason.SHAPE, f"{ClientKind(kind).name} of {len(array)} elements")
    for value, rule in zip(values, rules, strict=True):
        if not rule(value):
            raise WireError(WireReason.RANGE, ClientKind(kind).name)
    if form is Subscribe:
        return Subscribe(values[0], Filter.from_wire_untrusted(values[1]))
    return form._make(values)
