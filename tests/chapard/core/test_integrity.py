"""Integrity: what two brokers hold becomes the same, at a cost that follows the difference and not the table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapar.event import event_id, origin_of, peek_id
from chapar.wire import (
    Beacon,
    Delivered,
    Digests,
    FmtRecord,
    Kind,
    Listing,
    Records,
    Store,
    SyncFlag,
    Table,
    Want,
    decode_met_record_untrusted,
    decode_untrusted,
    encode_record,
)
from chapard.core.effects import Transmit
from chapard.core.fmt import FMT, key_of
from chapard.core.integrity import SMALL_TABLE, STEP_IN, WANT_KEYS, Integrity
from chapard.core.links import Links
from chapard.core.met import MET
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet
from chapard.core.station import Station
from fake_network import QUICK, FakeNetwork, a_beacon, chain, quick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.wire import Frame
    from chapard.core.config import Config
    from chapard.core.node import Node

LARGE = quick(nodes=4096, met_events=12_000, fmt_homes=4096, subscription_lease=36_000.0)
NOW = 100.0
EVENTS = 10_000
HOMES = 4_000
BUDGET = 1500
"""Bytes on the air, headers included, in which one differing record is found and mended."""


def an_event(number: int, *, origin: int = 9, lifetime: float = 36_000) -> Event:
    event = Event(subject="x", payload=b"%032d" % number, lifetime=lifetime)
    return event.accepted(id=event_id(origin, 1, number), chain=number)


def keep(network: FakeNetwork, node: int, event: Event, delivered: Iterable[int] = ()) -> None:
    """Let a node hold an event, as if the network had told it before."""
    core = network.nodes[node]
    homes = vector(delivered, core.config)
    core.replicated.memorised.store(event, event.encode(), event.lifetime_ms, homes, network.now)
    network.drain(node)


def vector(nodes: Iterable[int], config: Config = QUICK) -> NodeVector:
    return NodeVector.of(nodes, config.nodes)


def learn(network: FakeNetwork, node: int, home: int, version: int, *subjects: str) -> None:
    """Let a node hold the filters of a home that nobody hears."""
    network.nodes[node].fmt.merge(home, version, [Filter(subject=each) for each in subjects], 0.0, network.now)


def tables(node: Node) -> tuple[dict[int, tuple[Filter, ...]], dict[bytes, list[int]]]:
    return node.fmt.homes(), {memory.event_id: memory.delivered.indexes() for memory in node.met}


def apart(config: Config = QUICK) -> FakeNetwork:
    """Two brokers that do not hear each other."""
    return FakeNetwork(nodes=[0, 1], config=config)


def exchanged(network: FakeNetwork, since: float = 0.0) -> set[Kind]:
    """The kinds of frames that crossed the air, beacons and confirmations aside."""
    return set(network.kinds(since)) - {Kind.BEACON, Kind.LINK, Kind.ACK, Kind.LEASE}


# Cost


@pytest.fixture(scope="module")
def large() -> FakeNetwork:
    """Two brokers in contact with the same 10 000 events and the filters of 4 000 homes."""
    network = FakeNetwork(nodes=[0, 1], config=LARGE)
    events = [an_event(1 + at // 40, origin=2 + at % 40) for at in range(EVENTS)]
    for node in network.nodes:
        for event in events:
            keep(network, node, event, delivered=[event.id[1] if event.id else 0])
        for home in range(2, 2 + HOMES):
            learn(network, node, home, 5, f"subject {home}")
    network.link((0, 1))
    network.run(20)
    return network


def part(network: FakeNetwork) -> None:
    network.unlink((0, 1))
    network.run(QUICK.contact_periods * QUICK.refresh_period)


def heal(network: FakeNetwork) -> int:
    """Bring the two in contact; the cost of all that is not a beacon."""
    since = network.now
    network.link((0, 1))
    network.run(20)
    assert tables(network.nodes[0]) == tables(network.nodes[1])
    assert (len(network.nodes[0].met), len(network.nodes[0].fmt)) == (EVENTS, HOMES)
    return network.cost(since, without=Kind.BEACON)


def forget_event(network: FakeNetwork, node: int, number: int) -> None:
    gone = event_id(2 + number % 40, 1, 1 + number // 40)
    network.nodes[node].met.keep_only(lambda memory: memory.event_id != gone)


def test_equal_tables_cost_nothing_beyond_beacons(large: FakeNetwork) -> None:
    """Two brokers with 10 000 equal records send beacons only, at first contact and later, and those do not grow."""
    part(large)
    assert heal(large) == 0
    since = large.now
    large.run(100)
    assert exchanged(large, since) == set()
    assert max(len(datagram.data) for datagram, _ in large.frames(Beacon, since)) < 60


@pytest.mark.parametrize("side", [0, 1])
def test_one_event_missing_among_ten_thousand_is_cheap(large: FakeNetwork, side: int) -> None:
    """It costs under 1500 bytes in all, whichever side lacks it."""
    part(large)
    forget_event(large, side, 4711)
    assert 0 < heal(large) < BUDGET


@pytest.mark.parametrize("side", [0, 1])
def test_one_home_missing_among_thousands_is_cheap(large: FakeNetwork, side: int) -> None:
    """It costs under 1500 bytes in all, whichever side lacks it."""
    part(large)
    large.nodes[side].fmt.forget(1234)
    assert 0 < heal(large) < BUDGET


def test_a_changed_record_is_as_cheap_as_a_missing_one(large: FakeNetwork) -> None:
    """A newer version of one home's filters costs no more, nor does one more home that has an event."""
    part(large)
    known = large.nodes[0].fmt.get(77)
    assert known is not None
    learn(large, 0, 77, known.version + 1, "another")
    assert 0 < heal(large) < BUDGET
    part(large)
    large.nodes[1].met.deliver(event_id(2, 1, 1), vector([60], LARGE))
    assert 0 < heal(large) < BUDGET


