"""One round on a broker tree where nothing changes (van Vliet, 2.2): subscribers come, one notification goes to all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_sim.broker_tree import BrokerTree
from chapar_sim.tree_traffic import NOTICE, WANTED, rates_of
from chapard.core.overlay.interest import Subscriber
from chapard.core.overlay.router import RouterConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar_sim.tree_shapes import Tree
    from chapar_sim.tree_traffic import Rates
    from chapard.core.overlay.router import Algorithm

_BRIEFLY: Final = 1e-3
_FOR_EVER: Final = 1e6
"""A round is over long before the first refresh."""


class Rounds:
    """A tree with its publisher at the root, which everybody knows (2.1), for one round after the other."""

    def __init__(self, shape: Tree, algorithm: Algorithm) -> None:
        config = RouterConfig(
            nodes=shape.nodes, algorithm=algorithm, merge_delay=_BRIEFLY, refresh_period=_FOR_EVER, seen_limit=1
        )
        self.tree = BrokerTree(shape.links, config, publishers=[0])

    def run(self, at: Iterable[int]) -> Rates:
        """The messages of subscribing at these brokers and of one notification; afterwards nobody subscribes."""
        tree, clients = self.tree, [Subscriber(broker, "s") for broker in at]
        tree.counts.clear()
        tree.delivered.clear()
        for client in clients:
            tree.subscribe(client.home, client, WANTED)
        self._gather()
        tree.publish(0, NOTICE)
        messages = rates_of(tree.counts, 1)
        for client in clients:
            tree.unsubscribe(client.home, client, WANTED)
        self._gather()
        return messages

    def _gather(self) -> None:
        """Let merging send what it has gathered, on all levels of the tree."""
        self.tree.run_until(self.tree.now + _BRIEFLY * (len(self.tree.routers) + 1))
