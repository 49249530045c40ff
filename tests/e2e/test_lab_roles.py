"""Networks of real daemons elect the brokers that the protocol names, seen from outside; and events cross them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e import labs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lab

NETWORKS = {
    # The inner nodes of a chain are relays of their neighbours.
    "chain": (5, 'kind = "chain"', (1, 5), {2, 3, 4}),
    # Without relays the two lowest indexes are elected.
    "full": (4, 'kind = "full"', (3, 4), {1, 2}),
    # One relay, and the lowest of the others as its replica.
    "star": (5, 'kind = "star"\ncentre = 3', (4, 5), {1, 3}),
    # The corners choose both their neighbours, these the middle.
    "grid": (9, 'kind = "grid"\ncolumns = 3', (1, 9), {2, 4, 5, 6, 8}),
}
"""Nodes, topology, from where to where events go, brokers."""


@pytest.mark.parametrize("name", NETWORKS)
def test_brokers_are_those_of_the_role_rules(name: str, tmp_path: Path) -> None:
    """Each daemon says so itself, each has chosen one of them, and every event arrives."""
    nodes, topology, (source, sink), brokers = NETWORKS[name]
    scenario = f"""
duration = 12
settle = 5
nodes = {nodes}
{labs.BRISK}
[topology]
{topology}
[[client]]
name = "source"
node = {source}
publish = [{{ subject = "a", every = 0.2, start = 2 }}, {{ subject = "b", every = 1, start = 2, lifetime = 60 }}]
[[client]]
name = "sink"
node = {sink}
subscribe = [{{ filter = 'subject in ("a", "b")' }}]
"""
    with labs.up(tmp_path, scenario) as lab:
        lab.reach("running", "holding")
        pages = {node["index"]: node["status"] for node in lab.status()["nodes"]}
        assert {node for node, page in pages.items() if page["role"]["role"] == "broker"} == brokers
        assert {page["role"]["broker"] for page in pages.values()} <= brokers
        lab.reach("holding")
    done = labs.Done(0, labs.result(tmp_path), "")
    assert done.figures["violations"] == []
    assert done.missed() == []
    assert len(done.events) > 25