def test_inheritance_costs_little_more_than_the_records() -> None:
    """A broker without tables gets 400 events once, for at most 15 % and a kilobyte more than their bytes."""
    network = apart()
    for number in range(1, 401):
        keep(network, 0, an_event(number))
    since = network.now
    network.link((0, 1))
    network.run(20)
    met = network.nodes[0].met
    records = sum(len(met.encoded(memory.event_id, network.now) or b"") for memory in met)
    assert len(network.nodes[1].met) == 400
    assert network.cost(since, without=Kind.BEACON) < 1.15 * records + 1000


# When


def test_new_contacts_compare_at_once() -> None:
    """Two brokers that hear each other for the first time exchange tables within a beacon, before routing knows."""
    network = apart()
    learn(network, 0, 7, 3, "x")
    keep(network, 1, an_event(1))
    network.run(60)
    since = network.now
    network.link((0, 1), routed=False)
    while tables(network.nodes[0]) != tables(network.nodes[1]):
        network.run(0.1)
        assert network.now - since < QUICK.refresh_period
    first_beacon = min(datagram.t for datagram, _ in network.frames(Beacon, since))
    assert network.now - first_beacon < 0.2


def test_a_difference_between_acquaintances_is_given_time_to_settle() -> None:
    """Old contacts compare after sync_delay: a flood in flight may make the difference disappear."""
    network = FakeNetwork(chain(2))
    network.run(20)
    since = network.now
    network.inject(0, a_beacon(1, is_broker=True, broker=1)._replace(fmt_digest=5))
    network.run(2 * QUICK.sync_delay)
    assert min(datagram.t for datagram, _ in network.frames(Listing, since)) - since >= QUICK.sync_delay


def test_a_repair_travels_on_at_once() -> None:
    """A broker whose table was mended beacons soon: a difference crosses many brokers in little more than a refresh."""
    network = FakeNetwork(chain(8))
    network.run(30)
    learn(network, 1, 40, 3, "x")
    network.run(QUICK.refresh_period + 5 * (QUICK.beacon_min + QUICK.sync_delay))
    assert all(40 in network.nodes[broker].fmt.homes() for broker in range(1, 7))


