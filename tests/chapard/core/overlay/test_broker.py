"""TreeBroker: a network on a tree of brokers keeps its promises, whatever happens to its links and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapar.event import event_id
from chapar.wire import Ack, EventFrame, InterestFrame, Kind, Link, Listing, Meet, Publish, Table, Word
from chapard.core.config import Config, Mode, Overlay, QueuePolicy, Routing
from chapard.core.effects import InterestRow, Loss, Reason
from chapard.core.overlay.interest import Topic
from chapard.core.overlay.report import figures
from chapard.core.overlay.router import Algorithm
from fake_network import QUICK, FakeNetwork, a_beacon, chain, cycle, grid, quick, star

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.overlay.broker import TreeBroker
    from fake_network import Client

X = Filter(subject="x")
PERIOD = 4.0
FOUND = 3 * QUICK.refresh_period
"""Seconds in which neighbours that can reach each other are sure to have found each other."""
GONE = QUICK.contact_periods * QUICK.refresh_period + 1
ALGORITHMS = list(Algorithm)
LINE = ((0, 1), (1, 2), (2, 3))


def tree(links: Iterable[tuple[int, int]], *, algorithm: Algorithm = Algorithm.IDENTITY, **changes: object) -> Config:
    """The configuration of a tree with these links; other parameters of [routing] and of the protocol as given."""
    routing = {key: changes.pop(key) for key in ("advertisements", "publisher_roots") if key in changes}
    made = Routing(mode=Mode.TREE, algorithm=algorithm, refresh_period=PERIOD, **routing)  # type: ignore[arg-type]
    return quick(routing=made, overlay=Overlay(tuple(links)), **changes)


def line(algorithm: Algorithm = Algorithm.IDENTITY, **changes: object) -> FakeNetwork:
    """Four nodes in a row that are a tree as they stand, settled."""
    network = FakeNetwork(chain(4), config=tree(LINE, algorithm=algorithm, **changes))
    network.run(2)
    return network


def broker(network: FakeNetwork, node: int) -> TreeBroker:
    found = network.nodes[node].tree
    assert found is not None
    return found


def is_up(network: FakeNetwork, node: int, neighbour: int) -> bool:
    return broker(network, node).meetings.is_up(neighbour)


def received(network: FakeNetwork, node: int, neighbour: int) -> list[Filter]:
    """The subscriptions that a broker has received over a link."""
    table = broker(network, node).router.plane(Topic.SUBSCRIPTIONS).table
    return [interest.filter for interest in table.received(neighbour)]


def publish(client: Client, *payloads: str, **kind: object) -> None:
    for each in payloads:
        client.publish(Event(subject="x", payload=each.encode(), **kind))  # type: ignore[arg-type]  # Event checks


# Real-time events


@pytest.mark.parametrize("advertisements", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_events_reach_whoever_wants_them(algorithm: Algorithm, *, advertisements: bool) -> None:
    """Each algorithm delivers, in order and once, to those with a matching filter and to nobody else."""
    network = line(algorithm, advertisements=advertisements)
    near, far, other = (network.client(name, at=at) for name, at in (("near", 1), ("far", 3), ("other", 2)))
    near.subscribe(X)
    far.subscribe(Filter(where="n > 1"))
    other.subscribe(Filter(subject="y"))
    network.run(2)
    publisher = network.client("p", at=0)
    for number in range(4):
        publisher.publish(Event(subject="x", attributes={"n": number}, payload=b"%d" % number))
    network.run(4)
    assert (near.payloads, far.payloads, other.payloads) == (["0", "1", "2", "3"], ["2", "3"], [])
    assert network.losses == []


def test_a_link_spans_several_hops() -> None:
    """Neighbours in the tree need not be neighbours in the mesh: its routes carry what they say, over any node."""
    network = FakeNetwork(chain(7), config=tree([(0, 3), (3, 6)]), without_chapard=[1, 2, 4, 5])
    network.run(2 * FOUND)
    subscriber, publisher = network.client("s", at=6), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    publish(publisher, "a", "b")
    network.run(1)
    assert subscriber.payloads == ["a", "b"]


def test_a_node_outside_the_tree_serves_its_own_clients_only() -> None:
    """A node that no link names is a broker alone: it forwards IP for others, and nobody hears of its clients."""
    network = FakeNetwork(chain(3), config=tree([(0, 2)]))
    network.run(2 * FOUND)
    inside, outside = network.client("i", at=2), network.client("o", at=1)
    inside.subscribe(X)
    outside.subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "a")
    publish(network.client("q", at=1), "b")
    network.run(1)
    assert (inside.payloads, outside.payloads) == (["a"], ["b"])


def test_an_addressed_event_goes_to_those_it_names() -> None:
    """Of the subscribers those at the named nodes get it; a named node without one is a recorded loss."""
    network = line()
    two, three = network.client("two", at=2), network.client("three", at=3)
    two.subscribe(X)
    three.subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "a", to=(3,))
    publish(network.client("q", at=0), "b", to=(1, 2), lifetime=60)
    publish(network.client("r", at=0), "c", to=(1,))
    network.run(2)
    assert (two.payloads, three.payloads) == (["b"], ["a"])
    assert network.lost(Reason.NO_CLIENT) == {(1, 1)} or network.lost(Reason.NO_CLIENT) == {(0, 1)}


def test_interest_is_told_only_toward_publishers_that_are_known() -> None:
    """With publisher_roots, a subscription goes toward them and nowhere else."""
    network = line(publisher_roots=(0,))
    network.client("s", at=1).subscribe(X)
    network.run(1)
    assert (received(network, 0, 1), received(network, 2, 1)) == ([X], [])


def test_first_events_wait_for_subscriptions_to_come_toward_them() -> None:
    """With advertisements the first real-time event is as sure as any: it waits until subscriptions have come."""
    network = line(advertisements=True)
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(1)
    assert received(network, 0, 1) == []
    publish(network.client("p", at=0), "first", "second")
    network.run(2)
    assert subscriber.payloads == ["first", "second"]
    assert received(network, 0, 1) == [X]


def test_an_advertisement_ends_when_nothing_is_published_or_kept() -> None:
    """It stands for a lease after its last use, and as long as an event is kept; then subscriptions are taken back."""
    network = line(advertisements=True)
    network.client("s", at=3).subscribe(X)
    publisher = network.client("p", at=0)
    publish(publisher, "a")
    publish(publisher, "b", lifetime=100)
    network.run(QUICK.subscription_lease + 20)
    assert received(network, 0, 1) == [X]
    network.run(2 * QUICK.subscription_lease)
    assert received(network, 0, 1) == []


# Links


def test_what_was_learnt_over_a_link_goes_with_it_and_comes_with_it() -> None:
    """A neighbour out of reach takes its interest along; when it is back both ends tell each other what stands."""
    network = line()
    network.client("s", at=3).subscribe(X)
    network.run(1)
    assert received(network, 0, 1) == [X]
    network.unlink((1, 2))
    network.run(GONE)
    assert not is_up(network, 1, 2)
    assert (received(network, 1, 2), received(network, 0, 1)) == ([], [])
    network.client("t", at=0).subscribe(Filter(subject="y"))
    network.link((1, 2))
    network.run(FOUND)
    assert received(network, 0, 1) == [X]
    assert received(network, 3, 2) == [Filter(subject="y")]


def test_real_time_events_behind_a_lost_link_are_on_record() -> None:
    """What a hop could not deliver is a loss to the brokers behind it, of those that an event names to these."""
    network = line()
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    network.unlink((1, 2), routed=False)
    publish(publisher, "under way")
    network.run(GONE + 20)
    assert network.lost(Reason.HOP_DEAD) == {(1, 2), (1, 3)}
    publish(network.client("q", at=1), "down", to=(0, 3))
    network.run(1)
    assert network.lost(Reason.UNREACHABLE) == {(1, 3)}
    assert subscriber.payloads == []


@pytest.mark.parametrize("node", [1, 3])
def test_a_restart_begins_its_links_anew(node: int) -> None:
    """A broker that comes back within the contact time is told everything again, and tells what its clients want."""
    network = line()
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(1)
    network.crash(node)
    network.run(1)
    network.start(node)
    network.run(FOUND)
    assert received(network, 0, 1) == received(network, 1, 2) == received(network, 2, 3) == [X]
    publish(network.client("p", at=0), "a")
    network.run(1)
    assert subscriber.payloads == ["a"]


def test_an_end_that_lost_contact_alone_begins_anew_with_both() -> None:
    """If one end only has missed the other, what it had been told is told again."""
    network = line()
    network.client("s", at=3).subscribe(X)
    network.run(1)
    network.nodes[1].station.peers.forget(2)
    broker(network, 1).reconsider(network.now)
    network.drain(1)
    assert received(network, 1, 2) == []
    network.run(FOUND)
    assert received(network, 1, 2) == received(network, 0, 1) == [X]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_lossy_links_deliver_everything(algorithm: Algorithm) -> None:
    """With a tenth of all datagrams lost on each hop, nothing that was said or published is missing or doubled."""
    network = FakeNetwork(chain(4), config=tree(LINE, algorithm=algorithm), loss=0.1, seed=3)
    network.run(FOUND)
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(10)
    for number in range(30):
        publish(publisher, str(number), lifetime=60 * (number % 2))
        network.run(0.2)
    network.run(20)
    real_time = [each for each in subscriber.payloads if int(each) % 2 == 0]
    assert real_time == [str(number) for number in range(0, 30, 2)]
    assert [each for each in subscriber.payloads if int(each) % 2] == [str(number) for number in range(1, 30, 2)]


def test_an_overlay_link_outlives_the_hop_it_ran_over() -> None:
    """Neighbours that move apart but still reach each other over others stay neighbours in the tree."""
    network = FakeNetwork(cycle(4), config=tree([(0, 1), (1, 2), (2, 3)]))
    network.run(FOUND)
    subscriber = network.client("s", at=1)
    subscriber.subscribe(X)
    network.run(1)
    number = broker(network, 0).meetings.number(1)
    network.unlink((0, 1))
    network.run(1)
    publish(network.client("p", at=0), "a")
    network.run(GONE)
    assert subscriber.payloads == ["a"]
    assert broker(network, 0).meetings.number(1) == number


def test_a_stopped_broker_says_goodbye() -> None:
    """It leaves when its links have confirmed what they carry, and its neighbours know at once."""
    network = line()
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "last")
    network.stop(0)
    network.run(2)
    assert 0 not in network.nodes
    assert subscriber.payloads == ["last"]
    assert not is_up(network, 1, 0)


# Memorised events


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kind", [{"lifetime": 300}, {"persistent": True}])
def test_memorised_events_catch_up_when_a_link_returns(algorithm: Algorithm, kind: dict[str, object]) -> None:
    """What was published while a link was down crosses it when it is back: once, and in publisher order."""
    network = line(algorithm)
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    publish(publisher, "0", **kind)
    network.run(1)
    network.unlink((1, 2))
    for number in range(1, 4):
        publish(publisher, str(number), **kind)
        network.run(5)
    assert subscriber.payloads == ["0"]
    network.link((1, 2))
    network.run(0.5)
    publish(publisher, "4", **kind)
    network.run(FOUND)
    assert subscriber.payloads == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("advertisements", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_new_subscription_is_served_from_the_path(algorithm: Algorithm, *, advertisements: bool) -> None:
    """Instant notification: the brokers that have seen an event serve who asks later, its publisher's node gone."""
    network = line(algorithm, advertisements=advertisements)
    network.client("first", at=2).subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "a", "b", lifetime=200)
    network.run(4)
    network.crash(0)
    network.run(GONE)
    late = network.client("late", at=3)
    late.subscribe(X)
    network.run(4)
    assert late.payloads == ["a", "b"]


