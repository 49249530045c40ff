"""Multicast: residual node vectors reach every destination once, over exactly the links that lead there."""

from __future__ import annotations

from collections import Counter, deque
from random import Random
from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapar.event import EventId, event_id
from chapar.limits import HOP_LIMIT
from chapar.wire import EventFrame, decode_untrusted
from chapar_olsr.view import Route, RouteView
from chapard.core.effects import Loss, Reason, Transmit
from chapard.core.lapsed import LAPSE
from chapard.core.links import Links
from chapard.core.multicast import MOST_GROUPINGS, Multicast
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet
from chapard.core.station import Station
from fake_network import (
    QUICK,
    FakeNetwork,
    a_beacon,
    a_vector,
    chain,
    cycle,
    grid,
    neighbourhoods,
    quick,
    random_links,
    route_views,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.config import Config
    from fake_network import Links as LinkSet

NOW = 100.0
UNNUMBERED = quick(hop_ack=False)


class Forwarder:
    """One node that does nothing but forward: on its routes, to peers that all run chapard."""

    def __init__(self, view: RouteView, peers: Iterable[int], config: Config = UNNUMBERED) -> None:
        self.station = Station(view.index, 1, config)
        self.station.adopt(view, NOW)
        for peer in peers:
            self.station.peers.beacon(a_beacon(peer), NOW)
        self.outlet = Outlet()
        self.links = Links(view.index, 1, config, self.outlet)
        self.multicast = Multicast(self.station, self.links, self.outlet)

    def receive(self, frame: EventFrame) -> NodeVector:
        """What the node does with an EVENT; returns the destinations it accepted."""
        accepted = self.multicast.accept(frame)
        rnv = accepted.without(self.station.index)
        if rnv.any():
            self.multicast.forward(frame, rnv)
        return accepted

    def sent(self) -> list[tuple[int, EventFrame]]:
        """The EVENTs that left, with the node each was handed to."""
        self.links.flush(NOW)
        transmits = [effect for effect in self.outlet.drain() if isinstance(effect, Transmit)]
        return [(each.to or 0, frame) for each in transmits for frame in events_in(each.data)]

    def losses(self) -> list[tuple[list[int], Reason]]:
        return [(e.homes.indexes(), e.reason) for e in self.outlet.drain() if isinstance(e, Loss)]


def events_in(data: bytes) -> list[EventFrame]:
    return [frame for frame in decode_untrusted(data) if isinstance(frame, EventFrame)]


def body_of(sequence: int = 1, origin: int = 0) -> bytes:
    return Event(subject="x").accepted(id=event_id(origin, 1, sequence), chain=0).encode()


def vector(*nodes: int) -> NodeVector:
    return NodeVector.of(nodes, QUICK.nodes)


def an_event(sender: int, to: Iterable[int], *, hops: int = 10, attempt: int = 0, sequence: int = 1) -> EventFrame:
    return EventFrame(sender, hops, attempt, 0, 0, a_vector(to), body_of(sequence))


def in_chain(index: int, nodes: int = 5, config: Config = UNNUMBERED) -> Forwarder:
    view = route_views(neighbourhoods(chain(nodes)))[index]
    return Forwarder(view, view.neighbours, config)


# The tree


def multicast_over(links: LinkSet, root: int, destinations: set[int]) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """Send one event from `root`; returns how often each node took it, and how often each link carried it."""
    views = route_views(neighbourhoods(links))
    nodes = {index: Forwarder(view, view.neighbours) for index, view in views.items()}
    taken: Counter[int] = Counter()
    carried: Counter[tuple[int, int]] = Counter()
    nodes[root].multicast.start(body_of(), vector(*destinations))
    in_flight = deque((root, to, frame) for to, frame in nodes[root].sent())
    while in_flight:
        sender, to, frame = in_flight.popleft()
        carried[sender, to] += 1
        assert frame.sender == sender
        taken[to] += nodes[to].receive(frame)[to]
        onward = nodes[to].sent()
        assert all(next_hop != sender for next_hop, _ in onward), "an event is never sent back"
        in_flight += ((to, next_hop, passed) for next_hop, passed in onward)
    assert not any(node.outlet.drops + node.outlet.losses for node in nodes.values())
    return taken, carried


def union_of_paths(links: LinkSet, root: int, destinations: set[int]) -> set[tuple[int, int]]:
    """The links on the next-hop paths from `root` to the destinations."""
    views = route_views(neighbourhoods(links))
    used = set()
    for destination in destinations:
        at = root
        while at != destination:
            next_hop = views[at].routes[destination].next_hop
            used.add((at, next_hop))
            at = next_hop
    return used


@pytest.mark.parametrize("seed", range(25))
def test_every_destination_is_reached_once_over_the_union_of_paths(seed: int) -> None:
    """On random networks of 40 nodes: each destination takes the event exactly once, nobody else does, and it crosses
    exactly the links of the union of the next-hop paths, each once."""
    rng = Random(seed)
    links = random_links(40, rng, extra=rng.randrange(60))
    root = rng.randrange(40)
    destinations = set(rng.sample([node for node in range(40) if node != root], rng.randint(1, 39)))
    taken, carried = multicast_over(links, root, destinations)
    assert +taken == Counter(destinations)
    assert carried == Counter(union_of_paths(links, root, destinations))


def test_one_transmission_serves_all_behind_one_next_hop() -> None:
    """Destinations are grouped by next hop; each group travels in one EVENT with its residual node vector (3.10)."""
    node = in_chain(1)
    node.multicast.start(body_of(), vector(0, 2, 3, 4))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(0, a_vector([0])), (2, a_vector([2, 3, 4]))]


