"""Station: a node's place in the network, as routing and beacons describe it."""

from __future__ import annotations

from chapar.wire import Bye, decode_untrusted
from chapar_olsr.view import Route, RouteView
from chapard.core.effects import Transmit
from chapard.core.links import Links
from chapard.core.outlet import Outlet
from chapard.core.station import Station
from fake_network import QUICK, a_beacon, chain, neighbourhoods, route_views, star

NOW = 100.0


def station(index: int = 2) -> Station:
    return Station(index, 1, QUICK)


def in_chain(index: int, nodes: int = 5, *, knows_mprs: bool = True) -> Station:
    """A node of a chain whose routing has converged."""
    here = station(index)
    here.adopt(route_views(neighbourhoods(chain(nodes)), knows_mprs=knows_mprs)[index], NOW)
    return here


def hear(here: Station, *brokers: int) -> None:
    for index in brokers:
        here.peers.beacon(a_beacon(index, is_broker=True), NOW)


def test_a_node_starts_alone() -> None:
    """Before any view, the only node available is the node itself."""
    here = station(7)
    assert here.available.indexes() == [7]
    assert here.relays == frozenset()
    assert here.broker is None


def test_a_new_view_tells_which_neighbours_are_gone() -> None:
    """`adopt` takes the view, derives ANV and relays from it, and returns the neighbours that it lacks."""
    here = in_chain(2)
    assert here.available.indexes() == [0, 1, 2, 3, 4]
    assert here.relays == {1, 3}
    gone = here.adopt(RouteView(2, frozenset({3}), {3: Route(3, 1)}), NOW)
    assert gone == {1}
    assert here.available.indexes() == [2, 3]


def test_relays_are_the_routing_daemons_where_it_has_any() -> None:
    """With MPR knowledge in the view, beacons do not change relays or selectors."""
    here = in_chain(2)
    here.peers.beacon(a_beacon(1, neighbours=[2], relays=[]), NOW)
    here.select_relays()
    assert here.relays == {1, 3}
    assert here.selectors() == {1, 3}


def test_relays_are_selected_from_beacons_where_routing_has_none() -> None:
    """Without MPR knowledge, the two-hop neighbourhood and the selectors are what beacons reveal."""
    here = in_chain(2, knows_mprs=False)
    assert here.relays == frozenset()
    here.peers.beacon(a_beacon(1, neighbours=[0, 2], relays=[2]), NOW)
    here.peers.beacon(a_beacon(3, neighbours=[2], relays=[]), NOW)
    here.select_relays()
    assert here.relays == {1}
    assert here.selectors() == {1}


def test_a_far_peer_is_no_relay() -> None:
    """Only neighbours are selected, though peers behind other nodes are heard too."""
    here = in_chain(0, knows_mprs=False)
    here.peers.beacon(a_beacon(2, neighbours=[1, 3]), NOW)
    here.select_relays()
    assert here.relays == frozenset()


def test_adjacent_is_one_hop_or_heard_before_routing_knows_it() -> None:
    """Neighbours are adjacent; a contact without a route is; a node several hops away is not."""
    here = in_chain(0, 4)
    assert here.is_adjacent(1)
    assert not here.is_adjacent(2)
    assert here.is_adjacent(60)


def test_homes_are_those_who_chose_us() -> None:
    """A broker serves the homes whose beacon names it, and itself, by index."""
    here = in_chain(2)
    here.peers.beacon(a_beacon(3, broker=2), NOW)
    here.peers.beacon(a_beacon(1, broker=2), NOW)
    here.peers.beacon(a_beacon(4, broker=3), NOW)
    assert here.homes() == [1, 3]
    here.broker = 2
    assert here.homes() == [1, 2, 3]


def flooded(here: Station) -> list[int | None]:
    """To whom a flood goes."""
    outlet = Outlet()
    links = Links(here.index, 1, QUICK, outlet)
    here.flood(links, Bye(here.index))
    links.flush(NOW)
    sent = [effect for effect in outlet.drain() if isinstance(effect, Transmit)]
    assert all(decode_untrusted(each.data)[-1] == Bye(here.index) for each in sent)
    return [each.to for each in sent]


def test_a_flood_is_one_broadcast_for_all_adjoining_brokers() -> None:
    """One transmission serves every adjacent broker."""
    here = in_chain(2)
    hear(here, 1, 3)
    assert flooded(here) == [None]


