"""Random networks on random trees of brokers, with whatever goes wrong in them: every promise is kept.

The same checkers judge them as judge networks of replicated tables, with an oracle that knows the tree.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.case import Case, bounds_of
from chapar_sim.checkers import check
from chapar_sim.scenario import Scenario
from chapar_sim.world import World
from chapard.core.node import Node
from chapard.core.overlay.broker import TreeBroker
from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from chapar.event import Event
    from chapar_sim.case import Violation
    from chapard.core.overlay.keeping import Way

SEEDS = 10
ACTIVE = 60.0
FILTERS = ('subject = "a"', 'subject = "a" and n > 4', 'subject in ("a", "b")', "n > 2", 'subject = "b"')


def draw(seed: int) -> Scenario:
    """A network of 3 to 7 nodes, most of them joined to a tree, with clients, loss and faults."""
    rng = Random(f"tree/{seed}")
    nodes = rng.randint(3, 7)
    brokers = rng.sample(range(1, nodes + 1), rng.randint(max(2, nodes - 2), nodes))
    links = [[rng.choice(brokers[:place]), broker] for place, broker in enumerate(brokers) if place]
    algorithm = list(Algorithm)[seed % len(Algorithm)]
    data: dict[str, Any] = {
        "name": f"tree-{seed}", "seed": seed, "nodes": nodes, "duration": ACTIVE, "settle": 0.0,
        "topology": {"kind": rng.choice(("chain", "full", "ring"))},
        "radio": {"loss": rng.choice((0.0, 0.0, 0.05, 0.1)), "delay": 0.002, "jitter": rng.choice((0.0, 0.01))},
        "routes": {"convergence": [0.0, 1.0], "neighbour_delay": [0.0, 0.5]},
        "config": {
            "beacon_min": 0.25, "refresh_period": 2.0, "subscription_lease": 20.0, "ack_delay": 0.1,
            "retry_first": 0.2, "retry_max": 1.0, "sync_retry": 0.5, "session_retry": 0.5, "keep_alive": 10.0,
        },
        "routing": {
            "mode": "tree", "algorithm": algorithm.value, "refresh_period": 4.0, "merge_delay": 0.2,
            "advertisements": rng.random() < 0.3,
        },
        "overlay": {"links": links},
        "client": [*_publishers(rng, nodes), *_subscribers(rng, nodes)],
        "fault": _faults(rng, nodes),
    }  # fmt: skip
    bounds = bounds_of(Scenario.from_dict(data))
    quiet = 2 * bounds.overlay_up(2) + 2 * bounds.overlay_spread(nodes, 2) + bounds.drain() + 10
    return Scenario.from_dict({**data, "duration": ACTIVE + quiet, "settle": quiet}, f"seed {seed}")


def _publishers(rng: Random, nodes: int) -> list[dict[str, Any]]:
    kinds: list[dict[str, Any]] = [{}, {"lifetime": 300}, {"persistent": True}]
    return [
        {
            "name": f"p{number}", "node": rng.randint(1, nodes),
            "publish": [
                {"subject": rng.choice("ab"), "attributes": {"n": {"between": [0, 9]}}, "every": 1.5, "start": 3} | kind
            ],
        }
        for number, kind in enumerate((*kinds, rng.choice(kinds)))
    ]  # fmt: skip


def _subscribers(rng: Random, nodes: int) -> list[dict[str, Any]]:
    clients = []
    for number in range(5):
        wanted: dict[str, Any] = {"filter": rng.choice(FILTERS), "start": rng.choice((0, 0, 20))}
        client: dict[str, Any] = {"name": f"s{number}", "node": rng.randint(1, nodes), "subscribe": [wanted]}
        if rng.random() < 0.3:
            client["presence"] = {"on": 12, "off": 6}
        clients.append(client)
    return clients


def _faults(rng: Random, nodes: int) -> list[dict[str, Any]]:
    faults: list[dict[str, Any]] = []
    if rng.random() < 0.6:
        split = rng.randint(1, nodes - 1)
        groups = [list(range(1, split + 1)), list(range(split + 1, nodes + 1))]
        faults.append({"kind": "cut", "at": 10, "until": round(rng.uniform(12, 35), 1), "groups": groups})
    if rng.random() < 0.6:
        at = round(rng.uniform(15, 35), 1)
        until = round(at + rng.uniform(1, 15), 1)
        faults.append({"kind": "crash", "at": at, "until": until, "node": rng.randint(1, nodes)})
    if rng.random() < 0.3:
        kind = rng.choice(("garbage", "replay"))
        faults.append({"kind": kind, "at": 20, "until": 40, "node": rng.randint(1, nodes), "rate": 20})
    return sorted(faults, key=lambda fault: float(fault["at"]))


def owed(case: Case) -> int:
    """How many deliveries the oracle claims."""
    claims = (
        case.oracle.memorised(each, client) if each.is_memorised else case.oracle.realtime(each, client)
        for each in case.history.publications.values()
        for client in case.history.home
    )
    return sum(claim is not None for claim in claims)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_promise_is_kept(seed: int) -> None:
    """Nothing is lost, doubled, out of order or with whom it should not be, and something was owed."""
    scenario = draw(seed)
    trace = World(scenario).run()
    assert check(trace, scenario) == []
    assert owed(Case.of(trace, scenario)) > 0


class NeverCatchesUp(TreeBroker):
    """Sends memorised events as they come, and none that waited."""

    def _serve(self, now: float) -> None:  # noqa: ARG002 - that is the fault
        self._hungry.clear()


class CarriesNothing(TreeBroker):
    """Passes no real-time event on that came over a link, and says nothing of it."""

    def _send_realtime(self, event: Event, body: bytes, way: Way, links: list[int]) -> None:
        if not way.hops:
            super()._send_realtime(event, body, way, links)


def faulty(kind: type[TreeBroker]) -> type[Node]:
    class Faulty(Node):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            assert self.tree is not None
            self.tree.__class__ = kind

    return Faulty


@pytest.mark.parametrize(("kind", "rule"), [(NeverCatchesUp, "memorised"), (CarriesNothing, "realtime")])
def test_a_faulty_core_is_found(kind: type[TreeBroker], rule: str) -> None:
    """Within the seeds a fault breaks the promise that it is bound to break."""
    assert any(violation.rule == rule for seed in range(SEEDS) for violation in broken_by(seed, kind))


def broken_by(seed: int, kind: type[TreeBroker]) -> list[Violation]:
    scenario = draw(seed)
    return check(World(scenario, node_factory=faulty(kind)).run(), scenario)
