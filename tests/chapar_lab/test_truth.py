"""What nodes should know of a network that has formed."""

from __future__ import annotations

from typing import Any

import pytest

from chapar_lab.truth import Expected, expected, missing

CHAIN = frozenset({(1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)})
SHOULD = Expected({1: 1, 3: 1, 4: 2}, is_broker=True)


def status(role: str = "broker", broker: int | None = 2) -> dict[str, Any]:
    return {"role": {"role": role, "broker": broker}}


def routes(**hops: int) -> dict[str, Any]:
    return {"routes": [{"destination": int(node[1:]), "hops": far} for node, far in hops.items()]}


def test_hops_and_brokers_follow_from_the_links() -> None:
    """Of a chain the inner nodes are relays, and so brokers."""
    found = expected([1, 2, 3, 4], CHAIN, 2)
    assert found[1] == Expected({2: 1, 3: 2, 4: 3}, is_broker=False)
    assert found[2] == SHOULD
    assert [node for node, each in found.items() if each.is_broker] == [2, 3]


def test_links_of_one_way_do_not_count() -> None:
    """Who is heard but not answered is out of reach."""
    assert expected([1, 2], frozenset({(1, 2)}), 2)[1] == Expected({}, is_broker=True)


def test_each_part_of_a_network_has_brokers_of_its_own() -> None:
    """Also a node alone; where there are no relays, as many as are wanted, the first ones."""
    found = expected([1, 2, 3, 4, 5], frozenset({(1, 2), (2, 1), (4, 5), (5, 4)}), 1)
    assert {node: tuple(each.hops) for node, each in found.items()} == {1: (2,), 2: (1,), 3: (), 4: (5,), 5: (4,)}
    assert [node for node, each in found.items() if each.is_broker] == [1, 3, 4]


def test_on_a_tree_every_node_is_a_broker_with_links() -> None:
    """Nobody is elected; a neighbour within reach to which the link is not up yet is lacking."""
    assert all(each.is_broker for each in expected([1, 2, 3, 4], CHAIN, 2, all_brokers=True).values())
    links = [{"neighbour": 1, "state": "up"}, {"neighbour": 4, "state": "down"}, {"neighbour": 9, "state": "down"}]
    page = {**status(), "routing": {"mode": "tree", "links": links}}
    known = routes(n1=1, n3=1, n4=2)
    assert missing(2, SHOULD, page, known) == "node 2 has no link of the tree to 4 yet"
    links[1]["state"] = "up"
    assert missing(2, SHOULD, page, known) == ""


def test_a_node_that_knows_everything_lacks_nothing() -> None:
    """Then it has formed."""
    assert missing(2, SHOULD, status(), routes(n1=1, n3=1, n4=2)) == ""


@pytest.mark.parametrize(
    ("page", "known", "lacks"),
    [
        (None, routes(), "node 2 does not answer"),
        (status(), None, "node 2 does not answer"),
        (status(), routes(n1=1, n3=1), "node 2 has no route to 4"),
        (status(), routes(n1=1, n3=1, n4=3), "node 2 has a route of 3 hops to 4, 2 away"),
        (status(), routes(n1=1, n3=1, n4=2, n9=1, n8=1), "node 2 has a route to 8, out of reach"),
        (status("regular"), routes(n1=1, n3=1, n4=2), "node 2 is no broker"),
        (status(broker=None), routes(n1=1, n3=1, n4=2), "node 2 has not found a broker"),
    ],
)
def test_what_a_node_lacks_is_said(page: dict[str, Any] | None, known: dict[str, Any] | None, lacks: str) -> None:
    """One thing, the first."""
    assert missing(2, SHOULD, page, known) == lacks


def test_a_broker_too_many_is_said() -> None:
    """It should not be one yet, or not any more."""
    assert missing(1, Expected({2: 1}, is_broker=False), status(), routes(n2=1)) == "node 1 is a broker"
