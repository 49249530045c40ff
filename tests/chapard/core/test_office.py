"""Office: which role a node has, which broker it has chosen, and what a change of either obliges it to."""

from __future__ import annotations

import pytest

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import (
    Beacon,
    BeaconFlag,
    Bye,
    Listing,
    Records,
)
from chapard.core.effects import Reason, SessionRow
from chapard.core.integrity import STEP_IN
from chapard.core.nodevector import NodeVector
from chapard.core.office import STOP_PERIODS
from chapard.core.roles import Role, Why
from fake_network import (
    QUICK,
    FakeNetwork,
    a_beacon,
    chain,
    mesh,
    quick,
    star,
)

X = Filter(subject="x")
HOLD = QUICK.contact_periods * QUICK.refresh_period


def settled(links: set[tuple[int, int]], **settings: object) -> FakeNetwork:
    network = FakeNetwork(links, **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(15)
    return network


# Roles


def test_an_appointed_broker_serves_at_once_and_asks_one_broker_for_the_tables() -> None:
    """Appointment is immediate; of several adjoining brokers one is asked at once, the digests of the others tell."""
    network = settled(mesh(6), config=quick(broker_min=3))
    network.client("s", at=5).subscribe(X)
    network.run(3)
    since = network.now
    network.nodes[0].battery_changed(0.2, network.now)
    network.drain(0)
    network.run(QUICK.beacon_min)
    assert network.nodes[3].role is Role.BROKER
    opened = [datagram.to for datagram, _ in network.frames(Listing, since) if datagram.sender == 3]
    assert len(opened) == 1
    assert network.nodes[3].fmt.homes() == {5: (X,)}


def test_a_bridge_asks_its_own_network_for_the_tables() -> None:
    """Appointed as it hears a stranger, a node asks a broker that routing knows at once, and the stranger as well."""
    network = settled({(1, 2), (2, 3)}, config=quick(sync_delay=1.0), nodes=[0])
    network.client("s", at=2).subscribe(X)
    network.run(10)
    since = network.now
    assert network.nodes[3].role is Role.REGULAR
    network.inject(3, a_beacon(0, is_broker=True)._replace(fmt_digest=9))
    network.run(STEP_IN / 2)
    assert network.nodes[3].fmt.homes() == {2: (X,)}
    network.run(STEP_IN)
    assert [datagram.to for datagram, _ in network.frames(Listing, since) if datagram.sender == 3] == [2, 0]


def test_a_node_without_a_broker_serves_itself_after_a_while() -> None:
    """Neighbours that run no chapard: after orphan_patience the node is its own broker, and its clients are served."""
    network = FakeNetwork(star(4), without_chapard={0, 1, 3})
    network.run(QUICK.orphan_patience / 2)
    assert network.nodes[2].station.broker is None
    network.run(QUICK.orphan_patience)
    node = network.nodes[2]
    assert (node.role, node.why, node.station.broker) == (Role.BROKER, Why.ORPHAN, 2)


def test_of_several_orphans_one_remains() -> None:
    """Nodes whose elected brokers run no chapard: all serve themselves at first, then the lowest serves all."""
    network = FakeNetwork(mesh(5), without_chapard={0, 1})
    network.run(20)
    assert network.brokers == {2}
    assert {node.station.broker for node in network.nodes.values()} == {2}


def test_a_stand_in_yields_to_the_relay_that_comes_back() -> None:
    """The relay's daemon dies: another serves; it returns: the brokers are again those that the rules name."""
    network = settled(star(5, centre=4))
    assert network.brokers == {0, 4}
    network.crash(0, 4)
    network.run(HOLD + 10)
    assert network.brokers
    network.start(0, 4)
    network.run(HOLD + QUICK.dismissal_time)
    assert network.brokers == {0, 4}


def test_a_real_time_event_waits_a_little_for_a_broker() -> None:
    """For publish_patience a real-time event waits for a broker, then it is lost; a memorised one waits on."""
    config = quick(orphan_patience=1e6)
    network = FakeNetwork(chain(4), config=config, without_chapard={1})
    publisher, subscriber = network.client("p", at=0), network.client("s", at=3)
    subscriber.subscribe(X)
    publisher.publish(Event(subject="x"))
    assert network.nodes[0].station.broker is None
    network.run(QUICK.publish_patience + 1)
    assert network.losses[0][1].reason is Reason.NO_BROKER
    publisher.publish(Event(subject="x", lifetime=600, payload=b"kept"))
    network.start(1)
    network.run(10)
    assert subscriber.payloads == ["kept"]


# The end


def test_a_broker_that_stops_hands_over_and_says_bye() -> None:
    """Its clients are told, its tables are with another broker before the BYE, and its homes are served on."""
    network = settled(mesh(4))
    client, subscriber, publisher = network.client("c", at=0), network.client("s", at=2), network.client("p", at=3)
    subscriber.subscribe(X)
    network.run(3)
    node = network.nodes[0]
    node.fmt.merge(40, 1, [X], 0.0, network.now)
    event = Event(subject="y", lifetime=600).accepted(id=event_id(40, 1, 1), chain=1)
    node.replicated.memorised.store(event, event.encode(), 600_000, NodeVector.empty(QUICK.nodes), network.now)
    since = network.now
    network.stop(0)
    assert not client.session.is_on
    network.run(3)
    assert 0 not in network.nodes
    byes = [datagram.t for datagram, _ in network.frames(Bye, since)]
    given = [datagram.t for datagram, _ in network.frames(Records, since) if datagram.sender == 0]
    assert len(byes) == 1
    assert byes[0] > given[0]
    assert 40 in network.nodes[1].fmt.homes()
    assert len(network.nodes[1].met) == 1
    publisher.publish(Event(subject="x"))
    network.run(1)
    assert len(subscriber.got) == 1


def test_a_broker_that_leaves_is_none_in_its_last_beacon() -> None:
    """From the moment it stops it is no broker for anybody."""
    network = settled(mesh(4))
    network.unlink((0, 1), (0, 2), (0, 3), routed=False)
    since = network.now
    network.stop(0)
    ((_, beacon),) = network.frames(Beacon, since)
    assert not beacon.flags & BeaconFlag.BROKER


@pytest.mark.parametrize("links", [mesh(4), set()])
def test_who_has_nothing_to_hand_over_leaves_at_once(links: set[tuple[int, int]]) -> None:
    """A regular node, and a node without other brokers, say BYE with the next datagram."""
    network = FakeNetwork(links, nodes=[3])
    network.run(15)
    network.stop(3)
    assert 3 not in network.nodes
    assert [frame for _, frame in network.frames(Bye)] == [Bye(3)]


def test_a_node_that_is_not_heard_leaves_in_the_end() -> None:
    """Nobody takes over: after STOP_PERIODS sync retries the node goes all the same; its disk has the events."""
    network = settled(mesh(4))
    network.client("p", at=0).publish(Event(subject="x", lifetime=600))
    network.unlink((0, 1), (0, 2), (0, 3), routed=False)
    network.stop(0)
    network.run(STOP_PERIODS * QUICK.sync_retry - 0.1)
    assert 0 in network.nodes
    network.run(0.2)
    assert 0 not in network.nodes
    assert any(key.startswith("event/") for key in network.disks[0])


def test_clients_are_told_when_their_daemon_stops_and_find_their_session_again() -> None:
    """The session stands: what was published meanwhile is delivered when the daemon is back."""
    network = settled(chain(4))
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(3)
    node = network.nodes[3]
    node.stop(network.now)
    rows = [effect for effect in node.drain(network.now) if isinstance(effect, SessionRow)]
    assert [row.state for row in rows] == ["off"]
    network.crash(3)
    publisher.publish(Event(subject="x", lifetime=600))
    network.run(5)
    network.start(3)
    network.run(10)
    assert len(subscriber.got) == 1
