"""Brokerage: events that enter the network, and tables that follow what the homes say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import (
    Beacon,
    EventFrame,
    FmtRecord,
    Kind,
    Lease,
    MetRecord,
    Publish,
    Records,
    Store,
    Subscribe,
    Table,
    Unsubscribe,
    Want,
    decode_fmt_record_untrusted,
    encode_record,
)
from chapard.core.config import Group
from chapard.core.effects import Reason
from chapard.core.fmt import key_of
from chapard.core.interests import MAX_VERSION
from chapard.core.roles import Role
from fake_network import QUICK, FakeNetwork, a_beacon, a_vector, chain, grid, mesh, quick, star

if TYPE_CHECKING:
    from chapard.core.fmt import HomeRecord

X, Y = Filter(subject="x"), Filter(subject="y")


def settled(links: set[tuple[int, int]], **settings: object) -> FakeNetwork:
    network = FakeNetwork(links, **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(15)
    return network


def body_of(event: Event, origin: int, sequence: int = 1) -> bytes:
    chain_ = 0 if event.lifetime_ms == 0 else sequence
    return event.accepted(id=event_id(origin, 7, sequence), chain=chain_).encode()


def record(network: FakeNetwork, node: int, home: int) -> HomeRecord:
    found = network.nodes[node].fmt.get(home)
    assert found is not None
    return found


def all_right(network: FakeNetwork) -> bool:
    """Whether every broker's table holds exactly what the homes announce."""
    announced = {node: set(core.home.interests.announced()) for node, core in network.nodes.items()}
    truth = {node: filters for node, filters in announced.items() if filters}
    tables = [
        {home: set(filters) for home, filters in network.nodes[broker].fmt.homes().items() if filters}
        for broker in network.brokers
    ]
    return all(table == truth for table in tables)


# Real-time events


def test_the_root_sends_to_available_subscribers_only() -> None:
    """ASNV = (OR of SNV) and ANV: nodes that match and can be reached; a subscriber out of reach is a recorded loss."""
    network = FakeNetwork(chain(5), nodes=[9])
    network.link((4, 9))
    clients = {node: network.client(f"c{node}", at=node) for node in (2, 3, 9)}
    for each in clients.values():
        each.subscribe(X)
    network.run(15)
    network.unlink((4, 9))
    network.run(10)
    since = network.now
    network.client("p", at=0).publish(Event(subject="x"))
    network.client("q", at=0).publish(Event(subject="nobody's"))
    network.run(3)
    assert {node: len(each.got) for node, each in clients.items()} == {2: 1, 3: 1, 9: 0}
    assert network.lost(Reason.UNREACHABLE) == {(1, 9)}
    assert network.kinds(since)[Kind.EVENT] == 2


def test_the_publishers_home_serves_its_own_clients_itself() -> None:
    """They get the event at once, without a broker, and the broker does not send it back to them."""
    network = settled(chain(4))
    subscriber = network.client("s", at=0)
    subscriber.subscribe(X)
    network.run(3)
    since = network.now
    network.client("p", at=0).publish(Event(subject="x"))
    assert len(subscriber.got) == 1
    network.run(3)
    assert Kind.EVENT not in network.kinds(since)
    assert len(subscriber.got) == 1


def test_an_event_enters_once() -> None:
    """A home that hands over an event twice, as it heard no confirmation, causes one delivery."""
    network = settled(chain(4))
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(3)
    since = network.now
    for _ in range(2):
        network.inject(1, Publish(0, body_of(Event(subject="x"), 0)))
        network.run(1)
    assert len(subscriber.got) == 1
    assert network.kinds(since)[Kind.EVENT] == 2  # one per hop


def test_a_home_publishes_for_itself_only() -> None:
    """An event whose id names another origin than the node that hands it over is refused; so is what is no event."""
    network = settled(chain(3))
    network.inject(1, Publish(0, body_of(Event(subject="x"), 2)))
    assert network.drops[1, Reason.FOREIGN] == 1
    network.inject(1, Publish(0, body_of(Event(subject="x"), 0)[:20]))
    assert network.drops[1, Reason.MALFORMED] == 1


