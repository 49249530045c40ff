"""Scenarios: a network, what happens in it, and for how long, as one TOML file. `deploy/scenarios/` holds examples.

The same file runs in the simulator and on real daemons, so it says what is so in the world and nothing about how that
comes about. Reading is strict: a scenario with an unknown key or an impossible value is refused whole, in one line.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chapar.limits import MAX_NODES
from chapar_sim.clientspec import ClientSpec, read_client
from chapar_sim.faultspec import FaultSpec, read_fault
from chapar_sim.overlayspec import read_overlay, read_routing
from chapar_sim.table import ScenarioError, Table
from chapar_sim.terrain import (
    MobilitySpec,
    RadioSpec,
    RouteSpec,
    TopologySpec,
    read_mobility,
    read_node,
    read_radio,
    read_routes,
    read_topology,
)
from chapard.core.config import Config, ConfigError, Group, Mode, Overlay, Routing
from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NodeSpec", "Scenario", "ScenarioError", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node. Without chapard it still forwards IP packets."""

    index: int
    chapard: bool = True
    position: tuple[float, float] | None = None
    clock_offset: float = 0.0
    """Seconds its clock is ahead of true time."""
    clock_drift: float = 0.0
    """Seconds its clock gains per second."""
    battery: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All of a scenario, checked. Times are seconds since the start."""

    name: str
    about: str = ""
    """One sentence: what it shows."""
    seed: int = 1
    duration: float
    settle: float = 0.0
    """Quiet seconds at the end: nodes stand still, clients are ON, nothing is published."""
    snapshot_every: float = 10.0
    """Seconds between looks at the daemons' tables; 0: at the end only."""
    nodes: tuple[NodeSpec, ...]
    topology: TopologySpec
    mobility: MobilitySpec = field(default_factory=MobilitySpec)
    radio: RadioSpec = field(default_factory=RadioSpec)
    routes: RouteSpec = field(default_factory=RouteSpec)
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Parameters of the daemons that differ from their defaults."""
    clients: tuple[ClientSpec, ...] = ()
    faults: tuple[FaultSpec, ...] = ()
    routing: Routing = field(default_factory=Routing)
    overlay: Overlay = field(default_factory=Overlay)

    @property
    def active(self) -> float:
        """When the quiet seconds begin."""
        return self.duration - self.settle

    def daemon_config(self) -> Config:
        """The configuration of every daemon."""
        return Config(**self.config, routing=self.routing, overlay=self.overlay)

    @property
    def is_tree(self) -> bool:
        """Whether the daemons route on a tree of brokers."""
        return self.routing.mode is Mode.TREE

    def routed_by(self, algorithm: str) -> Scenario:
        """The same on the same tree, by another routing algorithm. Raises ScenarioError."""
        if not self.is_tree:
            raise ScenarioError(f'{self.name}: --algorithm is for a tree; give the scenario [routing] mode = "tree"')
        known = [each.value for each in Algorithm]
        if algorithm not in known:
            raise ScenarioError(f"--algorithm {algorithm}: not known; write one of {', '.join(known)}")
        return replace(self, routing=replace(self.routing, algorithm=Algorithm(algorithm)))

    @classmethod
    def from_dict(cls, data: Mapping[str, object], where: str = "scenario", folder: Path | None = None) -> Scenario:
        """Check a scenario as parsed from TOML. `where` begins every complaint; file names are relative to `folder`."""
        table = Table(data, where)
        duration = table.number("duration", above=0)
        specs = _read_nodes(table)
        nodes = frozenset(spec.index for spec in specs)
        hosts = frozenset(spec.index for spec in specs if spec.chapard)
        topology = read_topology(table.table("topology"), nodes)
        scenario = cls(
            name=table.text("name", Path(where).stem),
            about=table.text("about", ""),
            seed=table.integer("seed", 1, low=0, high=2**63 - 1),
            duration=duration,
            settle=table.number("settle", 0.0, low=0, high=duration),
            snapshot_every=table.number("snapshot_every", 10.0, low=0),
            nodes=specs,
            topology=topology,
            mobility=read_mobility(table.table("mobility"), topology, nodes, folder or Path()),
            radio=read_radio(table.table("radio"), nodes),
            routes=read_routes(table.table("routes")),
            config=_read_config(table.table("config"), nodes),
            clients=tuple(read_client(each, nodes, hosts) for each in table.tables("client")),
            faults=tuple(read_fault(each, nodes, topology, duration) for each in table.tables("fault")),
            routing=read_routing(table.table("routing"), hosts),
            overlay=read_overlay(table.table("overlay"), hosts),
        )
        table.finish()
        _check_config(table, scenario)
        _check_names(table, scenario)
        return scenario


def load(path: str | Path) -> Scenario:
    """Read a scenario file. Raises ScenarioError, in one line, for a file that is missing, unreadable or wrong."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{file}: cannot read the scenario: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{file}: not a text file; a scenario is TOML in UTF-8") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{file}: not TOML: {error}") from None
    return Scenario.from_dict(data, str(file), file.parent)


