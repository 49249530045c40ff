"""Corrupt tables on purpose: the fault from which self-stabilisation must recover.

A broker's tables are derived from what the homes say, so any of it may be wrong: records of homes that do not exist, of
versions too low or far too high, with filters nobody asked for, or none where there should be one; and memorised events
that are gone. On a tree it is what was received over each link and what was sent there, and which events its other end
has. What a home itself decides (its clients' filters, the events it published or took) is the truth and stays, and so
do delivered vectors: they record facts that nobody could tell from a lie.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from chapar.filter import Filter
from chapard.core.interests import COUNTER_BITS
from chapard.core.overlay.interest import Change, Interest, Topic

if TYPE_CHECKING:
    from random import Random

    from chapard.core.node import Node
    from chapard.core.overlay.broker import TreeBroker

SUBJECTS = ("alarm", "position", "ghost")
MOST_FORGERIES = 8
"""Records forged at a time, at most."""
SHARE_FORGOTTEN = 0.3
"""Share of homes, and of other nodes' events, that a broker loses."""


def scramble(node: Node, rng: Random, now: float) -> None:
    """Replace part of a node's tables with nonsense."""
    if node.tree is None:
        _scramble_homes(node, rng, now)
    else:
        _scramble_links(node.tree, rng, now)
    node.met.keep_only(lambda memory: memory.is_own or memory.is_taken or rng.random() >= SHARE_FORGOTTEN)


def _scramble_homes(node: Node, rng: Random, now: float) -> None:
    for home in list(node.fmt.homes()):
        if rng.random() < SHARE_FORGOTTEN:
            node.fmt.forget(home)
    for _ in range(rng.randint(1, MOST_FORGERIES)):
        home = rng.randrange(node.config.nodes)
        filters = [Filter(subject=subject) for subject in SUBJECTS if rng.random() < 0.5]
        record = node.fmt.get(home)
        version = _forged_version(node, rng) if record is None or rng.random() < 0.5 else record.version
        node.fmt.forget(home)
        node.fmt.merge(home, version, filters, rng.uniform(0, node.config.subscription_lease / 2), now)


def _scramble_links(tree: TreeBroker, rng: Random, now: float) -> None:
    router = tree.router
    for topic, link in product(Topic, router.links):
        for interest in router.plane(topic).table.received(link):
            if rng.random() < SHARE_FORGOTTEN:
                router.on_interest(link, topic, Change.UNSUBSCRIBE, interest, now)
        for ghost in _ghosts(rng):
            router.on_interest(link, topic, Change.REFRESH, ghost, now)
        forwarding = router.plane(topic).forwarding(link)
        for interest in [each for each in forwarding.sent if rng.random() < SHARE_FORGOTTEN]:
            if interest in forwarding:
                forwarding.lost(interest)
        for ghost in _ghosts(rng):
            if ghost not in forwarding:
                forwarding.gained(ghost)
        forwarding.settle()
    router.drain()  # nobody is told of it
    for link in router.links:
        tree.keeping.at(link, [memory.event_id for memory in tree.met if rng.random() < SHARE_FORGOTTEN])


def _ghosts(rng: Random) -> list[Interest]:
    """Interests of nobody."""
    return [Interest(Filter(subject=subject)) for subject in SUBJECTS if rng.random() < SHARE_FORGOTTEN]


def _forged_version(node: Node, rng: Random) -> int:
    """Too low, just about right, or absurdly high."""
    here = node.station.incarnation << COUNTER_BITS
    return rng.choice([rng.randrange(1, 2**20), here + rng.randrange(64), rng.randrange(2**57, 2**58)])
