"""What OLSR nodes say to each other (RFC 3626, sections 3.3, 5.1, 6.1, 9.1 and 12.1) as plain values.

An address is an integer, whatever its family: it orders as the address does, and the graph functions take it as it
is. Its length on the wire belongs to the codec. A message keeps its body as bytes: what we only relay we need not
understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

PORT: Final = 698
"""UDP (RFC 3626, 3.1)."""
NO_BORDER: Final = 255
"""This is the first part of an advertised set, or the last one.

A set too long for one packet is split between neighbours in the order of their addresses. The border between two of
them is 1 + the number of the highest bit in which they differ (bit 0 is the lowest). So a border b next to the
address a, on either side, stands for the address ((a >> b - 1) | 1) << b - 1, the first that is behind it. A border
of 0 says nothing.
"""


class Kind(IntEnum):
    """Message types. Others are relayed unread."""

    HELLO = 1
    TC = 2
    MID = 3
    HNA = 4
    LQ_HELLO = 201
    """olsrd's link-quality extension: as HELLO, each address with four bytes of quality."""
    LQ_TC = 202


class LinkType(IntEnum):
    """RFC 3626, 6.1.1."""

    UNSPECIFIED = 0
    ASYMMETRIC = 1
    SYMMETRIC = 2
    LOST = 3


class NeighbourType(IntEnum):
    """RFC 3626, 6.1.1."""

    NOT = 0
    SYMMETRIC = 1
    MPR = 2


class Message(NamedTuple):
    """One message of a packet. `kind` is a plain number: it may be none of `Kind`."""

    kind: int
    validity: int
    """Vtime as its code; `timecode.seconds` reads it."""
    originator: int
    ttl: int
    hops: int
    sequence: int
    body: bytes


class Packet(NamedTuple):
    """One datagram: its sequence number on the sender's interface, and its messages."""

    sequence: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """Neighbour interfaces that a HELLO declares with one link code.

    Both halves of the code are plain numbers: they may be none of `LinkType` and `NeighbourType`, and such links are
    for nobody (RFC 3626, 6.1.1).
    """

    link: int
    """The lower two bits of the link code."""
    neighbour: int
    """The other six."""
    addresses: tuple[int, ...]
    qualities: tuple[bytes, ...] = ()
    """In an LQ_HELLO, four bytes for each address."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The links of one interface."""

    interval: int
    """Htime as its code."""
    willingness: int
    groups: tuple[LinkGroup, ...]
    has_quality: bool = False
    """Whether this is an LQ_HELLO; its groups alone cannot say, as a node without links has none."""


@dataclass(frozen=True, slots=True)
class Tc:
    """The neighbours that a node advertises."""

    ansn: int
    neighbours: tuple[int, ...]
    qualities: tuple[bytes, ...] = ()
    """In an LQ_TC, four bytes for each neighbour."""
    border: tuple[int, int] = (NO_BORDER, NO_BORDER)
    """In an LQ_TC, where a TC has its reserved field: before and behind which neighbours this part of the set ends."""
    has_quality: bool = False
    """Whether this is an LQ_TC; an empty set has no qualities to show it."""


@dataclass(frozen=True, slots=True)
class Mid:
    """The other interface addresses of a node; the originator is its main one."""

    aliases: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hna:
    """Networks behind a node: address and mask."""

    networks: tuple[tuple[int, int], ...]


Body = Hello | Tc | Mid | Hna
