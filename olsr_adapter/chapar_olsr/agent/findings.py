"""What an agent knows, as every source of routes states it: by address, before it becomes a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_olsr.source import Findings, Hop

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_olsr.agent.agent import Agent


def findings(agent: Agent, text: Callable[[int], str]) -> Findings:
    """What an agent knows, by address."""
    near = [each for each in agent.neighbours() if each.is_symmetric]
    reached = {link.remote for link in agent.links() if link.is_symmetric}
    # Routes follow neighbours a little later. What leads over one that is gone will lead elsewhere in a moment, and one
    # that is new may still have a route over another.
    routes = {node: route for node, route in agent.routes().items() if route.gateway in reached}
    direct = {route.destination: route.gateway for route in routes.values() if route.hops == 1}
    # A neighbour's interface is known from its HELLO, before its MID says that it has several.
    aliases = {direct[each.address]: each.address for each in near if each.address in direct}
    aliases |= agent.aliases()
    links = agent.topology()
    best: dict[int, float] = {}
    for link in agent.links():
        if link.is_symmetric:
            # Both ways; plain OLSR does not tell what the other end hears.
            quality = link.quality * (link.neighbour_quality or 1.0)
            best[link.remote] = max(best.get(link.remote, 0.0), quality)
    return Findings(
        neighbours=[text(each.address) for each in near],
        routes=[Hop(text(each.destination), text(each.gateway), each.hops) for each in routes.values()],
        mprs=[text(each.address) for each in near if each.is_mpr],
        selectors=[text(each.address) for each in near if each.is_selector],
        two_hop={text(each.address): [text(beyond) for beyond in each.two_hop] for each in near},
        links=None if links is None else {text(near): list(map(text, beyond)) for near, beyond in links.items()},
        quality={text(remote): quality for remote, quality in best.items()},
        aliases={text(alias): text(main) for alias, main in aliases.items() if alias != main},
    )
