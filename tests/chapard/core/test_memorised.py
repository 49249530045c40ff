"""Memorised events: exactly once to every client that wants them, whatever partitions and restarts lie between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapar.event import Delivery, event_id
from chapar.wire import Delivered, EventFrame, Kind, Listing, Publish, Replay, Store, SyncFlag
from chapard.core.config import QueuePolicy
from chapard.core.effects import Reason
from chapard.core.memorised import DELIVERED_PER_FRAME
from fake_network import QUICK, FakeNetwork, a_vector, chain, grid, mesh, quick, star

if TYPE_CHECKING:
    from fake_network import Client

X = Filter(subject="x")


def publish(client: Client, *payloads: str, lifetime: float = 600, persistent: bool = False) -> None:
    for payload in payloads:
        kept = 0 if persistent else lifetime
        client.publish(Event(subject="x", payload=payload.encode(), lifetime=kept, persistent=persistent))


def settled(links: set[tuple[int, int]], **settings: object) -> FakeNetwork:
    network = FakeNetwork(links, **settings)  # type: ignore[arg-type]  # the names are FakeNetwork's
    network.run(15)
    return network


def delivered(network: FakeNetwork) -> dict[int, list[list[int]]]:
    """What each broker knows of who has which event."""
    mets = {node: network.nodes[node].met for node in sorted(network.brokers)}
    return {node: [memory.delivered.indexes() for memory in met] for node, met in mets.items()}


# The way of an event


def test_an_event_reaches_every_broker_and_every_subscriber_once() -> None:
    """Flooded to all brokers, served to each home by its own, confirmed, and the confirmations reach all brokers."""
    network = settled(grid(3))
    publisher = network.client("p", at=0)
    subscribers = [network.client(f"s{node}", at=node) for node in (0, 2, 4, 6, 8)]
    for each in subscribers:
        each.subscribe(X)
    network.run(5)
    publish(publisher, "a")
    network.run(5)
    assert all(each.payloads == ["a"] for each in subscribers)
    assert delivered(network) == {broker: [[0, 2, 4, 6, 8]] for broker in network.brokers}


def test_a_flood_costs_one_broadcast_per_broker_at_most() -> None:
    """A broker relays an event once, by broadcast; one whose only other broker it came from does not relay at all."""
    network = settled(chain(6))
    publisher = network.client("p", at=0)
    since = network.now
    publish(publisher, "a")
    network.run(5)
    relays = [datagram for datagram, _ in network.frames(Store, since)]
    assert [datagram.sender for datagram in relays] == [1, 2, 3]
    assert all(datagram.to is None for datagram in relays)
    assert all(len(network.nodes[broker].met) == 1 for broker in (1, 2, 3, 4))


def test_only_the_chosen_broker_serves_a_home() -> None:
    """A home in reach of four brokers gets one EVENT: from the broker that its beacon names."""
    network = settled(mesh(6), config=quick(broker_min=4))
    publisher, subscriber = network.client("p", at=5), network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(5)
    since = network.now
    publish(publisher, "a", "b")
    network.run(10)
    served = [(datagram.sender, datagram.to) for datagram, _ in network.frames(EventFrame, since)]
    assert set(served) == {(network.nodes[4].station.broker, 4)}
    assert len(served) == 2


def test_a_memorised_event_is_not_multicast_as_well() -> None:
    """The flood brings it to the home's own broker; no event crosses a link twice."""
    network = settled(chain(5))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(5)
    since = network.now
    publish(publisher, "a")
    network.run(5)
    counts = network.kinds(since)
    assert (counts[Kind.PUBLISH], counts[Kind.STORE], counts[Kind.EVENT]) == (1, 2, 1)
    assert subscriber.payloads == ["a"]


def test_confirmations_are_gathered() -> None:
    """Forty events served together are confirmed in a handful of DELIVERED frames, not in forty."""
    network = settled(chain(3))
    publisher, subscriber = network.client("p", at=1), network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    since = network.now
    publish(publisher, *map(str, range(30)))
    network.run(5)
    assert len(subscriber.got) == 30
    mine = [frame for datagram, frame in network.frames(Delivered, since) if datagram.sender == 2]
    assert sum(len(frame.entries) for frame in mine) == 30
    assert len(mine) <= 2
    assert all(len(frame.entries) <= DELIVERED_PER_FRAME for frame in mine)