def test_a_client_that_was_off_gets_what_waited() -> None:
    """ON and OFF are its home's matter: what came meanwhile is delivered in order, real-time events too."""
    network = line()
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    subscriber.off()
    publish(publisher, "a", lifetime=60)
    publish(publisher, "b")
    network.run(5)
    assert subscriber.payloads == []
    subscriber.on()
    network.run(1)
    assert sorted(subscriber.payloads) == ["a", "b"]


@pytest.mark.parametrize("node", [0, 1, 2, 3])
def test_restarts_keep_memorised_events(node: int) -> None:
    """Whichever broker on the path restarts, an event that could not cross yet comes, and none comes twice."""
    network = line()
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    publish(publisher, "before", persistent=True)
    network.run(1)
    network.unlink((2, 3))
    publish(publisher, "apart", persistent=True)
    network.run(GONE)
    network.crash(node)
    network.run(1)
    network.start(node)
    network.run(FOUND)
    network.link((2, 3))
    network.run(2 * FOUND)
    assert subscriber.payloads == ["before", "apart"]


def test_a_home_that_lost_its_disk_is_served_again() -> None:
    """It lists nothing when its link begins, so it is given what its clients, who ask again, want."""
    network = line()
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    publish(publisher, "a", persistent=True)
    network.run(1)
    network.crash(3)
    network.start(3, disk=False)
    network.run(FOUND)
    fresh = network.client("fresh", at=3)
    fresh.subscribe(X)
    network.run(2)
    assert fresh.payloads == ["a"]


