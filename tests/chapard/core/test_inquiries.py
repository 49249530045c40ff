"""What a publisher is told when it asks how many homes have its event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard.core.inquiries import LIMIT, PATIENCE
from fake_network import FakeNetwork

if TYPE_CHECKING:
    from chapar.session import Standing

CHAIN = ((1, 2), (2, 3))
ORDER = Filter(subject="order")


def asked(network: FakeNetwork, name: str, number: int) -> Standing:
    """What a client is told about the event that it published under this number."""
    client = network.clients[name]
    question = client.inquire(client.receipts[number])
    network.run(PATIENCE + 0.1)
    return client.standings[question]


def test_a_publisher_without_tables_learns_from_its_broker_who_has_confirmed() -> None:
    """Node 3 is no broker and holds no FMT; its broker knows that the homes 2 and 1 have the event."""
    network = FakeNetwork(CHAIN)
    publisher = network.client("publisher", 3)
    for name, home in (("near", 2), ("far", 1)):
        network.client(name, home).subscribe(ORDER)
    network.run(5)
    assert network.nodes[3].station.broker == 2
    number = publisher.publish(Event(subject="order", lifetime=60))
    network.run(5)
    standing = asked(network, "publisher", number)
    assert (standing.wanted, standing.confirmed) == (2, 2)


def test_a_home_that_is_away_has_not_confirmed() -> None:
    """A broker answers from its tables: node 3 wants the event, but the link to it is cut."""
    network = FakeNetwork(CHAIN)
    publisher = network.client("publisher", 2)
    network.client("far", 3).subscribe(ORDER)
    network.run(5)
    network.unlink((2, 3))
    number = publisher.publish(Event(subject="order", lifetime=60))
    network.run(2)
    standing = asked(network, "publisher", number)
    assert (standing.wanted, standing.confirmed) == (1, 0)


def test_clients_of_the_publishers_own_home_count_as_one_home() -> None:
    """A home that wants its own event has confirmed it at once; one that does not is not counted."""
    network = FakeNetwork(nodes=[1])
    publisher = network.client("publisher", 1)
    network.run(5)
    alone = publisher.publish(Event(subject="order", lifetime=60))
    network.client("here", 1).subscribe(ORDER)
    network.client("here too", 1).subscribe(ORDER)
    network.run(1)
    both = publisher.publish(Event(subject="order", lifetime=60))
    network.run(1)
    assert asked(network, "publisher", both)[1:] == (1, 1)
    assert asked(network, "publisher", alone)[1:] == (1, 1), "instant notification gave it to those who came later"


def test_without_an_answer_a_home_says_what_it_knows() -> None:
    """The broker is silent: after PATIENCE the home answers from its own record."""
    network = FakeNetwork(CHAIN)
    publisher = network.client("publisher", 3)
    network.client("near", 2).subscribe(ORDER)
    network.run(5)
    number = publisher.publish(Event(subject="order", lifetime=60))
    network.run(1)
    network.crash(2)
    assert asked(network, "publisher", number).confirmed == 0


def test_an_event_that_is_not_kept_is_refused_in_words() -> None:
    """Real-time events, and ids that nobody gave, have no standing."""
    network = FakeNetwork(nodes=[1])
    publisher = network.client("publisher", 1)
    number = publisher.inquire(event_id(1, 1, 1))
    assert "does not keep" in publisher.refusals[number]


def test_questions_are_bounded() -> None:
    """A client that asks without end is refused; the questions before are answered."""
    network = FakeNetwork(CHAIN)
    publisher = network.client("publisher", 3)
    network.run(5)
    number = publisher.publish(Event(subject="order", lifetime=60))
    network.run(1)
    network.crash(2)
    for _ in range(LIMIT + 1):
        last = publisher.inquire(publisher.receipts[number])
    assert "too many" in publisher.refusals[last]
    assert len(network.nodes[3].home.inquiries) == LIMIT
    network.run(PATIENCE + 0.1)
    assert len(network.nodes[3].home.inquiries) == 0