def test_a_flood_without_brokers_costs_nothing() -> None:
    """Where no broker is in contact, nothing is sent: regular nodes keep no tables."""
    here = in_chain(2)
    here.peers.beacon(a_beacon(1), NOW)
    assert flooded(here) == []


def test_a_broker_behind_nodes_without_chapard_gets_its_own_copy() -> None:
    """A broadcast does not reach a peer several hops away, so a flood goes to it by unicast."""
    here = in_chain(0, 4)
    hear(here, 2)
    assert flooded(here) == [2]
    hear(here, 1)
    assert flooded(here) == [None, 2]


def test_a_node_looks_for_new_neighbours_for_a_while() -> None:
    """A neighbour not heard yet is looked for during orphan_patience; then it runs no chapard."""
    here = in_chain(2)
    assert here.is_looking(NOW)
    hear(here, 1)
    assert here.is_looking(NOW)
    hear(here, 3)
    assert not here.is_looking(NOW)
    silent = in_chain(2)
    assert not silent.is_looking(NOW + QUICK.orphan_patience)


def test_a_neighbour_that_stays_is_not_new_with_each_view() -> None:
    """The time a neighbour has been silent counts from the view that first named it."""
    here = in_chain(2, 4)
    here.adopt(route_views(neighbourhoods(chain(5)))[2], NOW + 0.9)
    assert not here.is_looking(NOW + QUICK.orphan_patience)


def test_adjacent_peers_need_no_beacon_by_unicast() -> None:
    """The broadcast reaches them."""
    here = in_chain(2)
    hear(here, 1, 3)
    assert here.beacon_targets(NOW + 60) == []


def test_far_peers_get_the_beacon_by_unicast() -> None:
    """A peer behind a node without chapard is told directly."""
    here = in_chain(0, 4)
    hear(here, 2)
    assert here.beacon_targets(NOW) == [2]


LATER = NOW + QUICK.orphan_patience


def test_a_neighbour_that_may_yet_beacon_is_not_passed_over() -> None:
    """Nobody behind a neighbour is probed before that neighbour has been silent for orphan_patience."""
    assert in_chain(0).beacon_targets(LATER - 0.1) == []


def test_behind_a_silent_neighbour_the_nearest_destinations_are_probed_in_turn() -> None:
    """Once a neighbour counts as without chapard, those behind it are tried, nearest first, round and round."""
    here = in_chain(0)
    assert [here.beacon_targets(LATER) for _ in range(4)] == [[2], [3], [4], [2]]


def test_the_search_starts_with_the_nearest_however_long_the_node_has_been_up() -> None:
    """Beacons sent before a neighbour counted as silent do not move the start."""
    here = in_chain(0)
    here.beacon_targets(NOW)
    here.beacon_targets(NOW)
    assert here.beacon_targets(LATER) == [2]


def test_the_search_ends_with_a_broker_once_nearer_nodes_had_their_chance() -> None:
    """A broker that answers is kept, as is a regular peer; nodes nearer than the broker are tried a few times more."""
    here = in_chain(0)
    here.beacon_targets(LATER)
    here.peers.beacon(a_beacon(4), NOW)
    assert here.beacon_targets(LATER) == [3, 4]
    hear(here, 3)
    assert [here.beacon_targets(LATER) for _ in range(3)] == [[2, 3, 4], [3, 4], [3, 4]]
    here.peers.forget(3)
    assert here.beacon_targets(LATER) == [2, 4]


def test_a_neighbour_that_returns_is_searched_behind_from_the_start() -> None:
    """The place in the search is forgotten with the neighbour."""
    here = in_chain(0)
    here.beacon_targets(LATER)
    here.adopt(RouteView(0), LATER)
    here.adopt(route_views(neighbourhoods(chain(5)))[0], LATER)
    assert here.beacon_targets(LATER + QUICK.orphan_patience) == [2]


def test_nobody_lies_behind_a_silent_leaf() -> None:
    """A silent neighbour that leads nowhere is not probed, nor is a host outside the network's indexes."""
    here = station(0)
    here.adopt(route_views(neighbourhoods(star(4)))[0], NOW)
    assert here.beacon_targets(NOW + 60) == []
    beyond = station(0)
    beyond.adopt(RouteView(0, frozenset({1}), {1: Route(1, 1), 200: Route(1, 2)}), NOW)
    assert beyond.beacon_targets(NOW + 60) == []