def test_the_event_travels_byte_for_byte() -> None:
    """On the way only sender, hops and RNV change."""
    node = in_chain(1)
    frame = an_event(0, [2, 3])._replace(remaining_ms=77)
    node.receive(frame)
    assert node.sent() == [(2, frame._replace(sender=1, hops=9))]


def on_grid(index: int, peers: Iterable[int] | None = None) -> Forwarder:
    """A node of three rows of three, whose routing knows all links; the next hops to 6 and 8 could be one or two."""
    view = route_views(neighbourhoods(grid(3)), knows_links=True)[index]
    return Forwarder(view, view.neighbours if peers is None else peers)


def test_where_links_are_known_paths_are_shared() -> None:
    """Of equally short paths those are taken that serve several destinations, here and on the way."""
    node = on_grid(1)
    node.multicast.start(body_of(), vector(2, 6, 8))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(2, a_vector([2])), (4, a_vector([6, 8]))]
    node = on_grid(4)
    node.receive(an_event(1, [6, 8]))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(7, a_vector([6, 8]))]


def test_a_path_over_a_peer_is_taken_where_it_is_as_short() -> None:
    """A next hop without chapard is skipped only where all shortest paths lead over such; a new peer counts at once."""
    node = on_grid(1, peers=[0, 2])
    node.multicast.start(body_of(), vector(5, 6, 7, 8))
    assert {to: frame.rnv for to, frame in node.sent()} == {2: a_vector([5, 8]), 0: a_vector([6]), 7: a_vector([7])}
    node.station.peers.beacon(a_beacon(4), NOW)
    node.multicast.start(body_of(), vector(5, 6, 7, 8))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(4, a_vector([5, 6, 7, 8]))]


def test_a_new_view_makes_a_new_tree() -> None:
    """A broken link is in no path any more."""
    node = on_grid(1)
    views = route_views(neighbourhoods(grid(3) - {(1, 4)}), knows_links=True)
    for view in (node.station.view, views[1]):
        node.station.adopt(view, NOW)
        node.multicast.start(body_of(), vector(6))
    assert [to for to, _ in node.sent()] == [0, 0]
    node.station.adopt(route_views(neighbourhoods(grid(3) - {(0, 3)}), knows_links=True)[1], NOW)
    node.multicast.start(body_of(), vector(6))
    assert [to for to, _ in node.sent()] == [4]


def test_a_dead_hop_is_gone_round_where_another_path_is_as_short() -> None:
    """What a link gives up goes over another next hop, though the route still leads over the dead one."""
    node = on_grid(0)
    node.multicast.gave_up(1, an_event(0, [1, 2, 4]))
    node.links.flush(NOW)
    effects = node.outlet.drain()
    assert [(e.homes.indexes(), e.reason) for e in effects if isinstance(e, Loss)] == [([1, 2], Reason.HOP_DEAD)]
    assert [each.to for each in effects if isinstance(each, Transmit)] == [3]


def test_groupings_are_remembered_within_a_limit() -> None:
    """The residual vectors that peers send cannot fill the memory."""
    node = in_chain(1)
    for number in range(1, MOST_GROUPINGS + 20):
        wanted = [bit + 2 for bit in range(12) if number >> bit & 1]
        node.multicast.send(an_event(1, wanted), vector(*wanted))
    assert len(node.multicast._groupings) <= MOST_GROUPINGS  # noqa: SLF001 - nothing else shows it


