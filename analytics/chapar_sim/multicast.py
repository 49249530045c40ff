"""Routers on one multicast network (van Vliet, chapter 4), where a message costs one however many hear it.

The network itself is broker 0, which all routers hang on and which repeats what one of them sends to the others: what
is sent to it is what is on the network, and all that counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.broker_tree import BrokerTree
from chapar_sim.tree_shapes import tree_of
from chapar_sim.tree_traffic import Crowd, Source

if TYPE_CHECKING:
    from chapar_sim.broker_tree import Message
    from chapar_sim.tree_shapes import Tree

NETWORK: Final = 0


class Clients(NamedTuple):
    """What all clients do. Each of a router's may subscribe to each client of the network, itself included (4.2)."""

    lam: float
    """How often one subscribes to another when it does not."""
    mu: float
    """How often it ceases to."""
    omega: float
    """Notifications, while it publishes."""
    gamma: float
    nu: float
    """How often it begins to publish, and ceases to; 0 is never ceasing."""


class MulticastTree(BrokerTree):
    """Counts what is on the network."""

    def _count(self, message: Message) -> None:
        if message.receiver == NETWORK:
            super()._count(message)


def multicast(routers: int, clients: int, each: Clients) -> tuple[Tree, tuple[Source, ...], tuple[Crowd, ...]]:
    """The network with so many clients at each router; each has a subject of its own."""
    shape = tree_of((routers,))
    sources: list[Source] = []
    crowds: list[Crowd] = []
    for home in shape.leaves:
        for place in range(clients):
            subject = f"presence.{home}.{place}"
            notice, wanted = Event(subject=subject), Filter(subject=subject)
            sources.append(Source(home, each.omega, each.gamma, each.nu, (notice,), wanted))
            crowds += [Crowd(at, each.lam, each.mu, clients, wanted) for at in shape.leaves]
    return shape, tuple(sources), tuple(crowds)
