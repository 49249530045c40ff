"""OLSR agents in virtual time, as the routing daemons of a simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar_olsr.mpr import select_mprs
from chapar_olsr.paths import links_reached, shortest_paths
from chapar_olsr.view import RouteView
from chapar_sim.agents import Agents
from chapar_sim.bounds import olsr_convergence
from chapar_sim.clock import Clock
from chapar_sim.links import Pairs, graph_links
from chapar_sim.routing import symmetric
from chapar_sim.scenario import Scenario
from chapar_sim.terrain import OLSR, RouteSpec, TopologySpec
from chapar_sim.world import World
from fake_core import FakeCore

if TYPE_CHECKING:
    from chapar_sim.trace import Trace

NODES = list(range(1, 7))
SPEC = RouteSpec(source=OLSR, hello_interval=0.5, tc_interval=1.0)
CONVERGENCE = olsr_convergence(0.5, 1.0, nodes=len(NODES), loss=0.0)


class Mesh:
    """Agents over links that change, without loss, and who was told that its view changed."""

    def __init__(self, pairs: Pairs, seed: int = 1) -> None:
        self.clock = Clock()
        self.pairs = pairs
        self.told: list[tuple[float, int]] = []
        self.sent: list[tuple[float, int, bytes]] = []
        self.agents = Agents(SPEC, seed, self.clock, NODES, self._send, self._changed)
        self.agents.start(pairs)

    def _send(self, node: int, data: bytes) -> None:
        self.sent.append((self.clock.now, node, data))
        for a, b in sorted(self.pairs):
            if a == node:
                self.clock.after(0.001, lambda b=b: self.agents.datagram_received(b, data, node))  # type: ignore[misc]  # b is bound now

    def _changed(self, node: int) -> None:
        self.told.append((self.clock.now, node))

    def change(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.agents.links_changed(pairs)

    def run(self, seconds: float = CONVERGENCE) -> dict[int, RouteView]:
        self.clock.run_until(self.clock.now + seconds)
        return {node: self.agents.view(node) for node in NODES}


def chain(*missing: tuple[int, int]) -> Pairs:
    links = graph_links(TopologySpec(kind="chain"), NODES)
    return links - {pair for a, b in missing for pair in ((a, b), (b, a))}


def truth(pairs: Pairs) -> dict[int, RouteView]:
    """What everyone would know if news took no time."""
    near = symmetric(NODES, pairs)
    relays = {node: select_mprs(node, {each: near[each] for each in near[node]}) for node in NODES}
    # Here everyone with relays or selectors names all neighbours in a TC; the others are known from nearby only.
    said = {node: near[node] for node in NODES if relays[node] or any(node in chosen for chosen in relays.values())}
    return {
        node: RouteView(
            node,
            near[node],
            shortest_paths(node, near),
            relays[node],
            frozenset(each for each in near[node] if node in relays[each]),
            links=links_reached(node, {**said, node: near[node]}, shortest_paths(node, near)),
            two_hop={each: near[each] - {node} for each in sorted(near[node])},
        )
        for node in NODES
    }


def test_agents_start_cold_and_learn() -> None:
    """At first nobody knows anybody; within the stated time every view is the truth, and stays it."""
    mesh = Mesh(chain())
    assert all(mesh.agents.view(node) == RouteView(node, two_hop={}, links={}) for node in NODES)
    assert mesh.run() == truth(chain())
    before = list(mesh.told)
    mesh.run(60)
    assert mesh.told == before


def test_agents_find_out_that_a_link_is_gone() -> None:
    """A broken link is believed in for a while; within the stated time everyone knows better."""
    mesh = Mesh(chain())
    mesh.run()
    mesh.change(chain((3, 4)))
    assert mesh.run(0.1)[1] == truth(chain())[1]
    assert mesh.run() == truth(chain((3, 4)))


def test_one_way_links_are_no_links() -> None:
    """A node that hears another which does not hear it is no neighbour of it."""
    one_way = chain() - {(4, 5)}
    assert Mesh(one_way).run() == truth(chain((4, 5)))


def test_whoever_is_told_has_a_new_view() -> None:
    """Nobody is told of a view that says the same as the one before."""
    seen: dict[int, RouteView] = {}

    class Watched(Mesh):
        def _changed(self, node: int) -> None:
            super()._changed(node)
            assert seen.get(node) != self.agents.view(node)
            seen[node] = self.agents.view(node)

    mesh = Watched(chain())
    mesh.run()
    mesh.change(chain((2, 3)))
    mesh.run()
    assert set(seen) == set(NODES)


def test_a_node_that_is_off_runs_no_agent() -> None:
    """It says nothing, hears nothing and knows nothing; switched on, it learns everything again."""
    mesh = Mesh(chain())
    mesh.run()
    mesh.agents.forget(3)
    off = mesh.clock.now
    assert mesh.agents.view(3) == RouteView(3)
    views = mesh.run()
    assert views[3] == RouteView(3)
    assert views[1] == truth(chain((2, 3), (3, 4)))[1]
    assert not [t for t, node, _ in mesh.sent if node == 3 and t > off]
    mesh.agents.wake(3)
    mesh.agents.wake(3)
    assert mesh.run() == truth(chain())


def test_chance_comes_from_the_seed() -> None:
    """The same seed gives the same packets at the same times, another seed others."""
    meshes = [Mesh(chain(), seed) for seed in (1, 1, 2)]
    for mesh in meshes:
        mesh.run()
    assert meshes[0].sent == meshes[1].sent
    assert meshes[0].sent != meshes[2].sent


# In a whole network

ROUTES = {"source": "olsr", "hello_interval": 0.5, "tc_interval": 1.0}
PUBLISHER = {"name": "pub", "node": 1, "publish": [{"subject": "s", "every": 1, "start": 15, "count": 5}]}
SUBSCRIBER = {"name": "sub", "node": 4, "subscribe": [{"subject": "s"}]}
DATA: dict[str, Any] = {"duration": 30, "nodes": 4, "topology": {"kind": "chain"}, "routes": ROUTES}


def run(**more: Any) -> tuple[World, Trace]:
    world = World(Scenario.from_dict({**DATA, **more}), 1, FakeCore)
    return world, world.run()


def test_packets_of_agents_are_on_the_air() -> None:
    """They are transmissions like others, on OLSR's port, in a class of their own; chapard's stay on theirs."""
    _, trace = run(client=[PUBLISHER, SUBSCRIBER])
    assert {row.port for row in trace.air} == {698, 7701}
    olsr = [row for row in trace.air if row.port == 698]
    assert trace.traffic.transmissions["routing"] == len(olsr)
    assert trace.traffic.bytes["routing"] == sum(row.bytes for row in olsr)
    assert {"HELLO", "TC"} < set(trace.traffic.frames)
    assert len(trace.delivered) == 5


def test_agents_hear_what_the_radio_lets_them() -> None:
    """On a link that loses everything one way no route is found, though the graph has it."""
    world, _ = run(radio={"links": [{"from": 2, "to": 3, "loss": 1, "both": False}]})
    assert world.view(1).routes.keys() == {2}
    assert world.view(4).routes.keys() == {3}
    clean, _ = run()
    assert clean.view(1).routes.keys() == {2, 3, 4}


def test_nodes_without_chapard_run_an_agent() -> None:
    """The agent is the mesh's routing: it runs where chapard is missing or has crashed."""
    world, _ = run(node=[{"index": 2, "chapard": False}], fault=[{"kind": "crash", "at": 5, "node": 3}])
    assert world.view(1).routes.keys() == {2, 3, 4}