def test_a_difference_that_settles_causes_no_exchange() -> None:
    """If digests agree again before the delay is over, nothing is compared."""
    network = FakeNetwork(chain(2))
    network.run(20)
    since = network.now
    node = network.nodes[0]
    beacon = a_beacon(1, is_broker=True, broker=1)
    network.inject(0, beacon._replace(fmt_digest=5))
    network.inject(0, beacon._replace(fmt_digest=node.fmt.tree.root))
    network.run(QUICK.sync_delay * 2)
    assert exchanged(network, since) == set()


def test_the_lower_index_starts_and_the_higher_steps_in() -> None:
    """The lower of two brokers opens the exchange; if it does not, the higher does a moment later."""
    network = FakeNetwork(nodes=[4, 5])
    learn(network, 4, 7, 3, "x")
    learn(network, 5, 8, 3, "x")
    network.link((4, 5))
    network.run(10)
    assert next(iter(network.frames(Listing)))[0].sender == 4
    deaf = FakeNetwork(nodes=[4, 5])
    learn(deaf, 5, 8, 3, "x")
    deaf.run(10)
    since = deaf.now
    deaf.inject(5, a_beacon(4, is_broker=True, broker=4)._replace(fmt_digest=99))
    deaf.run(2)
    first = min(datagram.t for datagram, _ in deaf.frames(Listing))
    assert first - since == pytest.approx(STEP_IN, abs=0.01)


def test_records_are_given_in_their_publishers_order() -> None:
    """However the buckets lie, nothing given waits at the other side for what is given after it."""
    network = apart()
    for number in range(1, 60):
        keep(network, 0, an_event(number))
    keep(network, 1, an_event(1, origin=8))
    network.run(10)
    network.link((0, 1))
    network.run(10)
    batches = [frame.records for _, frame in network.frames(Records) if frame.table == Table.MET]
    given = [decode_met_record_untrusted(each, QUICK.nodes) for records in batches for each in records]
    chains = [Event.decode_untrusted(record.body).chain for record in given if origin_of(peek_id(record.body)) == 9]
    assert chains == list(range(1, 60))


def test_a_missing_predecessor_that_comes_in_time_is_not_asked_for() -> None:
    """Floods overtake each other: a gap that has closed by the time of asking costs nothing."""
    network = FakeNetwork(chain(4), config=quick(refresh_period=60.0, subscription_lease=600.0))
    network.run(300)
    first, second = an_event(1), an_event(2)
    since = network.now
    network.inject(1, Store(2, 60_000, b"", second.encode()))
    network.inject(1, Store(2, 60_000, b"", first.encode()))
    network.run(QUICK.sync_delay + 0.1)
    assert not exchanged(network, since)
    network.inject(1, Store(2, 60_000, b"", an_event(4).encode()))
    network.run(QUICK.sync_delay + 0.1)
    assert exchanged(network, since)


def test_regular_nodes_do_not_compare() -> None:
    """A peer that is no broker states no digests and is not compared with; a node without tables answers no listing."""
    network = FakeNetwork(chain(5))
    network.run(20)
    since = network.now
    network.inject(0, Listing(1, Table.FMT, (), ((key_of(3), 9),), SyncFlag.WHOLE))
    network.inject(1, a_beacon(0, broker=1)._replace(fmt_digest=5))
    network.run(1)
    assert exchanged(network, since) == set()


# What is exchanged


def test_a_small_table_is_listed_at_once() -> None:
    """Up to SMALL_TABLE entries are all listed instead of digests, and the other side gives all that is missing."""
    network = apart()
    for home in range(10, 10 + SMALL_TABLE):
        learn(network, 0, home, 1, "x")
    network.link((0, 1))
    network.run(10)
    assert len(network.nodes[1].fmt) == SMALL_TABLE
    assert Kind.DIGESTS not in network.kinds()
    learn(network, 0, 60, 1, "x")
    part(network)
    learn(network, 1, 61, 1, "x")
    network.link((0, 1))
    network.run(10)
    assert tables(network.nodes[0]) == tables(network.nodes[1])
    assert Kind.DIGESTS in network.kinds()


