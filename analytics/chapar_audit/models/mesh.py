"""The mesh below the brokers: who hears whom on a plane, who relays for whom, and who becomes a broker.

A. R. Khakpour and I. Demeure (2008D009), section 3.3.4, over multipoint relays as RFC 3626 has them (8.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_audit.models.conditions import above_zero

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Position = tuple[float, float]
    Neighbours = Mapping[int, frozenset[int]]
    Relays = Mapping[int, frozenset[int]]

ELECTED: Final = 2
"""Brokers of a full mesh."""
MESSAGE, BODY, LINK_KIND, ADDRESS = 12, 4, 4, 4
"""Bytes of a message of OLSR: of its head, of what is before the first address, of a kind of links, and of a node."""


def in_range(positions: Mapping[int, Position], reach: float) -> Neighbours:
    """Each node's neighbours, where nodes hear each other up to a distance."""
    near = above_zero("reach", reach) ** 2
    return {
        node: frozenset(
            other for other, (a, b) in positions.items() if other != node and (a - x) ** 2 + (b - y) ** 2 <= near
        )
        for node, (x, y) in positions.items()
    }


def relays(neighbours: Neighbours) -> Relays:
    """Whom each node chooses to relay for it, so that all nodes two hops away hear it."""
    return {node: _chosen(node, neighbours) for node in neighbours}


def _chosen(node: int, neighbours: Neighbours) -> frozenset[int]:
    near = neighbours[node]
    providers: dict[int, set[int]] = {}
    for neighbour in near:
        for beyond in neighbours[neighbour] - near - {node}:
            providers.setdefault(beyond, set()).add(neighbour)
    chosen = {neighbour for only in providers.values() if len(only) == 1 for neighbour in only}
    while open_still := [only for only in providers.values() if not only & chosen]:
        gains = {each: sum(each in only for only in open_still) for each in sorted(near)}
        chosen.add(max(gains, key=lambda each: (gains[each], len(neighbours[each]))))
    return frozenset(chosen)


def relaying(chosen: Relays) -> frozenset[int]:
    """The nodes that somebody has chosen."""
    return frozenset().union(*chosen.values())


def brokers(neighbours: Neighbours, chosen: Relays) -> frozenset[int]:
    """Relays; where there are none, whoever is alone, or two that a full mesh elects; and a lone relay's replica."""
    found = set(relaying(chosen))
    for part in _parts(neighbours):
        missing = max(0, min(len(part), ELECTED) - len(found & part))
        found.update(sorted(part - found)[:missing])
    return frozenset(found)


def _parts(neighbours: Neighbours) -> Iterator[frozenset[int]]:
    """The networks that the nodes fall into."""
    left = set(neighbours)
    while left:
        part = _reached({min(left)}, neighbours)
        left -= part
        yield part


def _reached(first: set[int], ways: Mapping[int, frozenset[int]]) -> frozenset[int]:
    """Who can be reached from the first ones, themselves included."""
    found, edge = set[int](), first
    while edge:
        found |= edge
        edge = set[int]().union(*(ways[each] for each in edge)) - found
    return frozenset(found)


def transmissions(origin: int, chosen: Relays) -> int:
    """Of a message that all nodes are to hear: whoever hears it from a node that has chosen it sends it once."""
    return len(_reached({origin}, chosen))


def broker_transmissions(home: int, serving: frozenset[int], neighbours: Neighbours) -> int:
    """Of a subscription that all brokers are to hold: its home tells a broker, and each tells those around it.

    A broker that could only tell the one it heard it from is silent.
    """
    around = {each: neighbours[each] & serving for each in serving}
    first = {home} if home in serving else set(sorted(neighbours[home] & serving)[:1])
    told = _reached(first, around)
    return (home not in serving) + sum(len(around[each]) > (each not in first) for each in told)


def hello_bytes(neighbours: int, relays_chosen: int) -> int:
    """A HELLO names all neighbours, and those that are relays apart from the others."""
    kinds = (relays_chosen > 0) + (neighbours > relays_chosen)
    return MESSAGE + BODY + kinds * LINK_KIND + neighbours * ADDRESS


def tc_bytes(named: int) -> int:
    """A TC names neighbours."""
    return MESSAGE + BODY + named * ADDRESS
