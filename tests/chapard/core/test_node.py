"""Node: the machines joined. Who sees a frame, and what a change of view, peer or role sets going."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter, session
from chapar.event import event_id
from chapar.wire import (
    Ack,
    Beacon,
    BeaconFlag,
    Bye,
    Fragment,
    Kind,
    Link,
    Publish,
    Table,
    Want,
    encode,
    fragment,
)
from chapar_olsr.view import RouteView
from chapard.core.effects import FrameRow, Reason, RouteRow, Transmit
from chapard.core.fmt import key_of
from chapard.core.lapsed import LAPSE
from chapard.core.node import Node
from chapard.core.station import SEARCH_SHARE
from chapard.core.trickle import SEARCH
from fake_network import (
    QUICK,
    START,
    FakeNetwork,
    a_beacon,
    a_vector,
    chain,
    cycle,
    grid,
    mesh,
    quick,
    route_views,
)

if TYPE_CHECKING:
    from chapard.core.effects import Effect

X = Filter(subject="x")
HOLD = QUICK.contact_periods * QUICK.refresh_period


def settled(links: set[tuple[int, int]], **settings: object) -> FakeNetwork:
    network = FakeNetwork(links, **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(15)
    return network


def alone(**changes: object) -> Node:
    return Node(2, 1, quick(**changes), Random(1), START)


def receive(node: Node, data: bytes, source: int) -> list[Effect]:
    node.datagram_received(data, source, START)
    return node.drain(START)


# Datagrams


def test_a_datagram_that_is_none_is_counted() -> None:
    """Malformed bytes change one counter and nothing else."""
    node = alone()
    before = node.sizes()
    for data in (b"", b"\xc1", encode(Bye(1))[:-1], encode(Bye(1)) + b"\x00"):
        receive(node, data, 1)
    assert node.outlet.drops == Counter({Reason.MALFORMED: 4})
    assert node.sizes() == before


def test_a_datagram_under_a_false_name_is_counted() -> None:
    """The sender in the frames must be the node it came from, and never ourselves."""
    node = alone()
    receive(node, encode(a_beacon(3)), 1)
    receive(node, encode(a_beacon(2)), 2)
    assert node.outlet.drops == Counter({Reason.SPOOFED: 2})
    assert len(node.station.peers) == 0


def test_a_link_header_in_the_middle_is_counted() -> None:
    """A LINK heads a datagram or is malformed; the frames beside it still count."""
    node = alone()
    receive(node, encode(a_beacon(1)) + encode(Link(1, 5, 1, 0, 0, 0)), 1)
    assert node.outlet.drops == Counter({Reason.MALFORMED: 1})
    assert 1 in node.station.peers


def test_frames_are_recorded_where_that_is_asked_for() -> None:
    """With record_frames, every frame received and sent is a row with its size; without, none is."""
    data = encode(a_beacon(1))
    assert not [row for row in receive(alone(), data, 1) if isinstance(row, FrameRow)]
    rows = [row for row in receive(alone(record_frames=True), data, 1) if isinstance(row, FrameRow)]
    assert [(row.direction, row.kind, row.bytes, row.peer) for row in rows] == [("rx", "beacon", len(data), 1)]


def test_a_stranger_makes_us_introduce_ourselves() -> None:
    """A frame of a node that we do not know brings the next beacon forward; a known peer's does not."""
    network = FakeNetwork(chain(2))
    network.run(60)
    quiet = network.nodes[0].next_deadline()
    network.inject(0, Ack(1, 1, 0))
    assert network.nodes[0].next_deadline() == quiet
    network.inject(0, Ack(9, 1, 0))
    assert network.nodes[0].next_deadline() - network.now < QUICK.beacon_min


