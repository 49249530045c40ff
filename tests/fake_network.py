"""Several nodes joined by a fake medium, in virtual time: the default fixture of the core's tests.

    network = FakeNetwork(chain(3))
    network.run(10)
    client = network.client("c", at=2)
    client.subscribe(Filter(subject="x"))

Time moves only in `run`. A datagram takes `DELAY` per hop; a unicast is carried by IP along the routes that the hosts
have been told, over nodes without chapard too. Every datagram sent is kept in `sent`, so that a test can ask what
crossed the air and what it cost. The same seed gives the same run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import combinations, count
from math import inf
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from chapar.event import later
from chapar.limits import MAX_NODES
from chapar.session import ClientSession, Receipt, Refused, Standing
from chapar.wire import NO_BROKER, Beacon, BeaconFlag, decode_untrusted, encode, kind_of
from chapar_olsr.mpr import select_mprs
from chapar_olsr.paths import shortest_paths
from chapar_olsr.view import RouteView
from chapard.core.config import Config
from chapard.core.effects import Answer, Drop, Loss, Reason, RoleRow, Save, Settle, Transmit
from chapard.core.node import Node
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chapar.event import Event, EventId
    from chapar.filter import Filter
    from chapar.session import Message
    from chapar.wire import Frame, Kind
    from chapard.core.effects import Effect

Links = set[tuple[int, int]]

START = 1_000_000.0
DELAY = 0.001
"""Seconds of one hop."""
HEADERS = 42
"""Bytes of Ethernet, IPv4 and UDP headers around a datagram's payload."""
QUICK = Config(
    nodes=64, beacon_min=0.5, refresh_period=4.0, contact_periods=2.0, dismissal_time=5.0, orphan_patience=1.0,
    subscription_lease=60.0, merge_window=4.0, publish_patience=2.0, sync_retry=1.0, keep_alive=1e9,
)  # fmt: skip
"""Short periods, and clients that may be silent for as long as they like."""

FrameT = TypeVar("FrameT", bound="Frame")


def chain(nodes: int) -> Links:
    return {(i, i + 1) for i in range(nodes - 1)}


def mesh(nodes: int) -> Links:
    return set(combinations(range(nodes), 2))


def star(nodes: int, centre: int = 0) -> Links:
    return {(centre, i) for i in range(nodes) if i != centre}


def cycle(nodes: int) -> Links:
    return chain(nodes) | {(0, nodes - 1)}


def grid(side: int) -> Links:
    """`side` rows of `side` nodes, numbered row by row."""
    right = {(i, i + 1) for i in range(side * side) if (i + 1) % side}
    down = {(i, i + side) for i in range(side * (side - 1))}
    return right | down


def random_links(nodes: int, rng: Random, extra: int) -> Links:
    """A random connected graph: a random tree and `extra` links more."""
    links = {(rng.randrange(i), i) for i in range(1, nodes)}
    others = sorted(mesh(nodes) - links)
    return links | set(rng.sample(others, min(extra, len(others))))


def neighbourhoods(links: Iterable[tuple[int, int]], nodes: Iterable[int] = ()) -> dict[int, set[int]]:
    """The neighbours of each node."""
    adjacency: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in links:
        adjacency.setdefault(a, set()).add(b)
        adjacency.setdefault(b, set()).add(a)
    return {node: adjacency[node] for node in sorted(adjacency)}


def route_views(
    adjacency: Mapping[int, set[int]], *, knows_mprs: bool = True, knows_links: bool = False
) -> dict[int, RouteView]:
    """What routing that has converged tells each node."""
    near = {node: {n: frozenset(adjacency[n]) for n in sorted(adjacency[node])} for node in adjacency}
    mprs = {node: select_mprs(node, near[node]) for node in adjacency}
    views = {}
    for node in adjacency:
        chosen_by = frozenset(other for other in adjacency if node in mprs[other])
        views[node] = RouteView(
            node,
            frozenset(adjacency[node]),
            shortest_paths(node, adjacency),
            mprs[node] if knows_mprs else None,
            chosen_by if knows_mprs else None,
            links={each: frozenset(adjacency[each]) for each in adjacency} if knows_links else None,
        )
    return views


