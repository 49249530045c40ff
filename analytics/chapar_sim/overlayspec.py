"""How the daemons of a scenario route: `[routing]`, and for a tree its links, `[overlay]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.config import ConfigError, Mode, Overlay, Routing
from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from chapar_sim.table import Table


def read_routing(table: Table, hosts: frozenset[int]) -> Routing:
    """`hosts` are the nodes that run chapard."""
    usual = Routing()
    roots = table.integers("publisher_roots", low=0, high=max(hosts))
    for place, node in enumerate(roots):
        _check_host(table, f"publisher_roots[{place}]", node, hosts)
    values = {
        "mode": Mode(table.choice("mode", [each.value for each in Mode], usual.mode)),
        "algorithm": Algorithm(table.choice("algorithm", [each.value for each in Algorithm], usual.algorithm)),
        "advertisements": table.flag("advertisements", default=usual.advertisements),
        "refresh_period": table.number("refresh_period", usual.refresh_period, above=0),
        "merge_delay": table.number("merge_delay", usual.merge_delay, low=0),
    }
    table.finish()
    try:
        return Routing(**values, publisher_roots=roots)  # type: ignore[arg-type]  # each read as what it is
    except ConfigError as error:
        table.fail("", str(error))


def read_overlay(table: Table, hosts: frozenset[int]) -> Overlay:
    table.choice("kind", ["static"], "static")
    links = [_link(table, f"links[{place}]", each, hosts) for place, each in enumerate(table.items("links"))]
    table.finish()
    try:
        return Overlay(tuple(links))
    except ConfigError as error:
        table.fail("links", str(error).removeprefix("overlay.links "))


def _link(table: Table, key: str, value: object, hosts: frozenset[int]) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(each) is int for each in value):
        table.fail(key, f"{value!r} is not a pair of nodes; write [a, b]")
    one, other = value
    for node in (one, other):
        _check_host(table, key, node, hosts)
    return one, other


def _check_host(table: Table, key: str, node: int, hosts: frozenset[int]) -> None:
    if node not in hosts:
        table.fail(key, f"node {node} is none that runs chapard; those are {', '.join(map(str, sorted(hosts)))}")