def test_confirmations_do_not_use_up_the_window() -> None:
    """A home that has got half a window confirms at once, so that a long backlog is served without a pause."""
    network = settled(chain(3), config=quick(delivered_delay=2.0, serve_window=8))
    publisher, subscriber = network.client("p", at=1), network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    publish(publisher, *map(str, range(40)))
    network.run(0.5)
    assert len(subscriber.got) >= 36


def test_named_destinations_get_it_whatever_they_subscribed_elsewhere() -> None:
    """A memorised event with destinations waits for those nodes, and goes to nobody else."""
    network = FakeNetwork(chain(4), nodes=[9])
    network.run(15)
    publisher = network.client("p", at=0)
    receivers = {node: network.client(f"r{node}", at=node) for node in (2, 3, 9)}
    for each in receivers.values():
        each.subscribe(X)
    network.run(5)
    publisher.publish(Event(subject="x", payload=b"a", to=(3, 9), lifetime=600))
    network.run(5)
    assert {node: each.payloads for node, each in receivers.items()} == {2: [], 3: ["a"], 9: []}
    network.link((3, 9))
    network.run(20)
    assert {node: each.payloads for node, each in receivers.items()} == {2: [], 3: ["a"], 9: ["a"]}


# Being away


@pytest.mark.parametrize("seed", range(4))
def test_exactly_once_across_partitions_and_merges_with_loss(seed: int) -> None:
    """Two halves that part and meet again and again, with a tenth of all datagrams lost or doubled: in the end every
    subscriber has every event of every publisher once, in the publisher's order."""
    network = settled(chain(6), seed=seed, loss=0.1, duplication=0.1)
    publishers = {node: network.client(f"p{node}", at=node) for node in (0, 2, 5)}
    subscribers = [network.client(f"s{node}", at=node) for node in (0, 3, 5)]
    for each in subscribers:
        each.subscribe(X)
    expected: dict[int, list[str]] = {node: [] for node in publishers}
    for round_ in range(4):
        network.run(6)
        (network.link if round_ % 2 else network.unlink)((2, 3))
        for node, each in publishers.items():
            payloads = [f"{node}.{round_}.{number}" for number in range(3)]
            publish(each, *payloads)
            expected[node] += payloads
    network.run(60)
    for each in subscribers:
        for node in publishers:
            assert [payload for payload in each.payloads if payload.startswith(f"{node}.")] == expected[node], each.name


def test_a_node_that_was_alone_brings_its_events_along() -> None:
    """What was published in a partition of one is delivered on contact with a broker, before routing has noticed."""
    network = FakeNetwork(chain(3), nodes=[9])
    publisher, subscriber = network.client("p", at=9), network.client("s", at=0)
    subscriber.subscribe(X)
    network.run(30)
    publish(publisher, "a", "b")
    network.run(5)
    network.link((9, 1), routed=False)
    network.run(QUICK.refresh_period + 1)
    assert subscriber.payloads == ["a", "b"]


def test_reachable_is_not_delivered() -> None:
    """A home whose host routes while its daemon is down is not taken to have the event: it gets it when it is back."""
    network = settled(chain(4))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(5)
    network.crash(3)
    publish(publisher, "a")
    network.run(40)
    assert all(3 not in homes for per_node in delivered(network).values() for homes in per_node)
    network.start(3)
    network.run(15)
    assert subscriber.payloads == ["a"]


def test_a_client_that_is_off_gets_it_when_it_is_on() -> None:
    """The event is safe in the session's queue, so the home has confirmed it; the client gets it in order, once."""
    network = settled(chain(3))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    subscriber.off()
    publish(publisher, "a", "b")
    network.run(10)
    assert subscriber.got == []
    assert delivered(network)[1] == [[0, 2], [0, 2]]
    subscriber.on()
    network.run(2)
    assert subscriber.payloads == ["a", "b"]


# Late subscribers


@pytest.mark.parametrize("at", [0, 1, 2, 4])
def test_a_later_subscriber_is_notified_at_once(at: int) -> None:
    """At the publisher's home, at a broker, at a node between and at the far end: within a second of subscribing."""
    network = settled(chain(5))
    publish(network.client("p", at=0), "a", "b")
    network.run(10)
    subscriber = network.client("s", at=at)
    subscriber.subscribe(X)
    network.run(1)
    assert subscriber.payloads == ["a", "b"]