def test_a_beacon_that_solicits_is_answered() -> None:
    """A node that looks for its neighbours hears from them within a fraction of beacon_min."""
    network = FakeNetwork(chain(2))
    network.run(60)
    network.inject(0, a_beacon(1, is_broker=True, flags=BeaconFlag.SOLICIT, broker=1))
    assert network.nodes[0].next_deadline() - network.now < 0.1 * QUICK.beacon_min


# Large events


@pytest.mark.parametrize("lifetime", [0, 60])
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_an_event_larger_than_a_datagram_arrives(lifetime: float, loss: float) -> None:
    """It is cut up, each piece repaired on its own, and put together at every hop."""
    network = settled(chain(4))
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(3)
    network.loss = loss
    payload = Random(7).randbytes(20_000)
    network.client("p", at=0).publish(Event(subject="x", payload=payload, lifetime=lifetime))
    network.run(40)
    assert [event.payload for event in subscriber.got] == [payload]
    assert max(len(each.data) for each in network.sent) <= QUICK.mtu


def test_pieces_that_do_not_fit_together_are_counted() -> None:
    """Fragments that disagree, or that add up to no frame, are malformed; pieces that never come are given up."""
    node = alone()
    chunk = bytes(200)
    for piece in (Fragment(1, 5, 0, 3, chunk), Fragment(1, 5, 1, 4, chunk)):
        receive(node, encode(piece), 1)
    assert node.outlet.drops[Reason.MALFORMED] == 1
    receive(node, encode(Fragment(1, 6, 0, 1, chunk)), 1)
    assert node.outlet.drops[Reason.MALFORMED] == 2
    receive(node, encode(Fragment(1, 7, 0, 2, chunk)), 1)
    node.tick(START + 100)
    assert node.outlet.drops[Reason.REASSEMBLY] >= 1


def test_a_restarted_peer_counts_its_messages_anew() -> None:
    """What an earlier incarnation began to say is not mixed with what the new one says."""
    node = alone()
    old = fragment(encode(Publish(1, bytes.fromhex("9ac40a") + bytes(3000))), 1, 1, QUICK.mtu)
    new_body = Event(subject="x", payload=bytes(3000)).accepted(id=event_id(1, 2, 1), chain=0).encode()
    new = fragment(encode(Publish(1, new_body)), 1, 1, QUICK.mtu)
    receive(node, encode(a_beacon(1, incarnation=1)), 1)
    receive(node, old[0], 1)
    receive(node, encode(a_beacon(1, incarnation=2)), 1)
    for piece in new:
        receive(node, piece, 1)
    assert node.outlet.drops[Reason.MALFORMED] == 0


# Views


def test_an_equal_view_causes_nothing() -> None:
    """Routing may repeat itself as often as it likes."""
    network = settled(grid(3))
    for node, core in network.nodes.items():
        deadline = core.next_deadline()
        core.route_changed(route_views(network.adjacency)[node], network.now)
        assert core.drain(network.now) == []
        assert core.next_deadline() == deadline


def test_changed_routes_are_recorded() -> None:
    """One row for each destination whose route is new or another, or that has none any more."""
    network = settled(chain(3))
    network.adjacency[2].add(0)
    network.adjacency[0].add(2)
    node = network.nodes[0]
    node.route_changed(route_views(network.adjacency)[0], network.now)
    rows = [effect for effect in node.drain(network.now) if isinstance(effect, RouteRow)]
    assert rows == [RouteRow(2, 2, 1)]
    node.route_changed(RouteView(0, frozenset()), network.now)
    rows = [effect for effect in node.drain(network.now) if isinstance(effect, RouteRow)]
    assert rows == [RouteRow(1, None, 0), RouteRow(2, None, 0)]


def test_a_lost_neighbour_is_out_of_contact_at_once() -> None:
    """When routing says that a neighbour is gone, nobody waits for its silence: another broker is chosen."""
    network = settled(mesh(4))
    broker = network.nodes[3].station.broker
    assert broker is not None
    network.unlink((3, broker))
    assert broker not in network.nodes[3].station.peers
    network.run(1)
    assert network.nodes[3].station.broker not in (None, broker)


