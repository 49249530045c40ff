"""The part of a scenario that says what goes wrong, and when: [[fault]]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chapar_sim.terrain import RANGE, Edge, read_edges, read_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_sim.table import Table
    from chapar_sim.terrain import TopologySpec

FAULTS: Final[Mapping[str, tuple[str, ...]]] = {
    # links
    "cut": ("edges", "one_way", "groups", "until?"),
    "heal": (),
    # daemons and hosts
    "crash": ("nodes", "disk", "until?"),
    "stop": ("nodes", "until?"),
    "restart": ("nodes",),
    "pause": ("nodes", "until"),
    "full_disk": ("nodes", "until"),
    "power_off": ("nodes", "until?"),
    "power_on": ("nodes",),
    "move": ("nodes", "x", "y"),
    "battery": ("nodes", "level"),
    "skew": ("nodes", "by"),
    # wrong state and wrong frames
    "corrupt": ("nodes",),
    "garbage": ("nodes", "rate", "until"),
    "replay": ("nodes", "rate", "until"),
    "duplicate": ("probability", "until"),
}
"""Kind → the keys it takes. With `until`, the fault ends then; marked ?, it may also stand for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpec:
    """One fault.

    cut: these links fail, or (`groups`) all links between different groups; nodes in no group form one more group.
    heal: all cuts end. crash: the daemon is gone at once, with its disk "wiped" or "kept"; until: it starts again.
    stop: the daemon is asked to stop, and may say goodbye. pause: the daemon hangs. full_disk: its disk takes nothing.
    power_off: the whole node is gone, its routing too; its disk is kept. skew: the local clock jumps ahead by seconds.
    corrupt: tables are scrambled. garbage: the node sends random and mutated datagrams, `rate` per second. replay: old
    datagrams arrive at the node once more. duplicate: frames are heard twice with this probability.
    """

    at: float
    kind: str
    until: float | None = None
    nodes: tuple[int, ...] = ()
    edges: tuple[Edge, ...] = ()
    one_way: tuple[Edge, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    disk: bool = True
    x: float = 0.0
    y: float = 0.0
    level: float = 1.0
    by: float = 0.0
    rate: float = 0.0
    probability: float = 0.0


def read_fault(table: Table, nodes: frozenset[int], topology: TopologySpec, duration: float) -> FaultSpec:
    at = table.number("at", low=0, high=duration)
    kind = table.choice("kind", FAULTS)
    keys = FAULTS[kind]
    must_end, may_end = "until" in keys, "until?" in keys
    spec = FaultSpec(
        at=at,
        kind=kind,
        until=table.number("until", above=at, high=duration) if must_end or (may_end and table.has("until")) else None,
        nodes=_fault_nodes(table, nodes) if "nodes" in keys else (),
        edges=read_edges(table, "edges", nodes) if "edges" in keys else (),
        one_way=read_edges(table, "one_way", nodes) if "one_way" in keys else (),
        groups=_groups(table, nodes) if "groups" in keys else (),
        disk=table.choice("disk", ("kept", "wiped"), "kept") == "kept" if "disk" in keys else True,
        x=table.number("x") if "x" in keys else 0.0,
        y=table.number("y") if "y" in keys else 0.0,
        level=table.number("level", low=0, high=1) if "level" in keys else 1.0,
        by=table.number("by", above=0) if "by" in keys else 0.0,
        rate=table.number("rate", above=0, high=10_000) if "rate" in keys else 0.0,
        probability=table.number("probability", above=0, high=1) if "probability" in keys else 0.0,
    )
    if kind == "cut" and not (spec.edges or spec.one_way or spec.groups):
        table.fail("", "say what is cut: edges = [[1, 2]], or groups = [[1, 2, 3], [4, 5]]")
    if kind == "move" and topology.kind != RANGE:
        table.fail("kind", f'nodes of a {topology.kind} topology have no positions; write topology.kind = "range"')
    table.finish()
    return spec


def _fault_nodes(table: Table, nodes: frozenset[int]) -> tuple[int, ...]:
    if table.has("node") == table.has("nodes"):
        table.fail("nodes", "say which node: node = 3 or nodes = [3, 4]")
    single = table.raw("node")
    indexes = read_nodes(table, "nodes", nodes) if single is None else (table.integer("node", low=0, high=max(nodes)),)
    if not indexes or not nodes.issuperset(indexes):
        table.fail("nodes", f"name nodes of the scenario: {min(nodes)} to {max(nodes)}")
    return indexes


def _groups(table: Table, nodes: frozenset[int]) -> tuple[tuple[int, ...], ...]:
    groups: list[tuple[int, ...]] = []
    for place, item in enumerate(table.items("groups")):
        if not isinstance(item, list) or not item or not all(type(each) is int and each in nodes for each in item):
            table.fail(f"groups[{place}]", f"write a list of nodes, {min(nodes)} to {max(nodes)}: [1, 2, 3]")
        groups.append(tuple(sorted(set(item))))
    named = [node for group in groups for node in group]
    if len(named) != len(set(named)):
        table.fail("groups", "a node is in two groups; write each node once")
    return tuple(groups)
