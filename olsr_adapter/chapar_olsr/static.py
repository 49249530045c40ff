"""Routes written by hand: a TOML text as a `RouteView`, for networks that stand still, tests and demonstrations.

Either one node's own view,

    neighbours = [2, 3]
    mprs = [2]              # optional: without it relays are chosen from what beacons tell
    selectors = [2]         # optional likewise
    [routes]                # destination = [next_hop, hops]; neighbours need no entry
    4 = [2, 2]

or the links of the whole network, from which every node computes its own view, so that one file serves all:

    edges = [[1, 2], [2, 3], [3, 4]]

A text that says neither is refused: an editor that empties a file before it fills it must not cut a node off.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chapar_olsr.mpr import select_mprs
from chapar_olsr.paths import links_reached, shortest_paths
from chapar_olsr.source import MAX_HOPS
from chapar_olsr.view import Route, RouteView

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS: Final = ("neighbours", "mprs", "selectors", "routes", "edges")
_ROUTE: Final = "[next_hop, hops]"
_LONGEST_QUOTE: Final = 60


class StaticRoutesError(ValueError):
    """The text is no route view; the message is one line that says where and what to write instead."""


def parse(text: str, *, index: int, nodes: int) -> RouteView:
    """The view of the node `index` in a network of the nodes 0 to `nodes` - 1."""
    data = _toml(text)
    for key in data:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise StaticRoutesError(f"{_quoted(key)} is no key of a routes file{f': write {near[0]}' if near else ''}")
    if "edges" in data:
        others = [key for key in data if key != "edges"]
        if others:
            raise StaticRoutesError(f"edges describe the whole network: leave out {', '.join(others)}")
        return _from_network(data["edges"], index, nodes)
    if "neighbours" not in data:
        raise StaticRoutesError("say who is near: neighbours = [2, 3], or neighbours = [] for nobody")
    return _from_own_view(data, index, nodes)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # its own error is one, and so is that of a number with too many digits
        raise StaticRoutesError(f"this is not TOML: {error}") from None
    except RecursionError:
        raise StaticRoutesError("this is not TOML that anyone wrote: it is nested too deeply") from None


def _from_own_view(data: Mapping[str, Any], index: int, nodes: int) -> RouteView:
    neighbours = _set_of_nodes("neighbours", data["neighbours"], nodes)
    if index in neighbours:
        raise StaticRoutesError(f"neighbours: {index} is this node itself")
    routes = {neighbour: Route(neighbour, 1) for neighbour in neighbours}
    written = data.get("routes", {})
    if not isinstance(written, dict):
        raise StaticRoutesError(f"routes: write a table with a line destination = {_ROUTE} for each destination")
    for key, value in written.items():
        destination = _destination(key, index, nodes)
        routes[destination] = _route(destination, value, neighbours)
    return RouteView(
        index=index,
        neighbours=neighbours,
        routes=MappingProxyType({destination: routes[destination] for destination in sorted(routes)}),
        mprs=_chosen("mprs", data, neighbours, nodes),
        selectors=_chosen("selectors", data, neighbours, nodes),
    )


def _from_network(edges: object, index: int, nodes: int) -> RouteView:
    if not isinstance(edges, list):
        raise StaticRoutesError("edges: write a list of pairs, such as [[1, 2], [2, 3]]")
    near: dict[int, set[int]] = {index: set()}
    for place, edge in enumerate(edges, start=1):
        if not isinstance(edge, list) or len(edge) != 2:
            raise StaticRoutesError(f"edges: number {place} is {_quoted(edge)}, not a pair of nodes such as [1, 2]")
        a, b = (_node(f"edges: number {place}", each, nodes) for each in edge)
        if a == b:
            raise StaticRoutesError(f"edges: number {place} joins {a} with itself")
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    adjacency = {node: frozenset(near[node]) for node in sorted(near)}

    def relays(node: int) -> frozenset[int]:
        return select_mprs(node, {each: adjacency[each] for each in adjacency[node]})

    routes = shortest_paths(index, adjacency)
    return RouteView(
        index=index,
        neighbours=adjacency[index],
        routes=MappingProxyType(routes),
        mprs=relays(index),
        selectors=frozenset(each for each in adjacency[index] if index in relays(each)),
        links=MappingProxyType(links_reached(index, adjacency, routes)),
    )


def _chosen(name: str, data: Mapping[str, Any], neighbours: frozenset[int], nodes: int) -> frozenset[int] | None:
    """The relays or selectors that were written down; None if that is left to the broker."""
    if name not in data:
        return None
    chosen = _set_of_nodes(name, data[name], nodes)
    strangers = sorted(chosen - neighbours)
    if strangers:
        raise StaticRoutesError(f"{name}: {strangers[0]} is not among the neighbours")
    return chosen


def _set_of_nodes(name: str, value: object, nodes: int) -> frozenset[int]:
    if not isinstance(value, list):
        raise StaticRoutesError(f"{name}: write a list of nodes, such as [2, 3], not {_quoted(value)}")
    return frozenset(_node(name, each, nodes) for each in value)


def _node(where: str, value: object, nodes: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < nodes:
        raise StaticRoutesError(f"{where}: {_quoted(value)} is not a node; this network has the nodes 0 to {nodes - 1}")
    return value


def _destination(key: str, index: int, nodes: int) -> int:
    # A node of a network has few digits; a long key must not be turned into a number at all.
    is_number = key.isascii() and key.isdigit() and len(key) <= len(str(nodes)) and str(int(key)) == key
    destination = _node("routes", int(key) if is_number else key, nodes)
    if destination == index:
        raise StaticRoutesError(f"routes: {index} is this node itself")
    return destination


def _route(destination: int, value: object, neighbours: frozenset[int]) -> Route:
    if not isinstance(value, list) or len(value) != 2 or any(each.__class__ is not int for each in value):
        raise StaticRoutesError(f"routes: {destination} = {_quoted(value)}; write {destination} = {_ROUTE}")
    next_hop, hops = value
    if next_hop not in neighbours:
        raise StaticRoutesError(f"routes: {destination} over {_quoted(next_hop)}, which is not among the neighbours")
    if not 1 <= hops <= MAX_HOPS:
        raise StaticRoutesError(f"routes: {destination} is {_quoted(hops)} hops away; write 1 to {MAX_HOPS}")
    if (hops == 1) is not (next_hop == destination):
        raise StaticRoutesError(f"routes: {destination} over {next_hop} cannot take {hops} hops; correct one of them")
    return Route(next_hop, hops)


def _quoted(value: object) -> str:
    """A value as it can stand in a line: what is long or has line breaks would not."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long for Python to write in decimal, though TOML can in hexadecimal
        return "a number with thousands of digits"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"
