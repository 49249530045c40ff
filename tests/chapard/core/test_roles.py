"""Roles: who is appointed, what a dismissal sets going, and which broker a node chooses."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import TYPE_CHECKING

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapar.wire import BeaconFlag
from chapar_olsr.view import Route, RouteView
from chapard.core.roles import TRANSITIONS, Cause, Duty, Role, Roles, Why, appointment, choose_broker, orphan_must_serve
from chapard.core.station import Station
from fake_network import (
    QUICK,
    FakeNetwork,
    a_beacon,
    chain,
    cycle,
    grid,
    mesh,
    neighbourhoods,
    quick,
    random_links,
    route_views,
    star,
)

if TYPE_CHECKING:
    from fake_network import Links

NOW = 100.0
DTT = 30.0

APPOINTED = {
    "alone": (set(), {0: Why.ALONE}),
    "pair": (chain(2), {0: Why.MESH, 1: Why.MESH}),
    "chain5": (chain(5), {1: Why.MPR, 2: Why.MPR, 3: Why.MPR}),
    "mesh4": (mesh(4), {0: Why.MESH, 1: Why.MESH}),
    "star5": (star(5), {0: Why.MPR, 1: Why.REPLICA}),
    "star5 around the last": (star(5, centre=4), {4: Why.MPR, 0: Why.REPLICA}),
    "chain3": (chain(3), {1: Why.MPR, 0: Why.REPLICA}),
    "grid9": (grid(3), {1: Why.MPR, 3: Why.MPR, 4: Why.MPR, 5: Why.MPR, 7: Why.MPR}),
    "cycle4": (cycle(4), {0: Why.MPR, 1: Why.MPR}),
}
"""Networks, and by which rule of protocol.md which of their nodes are brokers; all others are not."""


def stations(links: Links, nodes: int = 1) -> dict[int, Station]:
    """The stations of a network whose routing has converged and whose nodes have all heard each other."""
    found = {}
    for index, view in route_views(neighbourhoods(links, range(nodes))).items():
        here = found[index] = Station(index, 1, QUICK)
        here.adopt(view, NOW)
        for neighbour in sorted(view.neighbours):
            here.peers.beacon(a_beacon(neighbour), NOW)
    return found


def appointed(links: Links, nodes: int = 1) -> dict[int, Why]:
    verdicts = {index: appointment(here, saves_power=False) for index, here in stations(links, nodes).items()}
    return {index: why for index, why in verdicts.items() if why is not Why.NONE}


@pytest.mark.parametrize("name", APPOINTED)
def test_the_rules_appoint_exactly_these_brokers(name: str) -> None:
    """Alone, chosen as MPR, lowest two of a full mesh, replica of the only MPR (3.18): these and no others."""
    links, expected = APPOINTED[name]
    assert appointed(links) == expected


@pytest.mark.parametrize("knows_mprs", [True, False])
@pytest.mark.parametrize("name", APPOINTED)
def test_a_network_comes_to_have_exactly_these_brokers(name: str, knows_mprs: bool) -> None:  # noqa: FBT001 - parameter
    """Whether routing knows MPRs or nodes select relays from beacons, the same nodes end up as brokers, and say why."""
    links, expected = APPOINTED[name]
    network = FakeNetwork(links, nodes=[0], knows_mprs=knows_mprs)
    network.run(15)
    assert {i: network.nodes[i].why for i in network.brokers} == expected
    said = {node: row for _, node, row in network.role_rows}
    assert {node: row.reason for node, row in said.items() if row.role == Role.BROKER} == expected


@pytest.mark.parametrize("seed", range(5))
def test_own_relay_selection_equals_that_of_routing_on_random_networks(seed: int) -> None:
    """Where no MPR knowledge is in the views, beacons lead to the brokers that MPR knowledge would appoint."""
    links = random_links(10, Random(seed), extra=6)
    network = FakeNetwork(links, knows_mprs=False)
    network.run(15)
    assert network.brokers == set(appointed(links))


def test_every_network_has_brokers_and_a_lone_mpr_one_replica() -> None:
    """On every connected graph of four nodes every node is a broker or next to one, and one MPR alone has exactly one
    replica, the lowest other index (it may take itself for a node of a full mesh, which comes to the same)."""
    for chosen in range(1, 2**6):
        links = {link for at, link in enumerate(combinations(range(4), 2)) if chosen >> at & 1}
        adjacency = neighbourhoods(links, range(4))
        views = route_views(adjacency)
        if any(len(view.routes) < 3 for view in views.values()):
            continue
        found = appointed(links, 4)
        assert all(node in found or adjacency[node] & found.keys() for node in adjacency)
        mprs = set().union(*(view.mprs or () for view in views.values()))
        if len(mprs) == 1:
            assert found.keys() == mprs | {min(set(range(4)) - mprs)}


def test_broker_min_sets_how_many_a_mesh_elects() -> None:
    """The lowest `broker_min` indexes of a full mesh serve."""
    config = quick(broker_min=3)
    for index, view in route_views(neighbourhoods(mesh(5))).items():
        here = Station(index, 1, config)
        here.adopt(view, NOW)
        assert (appointment(here, saves_power=False) is Why.MESH) == (index < 3)


def test_neighbours_without_routes_yet_are_a_mesh() -> None:
    """Routing that has found the links but no route counts as all within one hop."""
    here = Station(0, 1, QUICK)
    here.adopt(RouteView(0, frozenset({1})), NOW)
    assert appointment(here, saves_power=False) is Why.MESH


def test_who_hears_a_stranger_is_a_bridge() -> None:
    """A node that no other rule appoints serves while it hears somebody to whom routing knows no way yet."""
    here = stations(star(5))[4]
    assert appointment(here, saves_power=False) is Why.NONE
    here.peers.beacon(a_beacon(9), NOW)
    assert appointment(here, saves_power=True) is Why.BRIDGE
    here.adopt(RouteView(4, frozenset({0, 9}), {0: Route(0, 1), 9: Route(9, 1)}, frozenset({0})), NOW)
    assert appointment(here, saves_power=False) is not Why.BRIDGE


def test_a_bridge_joins_two_parts_before_routing_does() -> None:
    """Two rows whose ends, no brokers, come to hear each other: filters and events cross at once, and come back."""
    network = FakeNetwork({(0, 1), (1, 2), (3, 4), (4, 5)})
    network.run(15)
    assert not {2, 5} & network.brokers
    subscriber, publisher = network.client("s", at=0), network.client("p", at=3)
    subscriber.subscribe(Filter(subject="x"))
    publisher.publish(Event(subject="x", payload=b"a", lifetime=60))
    network.run(15)
    network.link((2, 5), routed=False)
    network.inject(5, a_beacon(2, broker=1))
    network.run(0.5)
    assert [network.nodes[i].why for i in (2, 5)] == [Why.BRIDGE, Why.BRIDGE]
    assert subscriber.payloads == ["a"]


def verdict(view: RouteView) -> Why:
    here = Station(view.index, 1, QUICK)
    here.adopt(view, NOW)
    return appointment(here, saves_power=False)


def test_who_has_relays_is_in_no_full_mesh() -> None:
    """Relays were chosen for somebody two hops away, though no route to it is known yet."""
    routes = {1: Route(1, 1)}
    assert verdict(RouteView(0, frozenset({1}), routes)) is Why.MESH
    assert verdict(RouteView(0, frozenset({1}), routes, frozenset({1}))) is Why.NONE


def test_where_there_are_several_mprs_none_needs_a_replica() -> None:
    """The replica stands in for the only MPR of a network; with two relays a node knows of two."""
    routes = {1: Route(1, 1), 2: Route(2, 1), 3: Route(1, 2), 4: Route(2, 2)}
    assert verdict(RouteView(0, frozenset({1, 2}), routes, frozenset({1}))) is Why.REPLICA
    assert verdict(RouteView(0, frozenset({1, 2}), routes, frozenset({1, 2}))) is Why.NONE


def unknown_hops(links: Links) -> dict[int, Why]:
    """Who is appointed where routing knows neither MPRs nor hops, only that a node is no neighbour: the kernel's."""
    adjacency = neighbourhoods(links)
    true_views = route_views(adjacency)
    verdicts = {}
    for index, view in route_views(adjacency, knows_mprs=False).items():
        routes = {node: Route(route.next_hop, min(route.hops, 2)) for node, route in view.routes.items()}
        here = Station(index, 1, QUICK)
        for near in sorted(adjacency[index]):
            here.peers.beacon(a_beacon(near, neighbours=adjacency[near], relays=true_views[near].mprs or ()), NOW)
        here.adopt(replace(view, routes=routes), NOW)
        verdicts[index] = appointment(here, saves_power=False)
    return {index: why for index, why in verdicts.items() if why is not Why.NONE}


