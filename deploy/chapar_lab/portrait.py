"""The picture of a run that is up, or has just ended: its links, roles, clients, and the ways that events take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from chapar.filter import Filter
from chapar_lab.drawing import BROKER, PLAIN, REGULAR, Picture, Way, hops_of
from chapar_lab.layout import layout
from chapar_sim.workload import cast_of

MOST_WAYS: Final = 6
"""Ways in one picture; more cannot be told apart."""

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chapar_lab.lab import Lab
    from chapar_sim.clientspec import PublishSpec
    from chapar_sim.workload import Role


async def portrait(lab: Lab) -> Picture:
    """As things are now."""
    scenario, links = lab.scenario, lab.ground.links.pairs
    hosts = [node for node in lab.nodes.values() if node.daemon is not None]
    statuses = await asyncio.gather(*(node.status() for node in hosts))
    pages = await asyncio.gather(*(node.status("routes") for node in hosts))
    roles = dict.fromkeys(lab.nodes, PLAIN)
    for node, status in zip(hosts, statuses, strict=True):
        if status is not None:
            roles[node.index] = BROKER if status["role"]["role"] == "broker" else REGULAR
    next_hops = {
        node.index: {each["destination"]: each["next_hop"] for each in page["routes"]}
        for node, page in zip(hosts, pages, strict=True)
        if page is not None
    }
    cast = cast_of(scenario, lab.seed)
    homes: dict[int, list[str]] = {}
    for role in cast:
        homes.setdefault(role.home, []).append(role.name)
    positions = lab.ground.positions
    return Picture(
        title=f"{scenario.name}: {scenario.about}" if scenario.about else scenario.name,
        places=positions if positions is not None else layout(scenario.topology, list(lab.nodes), links),
        links=links,
        roles=roles,
        clients={node: tuple(names) for node, names in homes.items()},
        ways=tuple(_ways(cast, next_hops)),
    )


def _ways(cast: Sequence[Role], next_hops: Mapping[int, Mapping[int, int]]) -> list[Way]:
    """Of each client that publishes, to the homes of those that ask for what it publishes."""
    found = []
    for publisher in cast:
        targets = {
            reader.home
            for stream in publisher.spec.publish
            for reader in cast
            if reader.home != publisher.home
            and any(_filter_of(stream).overlaps(wish.filter) for wish in reader.spec.subscribe)
            and (not stream.to or reader.home in stream.to)
        }
        if targets and publisher.home in next_hops:
            hops = tuple(hops_of(publisher.home, targets, next_hops))
            found.append(Way(publisher=publisher.name, hops=hops))
    return found[:MOST_WAYS]




def _filter_of(stream: PublishSpec) -> Filter:
    """What all its events have in common."""
    return Filter(subject=stream.subject, type=stream.type, group=stream.group)
