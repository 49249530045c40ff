"""Reading settings: files, the command line on top, complaints in one line, and the commented example."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapar.endpoint import Endpoint
from chapard.core.config import Group, QueuePolicy, Routing
from chapard.core.overlay.router import Algorithm
from chapard.settings import NodeSettings, OlsrSettings, Settings, SettingsError
from chapard.settings_file import LARGEST_FILE, from_tree, load, protocol_keys
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = Path(__file__).resolve().parents[2] / "deploy/chapard.toml"
NOTHING: Mapping[str, str] = {"CHAPARD_CONFIG": "/dev/null"}
"""An environment that keeps a file of the machine under test out."""


def written(folder: Path, text: str) -> Path:
    file = folder / "chapard.toml"
    file.write_text(text, encoding="utf-8")
    return file


def complaint_of(*overrides: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(None, overrides, NOTHING)
    assert "\n" not in str(caught.value)
    return str(caught.value).removesuffix(" (in /dev/null or --set)")


def test_an_empty_file_is_all_defaults() -> None:
    """No key is needed."""
    settings = load(Path("/dev/null"))
    assert settings == from_tree({"routes": {"file": "/dev/routes.toml"}})
    assert from_tree({}) == Settings()


def test_every_section_is_read(tmp_path: Path) -> None:
    """What the file says is what the settings hold."""
    text = """
    [node]
    address = "10.66.0.7"
    prefixes = ["10.66.0.0/24", "10.67.0.0/24"]
    state_dir = "/srv/chapar"
    durable = false
    [node.map]
    "192.168.1.20" = 20
    [mesh]
    port = 7801
    interfaces = ["wlan0"]
    receive_buffer = 65536
    [clients]
    listen = "[::1]:7800"
    [http]
    listen = ""
    [log]
    level = "debug"
    format = "json"
    [routes]
    source = "static"
    server = "[::1]:9090"
    max_age = 30
    [olsr]
    port = 6980
    hello_interval = 1
    tc_interval = 2.5
    willingness = 7
    tc_redundancy = 2
    hysteresis = true
    link_quality = true
    install_routes = false
    [groups.command]
    nodes = [1, 2]
    clients = ["rover-3"]
    [protocol]
    nodes = 128
    beacon_min = 2
    hop_ack = false
    queue_policy = "refuse"
    [routing]
    algorithm = "covering"
    advertisements = true
    refresh_period = 8
    [overlay]
    links = [[1, 7], [7, 9]]
    """
    settings = load(written(tmp_path, text))
    assert settings.node == NodeSettings(
        address="10.66.0.7",
        prefixes=("10.66.0.0/24", "10.67.0.0/24"),
        map={"192.168.1.20": 20},
        state_dir=Path("/srv/chapar"),
        durable=False,
    )
    assert settings.index == 7
    assert (settings.mesh.port, settings.mesh.interfaces, settings.mesh.receive_buffer) == (7801, ("wlan0",), 65536)
    assert (settings.clients.listen, settings.http.listen) == (Endpoint("::1", 7800), None)
    assert (settings.log.level, settings.log.format, settings.routes.source) == ("debug", "json", "static")
    assert (settings.routes.server, settings.routes.max_age) == ("[::1]:9090", 30.0)
    assert settings.olsr == OlsrSettings(
        port=6980,
        hello_interval=1.0,
        tc_interval=2.5,
        willingness=7,
        tc_redundancy=2,
        hysteresis=True,
        link_quality=True,
        install_routes=False,
    )
    protocol = settings.protocol
    assert dict(protocol.groups) == {"command": Group(frozenset({1, 2}), frozenset({"rover-3"}))}
    assert (protocol.nodes, protocol.beacon_min, protocol.hop_ack) == (128, 2.0, False)
    assert protocol.queue_policy is QueuePolicy.REFUSE
    assert not protocol.record
    assert protocol.routing == Routing(algorithm=Algorithm.COVERING, advertisements=True, refresh_period=8.0)
    assert protocol.overlay.links == ((1, 7), (7, 9))


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("clients.listen=7700", 'clients.listen: want "host:port", got 7700'),
        ("protocol.beacon_mim=3", "unknown key protocol.beacon_mim: did you mean beacon_min?"),
        ("protcol.beacon_min=3", "unknown section protcol: did you mean protocol?"),
        ("mesh.address=10.66.0.7", "unknown key mesh.address: did you mean node.address?"),
        ("node.keep_alive=3", "unknown key node.keep_alive: did you mean protocol.keep_alive?"),
        ("log.colour=true", "unknown key log.colour: known here are level, format"),
        ("protocol.zzz=3", "unknown key protocol.zzz: the commented example lists all keys"),
        ('log."a\\nb"=3', r'unknown key log."a\nb": known here are level, format'),
        ("protocol.record=true", "unknown key protocol.record: the commented example lists all keys"),
        ("protocol.record_frames=true", "unknown key protocol.record_frames: the"),
        ("protocol.groups.a.nodes=[1]", "unknown key protocol.groups: the"),
        ("protocol.beacon_min=100", "protocol: beacon_min must not exceed refresh_period"),
        ("protocol.nodes=9999", "protocol: nodes must be between 1 and 4096"),
        ("protocol.queue_policy=newst", 'protocol.queue_policy: want "oldest" or "newest" or "refuse", got "newst"'),
        ("protocol.retries=2.5", "protocol.retries: want a whole number from 0, got 2.5"),
        ("protocol.hop_ack=1", "protocol.hop_ack: want true or false, got 1"),
        ("node.index=300", "node.index: want 0 to 255 (protocol.nodes is 256), got 300"),
        ("node.address=10.66.0.7", "node.address: 10.66.0.7 is no host below 256 (protocol.nodes) in 127.0.0.0/24"),
        ("node.map.rover=3", 'node.map: want an IPv4 or IPv6 address in quotes, got "rover"'),
        ("routes.source=olsr", 'routes.source: want "none" or "static" or "olsrd" or "olsrd2" or "babeld" or "kernel"'),
        ("routes.server=9090", 'routes.server: want "host:port", or the path of a socket, or "", got 9090'),
        ("olsr.willingness=8", "olsr.willingness: want a whole number from 0 to 7, got 8"),
        ("mesh.interfaces=wlan0", 'mesh.interfaces: want a list of interface names in square brackets, got "wlan0"'),
        ("groups.command.node=[1]", "unknown key groups.command.node: did you mean nodes?"),
        ("routing.mode=trees", 'routing.mode: want "chapar" or "tree", got "trees"'),
        ("routing.algoritm=simple", "unknown key routing.algoritm: did you mean algorithm?"),
        ("routing.refresh_period=0", "routing.refresh_period must be above 0 s"),
        ("routing.links=[]", "unknown key routing.links: did you mean overlay.links?"),
        ("overlay.links=[[1, 2], [2, 3], [3, 1]]", "overlay.links has the cycle 1 - 3 - 2 - 1: leave one of its links"),
        ("overlay.links=[[1, 1]]", "overlay.links joins node 1 to itself: leave [1, 1] out"),
        ("overlay.links=[[1, 2], [1, 2]]", "overlay.links: want each of the links once, got [[1, 2], [1, 2]]"),
        ("overlay.links=[[1, 2], [2, 1]]", "overlay.links names [2, 1] twice: write it once"),
        ("overlay.links=[[1, 256]]", "protocol: overlay and publisher_roots name nodes below 256 (nodes), not [256]"),
        ("overlay.links=[1, 2]", "overlay.links: want a pair of node indexes such as [1, 2], got 1"),
        ("overlay.kind=somer", 'overlay.kind: want "static", got "somer"'),
        ("groups.command=3", "groups.command: want a table [groups.command], got 3"),
        pytest.param("node.index=" + "[" * 5000, "node.index: want a whole number from 0 to 65534, got", id="deep"),
        ("level=debug", '--set "level=debug": write section.key=value, for example log.level=debug'),
        ("log.level", '--set "log.level": write section.key=value'),
        ("log level=debug", '--set "log level=debug": write section.key=value'),
        ("=3", '--set "=3": write section.key=value'),
        ("a.b=1\n[c]\nd=2", 'unknown section a: '),
    ],
)
def test_what_is_wrong_is_said_in_one_line(override: str, complaint: str) -> None:
    """The line begins with the key, repeats what was given, and says what is wanted or meant."""
    assert complaint_of(override).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("[mesh]\nport = 1" + "0" * 5000, "{file}: not TOML: ", id="long"),
        pytest.param("a = " + "[" * 5000, "{file}: not TOML: ", id="deep"),
        ("[log]\nformat = 'xml'\n", 'log.format: want "text" or "json", got "xml" (in {file})'),
        ("log = 3", "log: want a table [log], got 3 (in {file})"),
        ("port = 3", "unknown key port: "),
        pytest.param("#" * (LARGEST_FILE + 1), "{file}: too large for settings; is it the right file?", id="large"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    """Errors in a file say which file, and where in it as far as TOML knows."""
    file = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load(file)
    assert str(caught.value).startswith(complaint.format(file=file))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_toml_is_shown_where(tmp_path: Path) -> None:
    """The line of the first mistake is in the message."""
    file = written(tmp_path, "[log]\nlevel = debug\n")
    with pytest.raises(SettingsError, match=rf"^{re.escape(str(file))}: not TOML: [^\n]+ \(at line 2, column \d+\)$"):
        load(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, a directory, not text: one line each."""
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for file, complaint in [
        (tmp_path / "missing.toml", "no such file; write it, or start without"),
        (tmp_path, "cannot read it: Is a directory"),
        (binary, "not a text file; settings are TOML in UTF-8"),
    ]:
        with pytest.raises(SettingsError, match=f"^{re.escape(str(file))}: {complaint}"):
            load(file)


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    """CHAPARD_CONFIG counts unless --config is given; a missing one is an error, not a silent default."""
    file = written(tmp_path, "[log]\nlevel = 'debug'\n")
    assert load(None, (), {"CHAPARD_CONFIG": str(file)}).log.level == "debug"
    assert load(Path("/dev/null"), (), {"CHAPARD_CONFIG": str(file)}).log.level == "info"
    with pytest.raises(SettingsError, match="no such file"):
        load(None, (), {"CHAPARD_CONFIG": str(tmp_path / "missing.toml")})


