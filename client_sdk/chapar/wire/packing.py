"""Packing: frames for the same next hop share datagrams, because a datagram costs more than the bytes in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


def pack(frames: Iterable[T], mtu: int, size: Callable[[T], int] = len) -> list[list[T]]:  # type: ignore[assignment]
    """Group encoded frames, in order, into datagrams of at most `mtu` bytes.

    `size` tells the bytes of a frame that is more than its bytes. To leave room for a LINK header, ask for a smaller
    mtu. Cut a frame larger than `mtu` with `fragment` first: here it is a ValueError.
    """
    datagrams: list[list[T]] = []
    room = 0
    for frame in frames:
        length = size(frame)
        if length > mtu:
            raise ValueError(f"frame of {length} bytes in datagrams of {mtu}: fragment it first")
        if length > room or not datagrams:
            datagrams.append([])
            room = mtu
        datagrams[-1].append(frame)
        room -= length
    return datagrams
