"""The tables of the core: what an FMT weighs, and what it costs to find and mend one record that differs."""

from __future__ import annotations

import gc
import tracemalloc

from benchmarks.figure import Figure
from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.wire import Kind
from chapard.core.config import Config
from chapard.core.fmt import FMT
from chapard.core.nodevector import NodeVector
from fake_network import FakeNetwork, quick

FILTERS = 10_000
NODES = 256
MOST_MB = 30
RECORDS = 10_000
MOST_BYTES = 1500


def measure() -> list[Figure]:
    weight = fmt_weight() / 1e6
    cost = sync_cost()
    return [
        Figure(f"FMT of {FILTERS} filters over {NODES} nodes", weight, "MB", f"< {MOST_MB}", weight < MOST_MB),
        Figure(f"sync of one event among {RECORDS}", cost, "bytes", f"< {MOST_BYTES}", cost < MOST_BYTES),
    ]


def fmt_weight() -> int:
    """Bytes of a table in which every home wants its share of the filters, the filters themselves included."""
    gc.collect()
    tracemalloc.start()
    fmt = FMT(Config(nodes=NODES))
    for home in range(NODES):
        mine = range(home, FILTERS, NODES)
        filters = [Filter(subject=f"sensor/{n}", where=f"level > {n % 100} and site = 's{n % 37}'") for n in mine]
        fmt.merge(home, 1, filters, 0.0, 0.0)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size


def sync_cost() -> int:
    """Bytes on the air, headers included, beyond beacons, until two brokers agree again on one missing event."""
    config = quick(nodes=NODES, met_events=2 * RECORDS, subscription_lease=36_000.0)
    network = FakeNetwork(nodes=[0, 1], config=config)
    nobody = NodeVector.empty(NODES)
    for number in range(RECORDS):
        event = Event(subject="x", payload=bytes(32), lifetime=36_000)
        stamped = event.accepted(id=event_id(2 + number % 40, 1, 1 + number // 40), chain=1 + number // 40)
        for core in network.nodes.values():
            core.replicated.memorised.store(stamped, stamped.encode(), stamped.lifetime_ms, nobody, network.now)
    missing = event_id(2 + 11, 1, 118)
    network.nodes[1].met.keep_only(lambda memory: memory.event_id != missing)
    since = network.now
    network.link((0, 1))
    network.run(20)
    assert missing in network.nodes[1].met, "the event came back"
    return network.cost(since, without=Kind.BEACON)