def test_what_a_full_queue_refuses_is_offered_again() -> None:
    """With queue_policy refuse, an event waits at its subscriber's home until there is room."""
    network = line(session_queue=2, queue_policy=QueuePolicy.REFUSE)
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    subscriber.off()
    publish(publisher, "a", "b", "c", lifetime=100)
    network.run(5)
    subscriber.on()
    network.run(10)
    assert subscriber.payloads == ["a", "b", "c"]


def test_an_event_that_expires_with_a_full_queue_is_on_record() -> None:
    """What a client's queue had no room for, and then outlived its lifetime, is lost to that home."""
    network = line(session_queue=1, queue_policy=QueuePolicy.REFUSE)
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    subscriber.off()
    publish(publisher, "a", "b", lifetime=5)
    network.run(10)
    subscriber.on()
    network.run(5)
    assert subscriber.payloads == []
    assert (3, 3) in network.lost(Reason.EXPIRED)


def test_events_of_a_link_that_begins_wait_behind_older_ones() -> None:
    """A link whose queue is nearly full carries as much as fits, in order, and the rest when there is room."""
    network = line(link_queue=16, link_window=4)
    subscriber, publisher = network.client("s", at=3), network.client("p", at=0)
    subscriber.subscribe(X)
    network.run(1)
    network.unlink((0, 1))
    wanted = [str(number) for number in range(60)]
    publish(publisher, *wanted, lifetime=300)
    network.run(5)
    network.link((0, 1))
    network.run(3 * FOUND)
    assert subscriber.payloads == wanted


