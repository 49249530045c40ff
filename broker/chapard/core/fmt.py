"""The filter mapping table: which homes want what (report 3.2.4, 3.3.1).

The table is kept per home, as (version, filters), and the mapping from a filter to its subscription node vector is
derived from that in the matcher. Only a home raises its version, so of two copies the higher version is right and a
missed unsubscription cannot come back to life, as it can where tables are merged by union (3.3.5). Two copies of one
version that differ are both in doubt; the one with the larger digest is kept, the home's beacon contradicts it, and the
home then raises its version above the doubt.

A home's filters stand for `subscription_lease` after the network last heard of it. Ages travel with the records, so
passing a record on does not make it younger.
"""

from __future__ import annotations

from enum import Enum, auto
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

import mmh3

from chapar.wire import FmtRecord, Table, encode_record
from chapard.core.digest import DigestTree
from chapard.core.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from chapar.event import Event
    from chapar.filter import Filter
    from chapard.core.config import Config
    from chapard.core.nodevector import NodeVector

ASK_SHARE = 0.75
"""Share of a lease after which a home that should be there is asked itself: its renewals may have been lost."""
ASK_PAUSES = 16
"""That share in pauses between two questions."""
REFUSED_SHARE = 0.9
"""Records older than this share of the lease are not taken: brokers would keep handing dying records to each other."""


def filters_digest(filters: Iterable[Filter]) -> int:
    """A 32-bit digest of a set of filters, whatever their order."""
    digest = 0
    for each in filters:
        digest ^= int(mmh3.hash(str(each).encode(), signed=False))
    return digest


class HomeRecord(NamedTuple):
    """What one home wants, as of one version."""

    version: int
    digest: int
    filters: tuple[Filter, ...]


class Merge(Enum):
    """What became of something a home or a broker said about a home."""

    CHANGED = auto()
    KNOWN = auto()
    STALE = auto()
    GAP = auto()
    """A change to a version we do not have: ask for the whole record."""
    REFUSED = auto()


