"""What an event costs where routing is known: Chapar's multicast by residual node vectors.

A. R. Khakpour and I. Demeure (2008D009), equations 3.10 to 3.14: a node groups the destinations by next hop and sends
each group once, so that an event costs one transmission for each link of the union of the next-hop paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    NextHops = Mapping[int, Mapping[int, int]]


class EventCost(NamedTuple):
    """The links that an event crosses, each as (sender, receiver), and the destinations that it does not reach."""

    links: frozenset[tuple[int, int]]
    unreached: frozenset[int]

    @property
    def transmissions(self) -> int:
        return len(self.links)


def event_cost(origin: int, destinations: Iterable[int], next_hops: NextHops) -> EventCost:
    """Follow next_hops[node][destination] from the origin.

    Where there is no next hop, or the path comes back to a node, the destination is not reached; the links up to there
    are crossed all the same. Retries are not counted.
    """
    links: set[tuple[int, int]] = set()
    unreached = set()
    for destination in destinations:
        here, seen = origin, {origin}
        while here != destination:
            hop = next_hops.get(here, {}).get(destination)
            if hop is not None:
                links.add((here, hop))
            if hop is None or hop in seen:
                unreached.add(destination)
                break
            seen.add(hop)
            here = hop
    return EventCost(frozenset(links), frozenset(unreached))
