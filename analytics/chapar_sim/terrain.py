"""The part of a scenario that says where nodes are and who can hear whom: [topology], [mobility], [radio]."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent.config import LONGEST_INTERVAL, SHORTEST_INTERVAL
from chapar_sim.table import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from chapar_sim.table import Table

Edge = tuple[int, int]
GRAPHS = ("chain", "ring", "grid", "star", "full", "edges")
RANGE = "range"
MOBILITIES = ("static", "waypoint", "trace")
IDEAL, OLSR, OLSRD, BABEL = "ideal", "olsr", "olsrd", "babel"
_TOLD: Final = ("convergence", "neighbour_delay", "cold")
_AGENTS: Final = ("hello_interval", "tc_interval", "link_quality")
ROUTE_KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {IDEAL: (*_TOLD, "mprs"), BABEL: _TOLD, OLSR: _AGENTS, OLSRD: _AGENTS}
)
"""Source of routes → the keys that it takes."""


class Sample(NamedTuple):
    """Where a recorded trace saw a node."""

    time: float
    node: int
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySpec:
    """Who hears whom: a graph by name or by its edges, or (kind "range") everyone within `range` of a position."""

    kind: str
    columns: int = 0
    """Of the grid, and of positions placed on a grid."""
    centre: int = 0
    """Of the star."""
    edges: tuple[Edge, ...] = ()
    one_way: tuple[Edge, ...] = ()
    """Extra links from the first node to the second only."""
    range: float = 0.0
    """Metres."""
    area: tuple[float, float] = (0.0, 0.0)
    placement: str = "random"
    """"random" within the area, or "grid" over it; nodes that say x and y stand there."""
    connected: bool = False
    """Draw random positions again until every node can reach every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MobilitySpec:
    """How positions change, in steps of `step` seconds."""

    kind: str = "static"
    speed: tuple[float, float] = (1.0, 1.0)
    """Metres per second."""
    pause: tuple[float, float] = (0.0, 0.0)
    """Seconds at each waypoint."""
    step: float = 1.0
    nodes: tuple[int, ...] = ()
    """Who moves; empty: all."""
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """A link that differs from the others: from `a` to `b`, one way."""

    a: int
    b: int
    loss: float
    delay: float
    jitter: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioSpec:
    """How the medium treats frames. Probabilities are per receiver, times seconds."""

    loss: float = 0.0
    delay: float = 0.001
    jitter: float = 0.001
    """Up to this much more delay, drawn for each receiver: frames overtake each other."""
    rate: float = 0.0
    """Bits per second of the air, which nodes that hear each other share; 0: no limit."""
    queue: int = 50
    """Frames that wait at a sender for the air; one more is lost."""
    duplicate: float = 0.0
    mac_retries: int = 0
    """Times a unicast frame is repeated by the link layer when it was not heard."""
    links: tuple[LinkSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSpec:
    """What the routing daemons know, and how late.

    In the simulator, "ideal" daemons are told the truth after a while: seconds, drawn for each node and each change.
    "babel" is the same without multipoint relays. "olsr" and "olsrd" daemons are OLSR agents, which find out for
    themselves; they always start cold, and know relays. In the lab there is no truth to be told: "babel" and "olsrd"
    are the programs of these names, and else each node runs an OLSR agent.
    """

    source: str = IDEAL
    convergence: tuple[float, float] = (1.0, 5.0)
    """How long after a change anywhere a node's routes follow it (TC messages)."""
    neighbour_delay: tuple[float, float] = (0.5, 2.0)
    """How long after a change a node knows its own neighbourhood and relays (HELLO messages)."""
    mprs: bool = True
    """False: a source without multipoint relays (babeld, the kernel)."""
    cold: bool = False
    """True: nobody knows anything at the start. False: the network has converged before the clock starts."""
    hello_interval: float = 2.0
    """Seconds between the HELLOs of an agent."""
    tc_interval: float = 5.0
    """Seconds between the TCs of an agent that somebody chose as a relay."""
    link_quality: bool = False
    """Whether agents measure links, with olsrd's own messages, and prefer those that lose little."""

    @property
    def has_agents(self) -> bool:
        """Whether every node runs an OLSR agent."""
        return self.source in {OLSR, OLSRD}


def read_topology(table: Table, nodes: frozenset[int]) -> TopologySpec:
    kind = table.choice("kind", (*GRAPHS, RANGE))
    count = len(nodes)
    by_range = kind == RANGE
    spec = TopologySpec(
        kind=kind,
        columns=table.integer("columns", max(1, round(math.sqrt(count))), low=1, high=count)
        if kind in {"grid", RANGE}
        else 0,
        centre=read_node(table, "centre", nodes, default=min(nodes)) if kind == "star" else 0,
        edges=read_edges(table, "edges", nodes) if kind == "edges" else (),
        one_way=() if by_range else read_edges(table, "one_way", nodes),
        range=table.number("range", above=0) if by_range else 0.0,
        area=table.pair("area", table.raw("area") if table.has("area") else [1000, 1000], low=1e-9)
        if by_range
        else (0.0, 0.0),
        placement=table.choice("placement", ("random", "grid"), "random") if by_range else "random",
        connected=table.flag("connected", default=False) if by_range else False,
    )
    if kind == "edges" and not (spec.edges or spec.one_way):
        table.fail("edges", "missing; write pairs of nodes: [[1, 2], [2, 3]]")
    table.finish()
    return spec


def read_mobility(table: Table, topology: TopologySpec, nodes: frozenset[int], folder: Path) -> MobilitySpec:
    kind = table.choice("kind", MOBILITIES, "static")
    if kind != "static" and topology.kind != RANGE:
        table.fail("kind", f'nodes of a {topology.kind} topology have no positions; write topology.kind = "range"')
    waypoint = kind == "waypoint"
    moving = table.integers("nodes", low=0, high=max(nodes)) if waypoint else ()
    for node in moving:
        _known(table, "nodes", node, nodes)
    spec = MobilitySpec(
        kind=kind,
        speed=table.span("speed", (1.0, 1.0), low=1e-3) if waypoint else (1.0, 1.0),
        pause=table.span("pause", (0.0, 0.0)) if waypoint else (0.0, 0.0),
        step=table.number("step", 1.0, low=0.01) if kind != "static" else 1.0,
        nodes=moving,
        samples=_read_samples(table, folder / table.text("file"), nodes) if kind == "trace" else (),
    )
    table.finish()
    return spec


def read_radio(table: Table, nodes: frozenset[int]) -> RadioSpec:
    loss = table.number("loss", 0.0, low=0, high=1)
    delay = table.number("delay", 0.001, low=0)
    jitter = table.number("jitter", 0.001, low=0)
    spec = RadioSpec(
        loss=loss,
        delay=delay,
        jitter=jitter,
        rate=table.number("rate", 0.0, low=0),
        queue=table.integer("queue", 50, low=1, high=1_000_000),
        duplicate=table.number("duplicate", 0.0, low=0, high=1),
        mac_retries=table.integer("mac_retries", 0, low=0, high=16),
        links=tuple(each for link in table.tables("links") for each in _read_link(link, nodes, (loss, delay, jitter))),
    )
    table.finish()
    return spec


def read_routes(table: Table) -> RouteSpec:
    source = table.choice("source", ROUTE_KEYS, IDEAL)
    taken = ROUTE_KEYS[source]
    for key in dict.fromkeys(key for keys in ROUTE_KEYS.values() for key in keys):
        if key not in taken and table.has(key):
            others = [other for other, keys in ROUTE_KEYS.items() if key in keys]
            table.fail(key, f'is not for source = "{source}"; leave it out, or write source = "{others[0]}"')
    if source in {OLSR, OLSRD}:
        spec = RouteSpec(
            source=source,
            hello_interval=table.number("hello_interval", 2.0, low=SHORTEST_INTERVAL, high=LONGEST_INTERVAL),
            tc_interval=table.number("tc_interval", 5.0, low=SHORTEST_INTERVAL, high=LONGEST_INTERVAL),
            link_quality=table.flag("link_quality", default=False),
        )
    else:
        spec = RouteSpec(
            source=source,
            convergence=table.span("convergence", (1.0, 5.0)),
            neighbour_delay=table.span("neighbour_delay", (0.5, 2.0)),
            mprs=table.flag("mprs", default=True) if source == IDEAL else False,
            cold=table.flag("cold", default=False),
        )
    table.finish()
    return spec


def read_node(table: Table, key: str, nodes: frozenset[int], default: int | None = None) -> int:
    return _known(table, key, table.integer(key, default, low=0, high=max(nodes)), nodes)


def read_edges(table: Table, key: str, nodes: frozenset[int]) -> tuple[Edge, ...]:
    edges = []
    for place, item in enumerate(table.items(key)):
        here = f"{key}[{place}]"
        a, b = table.pair(here, item)
        if a == b:
            table.fail(here, f"a link joins two nodes, not {item!r}")
        edges.append((_known(table, here, a, nodes), _known(table, here, b, nodes)))
    return tuple(edges)


def read_nodes(table: Table, key: str, nodes: frozenset[int]) -> tuple[int, ...]:
    indexes = table.integers(key, low=0, high=max(nodes))
    for index in indexes:
        _known(table, key, index, nodes)
    return tuple(sorted(set(indexes)))


def _known(table: Table, key: str, index: float, nodes: frozenset[int]) -> int:
    if index not in nodes:
        table.fail(key, f"there is no node {index:g}; nodes are {min(nodes)} to {max(nodes)}")
    return int(index)


def _read_link(table: Table, nodes: frozenset[int], usual: tuple[float, float, float]) -> list[LinkSpec]:
    loss, delay, jitter = usual
    a, b = read_node(table, "from", nodes), read_node(table, "to", nodes)
    spec = LinkSpec(
        a,
        b,
        table.number("loss", loss, low=0, high=1),
        table.number("delay", delay, low=0),
        table.number("jitter", jitter, low=0),
    )
    both = table.flag("both", default=True)
    table.finish()
    return [spec, LinkSpec(b, a, spec.loss, spec.delay, spec.jitter)] if both else [spec]


def _read_samples(table: Table, file: Path, nodes: frozenset[int]) -> tuple[Sample, ...]:
    """A recorded trace: CSV with the heading time,node,x,y."""
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
    except OSError as error:
        table.fail("file", f"cannot read {file}: {error.strerror}")
    except UnicodeDecodeError:
        table.fail("file", f"{file} is not a text file")
    if not rows or [name.strip() for name in rows[0]] != list(Sample._fields):
        table.fail("file", f"{file}:1: write the heading time,node,x,y")
    samples = [_sample(table, f"{file}:{line}", row, nodes) for line, row in enumerate(rows[1:], start=2) if row]
    if not samples:
        table.fail("file", f"{file} holds no positions")
    return tuple(sorted(samples))


def _sample(table: Table, place: str, row: Sequence[str], nodes: frozenset[int]) -> Sample:
    try:
        time, node, x, y = row
        sample = Sample(float(time), int(node), float(x), float(y))
    except ValueError:
        raise ScenarioError(f"{place}: {','.join(row)!r} is not a row time,node,x,y") from None
    if not all(map(math.isfinite, sample)) or sample.time < 0 or sample.node not in nodes:
        table.fail("file", f"{place}: time from 0, a node of the scenario and finite positions are needed")
    return sample
