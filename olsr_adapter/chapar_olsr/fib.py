"""What the kernel's routing table says of the network, whichever daemon filled it.

Only routes to one host that is a node count: a daemon that routes for a MANET writes one for every node it can reach.
From those follow

- the next hop: the node that has the gateway's address. A gateway with a link-local address is known by the one route
  with metric 1 that leads over it, to itself; without such a route, and babeld writes none, IPv6 gateways have no name,
  and what leads over them is left out. IPv4 has no such limit.
- neighbours: whoever is reached directly (on the link, or over itself as gateway), and gateways in use.
- hops: 1 for a neighbour; for others the metric if it is 2 to 64, where olsrd (`FIBMetric "correct"`) and chapar-olsrd
  write them; else 2, which then means "at least two".

That an address answers to ARP or NDP proves less than a daemon's route does: with a prefix on the link there is an
entry for whoever was talked to, and none for a neighbour that was not. That it does not answer proves that a neighbour
is gone, often before the daemon knows. So an entry that fails takes a neighbour away, until it resolves or the daemon
writes a route to it anew, but for `FAILED_HOLD` seconds at most: the kernel keeps such entries for ever, nobody who
believes them tries again, and within that time a daemon has withdrawn its route if the neighbour is really gone.
The kernel takes a while to give up: if the daemon wrote a route to a neighbour meanwhile, that is the later word.

The kernel's table does not tell whether the daemon that filled it still lives: one that was killed leaves its routes.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.faults import Fault
from chapar_olsr.source import Findings, Hop, assemble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar_olsr.faults import Faults
    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

MAIN_TABLE: Final = 254
MOST_HOPS: Final = 64
"""A metric above this is no hop count: babeld, IPv6's default of 1024, and routes of people have such."""
FAILED_HOLD: Final = 20.0
"""Seconds: OLSR forgets a silent neighbour after 6 s (RFC 3626, 18.3), babeld after about 16 s."""
ASKING: Final = 2.0
"""Seconds from the second of the kernel's three questions to its giving up (ucast_solicit and mcast_solicit of 3, one
second apart): an older route was known by then, and a neighbour that was there could have answered."""
MAX_ROUTES: Final = 20_000


class KernelRoute(NamedTuple):
    """A route of the kernel, as far as it is of interest."""

    destination: str
    prefix_length: int
    gateway: str
    """Empty: on the link."""
    interface: int
    metric: int
    table: int = MAIN_TABLE
    is_unicast: bool = True
    """Whether packets get through; babeld writes "unreachable" for a while where it lost a route."""

    @property
    def is_direct(self) -> bool:
        return self.gateway in {"", self.destination}


class Fib:
    """The kernel's routes to nodes, as they change. Each change says whether a view may differ from the last."""

    def __init__(self, identity: Identity, faults: Faults, tables: Iterable[int] = (MAIN_TABLE,)) -> None:
        self._identity = identity
        self._faults = faults
        self._tables = {table: rank for rank, table in enumerate(tables)}
        self._routes: dict[tuple[int, str, int], KernelRoute] = {}
        self._failed: dict[str, float] = {}
        """Until when a neighbour's address counts as not answering."""
        self._fresh: dict[str, float] = {}
        """Until when a failure of an address is older than the daemon's last word on it."""

    def replace(self, routes: Iterable[KernelRoute]) -> bool:
        """The whole table, read anew. How long its routes have stood is not known."""
        before, self._routes = self._routes, {}
        for route in routes:
            self._put(route)
        for key, route in self._routes.items():
            if before.get(key) != route:
                self._has_news(route)
        return self._routes != before

    def add(self, route: KernelRoute, now: float) -> bool:
        """A route that is new, or takes the place of the one with its destination and metric."""
        changed = self._put(route)
        if changed:
            self._has_news(route)
            self._fresh |= dict.fromkeys((route.destination, route.gateway), now + ASKING)
        return changed

    def remove(self, route: KernelRoute) -> bool:
        """A route is gone; whether it was one of ours. One that was replaced before is not."""
        key = _key(route)
        old = self._routes.get(key)
        if old is None or (old.gateway, old.interface) != (route.gateway, route.interface):
            return False
        del self._routes[key]
        return True

    def failed(self, address: str, now: float) -> bool:
        """A neighbour does not answer to ARP or NDP."""
        if address not in {each.destination if each.is_direct else each.gateway for each in self._used()}:
            return False
        if self._fresh.get(address, now) > now:
            return False
        is_new = address not in self._failed
        self._failed[address] = now + FAILED_HOLD
        return is_new

    def resolved(self, address: str) -> bool:
        """A neighbour answers, or nobody asks any more."""
        return self._failed.pop(address, None) is not None

    def next_deadline(self) -> float | None:
        """When `tick` is due."""
        return min(self._failed.values(), default=None)

    def tick(self, now: float) -> bool:
        """Give those another chance that did not answer long ago."""
        self._fresh = {address: until for address, until in self._fresh.items() if until > now}
        over = [address for address, until in self._failed.items() if until <= now]
        for address in over:
            del self._failed[address]
        return bool(over)

    def view(self) -> RouteView:
        """What all of it means for our node."""
        used = self._used()
        named = {(each.gateway, each.interface): each.destination for each in used if each.gateway and each.metric == 1}
        near: set[str] = set()
        hops: list[Hop] = []
        for each in used:
            gateway = each.destination if each.is_direct else self._named(each, named)
            if gateway is None or self._failed.keys() & {gateway, each.gateway}:
                continue
            near.add(gateway)
            if gateway != each.destination:
                count = each.metric if 2 <= each.metric <= MOST_HOPS else 2
                hops.append(Hop(each.destination, gateway, count))
        return assemble(self._identity, Findings(neighbours=sorted(near), routes=hops), self._faults)

    def _named(self, route: KernelRoute, named: dict[tuple[str, int], str]) -> str | None:
        """The node's address that the gateway of a route has; None if that is not known."""
        if self._identity.index_of(route.gateway) is not None:
            return route.gateway
        return named.get((route.gateway, route.interface))

    def _used(self) -> list[KernelRoute]:
        """The route to each node: the kernel takes the lowest metric; of two families ours speaks for the node."""
        own_family = ip_address(self._identity.address).version
        best: dict[int, tuple[bool, int, int, KernelRoute]] = {}
        for each in self._routes.values():
            node = self._identity.index_of(each.destination)
            assert node is not None, "only nodes are entered"
            other_family = ip_address(each.destination).version != own_family
            rank = (other_family, self._tables[each.table], each.metric, each)
            best[node] = min(rank, best.get(node, rank))
        return [best[node][3] for node in sorted(best)]

    def _put(self, route: KernelRoute) -> bool:
        if route.table not in self._tables or route.prefix_length != (128 if ":" in route.destination else 32):
            return False
        if self._identity.index_of(route.destination) in {None, self._identity.index}:
            return False
        key = _key(route)
        old = self._routes.get(key)
        if not route.is_unicast:
            return self._routes.pop(key, None) is not None
        if old is None and len(self._routes) >= MAX_ROUTES:
            self._faults.add(Fault.FULL, f"more than {MAX_ROUTES} routes in the kernel")
            return False
        self._routes[key] = route
        return route != old

    def _has_news(self, route: KernelRoute) -> None:
        """A daemon wrote a route: it knows better than an older failure."""
        self._failed.pop(route.destination, None)
        self._failed.pop(route.gateway, None)


def _key(route: KernelRoute) -> tuple[int, str, int]:
    return route.table, route.destination, route.metric
