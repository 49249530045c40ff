"""The OLSR agent: what a recalculation of all routes takes, and how much of a core a busy neighbourhood costs."""

from __future__ import annotations

import time
from random import Random
from statistics import median

from benchmarks.figure import Figure
from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.messages import Body, Hello, LinkGroup, LinkType, Message, NeighbourType, Packet, Tc
from chapar_olsr.agent.timecode import code_of
from olsr_network import Network

NODES = 200
DEGREE = 10
MOST_MS = 20.0
RECALCULATIONS = 25

NEIGHBOURS = 25
NETWORK = 100
FORMING = 30.0
MEASURED = 30.0
"""Virtual seconds for a network to form, and then under measurement."""
MOST_PERCENT = 2.0

LONG = 3000.0
"""Seconds for which what is said once is believed."""


def measure() -> list[Figure]:
    milliseconds = recalculation()
    percent = busy_share()
    return [
        Figure(
            f"OLSR routes to {NODES} nodes, one TC to all routes",
            milliseconds,
            "ms",
            f"< {MOST_MS:g}",
            milliseconds < MOST_MS,
        ),
        Figure(
            f"OLSR agent with {NEIGHBOURS} neighbours among {NETWORK} nodes",
            percent,
            "% of a core",
            f"< {MOST_PERCENT:g}",
            percent < MOST_PERCENT,
        ),
    ]


# Recalculation


def recalculation() -> float:
    """Milliseconds from a TC that changes the network to the new routes of an agent that knows all links."""
    config = AgentConfig(hysteresis=False)
    adjacency = _ring(range(1, NODES + 1), DEGREE)
    agent = Agent(config, [1], Random(1), 0.0)
    peers = _Peers(agent)
    for neighbour in sorted(adjacency[1]):
        peers.hello(neighbour, adjacency[neighbour])
    for node in sorted(adjacency):
        if node != 1:
            peers.tc(node, adjacency[node])
    took = []
    for number in range(RECALCULATIONS):
        # A link in the middle of the network comes and goes.
        changed = adjacency[100] | {150} if number % 2 == 0 else adjacency[100]
        before = agent.version
        started = time.process_time()
        peers.tc(100, changed)
        took.append(1000 * (time.process_time() - started))
        assert agent.version > before, "routes were calculated"
        assert len(agent.routes()) == NODES - 1
    return median(took)


class _Peers:
    """What others say to one agent, a second apart."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._codec = Codec(4)
        self._number = 0
        self._relay = 2
        """A neighbour, which passes on what the others say."""

    def hello(self, neighbour: int, near: set[int]) -> None:
        group = LinkGroup(LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, tuple(sorted(near)))
        self._say(neighbour, neighbour, Hello(code_of(2.0), 3, (group,)), hops=0)

    def tc(self, node: int, near: set[int]) -> None:
        self._say(self._relay, node, Tc(self._number + 1, tuple(sorted(near))), hops=1)

    def _say(self, sender: int, originator: int, body: Body, hops: int) -> None:
        self._number += 1
        kind, data = self._codec.encode_body(body)
        message = Message(kind, code_of(LONG), originator, 10, hops, self._number, data)
        packet = self._codec.encode(Packet(self._number, (message,)))
        now = float(self._number)
        self._agent.datagram_received(packet, sender, 1, now)
        self._agent.drain(now)


# A busy neighbourhood


def busy_share() -> float:
    """Per cent of a core that an agent takes, hearing what its neighbours really say at the usual intervals.

    The network runs once, all of it; then an agent of its own hears again what the node in the middle heard.
    """
    network = Network(range(1, NETWORK + 1), _edges())
    network.run(FORMING + MEASURED)
    near = {each for link in network.links if 1 in link for each in link} - {1}
    assert len(near) == NEIGHBOURS
    agent = Agent(AgentConfig(), [1], Random(2), 0.0)
    heard = [(at, sender, data) for at, sender, data in network.sent if sender in near]
    _hear(agent, [each for each in heard if each[0] < FORMING], FORMING)
    assert len(agent.routes()) == NETWORK - 1
    started = time.process_time()
    _hear(agent, [each for each in heard if each[0] >= FORMING], FORMING + MEASURED)
    took = time.process_time() - started
    assert len(agent.routes()) == NETWORK - 1
    return 100 * took / MEASURED


def _hear(agent: Agent, heard: list[tuple[float, int, bytes]], until: float) -> None:
    """Hear packets at their times, and do in between what is due."""
    for at, sender, data in [*heard, (until, 0, b"")]:
        while agent.next_deadline() <= at:
            now = agent.next_deadline()
            agent.tick(now)
            agent.drain(now)
        if sender:
            agent.datagram_received(data, sender, 1, at)
            agent.drain(at)


def _edges() -> list[tuple[int, int]]:
    """One node in the middle; its neighbours around it, near to some of each other; the others in a circle outside."""
    inner = range(2, 2 + NEIGHBOURS)
    outer = range(2 + NEIGHBOURS, NETWORK + 1)
    edges = [(1, node) for node in inner]
    edges += [(a, b) for a, near in _ring(inner, 6).items() for b in near if a < b]
    edges += [(a, b) for a, near in _ring(outer, 4).items() for b in near if a < b]
    for place, node in enumerate(outer):
        beside = place * NEIGHBOURS // len(outer)
        edges += [(inner[beside], node), (inner[(beside + 1) % NEIGHBOURS], node)]
    return edges


def _ring(nodes: range, degree: int) -> dict[int, set[int]]:
    """Nodes in a circle, each near to those on either side of it."""
    steps = range(1, degree // 2 + 1)
    return {
        node: {nodes[(place + step * way) % len(nodes)] for step in steps for way in (1, -1)}
        for place, node in enumerate(nodes)
    }
