"""What nodes should know once a network has formed: routes and roles that follow from who hears whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from chapar_sim.fewest import distances
from chapar_sim.routing import symmetric
from chapar_sim.spells import brokers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chapar_sim.links import Pairs


class Expected(NamedTuple):
    """Of one node."""

    hops: Mapping[int, int]
    """To every other node that it can reach."""
    is_broker: bool


def expected(
    nodes: Sequence[int], links: Pairs, broker_min: int, *, all_brokers: bool = False
) -> dict[int, Expected]:
    """What each node should know, given the links of the moment; only those that work both ways count.

    With `all_brokers`, each is one: they are on a tree of brokers.
    """
    neighbours = symmetric(nodes, links)
    found: dict[int, Expected] = {}
    brokers: frozenset[int] = frozenset()
    for node in nodes:
        hops = distances(neighbours, node)
        if min(hops) == node:  # the first of its connected network
            brokers |= brokers_of({each: neighbours[each] for each in sorted(hops)}, broker_min)
        others = {each: far for each, far in hops.items() if each != node}
        found[node] = Expected(others, all_brokers or node in brokers)
    return found


def missing(
    node: int,
    should: Expected,
    status: Mapping[str, Any] | None,
    routes: Mapping[str, Any] | None,
    *,
    knows_hops: bool = True,
) -> str:
    """What a node lacks, from its own pages, in words; nothing if it knows all that it should.

    With `knows_hops`, that its routes have the right length too.
    """
    if status is None or routes is None:
        return f"node {node} does not answer"
    hops = {each["destination"]: each["hops"] for each in routes["routes"]}
    for destination, far in should.hops.items():
        if destination not in hops:
            return f"node {node} has no route to {destination}"
        if knows_hops and hops[destination] != far:
            return f"node {node} has a route of {hops[destination]} hops to {destination}, {far} away"
    if extra := hops.keys() - should.hops.keys():
        return f"node {node} has a route to {min(extra)}, out of reach"
    role = status["role"]
    if (role["role"] == "broker") is not should.is_broker:
        return f"node {node} is {'no ' if should.is_broker else 'a '}broker"
    if role["broker"] is None:
        return f"node {node} has not found a broker"
    for link in status.get("routing", {}).get("links", ()):
        if link["state"] != "up" and link["neighbour"] in should.hops:
            return f"node {node} has no link of the tree to {link['neighbour']} yet"
    return ""
