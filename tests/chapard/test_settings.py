"""The settings themselves: defaults, the index of this node, and what changes live."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from chapar.endpoint import Endpoint
from chapard.core.config import Config, Group
from chapard.settings import (
    ClientsSettings,
    LogSettings,
    MeshSettings,
    NodeSettings,
    OlsrSettings,
    RecordSettings,
    RoutesSettings,
    Settings,
    SettingsError,
    default_state_dir,
    live_changes,
)


def test_the_defaults_make_a_node_on_loopback() -> None:
    """Without any setting there is node 1, with clients on loopback, which records nothing."""
    settings = Settings()
    assert settings.index == 1
    assert str(settings.clients.listen) == "127.0.0.1:7700"
    assert (settings.mesh.port, settings.http.listen) == (7701, Endpoint("127.0.0.1", 7780))
    assert not settings.protocol.record
    assert settings.addresses().address_of(1) == "127.0.0.1"


def test_the_index_comes_from_the_first_that_knows_it() -> None:
    """node.index, else node.map, else the host part of the address."""
    node = NodeSettings(address="10.66.0.7", prefixes=("10.66.0.0/24",))
    mapped = replace(node, map={"10.66.0.7": 40})
    assert [Settings(node=each).index for each in (node, mapped, replace(mapped, index=50))] == [7, 40, 50]


def test_an_explicit_index_holds_in_the_addresses_too() -> None:
    """This node's own address is its configured index, whatever its host part or the map."""
    node = NodeSettings(index=50, address="10.66.0.7", prefixes=("10.66.0.0/24",), map={"10.66.0.7": 40})
    addresses = Settings(node=node).addresses()
    assert addresses.index_of("10.66.0.7") == 50
    assert addresses.address_of(50) == "10.66.0.7"
    assert addresses.index_of("10.66.0.8") == 8


TOO_LITTLE = (
    "record.budget_bytes: want at least 16 times record.rotate_bytes, 128, as each dataset has a spool: got 9"
)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"node": NodeSettings(index=256)}, "node.index: want 0 to 255 (protocol.nodes is 256), got 256"),
        ({"node": NodeSettings(map={"10.0.0.1": 900})}, 'node.map."10.0.0.1": want 0 to 255 (protocol.nodes is 256)'),
        (
            {"node": NodeSettings(address="10.66.0.7")},
            "node.address: 10.66.0.7 is no host below 256 (protocol.nodes) in 127.0.0.0/24: set node.index, or",
        ),
        (
            {"node": NodeSettings(address="127.0.0.9"), "protocol": Config(nodes=8)},
            "node.address: 127.0.0.9 is no host below 8 (protocol.nodes) in 127.0.0.0/24",
        ),
        ({"node": NodeSettings(prefixes=("wlan0",))}, "node: want a prefix such as"),
        (
            {"protocol": Config(nodes=8, groups=MappingProxyType({"a": Group(frozenset({8}))}))},
            "groups.a.nodes: want 0 to 7, got 8",
        ),
        (
            {"clients": ClientsSettings(listen=Endpoint("127.0.0.1", 7701))},
            "clients.listen: 127.0.0.1:7701 is the mesh's own port",
        ),
        ({"routes": RoutesSettings(max_age=5.5)}, "routes.max_age: want at least 6 s, got 5.5"),
        ({"record": RecordSettings(rotate_after=1)}, "record.rotate_after: want at least 10 s, got 1"),
        ({"record": RecordSettings(budget_bytes=9, rotate_bytes=8)}, TOO_LITTLE),
        (
            {"routes": RoutesSettings(source="olsrd", server="/run/babeld.sock")},
            'routes.server: olsrd is asked at "host:port", got "/run/babeld.sock"',
        ),
        ({"routes": RoutesSettings(source="embedded")}, "mesh.interfaces: name those that OLSR shall speak on"),
    ],
)
def test_relations_between_sections_are_checked(settings: dict[str, object], complaint: str) -> None:
    """Settings that contradict each other are refused when they are made, in one line."""
    with pytest.raises(SettingsError) as caught:
        Settings(**settings)  # type: ignore[arg-type] # the sections are of several types
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_ports_that_the_kernel_chooses_do_not_collide() -> None:
    """Port 0 on both sides is no contradiction."""
    settings = Settings(mesh=MeshSettings(port=0), clients=ClientsSettings(listen=Endpoint("127.0.0.1", 0)))
    assert settings.mesh.port == settings.clients.listen.port == 0


def test_an_endpoint_reads_as_it_is_written() -> None:
    """IPv6 hosts stand in brackets."""
    assert str(Endpoint("::1", 7700)) == "[::1]:7700"


def test_state_goes_where_systemd_says() -> None:
    """STATE_DIRECTORY wins over everything; of several the first."""
    environ = {"STATE_DIRECTORY": "/run/a:/run/b", "XDG_STATE_HOME": "/home/x"}
    assert default_state_dir(environ) == Path("/run/a")


def test_state_has_a_place_without_systemd() -> None:
    """Root has the system's place, others their own; the answer is never relative."""
    found = {default_state_dir({"XDG_STATE_HOME": "/home/x"}), default_state_dir({"XDG_STATE_HOME": "relative"})}
    assert all(each.is_absolute() and each.name == "chapar" for each in found)
    assert Path("/var/lib/chapar") in found or Path("/home/x/chapar") in found


def test_a_reload_takes_over_log_routes_and_olsr_only() -> None:
    """Keys that changed are named, those that need a restart apart."""
    old = Settings()
    new = Settings(
        log=LogSettings(level="debug"),
        routes=RoutesSettings(source="static", file=Path("other.toml")),
        olsr=OlsrSettings(willingness=7),
        mesh=MeshSettings(port=9999),
        protocol=Config(record=False, beacon_min=2.0, groups=MappingProxyType({"a": Group()})),
    )
    assert live_changes(old, new) == (
        ("log.level", "routes.source", "routes.file", "olsr.willingness"),
        ("mesh.port", "groups", "protocol.beacon_min"),
    )
    assert live_changes(new, new) == ((), ())


def test_a_source_does_not_change_under_a_node_that_is_to_be_another() -> None:
    """Who gets another address with the source of its routes needs a restart for both; its log does not."""
    old = Settings()
    node = NodeSettings(address="10.66.0.7", prefixes=("10.66.0.0/24",))
    new = Settings(log=LogSettings(level="debug"), routes=RoutesSettings(source="olsrd"), node=node)
    assert live_changes(old, new) == (("log.level",), ("node.address", "node.prefixes", "routes.source"))