def a_beacon(
    sender: int,
    *,
    is_broker: bool = False,
    flags: int = 0,
    broker: int = NO_BROKER,
    neighbours: Iterable[int] = (),
    relays: Iterable[int] = (),
    incarnation: int = 1,
) -> Beacon:
    """The beacon of a node that has no filters and no tables."""
    return Beacon(
        sender, incarnation, flags | (BeaconFlag.BROKER if is_broker else 0), broker, 0, 0, a_vector(neighbours),
        a_vector(relays), 0, 0, 0, 0, (),
    )  # fmt: skip


def a_vector(nodes: Iterable[int]) -> bytes:
    """A node vector as it travels in these networks."""
    return NodeVector.of(nodes, QUICK.nodes).to_wire()


class Sent(NamedTuple):
    """One datagram as it left its sender; `to` is None for a broadcast."""

    t: float
    sender: int
    to: int | None
    data: bytes

    def frames(self) -> list[Frame]:
        return decode_untrusted(self.data, nodes=MAX_NODES)


@dataclass
class Client:
    """An application on a node; `got` is what it received, in order."""

    network: FakeNetwork
    name: str
    home: int
    got: list[Event] = field(default_factory=list)
    receipts: dict[int, EventId] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    standings: dict[int, Standing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = ClientSession(self.name)

    def received(self, message: Message) -> None:
        """Take a message of the home; the application takes what arrives at once."""
        for number, event in self.session.received(message, self.network.now):
            self.session.consumed(number)
            self.got.append(event)
        if isinstance(message, Receipt):
            for place in range(message.length):
                self.receipts[message.number + place] = later(message.id, place)
        elif isinstance(message, Refused):
            self.refusals[message.number] = message.reason
        elif isinstance(message, Standing):
            self.standings[message.number] = message

    @property
    def payloads(self) -> list[str]:
        return [event.payload.decode() for event in self.got]

    def subscribe(self, filter: Filter) -> int:  # noqa: A002 - the field's own noun
        number = self.session.subscribe(filter)
        self.network.hear(self)
        return number

    def unsubscribe(self, number: int) -> None:
        self.session.unsubscribe(number)
        self.network.hear(self)

    def publish(self, event: Event) -> int:
        number = self.session.publish(event)
        self.network.hear(self)
        return number

    def inquire(self, event_id: EventId) -> int:
        number = self.session.inquire(event_id)
        self.network.hear(self)
        return number

    def on(self) -> None:
        self.session.open(self.network.now)
        self.network.hear(self)

    def off(self) -> None:
        self.session.close(self.network.now)
        self.network.hear(self)


class FakeNetwork:
    """Nodes, their medium, their clients and their disks."""

    def __init__(
        self,
        links: Iterable[tuple[int, int]] = (),
        *,
        nodes: Iterable[int] = (),
        config: Config = QUICK,
        configs: Mapping[int, Config] | None = None,
        seed: int = 0,
        knows_mprs: bool = True,
        loss: float = 0.0,
        duplication: float = 0.0,
        without_chapard: Iterable[int] = (),
    ) -> None:
        self.now = START
        self.config = config
        self.configs = configs or {}
        self.loss = loss
        self.duplication = duplication
        self.knows_mprs = knows_mprs
        self.adjacency = neighbourhoods(links, nodes)
        self.nodes: dict[int, Node] = {}
        self.disks: dict[int, dict[str, bytes]] = defaultdict(dict)
        self.clients: dict[str, Client] = {}
        self.sent: list[Sent] = []
        self.losses: list[tuple[int, Loss]] = []
        self.drops: Counter[tuple[int, Reason]] = Counter()
        self.role_rows: list[tuple[float, int, RoleRow]] = []
        self._rng = Random(seed)
        self._incarnations: Counter[int] = Counter()
        self._deadlines: dict[int, float] = {}
        self._in_flight: list[tuple[float, int, int, Sent]] = []
        self._tickets = count()
        self._views: dict[int, RouteView] = {}
        running = [node for node in self.adjacency if node not in set(without_chapard)]
        for node in running:
            self._boot(node, None)
        self.converge()

    # Time

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while True:
            arrival = self._in_flight[0][0] if self._in_flight else inf
            due = min(arrival, min(self._deadlines.values(), default=inf))
            if due > end:
                break
            self.now = max(self.now, due)
            if arrival <= self.now:
                _, _, to, datagram = heappop(self._in_flight)
                self._arrive(to, datagram)
            else:
                for node in [node for node, deadline in self._deadlines.items() if deadline <= self.now]:
                    self.nodes[node].tick(self.now)
                    self.drain(node)
                    assert self._deadlines.get(node, inf) > self.now, f"node {node} leaves undone what is due"
        self.now = end

    def drain(self, node: int) -> None:
        """Carry out what a node wants done."""
        while effects := self.nodes[node].drain(self.now):
            for effect in effects:
                self._carry_out(node, effect)
        if self.nodes[node].is_stopped:
            del self.nodes[node]
            self._deadlines.pop(node, None)
        else:
            self._deadlines[node] = self.nodes[node].next_deadline()

    def _carry_out(self, node: int, effect: Effect) -> None:
        match effect:
            case Transmit(to, data):
                self._transmit(Sent(self.now, node, to, data))
            case Answer(name, message):
                client = self.clients[name]
                client.received(message)
                for request in client.session.requests(self.now):
                    self.nodes[node].client_request(name, request, self.now)
            case Save(key, None):
                self.disks[node].pop(key, None)
            case Save(key, bytes() as value):
                self.disks[node][key] = value
            case Settle(number):
                self.nodes[node].saved(number, self.now)
            case Loss():
                self.losses.append((node, effect))
            case Drop(reason=reason):
                self.drops[node, reason] += 1
            case RoleRow():
                self.role_rows.append((self.now, node, effect))

    # The medium

    def _transmit(self, datagram: Sent) -> None:
        self.sent.append(datagram)
        if datagram.to is None:
            for neighbour in sorted(self.adjacency[datagram.sender]):
                self._fly(neighbour, datagram, 1)
        else:
            hops = self._hops(datagram.sender, datagram.to)
            if hops:
                self._fly(datagram.to, datagram, hops)

    def _hops(self, at: int, to: int) -> int:
        """Hops on the way that the hosts' routes lead; 0 if they lead over a link that is down."""
        for hops in count():
            if at == to or hops > len(self.adjacency):
                return hops
            route = self._views[at].routes.get(to)
            at_next = route.next_hop if route is not None else to
            if at_next not in self.adjacency[at]:
                return 0
            at = at_next
        raise AssertionError("count ends never")

    def _fly(self, to: int, datagram: Sent, hops: int) -> None:
        copies = 1 + (self.duplication > 0 and self._rng.random() < self.duplication)
        for _ in range(copies):
            if self.loss == 0 or all(self._rng.random() >= self.loss for _ in range(hops)):
                heappush(self._in_flight, (self.now + hops * DELAY, next(self._tickets), to, datagram))

    def _arrive(self, to: int, datagram: Sent) -> None:
        if to in self.nodes:
            self.nodes[to].datagram_received(datagram.data, datagram.sender, self.now)
            self.drain(to)

    def inject(self, to: int, *frames: Frame) -> None:
        """Hand a node frames as if their sender's datagram had just arrived."""
        self._arrive(to, Sent(self.now, frames[0].sender, to, b"".join(map(encode, frames))))

    # Routing

    def link(self, *links: tuple[int, int], routed: bool = True) -> None:
        """Bring links up; with routed=False the radio works but routing has not noticed yet."""
        for a, b in links:
            self.adjacency[a].add(b)
            self.adjacency[b].add(a)
        if routed:
            self.converge()

    def unlink(self, *links: tuple[int, int], routed: bool = True) -> None:
        for a, b in links:
            self.adjacency[a].discard(b)
            self.adjacency[b].discard(a)
        if routed:
            self.converge()

    def converge(self) -> None:
        """Tell every node the routes of this moment."""
        self._views = route_views(self.adjacency, knows_mprs=self.knows_mprs)
        for node in sorted(self.nodes):
            self._tell(node)

    def _tell(self, node: int) -> None:
        self.nodes[node].route_changed(self._views[node], self.now)
        self.drain(node)

    # Daemons

    def _boot(self, node: int, saved: Mapping[str, bytes] | None) -> None:
        self._incarnations[node] += 1
        config = self.configs.get(node, self.config)
        self.nodes[node] = Node(node, self._incarnations[node], config, Random(self._rng.random()), self.now, saved)
        self.drain(node)

    def crash(self, *nodes: int) -> None:
        """End daemons without a word. The hosts go on routing."""
        for node in nodes:
            del self.nodes[node], self._deadlines[node]
            for client in self._clients_of(node):
                client.session.lost()

    def start(self, *nodes: int, disk: bool = True) -> None:
        """Start daemons again, with what they saved or (disk=False) without; their clients open their sessions."""
        for node in nodes:
            if not disk:
                self.disks[node].clear()
            self._boot(node, dict(self.disks[node]))
            self._tell(node)
            for client in self._clients_of(node):
                client.on()

    def stop(self, node: int) -> None:
        """Stop a daemon in good order; it is gone from `nodes` once it has left."""
        self.nodes[node].stop(self.now)
        self.drain(node)

    # Clients

    def client(self, name: str, at: int) -> Client:
        """A client that is ON."""
        client = self.clients[name] = Client(self, name, at)
        client.on()
        return client

    def hear(self, client: Client) -> None:
        """Carry a client's requests to its home."""
        node = self.nodes.get(client.home)
        requests = client.session.requests(self.now)
        if node is not None:
            for request in requests:
                node.client_request(client.name, request, self.now)
            self.drain(client.home)

    def _clients_of(self, node: int) -> list[Client]:
        return [client for client in self.clients.values() if client.home == node]

    # What a test asks

    @property
    def brokers(self) -> set[int]:
        return {index for index, node in self.nodes.items() if node.station.is_broker}

    def frames(self, kind: type[FrameT], since: float = 0.0) -> Iterator[tuple[Sent, FrameT]]:
        """Every frame of a kind that was sent, with its datagram."""
        for datagram in self.sent:
            if datagram.t >= since:
                yield from ((datagram, frame) for frame in datagram.frames() if isinstance(frame, kind))

    def kinds(self, since: float = 0.0) -> Counter[Kind]:
        """How many frames of each kind were sent."""
        return Counter(kind_of(frame) for each in self.sent if each.t >= since for frame in each.frames())

    def cost(self, since: float = 0.0, *, without: Kind | None = None) -> int:
        """Bytes on the air, headers included; datagrams of nothing but one kind can be left out."""
        datagrams = [each for each in self.sent if each.t >= since]
        if without is not None:
            datagrams = [each for each in datagrams if {kind_of(frame) for frame in each.frames()} != {without}]
        return sum(len(each.data) + HEADERS for each in datagrams)

    def lost(self, reason: Reason) -> set[tuple[int, int]]:
        """Node that recorded a loss, and home that it concerns."""
        return {(node, home) for node, loss in self.losses if loss.reason is reason for home in loss.homes.indexes()}


def quick(**changes: object) -> Config:
    """QUICK with some parameters changed."""
    return replace(QUICK, **changes)  # type: ignore[arg-type]  # the names and types are Config's, which checks them
