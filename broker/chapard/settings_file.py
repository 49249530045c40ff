"""Reading settings: a TOML file, then what the command line sets on top. Strict: what is not known is an error.

Whatever is wrong comes out as one `SettingsError` line that begins with the key and says what is wanted. File names in
the file are relative to the file, those on the command line to the working directory.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chapard import settings_value as value
from chapard.core.config import Config, ConfigError, Group, Mode, Overlay, Routing
from chapard.core.overlay.plan import OverlayKind
from chapard.core.overlay.router import Algorithm
from chapard.place import Written, find_place
from chapard.settings import (
    LIVE_SOURCES,
    LOG_FORMATS,
    LOG_LEVELS,
    ROUTE_SOURCES,
    SMALLEST_SPOOL,
    WORLDS,
    ClientsSettings,
    HttpSettings,
    LogSettings,
    MeshSettings,
    NodeSettings,
    OlsrSettings,
    RecordSettings,
    RoutesSettings,
    Settings,
    SettingsError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chapard.settings_value import Reader

FILE_VARIABLE: Final = "CHAPARD_CONFIG"
SYSTEM_FILE: Final = Path("/etc/chapar/chapard.toml")
LARGEST_FILE: Final = 1024 * 1024
"""Bytes: nobody writes more by hand; it may be a device or a wrong file."""
MOST_NAMED: Final = 12
"""Keys that fit into one line of advice."""

_BUFFER: Final = partial(value.whole, low=4096, high=2**30)
_PORT: Final = partial(value.whole, low=0, high=65535)
_NODE_INDEX: Final = partial(value.whole, low=0, high=65534)
_SECTIONS: Final[Mapping[str, tuple[Any, Mapping[str, Reader]]]] = MappingProxyType(
    {
        "node": (
            NodeSettings,
            {
                "index": _NODE_INDEX,
                "address": value.address,
                "prefixes": partial(value.items, read=value.prefix, what="prefixes"),
                "map": partial(value.by_address, read=_NODE_INDEX),
                "state_dir": value.path,
                "durable": value.flag,
            },
        ),
        "mesh": (
            MeshSettings,
            {
                "port": _PORT,
                "interfaces": partial(value.items, read=value.interface, what="interface names"),
                "receive_buffer": _BUFFER,
                "send_buffer": _BUFFER,
            },
        ),
        "clients": (
            ClientsSettings,
            {"listen": value.endpoint, "receive_buffer": _BUFFER, "send_buffer": _BUFFER},
        ),
        "http": (HttpSettings, {"listen": value.optional_endpoint}),
        "log": (
            LogSettings,
            {"level": partial(value.choice, options=LOG_LEVELS), "format": partial(value.choice, options=LOG_FORMATS)},
        ),
        "routes": (
            RoutesSettings,
            {
                "source": partial(value.choice, options=ROUTE_SOURCES),
                "file": value.path,
                "server": value.server,
                "max_age": value.number,
            },
        ),
        "olsr": (
            OlsrSettings,
            {
                "port": partial(value.whole, low=1, high=65535),
                "hello_interval": value.number,
                "tc_interval": value.number,
                "willingness": partial(value.whole, low=0, high=7),
                "tc_redundancy": partial(value.whole, low=0, high=2),
                "hysteresis": value.flag,
                "link_quality": value.flag,
                "install_routes": value.flag,
            },
        ),
        "record": (
            RecordSettings,
            {
                "enabled": value.flag,
                "dir": value.path,
                "run": value.text,
                "world": partial(value.choice, options=WORLDS),
                "frames": value.flag,
                "compact": value.flag,
                "rotate_bytes": partial(value.whole, low=SMALLEST_SPOOL, high=2**30),
                "rotate_after": value.number,
                "budget_bytes": value.whole,
            },
        ),
    }
)
# Parts of the core's configuration that have sections of their own.
_PARTS: Final[Mapping[str, tuple[Any, Mapping[str, Reader]]]] = MappingProxyType(
    {
        "routing": (
            Routing,
            {
                "mode": partial(value.member, kind=Mode),
                "algorithm": partial(value.member, kind=Algorithm),
                "advertisements": value.flag,
                "refresh_period": value.number,
                "merge_delay": value.number,
                "publisher_roots": partial(value.items, read=_NODE_INDEX, what="node indexes"),
            },
        ),
        "overlay": (
            Overlay,
            {
                "kind": partial(value.member, kind=OverlayKind),
                "links": partial(
                    value.items, read=partial(value.pair, read=_NODE_INDEX, what="node indexes"), what="links"
                ),
            },
        ),
    }
)
_GROUP: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "nodes": partial(value.items, read=_NODE_INDEX, what="node indexes"),
        "clients": partial(value.items, read=value.text, what="client names"),
    }
)
_PATHS: Final = (("node", "state_dir"), ("routes", "file"), ("record", "dir"))


def load(
    path: Path | None = None, overrides: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings of a file (this one, else the one CHAPARD_CONFIG names, else the system's if there is one) with
    each override "section.key=value" on top. Raises SettingsError, or StartError as `from_tree` does."""
    file = path or _usual_file(environ)
    tree = _read(file) if file is not None else {}
    _resolve_paths(tree, file.parent if file is not None else Path())
    for each in overrides:
        _override(tree, each)
    try:
        return from_tree(tree)
    except SettingsError as error:
        if file is None:
            raise
        raise SettingsError(f"{error} (in {file}{' or --set' if overrides else ''})") from None


