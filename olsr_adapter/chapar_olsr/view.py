"""The route view: what a routing daemon knows, as one small immutable value.

Everything that can supply routes (olsrd, babeld, the kernel, a file, a simulation) ends in a `RouteView`, and the
broker sees nothing else of routing. Nodes are named by their index; what an index's address is stays with the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from chapar_olsr.mpr import select_mprs

if TYPE_CHECKING:
    from collections.abc import Mapping


class Route(NamedTuple):
    """How to reach one destination: the neighbour to hand to, and how many hops it is."""

    next_hop: int
    hops: int


@dataclass(frozen=True, slots=True)
class RouteView:
    """One node's routing knowledge at one moment.

    `mprs` and `selectors` are None where the source knows no multipoint relays (babeld, the kernel); the broker then
    selects relays itself with `select_relays`, from the two-hop neighbourhood that beacons reveal.
    """

    index: int
    neighbours: frozenset[int] = frozenset()
    routes: Mapping[int, Route] = field(default_factory=lambda: MappingProxyType({}))
    mprs: frozenset[int] | None = frozenset()
    selectors: frozenset[int] | None = frozenset()
    address: str = ""

    def select_relays(self, two_hop: Mapping[int, frozenset[int]]) -> frozenset[int]:
        """Multipoint relays by RFC 3626 8.3.1, given the symmetric neighbours of each of our neighbours."""
        return select_mprs(self.index, {n: two_hop.get(n, frozenset()) for n in self.neighbours})
