"""What an Ethernet frame of the lab says: which node it is for, and which UDP datagram is in it. Any bytes will do."""

from __future__ import annotations

from typing import Final, NamedTuple

PREFIX: Final = b"\x02\x66\x00\x00"
"""Of the MAC addresses of nodes; the index follows."""
STRANGER: Final = 0xFFFF
"""The node of a MAC address that is no node's."""
ARP: Final = 0x0806
_IPV4, _IPV6, _UDP = 0x0800, 0x86DD, 17
_ETHERNET, _IPV4_LEAST, _IPV6_HEADER, _UDP_HEADER = 14, 20, 40, 8
"""Bytes of the headers."""


class Datagram(NamedTuple):
    """What a frame carries over UDP."""

    port: int
    """At the destination."""
    payload: bytes
    headers: int
    """Bytes of the frame around it."""
    source: int
    """The node it comes from: addresses of nodes end in its index, both those they were given and those of IPv6."""


def mac_of(node: int) -> str:
    """The MAC address of a node's interface."""
    return (PREFIX + node.to_bytes(2, "big")).hex(":")


def destination(frame: bytes) -> int | None:
    """The node that a frame is for; None for all (broadcast and multicast), STRANGER for none of ours."""
    if frame[:4] == PREFIX and len(frame) >= _ETHERNET:
        return frame[4] << 8 | frame[5]
    if len(frame) >= _ETHERNET and frame[0] & 1:
        return None
    return STRANGER


def kind_of(frame: bytes) -> int:
    """The EtherType; 0 for what is too short for one."""
    return int.from_bytes(frame[12:14], "big") if len(frame) >= _ETHERNET else 0


def datagram_of(frame: bytes) -> Datagram | None:
    """The UDP datagram in a frame, if there is a whole one."""
    kind = kind_of(frame)
    if kind == _IPV4 and len(frame) >= _ETHERNET + _IPV4_LEAST:
        is_part = int.from_bytes(frame[20:22], "big") & 0x3FFF  # more of it follows, or came before
        begin, source_end = _ETHERNET + 4 * (frame[14] & 0x0F), 30
        is_udp = frame[23] == _UDP and not is_part and begin >= _ETHERNET + _IPV4_LEAST
    elif kind == _IPV6 and len(frame) >= _ETHERNET + _IPV6_HEADER:
        begin, source_end = _ETHERNET + _IPV6_HEADER, 38
        is_udp = frame[20] == _UDP
    else:
        return None
    port, size = (
        int.from_bytes(frame[begin + 2 : begin + 4], "big"),
        int.from_bytes(frame[begin + 4 : begin + 6], "big"),
    )
    if not is_udp or not _UDP_HEADER <= size <= len(frame) - begin:
        return None
    payload = frame[begin + _UDP_HEADER : begin + size]
    source = int.from_bytes(frame[source_end - 2 : source_end], "big")
    return Datagram(port, payload, len(frame) - len(payload), source)