def test_events_follow_a_neighbour_that_moved() -> None:
    """A destination that is no neighbour any more, but has a route, is reached over it; nothing is lost or repeated."""
    network = settled(cycle(6), without_chapard={1})
    subscriber, publisher = network.client("s", at=5), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(15)
    network.unlink((0, 5), routed=False)
    publisher.publish(Event(subject="x", payload=b"a"))
    network.run(0.3)
    network.converge()
    network.run(10)
    assert subscriber.payloads == ["a"]
    assert network.losses == []


# Contact


def test_a_silent_broker_is_replaced() -> None:
    """A broker that dies without a word while routes still name it: after contact_periods its homes choose another."""
    network = settled(mesh(4))
    broker = network.nodes[3].station.broker
    assert broker is not None
    network.crash(broker)
    network.run(HOLD + 1)
    assert network.nodes[3].station.broker not in (None, broker)


def test_a_broker_that_does_not_confirm_is_given_up_sooner() -> None:
    """When frames to a silent peer come back, its homes do not wait for the end of contact."""
    slow = quick(refresh_period=60.0, subscription_lease=600.0)
    network = FakeNetwork(mesh(4), config=slow)
    network.run(100)
    subscriber, publisher = network.client("s", at=1), network.client("p", at=3)
    subscriber.subscribe(X)
    network.run(2)
    broker = network.nodes[3].station.broker
    assert broker == 0
    network.crash(broker)
    network.run(5)
    publisher.publish(Event(subject="x", lifetime=60))
    network.run(20)
    assert network.nodes[3].station.broker != broker
    assert len(subscriber.got) == 1


def test_goodbye_ends_a_contact() -> None:
    """A peer that says BYE is gone at once."""
    network = settled(mesh(4))
    broker = network.nodes[3].station.broker
    assert broker is not None
    network.inject(3, Bye(broker))
    assert broker not in network.nodes[3].station.peers
    assert network.nodes[3].station.broker != broker


def beacons(network: FakeNetwork, node: int, seconds: float) -> int:
    """How many times a node beacons in the next seconds."""
    since = network.now
    network.run(seconds)
    return sum(datagram.sender == node and datagram.to is None for datagram, _ in network.frames(Beacon, since))


def test_a_lapsed_route_is_given_up_when_its_neighbour_does_not_answer() -> None:
    """Routing took back a link that really is gone: what is tried over it comes back, and then nothing is."""
    network = FakeNetwork(chain(3), config=quick(retry_first=0.1, retry_max=0.2, ack_delay=0.05))
    network.run(10)
    subscriber, publisher = network.client("s", at=2), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(5)
    station = network.nodes[1].station
    network.unlink((1, 2))
    assert station.lapsed.next_hop(2) == 2
    publisher.publish(Event(subject="x"))
    network.run(LAPSE / 2)
    assert station.lapsed.next_hop(2) is None
    assert (1, 2) in network.lost(Reason.HOP_DEAD) | network.lost(Reason.NO_ROUTE)


def test_a_lapsed_route_is_forgotten_in_time() -> None:
    """Though nothing is sent over it."""
    network = settled(chain(3))
    network.unlink((1, 2))
    network.run(LAPSE - 0.5)
    assert network.nodes[1].station.lapsed.next_hop(2) == 2
    network.run(1)
    assert network.nodes[1].station.lapsed.next_hop(2) is None


def test_a_lost_neighbour_is_searched_for() -> None:
    """For whomever routing lost a node beacons at a short interval, for a while; then as rarely as ever."""
    network = settled(chain(3))
    assert beacons(network, 2, 10) < 10
    network.unlink((1, 2))
    network.run(5)
    assert 10 / (SEARCH * QUICK.beacon_min) <= beacons(network, 2, 10) <= 10 / (SEARCH * QUICK.beacon_min / 2) + 1
    network.run(QUICK.refresh_period / SEARCH_SHARE)
    assert beacons(network, 2, 40) <= 40 / (QUICK.refresh_period / 2) + 1


