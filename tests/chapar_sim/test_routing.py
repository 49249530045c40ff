"""Ideal OLSR."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from chapar_olsr.mpr import select_mprs
from chapar_olsr.paths import links_reached, shortest_paths
from chapar_olsr.view import RouteView
from chapar_sim.clock import Clock
from chapar_sim.links import Pairs, graph_links
from chapar_sim.routing import Routing, symmetric
from chapar_sim.terrain import RouteSpec, TopologySpec

NODES = list(range(1, 9))


class Mesh:
    """Routing over links that change, and who was told that its view changed."""

    def __init__(self, pairs: Pairs, spec: RouteSpec | None = None) -> None:
        self.clock = Clock()
        self.told: list[tuple[float, int]] = []
        self.routing = Routing(spec or RouteSpec(), self.clock, NODES, Random(1), self._changed)
        self.routing.start(pairs)

    def _changed(self, node: int) -> None:
        self.told.append((self.clock.now, node))

    def views(self) -> dict[int, RouteView]:
        return {node: self.routing.view(node) for node in NODES}


def chain(*missing: tuple[int, int]) -> Pairs:
    links = graph_links(TopologySpec(kind="chain"), NODES)
    return links - {pair for a, b in missing for pair in ((a, b), (b, a))}


def truth(pairs: Pairs) -> dict[int, RouteView]:
    """What everyone would know if news took no time."""
    near = symmetric(NODES, pairs)
    relays = {node: select_mprs(node, {each: near[each] for each in near[node]}) for node in NODES}
    return {
        node: RouteView(
            node,
            near[node],
            shortest_paths(node, near),
            relays[node],
            frozenset(each for each in near[node] if node in relays[each]),
            links=links_reached(node, near, shortest_paths(node, near)),
        )
        for node in NODES
    }


def test_a_network_that_has_converged_knows_itself() -> None:
    """Unless it starts cold, everyone has the right view at once, and nobody is told of a change."""
    mesh = Mesh(chain())
    assert mesh.views() == truth(chain())
    mesh.clock.run_until(100)
    assert mesh.told == []


def test_a_cold_network_learns() -> None:
    """At first nobody knows anybody; after the longest delay everyone knows everything."""
    mesh = Mesh(chain(), RouteSpec(cold=True))
    assert all(view == RouteView(node, links={}) for node, view in mesh.views().items())
    mesh.clock.run_until(5)
    assert mesh.views() == truth(chain())


def test_one_way_links_are_no_links() -> None:
    """Only symmetric links are used."""
    mesh = Mesh(chain() - {(4, 5)})
    assert mesh.views() == truth(chain((4, 5)))


def test_news_travels_from_near_to_far() -> None:
    """Those at a broken link notice within the neighbour delay; the others keep a stale route for longer."""
    spec = RouteSpec(convergence=(10, 20), neighbour_delay=(1, 2))
    mesh = Mesh(chain(), spec)
    mesh.routing.links_changed(chain((4, 5)))
    mesh.clock.run_until(2)
    assert mesh.routing.view(4).neighbours == {3}
    assert 5 not in mesh.routing.view(4).routes
    assert 5 in mesh.routing.view(1).routes
    mesh.clock.run_until(20)
    assert mesh.views() == truth(chain((4, 5)))


def test_views_disagree_while_news_travels() -> None:
    """At some moment one node has the new route and another the old one."""
    mesh = Mesh(chain(), RouteSpec(convergence=(1, 5)))
    mesh.routing.links_changed(chain((7, 8)))
    mesh.clock.run_until(3)
    knows = {8 in mesh.routing.view(node).routes for node in NODES[:5]}
    assert knows == {True, False}


def test_a_source_without_relays_says_that_it_knows_none() -> None:
    """None is not the same as an empty set."""
    mesh = Mesh(chain(), RouteSpec(mprs=False))
    assert {(view.mprs, view.selectors) for view in mesh.views().values()} == {(None, None)}
    assert mesh.routing.view(1).routes == truth(chain())[1].routes


def test_a_node_that_was_off_starts_from_nothing() -> None:
    """It learns everything again with the next change."""
    mesh = Mesh(chain())
    mesh.routing.links_changed(chain((2, 3), (3, 4)))
    mesh.routing.forget(3)
    mesh.clock.run_until(10)
    assert mesh.routing.view(3) == RouteView(3, links={})
    mesh.routing.links_changed(chain())
    mesh.clock.run_until(20)
    assert mesh.views() == truth(chain())


@settings(max_examples=50)
@given(st.lists(st.sets(st.sampled_from([(a, b) for a in NODES for b in NODES if a < b])), min_size=1, max_size=6))
def test_whatever_changed_everyone_knows_the_truth_in_the_end(history: list[set[tuple[int, int]]]) -> None:
    """However changes overlap, after the last delay every view is what one would compute from the last links."""
    mesh = Mesh(chain())
    for edges in history:
        links = frozenset(pair for a, b in edges for pair in ((a, b), (b, a)))
        mesh.routing.links_changed(links)
        mesh.clock.run_until(mesh.clock.now + 1.3)
    mesh.clock.run_until(mesh.clock.now + 5)
    assert mesh.views() == truth(links)