def test_a_second_client_of_a_home_is_served_from_the_homes_copy() -> None:
    """What the home confirmed for one client it keeps for those that subscribe later: nothing crosses the air again."""
    network = settled(chain(5))
    publisher, first = network.client("p", at=0), network.client("s1", at=4)
    first.subscribe(X)
    network.crash(4)
    network.start(4)  # with its disk: a node that starts without one cannot know what it had
    network.run(5)
    publish(publisher, "a")
    network.run(5)
    since = network.now
    second = network.client("s2", at=4)
    second.subscribe(X)
    network.run(3)
    assert (first.payloads, second.payloads) == (["a"], ["a"])
    assert Kind.EVENT not in network.kinds(since)


def test_unsubscribing_ends_the_service() -> None:
    """What a home no longer wants is not served, though it was never delivered."""
    network = settled(chain(4))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=3)
    number = subscriber.subscribe(X)
    network.run(5)
    subscriber.unsubscribe(number)
    network.run(3)
    since = network.now
    publish(publisher, "a")
    network.run(10)
    assert Kind.EVENT not in network.kinds(since)
    assert subscriber.got == []


# Restarts


@pytest.mark.parametrize("restarted", [(0,), (1,), (2,), (3,), (4,), (1, 2, 3), (0, 1, 2, 3, 4)])
def test_restarts_with_a_disk_lose_and_repeat_nothing(restarted: tuple[int, ...]) -> None:
    """Publisher's home, brokers, subscriber's home or all at once: events from before and after come once, in order."""
    network = settled(chain(5))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(5)
    publish(publisher, "a")
    network.run(5)
    network.unlink((3, 4))
    publish(publisher, "b")
    network.run(1)
    network.crash(*restarted)
    network.run(3)
    network.start(*restarted)
    network.run(5)
    publish(publisher, "c")
    network.link((3, 4))
    network.run(30)
    assert subscriber.payloads == ["a", "b", "c"]


def test_an_event_survives_at_its_publisher_alone() -> None:
    """A publisher's node that restarts before it had any contact still has the event, and offers it to its broker."""
    network = FakeNetwork(chain(3), nodes=[9])
    publisher, subscriber = network.client("p", at=9), network.client("s", at=0)
    subscriber.subscribe(X)
    network.run(10)
    publish(publisher, "a")
    network.crash(9)
    network.start(9)
    network.link((9, 2))
    network.run(20)
    assert subscriber.payloads == ["a"]


def test_a_broker_that_lost_its_disk_is_offered_the_events_again() -> None:
    """The brokers restart empty, under the same names: the publisher's home offers what it published, and a subscriber
    that comes later gets it."""
    network = settled(star(4, centre=0), config=quick(broker_min=1))
    publisher = network.client("p", at=2)
    publish(publisher, "a", "b")
    network.run(5)
    network.crash(0, 1)
    network.start(0, 1, disk=False)
    network.run(10)
    subscriber = network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(10)
    assert subscriber.payloads == ["a", "b"]


def test_a_home_that_lost_its_disk_gets_it_again_for_a_new_subscriber() -> None:
    """It asks its broker (REPLAY): the client that had the events does not get them twice, a new one gets them."""
    network = settled(chain(4))
    publisher, old = network.client("p", at=0), network.client("old", at=3)
    old.subscribe(X)
    network.run(5)
    publish(publisher, "a", "b")
    network.run(5)
    network.crash(3)
    network.run(1)
    network.start(3, disk=False)
    network.run(10)
    new = network.client("new", at=3)
    new.subscribe(Filter())
    network.run(10)
    assert (old.payloads, new.payloads) == (["a", "b"], ["a", "b"])
    assert Kind.REPLAY in network.kinds()


def test_a_broker_that_lost_its_disk_serves_its_own_clients_again() -> None:
    """A broker needs no REPLAY: what the others hand it, and believe it to have, it offers its clients."""
    network = settled(chain(4))
    publisher, old = network.client("p", at=0), network.client("old", at=2)
    old.subscribe(X)
    network.run(5)
    publish(publisher, "a")
    network.run(5)
    network.crash(2)
    network.start(2, disk=False)
    new = network.client("new", at=2)
    new.subscribe(X)
    network.run(15)
    assert (old.payloads, new.payloads) == (["a"], ["a"])


def test_a_replay_that_was_not_heard_is_asked_for_again() -> None:
    """REPLAY to a broker that dies goes to the next one."""
    network = settled(mesh(4))
    publisher, old = network.client("p", at=0), network.client("old", at=3)
    old.subscribe(X)
    network.run(5)
    publish(publisher, "a")
    network.run(10)
    network.crash(3)
    network.start(3, disk=False)
    network.run(10)
    broker = network.nodes[3].station.broker
    assert broker is not None
    network.crash(broker)
    new = network.client("new", at=3)
    new.subscribe(Filter())
    network.run(40)
    assert new.payloads == ["a"]
    assert len({datagram.to for datagram, _ in network.frames(Replay)}) == 2


