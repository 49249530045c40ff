"""What is on the air: every datagram's bytes, split over the frames in it, by kind and by class of traffic.

The medium sees bytes, not intentions: frames are told apart by their first three bytes, as any listener could. What
goes to OLSR's port is routing, message by message.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import msgpack

from chapar.wire import VERSION, Kind
from chapar_olsr.agent.messages import PORT as OLSR_PORT
from chapar_olsr.agent.messages import Kind as OlsrKind

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA, CONTROL, SYNC, GARBAGE = "data", "control", "sync", "garbage"
ROUTING, OTHER = "routing", "other"
OURS: Final = (DATA, CONTROL, SYNC)
CLASSES: Final = (*OURS, ROUTING, GARBAGE, OTHER)
"""Chapard's own, the routing daemons', what is no frame of ours on our port, and what is not of this system."""
CLASS_OF: Final[Mapping[Kind, str]] = MappingProxyType(
    dict.fromkeys(Kind, CONTROL)
    | dict.fromkeys((Kind.PUBLISH, Kind.EVENT, Kind.BRIEF, Kind.STORE, Kind.FRAGMENT), DATA)
    | dict.fromkeys((Kind.DIGESTS, Kind.LISTING, Kind.WANT, Kind.RECORDS, Kind.REPLAY), SYNC)
)
PORT: Final = 7701
"""Of chapard, between nodes."""
BABEL_PORT: Final = 6696
"""UDP (RFC 8966, 4)."""
HEADERS: Final = 42
"""Bytes of the Ethernet, IPv4 and UDP headers around every datagram."""
MAX_MESSAGES: Final = 4096
"""Fragmented messages whose class is remembered; the oldest is forgotten."""
_OLSR_PACKET: Final = 4
"""Bytes before the first message of an OLSR packet (RFC 3626, 3.3)."""
_OLSR_MESSAGE: Final = 12
"""Bytes of the smallest one."""
_OLSR_KINDS: Final[Mapping[int, str]] = MappingProxyType({kind: kind.name for kind in OlsrKind})
_MAX_DATAGRAM: Final = 65507
_HEADER_BYTES: Final = 3


class Share(NamedTuple):
    """One frame's part of a datagram."""

    kind: str
    traffic_class: str
    bytes: int


class Label(NamedTuple):
    """What a datagram consists of. Its headers are charged to its first data frame, or else to what it was sent for."""

    shares: tuple[Share, ...]
    traffic_class: str
    frames: tuple[Share, ...] = ()
    """The frames of a datagram of chapard's, without the headers around them."""


class Merge(NamedTuple):
    """What was sent in the seconds after a cut was healed."""

    since: float
    """When the cut was made."""
    t: float
    window: float
    sync_bytes: int
    all_bytes: int


@dataclass
class Traffic:
    """Everything transmitted so far. A frame is counted each time it goes over the air."""

    frames: Counter[str] = field(default_factory=Counter)
    frame_bytes: Counter[str] = field(default_factory=Counter)
    """By kind, headers included."""
    transmissions: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    """By class, headers included."""
    overflows: int = 0
    """Frames lost because their sender's queue was full; they are not in the other figures."""

    def count(self, label: Label) -> None:
        self.transmissions[label.traffic_class] += 1
        for kind, traffic_class, size in label.shares:
            self.frames[kind] += 1
            self.frame_bytes[kind] += size
            self.bytes[traffic_class] += size


