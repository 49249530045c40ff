"""What every source of routes has in common: whom it works for, how it fails, and how a view is put together.

A source says things about addresses; a view speaks of indexes. `assemble` is the one way from the first to the second,
and the one place that decides what is believed: an entry that makes no sense is counted and left out, the rest stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.paths import links_reached
from chapar_olsr.view import Route, RouteView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

MAX_HOPS: Final = 255
"""Hops of the longest route: IP's own limit."""


class SourceError(Exception):
    """The source gives no view now; the message is one line that says why, and where it helps, what to do."""

    def __init__(self, message: str, fault: Fault = Fault.UNREACHABLE) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Identity:
    """The node that a source works for, and the network it is in."""

    index: int
    address: str
    """The node's main address."""
    index_of: Callable[[str], int | None]
    """The node that an address belongs to; None: no node's."""


class Source(Protocol):
    """Something that supplies views."""

    @property
    def name(self) -> str: ...
    @property
    def faults(self) -> Faults: ...
    def views(self) -> AsyncIterator[RouteView]:
        """Every view, and the same one again as long as the source stands by it: silence means that it does not.

        Raises SourceError when the source has failed, also before the first view; to be asked again then. Views need
        not differ, and their version need not be set.
        """


class Hop(NamedTuple):
    """A route as a source states it, by address."""

    destination: str
    gateway: str
    """The neighbour it leads over; equal to the destination, or empty, for a neighbour itself."""
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a source read, by address, before anything of it is believed."""

    neighbours: Iterable[str]
    """Symmetric ones."""
    routes: Iterable[Hop]
    mprs: Iterable[str] | None = None
    selectors: Iterable[str] | None = None
    two_hop: Mapping[str, Iterable[str]] | None = None
    links: Mapping[str, Iterable[str]] | None = None
    """What the routes were computed from, if hops were counted."""
    quality: Mapping[str, float] | None = None
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Main address of each further address (MID, RFC 3626 5.2)."""


def assemble(identity: Identity, findings: Findings, faults: Faults) -> RouteView:
    """The view that the findings give. What makes no sense in them is counted in `faults` and left out."""
    names = _Names(identity, findings.aliases, faults)
    neighbours = names.nodes(findings.neighbours)
    mprs, selectors = findings.mprs, findings.selectors
    two_hop, links, quality = findings.two_hop, findings.links, findings.quality
    routes = _routes(names, neighbours, findings.routes, faults)
    return RouteView(
        index=identity.index,
        neighbours=neighbours,
        routes=MappingProxyType(routes),
        mprs=None if mprs is None else names.nodes(mprs) & neighbours,
        selectors=None if selectors is None else names.nodes(selectors) & neighbours,
        address=identity.address,
        two_hop=None if two_hop is None else _two_hop(names, neighbours, two_hop),
        links=None if links is None else MappingProxyType(links_reached(identity.index, names.links(links), routes)),
        quality=None if quality is None else _quality(names, neighbours, quality),
    )


class _Names:
    """From addresses to nodes."""

    def __init__(self, identity: Identity, aliases: Mapping[str, str], faults: Faults) -> None:
        self._identity = identity
        self._aliases = aliases
        self._faults = faults

    def node(self, address: str) -> int | None:
        """The node with this address, or None, which is counted."""
        index = self._known(address)
        if index is None:
            self._faults.add(Fault.OUTSIDE_PREFIX, address)
        return index

    def nodes(self, addresses: Iterable[str]) -> frozenset[int]:
        """The nodes with these addresses, but for ourselves."""
        found = {self.node(each) for each in addresses}
        return frozenset(each for each in found if each is not None and each != self._identity.index)

    def links(self, stated: Mapping[str, Iterable[str]]) -> dict[int, frozenset[int]]:
        """Links by their near end. Whoever is outside the network is counted as a destination already."""
        found: dict[int, set[int]] = {}
        for near, beyond in stated.items():
            node = self._known(near)
            if node is not None:
                found.setdefault(node, set()).update(each for each in map(self._known, beyond) if each is not None)
        return {node: frozenset(found[node]) for node in sorted(found)}

    def _known(self, address: str) -> int | None:
        return self._identity.index_of(self._aliases.get(address, address))

    def is_alias(self, address: str) -> bool:
        return address in self._aliases

    @property
    def own_index(self) -> int:
        return self._identity.index


def _routes(names: _Names, neighbours: frozenset[int], stated: Iterable[Hop], faults: Faults) -> dict[int, Route]:
    """Routes by destination in ascending order; a neighbour is one hop away, whatever else is stated."""
    routes = {neighbour: Route(neighbour, 1) for neighbour in neighbours}
    seen: set[int] = set()
    for each in stated:
        destination = names.node(each.destination)
        if destination is None:
            continue
        if destination == names.own_index:
            faults.add(Fault.LOOP, f"a route to ourselves over {each.gateway or each.destination}")
            continue
        if destination in seen:
            if not names.is_alias(each.destination):  # a node has one route to each of its addresses
                faults.add(Fault.DUPLICATE, each.destination)
            continue
        if destination in neighbours:
            seen.add(destination)
            continue
        next_hop = names.node(each.gateway) if each.gateway else destination
        if not 1 <= each.hops <= MAX_HOPS:
            faults.add(Fault.BAD_VALUE, f"{each.destination} at {each.hops} hops")
        elif next_hop is None or next_hop not in neighbours:
            faults.add(Fault.LOOP, f"{each.destination} over {each.gateway}, which is no neighbour")
        else:
            seen.add(destination)
            routes[destination] = Route(next_hop, max(each.hops, 2))
    return {destination: routes[destination] for destination in sorted(routes)}


def _two_hop(
    names: _Names, neighbours: frozenset[int], stated: Mapping[str, Iterable[str]]
) -> Mapping[int, frozenset[int]]:
    found = {names.node(near): names.nodes(beyond) for near, beyond in stated.items()}
    return MappingProxyType({near: found.get(near, frozenset()) for near in sorted(neighbours)})


def _quality(names: _Names, neighbours: frozenset[int], stated: Mapping[str, float]) -> Mapping[int, float]:
    """The best link of each neighbour counts."""
    best: dict[int, float] = {}
    for address, quality in stated.items():
        node = names.node(address)
        if node is not None and node in neighbours:
            best[node] = max(best.get(node, 0.0), min(max(quality, 0.0), 1.0))
    return MappingProxyType(dict(sorted(best.items())))
