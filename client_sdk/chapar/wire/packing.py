"""Packing: frames for the same next hop share datagrams, because a datagram costs more than the bytes in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def pack(frames: Iterable[bytes], mtu: int) -> list[list[bytes]]:
    """Group encoded frames, in order, into datagrams of at most `mtu` bytes; join a group to get its datagram.

    To leave room for a LINK header, ask for a smaller mtu. Cut a frame larger than `mtu` with `fragment` first:
    here it is a ValueError.
    """
    datagrams: list[list[bytes]] = []
    room = 0
    for frame in frames:
        if len(frame) > mtu:
            raise ValueError(f"frame of {len(frame)} bytes in datagrams of {mtu}: fragment it first")
        if len(frame) > room or not datagrams:
            datagrams.append([])
            room = mtu
        datagrams[-1].append(frame)
        room -= len(frame)
    return datagrams
