"""Beacons: what a node says about itself, and when."""

from __future__ import annotations

from itertools import pairwise

from chapar import Event, Filter
from chapar.wire import NO_BROKER, Ack, Beacon, BeaconFlag, encode
from chapar_olsr.view import Route, RouteView
from chapard.core.beacons import compose
from chapard.core.fmt import FMT
from chapard.core.interests import Interests
from chapard.core.met import MET
from chapard.core.power import Power
from chapard.core.station import Station
from fake_network import QUICK, FakeNetwork, a_beacon, a_vector, chain, mesh

NOW = 100.0


class Node:
    """What a beacon is composed of."""

    def __init__(self) -> None:
        self.station = Station(2, 7, QUICK)
        self.interests = Interests(7)
        self.fmt = FMT(QUICK)
        self.met = MET(QUICK)

    def beacon(self, *, power: Power = Power.FULL, now: float = NOW) -> Beacon:
        about = (self.station, self.interests, self.fmt, self.met)
        return compose(*about, power=power, acks=((3, 4, 5),), now=now)


def test_a_beacon_names_the_node_its_incarnation_and_its_filters_version() -> None:
    """Who I am, since when, which broker I chose, version and digest of my own filters, and what my links confirm."""
    node = Node()
    node.interests.add(Filter(subject="x"))
    beacon = node.beacon()
    assert (beacon.sender, beacon.incarnation, beacon.broker, beacon.flags) == (2, 7, NO_BROKER, 0)
    assert (beacon.version, beacon.digest) == (node.interests.version, node.interests.digest)
    assert beacon.digest != 0
    assert beacon.acks == ((3, 4, 5),)
    node.station.broker = 3
    assert node.beacon().broker == 3


def test_only_a_broker_states_digests_of_its_tables() -> None:
    """A node that no longer serves must not be compared with; a broker gives count and digest of both tables."""
    node = Node()
    node.fmt.merge(5, 1, [Filter(subject="x")], 0.0, NOW)
    quiet = node.beacon()
    assert quiet[8:12] == (0, 0, 0, 0)
    node.station.is_broker = True
    telling = node.beacon()
    assert telling.flags & BeaconFlag.BROKER
    assert (telling.fmt_count, telling.fmt_digest) == (1, node.fmt.tree.root)
    assert (telling.met_count, telling.met_digest) == (0, 0)


def test_relays_are_stated_where_routing_states_none() -> None:
    """Neighbours always, so that others can select; relays only if we select them ourselves."""
    node = Node()
    node.station.adopt(RouteView(2, frozenset({1, 3}), {}, frozenset({1}), frozenset()), NOW)
    assert (node.beacon().neighbours, node.beacon().relays) == (a_vector([1, 3]), b"")
    node.station.adopt(RouteView(2, frozenset({1, 3}), {}, None, None), NOW)
    node.station.peers.beacon(a_beacon(3, neighbours=[2, 9]), NOW)
    node.station.select_relays()
    assert node.beacon().relays == a_vector([3])


def test_hosts_outside_the_network_are_not_named() -> None:
    """A neighbour beyond the vectors' length is left out."""
    node = Node()
    node.station.adopt(RouteView(2, frozenset({1, 200}), {200: Route(200, 1)}, None, None), NOW)
    assert node.beacon().neighbours == a_vector([1])


def test_flags_tell_power_and_looking() -> None:
    """Low and critical power, and that a new neighbour has not been heard yet."""
    node = Node()
    assert node.beacon(power=Power.LOW).flags == BeaconFlag.LOW_POWER
    assert node.beacon(power=Power.CRITICAL).flags == BeaconFlag.CRITICAL_POWER
    node.station.adopt(RouteView(2, frozenset({1})), NOW)
    assert node.beacon().flags == BeaconFlag.SOLICIT
    assert node.beacon(now=NOW + QUICK.orphan_patience).flags == 0


def test_a_beacon_is_small() -> None:
    """In a network of 64 nodes a broker's beacon takes fewer than 80 bytes of payload, confirmations aside."""
    node = Node()
    node.interests.add(Filter(subject="x"))
    node.station.is_broker, node.station.broker = True, 2
    node.station.adopt(RouteView(2, frozenset(range(3, 64)), {}, None, None), NOW)
    node.fmt.merge(5, 1, [Filter(subject="x")], 0.0, NOW)
    assert len(encode(node.beacon()._replace(acks=()))) < 80


# Pace, seen from outside


def times(network: FakeNetwork, sender: int, since: float = 0.0) -> list[float]:
    return [datagram.t for datagram, _ in network.frames(Beacon, since) if datagram.sender == sender]


def test_beacons_are_rare_while_nothing_changes_and_never_rarer_than_the_refresh_period() -> None:
    """In a quiet network the gap between two beacons of a node lies between half a refresh period and a whole one."""
    network = FakeNetwork(mesh(3))
    network.run(20)
    since = network.now
    network.run(100)
    sent = times(network, 0, since)
    gaps = [later - earlier for earlier, later in pairwise(sent)]
    assert all(0.5 * QUICK.refresh_period <= gap <= QUICK.refresh_period for gap in gaps)


def test_a_new_neighbour_is_greeted_at_once() -> None:
    """When routing shows a new neighbour, both ends beacon within a fraction of beacon_min."""
    network = FakeNetwork(nodes=[0, 1])
    network.run(60)
    since = network.now
    network.link((0, 1))
    network.run(QUICK.beacon_min)
    for node in (0, 1):
        assert times(network, node, since)[0] - since <= 0.1 * QUICK.beacon_min


def test_confirmations_ride_on_beacons() -> None:
    """An acknowledgement that is due when a beacon leaves travels in it, not in a frame of its own."""
    network = FakeNetwork(chain(2))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=1)
    subscriber.subscribe(Filter(subject="x"))
    network.run(30)
    network.run(network.nodes[1].next_deadline() - network.now - QUICK.ack_delay / 2)
    since = network.now
    publisher.publish(Event(subject="x"))
    network.run(QUICK.ack_delay)
    assert len(subscriber.got) == 1
    assert [peer for _, beacon in network.frames(Beacon, since) for peer, _, _ in beacon.acks] == [0]
    network.run(QUICK.retry_first)
    assert not list(network.frames(Ack, since))