# What others do wrong


def test_frames_of_the_tree_come_from_neighbours_in_it_only() -> None:
    """Whoever is no neighbour cannot make a broker hold interest, carry events, or begin a link."""
    network = line()
    body = Event(subject="x").accepted(id=event_id(3, 1, 1), chain=0).encode()
    network.inject(0, a_beacon(3))
    for frame in (
        InterestFrame(3, Word.SUBSCRIBE, (), (X,)),
        EventFrame(3, 9, 0, 0, 0, b"", body),
        Meet(3, 5, 0),
        Listing(3, Table.MET, (), (), 4),
    ):
        before = network.drops[0, Reason.FOREIGN]
        network.inject(0, frame)
        assert network.drops[0, Reason.FOREIGN] == before + 1, frame
    assert received(network, 0, 3) == []


def test_before_a_link_begins_nothing_counts() -> None:
    """What a neighbour says before both ends have agreed is of an earlier life of the link."""
    network = FakeNetwork(nodes=[0], config=tree([(0, 1)]))
    network.run(1)
    network.inject(0, InterestFrame(1, Word.SUBSCRIBE, (), (X,)))
    assert network.drops[0, Reason.STALE] == 1
    assert received(network, 0, 1) == []


def test_a_neighbour_of_another_mode_is_refused() -> None:
    """A daemon that routes by replicated tables does not become a neighbour in the tree, and its frames are foreign."""
    network = FakeNetwork(chain(2), config=tree([(0, 1)]), configs={1: QUICK})
    network.run(FOUND)
    assert not is_up(network, 0, 1)
    assert network.drops[0, Reason.FOREIGN] > 0
    before = network.drops[0, Reason.FOREIGN]
    network.inject(0, Publish(1, Event(subject="x").accepted(id=event_id(1, 1, 1), chain=0).encode()))
    assert network.drops[0, Reason.FOREIGN] == before + 1


