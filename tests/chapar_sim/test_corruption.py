"""Corruption on purpose: it wrongs the tables it means to, and what the node says stays as it was."""

from __future__ import annotations

from random import Random

from chapar.filter import Filter
from chapar_sim.corruption import scramble
from chapard.core.config import Mode, Overlay, Routing
from chapard.core.overlay.interest import Topic
from fake_network import FakeNetwork, chain, quick


def test_on_a_tree_the_tables_of_links_are_wrong_until_the_refreshes() -> None:
    """Neighbours hear nothing of it at once; after the stated periods both ends agree, and nobody holds a ghost."""
    routing = Routing(mode=Mode.TREE, refresh_period=2.0)
    network = FakeNetwork(chain(3), config=quick(routing=routing, overlay=Overlay(((0, 1), (1, 2)))))
    for node in (0, 2):
        network.client(f"s{node}", at=node).subscribe(Filter(subject="x"))
    network.run(5)
    before = {node: interests(network, node) for node in range(3)}
    scramble(network.nodes[1], Random(3), network.now)
    network.run(0.1)
    assert interests(network, 1) != before[1]
    assert (interests(network, 0), interests(network, 2)) == (before[0], before[2])
    network.run(4 * 2.0)
    assert {node: interests(network, node) for node in range(3)} == before


def interests(network: FakeNetwork, node: int) -> dict[tuple[Topic, int], tuple[set[str], set[str]]]:
    """By table and link, what was received and what was sent."""
    tree = network.nodes[node].tree
    assert tree is not None
    planes = {topic: tree.router.plane(topic) for topic in Topic}
    return {
        (topic, link): (
            {str(each.filter) for each in plane.table.received(link)},
            {str(each.filter) for each in plane.sent(link)},
        )
        for topic, plane in planes.items()
        for link in tree.router.links
    }
