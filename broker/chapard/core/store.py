"""What survives a restart: the keys and values that `Save` effects carry, and how they are read back.

    incarnation                 kept by the driver
    home                        version of this home's filters
    session/CLIENT              epoch, whether it lasts, subscriptions
    queue/CLIENT/NUMBER         a delivery that is not acknowledged
    taken/CLIENT/EVENT          a memorised event this session was given, until it expires
    latest/CLIENT/ORIGIN        the last real-time event of a publisher that this session was given
    published/CLIENT            the last publication accepted from this session, and the latest receipts
    event/EVENT                 a memorised event held here

Values are msgpack arrays written by this node itself, so they are read without suspicion; a database of another
version is refused by the driver before it gets here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgpack

from chapard.core.effects import Save, Settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chapard.core.outlet import Outlet


class Store:
    """Writes through to the driver's disk, key by key."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._number = 0
        self._is_marked = False

    def mark(self) -> int:
        """A number for all that was saved up to now. `Node.saved` gives it back when that is on the disk."""
        if not self._is_marked:
            self._is_marked = True
            self._number += 1
        return self._number

    def settle(self) -> None:
        """Ask to be told, at the end of what one drain gives, if anybody waits to hear."""
        if self._is_marked:
            self._is_marked = False
            self._outlet.emit(Settle(self._number))

    def put(self, key: str, *values: Any) -> None:
        self._outlet.emit(Save(key, msgpack.packb(values)))

    def forget(self, key: str) -> None:
        self._outlet.emit(Save(key, None))


def saved_under(saved: Mapping[str, bytes], prefix: str) -> Iterator[tuple[list[str], list[Any]]]:
    """The parts of the key after `prefix`, and the values, of everything saved under it, in order of the keys."""
    for key in sorted(saved):
        if key.startswith(prefix):
            yield key[len(prefix) :].split("/"), msgpack.unpackb(saved[key])
