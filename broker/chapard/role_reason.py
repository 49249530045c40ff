"""Why a node has its role, in the rule's own word and a sentence for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapard.core.roles import Role, Why

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.node import Node

MOST_NAMED: Final = 8
"""Nodes that a sentence names."""


def role_reason(node: Node) -> str:
    """For example `mpr: it is the relay of nodes 2, 3`."""
    return f"{node.why}: {_sentence(node)}"


def _sentence(node: Node) -> str:
    broker = node.station.broker
    match node.role:
        case Role.BROKER:
            return _appointed(node, node.why)
        case Role.DISMISSED:
            return f"no rule makes it a broker any more; it keeps its tables for {node.config.dismissal_time:g} s"
        case Role.CHECKING_OUT if broker is None:
            return "no rule makes it a broker any more; it looks for one to take its tables"
        case Role.CHECKING_OUT:
            return f"no rule makes it a broker any more; it hands its tables to node {broker}"
        case Role.REGULAR if broker is None:
            return "no rule makes it a broker, and it looks for one"
        case Role.REGULAR:
            return f"no rule makes it a broker; node {broker} serves it"


def _appointed(node: Node, why: Why) -> str:
    match why:
        case Why.ALONE:
            return "it has no neighbours, so it serves itself"
        case Why.MPR:
            return f"it is the relay of {_named(node.station.selectors())}"
        case Why.MESH:
            return f"all nodes hear each other, and it is among the {node.config.broker_min} elected"
        case Why.REPLICA:
            return f"there is one relay only, {_named(node.station.relays)}, and it keeps a second copy of its tables"
        case Why.BRIDGE:
            return f"it hears {_named(node.station.strangers())}, to which there is no route yet"
        case Why.ORPHAN:
            return f"it found no broker within {node.config.orphan_patience:g} s, so it serves itself"
        case Why.TREE:
            return "the network is run on a tree of brokers (routing.mode), and every node is one"
        case Why.NONE:
            return "no rule makes it one any more"


def _named(nodes: Iterable[int]) -> str:
    ordered = sorted(nodes)
    shown = ", ".join(map(str, ordered[:MOST_NAMED]))
    more = len(ordered) - MOST_NAMED
    return f"{'node' if len(ordered) == 1 else 'nodes'} {shown}" + (f" and {more} more" if more > 0 else "")