def test_a_broker_serves_its_own_clients_as_root() -> None:
    """The root takes what is for itself before it sends the rest on."""
    network = settled(chain(5))
    subscriber = network.client("s", at=1)
    subscriber.subscribe(X)
    network.run(1)
    network.client("p", at=0).publish(Event(subject="x"))
    network.run(1)
    assert len(subscriber.got) == 1


def test_a_dismissed_broker_passes_a_memorised_event_to_the_one_that_serves() -> None:
    """A home that has not noticed the dismissal loses nothing by it."""
    network = settled(mesh(4))
    network.nodes[0].battery_changed(0.2, network.now)
    network.drain(0)
    network.run(2)
    assert network.nodes[0].role is Role.DISMISSED
    network.inject(0, Publish(3, body_of(Event(subject="x", lifetime=60), 3)))
    network.run(1)
    assert {node for node, core in network.nodes.items() if len(core.met)} == {0, 1, 2}


def test_real_time_events_are_not_stored() -> None:
    """A STORE, or a record, of a real-time event is no memorised event."""
    network = settled(chain(3))
    body = body_of(Event(subject="x"), 0)
    network.inject(1, Store(0, 0, b"", body))
    assert network.drops[1, Reason.FOREIGN] == 1
    network.inject(1, Records(0, Table.MET, (encode_record(MetRecord(0, b"", body)),), 0))
    assert len(network.nodes[1].met) == 0


def test_what_cannot_be_decoded_is_counted() -> None:
    """A body or a record that is none leaves the tables as they are."""
    network = settled(chain(3))
    cut = body_of(Event(subject="x", lifetime=60), 0)[:20]
    network.inject(1, Store(0, 0, b"", cut))
    network.inject(1, Records(0, Table.MET, (b"\xc0", encode_record(MetRecord(0, b"", cut))), 0))
    network.inject(1, Records(0, Table.FMT, (b"\x90",), 0))
    assert network.drops[1, Reason.MALFORMED] == 4
    assert (len(network.nodes[1].met), len(network.nodes[1].fmt)) == (0, 0)


# Groups


MEMBERS = quick(groups={"crew": Group(nodes=frozenset({0}), clients=frozenset({"member"}))})


def test_a_member_publishes_to_its_group() -> None:
    """A client that is a member, on a node that is: real-time and memorised events arrive."""
    network = settled(chain(3), config=MEMBERS)
    subscriber, member = network.client("s", at=2), network.client("member", at=0)
    subscriber.subscribe(Filter(group="crew"))
    network.run(3)
    member.publish(Event(group="crew"))
    member.publish(Event(group="crew", lifetime=60))
    network.run(3)
    assert len(subscriber.got) == 2


def test_the_home_refuses_a_client_that_is_no_member() -> None:
    """The publisher is told, and nothing leaves the node."""
    network = settled(chain(3), config=MEMBERS)
    stranger = network.client("stranger", at=0)
    since = network.now
    number = stranger.publish(Event(group="crew"))
    network.run(1)
    assert "crew" in stranger.refusals[number]
    assert Kind.PUBLISH not in network.kinds(since)


@pytest.mark.parametrize("lifetime", [0, 60])
def test_a_broker_refuses_a_home_that_is_no_member(lifetime: float) -> None:
    """A home that lets anybody publish does not get past a broker that knows the group (report 2.2.3)."""
    network = settled(chain(5), configs=dict.fromkeys((1, 2, 3), MEMBERS))
    subscriber = network.client("s", at=4)
    subscriber.subscribe(Filter(group="crew"))
    network.run(3)
    network.client("stranger", at=4).publish(Event(group="crew", lifetime=lifetime))
    network.client("outsider", at=0).publish(Event(group="crew", lifetime=lifetime, payload=b"node 0 is a member"))
    network.run(3)
    assert network.drops[3, Reason.NOT_MEMBER] == 1
    assert [event.payload for event in subscriber.got if event.sender == 0] == [b"node 0 is a member"]
    assert all(memory.event.sender == 0 for broker in network.brokers for memory in network.nodes[broker].met)