def test_of_a_homes_filters_the_higher_version_wins() -> None:
    """Both ways: each side ends up with the higher version of each home, never with a union of the filters."""
    network = apart()
    learn(network, 0, 7, 3, "old")
    learn(network, 1, 7, 4, "new")
    learn(network, 0, 8, 9, "new")
    learn(network, 1, 8, 2, "old", "older")
    network.link((0, 1))
    network.run(10)
    for node in network.nodes.values():
        assert node.fmt.homes() == {7: (Filter(subject="new"),), 8: (Filter(subject="new"),)}


@pytest.mark.parametrize("homes", [1, 200])
def test_two_copies_of_one_version_that_differ_are_exchanged(homes: int) -> None:
    """Where no stamp differs but the content does, both copies travel and one of them prevails on both sides."""
    config = quick(nodes=512)
    network = apart(config)
    for home in range(2, 2 + homes):
        learn(network, 0, home, 3, "x" if home > 2 else "one")
        learn(network, 1, home, 3, "x" if home > 2 else "other")
    network.link((0, 1))
    network.run(20)
    assert network.nodes[0].fmt.homes() == network.nodes[1].fmt.homes()
    assert network.nodes[0].fmt.tree.root == network.nodes[1].fmt.tree.root


def test_delivered_vectors_are_merged_without_sending_the_events() -> None:
    """Of an event that both hold, only who has it is exchanged, and the two vectors merge by OR."""
    network = apart()
    keep(network, 0, an_event(1), delivered=[5])
    keep(network, 1, an_event(1), delivered=[6])
    network.link((0, 1))
    network.run(10)
    for node in network.nodes.values():
        assert [memory.delivered.indexes() for memory in node.met] == [[5, 6]]
    assert {Kind.RECORDS, Kind.STORE} & set(network.kinds()) == set()
    assert sum(1 for _ in network.frames(Delivered)) >= 2


def test_an_event_that_is_over_is_not_taken_again() -> None:
    """A broker that has seen an event expire does not ask for it, though another still holds it."""
    network = apart()
    keep(network, 1, an_event(1, lifetime=3))
    network.run(5)
    keep(network, 0, an_event(1, lifetime=60))
    since = network.now
    network.link((0, 1))
    network.run(10)
    assert len(network.nodes[1].met) == 0
    assert Kind.WANT not in network.kinds(since)


def test_a_listing_in_one_direction_wants_nothing() -> None:
    """OFFER_ONLY: the listing side is asked for what is missing, always answered, and given nothing."""
    network = FakeNetwork(chain(2))
    network.run(10)
    learn(network, 0, 30, 5, "mine")
    learn(network, 0, 31, 5, "mine")
    since = network.now
    offered = ((key_of(31), 6), (key_of(32), 1), (key_of(30), 4))
    network.inject(0, Listing(1, Table.FMT, (), offered, SyncFlag.OFFER_ONLY))
    network.inject(0, Listing(1, Table.FMT, (), ((key_of(30), 4),), SyncFlag.OFFER_ONLY))
    wants = [frame for datagram, frame in network.frames(Want, since) if datagram.sender == 0]
    assert [want.keys for want in wants] == [(key_of(31), key_of(32)), ()]
    assert wants[0].stamps == (5, 0)
    assert not list(network.frames(Records, since))


def test_equal_offered_tables_are_confirmed() -> None:
    """A node that offers digests which are all equal is told so: it waits for the word to drop its tables."""
    network = FakeNetwork(chain(2))
    network.run(10)
    since = network.now
    tree = network.nodes[0].fmt.tree
    network.inject(0, Digests(1, Table.FMT, 0, 0, 40, tree.groups(), SyncFlag.OFFER_ONLY))
    ((_, answer),) = network.frames(Digests, since)
    assert (answer.level, answer.flags) == (0, SyncFlag.OFFER_ONLY | SyncFlag.REPLY)


