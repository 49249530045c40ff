"""Trees of brokers: m-ary trees with k levels (van Vliet, 2.1) and the radio nets of a battalion (3.2, table 3.2)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from chapar_sim.broker_tree import Edge

BATTALION_WIDTHS: Final = (4, 6, 4)
"""Companies of the battalion, platoons of a company, squads of a platoon."""
BATTALION_MEMBERS: Final = (0, 16, 4, 8)
"""Army units in a net of each level. The vehicles that join two nets are counted in the lower one."""


class Tree(NamedTuple):
    """Brokers level by level from the root, which has index 0, each level from left to right."""

    links: tuple[Edge, ...]
    """Upper and lower end."""
    levels: tuple[range, ...]

    @property
    def leaves(self) -> range:
        return self.levels[-1]

    @property
    def nodes(self) -> int:
        return self.levels[-1].stop


def tree_of(widths: tuple[int, ...]) -> Tree:
    """The tree in which each broker of level i has `widths[i]` children."""
    levels = [range(1)]
    links: list[Edge] = []
    for width in widths:
        above, start = levels[-1], levels[-1].stop
        levels.append(range(start, start + width * len(above)))
        links += [(above[child // width], start + child) for child in range(width * len(above))]
    return Tree(tuple(links), tuple(levels))


def m_ary(m: int, k: int) -> Tree:
    """The m-ary tree with k levels."""
    return tree_of((m,) * (k - 1))


def battalion() -> tuple[Tree, dict[int, int]]:
    """The radio nets of a battalion as brokers, and how many army units are in each."""
    tree = tree_of(BATTALION_WIDTHS)
    return tree, {
        net: members for level, members in zip(tree.levels, BATTALION_MEMBERS, strict=True) for net in level if members
    }


def apart(tree: Tree) -> list[int]:
    """The end-brokers in an order in which the first few, however many, are as far apart as can be."""
    order = [0]
    for above, level in pairwise(tree.levels):
        width = len(level) // len(above)
        order = [level.start + (each - above.start) * width + child for child in range(width) for each in order]
    return order


def distance(tree: Tree, end_broker: int) -> dict[int, int]:
    """How many levels above an end-broker's parent it meets each of the others (3.4.4).

    Seen from a squad: 0 in its platoon, 1 in the rest of its company, 2 in the rest of the battalion.
    """
    above = {lower: upper for upper, lower in tree.links}
    found, here = {end_broker: 0}, end_broker
    for levels in range(len(tree.levels) - 1):
        here = above[here]
        found[here] = levels
    for level in tree.levels:
        for broker in level:
            if broker not in found:
                found[broker] = found[above[broker]]
    return found