def test_no_broker_takes_a_strangers_event_from_another_broker() -> None:
    """Flooded or handed over in an integrity check: membership is checked wherever an event comes in."""
    network = settled(chain(3), config=MEMBERS)
    body = body_of(Event(group="crew", lifetime=60), 2)
    network.inject(1, Store(0, 60_000, b"", body))
    network.inject(1, Records(0, Table.MET, (encode_record(MetRecord(60_000, b"", body)),), 0))
    assert len(network.nodes[1].met) == 0
    assert network.drops[1, Reason.NOT_MEMBER] == 2


def test_a_group_nobody_configured_is_open() -> None:
    """Without an entry in the configuration anybody may publish to a group."""
    network = settled(chain(3), config=MEMBERS)
    subscriber = network.client("s", at=2)
    subscriber.subscribe(Filter(group="club"))
    network.run(3)
    network.client("anybody", at=1).publish(Event(group="club"))
    network.run(1)
    assert len(subscriber.got) == 1


# Filters


def test_a_subscription_reaches_every_broker_and_no_other_node() -> None:
    """Home to broker, flooded by the brokers, each relaying once; regular nodes hold no tables."""
    network = settled(grid(3))
    since = network.now
    network.client("s", at=0).subscribe(X)
    network.run(3)
    holders = {node for node, core in network.nodes.items() if core.fmt.homes() == {0: (X,)}}
    assert holders == network.brokers
    assert network.kinds(since)[Kind.SUBSCRIBE] <= 1 + len(network.brokers)


def test_an_unsubscription_reaches_every_broker() -> None:
    """And a filter that it covered is announced in its place."""
    network = settled(chain(5))
    client = network.client("s", at=0)
    wide = client.subscribe(X)
    client.subscribe(Filter.parse('subject = "x" and level > 3'))
    network.run(3)
    assert all(network.nodes[broker].fmt.homes() == {0: (X,)} for broker in network.brokers)
    client.unsubscribe(wide)
    network.run(3)
    assert all_right(network)
    assert Kind.UNSUBSCRIBE in network.kinds()


def test_a_missed_unsubscription_does_not_come_back_to_life() -> None:
    """A partition that still holds the old filters merges with one that holds the new version: the new one wins."""
    network = settled(chain(6))
    client = network.client("s", at=0)
    old = client.subscribe(X)
    client.subscribe(Y)
    network.run(5)
    network.unlink((2, 3))
    client.unsubscribe(old)
    network.run(10)
    assert set(record(network, 4, 0).filters) == {X, Y}
    network.link((2, 3))
    network.run(20)
    assert all(record(network, broker, 0).filters == (Y,) for broker in network.brokers)


def test_a_change_to_an_unknown_version_asks_for_the_whole_record() -> None:
    """A broker that missed a step (GAP) asks whoever told it, and is right afterwards."""
    network = settled(chain(2))
    client = network.client("s", at=0)
    for number in range(3):
        client.subscribe(Filter(subject=f"s{number}"))
    network.run(3)
    network.nodes[1].fmt.forget(0)
    since = network.now
    client.subscribe(Filter(subject="s3"))
    network.run(0.01)
    assert [want.keys for _, want in network.frames(Want, since)] == [(key_of(0),)]
    assert set(record(network, 1, 0).filters) == {Filter(subject=f"s{number}") for number in range(4)}


def test_an_old_version_is_counted_and_ignored() -> None:
    """A SUBSCRIBE or UNSUBSCRIBE below the known version changes nothing."""
    network = settled(chain(2))
    network.inject(1, Subscribe(0, 40, 10, 0, (X,)))
    network.inject(1, Subscribe(0, 40, 9, 0, (Y,)))
    network.inject(1, Unsubscribe(0, 40, 8, 7, (X,)))
    assert network.nodes[1].fmt.homes() == {40: (X,)}
    assert network.drops[1, Reason.STALE] == 2


def test_a_flood_is_relayed_once() -> None:
    """The same SUBSCRIBE from a second neighbour is known, and goes no further."""
    network = settled(chain(6))
    change = Subscribe(1, 40, 10, 0, (X,))
    since = network.now
    network.inject(2, change)
    network.inject(2, change._replace(sender=3))
    network.run(0.1)
    assert [datagram.sender for datagram, _ in network.frames(Subscribe, since)] == [2, 3]