@pytest.mark.parametrize("name", ["pair", "chain5", "mesh4", "star5", "star5 around the last", "chain3"])
def test_hops_that_nobody_counted_mislead_nobody(name: str) -> None:
    """The ends of a chain are no replicas though all that is far is stated as two hops; a star has its replica."""
    links, expected = APPOINTED[name]
    assert unknown_hops(links) == expected


# Power


def save_power(here: Station, *weak: int) -> None:
    for index in weak:
        here.peers.beacon(a_beacon(index, flags=BeaconFlag.LOW_POWER), NOW)


def test_who_saves_power_is_not_elected_where_another_can_serve() -> None:
    """In a mesh, weak nodes stand back and the next indexes take their place, and all agree about that."""
    nodes = stations(mesh(4))
    for index, here in nodes.items():
        save_power(here, *({0, 2} - {index}))
    verdicts = {i: appointment(here, saves_power=i in (0, 2)) for i, here in nodes.items()}
    assert verdicts == {0: Why.NONE, 1: Why.MESH, 2: Why.NONE, 3: Why.MESH}


def test_if_all_save_power_they_are_elected_as_ever() -> None:
    """Standing back must not leave the network without a broker."""
    nodes = stations(mesh(3))
    for index, here in nodes.items():
        save_power(here, *({0, 1, 2} - {index}))
    verdicts = [appointment(here, saves_power=True) for here in nodes.values()]
    assert verdicts == [Why.MESH, Why.MESH, Why.NONE]


