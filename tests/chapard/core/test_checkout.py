"""Check-out: a dismissed broker's tables are handed over, and dropped only once a broker has them (report 3.3.6)."""

from __future__ import annotations

import pytest

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import Kind, Listing, Records, SyncFlag, Table, Want
from chapard.core.effects import Reason
from chapard.core.fmt import key_of
from chapard.core.integrity import LISTING_ENTRIES
from chapard.core.nodevector import NodeVector
from chapard.core.roles import Role
from fake_network import HEADERS, QUICK, FakeNetwork, mesh, quick

DTT = QUICK.dismissal_time
LEAVER = 0
BROKERS = {1, 2}
SYNC = {Kind.DIGESTS, Kind.LISTING, Kind.WANT, Kind.RECORDS}


def dismissed(**settings: object) -> FakeNetwork:
    """Three nodes in a mesh, of which the first has just been dismissed and the other two serve.

    What it learns from now on no broker has, unless it checks out.
    """
    network = FakeNetwork(mesh(3), **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(20)
    network.nodes[LEAVER].battery_changed(0.2, network.now)
    network.drain(LEAVER)
    network.run(2)
    assert network.nodes[LEAVER].role is Role.DISMISSED
    assert network.brokers == BROKERS
    return network


def learn_homes(network: FakeNetwork, count: int) -> None:
    """Let the dismissed node hold the filters of `count` homes that nobody else knows."""
    for number in range(1, count + 1):
        network.nodes[LEAVER].fmt.merge(2 + number, 1, [Filter(subject=f"s{number}")], 0.0, network.now)


def learn(network: FakeNetwork, count: int) -> None:
    """Let the dismissed node hold the filters of `count` homes, and `count` events, that nobody else knows."""
    learn_homes(network, count)
    node = network.nodes[LEAVER]
    for number in range(1, count + 1):
        event = Event(subject="x", lifetime=3600).accepted(id=event_id(50, 1, number), chain=number)
        nobody = NodeVector.empty(network.config.nodes)
        node.replicated.memorised.store(event, event.encode(), event.lifetime_ms, nobody, network.now)
    network.drain(LEAVER)


def held(network: FakeNetwork, node: int) -> tuple[int, int]:
    """How many homes and events a node holds."""
    return len(network.nodes[node].fmt), len(network.nodes[node].met)


def test_tables_are_kept_for_dtt_and_handed_over_at_its_end() -> None:
    """Until DTT is over nothing is offered; then the brokers get what they lack, and the node is a regular one."""
    network = dismissed()
    learn(network, 5)
    since = network.now
    network.run(DTT - 2.5)
    assert held(network, LEAVER) == (5, 5)
    assert not SYNC & set(network.kinds(since))
    network.run(5)
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert held(network, LEAVER) == (0, 0)
    assert {held(network, broker) for broker in BROKERS} == {(5, 5)}


@pytest.mark.parametrize("count", [1, 16, 17, 3 * LISTING_ENTRIES, 400])
def test_tables_of_any_size_arrive(count: int) -> None:
    """A small table is listed, a large one compared by digests; either way all of it is with the brokers in the end."""
    network = dismissed(config=quick(nodes=512))
    learn(network, count)
    network.run(DTT + 10)
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert {held(network, broker) for broker in BROKERS} == {(count, count)}


def test_only_what_the_broker_lacks_is_sent() -> None:
    """Of two hundred records that both hold and one that only the leaving node holds, one travels."""
    network = dismissed(config=quick(nodes=512))
    learn(network, 200)
    for broker in sorted(BROKERS):
        for home, filters in network.nodes[LEAVER].fmt.homes().items():
            network.nodes[broker].fmt.merge(home, 1, filters, 0.0, network.now)
        for memory in network.nodes[LEAVER].met:
            body, nobody = memory.body, NodeVector.empty(512)
            memorised = network.nodes[broker].replicated.memorised
            memorised.store(memory.event, body, memory.event.lifetime_ms, nobody, network.now)
    network.nodes[LEAVER].fmt.merge(300, 1, [Filter(subject="new")], 0.0, network.now)
    since = network.now
    network.run(DTT + 10)
    assert network.nodes[LEAVER].role is Role.REGULAR
    unicasts = [each for each in network.sent if each.t >= since and each.to is not None]
    talk = [each for each in unicasts if LEAVER in (each.sender, each.to)]
    assert sum(len(each.data) + HEADERS for each in talk) < 1500
    assert {held(network, broker) for broker in BROKERS} == {(201, 200)}


def test_equal_tables_are_dropped_on_the_word_of_the_beacon() -> None:
    """If the broker's beacon shows the very same digests, nothing is exchanged."""
    network = dismissed()
    client = network.client("c", at=2)
    client.subscribe(Filter(subject="x"))
    client.publish(Event(subject="x", lifetime=600))
    network.run(1)
    assert {held(network, node) for node in network.nodes} == {(1, 1)}
    since = network.now
    network.run(DTT + 5)
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert not SYNC & set(network.kinds(since))


def test_a_broker_that_catches_up_ends_the_wait() -> None:
    """A node whose offer got no answer sees from the broker's next beacons that it has it all, and drops its tables."""
    network = dismissed(config=quick(orphan_patience=1e6))
    learn(network, 3)
    network.unlink((0, 1), (0, 2), routed=False)
    network.run(DTT + 2 * network.config.hop_patience)  # the offer has come back unheard
    assert network.nodes[LEAVER].role is Role.CHECKING_OUT
    since = network.now
    for broker in sorted(BROKERS):
        for home, filters in network.nodes[LEAVER].fmt.homes().items():
            network.nodes[broker].fmt.merge(home, 1, filters, 0.0, network.now)
        for memory in network.nodes[LEAVER].met:
            nobody = NodeVector.empty(network.config.nodes)
            network.nodes[broker].replicated.memorised.store(memory.event, memory.body, 3600_000, nobody, network.now)
    network.link((0, 1), (0, 2), routed=False)
    network.run(30)
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert Kind.RECORDS not in network.kinds(since)


def test_nothing_is_dropped_before_a_broker_confirms() -> None:
    """With the radio dead at the end of DTT the tables stay as long as it takes; on contact they are handed over."""
    network = dismissed(config=quick(subscription_lease=3600.0))
    learn(network, 20)
    network.unlink((0, 1), (0, 2), routed=False)
    network.run(DTT + 60)
    assert held(network, LEAVER) == (20, 20)
    assert {held(network, broker) for broker in BROKERS} == {(0, 0)}
    network.link((0, 1), (0, 2), routed=False)
    network.run(30)
    assert {held(network, broker) for broker in BROKERS} == {(20, 20)}
    assert held(network, LEAVER) in {(0, 0), (20, 20)}


@pytest.mark.parametrize("seed", range(6))
def test_at_every_moment_of_a_lossy_check_out_somebody_holds_everything(seed: int) -> None:
    """Half of all datagrams lost: whenever one looks, each record is with the leaving node or with a broker."""
    network = dismissed(seed=seed, config=quick(subscription_lease=3600.0))
    learn(network, 40)
    network.loss = 0.5
    for _ in range(400):
        network.run(0.1)
        for at in (0, 1):
            assert 40 in {held(network, node)[at] for node in network.nodes}
    network.loss = 0.0
    network.run(60)
    assert {held(network, broker) for broker in network.brokers} == {(40, 40)}


def test_a_question_of_the_broker_settles_nothing() -> None:
    """A broker that asks the leaving node for its own filters has not confirmed what was listed to it."""
    network = dismissed()
    learn_homes(network, 3)
    network.unlink((0, 1), (0, 2), routed=False)
    network.run(DTT + 0.5)
    broker = network.nodes[LEAVER].station.broker
    assert broker is not None
    for _ in range(4):
        network.inject(LEAVER, Want(broker, Table.FMT, (key_of(LEAVER),), (0,)))
        network.inject(LEAVER, Want(broker, Table.FMT, (key_of(60),), (0,)))
    assert network.nodes[LEAVER].role is Role.CHECKING_OUT
    assert network.nodes[LEAVER].fmt.homes().keys() >= {3, 4, 5}


def test_the_word_of_another_node_settles_nothing() -> None:
    """Only the broker to whom the tables were offered can confirm them."""
    network = dismissed()
    learn(network, 3)
    network.unlink((0, 1), (0, 2), routed=False)
    network.run(DTT + 0.5)
    other = (BROKERS - {network.nodes[LEAVER].station.broker}).pop()
    for table in Table:
        network.inject(LEAVER, Want(other, table, (), ()))
    assert network.nodes[LEAVER].role is Role.CHECKING_OUT
    broker = network.nodes[LEAVER].station.broker
    assert broker is not None
    for table in Table:
        network.inject(LEAVER, Want(broker, table, (), ()))
    assert network.nodes[LEAVER].role is Role.REGULAR


def test_the_offer_is_made_anew_to_another_broker() -> None:
    """If the broker goes away during check-out, the whole offer goes to the next one."""
    network = dismissed(config=quick(subscription_lease=3600.0))
    learn(network, 30)
    first = network.nodes[LEAVER].station.broker
    assert first is not None
    network.run(DTT - 2.5)
    network.crash(first)
    network.run(60)
    (second,) = BROKERS - {first}
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert held(network, second) == (30, 30)


def test_without_a_broker_the_tables_wait() -> None:
    """A node that has nobody to hand over to keeps what it holds: it may be the only copy."""
    network = dismissed(config=quick(orphan_patience=1e6))
    learn(network, 4)
    network.crash(1, 2)
    network.run(60)
    assert held(network, LEAVER)[1] == 4
    assert network.nodes[LEAVER].role is Role.CHECKING_OUT


def test_what_the_broker_cannot_keep_ends_the_offer_too() -> None:
    """A broker whose table is full, or to whom a record is too old, is given each record once, not for ever."""
    full = quick(met_events=2, fmt_homes=1)
    network = dismissed(configs={1: full, 2: full})
    learn(network, 10)
    since = network.now
    network.run(DTT + 20)
    assert network.nodes[LEAVER].role is Role.REGULAR
    listings = [frame for datagram, frame in network.frames(Listing, since) if datagram.sender == LEAVER]
    assert len(listings) < 8
    assert network.drops[1, Reason.TABLE_FULL] > 0


def test_who_has_an_event_is_handed_over_once() -> None:
    """Of an event that both hold, the broker is told who has it, and does not ask again though it knows of more."""
    network = dismissed()
    client = network.client("c", at=2)
    client.publish(Event(subject="x", lifetime=600))
    network.run(1)
    (memory,) = network.nodes[1].met
    vector = NodeVector.of([40], network.config.nodes)
    network.nodes[LEAVER].met.deliver(memory.event_id, vector)
    for broker in sorted(BROKERS):
        network.nodes[broker].met.deliver(memory.event_id, NodeVector.of([41], network.config.nodes))
    since = network.now
    network.run(DTT + 5)
    assert network.nodes[LEAVER].role is Role.REGULAR
    assert {40, 41} <= set(network.nodes[1].met.get(memory.event_id).delivered.indexes())  # type: ignore[union-attr]  # held
    asked = [want for datagram, want in network.frames(Want, since) if datagram.to == LEAVER and want.keys]
    assert len(asked) == 1


def test_nothing_is_pushed_the_other_way() -> None:
    """The leaving node asks for nothing and is given nothing: its listings say so."""
    network = dismissed()
    learn(network, 3)
    for broker in sorted(BROKERS):
        network.nodes[broker].fmt.merge(60, 1, [Filter(subject="theirs")], 0.0, network.now)
    since = network.now
    network.run(DTT + 5)
    mine = [frame for datagram, frame in network.frames(Listing, since) if datagram.sender == LEAVER]
    assert mine
    assert all(frame.flags & SyncFlag.OFFER_ONLY for frame in mine)
    assert not [datagram for datagram, _ in network.frames(Records, since) if datagram.to == LEAVER]
    assert network.nodes[LEAVER].role is Role.REGULAR


def test_reappointment_within_dtt_needs_no_inheritance() -> None:
    """A broker dismissed for less than DTT goes on with the tables it has kept: nothing is exchanged."""
    network = dismissed()
    since = network.now
    network.nodes[LEAVER].battery_changed(1.0, network.now)
    network.drain(LEAVER)
    network.run(10)
    assert network.brokers == {0, 1}
    assert not SYNC & set(network.kinds(since))


def test_reappointment_during_check_out_cancels_it() -> None:
    """A broker appointed again while it checks out keeps its tables and offers nothing more."""
    network = dismissed()
    learn(network, 3)
    network.unlink((0, 1), (0, 2), routed=False)
    network.run(DTT + 1)
    assert network.nodes[LEAVER].role is Role.CHECKING_OUT
    network.nodes[LEAVER].battery_changed(1.0, network.now)
    network.drain(LEAVER)
    network.run(network.config.hop_patience)  # repetitions of the offer die out
    since = network.now
    network.run(10)
    assert network.nodes[LEAVER].role is Role.BROKER
    assert held(network, LEAVER) == (3, 3)
    offers = [frame for _, frame in network.frames(Listing, since) if frame.flags & SyncFlag.OFFER_ONLY]
    assert not offers


def test_what_is_the_nodes_own_stays() -> None:
    """After check-out a node still holds the events it published, those its clients took, and its clients' filters."""
    network = FakeNetwork(mesh(3))
    client, other = network.client("c", at=0), network.client("d", at=1)
    client.subscribe(Filter(subject="x"))
    network.run(10)
    client.publish(Event(subject="mine", lifetime=600))
    other.publish(Event(subject="x", lifetime=600))
    other.publish(Event(subject="else", lifetime=600))
    network.run(5)
    assert len(network.nodes[0].met) == 3
    network.nodes[0].battery_changed(0.2, network.now)
    network.drain(0)
    network.run(DTT + 5)
    assert network.nodes[0].role is Role.REGULAR
    assert sorted(memory.event.subject or "" for memory in network.nodes[0].met) == ["mine", "x"]
    assert network.nodes[0].home.interests.announced() == (Filter(subject="x"),)
