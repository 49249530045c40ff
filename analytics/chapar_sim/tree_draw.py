"""Random scenarios on random trees of brokers, as the dicts that TOML files would give: a seed, a scenario.

Some nodes are joined to a tree whose links run over whatever network there is; clients publish in all three classes,
come and go, and want what others want, too; links, daemons and tables fail. The quiet time at the end is as long as the
stated bounds ask.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from chapar_sim.case import bounds_of
from chapar_sim.scenario import Scenario
from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from chapar_sim.draw import Entry

ACTIVE: Final = 65.0
"""Seconds in which clients are busy."""
TROUBLED: Final = 38.0
"""Seconds until which things fail: what is published long enough after is owed at once."""
MOST_NODES: Final = 7
FILTERS: Final = ('subject = "a"', 'subject = "a" and n > 4', 'subject in ("a", "b")', "n > 2", 'subject = "b"')
"""Filters that overlap, cover and can be merged."""


def draw_tree(seed: int) -> Entry:
    """A network of 3 to MOST_NODES nodes, most of them joined to a tree, with clients, loss and faults."""
    rng = Random(f"tree/{seed}")
    nodes = rng.randint(3, MOST_NODES)
    brokers = rng.sample(range(1, nodes + 1), rng.randint(max(2, nodes - 2), nodes))
    algorithm = list(Algorithm)[seed % len(Algorithm)].value
    data: Entry = {
        "name": f"tree-{seed}", "about": f"a tree, {algorithm}", "seed": seed, "nodes": nodes,
        "duration": ACTIVE, "settle": 0.0,
        "topology": {"kind": rng.choice(("chain", "full", "ring"))},
        "radio": {"loss": rng.choice((0.0, 0.0, 0.0, 0.05, 0.1)), "delay": 0.002, "jitter": rng.choice((0.0, 0.01))},
        "routes": {"convergence": [0.0, 1.0], "neighbour_delay": [0.0, 0.5]},
        "config": {
            "beacon_min": 0.25, "refresh_period": 2.0, "subscription_lease": 20.0, "ack_delay": 0.1,
            "retry_first": 0.2, "retry_max": 1.0, "sync_retry": 0.5, "session_retry": 0.5, "keep_alive": 10.0,
        },
        "routing": {
            "mode": "tree", "algorithm": algorithm, "refresh_period": rng.choice((2.0, 4.0)), "merge_delay": 0.2,
            **_where_publishers_are(rng, brokers),
        },
        "overlay": {"links": [[rng.choice(brokers[:place]), each] for place, each in enumerate(brokers) if place]},
        "client": [*_publishers(rng, nodes), *_subscribers(rng, nodes)],
        "fault": _faults(rng, nodes),
    }  # fmt: skip
    quiet = _quiet(Scenario.from_dict(data, f"seed {seed}"), nodes)
    return data | {"duration": round(ACTIVE + quiet, 2), "settle": quiet}


def tree_of(seed: int) -> Scenario:
    """The scenario of a seed."""
    return Scenario.from_dict(draw_tree(seed), f"seed {seed}")


def _quiet(scenario: Scenario, nodes: int) -> float:
    """The quiet time after which most promises fall due."""
    bounds = bounds_of(scenario)
    return round(2 * bounds.overlay_up(2) + 2 * bounds.overlay_spread(nodes, 2) + bounds.drain() + 10, 2)


def _where_publishers_are(rng: Random, brokers: list[int]) -> Entry:
    """Publishers say so, or the configuration does, or nobody."""
    kind = rng.random()
    if kind < 0.3:
        return {"advertisements": True}
    return {"publisher_roots": sorted(rng.sample(brokers, 2))} if kind < 0.4 else {}


def _publishers(rng: Random, nodes: int) -> list[Entry]:
    kinds: list[Entry] = [{}, {"lifetime": 300}, {"persistent": True}]
    clients = []
    for number, kind in enumerate((*kinds, rng.choice(kinds))):
        stream: Entry = {"subject": rng.choice("ab"), "attributes": {"n": {"between": [0, 9]}}, "start": 3}
        stream |= {"every": rng.choice((0.3, 1.5, 1.5))}
        if rng.random() < 0.15:
            stream["to"] = sorted(rng.sample(range(1, nodes + 1), 2))
        clients.append({"name": f"p{number}", "node": rng.randint(1, nodes), "publish": [stream | kind]})
    return clients


def _subscribers(rng: Random, nodes: int) -> list[Entry]:
    clients = []
    for number in range(5):
        wanted: Entry = {"filter": rng.choice(FILTERS), "start": rng.choice((0, 0, 20))}
        if rng.random() < 0.2:
            wanted |= {"hold": round(rng.uniform(5, 20), 1), "gap": round(rng.uniform(1, 8), 1)}
        client: Entry = {"name": f"s{number}", "node": rng.randint(1, nodes), "subscribe": [wanted]}
        if rng.random() < 0.3:
            client["presence"] = {"on": 12, "off": 6}
        clients.append(client)
    return clients


def _faults(rng: Random, nodes: int) -> list[Entry]:
    faults: list[Entry] = []

    def befall(chance: float, kind: str, **what: object) -> None:
        if rng.random() < chance:
            at = round(rng.uniform(10, TROUBLED - 8), 1)
            faults.append({"kind": kind, "at": at, "until": round(rng.uniform(at + 1, TROUBLED), 1), **what})

    split = rng.randint(1, nodes - 1)
    befall(0.5, "cut", groups=[list(range(1, split + 1)), list(range(split + 1, nodes + 1))])
    befall(0.5, "crash", node=rng.randint(1, nodes), disk=rng.choice(("kept", "wiped")))
    befall(0.2, "pause", node=rng.randint(1, nodes))
    befall(0.2, "power_off", node=rng.randint(1, nodes))
    befall(0.3, rng.choice(("garbage", "replay")), node=rng.randint(1, nodes), rate=20)
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        at = round(rng.uniform(12, TROUBLED - 8), 1)
        where = rng.choice((range(1, nodes + 1), [rng.randint(1, nodes)]))
        faults.append({"kind": "corrupt", "at": at, "nodes": list(where)})
    return sorted(faults, key=lambda fault: float(fault["at"]))