class FMT:
    """The table of one node."""

    table = Table.FMT

    def __init__(self, config: Config) -> None:
        self._config = config
        self._records: dict[int, HomeRecord] = {}
        self._renewed: dict[int, float] = {}
        self._asked: dict[int, float] = {}
        self._due = inf
        self._matcher = Matcher(config.nodes)
        self.tree = DigestTree()

    def __len__(self) -> int:
        return len(self._records)

    def get(self, home: int) -> HomeRecord | None:
        return self._records.get(home)

    def homes(self) -> dict[int, tuple[Filter, ...]]:
        """The filters of every home, by index."""
        return {home: self._records[home].filters for home in sorted(self._records)}

    def match(self, event: Event) -> NodeVector:
        """The subscription node vector of an event: every home with a matching filter."""
        return self._matcher.match(event)

    # Changes

    def merge(self, home: int, version: int, filters: Sequence[Filter], age: float, now: float) -> Merge:
        """Take a whole record, of the home itself or of another broker."""
        if len(filters) > self._config.filters_per_home or age > REFUSED_SHARE * self._config.subscription_lease:
            return Merge.REFUSED
        known = self._records.get(home)
        if known is None and len(self._records) >= self._config.fmt_homes:
            return Merge.REFUSED
        # Twice the same filter would cancel out in the digest, and a wrong record could pass for the right one.
        # Filters that we have stay the same objects, which the matcher holds, too: equal ones would take memory twice.
        ours = {each: each for each in known.filters} if known is not None else {}
        once = tuple(ours.get(each, each) for each in dict.fromkeys(filters))
        record = HomeRecord(version, filters_digest(once), once)
        if known is not None and record[:2] < known[:2]:
            return Merge.STALE
        self._renew(home, now - age)
        if known is not None and record[:2] == known[:2]:
            return Merge.KNOWN
        self._replace(home, record)
        return Merge.CHANGED

    def _renew(self, home: int, heard: float) -> None:
        self._renewed[home] = max(self._renewed.get(home, heard), heard)
        self._due = min(self._due, self._renewed[home] + ASK_SHARE * self._config.subscription_lease)

    def add(self, home: int, version: int, base: int, filters: Sequence[Filter], now: float) -> Merge:
        """Take SUBSCRIBE: filters added to version `base`."""
        return self._change(home, version, base, added=filters, removed=(), now=now)

    def remove(self, home: int, version: int, base: int, filters: Sequence[Filter], now: float) -> Merge:
        """Take UNSUBSCRIBE: filters taken from version `base`."""
        return self._change(home, version, base, added=(), removed=filters, now=now)

    def _change(
        self, home: int, version: int, base: int, *, added: Sequence[Filter], removed: Sequence[Filter], now: float
    ) -> Merge:
        known = self._records.get(home)
        if base == 0:
            return self.merge(home, version, added, 0, now)
        if known is not None and version <= known.version:
            return Merge.KNOWN if version == known.version else Merge.STALE
        if known is None or known.version != base:
            return Merge.GAP
        return self._step(home, known, version, added, removed, now)

    def _step(
        self, home: int, known: HomeRecord, version: int, added: Sequence[Filter], removed: Sequence[Filter], now: float
    ) -> Merge:
        """Change the record that we have. It costs what the change does: a client may subscribe thousands of times."""
        gone = {each for each in removed if self._matcher.vector(each)[home]}
        fresh = [each for each in dict.fromkeys(added) if each in gone or not self._matcher.vector(each)[home]]
        kept = tuple(each for each in known.filters if each not in gone) if gone else known.filters
        if len(kept) + len(fresh) > self._config.filters_per_home:
            return Merge.REFUSED
        self._renew(home, now)
        for each in gone:
            self._matcher.remove(each, home)
        for each in fresh:
            self._matcher.add(each, home)
        digest = known.digest ^ filters_digest(gone) ^ filters_digest(fresh)
        self._records[home] = HomeRecord(version, digest, kept + tuple(fresh))
        self.tree.set(key_of(home), version, digest)
        return Merge.CHANGED

    def _replace(self, home: int, record: HomeRecord) -> None:
        before = self._records.get(home)
        old = before.filters if before is not None else ()
        kept = set(old) & set(record.filters)
        for each in old:
            if each not in kept:
                self._matcher.remove(each, home)
        for each in record.filters:
            if each not in kept:
                self._matcher.add(each, home)
        self._records[home] = record
        self.tree.set(key_of(home), record.version, record.digest)

    def forget(self, home: int) -> None:
        record = self._records.pop(home, None)
        if record is not None:
            for each in record.filters:
                self._matcher.remove(each, home)
            self.tree.discard(key_of(home))
            self._renewed.pop(home, None)
            self._asked.pop(home, None)

    # Leases

    def renew(self, homes: Iterable[int], now: float) -> None:
        """These homes were heard of just now."""
        self._renewed.update((home, now) for home in homes if home in self._records)

    def unheard(self, now: float) -> list[int]:
        """Homes nobody has spoken of for most of their lease; each is named once in a while."""
        overdue = ASK_SHARE * self._config.subscription_lease
        pause = overdue / ASK_PAUSES
        homes = []
        for home in sorted(self._renewed):
            if self._renewed[home] + overdue <= now and self._asked.get(home, -inf) + pause <= now:
                self._asked[home] = now
                homes.append(home)
        self._reckon(now)
        return homes

    def expire(self, now: float, present: Container[int] = ()) -> list[int]:
        """Forget the homes nobody has heard of for the length of a lease; those that routing still sees, for two."""
        lease = self._config.subscription_lease
        silent = sorted(
            home for home, at in self._renewed.items() if at + (2 * lease if home in present else lease) <= now
        )
        for home in silent:
            self.forget(home)
        # A clock that was set back, or a corrupted table, must not keep a lease alive for ever.
        for home, at in self._renewed.items():
            self._renewed[home] = min(at, now)
        self._reckon(now)
        return silent

    def next_deadline(self) -> float | None:
        """When a home may have to be asked, or forgotten; renewals meanwhile may have put that off."""
        return None if self._due == inf else self._due

    def _reckon(self, now: float) -> None:
        lease = self._config.subscription_lease
        pause = ASK_SHARE * lease / ASK_PAUSES
        times = [at + end for at in self._renewed.values() for end in (lease, 2 * lease) if at + end > now]
        times += [
            max(at + ASK_SHARE * lease, self._asked.get(home, -inf) + pause) for home, at in self._renewed.items()
        ]
        self._due = min(times, default=inf)

    def clear(self) -> None:
        for home in list(self._records):
            self.forget(home)
        self._due = inf

    # Exchange with other brokers

    def encoded(self, key: bytes, now: float) -> bytes | None:
        """The record of a key as it travels; None if there is none."""
        home = int.from_bytes(key, "big")
        record = self._records.get(home)
        if record is None:
            return None
        age_ms = ceil(1000 * max(0.0, now - self._renewed[home]))
        return encode_record(FmtRecord(home, record.version, age_ms, record.filters))


def key_of(home: int) -> bytes:
    return home.to_bytes(2, "big")