def test_a_version_beyond_reason_is_refused() -> None:
    """No home could ever raise its own above it, so it would stand for ever; a table that holds one drops it."""
    network = settled(chain(2))
    client = network.client("s", at=0)
    client.subscribe(X)
    network.run(3)
    network.inject(1, Subscribe(0, 0, MAX_VERSION + 5, 0, (Y,)))
    network.inject(1, Records(0, Table.FMT, (encode_record(FmtRecord(0, MAX_VERSION + 5, 0, (Y,))),), 0))
    assert network.drops[1, Reason.MALFORMED] == 2
    network.nodes[1].fmt.merge(0, MAX_VERSION + 5, [Y], 0.0, network.now)
    network.run(QUICK.subscription_lease / 3 + QUICK.refresh_period)
    assert all_right(network)


def test_a_table_without_room_refuses_new_homes_on_record() -> None:
    """Beyond fmt_homes a home is not taken, and that is counted."""
    network = settled(chain(2), config=quick(fmt_homes=1))
    for home in (40, 41):
        network.inject(1, Subscribe(0, home, 10, 0, (X,)))
    assert len(network.nodes[1].fmt) == 1
    assert network.drops[1, Reason.TABLE_FULL] == 1


def test_a_dismissed_broker_listens_but_relays_nothing() -> None:
    """Its tables stay right until it checks out; the flood is others' business."""
    network = settled(mesh(4))
    network.nodes[0].battery_changed(0.2, network.now)
    network.drain(0)
    network.run(2)
    since = network.now
    network.client("s", at=3).subscribe(X)
    network.run(1)
    assert network.nodes[0].role is Role.DISMISSED
    assert network.nodes[0].fmt.homes() == {3: (X,)}
    assert not [datagram for datagram, _ in network.frames(Subscribe, since) if datagram.sender == 0]


# Refresh


def test_the_chosen_broker_asks_a_home_whose_beacon_differs() -> None:
    """Version and digest in the beacon are the truth; the home's own broker asks for what differs, the others wait."""
    network = settled(mesh(4))
    network.client("s", at=3).subscribe(X)
    network.run(5)
    broker = network.nodes[3].station.broker
    for node in (0, 1):
        network.nodes[node].fmt.forget(3)
    since = network.now
    network.run(QUICK.refresh_period + 1)
    asked = [datagram for datagram, want in network.frames(Want, since) if key_of(3) in want.keys and datagram.to == 3]
    assert {datagram.sender for datagram in asked} == {broker}
    assert all_right(network)


def test_other_filters_under_the_same_version_are_noticed() -> None:
    """The digest tells: a table that was corrupted without a change of version is put right by the home."""
    network = settled(star(4))
    network.client("s", at=3).subscribe(X)
    network.run(5)
    for broker in sorted(network.brokers):
        version = record(network, broker, 3).version
        network.nodes[broker].fmt.forget(3)
        network.nodes[broker].fmt.merge(3, version, [Y], 0.0, network.now)
    network.run(3 * QUICK.refresh_period)
    assert all_right(network)


def test_a_home_goes_above_a_version_it_never_gave() -> None:
    """Somebody holds a higher version with other filters: the home raises its own above it, and that prevails."""
    network = settled(chain(4))
    network.client("s", at=0).subscribe(X)
    network.run(5)
    network.nodes[2].fmt.merge(0, 2**50, [Y], 0.0, network.now)
    network.run(3 * QUICK.refresh_period)
    assert all_right(network)
    assert record(network, 1, 0).version > 2**50


@pytest.mark.parametrize("version", [1, 2**50])
def test_a_broker_is_the_authority_on_its_own_filters(version: int) -> None:
    """Whatever its own table, or another broker, says about it, below or above: its clients' filters stand."""
    network = settled(chain(4))
    network.client("s", at=1).subscribe(X)
    network.run(5)
    for broker in (1, 2):
        network.nodes[broker].fmt.forget(1)
        network.nodes[broker].fmt.merge(1, version, [Y], 0.0, network.now)
    network.run(3 * QUICK.refresh_period)
    assert all_right(network)


