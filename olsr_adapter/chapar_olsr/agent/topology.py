"""What the rest of the network says of itself: TC (RFC 3626, section 9), MID (section 5) and HNA (section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent import sequence
from chapar_olsr.agent.expiring import Expiring
from chapar_olsr.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_ORIGINATORS: Final = 4096
"""Nodes whose TCs are kept: the largest network."""
MAX_EDGES: Final = 131_072
"""Advertised neighbours of all of them."""
MAX_ALIASES: Final = 8192
MAX_NETWORKS: Final = 4096

Network = tuple[int, int, int]
"""Gateway, network and mask, as an HNA states them."""


class Advertised(NamedTuple):
    """What one node advertises: the sequence number of the set, and each neighbour with the cost of the link."""

    ansn: int
    neighbours: Mapping[int, float]


class Topology:
    """Tables fed by messages that were flooded. Each `…_received` returns what was wrong, None if nothing was."""

    def __init__(self, max_edges: int = MAX_EDGES) -> None:
        self.is_changed = False
        """Whether any table says something new; for the reader to reset."""
        self._advertised: Expiring[int, Advertised] = Expiring(MAX_ORIGINATORS)
        self._aliases: Expiring[int, int] = Expiring(MAX_ALIASES)
        self._networks: Expiring[Network, None] = Expiring(MAX_NETWORKS)
        self._edges = 0
        self._max_edges = max_edges

    def tc_received(self, originator: int, ansn: int, neighbours: Mapping[int, float], until: float) -> Fault | None:
        """Take a TC (9.5): an older set is refused, a newer one replaces what there was, parts of one set add up."""
        known = self._advertised.get(originator)
        if known is not None and sequence.is_newer(known.ansn, ansn):
            return Fault.BAD_SEQUENCE
        is_part = known is not None and known.ansn == ansn
        merged = {**known.neighbours, **neighbours} if known is not None and is_part else dict(neighbours)
        edges = self._edges - (len(known.neighbours) if known is not None else 0) + len(merged)
        if edges > self._max_edges:
            return Fault.FULL
        is_news = self._advertised.put(originator, Advertised(ansn, merged), until)
        if is_news is None:
            return Fault.FULL
        self._edges = edges
        self.is_changed |= known is None or known.neighbours != merged
        return None

    def mid_received(self, originator: int, aliases: Iterable[int], until: float) -> Fault | None:
        """Take a MID (5.4)."""
        for alias in aliases:
            is_news = self._aliases.put(alias, originator, until)
            if is_news is None:
                return Fault.FULL
            self.is_changed |= is_news
        return None

    def hna_received(self, gateway: int, networks: Iterable[tuple[int, int]], until: float) -> Fault | None:
        """Take an HNA (12.4); it is only shown, never routed to."""
        for network, mask in networks:
            if self._networks.put((gateway, network, mask), None, until) is None:
                return Fault.FULL
        return None

    def advertised(self) -> Iterator[tuple[int, Mapping[int, float]]]:
        """Who advertises whom."""
        return ((originator, each.neighbours) for originator, each in self._advertised.items())

    def main_of(self, address: int) -> int:
        """The main address of the node with this address."""
        return self._aliases.get(address) or address

    def aliases(self) -> dict[int, int]:
        """Main address of each further address."""
        return dict(self._aliases.items())

    def networks(self) -> list[tuple[Network, float]]:
        """What is behind whom, and until when that is believed."""
        return sorted((each, self._networks.until(each) or 0.0) for each in self._networks)

    def expire(self, now: float) -> None:
        over = self._advertised.expire(now)
        if over:
            self._edges = sum(len(each.neighbours) for _, each in self._advertised.items())
        aliases_over = self._aliases.expire(now)
        self._networks.expire(now)
        self.is_changed |= bool(over or aliases_over)

    @property
    def deadline(self) -> float:
        return min(self._advertised.deadline, self._aliases.deadline, self._networks.deadline)