def test_the_command_line_wins(tmp_path: Path) -> None:
    """--set overrides the file, the last one wins, and values are TOML or else text."""
    file = written(tmp_path, "[log]\nlevel = 'debug'\n[node.map]\n'10.0.0.1' = 4\n")
    overrides = [
        "log.level=error",
        "log.level = warning",
        "mesh.port=0x10",
        'mesh.interfaces=["wlan0", "wlan1"]',
        "node.address=127.0.0.9",
        'node.map."10.66.0.8"=8',
        "clients.listen=127.0.0.1:7800",
        "http.listen=",
        "groups.g.clients=['a']",
        "node.durable=false",
        "protocol.beacon_min=0.5",
    ]
    settings = load(file, overrides)
    assert settings.log.level == "warning"
    assert (settings.mesh.port, settings.mesh.interfaces) == (16, ("wlan0", "wlan1"))
    assert (settings.index, settings.node.map) == (9, {"10.0.0.1": 4, "10.66.0.8": 8})
    assert (settings.clients.listen, settings.http.listen) == (Endpoint("127.0.0.1", 7800), None)
    assert settings.protocol.groups["g"].clients == {"a"}
    assert (settings.node.durable, settings.protocol.beacon_min) == (False, 0.5)


def test_the_command_line_cannot_turn_a_value_into_a_table(tmp_path: Path) -> None:
    """A key below a key that has a value is refused in words."""
    file = written(tmp_path, "log = 3")
    with pytest.raises(SettingsError, match=r'^--set "log.level=debug": log is not a table$'):
        load(file, ["log.level=debug"])


