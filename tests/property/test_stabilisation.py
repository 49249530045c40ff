"""Self-stabilisation: from whatever tables brokers start, all are right within a bounded number of refresh periods.

The home is the authority on its own filters. That is all there is to recover from, so tables are corrupted in every way
that leaves the homes alone: records missing, of lower and higher versions, with other filters under the right version,
of homes that do not exist; memorised events missing. Who has got an event is a fact and is not invented.

The bound, without losses. Let R be the refresh period, L the longest path of brokers and H the time in which what one
broker holds reaches its neighbour: a prompt beacon, then an exchange.

- Every node beacons once in R, so after R every two adjoining brokers that differ have noticed it, and after L·H more
  the highest version of each home's filters is everywhere, with the home's own broker too.
- The home's beacon shows its broker the right version and digest within another R. The broker asks, the home raises its
  version above what it was told of, and that spreads within L·H.

That makes 2R + 2L·H for filters. Of events, brokers that count equally many wait for GOSSIP_BEACONS beacons more, as
then mostly confirmations are on their way: (1 + GOSSIP_BEACONS)·R + L·H. A ghost, the record of a home that does not
exist, has nobody to contradict it and lasts until its lease ends: the ages of records travel with them, so that is one
lease after the fault at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from random import Random
from typing import TYPE_CHECKING

import pytest

from chapar import Event, Filter
from chapard.core.config import Config
from chapard.core.integrity import GOSSIP_BEACONS
from chapard.core.trickle import PROMPT_GAP, PROMPT_SPREAD
from fake_network import DELAY, FakeNetwork, random_links

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapard.core.met import MET
    from chapard.core.node import Node

FAST = Config(
    nodes=16, beacon_min=0.1, refresh_period=1.0, contact_periods=3.0, dismissal_time=1.0, orphan_patience=0.3,
    subscription_lease=5.0, merge_window=1.0, ack_delay=0.02, retry_first=0.1, retry_max=0.3, sync_delay=0.02,
    sync_retry=0.1, serve_retry=0.5, keep_alive=1e9,
)  # fmt: skip
MAX_NODES = 6
EXCHANGE = 6 * DELAY
"""Seconds of the longest exchange: digests, digests, listing, want, records, and one frame on the way."""
HOP = (PROMPT_GAP + PROMPT_SPREAD) * FAST.beacon_min + FAST.sync_delay + FAST.sync_retry / 2 + EXCHANGE
ACROSS = (MAX_NODES - 1) * HOP / FAST.refresh_period
"""L·H in refresh periods."""
STABLE_REFRESHES = max(2 + ceil(2 * ACROSS), 1 + GOSSIP_BEACONS + ceil(ACROSS))
"""Refresh periods after which tables are right, ghosts aside."""
GHOST_REFRESHES = ceil(FAST.subscription_lease / FAST.refresh_period) + 1
"""Refresh periods after which ghosts are gone too."""
NETWORKS = 50
STATES = 20
"""Corrupt states per network: a thousand in all."""

SUBJECTS = [Filter(subject=subject) for subject in "abcdef"]
GHOSTS = range(MAX_NODES, 16)


@dataclass
class Corruption:
    """One corrupt state: what was done to which broker, for the report of a failure."""

    rng: Random
    network: FakeNetwork

    def apply(self) -> list[str]:
        brokers = sorted(self.network.brokers)
        damage = []
        for broker in self.rng.sample(brokers, self.rng.randint(1, len(brokers))):
            homes = self.rng.sample(sorted(self.network.nodes), self.rng.randint(1, 2))
            damage += [self._record(self.network.nodes[broker], home) for home in homes]
            if self.rng.random() < 0.3:
                damage.append(self._ghost(self.network.nodes[broker]))
        damage += self._forget_events(brokers)
        return damage

    def _record(self, broker: Node, home: int) -> str:
        """Replace what a broker holds of a home."""
        interests = self.network.nodes[home].home.interests
        broker.fmt.forget(home)
        how = self.rng.choice(["missing", "lower", "same", "higher", "much higher"])
        version = {
            "missing": 0,
            "lower": self.rng.randint(1, max(1, interests.version - 1)),
            "same": max(1, interests.version),
            "higher": interests.version + self.rng.randint(1, 5),
            "much higher": interests.version + self.rng.randint(1, 2**40),
        }[how]
        filters = self.rng.choice([(), interests.announced(), tuple(self.rng.sample(SUBJECTS, 2))])
        if version:
            self._inject(broker, home, version, filters)
        return f"{broker.index} holds of {home}: {how} version {version}, {len(filters)} filters"

    def _ghost(self, broker: Node) -> str:
        ghost = self.rng.choice(GHOSTS)
        self._inject(broker, ghost, self.rng.randint(1, 2**40), tuple(self.rng.sample(SUBJECTS, 2)))
        return f"{broker.index} holds of the ghost {ghost}"

    def _inject(self, broker: Node, home: int, version: int, filters: tuple[Filter, ...]) -> None:
        age = self.rng.uniform(0, FAST.subscription_lease / 2)
        broker.fmt.merge(home, version, filters, age, self.network.now)

    def _forget_events(self, brokers: list[int]) -> list[str]:
        """Take events from all brokers but one; what a node published or took for its clients is its own."""
        damage = []
        keeper = self.rng.choice(brokers)
        for broker in brokers:
            met = self.network.nodes[broker].met
            missing = {memory.event_id for memory in met if self.rng.random() < 0.3}
            if broker != keeper and missing:
                forget(met, missing)
                damage.append(f"{broker} has lost {len(missing)} events")
        return damage


def forget(met: MET, missing: set[EventId]) -> None:
    met.keep_only(lambda memory: memory.is_own or memory.is_taken or memory.event_id not in missing)


def a_network(rng: Random) -> FakeNetwork:
    """A random network with random subscriptions, some homes without any, and some memorised events."""
    nodes = rng.randint(2, MAX_NODES)
    links = random_links(nodes, rng, extra=rng.randint(0, nodes))
    network = FakeNetwork(links, config=FAST, seed=rng.getrandbits(32), knows_mprs=rng.random() < 0.7)
    network.run(3)
    for node in range(nodes):
        client = network.client(f"c{node}", at=node)
        for wanted in rng.sample(SUBJECTS, rng.choice([0, 1, 2, 3])):
            client.subscribe(wanted)
    network.run(1)
    for number in range(rng.randint(0, 6)):
        publisher = network.clients[f"c{rng.randrange(nodes)}"]
        publisher.publish(Event(subject=rng.choice("abc"), payload=b"%d" % number, lifetime=1e6))
    network.run(3)
    return network


def wrong_records(network: FakeNetwork, *, with_ghosts: bool) -> list[str]:
    """Where a broker's table differs from what the homes announce."""
    truth = {node: set(core.home.interests.announced()) for node, core in network.nodes.items()}
    wrong = []
    for broker in sorted(network.brokers):
        held = {home: set(filters) for home, filters in network.nodes[broker].fmt.homes().items()}
        wrong += [f"{broker} is wrong about {home}" for home in truth if held.get(home, set()) != truth[home]]
        wrong += [f"{broker} believes in {home}" for home in held if with_ghosts and home not in truth]
    return wrong