def test_an_event_that_expired_while_the_node_was_down_is_not_taken_up() -> None:
    """A restart does not lengthen a life, and leaves nothing of the event on the disk."""
    network = settled(chain(2))
    publish(network.client("p", at=0), "a", lifetime=5)
    network.run(1)
    network.crash(0)
    network.run(10)
    assert any(key.startswith("event/") for key in network.disks[0])
    network.start(0)
    assert len(network.nodes[0].met) == 0
    assert not any(key.startswith("event/") for key in network.disks[0])


# Order


def test_an_event_waits_for_its_predecessor() -> None:
    """The third event of a publisher is held back while the second is missing, and follows it as soon as it comes."""
    network = settled(chain(3))
    subscriber = network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    events = [Event(subject="x", payload=b"%d" % number, lifetime=60) for number in (1, 2, 3)]
    stamped = [each.accepted(id=event_id(9, 1, at), chain=at) for at, each in enumerate(events, start=1)]
    frames = [Store(0, 60_000, b"", each.encode()) for each in stamped]
    network.inject(1, frames[0])
    network.inject(1, frames[2])
    network.run(QUICK.order_patience / 2)
    assert subscriber.payloads == ["1"]
    network.inject(1, frames[1])
    network.run(QUICK.order_patience / 4)
    assert subscriber.payloads == ["1", "2", "3"]


def test_patience_with_a_missing_predecessor_ends() -> None:
    """After order_patience the event is served without it, also to the clients of the broker itself."""
    network = settled(chain(3))
    subscribers = [network.client(f"s{node}", at=node) for node in (1, 2)]
    for each in subscribers:
        each.subscribe(X)
    network.run(5)
    event = Event(subject="x", payload=b"3", lifetime=60).accepted(id=event_id(9, 1, 3), chain=3)
    network.inject(1, Store(0, 60_000, b"", event.encode()))
    network.run(QUICK.order_patience - 0.1)
    assert not any(each.got for each in subscribers)
    network.run(1)
    assert all(each.payloads == ["3"] for each in subscribers)


def test_a_flood_that_was_missed_is_made_good_when_the_next_event_comes() -> None:
    """A broker that learns of an event without its predecessor asks at once, long before the next beacon would tell."""
    network = FakeNetwork(chain(5), config=quick(refresh_period=60.0, subscription_lease=600.0))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(300)
    publish(publisher, "a")
    network.run(5)
    network.unlink((2, 3), routed=False)
    publish(publisher, "b")
    network.run(0.05)
    network.link((2, 3), routed=False)
    publish(publisher, "c")
    network.run(QUICK.order_patience)
    assert subscriber.payloads == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(3))
def test_publisher_order_holds_over_several_hops_and_losses(seed: int) -> None:
    """To a home behind a node without chapard, one event of a publisher is under way at a time: none overtakes."""
    network = settled(chain(5), seed=seed, loss=0.2, without_chapard={3})
    network.run(10)
    publisher, subscriber = network.client("p", at=0), network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(10)
    publish(publisher, *map(str, range(10)))
    network.run(120)
    assert subscriber.payloads == [*map(str, range(10))]


def test_to_a_far_home_one_event_of_a_publisher_is_under_way_at_a_time() -> None:
    """Over several hops nothing keeps the order, so the next event waits for the confirmation of the one before."""
    network = settled(chain(5), without_chapard={3})
    network.run(10)
    publishers, subscriber = [network.client(f"p{node}", at=node) for node in (0, 1)], network.client("s", at=4)
    subscriber.subscribe(X)
    network.run(5)
    assert network.nodes[4].station.broker == 2
    network.unlink((3, 4), routed=False)
    since = network.now
    for publisher in publishers:
        publish(publisher, "a", "b", "c")
    network.run(QUICK.serve_retry - 0.5)
    assert len({frame.body for datagram, frame in network.frames(EventFrame, since) if datagram.to == 4}) == 2
    network.link((3, 4), routed=False)
    network.run(30)
    assert sorted(subscriber.payloads) == ["a", "a", "b", "b", "c", "c"]


# Service


