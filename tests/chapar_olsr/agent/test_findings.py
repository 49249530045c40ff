"""What an agent knows, as findings of a source."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, cast

import pytest

from chapar_olsr.agent.agent import LinkState, Neighbour
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.findings import findings
from chapar_olsr.agent.routing import AgentRoute
from chapar_olsr.faults import Faults
from chapar_olsr.source import Identity, assemble
from chapar_olsr.view import Route
from olsr_network import Network

if TYPE_CHECKING:
    from chapar_olsr.agent.agent import Agent


def index_of(address: str) -> int | None:
    host = ip_address(address)
    return int(host) & 0xFF if address.startswith("10.66.0.") else None


def test_an_agents_tables_are_a_view() -> None:
    """Neighbours, routes with their hops, relays, selectors and two-hop neighbours of a chain of four."""
    hosts = {index: int(ip_address(f"10.66.0.{index}")) for index in (1, 2, 3, 4)}
    network = Network(hosts.values(), [(hosts[1], hosts[2]), (hosts[2], hosts[3]), (hosts[3], hosts[4])])
    network.run(30)
    agent = network.agents[hosts[2]]
    faults = Faults()
    found = findings(agent, Codec(4).text)
    view = assemble(Identity(2, "10.66.0.2", index_of), found, faults)
    assert view.neighbours == {1, 3}
    assert view.routes == {1: Route(1, 1), 3: Route(3, 1), 4: Route(3, 2)}
    assert view.mprs == frozenset({3})
    assert view.selectors == frozenset({1, 3})
    assert view.two_hop == {1: frozenset(), 3: frozenset({4})}
    assert view.links is not None
    assert {near: set(beyond) for near, beyond in view.links.items()} == {1: {2}, 2: {1, 3}, 3: {2, 4}, 4: {3}}
    assert view.quality is not None
    assert min(view.quality.values()) > 0.9
    assert not faults.counts


def test_routes_that_lag_behind_neighbours_are_no_fault() -> None:
    """While a ring forms, breaks and heals, every view is one that its neighbours allow, and none is complained of."""
    hosts = [int(ip_address(f"10.66.0.{index}")) for index in (1, 2, 3, 4, 5, 6)]
    ring = list(zip(hosts, [*hosts[1:], hosts[0]], strict=True))
    network = Network(hosts, ring)
    faults = Faults()
    for step in range(1, 1600):
        if step == 800:
            network.cut(*ring[0])
        if step == 1200:
            network.heal(*ring[0])
        network.run(step * 0.05)
        for host, agent in network.agents.items():
            found = findings(agent, Codec(4).text)
            near = {each.address & 0xFF for each in agent.neighbours() if each.is_symmetric}
            identity = Identity(host & 0xFF, str(ip_address(host)), index_of)
            assert assemble(identity, found, faults).neighbours == near
    assert not faults.counts, faults.counts


class TwoInterfaces:
    """An agent that hears node 2 on the address 10.66.0.102, before node 2 has told that this is its own."""

    def neighbours(self) -> list[Neighbour]:
        near = Neighbour(MAIN, is_symmetric=True, willingness=3, is_mpr=True, is_selector=False, two_hop=frozenset())
        return [near, near._replace(address=MAIN + 1, is_symmetric=False)]

    def routes(self) -> dict[int, AgentRoute]:
        own = int(ip_address("10.66.0.1"))
        hops = {MAIN: 1, OTHER: 1, MAIN + 2: 2}
        return {node: AgentRoute(node, OTHER, own, count) for node, count in hops.items()}

    def links(self) -> list[LinkState]:
        own = int(ip_address("10.66.0.1"))
        return [
            LinkState(
                own,
                OTHER,
                is_symmetric=True,
                is_heard=True,
                is_lost=False,
                quality=0.5,
                neighbour_quality=0.8,
                expires=6.0,
            )
        ]

    def aliases(self) -> dict[int, int]:
        return {}

    def topology(self) -> None:
        return None


MAIN, OTHER = int(ip_address("10.66.0.2")), int(ip_address("10.66.0.102"))


def test_a_neighbour_is_known_by_its_main_address() -> None:
    """Its interface is no node of its own; a link counts both ways; who is not symmetric is not there."""
    faults = Faults()
    agent = cast("Agent", TwoInterfaces())
    found = findings(agent, Codec(4).text)
    view = assemble(Identity(1, "10.66.0.1", index_of), found, faults)
    assert view.neighbours == {2}
    assert view.routes == {2: Route(2, 1), 4: Route(2, 2)}
    assert view.quality is not None
    assert dict(view.quality) == pytest.approx({2: 0.4})
    assert view.links is None
    assert not faults.counts