def test_a_weak_replica_stands_back_and_a_weak_relay_does_not() -> None:
    """The replica is a choice, the relay holds the broker network together."""
    nodes = stations(star(4))
    save_power(nodes[2], 0, 1)
    save_power(nodes[1], 0)
    assert appointment(nodes[0], saves_power=True) is Why.MPR
    assert appointment(nodes[1], saves_power=True) is Why.NONE
    assert appointment(nodes[2], saves_power=False) is Why.REPLICA


# The machine of roles


def reach(role: Role) -> Roles:
    """A machine in this role, by the shortest way."""
    roles = Roles(DTT)
    if role is not Role.REGULAR:
        roles.consider(Why.MPR, NOW)
    if role in (Role.DISMISSED, Role.CHECKING_OUT):
        roles.consider(Why.NONE, NOW)
    if role is Role.CHECKING_OUT:
        roles.dtt_over(NOW)
    assert roles.role is role
    return roles


def cause(roles: Roles, what: Cause) -> Duty | None:
    """Let something happen to the machine."""
    if what is Cause.APPOINTED:
        return roles.consider(Why.MPR, NOW)
    if what is Cause.RELIEVED:
        return roles.consider(Why.NONE, NOW)
    return roles.dtt_over(NOW) if what is Cause.DTT_OVER else roles.checked_out(NOW)


MOVES = {
    (Role.REGULAR, Cause.APPOINTED): (Role.BROKER, Duty.INHERIT),
    (Role.BROKER, Cause.RELIEVED): (Role.DISMISSED, Duty.KEEP_TABLES),
    (Role.DISMISSED, Cause.APPOINTED): (Role.BROKER, Duty.RESUME),
    (Role.DISMISSED, Cause.DTT_OVER): (Role.CHECKING_OUT, Duty.CHECK_OUT),
    (Role.CHECKING_OUT, Cause.APPOINTED): (Role.BROKER, Duty.RESUME),
    (Role.CHECKING_OUT, Cause.CHECKED_OUT): (Role.REGULAR, Duty.DROP_TABLES),
}


