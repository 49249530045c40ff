"""Check-out: a dismissed broker hands over what it holds, and drops it only once a broker has it all (report 3.3.6).

The exchange is the integrity check in one direction. The leaving node offers its digests; for the buckets that differ
it lists its keys; the broker asks for what it lacks, is given it and asked again, and a listing of which it asks for
nothing is settled. What it asks for a second time it has got and cannot keep (its table is full, the record too old):
that is settled too, or the two would go on for ever. Nothing is pushed the other way. When everything offered is
settled, the tables may go. If the broker falls silent, or is none any more, the whole offer is made again to whichever
broker there is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from chapar.wire import Digests, Listing, SyncFlag, Table, Want
from chapard.core.fmt import FMT, key_of
from chapard.core.integrity import LISTING_ENTRIES, SMALL_TABLE

if TYPE_CHECKING:
    from chapard.core.integrity import Integrity
    from chapard.core.links import Links
    from chapard.core.met import MET
    from chapard.core.station import Station

PATIENCE = 4
"""Sync retries without an answer before the offer is made anew."""


class _Offer:
    """How far the offer of one table has come."""

    def __init__(self) -> None:
        self.answers: int | None = 0
        """Digests still to come; None before the first has said how many there are."""
        self.listings: deque[frozenset[bytes]] = deque()
        """Keys of the listings that are not settled, in the order in which the broker gets and answers them."""
        self.given: set[bytes] = set()
        """Keys the broker has asked for."""

    @property
    def is_settled(self) -> bool:
        return self.answers == 0 and not self.listings


class CheckOut:
    """One node's offer of its tables. `is_done` once a broker holds everything in them."""

    def __init__(self, station: Station, links: Links, fmt: FMT, met: MET, integrity: Integrity) -> None:
        self._station = station
        self._links = links
        self._tables: dict[Table, FMT | MET] = {Table.FMT: fmt, Table.MET: met}
        self._integrity = integrity
        self._broker: int | None = None
        self._offers: dict[Table, _Offer] = {}
        self.deadline: float | None = None

    @property
    def is_done(self) -> bool:
        return self._broker is not None and all(offer.is_settled for offer in self._offers.values())

    def start(self, now: float) -> None:
        """Offer both tables to our broker; without one, wait for it."""
        self._wait(now)
        self._offers = {}
        self._broker = self._station.broker if self._station.broker != self._station.index else None
        peer = self._station.peers.get(self._broker) if self._broker is not None else None
        if peer is None:
            self._broker = None
            return
        for table, root in ((Table.FMT, peer.beacon.fmt_digest), (Table.MET, peer.beacon.met_digest)):
            if self._tables[table].tree.root != root:
                self._offer(table, peer.index)

    def cancel(self) -> None:
        """Appointed again, or done: offer nothing more."""
        self._broker, self._offers, self.deadline = None, {}, None

    def on_digests(self, frame: Digests, now: float) -> None:
        """The broker's digests: list what lies in the buckets that differ."""
        offer = self._offer_to(frame.sender, frame.table)
        if offer is None or not frame.flags & SyncFlag.REPLY:
            return
        self._wait(now)
        offer.answers = (frame.count if offer.answers is None else offer.answers) - 1
        if frame.level == 0:
            offer.answers = 0  # equal throughout
            return
        tree = self._tables[Table(frame.table)].tree
        self._list(frame.sender, frame.table, list(tree.entries(self._integrity.different_buckets(frame)).items()))

    def on_want(self, frame: Want, now: float) -> None:
        """The broker's answer to a listing: nothing, and it is settled; else it was given, and is listed again."""
        offer = self._offer_to(frame.sender, frame.table)
        if offer is None or not offer.listings or not offer.listings[0].issuperset(frame.keys):
            return  # no answer, but a question of its own
        self._wait(now)
        offer.listings.popleft()
        tree = self._tables[Table(frame.table)].tree
        again = [(key, tree.stamp(key)) for key in frame.keys if key in tree and key not in offer.given]
        offer.given.update(frame.keys)
        self._list(frame.sender, frame.table, again)

    def _offer(self, table: Table, broker: int) -> None:
        tree = self._tables[table].tree
        offer = self._offers[table] = _Offer()
        if len(tree) <= SMALL_TABLE:
            self._list(broker, table, list(tree.all_entries().items()))
            return
        offer.answers = None
        question = Digests(self._station.index, table, 0, 0, len(tree), tree.groups(), SyncFlag.OFFER_ONLY)
        self._links.send(broker, question)

    def _list(self, broker: int, table: int, entries: list[tuple[bytes, int]]) -> None:
        # Our own filters are not the table's to hand over: our beacon states them, and brokers ask us.
        others = [entry for entry in entries if table != Table.FMT or entry[0] != key_of(self._station.index)]
        for at in range(0, len(others), LISTING_ENTRIES):
            some = tuple(others[at : at + LISTING_ENTRIES])
            self._links.send(broker, Listing(self._station.index, table, (), some, SyncFlag.OFFER_ONLY))
            self._offers[Table(table)].listings.append(frozenset(key for key, _ in some))

    def _offer_to(self, peer: int, table: int) -> _Offer | None:
        return self._offers.get(Table(table)) if peer == self._broker else None

    def _wait(self, now: float) -> None:
        self.deadline = now + PATIENCE * self._station.config.sync_retry
