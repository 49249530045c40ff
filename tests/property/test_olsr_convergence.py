"""OLSR agents that are left alone know their network: relays cover, routes are shortest, and all agree on who relays.

What they should know is worked out here from who hears whom, by RFC 3626's rules and with none of the agents' own code.
A link counts if it is heard both ways. Whoever has the willingness "never" relays nothing, so that paths end there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.messages import PORT as OLSR_PORT
from chapar_olsr.mpr import ALWAYS, NEVER
from chapar_olsr.view import Route, RouteView
from chapar_sim.agents import Agents
from chapar_sim.bounds import olsr_convergence
from chapar_sim.ip import Ip
from chapar_sim.scenario import Scenario
from chapar_sim.world import World
from fake_core import FakeCore
from fake_network import random_links
from olsr_network import Network, chain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_olsr.agent.agent import Agent
    from chapar_sim.trace import Trace

Pair = tuple[int, int]

RFC = AgentConfig()
"""The intervals of RFC 3626."""
HELLO, TC = 0.5, 1.0
"""Seconds: shorter intervals, so that in the simulator much happens in little time."""
LOSS = 0.2
LOSS_ENDS = 8.0
"""Seconds: sixteen HELLOs or more, in which links are found, lost and found again."""
REST = 2 * TC
"""Seconds at the end in which nothing changes any more."""

seeds = st.integers(0, 2**32)


@dataclass(frozen=True)
class Mesh:
    """Who hears whom among the nodes from 1 to `count`, and how willing they are."""

    count: int
    edges: tuple[Pair, ...]
    one_way: tuple[Pair, ...] = ()
    willingness: Mapping[int, int] = field(default_factory=dict)
    """Of nodes with another than the usual one."""

    @property
    def nodes(self) -> range:
        return range(1, self.count + 1)

    def near(self, node: int) -> set[int]:
        """Whom it hears and is heard by."""
        return {other for edge in self.edges if node in edge for other in edge} - {node}

    def relaying(self, nodes: set[int]) -> set[int]:
        return {node for node in nodes if self.willingness.get(node) != NEVER}

    def hops(self, start: int) -> dict[int, int]:
        """The length of the shortest path to every node that can be reached, itself included."""
        found = {start: 0}
        queue = [start]
        for node in queue:  # grows while it is read
            if node == start or self.relaying({node}):
                for other in self.near(node) - found.keys():
                    found[other] = found[node] + 1
                    queue.append(other)
        return found

    def two_hop(self, node: int) -> set[int]:
        """Whom its neighbours can reach for it and it cannot reach itself."""
        return self.beyond(self.relaying(self.near(node))) - self.near(node) - {node}

    def beyond(self, relays: set[int]) -> set[int]:
        return {other for relay in relays for other in self.near(relay)}


def random_mesh(count: int, seed: int, *, willing: bool) -> Mesh:
    """A random connected network with some links that work one way only, and some willingness of its own or none."""
    rng = Random(seed)
    names = rng.sample(range(1, count + 1), count)
    links = random_links(count, rng, extra=rng.randint(0, 2 * count))
    others = [(a, b) for a in range(count) for b in range(a) if (b, a) not in links]
    half = [rng.sample(pair, 2) for pair in rng.sample(others, min(rng.randint(0, count), len(others)))]
    return Mesh(
        count,
        tuple((names[a], names[b]) for a, b in sorted(links)),
        tuple((names[a], names[b]) for a, b in half),
        {node: rng.randint(NEVER, ALWAYS) for node in names if rng.random() < 0.3} if willing else {},
    )


def meshes(most: int, *, willing: bool = False) -> st.SearchStrategy[Mesh]:
    return st.builds(random_mesh, st.integers(2, most), seeds, willing=st.just(willing))


def wrong(mesh: Mesh, views: Mapping[int, RouteView]) -> list[str]:
    """What nodes believe that is not so, or do not know."""
    return [f"{node}: {what}" for node in mesh.nodes for what in _wrong_of(mesh, node, views)]


def _wrong_of(mesh: Mesh, node: int, views: Mapping[int, RouteView]) -> list[str]:
    view, near, hops = views[node], mesh.near(node), mesh.hops(node)
    mprs, selectors = set(view.mprs or ()), set(view.selectors or ())
    errors = []
    if view.neighbours != near:
        errors.append(f"has the neighbours {near}, believes in {set(view.neighbours)}")
    if not mprs <= mesh.relaying(near):
        errors.append(f"chose {mprs} among {near}")
    if not mesh.two_hop(node) <= mesh.beyond(mprs):
        errors.append(f"relays {mprs} do not cover {mesh.two_hop(node) - mesh.beyond(mprs)}")
    if selectors != {other for other in near if node in (views[other].mprs or ())}:
        errors.append(f"believes that {selectors} chose it")
    if {node: 0} | {to: route.hops for to, route in view.routes.items()} != hops:
        errors.append(f"routes {dict(view.routes)}, distances {hops}")
    for to, route in view.routes.items():
        if route.next_hop not in near or mesh.hops(route.next_hop).get(to) != route.hops - 1:
            errors.append(f"to {to} over {route.next_hop}, which is no neighbour one hop closer")
    return errors


def view_of(agent: Agent) -> RouteView:
    near = [each for each in agent.neighbours() if each.is_symmetric]
    return RouteView(
        agent.main,
        frozenset(each.address for each in near),
        {to: Route(route.gateway, route.hops) for to, route in agent.routes().items()},
        frozenset(each.address for each in near if each.is_mpr),
        frozenset(each.address for each in near if each.is_selector),
    )


# Without loss


@settings(max_examples=50)
@given(meshes(14, willing=True), seeds)
@example(Mesh(5, tuple(chain(5)), willingness={3: NEVER}), 1)  # its TC, if any, must not offer it as a way
def test_relays_cover_and_routes_are_shortest(mesh: Mesh, seed: int) -> None:
    """In every connected network, whoever is willing and whatever is heard one way only, within the stated time each
    node's relays cover all its two-hop neighbours and know that they were chosen, and each route is a shortest one."""
    network = Network(mesh.nodes, mesh.edges, RFC, seed, one_way=mesh.one_way, willingness=mesh.willingness)
    network.run(olsr_convergence(RFC.hello_interval, RFC.tc_interval, nodes=mesh.count, loss=0))
    assert wrong(mesh, {node: view_of(agent) for node, agent in network.agents.items()}) == []


