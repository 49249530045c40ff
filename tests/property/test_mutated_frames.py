"""Nothing a peer sends can crash a daemon, grow its memory without bound or take from it what is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chapar import Event, Filter
from chapar.errors import WireError
from chapar.event import event_id
from chapar.wire import MetRecord, Records, Store, Table, decode_untrusted, encode, encode_record
from chapard.core.effects import Reason
from chapard.core.roles import Role
from fake_network import QUICK, FakeNetwork, chain, quick
from strategies.frames import datagrams, fmt_records, frames, met_records

if TYPE_CHECKING:
    from chapard.core.config import Config
    from chapard.core.node import Node

TARGET = 2
"""A broker in the middle of a chain, with a client, its own events and the filters of other homes."""
TINY = quick(
    met_events=4, persistent_events=2, fmt_homes=3, filters_per_home=3, seen_limit=4, link_queue=16, link_window=4,
    reassembly_messages=2, session_queue=4,
)  # fmt: skip

fuzz = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def under_attack(config: Config = QUICK) -> FakeNetwork:
    """A running network, quiet for the moment."""
    network = FakeNetwork(chain(5), config=config)
    for node in (0, TARGET, 4):
        client = network.client(f"c{node}", at=node)
        client.subscribe(Filter(subject="x"))
        client.subscribe(Filter(where="speed > 2"))
    network.run(8)
    for lifetime in (600, 0, 60):
        network.clients[f"c{TARGET}"].publish(Event(subject="mine", lifetime=lifetime))
    network.clients["c0"].publish(Event(subject="x", lifetime=600))
    network.run(4)
    assert network.nodes[TARGET].role is Role.BROKER
    return network


def own(node: Node) -> Any:
    """What no peer may change: the clients' subscriptions and the filters they add up to, and the node's own events."""
    sessions = [(each.client, each.epoch, each.is_on, dict(each.subscriptions)) for each in node.home.sessions.all()]
    events = [(memory.body, memory.expiry) for memory in node.met if memory.is_own]
    return sessions, set(node.home.interests.announced()), events


def everything(node: Node) -> Any:
    """What a datagram that is not even well formed may not change: all but the counters."""
    peers = [(peer.index, peer.beacon, peer.since) for peer in node.station.peers]
    met = [(memory.body, memory.delivered, memory.wanted) for memory in node.met]
    queues = [[waiting.number for waiting in (*session.flight, *session.queue)] for session in node.home.sessions.all()]
    fmt = {home: node.fmt.get(home) for home in node.fmt.homes()}
    version = node.home.interests.version
    return own(node), peers, met, queues, fmt, version, node.role, node.sizes(), node.next_deadline()


def within_limits(node: Node) -> None:
    for name, (used, limit) in node.sizes().items():
        assert used <= limit, name
    assert len(node.home.sessions) == 1


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """The bytes of a good datagram, some of them changed, lost, doubled or put in from elsewhere."""
    data = bytearray(b"".join(encode(frame) for frame in draw(datagrams(QUICK.nodes, max_size=3))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0 if at < len(data):
                data[at] ^= draw(st.integers(1, 255))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = draw(st.binary(max_size=12))
            case _:
                data[at:at] = data[at : at + draw(st.integers(1, 40))]
    return bytes(data)


sources = st.integers(0, QUICK.nodes - 1)
any_bytes = st.one_of(spoilt(), st.binary(max_size=200))


def is_well_formed(data: bytes) -> bool:
    try:
        decode_untrusted(data, nodes=QUICK.nodes)
    except WireError:
        return False
    return True


@fuzz
@given(st.lists(st.tuples(sources, any_bytes), min_size=1, max_size=8))
def test_spoilt_datagrams(attack: list[tuple[int, bytes]]) -> None:
    """Random and mutated bytes raise nothing; what is malformed changes a counter and nothing else; what happens to be
    well formed leaves the node's own filters, sessions and events alone, and every table within its bound."""
    network = under_attack()
    node = network.nodes[TARGET]
    mine = own(node)
    for source, data in attack:
        before, malformed = everything(node), node.outlet.drops[Reason.MALFORMED]
        node.datagram_received(data, source, network.now)
        if not is_well_formed(data):
            assert everything(node) == before
            assert node.outlet.drops[Reason.MALFORMED] == malformed + 1
        network.drain(TARGET)
        within_limits(node)
    network.run(5)
    assert own(node) == mine
    within_limits(node)


def as_peers_send(attack: list[list[Any]], network: FakeNetwork) -> None:
    """Hand the target these datagrams, each from the node that it names, with time passing between them."""
    node = network.nodes[TARGET]
    for frames_ in attack:
        data = b"".join(map(encode, frames_))
        node.datagram_received(data, frames_[0].sender, network.now)
        network.drain(TARGET)
        within_limits(node)
        network.run(0.3)


@fuzz
@given(st.lists(datagrams(QUICK.nodes), min_size=1, max_size=8))
def test_well_formed_frames_that_make_no_sense(attack: list[list[Any]]) -> None:
    """Valid frames of every kind with arbitrary content, from anybody: what is the node's own stays, all bounds hold,
    and afterwards the node is as able as before."""
    network = under_attack()
    node = network.nodes[TARGET]
    mine = own(node)
    as_peers_send(attack, network)
    network.run(8)
    assert own(node) == mine
    within_limits(node)
    client = network.clients[f"c{TARGET}"]
    before = len(client.got)
    client.publish(Event(subject="x"))
    assert len(client.got) == before + 1


@st.composite
def real_events(draw: st.DrawFn) -> bytes:
    """Bodies that are events, of few publishers, so that they meet in the tables."""
    number = draw(st.integers(1, 40))
    lifetime = draw(st.sampled_from((0, 0.05, 60, 6000)))
    persistent = lifetime == 0 and draw(st.booleans())
    event = Event(subject=draw(st.sampled_from(("x", "y"))), lifetime=lifetime, persistent=persistent)
    chain_ = draw(st.integers(1, 40)) if lifetime or persistent else 0
    return event.accepted(id=event_id(draw(st.integers(0, 3)), 1, number), chain=chain_).encode()


@st.composite
def telling(draw: st.DrawFn) -> list[Any]:
    """Frames that fill tables: stored events, records, subscriptions."""
    sender = draw(st.sampled_from((1, 3, 9)))
    real_records = st.one_of(met_records(QUICK.nodes), real_events().map(lambda body: MetRecord(10**7, b"", body)))
    some = st.one_of(
        st.builds(lambda body: Store(sender, 10**7, b"", body), real_events()),
        st.builds(lambda each: Records(sender, Table.FMT, (encode_record(each),), 0), fmt_records(QUICK.nodes)),
        st.builds(lambda each: Records(sender, Table.MET, (encode_record(each),), 0), real_records),
        frames(QUICK.nodes, st.just(sender)),
    )
    return draw(st.lists(some, min_size=1, max_size=6))


@fuzz
@given(st.lists(telling(), min_size=1, max_size=10))
def test_tables_stay_within_their_bounds(attack: list[list[Any]]) -> None:
    """A node with tiny tables that is told more and more: nothing raises, no table exceeds its limit."""
    network = under_attack(TINY)
    as_peers_send(attack, network)
    network.run(8)
    within_limits(network.nodes[TARGET])
