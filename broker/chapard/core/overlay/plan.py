"""How a network on a tree of brokers is meant to be: `[routing]` and `[overlay]` of a configuration.

Every broker has the whole list of links, so each knows which brokers lie behind each of its own. The list may leave
the network in several pieces; a node that it does not name is a broker by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

Edge = tuple[int, int]


class ConfigError(ValueError):
    """A configuration that cannot work; the message names the key and what to write instead."""


class Mode(StrEnum):
    """`routing.mode`: how a network is run."""

    CHAPAR = "chapar"
    """By replicated tables."""
    TREE = "tree"
    """On a tree of brokers."""


class OverlayKind(StrEnum):
    """`overlay.kind`: where the tree comes from."""

    STATIC = "static"
    """From the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """`[routing]`. Times are seconds."""

    mode: Mode = Mode.CHAPAR
    algorithm: Algorithm = Algorithm.IDENTITY
    advertisements: bool = False
    """Publishers say what they publish, and subscriptions travel only toward them."""
    refresh_period: float = 16.0
    """In which every broker says again, over each link, what it has said there and still stands."""
    merge_delay: float = 0.5
    """How long merging gathers filters."""
    publisher_roots: tuple[int, ...] = ()
    """The nodes at which all publishers are, if that is known: subscriptions travel only toward them."""

    def __post_init__(self) -> None:
        if self.refresh_period <= 0:
            raise ConfigError("routing.refresh_period must be above 0 s")
        if self.advertisements and self.publisher_roots:
            raise ConfigError("routing.publisher_roots and routing.advertisements exclude each other: leave one out")


@dataclass(frozen=True)
class Overlay:
    """`[overlay]`: which brokers are joined."""

    links: tuple[Edge, ...] = ()
    kind: OverlayKind = OverlayKind.STATIC

    def __post_init__(self) -> None:
        seen: set[Edge] = set()
        for one, other in self.links:
            if one == other:
                raise ConfigError(f"overlay.links joins node {one} to itself: leave [{one}, {other}] out")
            if (min(one, other), max(one, other)) in seen:
                raise ConfigError(f"overlay.links names [{one}, {other}] twice: write it once")
            seen.add((min(one, other), max(one, other)))
        cycle = _cycle(self.links)
        if cycle:
            ring = " - ".join(map(str, (*cycle, cycle[0])))
            raise ConfigError(f"overlay.links has the cycle {ring}: leave one of its links out")

    @property
    def nodes(self) -> list[int]:
        return sorted(self._neighbours)

    def neighbours(self, node: int) -> tuple[int, ...]:
        return self._neighbours.get(node, ())

    def behind(self, node: int, neighbour: int) -> frozenset[int]:
        """The nodes that `node` reaches over its link to this neighbour."""
        reached, waiting = {node, neighbour}, [neighbour]
        while waiting:
            for other in self.neighbours(waiting.pop()):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return frozenset(reached - {node})

    def depth(self, node: int) -> int:
        """The links of the longest way from a node."""
        reached, ring, links = {node}, {node}, -1
        while ring:
            ring = {far for near in ring for far in self.neighbours(near)} - reached
            reached |= ring
            links += 1
        return links

    @cached_property
    def _neighbours(self) -> Mapping[int, tuple[int, ...]]:
        return _neighbours(self.links)


def _neighbours(links: tuple[Edge, ...]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for one, other in links:
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return {node: tuple(sorted(found[node])) for node in sorted(found)}


def _cycle(links: tuple[Edge, ...]) -> list[int]:
    """The nodes of a cycle, in order from the lowest; none if there is no cycle."""
    before: dict[int, list[int]] = {}
    for one, other in links:
        path = _path(before, one, other)
        if path:
            start = path.index(min(path))
            return path[start:] + path[:start]
        before.setdefault(one, []).append(other)
        before.setdefault(other, []).append(one)
    return []


def _path(neighbours: Mapping[int, list[int]], start: int, end: int) -> list[int]:
    """The nodes from `start` to `end`, both included; none if there is no way."""
    ways = {start: start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for other in neighbours.get(node, ()):
            if other not in ways:
                ways[other] = node
                waiting.append(other)
    if end not in ways:
        return []
    path = [end]
    while path[-1] != start:
        path.append(ways[path[-1]])
    return path[::-1]
