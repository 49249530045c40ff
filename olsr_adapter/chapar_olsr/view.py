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
    """One node's routing knowledge at one moment. Two views that say the same are equal, whatever their version.

    `mprs` and `selectors` are None where the source knows no multipoint relays (babeld, the kernel); the broker then
    selects relays itself with `select_relays`, from the two-hop neighbourhood that beacons reveal.
    """

    index: int
    neighbours: frozenset[int] = frozenset()
    """Nodes one hop away over a symmetric link."""
    routes: Mapping[int, Route] = field(default_factory=lambda: MappingProxyType({}))
    """By destination, neighbours included."""
    mprs: frozenset[int] | None = frozenset()
    """The neighbours this node chose as its relays."""
    selectors: frozenset[int] | None = frozenset()
    """The neighbours that chose this node."""
    address: str = ""
    """The node's main address; empty where a source names nodes by index alone."""
    two_hop: Mapping[int, frozenset[int]] | None = None
    """The symmetric neighbours of each neighbour, where the source knows them."""
    links: Mapping[int, frozenset[int]] | None = None
    """The links that the routes were computed from, by their near end, where the source knows them and counts hops: of
    every shortest path over them the first hop is as good a next hop as that of the route."""
    quality: Mapping[int, float] | None = field(default=None, compare=False)
    """Of each neighbour's link, from 0 to 1, where the source measures it. It drifts all the time, so that a view
    that differs in nothing else is the same view."""
    version: int = field(default=0, compare=False)
    """How many views its source had supplied, this one included."""

    def select_relays(self, two_hop: Mapping[int, frozenset[int]]) -> frozenset[int]:
        """Multipoint relays by RFC 3626 8.3.1, given the symmetric neighbours of each of our neighbours."""
        return select_mprs(self.index, {n: two_hop.get(n, frozenset()) for n in self.neighbours})
