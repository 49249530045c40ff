"""Where route views come from: the one module of the daemon that knows the route adapter.

A source runs as a task and hands every new view to the daemon; the daemon knows none of its ways. Whatever happens to
it, the daemon goes on: the last view stands for a while, and then the node serves alone. A file written by hand does
not become untrue because it cannot be read any more, so its last view stands for ever.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from chapar.endpoint import Endpoint
from chapar_olsr.agent.config import IPV4_BYTES, IPV6_BYTES, AgentConfig, ConfigError
from chapar_olsr.babeld import BabeldSource
from chapar_olsr.embedded import EmbeddedSource
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.interfaces import MANET_ROUTERS, OlsrInterface
from chapar_olsr.kernel import KernelSource
from chapar_olsr.live import OK, STARTING, LiveRoutes
from chapar_olsr.olsrd import OlsrdSource
from chapar_olsr.olsrd2 import Olsrd2Source
from chapar_olsr.source import Identity, SourceError
from chapar_olsr.static_file import StaticSource
from chapar_olsr.view import RouteView
from chapard.place import interface_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar_olsr.source import Source
    from chapard.interfaces import Interface
    from chapard.settings import Settings

__all__ = [
    "FAULT_KINDS",
    "OK",
    "STARTING",
    "NoRoutes",
    "RouteSource",
    "RoutesError",
    "fault_counts",
    "olsr_interfaces",
    "source_of",
]

OLSRD_SERVER: Final = "127.0.0.1:9090"
OLSRD2_SERVER: Final = "127.0.0.1:1980"
BABELD_SERVER: Final = "[::1]:33123"
"""Where each answers unless it was told otherwise."""
FAULT_KINDS: Final = tuple(map(str, Fault))
"""What can be wrong with what a source says."""


class RoutesError(Exception):
    """There is no source of routes to start with; the message is one line that says what to do."""


class RouteSource(Protocol):
    """Whatever supplies routes."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str:
        """`OK`, `STARTING`, or a sentence that says what is wrong."""
    @property
    def view(self) -> RouteView:
        """The last view; that of a node alone before the first."""
    @property
    def version(self) -> int:
        """How many views there were."""
    @property
    def faults(self) -> Faults: ...
    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        """Hand over the view there is and every later one that differs, until cancelled."""


class NoRoutes:
    """The source of a node that is alone."""

    name: Final = "none"
    state: Final = OK
    version: Final = 1

    def __init__(self, index: int) -> None:
        self.view = RouteView(index, version=self.version)
        self.faults = Faults()

    async def run(self, on_view: Callable[[RouteView], None]) -> None:
        on_view(self.view)
        await asyncio.get_running_loop().create_future()


def source_of(settings: Settings) -> RouteSource:
    """The source that the settings name. Raises RoutesError, or StartError if an interface is not as it should be."""
    routes, index = settings.routes, settings.index
    if routes.source == "none":
        return NoRoutes(index)
    if routes.source == "static":
        source = StaticSource(routes.file, index=index, nodes=settings.protocol.nodes)
        try:
            source.load()
        except SourceError as error:
            raise RoutesError(str(error)) from None
        return LiveRoutes(source, index=index, max_age=None)
    return LiveRoutes(_live_source(settings), index=index, max_age=routes.max_age)


def fault_counts(source: RouteSource) -> dict[str, int]:
    """How often each kind of fault was met; those that never were are there too."""
    return {str(kind): source.faults.counts[kind] for kind in Fault}


def _live_source(settings: Settings) -> Source:
    kind, server = settings.routes.source, settings.routes.server
    identity = Identity(settings.index, settings.node.address, settings.addresses().index_of)
    match kind:
        case "olsrd":
            return OlsrdSource(identity, *Endpoint.parse(server or OLSRD_SERVER))
        case "olsrd2":
            return Olsrd2Source(identity, *Endpoint.parse(server or OLSRD2_SERVER))
        case "babeld":
            return BabeldSource(identity, server or BABELD_SERVER)
        case "kernel":
            return KernelSource(identity)
        case _:
            assert kind == "embedded", "the settings have been checked"
            return _embedded(settings, identity)


def _embedded(settings: Settings, identity: Identity) -> Source:
    olsr, address = settings.olsr, settings.node.address
    try:
        config = AgentConfig(
            address_bytes=IPV6_BYTES if ":" in address else IPV4_BYTES,
            hello_interval=olsr.hello_interval,
            tc_interval=olsr.tc_interval,
            mid_interval=olsr.tc_interval,
            willingness=olsr.willingness,
            tc_redundancy=olsr.tc_redundancy,
            hysteresis=olsr.hysteresis,
            link_quality=olsr.link_quality,
        )
    except ConfigError as error:
        raise RoutesError(f"olsr.{error}") from None
    addresses = settings.addresses()
    ours = [interface_of(name, addresses, settings.index, address) for name in settings.mesh.interfaces]
    interfaces = olsr_interfaces(ours, address)
    return EmbeddedSource(identity, config, interfaces, port=olsr.port, install_routes=olsr.install_routes)


def olsr_interfaces(interfaces: Iterable[Interface], address: str) -> list[OlsrInterface]:
    """The interfaces as OLSR takes them: that with the node's address first, as it is the main address there too.

    Raises RoutesError.
    """
    found = []
    for each in interfaces:
        own = str(each.address.ip)
        if (":" in own) is not (":" in address):
            raise RoutesError(f"mesh.interfaces: {each.name} has no address of {address}'s family; OLSR speaks one")
        found.append(OlsrInterface(each.name, own, MANET_ROUTERS if ":" in own else each.broadcast))
    return sorted(found, key=lambda each: each.address != address)