@pytest.mark.parametrize("is_found", [True, False])
def test_a_contact_without_a_route_that_falls_silent_is_searched_for(*, is_found: bool) -> None:
    """The end of a contact that routing never knew starts the search, its next beacon ends it."""
    network = settled(chain(2))
    network.inject(0, a_beacon(9))
    network.run(HOLD + 1)
    assert 9 not in network.nodes[0].station.peers
    if is_found:
        network.inject(0, a_beacon(9))
        network.run(4)
    assert (beacons(network, 0, 3) > 3 / QUICK.beacon_min + 1) is not is_found


def test_a_neighbour_whose_link_failed_is_searched_for() -> None:
    """Nobody waits for the end of contact where frames to a silent peer come back, once it has no route either."""
    network = FakeNetwork(chain(2), config=quick(refresh_period=60.0, subscription_lease=600.0))
    network.run(100)
    network.inject(0, a_beacon(9))
    network.inject(0, Want(9, Table.FMT, (key_of(0),), (0,)))
    network.run(QUICK.hop_patience + 0.1)
    assert 9 not in network.nodes[0].station.peers
    assert beacons(network, 0, 5) >= 5 / (SEARCH * QUICK.beacon_min)


def test_who_said_goodbye_is_not_searched_for() -> None:
    """A peer that left in good order is not expected back."""
    network = settled(mesh(3))
    network.inject(0, Bye(2))
    network.crash(2)
    network.unlink((0, 2), (1, 2))
    network.run(5)
    assert beacons(network, 0, 5) < 5 / QUICK.beacon_min


def test_confirmations_in_beacons_count() -> None:
    """What a beacon confirms is not sent again."""
    network = FakeNetwork(chain(2))
    subscriber = network.client("s", at=1)
    subscriber.subscribe(X)
    network.run(30)
    network.run(network.nodes[1].next_deadline() - network.now - QUICK.ack_delay / 2)
    since = network.now
    network.client("p", at=0).publish(Event(subject="x"))
    network.run(10)
    assert network.kinds(since)[Kind.EVENT] == 1


def test_relays_selected_by_ourselves_are_told_at_once() -> None:
    """Without MPRs in the views, a node whose selection changes says so soon, as it appoints or dismisses a broker."""
    network = FakeNetwork(chain(3), nodes=[7], knows_mprs=False)
    network.run(100)
    since = network.now
    network.link((2, 7))
    network.run(QUICK.beacon_min)
    assert 2 in network.brokers
    told = [beacon for datagram, beacon in network.frames(Beacon, since) if datagram.sender == 1]
    assert [beacon.relays for beacon in told][:1] == [a_vector([2])]


# The whole


def test_sizes_name_every_bounded_table_with_its_limit() -> None:
    """Each entry is what is used and what the configuration allows."""
    network = settled(chain(3))
    network.client("s", at=1).subscribe(X)
    network.client("p", at=0).publish(Event(subject="x", lifetime=60))
    network.run(3)
    sizes = network.nodes[1].sizes()
    assert sizes["sessions"] == (1, QUICK.session_limit)
    assert sizes["fmt"] == (1, QUICK.fmt_homes)
    assert sizes["met"] == (1, QUICK.met_events)
    assert sizes["peers"] == (2, QUICK.nodes)
    assert all(0 <= used <= limit for used, limit in sizes.values())


def test_what_a_node_wants_done_comes_out_once_in_order() -> None:
    """`drain` gives each effect once; what was queued for one node leaves packed in one datagram."""
    network = settled(chain(2))
    network.client("s", at=1).subscribe(X)
    network.run(3)
    publisher = network.client("p", at=0)
    node = network.nodes[0]
    for number in (1, 2, 3):
        node.client_request(
            publisher.name, session.Publish(number - 1, number, Event(subject="x").head(), (b"",)), network.now
        )
    sent = [effect for effect in node.drain(network.now) if isinstance(effect, Transmit)]
    assert len(sent) == 1
    assert node.drain(network.now) == []


