"""What the sources `babeld` and `kernel` say in a namespace, under the supervision that the daemon gives them.

A watcher is this file as a process on a node: it keeps one source live, on the daemon's own event loop, and writes its
state and its view as a line of JSON whenever one of them has changed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import uvloop

from chapar_olsr.babeld import BabeldSource
from chapar_olsr.kernel import KernelSource
from chapar_olsr.live import LiveRoutes
from chapar_olsr.source import Identity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar_olsr.source import Source
    from e2e.netns import Node

LOOK_EVERY: Final = 0.05
"""Seconds between two looks at the state."""
PREFIXES: Final = (ip_network("10.66.0.0/24"), ip_network("fd66::/64"))


class Seen(NamedTuple):
    """What one node knows; of each destination the next hop and the hops."""

    state: str = ""
    neighbours: frozenset[int] = frozenset()
    routes: Mapping[int, tuple[int, int]] = {}
    knows_relays: bool = False

    @property
    def hops(self) -> dict[int, int]:
        return {destination: hops for destination, (_, hops) in self.routes.items()}

    @property
    def next_hops(self) -> dict[int, int]:
        return {destination: next_hop for destination, (next_hop, _) in self.routes.items()}


class Watcher:
    """One source on one node."""

    def __init__(self, node: Node, source: str, *, server: str = "-", max_age: float = 15.0, version: int = 4) -> None:
        self._log = node.folder / f"{source}.json"
        address = node.address if version == 4 else node.address6
        with self._log.open("wb") as file:
            arguments = [source, str(node.index), address, server, str(max_age)]
            self.process = node.popen([sys.executable, __file__, *arguments], stdout=file)

    def seen(self) -> Seen:
        """What it says now."""
        history = self.history()
        return history[-1] if history else Seen()

    def history(self) -> list[Seen]:
        """All it said, in order."""
        whole = self._log.read_text(encoding="utf-8").rpartition("\n")[0]
        return [_read(json.loads(line)) for line in whole.splitlines()]


def _read(found: dict[str, Any]) -> Seen:
    routes = {int(destination): tuple(route) for destination, route in found["routes"].items()}
    return Seen(found["state"], frozenset(found["neighbours"]), routes, found["knows_relays"])


def told(watchers: Mapping[int, Watcher]) -> Callable[[], str]:
    """For a test that fails: what the nodes know."""
    return lambda: "\n".join(f"node {index}: {watcher.seen()}" for index, watcher in watchers.items())


# The process


def index_of(address: str) -> int | None:
    """Node I has the address 10.66.0.I or fd66::I."""
    known = ip_address(address)
    return int(known) & 0xFF if any(known in prefix for prefix in PREFIXES) else None


def source_of(kind: str, index: int, address: str, server: str) -> Source:
    identity = Identity(index, address, index_of)
    return BabeldSource(identity, server) if kind == "babeld" else KernelSource(identity)


async def watch(kind: str, index: int, address: str, server: str, max_age: float) -> None:
    live = LiveRoutes(source_of(kind, index, address, server), index=index, max_age=max_age)
    running = asyncio.ensure_future(live.run(lambda _: None))
    last = ""
    while not running.done():
        view = live.view
        found = {
            "state": live.state,
            "neighbours": sorted(view.neighbours),
            "routes": dict(view.routes),
            "knows_relays": live.version > 0 and view.mprs is not None,
        }
        line = json.dumps(found)
        if line != last:
            print(line, flush=True)
        last = line
        await asyncio.sleep(LOOK_EVERY)
    running.result()


if __name__ == "__main__":
    uvloop.run(watch(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5])))
