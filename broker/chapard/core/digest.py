"""Digests of a replicated table: whole table, 32 groups, 1024 buckets, records (report 3.3.5, made incremental).

Two brokers that hold the same records have the same root digest, which their beacons carry. Where roots differ, one
level of 32 digests finds the groups that differ, one more the buckets, and a bucket of a table of ten thousand records
lists about ten. So the cost of an exchange follows the difference, not the table.

A record is a key, a stamp that tells which of two copies is newer (or merely that they differ), and a hash of its
content. Digests are XORs of record hashes: order does not matter, and adding or removing a record costs one hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mmh3

from chapar.wire import BUCKETS, DIGEST_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable

_MASK32 = 2**32 - 1
_MASK63 = 2**63 - 1


def hash63(data: bytes) -> int:
    """A 63-bit hash: what a stamp or a digest on the wire can hold."""
    return int(mmh3.hash64(data, signed=False)[0]) & _MASK63


def bucket_of(key: bytes) -> int:
    return int(mmh3.hash(key, signed=False)) % BUCKETS


class DigestTree:
    """Keys and stamps of one table, and the digests over them."""

    def __init__(self) -> None:
        self.root = 0
        self._buckets = [0] * BUCKETS
        self._entries: list[dict[bytes, tuple[int, int]] | None] = [None] * BUCKETS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def set(self, key: bytes, stamp: int, content: int = 0) -> None:
        """Hold `key` with this stamp and content, whatever was held before."""
        self.discard(key)
        bucket = bucket_of(key)
        entries = self._entries[bucket]
        if entries is None:
            entries = self._entries[bucket] = {}
        entries[key] = (stamp, content)
        self._count += 1
        self._toggle(bucket, key, stamp, content)

    def discard(self, key: bytes) -> None:
        bucket = bucket_of(key)
        entries = self._entries[bucket]
        if entries is None or key not in entries:
            return
        stamp, content = entries.pop(key)
        if not entries:
            self._entries[bucket] = None
        self._count -= 1
        self._toggle(bucket, key, stamp, content)

    def groups(self) -> tuple[int, ...]:
        """Digests of the 32 groups."""
        return tuple(self._xor(self._buckets[i : i + DIGEST_WIDTH]) for i in range(0, BUCKETS, DIGEST_WIDTH))

    def buckets(self, group: int) -> tuple[int, ...]:
        """Digests of the 32 buckets of one group."""
        first = group * DIGEST_WIDTH
        return tuple(digest & _MASK32 for digest in self._buckets[first : first + DIGEST_WIDTH])

    def entries(self, buckets: Iterable[int]) -> dict[bytes, int]:
        """Keys and stamps in these buckets, in order of the keys."""
        found: dict[bytes, int] = {}
        for bucket in buckets:
            found.update((key, stamp) for key, (stamp, _) in (self._entries[bucket] or {}).items())
        return dict(sorted(found.items()))

    def __contains__(self, key: bytes) -> bool:
        return key in (self._entries[bucket_of(key)] or {})

    def stamp(self, key: bytes) -> int:
        """The stamp of a key, 0 if it is not held."""
        return (self._entries[bucket_of(key)] or {}).get(key, (0, 0))[0]

    def all_entries(self) -> dict[bytes, int]:
        return self.entries(range(BUCKETS))

    def _toggle(self, bucket: int, key: bytes, stamp: int, content: int) -> None:
        digest = hash63(key + stamp.to_bytes(8, "big") + content.to_bytes(8, "big"))
        self._buckets[bucket] ^= digest
        self.root ^= digest

    @staticmethod
    def _xor(digests: Iterable[int]) -> int:
        total = 0
        for digest in digests:
            total ^= digest
        return total & _MASK32