# With loss that ends, in the simulator


class Shower:
    """A simulated network whose radio loses messages until LOSS_ENDS and none from then on.

    Until then links that work one way only work both ways, so that there is something to forget as well.
    """

    def __init__(self, mesh: Mesh, seed: int) -> None:
        self.mesh = mesh
        self.within = olsr_convergence(HELLO, TC, nodes=mesh.count, loss=0)
        """Seconds that it may take from then on."""
        back = [[b, a] for a, b in mesh.one_way]
        data: dict[str, Any] = {
            "duration": LOSS_ENDS + self.within + REST,
            "nodes": mesh.count,
            "node": [{"index": node, "chapard": False} for node in mesh.nodes[1:]],
            "topology": {"kind": "edges", "edges": [*map(list, mesh.edges), *back]},
            "radio": {"loss": LOSS},
            "routes": {"source": "olsr", "hello_interval": HELLO, "tc_interval": TC},
            "fault": [{"kind": "cut", "at": LOSS_ENDS, "one_way": back}] if back else [],
        }
        self.world = World(Scenario.from_dict(data), seed, FakeCore)

    def run(self) -> Trace:
        self.world.clock.at(LOSS_ENDS, self._clear_up)
        return self.world.run()

    def wrong(self) -> list[str]:
        return wrong(self.mesh, {node: self.world.view(node) for node in self.mesh.nodes})

    def _clear_up(self) -> None:
        """Transmit with another radio, which loses nothing. What is on its way arrives."""
        world = self.world
        assert isinstance(world.routing, Agents)
        clear = replace(world.scenario.radio, loss=0.0)
        world.ip = Ip(clear, world.clock, world.links, world.routing, Random(world.seed), world.trace, world.deliver)
        world.ip.listen(OLSR_PORT, world.routing.datagram_received)


@settings(max_examples=16)
@given(meshes(8), seeds)
def test_views_converge_once_loss_stops(mesh: Mesh, seed: int) -> None:
    """Whatever nodes came to believe while a fifth of all messages was lost, and whatever links fail with the last of
    them, within the stated time after that every view is right, and it stays so."""
    shower = Shower(mesh, seed)
    trace = shower.run()
    assert shower.wrong() == []
    assert [change for change in trace.reroutes if change.t > LOSS_ENDS + shower.within] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_fifth_of_all_messages_is_lost_at_first_and_disturbs(seed: int) -> None:
    """The loss is real while it lasts, links come and go with it, and none is left when it has stopped."""
    grid = Mesh(9, tuple((a, b) for a in range(1, 10) for b in (a + 3, a + 1) if b <= 9 and (b == a + 3 or a % 3)))
    shower = Shower(grid, seed)
    trace = shower.run()
    air = [(row.ts_us / 1e6 < LOSS_ENDS, len(row.receivers), len(row.lost)) for row in trace.air]
    heard = sum(heard for is_early, heard, _ in air if is_early)
    lost = sum(lost for is_early, _, lost in air if is_early)
    assert lost / (heard + lost) == pytest.approx(LOSS, rel=0.4)
    assert not any(lost for is_early, _, lost in air if not is_early)
    assert any(LOSS_ENDS / 2 < change.t < LOSS_ENDS for change in trace.reroutes)
