"""Route calculation."""

from __future__ import annotations

from chapar_olsr.agent.linkset import Link
from chapar_olsr.agent.neighbourhood import Neighbourhood
from chapar_olsr.agent.routing import AgentRoute, calculate, etx
from chapar_olsr.agent.topology import Topology

US = 1


def tables(reach: dict[int, dict[int, float]]) -> tuple[Neighbourhood, Topology]:
    hood = Neighbourhood(US)
    hood.settle(frozenset(reach), 0.0)
    for neighbour, beyond in reach.items():
        hood.reached(neighbour, beyond, 6.0)
    hood.settle(frozenset(reach), 0.0)
    return hood, Topology()


def link(neighbour: int, quality: float = 1.0) -> Link:
    return Link(US, neighbour, neighbour, quality=quality, neighbour_quality=quality)


def test_routes_lead_over_neighbours_and_theirs_to_what_is_advertised() -> None:
    """RFC 3626, 10: one hop, two hops, and then along the TCs."""
    hood, topology = tables({2: {3: 1.0}})
    topology.tc_received(3, 1, {4: 1.0, 2: 1.0}, 15.0)
    topology.tc_received(4, 1, {5: 1.0, 3: 1.0}, 15.0)
    routes = calculate(US, {2: link(2)}, hood, topology, by_quality=False)
    assert routes == {node: AgentRoute(node, 2, US, hops) for node, hops in ((2, 1), (3, 2), (4, 3), (5, 4))}


def test_nobody_is_reached_over_a_neighbour_that_never_relays() -> None:
    """10, step 3; whatever it names in HELLOs and TCs."""
    hood, topology = tables({2: {3: 1.0}})
    hood.declared(2, 0)
    topology.tc_received(2, 1, {4: 1.0}, 15.0)
    assert calculate(US, {2: link(2)}, hood, topology, by_quality=False).keys() == {2}


def test_each_address_of_a_node_has_a_route() -> None:
    """10, step 4: aliases of nodes that are reached, and none of our own."""
    hood, topology = tables({2: {3: 1.0}})
    topology.mid_received(3, [30], 15.0)
    topology.mid_received(9, [90], 15.0)
    routes = calculate(US, {2: Link(US, 22, 2)}, hood, topology, by_quality=False)
    assert routes[30] == AgentRoute(30, 22, US, 2)
    assert routes[2].gateway == 22
    assert routes[22] == AgentRoute(22, 22, US, 1)
    assert 90 not in routes


def test_with_quality_the_better_way_wins_over_the_shorter() -> None:
    """As olsrd decides it: the sum of expected transmissions."""
    hood, topology = tables({2: {4: 1.0}, 3: {4: 1.0, 2: 1.0}})
    links = {2: link(2, 0.4), 3: link(3, 1.0)}
    by_hops = calculate(US, links, hood, topology, by_quality=False)
    assert (by_hops[4].gateway, by_hops[2].gateway) == (2, 2)
    by_quality = calculate(US, links, hood, topology, by_quality=True)
    assert (by_quality[4].gateway, by_quality[2].gateway) == (3, 3)
    assert by_quality[2].hops == 2


def test_a_link_that_nothing_crosses_has_a_finite_cost() -> None:
    """A quality of 0 may only be one that nobody has measured yet."""
    assert etx(1.0, 1.0) == 1.0
    assert etx(0.5, 0.5) == 4.0
    assert etx(0.0, 0.0) <= 10_001