def from_tree(tree: Mapping[str, object]) -> Settings:
    """Settings from parsed TOML; what is absent has its default, or is what the machine has.

    Raises SettingsError, or StartError if the machine has no place in a mesh.
    """
    known = [*_SECTIONS, *_PARTS, "protocol", "groups"]
    for name, section in tree.items():
        if name not in known:
            what = "section" if isinstance(section, dict) else "key"
            raise SettingsError(f"unknown {what} {value.key_shown(name)}: {_hint(name, known)}")
    sections = {name: _section(tree, name) for name in known}
    groups = {name: _group(name, group) for name, group in sections.pop("groups").items()}
    parts = {name: _part(name, sections.pop(name)) for name in _PARTS}
    protocol = _protocol(sections.pop("protocol"), {"groups": MappingProxyType(groups), **parts})
    read = {name: _read_keys(name, sections[name], keys) for name, (_, keys) in _SECTIONS.items()}
    if read["routes"].get("source") in LIVE_SOURCES:
        _settle(read, protocol.nodes)
    made = {name: kind(**read[name]) for name, (kind, _) in _SECTIONS.items()}
    return Settings(protocol=protocol, **made)


def _settle(read: dict[str, dict[str, Any]], nodes: int) -> None:
    """Put the node where its machine is, as far as nothing else is written."""
    node, mesh = read["node"], read["mesh"]
    written = Written(
        address=node.get("address"),
        prefixes=node.get("prefixes"),
        interfaces=mesh.get("interfaces", ()),
        index=node.get("index"),
        map=node.get("map", {}),
        nodes=nodes,
        needs_interfaces=read["routes"]["source"] == "embedded",
    )
    place = find_place(written)
    node["address"], node["prefixes"], mesh["interfaces"] = place


def protocol_keys() -> dict[str, Reader]:
    """What [protocol] may hold: the core's parameters but for recording, each of the type of its default."""
    usual, apart = Config(), {"groups", *_PARTS}
    names = [each.name for each in fields(Config) if each.name not in apart and not each.name.startswith("record")]
    return {name: _reader_like(getattr(usual, name)) for name in names}


def _reader_like(default: object) -> Reader:
    if isinstance(default, bool):
        return value.flag
    if isinstance(default, StrEnum):
        return partial(value.member, kind=type(default))
    if isinstance(default, int):
        return value.whole
    return value.number


def _part(name: str, given: Mapping[str, object]) -> Any:
    kind, keys = _PARTS[name]
    try:
        return kind(**_read_keys(name, given, keys))
    except ConfigError as error:
        raise SettingsError(str(error)) from None


