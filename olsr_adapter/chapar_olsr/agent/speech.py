"""What an agent says of itself: its tables as HELLO, TC and MID bodies, each small enough for one packet.

A table that does not fit one message is told in several; each receiver adds them up (RFC 3626, 6.2 and 9.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_olsr.agent.codec import QUALITY_BYTES
from chapar_olsr.agent.messages import NO_BORDER, Hello, LinkGroup, LinkType, Mid, NeighbourType, Tc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chapar_olsr.agent.linkset import Link
    from chapar_olsr.agent.neighbourhood import Neighbourhood

FULL_QUALITY: Final = 255
_GROUP_BYTES: Final = 4
"""Head of a group of addresses in a HELLO."""

_Entry = tuple[int, int, int, bytes]
"""Link type, neighbour type, address, quality."""


def quality_bytes(link: Link | None) -> bytes:
    """The quality of a link as olsrd writes it: what arrives here, what arrives there, in 255ths."""
    if link is None:
        return bytes(QUALITY_BYTES)
    return bytes((round(link.quality * FULL_QUALITY), round(link.neighbour_quality * FULL_QUALITY), 0, 0))


def hellos(
    interface: int,
    links: Iterable[Link],
    hood: Neighbourhood,
    *,
    willingness: int,
    interval: int,
    room: int,
    address_bytes: int,
    with_quality: bool,
    now: float,
) -> list[Hello]:
    """The HELLOs for one interface (6.2): its own links, then the neighbours that are reached otherwise.

    `interval` is the code of the time until the next, `room` the bytes for the groups of one message.
    """
    entries = sorted(_entries(interface, list(links), hood, now))
    each = address_bytes + (QUALITY_BYTES if with_quality else 0)
    made: list[Hello] = []
    for part in _parts(entries, room, each):
        groups: dict[tuple[int, int], list[_Entry]] = {}
        for entry in part:
            groups.setdefault(entry[:2], []).append(entry)
        told = tuple(
            LinkGroup(
                link,
                neighbour,
                tuple(entry[2] for entry in group),
                tuple(entry[3] for entry in group) if with_quality else (),
            )
            for (link, neighbour), group in groups.items()
        )
        made.append(Hello(interval, willingness, told, with_quality))
    return made


def tcs(
    ansn: int, neighbours: Mapping[int, bytes], *, room: int, address_bytes: int, with_quality: bool
) -> list[Tc]:
    """The TCs that advertise these neighbours (9.3); one that is empty if there are none."""
    each = address_bytes + (QUALITY_BYTES if with_quality else 0)
    ordered = sorted(neighbours)
    parts = _split(ordered, max(1, room // each)) or [()]
    return [
        Tc(
            ansn,
            tuple(part),
            tuple(neighbours[node] for node in part) if with_quality else (),
            _border(place, parts),
            with_quality,
        )
        for place, part in enumerate(parts)
    ]


def mids(aliases: Sequence[int], *, room: int, address_bytes: int) -> list[Mid]:
    """The MIDs that name our further addresses (5.2); none for a node with one interface."""
    return [Mid(tuple(part)) for part in _split(aliases, max(1, room // address_bytes))]


def _entries(interface: int, links: Sequence[Link], hood: Neighbourhood, now: float) -> list[_Entry]:
    entries: list[_Entry] = []
    here: set[int] = set()
    for link in links:
        kind = link.link_type(now) if link.local == interface else None
        if kind is not None:
            here.add(link.neighbour)
            entries.append((kind, _neighbour_type(link.neighbour, hood), link.remote, quality_bytes(link)))
    unspecified = LinkType.UNSPECIFIED
    # olsrd chooses no relay for whom it knows no quality of the link.
    best = {link.neighbour: link for link in sorted(links, key=lambda link: (link.is_symmetric(now), link.quality))}
    elsewhere = hood.near - here
    return entries + [
        (unspecified, _neighbour_type(each, hood), each, quality_bytes(best.get(each))) for each in elsewhere
    ]


def _neighbour_type(neighbour: int, hood: Neighbourhood) -> NeighbourType:
    if neighbour in hood.mprs:
        return NeighbourType.MPR
    return NeighbourType.SYMMETRIC if neighbour in hood.near else NeighbourType.NOT


def _parts(entries: Sequence[_Entry], room: int, each: int) -> list[list[_Entry]]:
    """Entries that share a message; there is always one message, since an empty HELLO says that we are here."""
    parts: list[list[_Entry]] = [[]]
    left = room
    for entry in entries:
        last = parts[-1][-1] if parts[-1] else None
        needed = each + (_GROUP_BYTES if last is None or last[:2] != entry[:2] else 0)
        if needed > left and parts[-1]:
            parts.append([])
            left = room
            needed = each + _GROUP_BYTES
        parts[-1].append(entry)
        left -= needed
    return parts


def _split(addresses: Sequence[int], most: int) -> list[Sequence[int]]:
    return [addresses[start : start + most] for start in range(0, len(addresses), most)]


def _border(place: int, parts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Where a part of an LQ_TC begins and ends, for those who read them one by one (see `NO_BORDER`)."""
    lower = NO_BORDER if place == 0 else (parts[place - 1][-1] ^ parts[place][0]).bit_length()
    upper = NO_BORDER if place == len(parts) - 1 else (parts[place][-1] ^ parts[place + 1][0]).bit_length()
    return lower, upper
