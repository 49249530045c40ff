"""The broker tree that a run was configured with: its links, and who is behind which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chapar_audit.models.tree import Tree, rooted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Way = tuple[int, int]
"""A link in one direction: whose word goes to whom."""
WHAT_ALL_SHARE = ("algorithm", "refresh_period", "advertisements", "publisher_roots", "merge_delay")


class OverlayError(Exception):
    """A run that the models of one tree do not cover; the message says why."""


@dataclass(frozen=True)
class Overlay:
    """The tree, and how all its brokers route."""

    links: tuple[Way, ...]
    algorithm: str
    period: float
    """r, seconds."""
    advertisements: bool = False
    roots: tuple[int, ...] = ()
    """The nodes at which all publishers are; none: nobody knows where."""

    @cached_property
    def brokers(self) -> tuple[int, ...]:
        return tuple(sorted({node for link in self.links for node in link}))

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """All links in both directions."""
        return tuple(sorted((way for a, b in self.links for way in ((a, b), (b, a)))))

    def tree(self, root: int) -> Tree:
        return rooted(self.links, root)

    @cached_property
    def behind(self) -> Mapping[Way, frozenset[int]]:
        """Of each way, the brokers at the end where it begins."""
        if not self.links:
            return {}
        tree = self.tree(self.brokers[0])
        below: dict[int, frozenset[int]] = {}
        found: dict[Way, frozenset[int]] = {}
        everybody = frozenset(tree.brokers)
        for broker in reversed(tree.brokers):
            below[broker] = frozenset({broker}).union(*(below[child] for child in tree.below[broker]))
            if broker != tree.publisher:
                up = tree.above[broker]
                found[broker, up], found[up, broker] = below[broker], everybody - below[broker]
        return found

    @cached_property
    def told(self) -> frozenset[Way]:
        """The ways that subscriptions go: towards publishers, where these are known."""
        if not self.roots:
            return frozenset(self.ways)
        return frozenset((a, b) for a, b in self.ways if self.behind[b, a].intersection(self.roots))

    def crossed(self, origin: int, homes: Iterable[int]) -> set[Way]:
        """The ways that an event takes from its origin to these brokers, each once."""
        above = self._above(origin)
        found: set[Way] = set()
        for home in homes:
            here = home
            while here != origin and here in above and (above[here], here) not in found:
                found.add((above[here], here))
                here = above[here]
        return found

    def _above(self, origin: int) -> Mapping[int, int]:
        if origin not in self._seen_from:
            self._seen_from[origin] = self.tree(origin).above if origin in self.brokers else {}
        return self._seen_from[origin]

    @cached_property
    def _seen_from(self) -> dict[int, Mapping[int, int]]:
        return {}


def overlay_of(settings: Mapping[int, Mapping[str, Any]]) -> Overlay:
    """The tree of a run in tree mode. Raises OverlayError."""
    first = settings[min(settings)]
    for node, each in settings.items():
        differing = [key for key in WHAT_ALL_SHARE if each["routing"].get(key) != first["routing"].get(key)]
        if each["mode"] != first["mode"] or each["overlay"]["links"] != first["overlay"]["links"]:
            differing.insert(0, "links")
        if differing:
            raise OverlayError(f"nodes {min(settings)} and {node} were configured with different {differing[0]}")
    routing = first["routing"]
    links = tuple((int(a), int(b)) for a, b in first["overlay"]["links"])
    if not links:
        raise OverlayError("the overlay has no links: nothing was routed")
    return Overlay(
        links,
        str(routing["algorithm"]),
        float(routing["refresh_period"]),
        bool(routing["advertisements"]),
        tuple(routing["publisher_roots"]),
    )
