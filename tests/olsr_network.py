"""OLSR agents joined by a fake medium in virtual time: who hears whom is a set of pairs that a test may change."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING

from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.config import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DELAY = 0.001
"""Seconds a packet is on its way."""


class Network:
    """Nodes by address, each with one interface, and the packets on their way between them."""

    def __init__(
        self,
        nodes: Iterable[int],
        edges: Iterable[tuple[int, int]],
        config: AgentConfig | None = None,
        seed: int = 1,
        *,
        one_way: Iterable[tuple[int, int]] = (),
        willingness: Mapping[int, int] | None = None,
    ) -> None:
        self.now = 0.0
        self.loss = 0.0
        self.links: set[frozenset[int]] = {frozenset(edge) for edge in edges}
        self.one_way = frozenset(one_way)
        """Extra links from the first node to the second only."""
        self.sent: list[tuple[float, int, bytes]] = []
        """Every packet: when, by whom, what."""
        self.agents: dict[int, Agent] = {}
        self._config = config or AgentConfig()
        self._willingness = willingness or {}
        """Of nodes whose willingness is not that of the configuration."""
        self._rng = Random(seed)
        self._seed = seed
        self._queue: list[tuple[float, int, int, int, bytes]] = []
        """Time, order, receiver, sender (0: its own timer), bytes."""
        self._order = 0
        for node in nodes:
            self.start(node)

    def start(self, node: int) -> None:
        """Start a node, or start it anew."""
        config = replace(self._config, willingness=self._willingness.get(node, self._config.willingness))
        self.agents[node] = Agent(config, [node], Random(f"{self._seed}/{node}/{self.now}"), self.now)
        self._carry(node)

    def cut(self, a: int, b: int) -> None:
        self.links.discard(frozenset((a, b)))

    def heal(self, a: int, b: int) -> None:
        self.links.add(frozenset((a, b)))

    def run(self, until: float) -> None:
        """Let everything happen up to this time."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, node, sender, data = heappop(self._queue)
            agent = self.agents[node]
            if sender:
                agent.datagram_received(data, sender, node, self.now)
            elif agent.next_deadline() > self.now:  # a timer that was set anew
                continue
            else:
                agent.tick(self.now)
                assert agent.next_deadline() > self.now, "time advances"
            self._carry(node)
        self.now = until

    def run_for(self, seconds: float) -> None:
        self.run(self.now + seconds)

    def mprs(self, node: int) -> set[int]:
        return {each.address for each in self.agents[node].neighbours() if each.is_mpr}

    def hops(self, node: int) -> dict[int, int]:
        """Hop count to every destination."""
        return {destination: route.hops for destination, route in self.agents[node].routes().items()}

    def _carry(self, node: int) -> None:
        for send in self.agents[node].drain(self.now):
            self.sent.append((self.now, node, send.data))
            for other in sorted(self.agents):
                if self._is_heard(node, other) and self._rng.random() >= self.loss:
                    self._put(self.now + DELAY, other, node, send.data)
        self._put(self.agents[node].next_deadline(), node, 0, b"")

    def _is_heard(self, sender: int, node: int) -> bool:
        return frozenset((sender, node)) in self.links or (sender, node) in self.one_way

    def _put(self, time: float, node: int, sender: int, data: bytes) -> None:
        self._order += 1
        heappush(self._queue, (time, self._order, node, sender, data))


def chain(length: int) -> list[tuple[int, int]]:
    return [(node, node + 1) for node in range(1, length)]