def missing_events(network: FakeNetwork) -> list[str]:
    everything = {memory.event_id for broker in network.brokers for memory in network.nodes[broker].met}
    return [
        f"{broker} lacks {len(everything) - len(network.nodes[broker].met)} events"
        for broker in sorted(network.brokers)
        if {memory.event_id for memory in network.nodes[broker].met} != everything
    ]


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_tables_are_right_within_the_bound_after_any_corruption(seed: int) -> None:
    """After STABLE_REFRESHES refresh periods every broker holds exactly what the homes announce and all memorised
    events, and after GHOST_REFRESHES nothing of homes that do not exist; no client gets an event twice."""
    rng = Random(seed)
    network = a_network(rng)
    assert not wrong_records(network, with_ghosts=True)
    assert not missing_events(network)
    for state in range(STATES):
        damage = Corruption(rng, network).apply()
        told = f"seed {seed}, state {state}: links {network.adjacency}; {'; '.join(damage)}"
        network.run(STABLE_REFRESHES * FAST.refresh_period)
        assert not wrong_records(network, with_ghosts=False), told
        assert not missing_events(network), told
        network.run((GHOST_REFRESHES - STABLE_REFRESHES) * FAST.refresh_period)
        assert not wrong_records(network, with_ghosts=True), told
        network.sent.clear()
    for client in network.clients.values():
        assert len(client.got) == len({event.id for event in client.got})
