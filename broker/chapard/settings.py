"""Everything an operator can set, checked: the sections of `chapard.toml` as frozen dataclasses.

The defaults are good enough to start one node without any file. `settings_file` reads them from TOML, and where the
routes are those of a real mesh, puts what the machine has (`place`) where nothing was written; the relations between
sections are checked here, so that settings made in code are held to the same rules.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from chapar.endpoint import Endpoint
from chapard.addresses import AddressError, Addresses
from chapard.core.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SYSTEM_STATE_DIR: Final = Path("/var/lib/chapar")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_FORMATS: Final = ("text", "json")
WORLDS: Final = ("daemon", "lab")
"""Where daemons run that record."""
LIVE_SOURCES: Final = ("olsrd", "olsrd2", "babeld", "kernel", "embedded")
"""Sources that tell of a mesh that is there: the node then has the addresses of its machine, not loopback's."""
ROUTE_SOURCES: Final = ("none", "static", *LIVE_SOURCES)
LOOPBACK_ADDRESS: Final = "127.0.0.1"
LOOPBACK_PREFIXES: Final = ("127.0.0.0/24",)
SHORTEST_MAX_AGE: Final = 6.0
"""Seconds: a source that is well repeats its view every 5 s at least, and must not be given up in between."""
SOCKET_BUFFER: Final = 4 * 1024 * 1024
"""Bytes: the kernel's own default of 92 datagrams of a kilobyte loses some in a burst, this holds thousands."""
SHORTEST_ROTATION: Final = 10.0
"""Seconds: a file of Parquet has a kilobyte that is not rows."""
FEWEST_SPOOLS: Final = 16
"""In the budget: one is being written of each dataset, and something should be kept."""
SMALLEST_SPOOL: Final = 64 * 1024
LIVE_SECTIONS: Final = ("log", "routes", "olsr")
"""What a reload changes in a running daemon."""
PLACE_KEYS: Final = frozenset(
    {"node.index", "node.address", "node.prefixes", "node.map", "mesh.interfaces", "protocol.nodes"}
)
"""What a source of routes must know of its node. If any of it needs a restart, so does a change of the source."""


PARTS: Final = ("routing", "overlay")
"""Parts of the core's configuration that are sections for the operator."""


class SettingsError(ValueError):
    """Settings that cannot work: one line that names the key, what was given and what is wanted."""


CLIENT_ENDPOINT: Final = Endpoint("127.0.0.1", 7700)
HTTP_ENDPOINT: Final = Endpoint("127.0.0.1", 7780)


