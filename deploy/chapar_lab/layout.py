"""Where to draw the nodes of a network: their positions if they have any, else a place that shows the graph's shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from chapar_sim.links import Pairs, Position
    from chapar_sim.terrain import TopologySpec

GOLDEN: Final = math.pi * (3 - math.sqrt(5))
"""The golden angle."""
ROUNDS: Final = 200
"""Steps in which springs come to rest."""


def layout(topology: TopologySpec, nodes: Sequence[int], links: Pairs) -> dict[int, Position]:
    """A place for each node of a graph, in a square of side 1."""
    match topology.kind:
        case "chain":
            return {node: (place / max(1, len(nodes) - 1), 0.5) for place, node in enumerate(nodes)}
        case "grid":
            return _grid(nodes, topology.columns)
        case "star":
            return {**_circle([node for node in nodes if node != topology.centre]), topology.centre: (0.5, 0.5)}
        case "edges":
            return springs(nodes, links)
        case _:
            return _circle(nodes)


def _grid(nodes: Sequence[int], columns: int) -> dict[int, Position]:
    rows = -(-len(nodes) // columns)
    across, down = max(1, columns - 1), max(1, rows - 1)
    return {node: (place % columns / across, place // columns / down) for place, node in enumerate(nodes)}


def _circle(nodes: Sequence[int]) -> dict[int, Position]:
    """Clockwise from the top."""
    turn = 2 * math.pi / max(1, len(nodes))
    return {
        node: (0.5 + 0.5 * math.sin(place * turn), 0.5 - 0.5 * math.cos(place * turn))
        for place, node in enumerate(nodes)
    }


def springs(nodes: Sequence[int], links: Collection[tuple[int, int]]) -> dict[int, Position]:
    """Linked nodes pull each other, all push each other away, with less and less force (Fruchterman and Reingold)."""
    # From a spiral: no two nodes in one place, and no symmetry that the springs could get stuck in.
    where = {
        node: (0.5 + 0.05 * place * math.cos(GOLDEN * place), 0.5 + 0.05 * place * math.sin(GOLDEN * place))
        for place, node in enumerate(nodes)
    }
    ideal = math.sqrt(1 / max(1, len(nodes)))
    for step in range(ROUNDS):
        moved = {}
        for node, (x, y) in where.items():
            pull_x = pull_y = 0.0
            for other, (other_x, other_y) in where.items():
                if other == node:
                    continue
                gap = math.hypot(other_x - x, other_y - y) or 1e-6
                force = -(ideal**2) / gap
                if (node, other) in links or (other, node) in links:
                    force += gap**2 / ideal
                pull_x += force * (other_x - x) / gap
                pull_y += force * (other_y - y) / gap
            length = math.hypot(pull_x, pull_y) or 1e-6
            most = min(length, 0.1 * (1 - step / ROUNDS))
            moved[node] = (x + most * pull_x / length, y + most * pull_y / length)
        where = moved
    return _into_square(where)


def _into_square(where: dict[int, Position]) -> dict[int, Position]:
    """Stretched so that it fills the square."""
    if not where:
        return {}
    xs, ys = zip(*where.values(), strict=True)
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    return {node: ((x - min(xs)) / wide, (y - min(ys)) / high) for node, (x, y) in where.items()}