def test_a_record_of_ourselves_is_taken_as_a_contradiction_at_most() -> None:
    """Another node's record of our own filters never replaces them; if it is not above ours it changes nothing."""
    network = settled(chain(2))
    network.client("s", at=1).subscribe(X)
    network.run(3)
    version = network.nodes[1].home.interests.version
    for claimed in (version - 1, version, version + 7):
        claim = encode_record(FmtRecord(1, claimed, 0, (X,) if claimed == version else (Y,)))
        network.inject(1, Records(0, Table.FMT, (claim,), 0))
        assert network.nodes[1].fmt.homes()[1] == (X,)
    assert network.nodes[1].home.interests.version == version + 8


def test_a_merge_is_told_at_once_and_a_repair_is_not() -> None:
    """What is learnt from a new contact is flooded to the partition; what an old one hands over is mended pairwise."""
    network = settled(chain(5))
    news = Records(0, Table.FMT, (encode_record(FmtRecord(40, 3, 0, (X,))),), 0)
    network.run(QUICK.merge_window)
    since = network.now
    old = body_of(Event(subject="x", lifetime=60), 39)
    network.inject(2, news._replace(sender=1))
    network.inject(2, Records(1, Table.MET, (encode_record(MetRecord(60_000, b"", old)),), 0))
    network.run(0.1)
    assert 40 in network.nodes[2].fmt.homes()
    assert len(network.nodes[2].met) == 1
    assert not {Kind.SUBSCRIBE, Kind.STORE} & set(network.kinds(since))
    network.inject(2, a_beacon(9, is_broker=True))
    network.inject(2, news._replace(sender=9, records=(encode_record(FmtRecord(41, 3, 0, (X,))),)))
    network.run(0.1)
    assert Kind.SUBSCRIBE in network.kinds(since)
    event = body_of(Event(subject="x", lifetime=60), 40)
    network.inject(2, Records(9, Table.MET, (encode_record(MetRecord(60_000, b"", event)),), 0))
    network.run(0.1)
    assert Kind.STORE in network.kinds(since)


def test_what_an_unheard_broker_gives_is_a_merge_too() -> None:
    """A broker whose beacon is still to come has met us this moment: what it knows is news to our partition."""
    network = settled(chain(5))
    network.run(QUICK.merge_window)
    since = network.now
    event = body_of(Event(subject="x", lifetime=60), 40)
    network.inject(2, Records(9, Table.MET, (encode_record(MetRecord(60_000, b"", event)),), 0))
    network.run(0.1)
    assert Kind.STORE in network.kinds(since)


# Leases


LEASE = quick(subscription_lease=24.0)


def test_a_home_that_returns_within_its_lease_finds_its_filters() -> None:
    """A home that leaves the view keeps its filters: real-time events reach it as soon as it is back."""
    network = settled(chain(4), config=LEASE)
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(5)
    network.unlink((2, 3))
    network.run(10)
    assert all(3 in network.nodes[broker].fmt.homes() for broker in network.brokers - {3})
    network.link((2, 3))
    network.run(0.1)
    network.client("p", at=0).publish(Event(subject="x"))
    network.run(1)
    assert len(subscriber.got) == 1


def test_a_home_nobody_hears_of_loses_its_filters_after_the_lease() -> None:
    """All brokers forget it, at about the same time: ages travel with the records, and nobody makes them younger."""
    network = settled(chain(6), config=LEASE)
    network.client("s", at=5).subscribe(X)
    network.run(5)
    network.unlink((4, 5))
    network.run(LEASE.subscription_lease - 8)
    assert all(5 in network.nodes[broker].fmt.homes() for broker in (1, 2, 3))
    network.run(8 + 2 * LEASE.refresh_period)
    assert not any(5 in network.nodes[broker].fmt.homes() for broker in (1, 2, 3, 4))


def test_a_home_that_is_there_keeps_its_filters() -> None:
    """In every broker, however far, for many leases; the renewals cost one flood per broker and third of a lease."""
    network = settled(chain(7), config=LEASE)
    network.client("s", at=0).subscribe(X)
    since = network.now
    network.run(5 * LEASE.subscription_lease)
    assert all_right(network)
    brokers = len(network.brokers)
    assert network.kinds(since)[Kind.LEASE] <= brokers * brokers * 16
    assert Kind.WANT not in network.kinds(since)


