"""Route calculation (RFC 3626, section 10) over the neighbourhood and the topology that an agent knows.

Plain OLSR counts hops. With link quality the sum of the links' expected transmissions (ETX) counts, as in olsrd; all
nodes of a network must do the same, or packets may go round in circles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.mpr import DEFAULT, NEVER
from chapar_olsr.paths import cheapest_paths, shortest_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_olsr.agent.linkset import Link
    from chapar_olsr.agent.neighbourhood import Neighbourhood
    from chapar_olsr.agent.topology import Topology
    from chapar_olsr.view import Route

WORST_QUALITY: Final = 0.01
"""Links below this, in either direction, count as this: an expectation must stay finite."""


class AgentRoute(NamedTuple):
    """One route. `gateway` is the address of the next hop's interface, `interface` our own address on that link."""

    destination: int
    gateway: int
    interface: int
    hops: int


def etx(quality: float, neighbour_quality: float) -> float:
    """Expected transmissions of a packet and its confirmation over a link."""
    return 1.0 / (max(quality, WORST_QUALITY) * max(neighbour_quality, WORST_QUALITY))


def calculate(
    main: int, links: Mapping[int, Link], hood: Neighbourhood, topology: Topology, *, by_quality: bool
) -> dict[int, AgentRoute]:
    """Routes to every address that can be reached. `links` is the link to use for each symmetric neighbour."""
    costs = known_links(main, links, hood, topology)
    if by_quality:
        found = cheapest_paths(main, costs)
    else:
        found = shortest_paths(main, {node: beyond.keys() for node, beyond in costs.items()})
    routes = {node: _route(node, route, links) for node, route in found.items()}
    for link in links.values():  # the neighbour's interface itself, where that is not its main address
        routes.setdefault(link.remote, AgentRoute(link.remote, link.remote, link.local, 1))
    for alias, node in topology.aliases().items():
        if node in routes and alias not in routes and alias != main:
            routes[alias] = routes[node]._replace(destination=alias)
    return routes


def _route(destination: int, route: Route, links: Mapping[int, Link]) -> AgentRoute:
    link = links[route.next_hop]
    return AgentRoute(destination, link.remote, link.local, route.hops)


def known_links(
    main: int, links: Mapping[int, Link], hood: Neighbourhood, topology: Topology
) -> dict[int, dict[int, float]]:
    """Links and their costs, by their near end. Nobody is reached over a neighbour that never relays (step 3)."""
    costs = {main: {node: etx(link.quality, link.neighbour_quality) for node, link in links.items()}}
    for neighbour, beyond in hood.two_hop().items():
        if hood.willingness.get(neighbour, DEFAULT) != NEVER:
            costs[neighbour] = dict(beyond)
    for originator, beyond in topology.advertised():
        if originator != main and hood.willingness.get(originator, DEFAULT) != NEVER:
            costs[originator] = {**costs.get(originator, {}), **beyond}
    return costs