# Loops


def test_an_event_is_accepted_once_per_destination() -> None:
    """A repetition is accepted for nobody; a copy for others is accepted for those it adds."""
    node = in_chain(1)
    assert node.receive(an_event(0, [2, 3])).indexes() == [2, 3]
    assert not node.receive(an_event(0, [2, 3])).any()
    assert node.receive(an_event(0, [3, 4])).indexes() == [4]
    assert [frame.rnv for _, frame in node.sent()] == [a_vector([2, 3]), a_vector([4])]


def test_each_attempt_is_accepted_anew() -> None:
    """A memorised event that is served again must not die of having passed before."""
    node = in_chain(1)
    assert node.receive(an_event(0, [2], attempt=1)).indexes() == [2]
    assert node.receive(an_event(0, [2], attempt=2)).indexes() == [2]
    assert not node.receive(an_event(0, [2], attempt=2)).any()


def test_what_was_accepted_is_remembered_within_the_limit() -> None:
    """`seen_limit` events are remembered, those used last; the oldest goes first."""
    node = in_chain(1, config=quick(hop_ack=False, seen_limit=3))
    for sequence in (1, 2, 3, 1, 4):
        node.receive(an_event(0, [2], sequence=sequence))
    assert len(node.multicast) == 3
    assert not node.receive(an_event(0, [2], sequence=1)).any()
    assert node.receive(an_event(0, [2], sequence=2)).any()


def test_nothing_is_sent_back_to_where_it_came_from() -> None:
    """If the route leads back to the node that sent the event, its destinations are recorded as lost."""
    node = in_chain(1)
    node.receive(an_event(2, [3, 0]))
    node.links.flush(NOW)
    effects = node.outlet.drain()
    assert [effect.to for effect in effects if isinstance(effect, Transmit)] == [0]
    assert [e for e in effects if isinstance(e, Loss)] == [Loss(event_id(0, 1, 1), vector(3), Reason.NO_ROUTE)]


def test_hops_are_limited() -> None:
    """Each hop lowers the limit; at its end the rest of the destinations is recorded as lost."""
    node = in_chain(1)
    node.receive(an_event(0, [2], hops=2, sequence=1))
    assert [frame.hops for _, frame in node.sent()] == [1]
    for hops in (1, 0):
        node.receive(an_event(0, [2, 3], hops=hops, sequence=10 + hops))
        assert node.losses() == [([2, 3], Reason.HOP_LIMIT)]


def test_a_routing_loop_dies_out() -> None:
    """Three nodes that send each other in a circle: the event goes round once and is dropped as known."""
    routes = {0: 1, 1: 2, 2: 0}
    nodes = {}
    for index, next_hop in routes.items():
        view = RouteView(index, frozenset({0, 1, 2} - {index}), {9: Route(next_hop, 3)})
        nodes[index] = Forwarder(view, view.neighbours)
    nodes[0].multicast.first_seen(event_id(0, 1, 1), 0, vector(9))
    nodes[0].multicast.start(body_of(), vector(9))
    in_flight = deque(nodes[0].sent())
    hops = 0
    while in_flight:
        to, frame = in_flight.popleft()
        hops += 1
        nodes[to].receive(frame)
        in_flight += nodes[to].sent()
    assert hops == 3


# Nodes without chapard, and contacts that routing does not know


def test_a_next_hop_without_chapard_is_skipped() -> None:
    """The event goes straight to each destination behind it, and IP carries it there."""
    view = route_views(neighbourhoods(chain(5)))[1]
    node = Forwarder(view, peers=[0])
    node.multicast.start(body_of(), vector(0, 3, 4))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(node, a_vector([node])) for node in (0, 3, 4)]


def test_a_contact_is_reached_before_routing_knows_it() -> None:
    """A peer, or a neighbour, without a route is one hop away; anybody else without a route is lost."""
    node = Forwarder(RouteView(1, frozenset({5})), peers=[7])
    node.multicast.start(body_of(), vector(5, 7, 9))
    node.links.flush(NOW)
    effects = node.outlet.drain()
    assert [effect.to for effect in effects if isinstance(effect, Transmit)] == [5, 7]
    assert [(e.homes.indexes(), e.reason) for e in effects if isinstance(e, Loss)] == [([9], Reason.NO_ROUTE)]