def test_file_names_are_relative_to_where_they_are_written(tmp_path: Path) -> None:
    """In the file: to the file. On the command line: to the working directory. Absolute ones stay."""
    file = written(tmp_path, "[routes]\nfile = 'mesh/routes.toml'\n[node]\nstate_dir = 'state'\n")
    settings = load(file)
    assert settings.routes.file == tmp_path / "mesh/routes.toml"
    assert settings.node.state_dir == tmp_path / "state"
    assert load(file, ["routes.file=here.toml"]).routes.file == Path("here.toml")
    assert load(written(tmp_path, "")).routes.file == tmp_path / "routes.toml"
    assert load(written(tmp_path, "[routes]\nfile = '/etc/r.toml'")).routes.file == Path("/etc/r.toml")


def test_in_a_real_mesh_a_node_is_where_its_interfaces_are() -> None:
    """Address and prefixes that are not written come from the interfaces that are; what is written stays."""
    live = ["routes.source=olsrd", 'mesh.interfaces=["lo"]']
    node = load(None, live, NOTHING).node
    assert (node.address, node.prefixes) == ("127.0.0.1", ("127.0.0.0/8",))
    written = load(None, [*live, "node.address=127.0.0.1", 'node.prefixes=["127.0.0.0/24"]'], NOTHING).node
    assert (written.address, written.prefixes) == ("127.0.0.1", ("127.0.0.0/24",))
    with pytest.raises(StartError, match="there is no interface wlan99"):
        load(None, ["routes.source=kernel", 'mesh.interfaces=["wlan99"]'], NOTHING)


