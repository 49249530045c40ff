"""Routing daemons in the namespaces of a mesh, and what each of them says of the network.

A watcher is this file as a process beside a daemon: it reads the daemon through jsoninfo, with our own `olsrd` source,
and writes each new view as a line of JSON, so that a test knows at any time what every node knows.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar_olsr.olsrd import OlsrdSource
from chapar_olsr.source import Identity, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from e2e.netns import Mesh, Node

LOOK_AGAIN: Final = 0.1
"""Seconds until a daemon that does not answer is asked again."""
PLACE: Final = ("127.0.0.1", 9090)


class Seen(NamedTuple):
    """What one node knows; of each destination the next hop and the hops."""

    neighbours: frozenset[int] = frozenset()
    routes: Mapping[int, tuple[int, int]] = {}
    mprs: frozenset[int] = frozenset()
    selectors: frozenset[int] = frozenset()

    @property
    def hops(self) -> dict[int, int]:
        return {destination: hops for destination, (_, hops) in self.routes.items()}


class Watch:
    """The watchers of a mesh, one on each node."""

    def __init__(self, mesh: Mesh, address: Callable[[Node], str] = lambda node: node.address) -> None:
        self._logs = {}
        for node in mesh:
            log = node.folder / "views.json"
            with log.open("wb") as file:
                node.popen([sys.executable, __file__, str(node.index), address(node)], stdout=file)
            self._logs[node.index] = log

    def __getitem__(self, index: int) -> Seen:
        """What a node knows now."""
        whole = self._logs[index].read_text(encoding="utf-8").rpartition("\n")[0]
        if not whole:
            return Seen()
        found = json.loads(whole.rpartition("\n")[2])
        routes = {int(destination): tuple(route) for destination, route in found.pop("routes").items()}
        return Seen(routes=routes, **{key: frozenset(nodes) for key, nodes in found.items()})

    def hops(self) -> dict[int, dict[int, int]]:
        """From every node to every other that it has a route to."""
        return {index: self[index].hops for index in self._logs}

    def told(self) -> str:
        return f"this is what the nodes know: {self.hops()}"


def chain_hops(*nodes: int) -> dict[int, dict[int, int]]:
    """From every node of a chain to every other."""
    places = {node: place for place, node in enumerate(nodes)}
    return {a: {b: abs(places[a] - places[b]) for b in nodes if b != a} for a in nodes}


def chapar_olsrd(node: Node, *options: str) -> None:
    """Start our own daemon on a node."""
    node.popen([sys.executable, "-m", "chapar_olsr.cli", "-i", node.interface, *options])


def kernel_routes(node: Node, version: int = 4) -> dict[str, str]:
    """The next hop to each host that the kernel of a node has a route to; a neighbour may be its own."""
    listed: list[dict[str, Any]] = json.loads(node.run(["ip", f"-{version}", "-j", "route"]).stdout or "[]")
    return {each["dst"]: each.get("gateway", each["dst"]) for each in listed if "/" not in each["dst"]}


# The process


def index_of(address: str) -> int | None:
    """Node I has the address 10.66.0.I or fd66::I."""
    return int(ip_address(address)) & 0xFF


async def watch(index: int, address: str) -> None:
    identity = Identity(index, address, index_of)
    last = trouble = ""
    while True:
        try:
            async with aclosing(OlsrdSource(identity, *PLACE).views()) as views:
                async for view in views:
                    found = {
                        "neighbours": sorted(view.neighbours),
                        "routes": dict(view.routes),
                        "mprs": sorted(view.mprs or ()),
                        "selectors": sorted(view.selectors or ()),
                    }
                    line = json.dumps(found)
                    if line != last:
                        print(line, flush=True)
                    last = line
        except SourceError as error:
            if str(error) != trouble:  # shown with the node's logs if the test fails
                print(error, file=sys.stderr, flush=True)
            trouble = str(error)
            await asyncio.sleep(LOOK_AGAIN)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    asyncio.run(watch(int(sys.argv[1]), sys.argv[2]))
