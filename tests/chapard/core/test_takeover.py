"""Takeover: what enters the network at a broker that has just been appointed waits until its tables can be trusted."""

from __future__ import annotations

import pytest

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import EventFrame, Kind, Publish, Subscribe
from chapard.core.roles import Role
from fake_network import DELAY, QUICK, Client, FakeNetwork, a_vector, grid, quick

X, Y = Filter(subject="x"), Filter(subject="y")
LINK = (3, 4)
"""Without it, the corner 0 of a grid is a relay of its neighbour 3."""
OTHERS = (2, 6, 8)
"""The other corners."""


def corners(**settings: object) -> tuple[FakeNetwork, Client, list[Client]]:
    """A grid whose corner 0 keeps no tables: a publisher there, and a subscriber in each other corner."""
    network = FakeNetwork(grid(3), **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(15)
    publisher = network.client("p", at=0)
    subscribers = [network.client(f"s{node}", at=node) for node in OTHERS]
    for each in subscribers:
        each.subscribe(X)
    network.run(3)
    assert role(network) is Role.REGULAR
    return network, publisher, subscribers


def role(network: FakeNetwork) -> Role:
    """Of the corner."""
    return network.nodes[0].role


def publish(network: FakeNetwork, publisher: Client, numbers: range, every: float) -> None:
    for number in numbers:
        publisher.publish(Event(subject="x", payload=b"%d" % number))
        network.run(every)


@pytest.mark.parametrize("loss", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_no_event_is_lost_while_its_home_becomes_a_broker(seed: int, loss: float) -> None:
    """Appointed with empty tables, the home looks its events up when it has inherited, and they arrive in order."""
    network, publisher, subscribers = corners(seed=seed)
    network.loss = loss
    network.unlink(LINK)
    assert role(network) is Role.BROKER
    publish(network, publisher, range(40), DELAY / 2)
    network.run(10)
    assert [each.payloads for each in subscribers] == [[str(number) for number in range(40)]] * len(OTHERS)
    assert network.losses == []


def test_no_event_is_lost_when_a_dismissed_broker_that_missed_a_subscription_is_appointed_again() -> None:
    """Nobody repairs the table of a broker that is dismissed: before it looks anything up in it, it compares."""
    network, publisher, subscribers = corners()
    network.unlink(LINK)
    network.run(3)
    network.link(LINK)
    assert role(network) is Role.DISMISSED
    network.unlink((0, 1), (0, 3), routed=False)
    subscribers[0].subscribe(Y)
    network.run(0.1)
    network.link((0, 1), (0, 3), routed=False)
    network.run(QUICK.beacon_min)
    network.unlink(LINK)
    assert role(network) is Role.BROKER
    for _ in range(4):
        publisher.publish(Event(subject="y"))
        network.run(DELAY / 2)
    network.run(5)
    assert len(subscribers[0].got) == 4


def test_what_other_homes_hand_over_waits_as_well() -> None:
    """A home that has chosen the new broker need not know that it is one only just."""
    network, _, subscribers = corners()
    network.unlink(LINK)
    body = Event(subject="x", payload=b"7").accepted(id=event_id(3, 1, 1), chain=0).encode()
    network.inject(0, Publish(3, body))
    assert network.nodes[0].sizes()["entering"] == (1, QUICK.outbox_limit)
    network.run(1)
    assert network.nodes[0].sizes()["entering"][0] == 0
    assert [each.payloads for each in subscribers] == [["7"]] * len(OTHERS)


def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    """The brokers that could tell are gone: after sync_retry the event goes to whoever is known to want it."""
    network, publisher, _ = corners()
    network.unlink(LINK)
    network.crash(1, 3)
    network.inject(0, Subscribe(3, 6, 1, 0, (X,)))
    since = network.now
    publisher.publish(Event(subject="x"))
    network.run(QUICK.sync_retry - 0.01)
    assert list(network.frames(EventFrame, since)) == []
    network.run(0.02)
    assert [frame.rnv for _, frame in network.frames(EventFrame, since)] == [a_vector([6])]


def test_only_so_much_waits() -> None:
    """The event for which there is no room sends those before it on their way, in their order, and goes itself."""
    network, publisher, _ = corners(config=quick(outbox_limit=4))
    network.unlink(LINK)
    network.inject(0, Subscribe(3, 6, 1, 0, (X,)))
    publish(network, publisher, range(5), 0)
    assert network.nodes[0].sizes()["entering"] == (0, 4)
    network.run(1)
    assert network.clients["s6"].payloads == ["0", "1", "2", "3", "4"]


def test_who_stops_keeps_no_event_back() -> None:
    """Tables that are dropped could not be asked any more."""
    network, publisher, _ = corners()
    network.unlink(LINK)
    network.inject(0, Subscribe(3, 6, 1, 0, (X,)))
    publisher.publish(Event(subject="x"))
    network.stop(0)
    network.run(1)
    assert len(network.clients["s6"].got) == 1


def test_a_broker_whose_table_is_the_same_is_not_asked() -> None:
    """Appointed again, with nothing missed: nothing waits, and no table goes over the air."""
    network, publisher, subscribers = corners()
    network.unlink(LINK)
    network.run(3)
    network.link(LINK)
    network.run(1)
    since = network.now
    network.unlink(LINK)
    publisher.publish(Event(subject="x"))
    assert network.nodes[0].sizes()["entering"][0] == 0
    network.run(1)
    assert [len(each.got) for each in subscribers] == [1, 1, 1]
    assert not network.kinds(since).keys() & {Kind.LISTING, Kind.DIGESTS, Kind.RECORDS}
