"""What the core needs of routing: the view that a route source supplies, and the questions asked of it.

The core knows nodes by index and routing by next hops. Any value with these attributes is a route view; the route
adapter's own class is one, and nothing here imports it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Mapping


class Route(Protocol):
    @property
    def next_hop(self) -> int: ...
    @property
    def hops(self) -> int: ...


class RouteView(Protocol):
    """One node's routing knowledge. MPRs, selectors and links are None where the source knows none."""

    @property
    def neighbours(self) -> frozenset[int]: ...
    @property
    def routes(self) -> Mapping[int, Route]: ...
    @property
    def mprs(self) -> frozenset[int] | None: ...
    @property
    def selectors(self) -> frozenset[int] | None: ...
    @property
    def links(self) -> Mapping[int, frozenset[int]] | None: ...
    def select_relays(self, two_hop: Mapping[int, frozenset[int]], /) -> frozenset[int]: ...


class Alone(NamedTuple):
    """The view of a node that knows no routes: the state to start in, and to fall back to."""

    neighbours: frozenset[int] = frozenset()
    routes: Mapping[int, Route] = MappingProxyType({})
    mprs: frozenset[int] | None = frozenset()
    selectors: frozenset[int] | None = frozenset()
    links: Mapping[int, frozenset[int]] | None = None

    def select_relays(self, two_hop: Mapping[int, frozenset[int]], /) -> frozenset[int]:  # noqa: ARG002 - nobody to select
        return frozenset()


def available(view: RouteView, index: int, length: int) -> NodeVector:
    """ANV: this node, its neighbours and every node it has a route to. Nodes beyond the vectors' length are none."""
    nodes = {index, *view.neighbours, *view.routes}
    return NodeVector.of((node for node in nodes if node < length), length)
