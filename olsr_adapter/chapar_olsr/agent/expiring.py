"""A table whose entries are believed for a time, and which never holds more than its bound.

Entries are renewed far more often than they expire, so the table remembers the earliest expiry it may have to look for,
and looks through its entries only then.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

K = TypeVar("K")
V = TypeVar("V")


class Expiring(Generic[K, V]):
    """Values by key, each until a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._entries: dict[K, tuple[float, V]] = {}
        self._earliest = inf
        """No entry expires before this."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def until(self, key: K) -> float | None:
        """When an entry expires."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def items(self) -> Iterator[tuple[K, V]]:
        return ((key, value) for key, (_, value) in self._entries.items())

    def put(self, key: K, value: V, until: float) -> bool | None:
        """Enter or renew an entry: True if the table says something new, False if not, None if there is no room."""
        old = self._entries.get(key)
        if old is None and len(self._entries) >= self.limit:
            return None
        self._entries[key] = (until, value)
        self._earliest = min(self._earliest, until)
        return old is None or old[1] != value

    def remove(self, keys: Iterable[K]) -> bool:
        """Take entries out; whether there were any."""
        found = [key for key in keys if key in self._entries]
        for key in found:
            del self._entries[key]
        return bool(found)

    def oldest(self) -> K | None:
        """The entry that was made first."""
        return next(iter(self._entries), None)

    def expire(self, now: float) -> list[K]:
        """Take out what is no longer believed; which entries these were."""
        if self._earliest > now:
            return []
        over = [key for key, (until, _) in self._entries.items() if until <= now]
        for key in over:
            del self._entries[key]
        self._earliest = min((until for until, _ in self._entries.values()), default=inf)
        return over

    @property
    def deadline(self) -> float:
        """When to call `expire` next, at the latest."""
        return self._earliest
