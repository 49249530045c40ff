"""OLSR packets as bytes: RFC 3626, sections 3.3 (packet, message), 6.1 (HELLO), 9.1 (TC), 5.1 (MID) and 12.1 (HNA),
and olsrd's link-quality forms of HELLO and TC.

    packet        length 2, sequence 2, messages
    message       kind 1, validity 1, size 2, originator, ttl 1, hops 1, sequence 2, body
    HELLO         reserved 2, interval 1, willingness 1, link messages
    link message  link code 1, reserved 1, size 2, neighbour interfaces
    TC            ANSN 2, reserved 2, neighbours
    MID           interfaces
    HNA           network and mask, by turns

All numbers are big-endian; a length counts from the start of what it belongs to, itself and its header included. In
LQ_HELLO and LQ_TC each address is followed by four bytes of quality, whose meaning depends on olsrd's configuration,
and the reserved field of LQ_TC holds two borders of a byte each. Reserved fields are sent as zero and not read.

Foreign bytes are read in two steps. A packet is taken whole or not at all: after a length that lies nobody knows where
the next message begins. A body is read only by who wants it, and spoils nothing but its own message. Both steps take
time and memory in proportion to the bytes there are.

What it costs (CPython 3.11): a HELLO that names 25 neighbours takes 10 µs to read and 6 to write, a TC 6 and 4.
"""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from chapar_olsr.agent.messages import Hello, Hna, Kind, LinkGroup, Message, Mid, Packet, Tc
from chapar_olsr.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chapar_olsr.agent.messages import Body

ADDRESS_BYTES: Final = (4, 16)
"""IPv4 and IPv6; all addresses of a network are of one length."""
QUALITY_BYTES: Final = 4
MAX_PACKET_BYTES: Final = 0xFFFF
_PACKET: Final = struct.Struct(">HH")
_HELLO: Final = struct.Struct(">2xBB")
_LINKS: Final = struct.Struct(">BxH")
_TC: Final = struct.Struct(">HBB")
_LINK_BITS: Final = 2
"""Of a link code, for the link type; the neighbour type is above them."""


