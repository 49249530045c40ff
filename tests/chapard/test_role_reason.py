"""Why a node has its role, in words."""

from __future__ import annotations

import pytest

from chapard.core.roles import Role, Why
from chapard.role_reason import MOST_NAMED, role_reason
from fake_network import FakeNetwork, a_beacon, chain, mesh, star


def reasons(network: FakeNetwork) -> dict[int, str]:
    return {index: role_reason(node) for index, node in network.nodes.items()}


def test_each_rule_has_its_sentence() -> None:
    """The rule's word stands first, and the sentence names who matters."""
    row = FakeNetwork(chain(3))
    row.run(15)
    assert reasons(row) == {
        0: "replica: there is one relay only, node 1, and it keeps a second copy of its tables",
        1: "mpr: it is the relay of nodes 0, 2",
        2: "none: no rule makes it a broker; node 1 serves it",
    }
    full = FakeNetwork(mesh(3))
    full.run(15)
    assert reasons(full)[0] == "mesh: all nodes hear each other, and it is among the 2 elected"
    row.inject(2, a_beacon(9))
    assert reasons(row)[2] == "bridge: it hears node 9, to which there is no route yet"
    assert reasons(FakeNetwork(nodes=[0])) == {0: "alone: it has no neighbours, so it serves itself"}


@pytest.mark.parametrize(
    ("role", "broker", "reason"),
    [
        (Role.REGULAR, None, "none: no rule makes it a broker, and it looks for one"),
        (Role.DISMISSED, 2, "none: no rule makes it a broker any more; it keeps its tables for 5 s"),
        (Role.CHECKING_OUT, 2, "none: no rule makes it a broker any more; it hands its tables to node 2"),
        (Role.CHECKING_OUT, None, "none: no rule makes it a broker any more; it looks for one to take its tables"),
    ],
)
def test_a_node_that_is_no_broker_says_what_it_waits_for(role: Role, broker: int | None, reason: str) -> None:
    """Who is dismissed says what becomes of its tables; who has no broker says that it looks for one."""
    node = FakeNetwork(nodes=[0]).nodes[0]
    roles, node.station.broker = node.replicated.roles, broker
    roles.role, roles.why = role, Why.NONE
    assert role_reason(node) == reason


def test_a_node_that_found_no_broker_says_so() -> None:
    """It serves itself."""
    network = FakeNetwork(star(3), without_chapard=[0])
    network.crash(1)
    network.run(20)
    assert reasons(network)[2] == "orphan: it found no broker within 1 s, so it serves itself"


@pytest.mark.parametrize("leaves", [MOST_NAMED, MOST_NAMED + 3])
def test_a_sentence_names_a_few_nodes_only(leaves: int) -> None:
    """A relay of a hundred nodes has a sentence of one line."""
    network = FakeNetwork(star(leaves + 1))
    network.run(5)
    sentence = reasons(network)[0]
    assert sentence.startswith("mpr: it is the relay of nodes 1, 2, 3, 4, 5, 6, 7, 8")
    assert sentence.endswith(" and 3 more") is (leaves > MOST_NAMED)
