"""Integrity check and inheritance: two brokers compare digests, ask for what they lack and give the rest (3.3.5).

    A: DIGESTS of its 32 groups          (a small or empty table: LISTING of everything instead)
    B: DIGESTS of the buckets of each group that differs
    A: LISTING of the buckets that differ
    B: WANT what it lacks, RECORDS of what A lacks

Beacons carry the root digests, so equal tables cost nothing. A difference between old acquaintances is given
`sync_delay` to settle, as floods are in flight; new contacts compare at once. The lower index starts; the higher one
steps in if it does not. Who is told of an event without having its predecessor does not wait for a beacon either.

Two tables can differ for good: one side is full, or saves power, and cannot keep what the other has. So a record is
pushed to a peer once, though given whenever it asks, and comparisons that bring nothing become rare.

Of an event that both hold with different delivered vectors, only the vectors are exchanged (DELIVERED). Of a home's
filters the higher version wins. Where a bucket differs and no stamp in it does, two copies of one version differ, and
both sides' copies are exchanged so that one of them prevails and the home can contradict it.

With OFFER_ONLY the listing side wants nothing (check-out, and a publisher whose broker has changed).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, TypeAlias

from chapar.event import EventId
from chapar.limits import LINK_ROOM
from chapar.wire import Delivered, Digests, Listing, Records, SyncFlag, Table, Want
from chapard.core.digest import DigestTree, hash63
from chapard.core.fmt import FMT, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.links import Links
    from chapard.core.met import MET
    from chapard.core.peers import Peer
    from chapard.core.station import Station

Entries: TypeAlias = dict[bytes, int]
"""Stamps by key."""
SMALL_TABLE = 16
"""Entries that cost less to list than a level of 32 digests."""
LISTING_ENTRIES = 48
"""Entries of one listing of named keys: a datagram."""
WANT_KEYS = 256
"""Keys asked for in one frame; the next beacon brings the rest."""
GOSSIP_BEACONS = 2
"""Beacons in a row that may differ in confirmations alone, before these are compared: they spread by gossip."""
RECONCILED_LIMIT = 65536
"""Remembered pairs of peer and event whose delivered vectors were compared."""
GIVEN_LIMIT = 16384
"""Remembered records of one table given to one peer."""
MAX_DOUBLINGS = 5
"""Comparisons that bring nothing come to be 32 refresh periods apart, not further: there may be news among them."""
STEP_IN = 0.1
"""How long the higher index leaves the start to the lower one, which may not have heard it yet."""
RECORD_ROOM = 200
"""Bytes of a RECORDS datagram left for headers."""


class Integrity:
    """The exchange of one node with its adjoining brokers. Records that arrive are merged by the node."""

    def __init__(self, station: Station, links: Links, fmt: FMT, met: MET) -> None:
        self._station = station
        self._links = links
        self._fmt = fmt
        self._met = met
        self._due: dict[int, float] = {}
        self._suspected: dict[int, float] = {}
        self._opened: dict[tuple[int, Table], float] = {}
        """When we last opened an exchange with a peer over a table."""
        self._reconciled: dict[tuple[int, bytes], int] = {}
        self._patience: dict[int, int] = {}
        """How many more beacons of a peer may differ in confirmations alone."""
        self._given: dict[tuple[int, Table], dict[bytes, int]] = {}
        """Records given to a peer, by key, under which stamp: what it still lacks of them it cannot keep."""
        self._in_vain: dict[tuple[int, Table], tuple[int, float]] = {}
        """How many comparisons of a table with a peer have brought nothing, and when the last one was."""

    # When to compare

    def noticed(self, peer: Peer, now: float, *, is_new: bool) -> None:
        """An adjoining broker has beaconed: compare, at once or a little later, if its digests differ from ours."""
        if is_new:
            for table in Table:
                self._start_afresh(peer.index, table)
        different = self._different_tables(peer)
        for table in Table:
            if table not in different:
                self._start_afresh(peer.index, table)
        if not different:
            self._due.pop(peer.index, None)
            self._patience.pop(peer.index, None)
            return
        if self._may_settle(peer) and not is_new:
            return
        if not self._worthwhile(peer, now):
            return
        config = self._station.config
        wait = 0.0 if is_new else config.sync_delay
        if self._station.index > peer.index and len(self._met.tree) + len(self._fmt.tree) > 0:
            wait += STEP_IN
        self._due[peer.index] = min(self._due.get(peer.index, inf), now + wait)

    def suspect(self, peer: int, now: float) -> None:
        """A peer passed us an event whose predecessor we lack: unless that comes soon, ask, however vain asking was."""
        known = self._station.peers.get(peer)
        if known is not None and known.is_broker:
            self._suspected.setdefault(peer, now + self._station.config.sync_delay)

    def _may_settle(self, peer: Peer) -> bool:
        """Whether only confirmations seem to differ. They are gossiped anyway: let a beacon or two pass."""
        beacon = peer.beacon
        if beacon.fmt_digest != self._fmt.tree.root or beacon.met_count != len(self._met):
            return False
        left = self._patience.get(peer.index, GOSSIP_BEACONS)
        self._patience[peer.index] = left - 1 if left else GOSSIP_BEACONS
        return left > 0

    def _different_tables(self, peer: Peer) -> list[Table]:
        roots = {Table.FMT: peer.beacon.fmt_digest, Table.MET: peer.beacon.met_digest}
        return [table for table, root in roots.items() if self._tree(table).root != root]

    def _worthwhile(self, peer: Peer, now: float) -> list[Table]:
        """The tables to compare with a peer: those that differ, unless that brought nothing time and again."""
        return [table for table in self._different_tables(peer) if not self._is_in_vain(peer.index, table, now)]

    def _is_in_vain(self, peer: int, table: Table, now: float) -> bool:
        times, last = self._in_vain.get((peer, table), (0, -inf))
        pause = self._station.config.refresh_period * 2 ** min(times - 1, MAX_DOUBLINGS)
        return times > 1 and now < last + pause

    def _comparing(self, peer: int, table: Table, now: float) -> None:
        times, last = self._in_vain.get((peer, table), (0, -inf))
        if last + self._station.config.sync_retry / 2 <= now:  # else both sides have opened the same comparison
            self._in_vain[peer, table] = (times + 1, now)

    def progressed(self, peer: int, table: Table) -> None:
        """An exchange with a peer has brought one of us something."""
        self._in_vain.pop((peer, table), None)

    def _start_afresh(self, peer: int, table: Table) -> None:
        """A peer is new, or its table equal to ours: whatever difference there is next can be mended."""
        self.not_given(peer, table)
        self.progressed(peer, table)

    def tick(self, now: float) -> None:
        for index in [index for index, due in self._suspected.items() if due <= now]:
            del self._suspected[index]
            if self._met.is_waiting(now):
                self.progressed(index, Table.MET)
                self._due.setdefault(index, now)
        for index in [index for index, due in self._due.items() if due <= now]:
            del self._due[index]
            peer = self._station.peers.get(index)
            if peer is not None and peer.is_broker and self._station.is_broker:
                for table in self._worthwhile(peer, now):
                    self._open(peer.index, table, now)

    def inherit_from(self, peer: Peer, now: float, tables: Iterable[Table]) -> None:
        """Ask a broker at once for what it has in these tables and we have not."""
        different = self._different_tables(peer)
        for table in [table for table in tables if table in different]:
            self._start_afresh(peer.index, table)
            self._open(peer.index, table, now)

    def next_deadline(self) -> float | None:
        return min((*self._due.values(), *self._suspected.values()), default=None)

    def _open(self, peer: int, table: Table, now: float) -> None:
        self._opened[peer, table] = now
        self._comparing(peer, table, now)
        tree = self._tree(table)
        if len(tree) <= SMALL_TABLE:
            entries = tuple(tree.all_entries().items())
            self._links.send(peer, Listing(self._station.index, table, (), entries, SyncFlag.WHOLE))
        else:
            self._links.send(peer, Digests(self._station.index, table, 0, 0, len(tree), tree.groups(), 0))

    # Answers

    def on_digests(self, frame: Digests, now: float) -> None:
        """Compare another broker's digests with ours, and answer one level below."""
        self._due.pop(frame.sender, None)
        if frame.level == 0 and not frame.flags & SyncFlag.REPLY:
            self._comparing(frame.sender, Table(frame.table), now)
            self._answer_groups(frame, now)
        elif frame.level == 1:
            self._answer_buckets(frame)

    def _answer_groups(self, frame: Digests, now: float) -> None:
        table = Table(frame.table)
        tree = self._tree(table)
        offer = frame.flags & SyncFlag.OFFER_ONLY
        if len(tree) <= SMALL_TABLE and not offer:
            # If both sides opened at once, our listing is on its way and says it all.
            if self._opened.get((frame.sender, table), -inf) + self._station.config.sync_retry / 2 <= now:
                self._open(frame.sender, table, now)
            return
        ours = tree.groups()
        different = [group for group in range(len(ours)) if ours[group] != frame.digests[group]]
        flags = offer | SyncFlag.REPLY
        for group in different:
            answer = Digests(self._station.index, table, 1, group, len(different), tree.buckets(group), flags)
            self._links.send(frame.sender, answer)
        if not different and offer:
            # Equal tables: say so, the other side waits for the word to drop its own.
            self._links.send(frame.sender, Digests(self._station.index, table, 0, 0, 0, ours, flags))

    def _answer_buckets(self, frame: Digests) -> None:
        tree = self._tree(Table(frame.table))
        buckets = self.different_buckets(frame)
        if buckets and not frame.flags & SyncFlag.OFFER_ONLY:
            entries = tuple(tree.entries(buckets).items())
            self._links.send(frame.sender, Listing(self._station.index, frame.table, buckets, entries, 0))

    def different_buckets(self, frame: Digests) -> tuple[int, ...]:
        """The buckets of a group in which another broker's table differs from ours."""
        ours = self._tree(Table(frame.table)).buckets(frame.group)
        first = frame.group * len(ours)
        return tuple(first + at for at in range(len(ours)) if ours[at] != frame.digests[at])

    def on_listing(self, frame: Listing, now: float) -> None:
        """Compare another broker's keys with ours: ask for what we lack, give what it lacks."""
        self._due.pop(frame.sender, None)
        tree = self._tree(Table(frame.table))
        theirs = dict(frame.entries)
        offer = bool(frame.flags & SyncFlag.OFFER_ONLY)
        if frame.flags & SyncFlag.WHOLE:
            self._comparing(frame.sender, Table(frame.table), now)
            ours = tree.all_entries()
        elif frame.buckets:
            ours = tree.entries(frame.buckets)
        else:
            ours = {key: tree.stamp(key) for key in theirs if key in tree}
        if frame.table == Table.FMT:
            wanted, given = self._compare_homes(frame, ours, theirs)
        else:
            wanted, given = self._compare_events(frame, ours, theirs)
        if wanted or offer:
            keys = tuple(wanted[:WANT_KEYS])
            stamps = tuple(tree.stamp(key) for key in keys)
            self._links.send(frame.sender, Want(self._station.index, frame.table, keys, stamps))
        if not offer:
            # By key, so that a publisher's events come in their order.
            news = [key for key in sorted(given) if self._is_news(frame.sender, Table(frame.table), key)]
            self.give(frame.sender, Table(frame.table), news, now)

    def _compare_homes(self, frame: Listing, ours: Entries, theirs: Entries) -> tuple[list[bytes], list[bytes]]:
        """What we want of the other's homes, and what we can give."""
        wanted = [key for key, stamp in theirs.items() if stamp > ours.get(key, 0)]
        given = [key for key, stamp in ours.items() if stamp > theirs.get(key, 0)]
        if frame.flags & SyncFlag.WHOLE:
            peer = self._station.peers.get(frame.sender)
            in_doubt = peer is not None and peer.is_broker and peer.beacon.fmt_digest != self._fmt.tree.root
        else:
            in_doubt = bool(frame.buckets)
        if not wanted and not given and in_doubt:
            wanted = given = [key for key in theirs if key in ours]
        return wanted, given

    def _compare_events(self, frame: Listing, ours: Entries, theirs: Entries) -> tuple[list[bytes], list[bytes]]:
        """What we want of the other's events, and what we can give."""
        lacking = [key for key in theirs if key not in ours and not self._met.is_gone(EventId(key))]
        different = [key for key, stamp in theirs.items() if key in ours and ours[key] != stamp]
        # A vector that was merged before need not be asked for again; ours the other may have lost since.
        unknown = [key for key in different if self._reconciled.get((frame.sender, key)) != theirs[key]]
        given = [key for key in ours if key not in theirs]
        if different and not frame.flags & SyncFlag.OFFER_ONLY:
            self._send_delivered(frame.sender, different)
        return [*lacking, *unknown], given

    def on_want(self, frame: Want, now: float) -> None:
        """Give another node what it asks for: records, or only the delivered vectors of events it has.

        Our own filters are not the table's to give: we state them ourselves.
        """
        for key in frame.keys:
            self._is_news(frame.sender, Table(frame.table), key)
        if frame.table == Table.FMT:
            here = key_of(self._station.index)
            self.give(frame.sender, Table.FMT, [key for key in frame.keys if key != here], now)
            return
        lacking = [key for key, stamp in zip(frame.keys, frame.stamps, strict=True) if not stamp]
        doubtful = [key for key, stamp in zip(frame.keys, frame.stamps, strict=True) if stamp]
        self.give(frame.sender, Table.MET, lacking, now)
        self._send_delivered(frame.sender, doubtful)

    def _is_news(self, peer: int, table: Table, key: bytes) -> bool:
        """Whether a record was not given to this peer before, in this state. From now on it was."""
        stamp = self._fmt.tree.stamp(key) if table is Table.FMT else 0
        given = self._given.setdefault((peer, table), {})
        if given.get(key) == stamp:
            return False
        given[key] = stamp
        if len(given) > GIVEN_LIMIT:
            del given[next(iter(given))]
        self.progressed(peer, table)
        return True

    def not_given(self, peer: int, table: Table) -> None:
        """Records for a peer came back: that we gave them does not count."""
        self._given.pop((peer, table), None)

    def give(self, peer: int, table: Table, keys: list[bytes], now: float) -> None:
        """Send records, as many to a frame as fit a datagram."""
        source = self._fmt if table is Table.FMT else self._met
        batch: list[bytes] = []
        room = self._station.config.mtu - LINK_ROOM - RECORD_ROOM
        for key in keys:
            record = source.encoded(key, now)
            if record is None:
                continue
            if batch and sum(map(len, batch)) + len(record) > room:
                self._links.send(peer, Records(self._station.index, table, tuple(batch), 0))
                batch = []
            batch.append(record)
        if batch:
            self._links.send(peer, Records(self._station.index, table, tuple(batch), 0))

    def compared(self, peer: int, event_id: EventId, delivered: bytes) -> None:
        """A peer has told us its delivered vector of an event: it is merged, and need not be asked for again."""
        self._reconciled[peer, event_id] = hash63(delivered)
        if len(self._reconciled) > RECONCILED_LIMIT:
            del self._reconciled[next(iter(self._reconciled))]

    def _send_delivered(self, peer: int, keys: list[bytes]) -> None:
        memories = [memory for key in keys if (memory := self._met.get(EventId(key))) is not None]
        for at in range(0, len(memories), LISTING_ENTRIES):
            entries = tuple((m.event_id, m.delivered.to_wire()) for m in memories[at : at + LISTING_ENTRIES])
            self._links.send(peer, Delivered(self._station.index, entries))

    def _tree(self, table: Table) -> DigestTree:
        return self._fmt.tree if table is Table.FMT else self._met.tree