def test_a_node_alone_is_on_loopback_whatever_its_interfaces() -> None:
    """Nothing of the machine is looked at as long as routes are none or written by hand."""
    for source in ("none", "static"):
        settings = load(None, [f"routes.source={source}", 'mesh.interfaces=["wlan99"]'], NOTHING)
        assert (settings.node.address, settings.node.prefixes) == ("127.0.0.1", ("127.0.0.0/24",))


def test_every_parameter_of_the_core_can_be_set() -> None:
    """[protocol] is the core's configuration, but for recording and what has sections of its own."""
    names = {each.name for each in fields(Settings().protocol)}
    assert names - set(protocol_keys()) == {"groups", "routing", "overlay", "record", "record_frames"}


# The commented example


def example_lines() -> list[str]:
    return EXAMPLE.read_text(encoding="utf-8").splitlines()


def example_tree() -> dict[str, dict[str, object]]:
    """The example with the # before every default taken away."""
    return tomllib.loads("\n".join(re.sub(r"^#(?=[a-z])", "", line) for line in example_lines()))


def test_the_example_changes_nothing_as_it_is() -> None:
    """Copied to /etc unchanged, it pins no value: a later release may have a better default."""
    assert load(EXAMPLE) == from_tree({"routes": {"file": str(EXAMPLE.parent / "routes.toml")}})
    assert not any(tomllib.loads("\n".join(example_lines())).values())


def test_every_value_in_the_example_is_the_default() -> None:
    """What the example shows is what happens without it."""
    tree = example_tree()
    assert len(tree["protocol"]) > 40
    assert from_tree(tree) == Settings()


def test_the_example_mentions_every_key() -> None:
    """An operator finds every key there, with a reason above it, those without a fixed default as prose."""
    tree = example_tree()
    without_default = {"node.index", "node.state_dir", "node.map", "record.dir"}
    for section in fields(Settings):
        known = {each.name for each in fields(type(getattr(Settings(), section.name)))}
        if section.name == "protocol":
            known = set(protocol_keys())
        shown = {f"{section.name}.{key}" for key in tree[section.name]}
        assert shown | without_default >= {f"{section.name}.{key}" for key in known}
    text = "\n".join(example_lines())
    assert all(prose in text for prose in ("\n# index = ", "\n# state_dir = ", "\n# [node.map]", "\n# [groups."))


def test_the_prose_of_the_example_is_valid_too() -> None:
    """The examples in its comments can be taken as they are."""
    text = "\n".join(re.sub(r'^# ?(?=\[|"[0-9.]+" =|[a-z_]+ = )', "", line) for line in example_lines())
    settings = from_tree(tomllib.loads(text))
    assert (settings.node.index, dict(settings.node.map)) == (7, {"192.168.1.20": 20})
    assert settings.protocol.groups["command"] == Group(frozenset({1, 2}), frozenset({"rover-3"}))