def test_one_frame_asks_for_so_much_and_no_more() -> None:
    """A listing of any length is answered by a WANT of at most WANT_KEYS keys; the next beacon brings the rest."""
    network = FakeNetwork(chain(2), config=quick(mtu=65_000))  # one datagram for all that
    network.run(10)
    since = network.now
    entries = tuple((bytes(event_id(9, 1, number)), 1) for number in range(WANT_KEYS + 50))
    network.inject(0, Listing(1, Table.MET, (), entries, SyncFlag.OFFER_ONLY))
    assert [len(want.keys) for _, want in network.frames(Want, since)] == [WANT_KEYS]


def test_large_differences_are_asked_for_piece_by_piece() -> None:
    """More than WANT_KEYS missing records take several exchanges, and all arrive."""
    network = apart(quick(met_events=8000))
    for number in range(1, 4 * WANT_KEYS):
        keep(network, 1, an_event(number))
    keep(network, 0, an_event(9999, origin=8))
    network.link((0, 1))
    network.run(60)
    assert tables(network.nodes[0]) == tables(network.nodes[1])
    assert all(len(want.keys) <= WANT_KEYS for _, want in network.frames(Want))


def test_own_filters_are_not_given_from_the_table() -> None:
    """Asked for its own filters, a node states them itself, above whatever version was held; its table has no say."""
    network = FakeNetwork(chain(2))
    client = network.client("c", at=0)
    client.subscribe(Filter(subject="true"))
    network.run(10)
    learn(network, 0, 0, 2**40, "false")
    network.inject(0, Want(1, Table.FMT, (key_of(0),), (2**41,)))
    network.run(10)
    for node in network.nodes.values():
        record = node.fmt.get(0)
        assert record is not None
        assert record.version > 2**41
        assert record.filters == (Filter(subject="true"),)


# Tables that cannot become equal


def unequal(small: int) -> FakeNetwork:
    """Two brokers of which one has no room for most of the events that the other holds."""
    network = FakeNetwork(nodes=[0, 1], configs={small: quick(met_events=50)})
    for number in range(1, 201):
        keep(network, 1 - small, an_event(number))
    network.link((0, 1))
    network.run(200)
    assert {len(node.met) for node in network.nodes.values()} == {50, 200}
    return network


@pytest.mark.parametrize("small", [0, 1])
def test_what_a_peer_cannot_keep_is_not_sent_to_it_for_ever(small: int) -> None:
    """No record travels any more, and comparisons that bring nothing are at most 32 refresh periods apart."""
    network = unequal(small)
    since = network.now
    network.run(100 * QUICK.refresh_period)
    assert Kind.RECORDS not in network.kinds(since)
    opened = [frame for _, frame in network.frames(Digests, since) if frame.level == 0]
    assert 3 <= len(opened) <= 8


def test_one_hopeless_table_does_not_delay_the_other() -> None:
    """While the events of two brokers differ for good, their filters are mended as soon as ever."""
    network = unequal(1)
    learn(network, 1, 40, 1, "x")
    network.run(QUICK.refresh_period + 2 * QUICK.sync_retry)
    assert 40 in network.nodes[0].fmt.homes()


def test_comparing_starts_afresh_when_it_has_brought_something() -> None:
    """Once the tables have been equal, the next difference is mended at once."""
    network = unequal(1)
    network.nodes[0].met.keep_only(lambda memory: memory.event_id in network.nodes[1].met)
    network.run(2 * QUICK.refresh_period)
    keep(network, 0, an_event(1, origin=8))
    network.run(QUICK.refresh_period * 3)
    assert event_id(8, 1, 1) in network.nodes[1].met


