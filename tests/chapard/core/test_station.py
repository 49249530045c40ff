"""Station: a node's place in the network, as routing and beacons describe it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from chapar.wire import Bye, decode_untrusted
from chapar_olsr.view import Route, RouteView
from chapard.core.effects import Transmit
from chapard.core.links import Links
from chapard.core.outlet import Outlet
from chapard.core.station import SEARCH_SHARE, Station
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


def test_a_contact_that_loses_its_route_is_gone_too() -> None:
    """A peer several hops away was reached and is not now; one that routing never knew is still heard."""
    here = in_chain(2)
    hear(here, 4, 9)
    assert here.adopt(RouteView(2, frozenset({1, 3}), {1: Route(1, 1), 3: Route(3, 1)}), NOW) == {4}


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


def test_the_farthest_node_is_as_far_as_routing_says() -> None:
    """Where routing counts hops, its count holds; a node without routes sees one hop."""
    assert [in_chain(0, nodes).widest() for nodes in (2, 3, 4, 5)] == [1, 2, 3, 4]
    assert station().widest() == 1


def test_two_hops_are_believed_only_with_a_neighbours_word() -> None:
    """Without MPR knowledge, 2 may be "at least 2": who is named by no neighbour's beacon is farther than that."""
    here = station(0)
    routes = {1: Route(1, 1), **{far: Route(1, 2) for far in (2, 3)}}
    view = RouteView(0, frozenset({1}), routes, mprs=None, selectors=None)
    here.adopt(view, NOW)
    assert here.widest() == 3
    here.peers.beacon(a_beacon(1, neighbours=[0, 2]), NOW)
    here.peers.beacon(a_beacon(2, neighbours=[1, 3]), NOW)  # no neighbour of ours: whom it names may be farther
    assert here.widest() == 3
    here.peers.beacon(a_beacon(1, neighbours=[0, 2, 3]), NOW)
    assert here.widest() == 2
    here.peers.forget(1)
    here.adopt(replace(view, mprs=frozenset({1})), NOW)
    assert here.widest() == 2


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


# Whom a node searches


def test_a_lost_contact_is_searched_for_more_and_more_rarely() -> None:
    """Two beacons are a two-hundredth of the search apart, until that is no more than anybody beacons anyway."""
    here = in_chain(2)
    assert here.search_interval(NOW) == inf
    here.miss(9, NOW)
    assert here.search_interval(NOW) == 0
    assert here.search_interval(NOW + 100) == 0.5
    here.miss(8, NOW + 80)
    assert here.search_interval(NOW + 100) == 0.1
    assert here.search_interval(NOW + 80 + QUICK.refresh_period / SEARCH_SHARE) == inf
    assert here.search_interval(NOW) == inf


def test_only_who_can_be_reached_in_no_way_is_searched_for() -> None:
    """A lost neighbour that has a route is not missed while it has one, nor is one that is found, or has left."""
    here = in_chain(2)
    here.miss(4, NOW)
    assert here.search_interval(NOW) == inf
    here.adopt(RouteView(2, frozenset({1}), {1: Route(1, 1)}), NOW)
    assert here.search_interval(NOW) == 0
    here.found(4)
    assert here.search_interval(NOW) == inf


def test_strangers_are_contacts_without_a_route() -> None:
    """Whoever is heard though routing does not reach it belongs to another part of the network."""
    here = in_chain(2)
    hear(here, 0, 1, 9)
    assert here.strangers() == [9]