def test_without_hop_acknowledgement_events_still_arrive() -> None:
    """hop_ack = false: nothing is numbered or confirmed, and on good links nothing is missing."""
    network = settled(chain(5), config=quick(hop_ack=False))
    subscriber, publisher = network.client("s", at=4), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(3)
    publisher.publish(Event(subject="x", payload=b"a"))
    publisher.publish(Event(subject="x", payload=b"b", lifetime=60))
    network.run(5)
    assert subscriber.payloads == ["a", "b"]
    assert {Kind.LINK, Kind.ACK, Kind.NACK} & set(network.kinds()) == set()


@pytest.mark.parametrize("seed", range(3))
def test_real_time_events_arrive_in_order_over_lossy_links(seed: int) -> None:
    """A fifth of all datagrams lost or doubled: with hop repair every event arrives once, in publisher order."""
    network = settled(chain(5), seed=seed)
    subscriber, publisher = network.client("s", at=4), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(3)
    network.loss = network.duplication = 0.2
    for number in range(30):
        publisher.publish(Event(subject="x", payload=b"%d" % number))
        network.run(0.05)
    network.run(20)
    assert subscriber.payloads == [*map(str, range(30))]


def test_a_quiet_network_costs_beacons_and_leases_only() -> None:
    """Once everything is known, nothing else is sent."""
    network = settled(grid(3))
    for node in range(9):
        network.client(f"s{node}", at=node).subscribe(X)
    network.run(20)
    since = network.now
    network.run(100)
    assert set(network.kinds(since)) == {Kind.BEACON, Kind.LEASE}


def trace(seed: int) -> str:
    """Everything that crosses the air in a lossy run, as text."""
    network = FakeNetwork(grid(3), seed=seed, loss=0.1, duplication=0.1)
    clients = [network.client(f"c{node}", at=node) for node in range(9)]
    for client in clients:
        client.subscribe(Filter(subject="x"))
        client.subscribe(Filter.parse(f'level > {client.home} and subject in ("x", "y")'))
    network.run(10)
    for number, client in enumerate(clients):
        client.publish(Event(subject="x", attributes={"level": number}, lifetime=60 * (number % 2)))
    network.unlink((4, 5))
    network.crash(3)
    network.run(10)
    network.start(3)
    network.run(10)
    sent = "\n".join(f"{each.t:.6f} {each.sender} {each.to} {each.data.hex()}" for each in network.sent)
    return sent + "\n".join(f"{client.name} {client.got}" for client in clients)


def test_the_same_seed_gives_the_same_run_under_any_hash_seed() -> None:
    """Nothing that reaches the wire depends on the order of a set: two processes with other hash seeds agree."""
    here = Path(__file__).resolve()
    program = (
        "import runpy, hashlib; "
        f"trace = runpy.run_path({str(here)!r})['trace']; "
        "print(hashlib.sha256(trace(5).encode()).hexdigest())"
    )
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(here.parents[2])}
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1
    assert trace(5) != trace(6)


def test_beacon_acks_for_others_are_none_of_ours() -> None:
    """A beacon carries the confirmations of all its sender's links; a node heeds its own."""
    network = FakeNetwork(chain(2))
    subscriber = network.client("s", at=1)
    subscriber.subscribe(X)
    network.run(15)
    network.unlink((0, 1), routed=False)
    network.client("p", at=0).publish(Event(subject="x"))
    *_, (_, link) = network.frames(Link)
    network.inject(0, a_beacon(1, is_broker=True, broker=1)._replace(acks=((9, link.epoch, link.seq),)))
    network.link((0, 1), routed=False)
    network.run(5)
    assert len(subscriber.got) == 1


