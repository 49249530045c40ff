"""Random scenarios: everything about a run drawn from one seed, as the dict that a TOML file would give.

A seed has a *theme*, a story that puts some promises of the design to the test. It draws the daemons' parameters, the
radio, the routing, a network with what goes wrong in it, and clients. Periods are short, so that leases run out,
brokers are dismissed and tables are refreshed many times within a minute or two; the quiet time at the end is as long
as the stated bounds ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from chapar_sim.case import bounds_of
from chapar_sim.crowd import add_clients
from chapar_sim.scenario import Scenario
from chapar_sim.themes import THEMES, add_trouble

Entry = dict[str, Any]

MOST_AGENTS: Final = 6
"""Nodes of a network that runs OLSR agents: each of their messages is work, and small networks change as often."""
MOST_AGENT_LOSS: Final = 0.03
"""Loss under which agents may know the network for long enough that anything falls due."""
MOST_DUPLICATES: Final = 0.1
"""More would multiply beyond all bounds in a routing loop: each of a packet's 64 hops there makes so many copies."""
LOSSES: Final = ((0.0, 0.0), (0.0, 0.0), (0.005, 0.03), (0.03, 0.1), (0.1, 0.2))
"""Ranges of loss on the air, each as likely as the next."""


@dataclass
class Sketch:
    """A scenario in the making."""

    rng: Random
    theme: str
    active: float = 80.0
    """Seconds in which things happen."""
    nodes: int = 0
    plain: list[int] = field(default_factory=list)
    """Nodes without chapard."""
    topology: Entry = field(default_factory=dict)
    mobility: Entry = field(default_factory=dict)
    radio: Entry = field(default_factory=dict)
    routes: Entry = field(default_factory=dict)
    config: Entry = field(default_factory=dict)
    clients: list[Entry] = field(default_factory=list)
    faults: list[Entry] = field(default_factory=list)
    diameter: int = 1
    """Of the widest network that may be there at the end."""

    def between(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 2)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def hosts(self) -> list[int]:
        """Nodes that run chapard."""
        return [node for node in range(1, self.nodes + 1) if node not in self.plain]

    def to_dict(self, seed: int) -> Entry:
        data: Entry = {"name": f"swarm-{seed}", "about": self.theme, "seed": seed, "nodes": self.nodes}
        data |= {"duration": self.active, "settle": 0.0}
        parts: Entry = {"node": [{"index": node, "chapard": False} for node in self.plain]}
        parts |= {"topology": self.topology, "mobility": self.mobility, "radio": self.radio, "routes": self.routes}
        parts |= {"config": self.config, "client": self.clients}
        parts |= {"fault": sorted(self.faults, key=lambda fault: float(fault["at"]))}
        data |= {key: part for key, part in parts.items() if part}
        settle = _quiet(Scenario.from_dict(data, f"seed {seed}"), self.diameter)
        return data | {"duration": round(self.active + settle, 2), "settle": settle}


def draw(seed: int) -> Entry:
    """The scenario of a seed, as a TOML file would give it."""
    theme = THEMES[seed % len(THEMES)]
    sketch = Sketch(Random(f"swarm/{seed}"), theme.__name__)
    steps = (_draw_config, _draw_radio, _draw_routes, theme, add_trouble, add_clients)
    for step in steps:
        step(sketch)
    # What came later is drawn apart, so that a seed that once found something still draws the rest as it did.
    _draw_agents(sketch, Random(f"agents/{seed}"))
    _draw_full_disk(sketch, Random(f"disk/{seed}"))
    return sketch.to_dict(seed)


def scenario_of(seed: int) -> Scenario:
    """The scenario of a seed."""
    return Scenario.from_dict(draw(seed), f"seed {seed}")


def _quiet(scenario: Scenario, diameter: int) -> float:
    """The quiet time after which every promise falls due."""
    bounds = bounds_of(scenario)
    served = bounds.settle(diameter) + bounds.check_out() + bounds.deliver(diameter) + bounds.drain()
    return round(max(bounds.tables(diameter), served) + 2.0, 2)


def _draw_config(sketch: Sketch) -> None:
    rng, config = sketch.rng, sketch.config
    refresh = rng.choice((2.0, 3.0, 4.0))
    config.update(
        nodes=rng.choice((16, 64, 256)),
        beacon_min=rng.choice((0.25, 0.5)),
        refresh_period=refresh,
        dismissal_time=sketch.between(2.0, 8.0),
        orphan_patience=1.0,
        subscription_lease=round(refresh * sketch.between(4.0, 8.0), 2),
        ack_delay=0.1,
        retry_first=0.2,
        retry_max=1.0,
        publish_patience=3.0,
        order_patience=2 * refresh,
        serve_retry=rng.choice((1.0, 2.0)),
        sync_retry=rng.choice((0.5, 1.0)),
        session_retry=0.5,
        keep_alive=10.0,
    )
    if sketch.chance(0.08):
        config["hop_ack"] = False
    if sketch.chance(0.15):
        config.update(session_queue=rng.randint(4, 16), queue_policy=rng.choice(("oldest", "newest", "refuse")))
    if sketch.chance(0.1):
        config.update(met_events=rng.randint(20, 60), persistent_events=rng.randint(4, 12))
    if sketch.chance(0.15):
        config.update(mtu=rng.choice((400, 700)))
    if sketch.chance(0.15):
        config["groups"] = {"crew": {"nodes": sorted(rng.sample(range(1, 9), 4))}}


def _draw_radio(sketch: Sketch) -> None:
    rng, radio = sketch.rng, sketch.radio
    loss = 0.0 if not sketch.config.get("hop_ack", True) else round(rng.uniform(*rng.choice(LOSSES)), 3)
    radio.update(loss=loss, delay=round(rng.uniform(0.001, 0.01), 4), jitter=rng.choice((0.0, 0.002, 0.02, 0.1)))
    if sketch.chance(0.2):
        radio["duplicate"] = sketch.between(0.02, MOST_DUPLICATES)
    if sketch.chance(0.3):
        radio["mac_retries"] = rng.randint(1, 4)
    if sketch.chance(0.1):
        radio["rate"] = 2e6


def _draw_routes(sketch: Sketch) -> None:
    slowest = sketch.rng.choice((0.0, 0.5, 2.0, 4.0))
    near = round(slowest * sketch.rng.choice((0.0, 0.3, 1.0)), 2)
    sketch.routes.update(convergence=[0.0, slowest], neighbour_delay=[0.0, near])
    if sketch.chance(0.2):
        sketch.routes["mprs"] = False
    if sketch.chance(0.2):
        sketch.routes["cold"] = True


def _draw_agents(sketch: Sketch, rng: Random) -> None:
    """Now and then routes come from OLSR agents."""
    is_fit = sketch.nodes <= MOST_AGENTS and sketch.radio["loss"] <= MOST_AGENT_LOSS and sketch.theme != "courier"
    if is_fit and rng.random() < 0.4:
        sketch.routes = {"source": "olsr", "hello_interval": 0.5, "tc_interval": rng.choice((0.5, 1.0))}


def _draw_full_disk(sketch: Sketch, rng: Random) -> None:
    """Now and then a disk takes nothing for a while; a calm stays calm."""
    if sketch.theme != "calm" and rng.random() < 0.15:
        at = round(rng.uniform(5, sketch.active - 15), 2)
        until = round(min(at + rng.uniform(1, 20), sketch.active), 2)
        sketch.faults.append({"at": at, "kind": "full_disk", "node": rng.choice(sketch.hosts()), "until": until})