def _protocol(given: Mapping[str, object], parts: Mapping[str, Any]) -> Config:
    values = _read_keys("protocol", given, protocol_keys())
    try:
        return Config(**values, **parts, record=False)
    except ConfigError as error:
        raise SettingsError(f"protocol: {error}") from None


def _group(key: str, given: object) -> Group:
    name = value.key_shown(key)
    if not isinstance(given, dict):
        raise SettingsError(f"groups.{name}: want a table [groups.{name}], got {value.shown(given)}")
    read = _read_keys(f"groups.{name}", given, _GROUP)
    return Group(**{key: frozenset(items) for key, items in read.items()})


def _section(tree: Mapping[str, object], name: str) -> dict[str, object]:
    section = tree.get(name, {})
    if not isinstance(section, dict):
        raise SettingsError(f"{name}: want a table [{name}], got {value.shown(section)}")
    return section


def _read_keys(section: str, given: Mapping[str, object], keys: Mapping[str, Reader]) -> dict[str, Any]:
    read = {}
    for key, raw in given.items():
        if key not in keys:
            hint = _hint(key, list(keys), _elsewhere(key))
            raise SettingsError(f"unknown key {section}.{value.key_shown(key)}: {hint}")
        try:
            read[key] = keys[key](raw)
        except value.ValueFault as fault:
            raise SettingsError(f"{section}.{key}: {fault}") from None
    return read


def _hint(name: str, known: Sequence[str], elsewhere: str | None = None) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close or elsewhere:
        return f"did you mean {close[0] if close else elsewhere}?"
    return f"known here are {', '.join(known)}" if len(known) <= MOST_NAMED else "the commented example lists all keys"


def _elsewhere(key: str) -> str | None:
    """The section in which this key would be known."""
    for name, (_, keys) in {**_SECTIONS, **_PARTS}.items():
        if key in keys:
            return f"{name}.{key}"
    return f"protocol.{key}" if key in protocol_keys() else None


# The file


def _usual_file(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(FILE_VARIABLE, "")
    if named:
        return Path(named)
    return SYSTEM_FILE if SYSTEM_FILE.exists() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        if len(data) <= LARGEST_FILE:
            return tomllib.loads(data.decode())
    except FileNotFoundError:
        raise SettingsError(f"{file}: no such file; write it, or start without --config and {FILE_VARIABLE}") from None
    except OSError as error:
        raise SettingsError(f"{file}: cannot read it: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: not a text file; settings are TOML in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    raise SettingsError(f"{file}: too large for settings; is it the right file?")


def _resolve_paths(tree: dict[str, Any], folder: Path) -> None:
    for section, key in _PATHS:
        given = tree.get(section)
        if isinstance(given, dict) and isinstance(given.get(key), str) and given[key]:
            given[key] = str(folder / os.path.expanduser(given[key]))
    routes = tree.setdefault("routes", {})
    if isinstance(routes, dict):
        routes.setdefault("file", str(folder / RoutesSettings().file))


# The command line


def _override(tree: dict[str, Any], text: str) -> None:
    """Put "section.key=value" into the tree. The value is TOML, or else the text itself."""
    name, equals, raw = text.partition("=")
    path = _key_path(name)
    if not equals or len(path) < 2:
        raise SettingsError(f"--set {value.shown(text)}: write section.key=value, for example log.level=debug")
    place = tree
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise SettingsError(f"--set {value.shown(text)}: {value.key_shown(part)} is not a table")
    place[path[-1]] = _toml_or_text(raw.strip())


def _key_path(name: str) -> list[str]:
    """The parts of a dotted key, which may be in quotes; none if it is not one."""
    try:
        node: object = tomllib.loads(f"{name} = 0")
    except (ValueError, RecursionError):
        return []
    path: list[str] = []
    while isinstance(node, dict) and len(node) == 1:
        [(part, node)] = node.items()
        path.append(part)
    return path if node == 0 else []


def _toml_or_text(raw: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {raw}")
    except (ValueError, RecursionError):
        return raw
    return parsed["value"] if len(parsed) == 1 else raw