def _read_nodes(table: Table) -> tuple[NodeSpec, ...]:
    """`nodes = N` makes the nodes 1 to N; each [[node]] says what is special about one of them."""
    count = table.integer("nodes", low=1, high=MAX_NODES - 1)
    indexes = frozenset(range(1, count + 1))
    special: dict[int, NodeSpec] = {}
    for each in table.tables("node"):
        index = read_node(each, "index", indexes)
        if index in special:
            each.fail("index", f"node {index} is described twice; write one [[node]] for it")
        special[index] = _read_node(each, index)
    specs = tuple(special.get(index, NodeSpec(index=index)) for index in sorted(indexes))
    if not any(spec.chapard for spec in specs):
        table.fail("node", "no node runs chapard; leave chapard = false out of one")
    return specs


def _read_node(table: Table, index: int) -> NodeSpec:
    if table.has("x") != table.has("y"):
        table.fail("x", "a position needs both x and y")
    spec = NodeSpec(
        index=index,
        chapard=table.flag("chapard", default=True),
        position=(table.number("x"), table.number("y")) if table.has("x") else None,
        clock_offset=table.number("clock_offset", 0.0, low=-1e6, high=1e6),
        clock_drift=table.number("clock_drift", 0.0, low=-0.1, high=0.1),
        battery=table.number("battery", 1.0, low=0, high=1),
    )
    table.finish()
    return spec


def _read_config(table: Table, nodes: frozenset[int]) -> Mapping[str, Any]:
    """Overrides of `chapard.core.config.Config`, each of the type of its default."""
    usual = Config()
    values: dict[str, Any] = {}
    for each in fields(Config):
        if each.name in ("routing", "overlay") or not table.has(each.name):
            continue
        default = getattr(usual, each.name)
        if each.name == "groups":
            values[each.name] = _read_groups(table.table("groups"))
        elif isinstance(default, bool):
            values[each.name] = table.flag(each.name, default=default)
        elif isinstance(default, Enum):
            values[each.name] = type(default)(table.choice(each.name, [option.value for option in type(default)]))
        elif isinstance(default, int):
            values[each.name] = table.integer(each.name, low=0, high=2**62)
        else:
            values[each.name] = table.number(each.name, low=0)
    table.finish()
    try:
        config = Config(**values)
    except ConfigError as error:
        table.fail("", str(error))
    if config.nodes <= max(nodes):
        table.fail("nodes", f"must be above the highest node index; write {max(nodes) + 1} or more")
    return MappingProxyType(values)


def _read_groups(table: Table) -> Mapping[str, Group]:
    groups = {}
    for name in table.names():
        group = table.table(name)
        clients = [each for each in group.items("clients") if isinstance(each, str)]
        groups[name] = Group(frozenset(group.integers("nodes", low=0, high=MAX_NODES - 1)), frozenset(clients))
        group.finish()
    return groups


def _check_config(table: Table, scenario: Scenario) -> None:
    try:
        scenario.daemon_config()
    except ConfigError as error:
        table.fail("", str(error))
    if scenario.is_tree and not scenario.overlay.links:
        table.fail("overlay.links", 'missing; routing.mode = "tree" needs a tree, such as [[1, 2], [2, 3]]')


def _check_names(table: Table, scenario: Scenario) -> None:
    names = [spec.name for spec in scenario.clients]
    for place, name in enumerate(names):
        if name in names[:place]:
            table.fail(f"client[{place}].name", f"two clients are called {name!r}; give each its own name")