class Comparer:
    """The machine of node 0, which hears the beacons of broker 1."""

    def __init__(self) -> None:
        config = quick(hop_ack=False)
        self.station = Station(0, 1, config)
        self.station.is_broker = True
        self.outlet = Outlet()
        self.links = Links(0, 1, config, self.outlet)
        self.fmt = FMT(config)
        self.integrity = Integrity(self.station, self.links, self.fmt, MET(config))

    def hear(self, at: float, *, fmt: int = 5, met: int = 0, is_new: bool = False) -> list[int]:
        """Take a beacon with these digests, `at` refresh periods from the start; the tables that are then opened."""
        now = NOW + at * QUICK.refresh_period
        beacon = a_beacon(1, is_broker=True)._replace(fmt_digest=fmt, met_digest=met, met_count=1 if met else 0)
        self.station.peers.beacon(beacon, now)
        peer = self.station.peers.get(1)
        assert peer is not None
        self.integrity.noticed(peer, now, is_new=is_new)
        self.integrity.tick(now + QUICK.sync_delay)
        return [frame.table for frame in self.sent() if isinstance(frame, Listing | Digests)]

    def pushes(self) -> int:
        """How many RECORDS answer the other's listing of an empty table."""
        self.integrity.on_listing(Listing(1, Table.FMT, (), (), SyncFlag.WHOLE), NOW)
        return sum(isinstance(frame, Records) for frame in self.sent())

    def sent(self) -> list[Frame]:
        self.links.flush(NOW)
        transmits = [effect for effect in self.outlet.drain() if isinstance(effect, Transmit)]
        return [frame for each in transmits for frame in decode_untrusted(each.data)]


def test_comparisons_that_bring_nothing_become_rare() -> None:
    """A peer's digest differs for good: compare at once, at the next beacon, then at distances that double up to 32."""
    node = Comparer()
    opened = [at for at in range(140) if node.hear(at)]
    assert opened[:2] == [0, 1]
    gaps = [later - earlier for earlier, later in pairwise(opened[1:])]
    assert gaps == [1 + 2, 1 + 4, 1 + 8, 1 + 16, 1 + 32, 1 + 32, 1 + 32]  # the first beacon after each pause


def test_what_an_exchange_brings_makes_the_next_one_prompt_again() -> None:
    """Something received, something given that the peer had not got before, equal tables, or a new contact."""
    resets: list[Callable[[Comparer], object]] = [
        lambda node: node.integrity.progressed(1, Table.FMT),
        lambda node: node.fmt.merge(7, 1, [Filter(subject="x")], 0.0, NOW) and node.pushes(),
        lambda node: node.hear(5.2, fmt=0),
        lambda node: node.hear(5.2, is_new=True),
    ]
    for reset in resets:
        node = Comparer()
        assert [at for at in range(6) if node.hear(at)] == [0, 1, 4]
        reset(node)
        assert node.hear(6)


def test_an_exchange_that_the_peer_opened_counts_too() -> None:
    """Else the two would take turns; but if both open at once, that is one comparison and not two."""
    other = Comparer()
    for home in range(2, 3 + SMALL_TABLE):
        other.fmt.merge(home, 1, [Filter(subject="x")], 0.0, NOW)
    digests = Digests(1, Table.FMT, 0, 0, 99, (1,) * 32, 0)
    for at in (0, 1):
        other.integrity.on_digests(digests, NOW + at * QUICK.refresh_period)
    other.sent()
    assert not other.hear(2)
    both = Comparer()
    assert both.hear(0)
    both.integrity.on_digests(digests, NOW + QUICK.sync_delay)
    assert both.hear(1)


def test_tables_are_given_up_one_by_one() -> None:
    """A table that is compared in vain is left out when the other one is opened."""
    node = Comparer()
    assert [node.hear(at) for at in (0, 1)] == [[Table.FMT], [Table.FMT]]
    assert node.hear(2, met=9) == [Table.MET]