class OlsrError(ValueError):
    """A peer sent bytes that are not OLSR; `fault` is what to count."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault


class Codec:
    """Reads and writes packets of a network whose addresses have `address_bytes` bytes."""

    def __init__(self, address_bytes: int) -> None:
        assert address_bytes in ADDRESS_BYTES, f"no address has {address_bytes} bytes"
        self.address_bytes = address_bytes
        self._message = struct.Struct(f">BBH{address_bytes}sBBH")
        self._address = struct.Struct(f"{address_bytes}s")
        self._pair = struct.Struct(f"{address_bytes}s{address_bytes}s")
        self._rated = struct.Struct(f"{address_bytes}s{QUALITY_BYTES}s")

    @property
    def header_bytes(self) -> int:
        """What a message takes beside its body."""
        return self._message.size

    def text(self, address: int) -> str:
        """An address as a person writes it."""
        return str(ip_address(self._bytes(address)))

    # Packets

    def decode_untrusted(self, data: bytes) -> Packet:
        """The packet in a datagram, bodies unread. Raises OlsrError, and nothing else."""
        end = len(data)
        if end < _PACKET.size + self._message.size:  # RFC 3626, 3.4: without a message it is discarded
            raise OlsrError(Fault.PACKET_LENGTH, f"{end} bytes hold no message")
        length, sequence = _PACKET.unpack_from(data)
        if length != end:
            raise OlsrError(Fault.PACKET_LENGTH, f"length {length} in a datagram of {end} bytes")
        messages = []
        at = _PACKET.size
        while at < end:
            message, at = self._message_untrusted(data, at)
            messages.append(message)
        return Packet(sequence, tuple(messages))

    def _message_untrusted(self, data: bytes, at: int) -> tuple[Message, int]:
        """The message that begins there, and where the next one does, further on. Raises OlsrError only."""
        body = at + self._message.size
        if body > len(data):
            raise OlsrError(Fault.MESSAGE_LENGTH, f"{len(data) - at} bytes left for a message")
        kind, validity, size, originator, ttl, hops, sequence = self._message.unpack_from(data, at)
        end = at + size
        if not body <= end <= len(data):
            raise OlsrError(Fault.MESSAGE_LENGTH, f"message of {size} bytes in {len(data) - at}")
        return Message(kind, validity, int.from_bytes(originator), ttl, hops, sequence, data[body:end]), end

    def encode(self, packet: Packet) -> bytes:
        """The packet as it travels. It must have messages, and fit a datagram."""
        assert packet.messages, "a packet without messages is no packet"
        parts = [b""]
        for kind, validity, originator, ttl, hops, sequence, body in packet.messages:
            size = self._message.size + len(body)
            parts += self._message.pack(kind, validity, size, self._bytes(originator), ttl, hops, sequence), body
        length = _PACKET.size + sum(map(len, parts))
        assert length <= MAX_PACKET_BYTES, f"{length} bytes are too many for one packet"
        parts[0] = _PACKET.pack(length, packet.sequence)
        return b"".join(parts)

    # Bodies

    def decode_body_untrusted(self, message: Message) -> Body | None:
        """What a message says; None of a kind that is not known here. Raises OlsrError, and nothing else."""
        body = message.body
        match message.kind:
            case Kind.HELLO | Kind.LQ_HELLO:
                return self._hello_untrusted(body, has_quality=message.kind == Kind.LQ_HELLO)
            case Kind.TC | Kind.LQ_TC:
                return self._tc_untrusted(body, has_quality=message.kind == Kind.LQ_TC)
            case Kind.MID:
                return Mid(self._addresses_untrusted(body))
            case Kind.HNA:
                _check_multiple(body, self._pair.size)
                pairs = self._pair.iter_unpack(body)
                return Hna(tuple((int.from_bytes(network), int.from_bytes(mask)) for network, mask in pairs))
        return None

    def _hello_untrusted(self, body: bytes, *, has_quality: bool) -> Hello:
        _check_least(body, _HELLO.size)
        interval, willingness = _HELLO.unpack_from(body)
        groups = []
        at = _HELLO.size
        while at < len(body):
            start = at + _LINKS.size
            if start > len(body):
                raise OlsrError(Fault.MESSAGE_LENGTH, f"{len(body) - at} bytes left for a link message")
            code, size = _LINKS.unpack_from(body, at)
            at += size
            if not start <= at <= len(body):  # so that every round gets on
                raise OlsrError(Fault.MESSAGE_LENGTH, f"link message of {size} bytes")
            addresses, qualities = self._entries_untrusted(body[start:at], has_quality=has_quality)
            groups.append(LinkGroup(code & (1 << _LINK_BITS) - 1, code >> _LINK_BITS, addresses, qualities))
        return Hello(interval, willingness, tuple(groups), has_quality)

    def _tc_untrusted(self, body: bytes, *, has_quality: bool) -> Tc:
        _check_least(body, _TC.size)
        ansn, lower, upper = _TC.unpack_from(body)
        neighbours, qualities = self._entries_untrusted(body[_TC.size :], has_quality=has_quality)
        if not has_quality:
            return Tc(ansn, neighbours)
        return Tc(ansn, neighbours, qualities, (lower, upper), has_quality)

    def _entries_untrusted(self, data: bytes, *, has_quality: bool) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        """Addresses, and the quality of each if there are any. Raises OlsrError only."""
        if not has_quality:
            return self._addresses_untrusted(data), ()
        _check_multiple(data, self._rated.size)
        entries = list(self._rated.iter_unpack(data))
        return tuple([int.from_bytes(address) for address, _ in entries]), tuple([quality for _, quality in entries])

    def _addresses_untrusted(self, data: bytes) -> tuple[int, ...]:
        _check_multiple(data, self.address_bytes)
        return tuple([int.from_bytes(address) for (address,) in self._address.iter_unpack(data)])

    def encode_body(self, body: Body) -> tuple[int, bytes]:
        """The kind of message that says this, and its body. All values must fit their fields."""
        match body:
            case Hello():
                links = b"".join([self._links(group, has_quality=body.has_quality) for group in body.groups])
                kind = Kind.LQ_HELLO if body.has_quality else Kind.HELLO
                return kind, _HELLO.pack(body.interval, body.willingness) + links
            case Tc():
                entries = self._entries(body.neighbours, body.qualities, has_quality=body.has_quality)
                if body.has_quality:
                    return Kind.LQ_TC, _TC.pack(body.ansn, *body.border) + entries
                return Kind.TC, _TC.pack(body.ansn, 0, 0) + entries
            case Mid():
                return Kind.MID, self._joined(body.aliases)
            case Hna():
                return Kind.HNA, self._joined([part for network in body.networks for part in network])

    def _links(self, group: LinkGroup, *, has_quality: bool) -> bytes:
        entries = self._entries(group.addresses, group.qualities, has_quality=has_quality)
        return _LINKS.pack(group.neighbour << _LINK_BITS | group.link, _LINKS.size + len(entries)) + entries

    def _entries(self, addresses: Sequence[int], qualities: Sequence[bytes], *, has_quality: bool) -> bytes:
        assert len(qualities) == (len(addresses) if has_quality else 0), "one quality for each address, or none at all"
        if not has_quality:
            return self._joined(addresses)
        assert all(len(quality) == QUALITY_BYTES for quality in qualities), "a quality has four bytes"
        return b"".join(map(self._rated.pack, map(self._bytes, addresses), qualities))

    def _joined(self, addresses: Iterable[int]) -> bytes:
        return b"".join(map(self._bytes, addresses))

    def _bytes(self, address: int) -> bytes:
        return address.to_bytes(self.address_bytes)


def _check_least(body: bytes, least: int) -> None:
    if len(body) < least:
        raise OlsrError(Fault.MESSAGE_LENGTH, f"body of {len(body)} bytes, {least} at least")


def _check_multiple(data: bytes, size: int) -> None:
    if len(data) % size:
        raise OlsrError(Fault.MESSAGE_LENGTH, f"{len(data)} bytes are no multiple of {size}")
