"""From what a source says to a view."""

from __future__ import annotations

from types import MappingProxyType

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.source import Findings, Hop, assemble
from chapar_olsr.view import Route, RouteView
from fake_olsrd import identity

US = identity(1)


def at(node: int) -> str:
    return f"10.66.0.{node}"


def view(**findings: object) -> tuple[RouteView, dict[Fault, int]]:
    faults = Faults()
    found = {"neighbours": [at(2), at(3)], "routes": [], **findings}
    return assemble(US, Findings(**found), faults), dict(faults.counts)  # type: ignore[arg-type]  # by name, in each test


def test_addresses_become_indexes() -> None:
    """Neighbours need no route of their own."""
    found, faults = view(routes=[Hop(at(9), at(2), 2)], mprs=[at(2)], selectors=[at(3)], quality={at(2): 0.5})
    assert found.neighbours == {2, 3}
    assert found.routes == {2: Route(2, 1), 3: Route(3, 1), 9: Route(2, 2)}
    assert list(found.routes) == [2, 3, 9]
    assert (found.mprs, found.selectors) == (frozenset({2}), frozenset({3}))
    assert found.quality == {2: 0.5}
    assert not faults


def test_what_a_source_does_not_know_stays_unknown() -> None:
    """None is not the empty set: the broker selects relays itself then."""
    found, _ = view()
    assert (found.mprs, found.selectors, found.two_hop, found.quality) == (None, None, None, None)
    assert found.links is None


def test_further_addresses_are_their_nodes() -> None:
    """In neighbours, gateways and destinations; a second route to the same node is no fault then."""
    aliases = {"10.77.0.2": at(2), "10.77.0.9": at(9)}
    routes = [Hop(at(9), "10.77.0.2", 2), Hop("10.77.0.9", "10.77.0.2", 2)]
    links = {at(1): [at(2)], "10.77.0.2": [at(9), at(1)], at(9): ["10.77.0.2"]}
    found, faults = view(neighbours=["10.77.0.2"], routes=routes, aliases=aliases, links=links)
    assert found.routes == {2: Route(2, 1), 9: Route(2, 2)}
    assert found.links == {1: frozenset({2}), 2: frozenset({1, 9}), 9: frozenset({2})}
    assert not faults


def test_addresses_of_no_node_are_counted_and_left_out() -> None:
    """As destination, neighbour and gateway; the rest stands."""
    routes = [Hop("192.0.2.1", at(2), 2), Hop(at(9), "192.0.2.2", 2), Hop(at(8), at(2), 2)]
    found, faults = view(neighbours=[at(2), "192.0.2.3", "nonsense"], routes=routes)
    assert set(found.routes) == {2, 8}
    assert faults == {Fault.OUTSIDE_PREFIX: 4, Fault.LOOP: 1}


def test_links_are_those_of_nodes_that_are_reached() -> None:
    """Not those of strangers, or of nodes that no route leads to; who has none is not listed."""
    links = {at(1): [at(2), "192.0.2.1"], at(2): [at(1)], at(3): [], at(7): [at(8)], "nonsense": [at(1)]}
    found, faults = view(links=links)
    assert found.links == {1: frozenset({2}), 2: frozenset({1})}
    assert not faults


def test_loops_are_counted_and_left_out() -> None:
    """A route to ourselves, or over somebody who is no neighbour."""
    found, faults = view(routes=[Hop(at(1), at(2), 2), Hop(at(9), at(8), 3), Hop(at(8), at(8), 2)])
    assert set(found.routes) == {2, 3}
    assert faults == {Fault.LOOP: 3}


def test_a_destination_counts_once() -> None:
    """The first route to it stands."""
    found, faults = view(routes=[Hop(at(9), at(2), 2), Hop(at(9), at(3), 3)])
    assert found.routes[9] == Route(2, 2)
    assert faults == {Fault.DUPLICATE: 1}


def test_absurd_hop_counts_are_counted_and_left_out() -> None:
    """Below one, or beyond what IP carries."""
    found, faults = view(routes=[Hop(at(7), at(2), 0), Hop(at(8), at(2), 256), Hop(at(9), at(2), 10**30)])
    assert set(found.routes) == {2, 3}
    assert faults == {Fault.BAD_VALUE: 3}


def test_whoever_is_no_neighbour_is_two_hops_away_at_least() -> None:
    """And a neighbour is one, whatever a route says."""
    found, _ = view(routes=[Hop(at(9), at(2), 1), Hop(at(3), at(2), 2)])
    assert found.routes[9] == Route(2, 2)
    assert found.routes[3] == Route(3, 1)


def test_relays_are_neighbours() -> None:
    """A relay that is none cannot relay; we are not our own neighbour."""
    found, _ = view(neighbours=[at(1), at(2)], mprs=[at(2), at(9)], selectors=[at(9)], two_hop={at(2): [at(1), at(7)]})
    assert found.neighbours == {2}
    assert found.mprs == frozenset({2})
    assert found.selectors == frozenset()
    assert found.two_hop == MappingProxyType({2: frozenset({7})})