def default_state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where state is kept: what systemd prepared, the system's place for root, the user's own place otherwise."""
    prepared = environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if prepared:
        return Path(prepared)
    if os.geteuid() == 0:
        return SYSTEM_STATE_DIR
    given = environ.get("XDG_STATE_HOME", "")
    folder = Path(given if given.startswith("/") else os.path.expanduser("~/.local/state"))
    return folder / "chapar" if folder.is_absolute() else SYSTEM_STATE_DIR


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """Who this node is, and where it keeps its state."""

    index: int | None = None
    """None: found from the address. `Settings.index` is the one that counts."""
    address: str = LOOPBACK_ADDRESS
    prefixes: tuple[str, ...] = LOOPBACK_PREFIXES
    map: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Address to index, before the prefixes."""
    state_dir: Path = field(default_factory=default_state_dir)
    durable: bool = True
    """False: no disk at all; a restart begins with nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshSettings:
    """The sockets between nodes."""

    port: int = 7701
    interfaces: tuple[str, ...] = ()
    """None named: one socket on the node's address, and a broadcast is one datagram to each neighbour."""
    receive_buffer: int = SOCKET_BUFFER
    send_buffer: int = SOCKET_BUFFER


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsSettings:
    """The port of the applications on this node."""

    listen: Endpoint = CLIENT_ENDPOINT
    receive_buffer: int = SOCKET_BUFFER
    send_buffer: int = SOCKET_BUFFER


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Metrics, status and health."""

    listen: Endpoint | None = HTTP_ENDPOINT
    """None: off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    level: str = "info"
    format: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutesSettings:
    """Where the view of the network comes from."""

    source: str = "none"
    """One of ROUTE_SOURCES. none: this node is alone; static: from `file`, read again when it changes."""
    file: Path = Path("routes.toml")
    server: str = ""
    """Where the routing daemon answers: host:port, for babeld also the path of a socket; empty: its usual place."""
    max_age: float = 15.0
    """Seconds for which the last view stands once its source is silent: OLSR's own hold time (RFC 3626, 18.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlsrSettings:
    """The embedded OLSR agent, which speaks on the mesh's interfaces. Times are those of RFC 3626."""

    port: int = 698
    hello_interval: float = 2.0
    tc_interval: float = 5.0
    willingness: int = 3
    tc_redundancy: int = 1
    hysteresis: bool = False
    link_quality: bool = False
    install_routes: bool = True
    """Where the kernel refuses, the agent says so once and goes on: its neighbours are reached all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """What this node writes down of itself, for `chapar-audit`."""

    enabled: bool = False
    dir: Path | None = None
    """None: `record` in the state directory. `Settings.record_dir` is the one that counts."""
    run: str = "field"
    """What is recorded by all nodes under one name is audited together."""
    world: str = "daemon"
    """What kind of run it is. A lab says so here."""
    frames: bool = True
    """Every frame sent and received too, which is most of what there is."""
    compact: bool = True
    """False: spools stay as they are, to be compacted elsewhere."""
    rotate_bytes: int = 4 * 1024 * 1024
    """Of a spool: what is compacted at once, in memory."""
    rotate_after: float = 900.0
    """Seconds after which a spool is compacted although it is not full."""
    budget_bytes: int = 256 * 1024 * 1024
    """Of everything that is kept; beyond it the oldest goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of them. Making one checks the relations between its sections."""

    node: NodeSettings = field(default_factory=NodeSettings)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    clients: ClientsSettings = field(default_factory=ClientsSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    log: LogSettings = field(default_factory=LogSettings)
    routes: RoutesSettings = field(default_factory=RoutesSettings)
    olsr: OlsrSettings = field(default_factory=OlsrSettings)
    record: RecordSettings = field(default_factory=RecordSettings)
    protocol: Config = field(default_factory=lambda: Config(record=False))
    """What is recorded of it is for `record` to say."""

    def __post_init__(self) -> None:
        nodes = self.protocol.nodes
        indexes = {"node.index": self.node.index} | {f'node.map."{key}"': each for key, each in self.node.map.items()}
        for key, index in indexes.items():
            if index is not None and not 0 <= index < nodes:
                raise SettingsError(f"{key}: want 0 to {nodes - 1} (protocol.nodes is {nodes}), got {index}")
        for name, group in self.protocol.groups.items():
            for index in group.nodes:
                if not 0 <= index < nodes:
                    raise SettingsError(f"groups.{name}.nodes: want 0 to {nodes - 1}, got {index}")
        if self.mesh.port and self.clients.listen == (self.node.address, self.mesh.port):
            raise SettingsError(f"clients.listen: {self.clients.listen} is the mesh's own port; take another")
        self._check_routes()
        self._check_record()
        _ = self.index

    def _check_routes(self) -> None:
        routes = self.routes
        if routes.max_age < SHORTEST_MAX_AGE:
            raise SettingsError(f"routes.max_age: want at least {SHORTEST_MAX_AGE:g} s, got {routes.max_age:g}")
        if routes.server.startswith("/") and routes.source in ("olsrd", "olsrd2"):
            raise SettingsError(f'routes.server: {routes.source} is asked at "host:port", got "{routes.server}"')
        if routes.source == "embedded" and not self.mesh.interfaces:
            raise SettingsError('mesh.interfaces: name those that OLSR shall speak on, for example ["wlan0"]')

    def _check_record(self) -> None:
        record, shortest = self.record, SHORTEST_ROTATION
        if record.rotate_after < shortest:
            raise SettingsError(f"record.rotate_after: want at least {shortest:g} s, got {record.rotate_after:g}")
        least = FEWEST_SPOOLS * record.rotate_bytes
        if record.budget_bytes < least:
            raise SettingsError(
                f"record.budget_bytes: want at least {FEWEST_SPOOLS} times record.rotate_bytes, {least}, "
                f"as each dataset has a spool: got {record.budget_bytes}"
            )

    @property
    def record_dir(self) -> Path:
        """Where records are kept."""
        return self.record.dir if self.record.dir is not None else self.node.state_dir / "record"

    @property
    def index(self) -> int:
        """This node's bit in every node vector."""
        return self.node.index if self.node.index is not None else self._derived_index()

    def addresses(self) -> Addresses:
        """Index and address of every node, this one as configured."""
        return self._addresses({**self.node.map, self.node.address: self.index})

    def _derived_index(self) -> int:
        addresses = self._addresses(self.node.map)
        index = addresses.index_of(self.node.address)
        if index is None:
            raise SettingsError(
                f"node.address: {self.node.address} is no host below {addresses.nodes} (protocol.nodes) in "
                f"{addresses.where()}: set node.index, or put its prefix into node.prefixes"
            )
        return index

    def _addresses(self, mapping: Mapping[str, int]) -> Addresses:
        try:
            return Addresses(self.node.prefixes, mapping, self.protocol.nodes)
        except AddressError as error:
            raise SettingsError(f"node: {error}") from None


def live_changes(old: Settings, new: Settings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys in which two settings differ: those that a running daemon takes over, and those that need a restart."""
    before, after = dict(_flat(old)), dict(_flat(new))
    changed = [key for key in after if before[key] != after[key]]
    sections = LIVE_SECTIONS if PLACE_KEYS.isdisjoint(changed) else ("log",)
    live = tuple(key for key in changed if key.partition(".")[0] in sections)
    return live, tuple(key for key in changed if key not in live)


def _flat(settings: Settings) -> Iterator[tuple[str, object]]:
    """Every value with the name an operator knows it by."""
    for section in fields(settings):
        values = getattr(settings, section.name)
        assert is_dataclass(values), "each section is a dataclass"
        for each in fields(values):
            item = getattr(values, each.name)
            if is_dataclass(item) and each.name in PARTS:
                yield from ((f"{each.name}.{part.name}", getattr(item, part.name)) for part in fields(item))
            else:
                yield "groups" if each.name == "groups" else f"{section.name}.{each.name}", item