def test_records_that_come_back_are_pushed_again() -> None:
    """A peer that is heard but could not be reached has not got what it was given."""
    network = FakeNetwork(chain(2))
    network.run(10)
    learn(network, 0, 40, 1, "x")
    network.unlink((0, 1), routed=False)
    asking = Listing(1, Table.FMT, (), (), SyncFlag.WHOLE)
    network.inject(0, asking)
    for _ in range(1 + round(QUICK.hop_patience)):
        network.run(1)
        network.inject(0, *[beacon for datagram, beacon in network.frames(Beacon) if datagram.sender == 1][-1:])
    since = network.now
    network.inject(0, asking)
    assert Kind.RECORDS in network.kinds(since)


def test_records_that_change_something_are_progress() -> None:
    """A node that got something from a peer compares with it at the next beacon that differs."""
    network = FakeNetwork(chain(2), config=quick(hop_ack=False))  # no repetitions of a listing
    network.run(20)
    network.unlink((0, 1), routed=False)
    odd = a_beacon(1, is_broker=True, broker=1)._replace(fmt_digest=5)

    def opens() -> bool:
        since = network.now
        network.inject(0, odd)
        network.run(2 * QUICK.sync_delay)
        return Kind.LISTING in network.kinds(since)

    assert [opens() for _ in range(3)] == [True, True, False]
    network.inject(0, Records(1, Table.FMT, (encode_record(FmtRecord(40, 1, 0, ())),), 0))
    assert opens()


def test_a_record_is_pushed_once_unless_it_came_back_or_has_changed() -> None:
    """What a peer was given and still lacks it cannot keep; it gets what the link could not deliver, and news."""
    node = Comparer()
    node.fmt.merge(7, 1, [Filter(subject="x")], 0.0, NOW)
    assert [node.pushes() for _ in range(3)] == [1, 0, 0]
    node.integrity.not_given(2, Table.FMT)
    node.integrity.not_given(1, Table.MET)
    assert node.pushes() == 0
    node.integrity.not_given(1, Table.FMT)
    assert node.pushes() == 1
    node.fmt.merge(7, 2, [Filter(subject="x")], 0.0, NOW)
    assert node.pushes() == 1


def test_what_a_peer_asks_for_it_gets_again() -> None:
    """Only what is pushed unasked is pushed once."""
    network = FakeNetwork(chain(2))
    network.run(10)
    learn(network, 0, 40, 1, "x")
    since = network.now
    for _ in range(2):
        network.inject(0, Want(1, Table.FMT, (key_of(40),), (0,)))
    assert sum(1 for _ in network.frames(Records, since)) == 2


# Whole networks


def test_a_healed_partition_holds_the_union() -> None:
    """Two halves that knew different things both know everything after they meet, in every broker."""
    network = FakeNetwork(chain(3) | {(3, 4), (4, 5)}, nodes=range(6))
    network.run(15)
    for node in (0, 1, 2):
        learn(network, node, 40, 1, "left")
        keep(network, node, an_event(1, origin=40))
    for node in (3, 4, 5):
        learn(network, node, 41, 1, "right")
        keep(network, node, an_event(1, origin=41))
    network.run(10)
    network.link((2, 3))
    network.run(20)
    union = {40: (Filter(subject="left"),), 41: (Filter(subject="right"),)}
    assert network.brokers == {1, 2, 3, 4}
    for broker in network.brokers:
        assert network.nodes[broker].fmt.homes() == union
        assert len(network.nodes[broker].met) == 2


@pytest.mark.parametrize("seed", range(3))
def test_tables_become_equal_over_lossy_links(seed: int) -> None:
    """A third of all datagrams lost: the exchange is repeated until both hold the same."""
    network = FakeNetwork(nodes=[0, 1], seed=seed, loss=0.33, config=quick(subscription_lease=600.0))
    for number in range(1, 60):
        keep(network, number % 2, an_event(number))
        learn(network, number % 2, 2 + number % 60, 1, "x")
    network.link((0, 1))
    network.run(60)
    assert tables(network.nodes[0]) == tables(network.nodes[1])
    assert len(network.nodes[0].met) == 59