@pytest.mark.parametrize("lifetime", [0, 60])
def test_a_cycle_among_the_daemons_is_noticed(lifetime: float) -> None:
    """If their configurations disagree, an event that comes back over another link is dropped, counted and shown."""
    ring = [(0, 1), (1, 2), (0, 2)]
    configs = {node: tree([link for link in ring if node in link]) for node in range(3)}
    network = FakeNetwork(cycle(3), configs=configs, config=tree([]))
    network.run(FOUND)
    for node in range(3):
        network.client(f"s{node}", at=node).subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "round", lifetime=lifetime)
    network.run(5)
    assert [client.payloads for name, client in network.clients.items() if name != "p"] == [["round"]] * 3
    loops = {node: sum(broker(network, node).loops.values()) for node in range(3)}
    assert sum(loops.values()) == sum(network.drops[node, Reason.LOOP] for node in range(3)) > 0
    assert sum(each.loops for node in range(3) for each in figures(broker(network, node))) == sum(loops.values())


def test_a_broker_that_lost_its_disk_between_two_that_did_not_shows_no_cycle() -> None:
    """Both give it what it had passed on, and it may pass on to one what the other gave: that is no news to them."""
    network = FakeNetwork(star(3), config=tree(((0, 1), (0, 2))))
    for node in (1, 2):
        network.client(f"s{node}", at=node).subscribe(X)
    network.run(FOUND)
    publish(network.client("p", at=1), "a", "b", persistent=True)
    network.run(1)
    network.crash(0)
    network.run(1)
    network.start(0, disk=False)
    network.run(FOUND + PERIOD)
    assert len(broker(network, 0).met) == 2
    assert not any(network.drops[node, Reason.LOOP] for node in range(3))


def test_what_a_full_table_gave_up_is_not_sent_again_and_again() -> None:
    """The other ends are told, and what both ends believe to share is the same."""
    network = FakeNetwork(chain(2), config=tree(((0, 1),), persistent_events=5))
    network.client("s", at=1).subscribe(Filter())
    network.run(FOUND)
    for node in (0, 1):
        publish(network.client(f"p{node}", at=node), *"abcde", persistent=True)
        network.run(1)
    since = network.now
    network.run(4 * PERIOD)
    assert network.kinds(since).keys().isdisjoint({Kind.EVENT, Kind.BRIEF, Kind.LISTING})


def test_interest_that_nobody_repeats_expires() -> None:
    """A subscription that its neighbour does not refresh, as it never made it, is gone with the third period."""
    network = line()
    network.inject(0, InterestFrame(1, Word.SUBSCRIBE, (), (Filter(subject="ghost"),)))
    assert received(network, 0, 1) == [Filter(subject="ghost")]
    network.run(4 * PERIOD)
    assert received(network, 0, 1) == []