def test_the_window_limits_what_is_under_way() -> None:
    """A home that does not answer is sent `serve_window` events, not the whole table."""
    config = quick(serve_window=4)
    network = settled(chain(4), config=config)
    publisher, subscriber = network.client("p", at=0), network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(5)
    network.unlink((2, 3), routed=False)
    since = network.now
    publish(publisher, *map(str, range(20)))
    network.run(1)
    under_way = {bytes(frame.body) for datagram, frame in network.frames(EventFrame, since) if datagram.to == 3}
    assert len(under_way) == 4
    network.link((2, 3), routed=False)
    network.run(30)
    assert subscriber.payloads == [*map(str, range(20))]


def test_an_event_is_served_again_until_it_is_confirmed() -> None:
    """Without DELIVERED the broker sends the event again under the next attempt, at growing distances."""
    network = settled(chain(3), config=quick(hop_ack=False))
    subscriber = network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    network.unlink((1, 2), routed=False)
    since = network.now
    publish(network.client("p", at=0), "a")
    network.run(7.5)
    attempts = [(round(datagram.t - since), frame.attempt) for datagram, frame in network.frames(EventFrame, since)]
    assert attempts == [(0, 1), (3, 2)]
    network.link((1, 2), routed=False)
    network.run(10)
    assert subscriber.payloads == ["a"]
    since = network.now
    network.run(30)
    assert Kind.EVENT not in network.kinds(since)


def test_a_lost_confirmation_is_repeated() -> None:
    """A home that is served again what it has says DELIVERED again, and the client hears nothing of it."""
    network = settled(chain(3), config=quick(hop_ack=False))
    subscriber = network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    publish(network.client("p", at=0), "a")
    network.run(0.1)  # served, but not confirmed yet
    network.unlink((1, 2), routed=False)
    network.run(1)
    assert delivered(network)[1] == [[0]]
    network.link((1, 2), routed=False)
    network.run(6)
    assert delivered(network)[1] == [[0, 2]]
    assert subscriber.payloads == ["a"]


def test_what_comes_again_under_the_same_attempt_is_confirmed_again() -> None:
    """A new broker counts its attempts anew: the home drops the duplicate, but says that it has the event."""
    network = settled(chain(3))
    subscriber = network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    publish(network.client("p", at=0), "a")
    network.run(5)
    *_, (_, served) = network.frames(EventFrame)
    since = network.now
    network.inject(2, served)
    network.run(1)
    assert [frame.entries[0][0] for _, frame in network.frames(Delivered, since)] == [subscriber.got[0].id]
    assert subscriber.payloads == ["a"]


def test_a_confirmation_that_comes_back_is_sent_again() -> None:
    """What the link could not deliver of a home's own confirmations is gathered again; those of others are not."""
    network = settled(chain(3))
    since = network.now
    mine, theirs = (event_id(0, 1, 1), a_vector([2])), (event_id(0, 1, 2), a_vector([1]))
    network.nodes[2].replicated.memorised.unconfirmed(Delivered(2, (mine, theirs)), network.now)
    network.drain(2)
    network.run(1)
    assert [frame.entries for _, frame in network.frames(Delivered, since)] == [(mine,)]


def test_a_full_queue_leaves_the_event_with_the_brokers() -> None:
    """Under the refusing policy a home does not confirm what its client's queue cannot take; it comes in due time."""
    full = quick(queue_policy=QueuePolicy.REFUSE, session_queue=2)
    network = settled(chain(3), configs={2: full})
    publisher, subscriber = network.client("p", at=0), network.client("s", at=2)
    subscriber.subscribe(X)
    network.run(5)
    subscriber.off()
    publish(publisher, "a", "b", "c", "d")
    network.run(10)
    assert sorted(delivered(network)[1]) == [[0], [0], [0, 2], [0, 2]]
    subscriber.on()
    network.run(30)
    assert subscriber.payloads == ["a", "b", "c", "d"]


def test_a_confirmation_goes_to_whatever_broker_there_is() -> None:
    """DELIVERED to a broker that has died is sent to its successor."""
    network = settled(mesh(4))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=3)
    subscriber.subscribe(X)
    network.run(5)
    publish(publisher, "a")
    network.run(0.1)
    first = network.nodes[3].station.broker
    assert first is not None
    network.crash(first)
    network.run(60)
    assert subscriber.payloads == ["a"]
    assert all(3 in homes for per_node in delivered(network).values() for homes in per_node)