@pytest.mark.parametrize("silent", [{2}, {1, 3}, {1, 2, 3}])
def test_events_cross_nodes_that_run_no_chapard(silent: set[int]) -> None:
    """In a chain of five with nodes that only route, a real-time and a memorised event reach the far end once."""
    network = FakeNetwork(chain(5), without_chapard=silent)
    publisher, subscriber = network.client("p", at=0), network.client("s", at=4)
    network.run(20)
    subscriber.subscribe(Filter(subject="x"))
    network.run(10)
    publisher.publish(Event(subject="x", payload=b"now"))
    publisher.publish(Event(subject="x", payload=b"kept", lifetime=60))
    network.run(10)
    assert subscriber.payloads == ["now", "kept"]


# Links that fail


def flapped(before: RouteView, after: RouteView) -> Forwarder:
    """A node whose routing has just changed its mind."""
    node = Forwarder(before, before.neighbours)
    node.station.adopt(after, NOW)
    return node


def test_a_way_that_routing_took_back_is_tried_where_there_is_no_other() -> None:
    """Until it has lapsed for good; such a destination counts as reachable that long."""
    node = flapped(RouteView(1, frozenset({2}), {2: Route(2, 1), 5: Route(2, 3)}), RouteView(1))
    node.station.peers.forget(2)
    assert node.station.reachable().indexes() == [1, 2, 5]
    node.receive(an_event(0, to=[5]))
    assert [(to, frame.rnv) for to, frame in node.sent()] == [(2, a_vector([5]))]
    node.station.lapsed.expire(NOW + LAPSE)
    node.receive(an_event(0, to=[5], sequence=2))
    assert node.station.reachable().indexes() == [1]
    assert node.losses() == [([5], Reason.NO_ROUTE)]


def test_a_way_that_routing_took_back_is_tried_instead_of_the_way_back() -> None:
    """Others have not heard of the change yet, and sent the event here; a way of now comes first for the rest."""
    neighbours = frozenset({0, 2})
    before = RouteView(1, neighbours, {0: Route(0, 1), 2: Route(2, 1), 5: Route(2, 2), 6: Route(0, 2)})
    node = flapped(before, RouteView(1, neighbours, {**before.routes, 5: Route(0, 4)}))
    node.receive(an_event(0, to=[5]))
    assert [to for to, _ in node.sent()] == [2]
    node.receive(an_event(2, to=[5], sequence=2))
    assert [to for to, _ in node.sent()] == [0]


def test_a_hop_that_does_not_answer_is_not_tried_again() -> None:
    """What routing took back, and silence, together are the end of it."""
    node = flapped(RouteView(1, frozenset({2}), {2: Route(2, 1), 5: Route(2, 3)}), RouteView(1))
    node.station.peers.forget(2)
    node.station.lapsed.dead(2)
    node.receive(an_event(0, to=[5]))
    assert node.losses() == [([5], Reason.NO_ROUTE)]


def test_what_a_link_gives_up_is_grouped_again() -> None:
    """Destinations that other next hops lead to by now go there; those behind the dead hop are recorded as lost."""
    node = in_chain(2)
    frame = an_event(2, [0, 3, 4])
    node.multicast.gave_up(1, frame)
    node.links.flush(NOW)
    effects = node.outlet.drain()
    assert [(e.homes.indexes(), e.reason) for e in effects if isinstance(e, Loss)] == [([0], Reason.HOP_DEAD)]
    (sent,) = [effect for effect in effects if isinstance(effect, Transmit)]
    assert (sent.to, events_in(sent.data)) == (3, [frame._replace(rnv=a_vector([3, 4]))])


def test_what_a_link_gives_up_does_not_go_back_either() -> None:
    """If the routes of now lead back to where the event came from, that is a recorded loss, not a duplicate there."""
    node = in_chain(2)
    node.receive(an_event(1, [4]))
    ((_, passed),) = node.sent()
    detour = RouteView(2, frozenset({1}), {1: Route(1, 1), 4: Route(1, 3)})
    node.station.adopt(detour, NOW)
    node.multicast.gave_up(3, passed)
    assert node.losses() == [([4], Reason.NO_ROUTE)]