def test_what_a_broker_lost_without_a_word_comes_again() -> None:
    """Both ends of a link compare what they believe in each period; what is missing is handed over once more."""
    network = line()
    network.client("s", at=3).subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "a", "b", lifetime=200)
    network.run(1)
    for node in (1, 2):
        network.nodes[node].met.keep_only(lambda _: False)
    network.run(3 * PERIOD)
    fresh = network.client("fresh", at=2)
    fresh.subscribe(X)
    network.run(1)
    assert fresh.payloads == ["a", "b"]


def test_a_forged_numbering_does_not_silence_a_neighbour() -> None:
    """Somebody in its name numbers datagrams as a later life would; its next beacon shows that this was not it."""
    network = line()
    subscriber = network.client("s", at=1)
    subscriber.subscribe(X)
    network.run(1)
    network.inject(1, Link(0, 9, 500, 0, 0, 0), Ack(0, 9, 0))
    publisher = network.client("p", at=0)
    publish(publisher, "kept", lifetime=300)
    network.run(GONE + 2 * FOUND)
    publish(publisher, "now")
    network.run(2)
    assert sorted(subscriber.payloads) == ["kept", "now"]


# What is recorded


def test_every_interest_message_is_a_row() -> None:
    """Subscriptions, refreshes and unsubscriptions are recorded one by one, at both ends of their link."""
    network = FakeNetwork(star(3), config=tree([(0, 1), (0, 2)], record=True))
    rows: list[tuple[int, InterestRow]] = []
    plain = network._carry_out  # noqa: SLF001 - what this fixture keeps no record of

    def watched(node: int, effect: object) -> None:
        if isinstance(effect, InterestRow) and effect.peer is not None:
            rows.append((node, effect))
        else:
            plain(node, effect)  # type: ignore[arg-type]

    network._carry_out = watched  # type: ignore[method-assign]  # noqa: SLF001 - as above
    network.run(2)
    client = network.client("s", at=1)
    numbers = [client.subscribe(Filter(subject=subject)) for subject in ("a", "b")]
    network.run(3 * PERIOD)
    for number in numbers:
        client.unsubscribe(number)
    network.run(1)
    said = [(row.change, row.direction) for node, row in rows if (node, row.peer) == (1, 0)]
    heard = [(row.change, "tx") for node, row in rows if (node, row.peer) == (0, 1) and row.direction == "rx"]
    assert said == heard
    assert said.count(("subscribe", "tx")) == said.count(("unsubscribe", "tx")) == 2
    assert said.count(("refresh", "tx")) == 6


def test_sizes_and_figures_tell_of_the_links() -> None:
    """How many interests stand over each link, and whether it is there."""
    network = line()
    network.client("s", at=3).subscribe(X)
    network.run(1)
    network.crash(0)
    network.run(GONE)
    down, up = figures(broker(network, 1))
    assert (down.neighbour, down.is_up, up.neighbour, up.is_up) == (0, False, 2, True)
    assert (up.subscriptions_received, up.subscriptions_sent, down.subscriptions_sent) == (1, 0, 0)
    assert network.nodes[1].sizes()["interests"][0] == 1


def test_a_grid_carries_a_tree() -> None:
    """A tree laid over a mesh that has many more links works like any other."""
    network = FakeNetwork(grid(3), config=tree([(0, 4), (4, 8), (4, 2), (4, 6)]))
    network.run(2 * FOUND)
    subscribers = [network.client(f"s{at}", at=at) for at in (2, 6, 8)]
    for each in subscribers:
        each.subscribe(X)
    network.run(1)
    publish(network.client("p", at=0), "a")
    network.run(1)
    assert [each.payloads for each in subscribers] == [["a"]] * 3
    assert not any(isinstance(loss, Loss) for _, loss in network.losses)