def test_a_home_offers_its_events_to_a_new_broker() -> None:
    """When its broker changes, a home lists what it published; the broker asks for what it lacks, and only for that."""
    network = settled(mesh(4))
    publisher = network.client("p", at=3)
    publish(publisher, "a", "b")
    network.run(5)
    first = network.nodes[3].station.broker
    assert first is not None
    since = network.now
    network.crash(first)
    network.run(30)
    offers = [frame for datagram, frame in network.frames(Listing, since) if datagram.sender == 3]
    assert offers
    assert all(offer.flags & SyncFlag.OFFER_ONLY and len(offer.entries) == 2 for offer in offers)
    assert not [datagram for datagram, _ in network.frames(Publish, since) if datagram.sender == 3]


# Expiry and room


def test_after_its_lifetime_an_event_is_gone_everywhere_and_its_loss_recorded_once() -> None:
    """Who was away for longer does not get it; the publisher's home records for whom it came too late."""
    network = FakeNetwork(chain(3), nodes=[9])
    publisher, subscriber = network.client("p", at=0), network.client("s", at=9)
    subscriber.subscribe(X)
    network.link((2, 9))
    network.run(15)
    network.unlink((2, 9))
    publish(publisher, "a", lifetime=20)
    network.run(21)
    assert all(len(node.met) == 0 for node in network.nodes.values())
    network.link((2, 9))
    network.run(20)
    assert subscriber.got == []
    assert network.lost(Reason.EXPIRED) == {(0, 9)}


def test_lifetimes_travel_as_what_remains() -> None:
    """An event handed on late in its life expires everywhere at the same time, not a lifetime after each hand-over."""
    network = FakeNetwork(chain(2), nodes=[5])
    publish(network.client("p", at=0), "a", lifetime=30)
    network.client("s", at=5).subscribe(X)
    network.run(20)
    network.link((1, 5))
    network.run(2)
    expiries = [memory.expiry for node in (0, 1, 5) for memory in network.nodes[node].met]
    assert expiries == pytest.approx([network.now + 8] * 3, abs=0.1)


def test_persistent_events_do_not_expire() -> None:
    """They wait for their subscriber for as long as it takes, over restarts."""
    network = FakeNetwork(chain(3), nodes=[9])
    publisher, subscriber = network.client("p", at=0), network.client("s", at=9)
    subscriber.subscribe(X)
    publish(publisher, "a", persistent=True)
    network.run(2000)
    network.crash(0, 1, 2)
    network.start(0, 1, 2)
    network.run(2000)
    network.link((2, 9))
    network.run(20)
    assert subscriber.payloads == ["a"]
    assert subscriber.got[0].delivery is Delivery.PERSISTENT


def test_the_fifo_of_persistent_events_is_bounded_and_discards_on_record() -> None:
    """The oldest falls off the end (report 2.2.2); for whom it is lost is recorded; later ones are still delivered."""
    config = quick(persistent_events=3)
    network = FakeNetwork(nodes=[0, 9], config=config)
    publisher, subscriber = network.client("p", at=0), network.client("s", at=9)
    network.link((0, 9))
    subscriber.subscribe(X)
    network.run(10)
    network.unlink((0, 9))
    network.run(10)
    publish(publisher, *"abcde", persistent=True)
    assert [memory.event.payload for memory in network.nodes[0].met] == [b"c", b"d", b"e"]
    assert network.lost(Reason.DISCARDED) == {(0, 9)}
    assert network.drops[0, Reason.DISCARDED] == 2
    network.link((0, 9))
    network.run(20)
    assert subscriber.payloads == ["c", "d", "e"]


def test_a_full_table_gives_up_the_next_to_expire_on_record() -> None:
    """Beyond met_events the event with the least life left goes, and its loss is recorded."""
    network = FakeNetwork(nodes=[0, 9], config=quick(met_events=2))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=9)
    network.link((0, 9))
    subscriber.subscribe(X)
    network.run(10)
    network.unlink((0, 9))
    publish(publisher, "long", lifetime=600)
    publish(publisher, "short", lifetime=60)
    publish(publisher, "middle", lifetime=300)
    assert [memory.event.payload for memory in network.nodes[0].met] == [b"long", b"middle"]
    assert network.lost(Reason.TABLE_FULL) == {(0, 9)}


def test_nothing_of_a_forgotten_event_stays_on_disk() -> None:
    """Saved with the first sight of an event, forgotten with its end."""
    network = settled(chain(3))
    publish(network.client("p", at=0), "a", lifetime=5)
    network.run(2)
    assert all(any(key.startswith("event/") for key in network.disks[node]) for node in (0, 1))
    network.run(10)
    assert not any(key.startswith("event/") for disk in network.disks.values() for key in disk)
