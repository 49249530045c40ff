"""The recorded packets of a real olsrd network: a reader for captures of Ethernet, IPv4 and UDP."""

from __future__ import annotations

from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent / "vectors" / "olsr"
PLAIN = FOLDER / "chain5.n3.lq0.pcap"
"""Plain RFC 3626."""
QUALITY = FOLDER / "chain5.n3.lq2.pcap"
"""With olsrd's link-quality extension."""
PORT = 698

_FILE = Struct("<I16xI")
"""Magic number, and link type at the end."""
_MAGIC, _ETHERNET = 0xA1B2C3D4, 1
_RECORD = Struct("<IIII")
"""Seconds, microseconds, bytes kept, bytes there were."""
_ETHERNET_HEADER, _UDP_HEADER = 14, 8
_IPV4 = b"\x08\x00"


class Captured(NamedTuple):
    """One datagram on the air."""

    time: float
    source: int
    """IP address of the interface that sent it."""
    data: bytes


def captured(file: Path) -> Iterator[Captured]:
    """The OLSR datagrams of a capture, all that is in it."""
    content = file.read_bytes()
    assert _FILE.unpack_from(content) == (_MAGIC, _ETHERNET), f"{file.name} is no capture of Ethernet frames"
    at = _FILE.size
    while at < len(content):
        whole, micros, kept, length = _RECORD.unpack_from(content, at)
        assert kept == length, "a frame was cut"
        at += _RECORD.size + kept
        yield Captured(whole + micros / 1e6, *_datagram(content[at - kept : at]))


def _datagram(frame: bytes) -> tuple[int, bytes]:
    assert frame[12:14] == _IPV4, "no IPv4"
    packet = frame[_ETHERNET_HEADER:]
    udp = packet[4 * (packet[0] & 0xF) : int.from_bytes(packet[2:4])]  # without the padding of a short frame
    assert int.from_bytes(udp[2:4]) == PORT, "no OLSR"
    return int.from_bytes(packet[12:16]), udp[_UDP_HEADER:]