class Classifier:
    """Labels datagrams. It remembers what fragmented messages are about from their first fragments."""

    def __init__(self) -> None:
        self._messages: dict[tuple[int, int], str] = {}
        self._unpacker = msgpack.Unpacker(max_buffer_size=_MAX_DATAGRAM)
        self._start = 0

    def label(self, payload: bytes, headers: int = HEADERS) -> Label:
        """What `payload` consists of, with the bytes around it; bytes that are no frames are garbage."""
        try:
            pieces = self._pieces(payload)
        except (ValueError, IndexError, msgpack.UnpackException):
            self._unpacker, self._start = msgpack.Unpacker(max_buffer_size=_MAX_DATAGRAM), 0
            label = whole(GARBAGE, GARBAGE, len(payload) + headers)
            return label._replace(frames=(Share(GARBAGE, GARBAGE, len(payload)),))
        return _with_headers(pieces, headers)

    def label_for(self, port: int, payload: bytes, headers: int) -> Label:
        """What a UDP datagram to this port consists of."""
        if port == PORT:
            return self.label(payload, headers)
        if port == OLSR_PORT:
            return olsr_label(payload, headers)
        if port == BABEL_PORT:
            return whole("BABEL", ROUTING, len(payload) + headers)
        return whole("UDP", OTHER, len(payload) + headers)

    def _pieces(self, payload: bytes) -> list[Share]:
        unpacker, offset = self._unpacker, self._start
        unpacker.feed(payload)
        end = offset + len(payload)
        shares, begin = [], offset
        while begin < end:
            unpacker.skip()
            stop = unpacker.tell()
            shares.append(self._share(payload[begin - offset : stop - offset]))
            begin = stop
        self._start = end
        if not shares:
            raise ValueError("an empty datagram")
        return shares

    def _share(self, frame: bytes) -> Share:
        kind = Kind(frame[_HEADER_BYTES - 1])
        if frame[1] != VERSION:
            raise ValueError("another version")
        traffic_class = self._fragment_class(frame) if kind is Kind.FRAGMENT else CLASS_OF[kind]
        return Share(kind.name, traffic_class, len(frame))

    def _fragment_class(self, frame: bytes) -> str:
        """The class of the message that a fragment is a part of; its first fragment begins with the message's kind."""
        fields = msgpack.unpackb(frame, use_list=False, strict_map_key=False)
        _, _, sender, message, index, _, chunk = cast("tuple[int, int, int, int, int, int, bytes]", fields)
        if index == 0:
            self._messages[sender, message] = CLASS_OF[Kind(chunk[_HEADER_BYTES - 1])]
            if len(self._messages) > MAX_MESSAGES:
                del self._messages[next(iter(self._messages))]
        return self._messages.get((sender, message), DATA)


def whole(kind: str, traffic_class: str, size: int) -> Label:
    """Of what is one thing, headers and all."""
    return Label((Share(kind, traffic_class, size),), traffic_class)


def olsr_label(payload: bytes, headers: int = HEADERS) -> Label:
    """What an OLSR packet consists of. The packet's headers are charged to its first message.

    Messages that our agents do not know are told apart by their number; from where there is no message, it is garbage.
    """
    shares: list[Share] = []
    place, extra = _OLSR_PACKET, headers + _OLSR_PACKET
    while place < len(payload):
        size = int.from_bytes(payload[place + 2 : place + 4], "big")
        if not _OLSR_MESSAGE <= size <= len(payload) - place:
            break
        kind = payload[place]
        shares.append(Share(_OLSR_KINDS.get(kind, f"OLSR {kind}"), ROUTING, size + extra))
        place, extra = place + size, 0
    rest = len(payload) + headers - sum(share.bytes for share in shares)
    return Label((*shares, Share(GARBAGE, ROUTING, rest)) if rest else tuple(shares), ROUTING)


def _with_headers(shares: list[Share], headers: int) -> Label:
    bearer = next((place for place, share in enumerate(shares) if share.traffic_class == DATA), None)
    if bearer is None:  # the numbering of a datagram is not what it was sent for
        bearer = next((place for place, share in enumerate(shares) if share.kind != Kind.LINK.name), 0)
    frames, charged = tuple(shares), shares[bearer]
    shares[bearer] = charged._replace(bytes=charged.bytes + headers)
    return Label(tuple(shares), charged.traffic_class, frames)