def test_a_homes_beacon_renews_its_lease() -> None:
    """At every broker that hears it, whichever it has chosen: the record is no older than a refresh period."""
    network = settled(mesh(4))
    network.client("s", at=3).subscribe(X)
    network.run(4.5)  # before the first LEASE
    assert Kind.LEASE not in network.kinds()
    for broker in (0, 1):
        encoded = network.nodes[broker].fmt.encoded(key_of(3), network.now + QUICK.refresh_period)
        assert encoded is not None
        assert decode_fmt_record_untrusted(encoded, QUICK.nodes).age_ms <= 2000 * QUICK.refresh_period
    network.run(0.4)
    network.inject(0, *[beacon for datagram, beacon in network.frames(Beacon) if datagram.sender == 3][-1:])
    encoded = network.nodes[0].fmt.encoded(key_of(3), network.now)
    assert encoded is not None
    assert decode_fmt_record_untrusted(encoded, QUICK.nodes).age_ms == 0


def test_a_lease_is_relayed_once_and_renews_the_homes_it_names() -> None:
    """A LEASE with a number that is not above the last of its broker is a duplicate, as is a broker's own."""
    network = settled(chain(6))
    network.inject(2, Subscribe(1, 40, 10, 0, (X,)))
    network.run(2)
    since = network.now
    lease = Lease(1, 1, 2**40, a_vector([40]))
    network.inject(2, lease)
    network.inject(2, lease._replace(sender=3))
    network.inject(2, lease._replace(broker=2))
    network.run(0.1)
    assert [datagram.sender for datagram, _ in network.frames(Lease, since)] == [2, 3]
    assert network.drops[2, Reason.DUPLICATE] == 3  # the two above, and what node 3 relayed
    network.run(QUICK.subscription_lease - 3)
    assert 40 in network.nodes[2].fmt.homes()
    network.run(4)
    assert 40 not in network.nodes[2].fmt.homes()


def test_a_home_whose_renewals_were_all_lost_is_asked() -> None:
    """Floods are not repeated; before a lease ends a broker asks the next one on the way to the home."""
    network = settled(chain(5), config=LEASE)
    network.client("s", at=0).subscribe(X)
    network.run(3)
    fmt = network.nodes[3].fmt
    version, filters = record(network, 3, 0).version, record(network, 3, 0).filters
    fmt.forget(0)
    fmt.merge(0, version, filters, 0.8 * LEASE.subscription_lease, network.now)
    since = network.now
    network.run(2)
    assert [datagram.to for datagram, want in network.frames(Want, since) if want.keys == (key_of(0),)] == [2]
    network.run(LEASE.subscription_lease / 3)
    assert 0 in fmt.homes()


def test_after_the_lease_an_event_is_no_longer_kept_for_the_home() -> None:
    """Who has lost its filters wants nothing: brokers do not serve it from their memory until it subscribes again."""
    network = settled(chain(4), config=LEASE)
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(5)
    network.unlink((2, 3))
    network.client("p", at=0).publish(Event(subject="x", lifetime=600))
    network.run(3 * LEASE.subscription_lease)
    assert all(not memory.wanted[3] for memory in network.nodes[1].met)
    network.link((2, 3))
    network.run(10)
    assert len(subscriber.got) == 1


def test_beacons_of_brokers_carry_what_their_tables_hold() -> None:
    """After a subscription the digests of all brokers agree, and the counts are those of the tables."""
    network = settled(grid(3))
    for node in (0, 4, 8):
        network.client(f"s{node}", at=node).subscribe(X)
    network.run(10)
    last: dict[int, Beacon] = {}
    for datagram, beacon in network.frames(Beacon):
        last[datagram.sender] = beacon
    assert {(last[broker].fmt_count, last[broker].fmt_digest) for broker in network.brokers} == {
        (3, network.nodes[4].fmt.tree.root)
    }
    assert sum(1 for _ in network.frames(EventFrame)) == 0