@pytest.mark.parametrize(("role", "what"), list(product(Role, Cause)))
def test_every_role_under_every_cause(role: Role, what: Cause) -> None:
    """Six moves, as the report has them; every other pair of role and cause changes nothing and obliges to nothing."""
    roles = reach(role)
    to, duty = MOVES.get((role, what), (role, None))
    assert cause(roles, what) is duty
    assert roles.role is to
    assert roles.holds_tables == (to is not Role.REGULAR)
    assert set(TRANSITIONS) == set(MOVES)


def test_a_dismissed_broker_keeps_its_tables_for_dtt() -> None:
    """The machine has a deadline only while dismissed, DTT after the dismissal, however often it is confirmed."""
    assert reach(Role.BROKER).deadline is None
    roles = reach(Role.BROKER)
    roles.consider(Why.NONE, NOW)
    roles.consider(Why.NONE, NOW + 10)
    assert roles.deadline == NOW + DTT
    assert roles.tick(NOW + DTT - 0.1) is None
    assert roles.tick(NOW + DTT) is Duty.CHECK_OUT
    assert roles.tick(NOW + 2 * DTT) is None
    assert reach(Role.CHECKING_OUT).deadline is None


def test_reappointment_within_dtt_ends_the_wait() -> None:
    """A broker appointed again has no deadline left, and a second dismissal has a full DTT."""
    roles = reach(Role.DISMISSED)
    assert roles.consider(Why.MESH, NOW + 20) is Duty.RESUME
    assert (roles.deadline, roles.why) == (None, Why.MESH)
    roles.consider(Why.NONE, NOW + 25)
    assert roles.deadline == NOW + 25 + DTT


# Orphans


def test_an_orphan_yields_to_a_broker_of_a_lower_index() -> None:
    """Of several that served themselves the lowest goes on, so that one remains; regular peers do not count."""
    here = stations(mesh(4))[2]
    here.peers.beacon(a_beacon(3, is_broker=True), NOW)
    assert orphan_must_serve(here)
    here.peers.beacon(a_beacon(1, is_broker=True), NOW)
    assert not orphan_must_serve(here)


def test_an_orphan_yields_to_its_relay() -> None:
    """A relay is a broker by right: once it serves, whoever stood in for it is not needed any more."""
    here = stations(star(4, centre=3))[0]
    assert orphan_must_serve(here)
    here.peers.beacon(a_beacon(3, is_broker=True), NOW)
    assert not orphan_must_serve(here)


# The choice of a broker


def choosing(index: int, brokers: set[int]) -> Station:
    """A node of a chain of five that hears these brokers, near and far."""
    here = stations(chain(5))[index]
    for broker in sorted(brokers):
        here.peers.beacon(a_beacon(broker, is_broker=True), NOW)
    return here


def test_a_broker_is_its_own() -> None:
    """A broker chooses itself."""
    here = choosing(2, {1, 3})
    here.is_broker = True
    assert choose_broker(here) == 2


def test_a_node_without_brokers_has_none() -> None:
    """Regular peers are not chosen."""
    assert choose_broker(choosing(2, set())) is None


def test_the_nearest_broker_is_chosen_then_a_relay_then_the_lowest() -> None:
    """Adjacent before far, relay before non-relay, low index before high."""
    assert choose_broker(choosing(0, {2, 3})) == 2
    assert choose_broker(choosing(2, {0, 3})) == 3
    assert choose_broker(choosing(2, {1, 3})) == 1
    here = Station(5, 1, QUICK)
    here.adopt(RouteView(5, frozenset({1, 2}), {1: Route(1, 1), 2: Route(2, 1)}, frozenset({2})), NOW)
    for broker in (1, 2):
        here.peers.beacon(a_beacon(broker, is_broker=True), NOW)
    assert choose_broker(here) == 2


def test_the_present_broker_is_kept_while_it_serves_nearby() -> None:
    """A choice that still serves is not changed for a better one, unless it has moved away."""
    here = choosing(2, {1, 3})
    here.broker = 3
    assert choose_broker(here) == 3
    here.peers.beacon(a_beacon(3), NOW)
    assert choose_broker(here) == 1
    far = choosing(0, {1, 3})
    far.broker = 3
    assert choose_broker(far) == 1
