"""Replicated: who keeps tables acts on what is about them, who keeps none does not, and nothing gets lost between."""

from __future__ import annotations

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import Delivered, EventFrame, Kind, Listing, Publish, Records, Replay, Store, Subscribe, Table, Want
from chapard.core.effects import Reason
from chapard.core.fmt import key_of
from chapard.core.roles import Role
from fake_network import QUICK, FakeNetwork, chain, mesh

X = Filter(subject="x")


def settled(links: set[tuple[int, int]]) -> FakeNetwork:
    network = FakeNetwork(links)
    network.run(15)
    return network


def test_without_tables_frames_about_tables_are_ignored() -> None:
    """A regular node takes no part in keeping tables, whoever sends it what."""
    network = settled(chain(5))
    since = network.now
    body = Event(subject="x", lifetime=60).accepted(id=event_id(9, 1, 1), chain=1).encode()
    network.inject(0, Store(1, 60_000, b"", body))
    network.inject(0, Subscribe(1, 9, 1, 0, (X,)))
    network.inject(0, Records(1, Table.FMT, (b"\x90",), 0))
    network.inject(0, Listing(1, Table.MET, (), ((event_id(9, 1, 1), 0),), 0))
    node = network.nodes[0]
    assert (len(node.fmt), len(node.met)) == (0, 0)
    assert Kind.WANT not in network.kinds(since)


def test_a_publication_to_a_node_without_tables_is_a_recorded_loss() -> None:
    """It cannot tell who wants the event; the loss is on record for everybody, and its beacon sets the home right."""
    network = settled(chain(5))
    network.inject(0, Publish(1, Event(subject="x").accepted(id=event_id(1, 1, 1), chain=0).encode()))
    assert len(network.lost(Reason.NO_BROKER)) == QUICK.nodes
    assert network.nodes[0].next_deadline() - network.now < QUICK.beacon_min


def test_publications_keep_their_order_when_a_broker_is_lost() -> None:
    """What was on its way to a broker that is gone goes to the next one, in the order of publication."""
    network = settled(mesh(4))
    subscriber, publisher = network.client("s", at=2), network.client("p", at=3)
    subscriber.subscribe(X)
    network.run(3)
    broker = network.nodes[3].station.broker
    assert broker is not None
    network.unlink((3, broker), routed=False)
    for number in range(6):
        publisher.publish(Event(subject="x", payload=b"%d" % number))
        network.run(0.2)
    network.converge()
    network.run(5)
    assert subscriber.payloads == ["0", "1", "2", "3", "4", "5"]


def test_a_home_asked_for_its_filters_answers_without_tables() -> None:
    """Of its own filters a node is the authority, broker or not."""
    network = settled(chain(5))
    network.client("s", at=0).subscribe(X)
    network.run(3)
    since = network.now
    network.inject(0, Want(1, Table.FMT, (key_of(0),), (0,)))
    assert [datagram.to for datagram, _ in network.frames(Records, since)] == [1]
    assert sum(1 for _ in network.frames(EventFrame, since)) == 0


def test_a_table_frame_for_a_node_without_tables_is_counted() -> None:
    """Floods pass it by without a word; what was sent to it alone is a drop with a reason."""
    network = FakeNetwork(chain(3), config=QUICK)
    network.run(30)
    regular = next(node for node in network.nodes if network.nodes[node].role is Role.REGULAR)
    before = network.drops[regular, Reason.FOREIGN]
    network.inject(regular, Replay(1, ()))
    assert network.drops[regular, Reason.FOREIGN] == before + 1
    network.inject(regular, Delivered(1, ()))
    assert network.drops[regular, Reason.FOREIGN] == before + 1