def test_the_agent_of_a_node_that_is_switched_off_starts_anew() -> None:
    """While it is off there is no way past it; afterwards there is one again."""
    gone, _ = run(fault=[{"kind": "power_off", "at": 10, "node": 2}])
    assert gone.view(2) == RouteView(2)
    assert gone.view(1).routes.keys() == set()
    back, _ = run(fault=[{"kind": "power_off", "at": 5, "until": 12, "node": 2}])
    assert back.view(1).routes.keys() == {2, 3, 4}
    assert back.view(2).neighbours == {1, 3}


def test_changes_of_views_are_recorded() -> None:
    """The trace says when the agent of which node came to know something else; ideal routing leaves nothing there."""
    _, trace = run()
    assert {row.node for row in trace.reroutes} == {1, 2, 3, 4}
    assert max(row.t for row in trace.reroutes) < olsr_convergence(0.5, 1.0, nodes=4, loss=0)
    _, ideal = run(routes={"cold": True})
    assert ideal.reroutes == []


def test_replayed_datagrams_are_chapards() -> None:
    """A fault that replays what was on the air gives daemons nothing of the agents'."""
    world, trace = run(fault=[{"kind": "replay", "at": 10, "until": 20, "node": 2, "rate": 5}])
    assert any(row.port == 7701 for row in trace.air)
    assert len(world.ip.recent) == sum(len(row.receivers) for row in trace.air if row.port == 7701)
