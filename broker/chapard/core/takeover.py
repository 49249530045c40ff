"""A broker that has just been appointed serves at once, but it may not know yet who wants what.

It asks one adjoining broker for the tables, or compares with it those that it kept. Until its FMT is that one's, real-
time events that enter the network here wait, as nobody would look them up a second time. They wait for moments: once
that broker has answered, for what of the answer may still be under way, and in any case not for long.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chapard.core.fmt import FMT
    from chapard.core.peers import Peer
    from chapard.core.station import Station


class Takeover:
    """Whether the FMT of one node is to be trusted, as far as an appointment matters."""

    def __init__(self, station: Station, fmt: FMT) -> None:
        self._station = station
        self._fmt = fmt
        self._asked: int | None = None
        self._until = inf

    def begin(self, peer: Peer, now: float) -> None:
        """Appointed beside this broker, which is asked for its FMT if that is another."""
        if peer.beacon.fmt_digest == self._fmt.tree.root:
            return
        if self._asked is None:  # what has waited since an earlier one does not wait for this one as well
            self._until = now + self._station.config.sync_retry
        self._asked = peer.index

    def answered(self, peer: int, now: float) -> None:
        """A broker has sent some of its FMT, or asked for some of ours: the rest of its answer follows at once."""
        if peer == self._asked:
            self._until = min(self._until, now + self._station.config.sync_delay)

    def is_under_way(self, now: float) -> bool:
        if self._asked is None:
            return False
        peer = self._station.peers.get(self._asked)
        if peer is None or self._until <= now or peer.beacon.fmt_digest == self._fmt.tree.root:
            self._asked, self._until = None, inf
        return self._asked is not None

    def next_deadline(self) -> float:
        return self._until