def test_a_neighbour_that_moved_away_is_reached_where_it_is() -> None:
    """When a neighbour is gone from the view but has a route, it is not dead: the event follows it."""
    node = in_chain(2)
    node.station.adopt(RouteView(2, frozenset({1}), {1: Route(1, 1), 3: Route(9, 2)}), NOW)
    node.multicast.gave_up(None, an_event(2, [3]))
    assert [to for to, _ in node.sent()] == [3]


def test_without_any_route_the_loss_is_recorded() -> None:
    """A destination that no route leads to any more is lost for want of a route."""
    node = in_chain(2)
    node.station.adopt(RouteView(2, frozenset({1}), {1: Route(1, 1)}), NOW)
    node.multicast.gave_up(3, an_event(2, [4]))
    assert node.losses() == [([4], Reason.NO_ROUTE)]


def test_events_in_flight_follow_a_changed_route() -> None:
    """A node whose next hop falls silent re-groups what it holds when routing finds another way; nothing is lost."""
    network = FakeNetwork(cycle(5))
    publisher = network.client("p", at=0)
    subscribers = [network.client(f"s{node}", at=node) for node in (1, 2)]
    for each in subscribers:
        each.subscribe(Filter(subject="x"))
    network.run(15)
    network.unlink((0, 1), routed=False)
    for number in range(5):
        publisher.publish(Event(subject="x", payload=b"%d" % number))
    network.run(1)
    assert not any(each.got for each in subscribers)
    network.converge()
    network.run(3)
    assert all(each.payloads == ["0", "1", "2", "3", "4"] for each in subscribers)
    assert network.losses == []


# The network


def test_unreachable_destinations_are_recorded() -> None:
    """Point-to-multipoint: who is there gets the event, who is not is a recorded loss; a node without a client that
    wants it says so."""
    network = FakeNetwork(chain(4), nodes=[9])
    publisher = network.client("p", at=0)
    receivers = {node: network.client(f"r{node}", at=node) for node in (2, 3, 9)}
    for each in receivers.values():
        each.subscribe(Filter(subject="x"))
    network.run(10)
    publisher.publish(Event(subject="x", payload=b"all", to=(1, 2, 3, 9)))
    network.run(5)
    assert {node: each.payloads for node, each in receivers.items()} == {2: ["all"], 3: ["all"], 9: []}
    assert {home for _, home in network.lost(Reason.UNREACHABLE)} == {9}
    assert network.lost(Reason.NO_CLIENT) == {(1, 1)}


def test_point_to_point_goes_to_one_node_only() -> None:
    """With a destination named, other subscribers get nothing."""
    network = FakeNetwork(chain(3))
    publisher = network.client("p", at=0)
    receivers = [network.client(f"r{node}", at=node) for node in (1, 2)]
    for each in receivers:
        each.subscribe(Filter(subject="x"))
    network.run(10)
    publisher.publish(Event(subject="x", payload=b"one", to=(2,)))
    network.run(5)
    assert [each.payloads for each in receivers] == [[], ["one"]]
    assert network.losses == []


def test_a_dead_destination_is_recorded_as_lost() -> None:
    """A subscriber whose daemon is gone while routes still lead there: after the retries the loss is on record."""
    network = FakeNetwork(chain(3))
    publisher, subscriber = network.client("p", at=0), network.client("s", at=2)
    subscriber.subscribe(Filter(subject="x"))
    network.run(10)
    network.crash(2)
    publisher.publish(Event(subject="x"))
    network.run(30)
    assert network.lost(Reason.HOP_DEAD) == {(1, 2)}


def test_the_longest_path_fits_the_hop_limit() -> None:
    """An event crosses a chain of as many nodes as its hop limit allows, and no more."""
    network = FakeNetwork(chain(7), config=quick(hop_limit=4))
    publisher = network.client("p", at=1)
    near, far = network.client("n", at=5), network.client("f", at=6)
    for each in (near, far):
        each.subscribe(Filter(subject="x"))
    network.run(15)
    publisher.publish(Event(subject="x"))
    network.run(5)
    assert (len(near.got), len(far.got)) == (1, 0)
    assert network.lost(Reason.HOP_LIMIT) == {(5, 6)}
    assert QUICK.hop_limit == HOP_LIMIT


def test_ids_are_events_own() -> None:
    """Two events never share what was accepted of them."""
    node = in_chain(1)
    assert node.multicast.first_seen(EventId(event_id(0, 1, 1)), 0, vector(2)).indexes() == [2]
    assert node.multicast.first_seen(EventId(event_id(0, 1, 2)), 0, vector(2)).indexes() == [2]
