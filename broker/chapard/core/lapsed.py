"""Routes that routing took back a moment ago: where else there is none, they are tried for a while longer.

Where every tenth frame is lost, a routing daemon now and then misses so many messages of a neighbour that it gives up a
link that works, and with it destinations that nobody else leads to at once; some seconds later it knows them again. A
real-time event would be lost to that. The rules:

- What counts first is what routing says now. A lapsed route is used where there is no route, or where the only one
  leads back to where an event came from, as when others have not heard of the change yet.
- It lapses for good after `LAPSE` seconds, when routing has a route through the same neighbour again, or when that
  neighbour does not answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chapard.core.topology import Route

LAPSE: Final = 8.0
"""Seconds: a link that was given up counts again after some HELLOs (2 s each, RFC 3626), and the others hear of it with
the next TC (5 s, but most of them know a way before that)."""


class _Lapse(NamedTuple):
    next_hop: int
    until: float


class LapsedRoutes:
    """The lapsed routes of one node."""

    def __init__(self) -> None:
        self.changes = 0
        """Counts up whenever an answer may be another than before."""
        self._lapses: dict[int, _Lapse] = {}

    def __iter__(self) -> Iterator[int]:
        """The destinations."""
        return iter(self._lapses)

    def next_hop(self, destination: int) -> int | None:
        """Whom to try; None if nothing has lapsed."""
        lapse = self._lapses.get(destination)
        return None if lapse is None else lapse.next_hop

    def taken_back(
        self, before: Mapping[int, Route], after: Mapping[int, Route], is_peer: Callable[[int], bool], now: float
    ) -> None:
        """Routing has other routes now. Of what it took back, ways over a neighbour with chapard are remembered."""
        self.changes += 1
        for destination, lapse in list(self._lapses.items()):
            if destination in after and after[destination].next_hop == lapse.next_hop:
                del self._lapses[destination]
        for destination, route in before.items():
            stands = destination in after and after[destination].next_hop == route.next_hop
            if not stands and is_peer(route.next_hop):
                self._lapses[destination] = _Lapse(route.next_hop, now + LAPSE)

    def dead(self, next_hop: int) -> None:
        """This neighbour does not answer."""
        lost = [destination for destination, lapse in self._lapses.items() if lapse.next_hop == next_hop]
        for destination in lost:
            del self._lapses[destination]
        self.changes += bool(lost)

    def expire(self, now: float) -> None:
        over = [destination for destination, lapse in self._lapses.items() if lapse.until <= now]
        for destination in over:
            del self._lapses[destination]
        self.changes += bool(over)

    def next_deadline(self) -> float | None:
        return min((lapse.until for lapse in self._lapses.values()), default=None)
