"""Scenario files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from chapar.filter import Filter
from chapar_sim.clientspec import Between, OneOf
from chapar_sim.scenario import NodeSpec, Scenario, ScenarioError, load
from chapar_sim.terrain import ROUTE_KEYS
from chapard.core.config import QueuePolicy

LIBRARY = Path(__file__).resolve().parents[2] / "deploy" / "scenarios"
SMALL: dict[str, Any] = {"duration": 60, "nodes": 4, "topology": {"kind": "chain"}}
PLACED: dict[str, Any] = {"duration": 60, "nodes": 4, "topology": {"kind": "range", "range": 100}}


def made(**more: Any) -> Scenario:
    return Scenario.from_dict({**copy.deepcopy(SMALL), **more}, "test.toml")


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_dict(data, "test.toml")
    line = str(refusal.value)
    assert line.startswith("test.toml: ")
    assert "\n" not in line
    return line


def test_what_is_left_out_has_a_default() -> None:
    """A chain of four for a minute is a scenario."""
    scenario = made()
    assert scenario.name == "test"
    assert [spec.index for spec in scenario.nodes] == [1, 2, 3, 4]
    assert (scenario.settle, scenario.active, scenario.radio.loss, scenario.routes.mprs) == (0, 60, 0, True)
    assert scenario.daemon_config().nodes == 256


def test_nodes_can_be_special() -> None:
    """What [[node]] says holds for that node, the others are plain."""
    scenario = made(node=[{"index": 3, "chapard": False, "clock_drift": 0.01, "clock_offset": -5}])
    assert scenario.nodes[2] == NodeSpec(index=3, chapard=False, clock_drift=0.01, clock_offset=-5)
    assert scenario.nodes[0] == NodeSpec(index=1)


def test_a_client_publishes_and_subscribes() -> None:
    """Every part of a client's table arrives where it belongs."""
    client = {
        "name": "rover",
        "nodes": [1, 2],
        "publish": [
            {
                "subject": "position",
                "rate": 2,
                "attributes": {"speed": {"between": [0, 9]}, "mode": {"one_of": ["a", "b"]}, "fixed": True},
                "payload": [10, 20],
                "lifetime": 60,
                "to": [4],
            }
        ],
        "subscribe": [
            {"filter": 'subject = "order" and level > 2', "start": 5, "stop": 10},
            {"subject": "order", "where": "level > 2", "hold": 3, "gap": 4},
        ],
        "presence": {"on": 10, "off": 5, "law": "fixed", "first": "off"},
    }
    spec = made(client=[client]).clients[0]
    stream = spec.publish[0]
    assert (spec.nodes, stream.rate, stream.payload, stream.lifetime, stream.to) == ((1, 2), 2, (10, 20), 60, (4,))
    assert dict(stream.attributes) == {"speed": Between(0, 9), "mode": OneOf(("a", "b")), "fixed": True}
    assert spec.subscribe[0].filter == spec.subscribe[1].filter == Filter(subject="order", where="level > 2")
    assert (spec.subscribe[0].start, spec.subscribe[0].stop, spec.subscribe[1].hold) == (5, 10, 3)
    assert (spec.presence.on, spec.presence.off, spec.presence.starts_on) == (10, 5, False)


def test_a_client_can_take_time_over_events() -> None:
    """On average so long, drawn or fixed; it has one subscription, so that one event is in hand at a time."""
    services: tuple[dict[str, object], ...] = ({}, {"service": {"mean": 0.5}}, {"service": {"mean": 2, "law": "fixed"}})
    clients = [{"name": str(number), "node": 1, **each} for number, each in enumerate(services)]
    quick, slow, steady = made(client=clients).clients
    assert quick.service.mean == 0
    assert (slow.service.mean, slow.service.law) == (0.5, "exponential")
    assert (steady.service.mean, steady.service.law) == (2, "fixed")


def test_the_daemons_can_be_configured() -> None:
    """Overrides have the type of what they override."""
    groups = {"police": {"nodes": [1], "clients": ["chief"]}}
    config = made(config={"refresh_period": 8, "hop_ack": False, "queue_policy": "refuse", "groups": groups})
    daemon = config.daemon_config()
    assert (daemon.refresh_period, daemon.hop_ack, daemon.queue_policy) == (8.0, False, QueuePolicy.REFUSE)
    assert daemon.groups["police"].clients == {"chief"}


CLIENT = {"name": "a", "node": 1}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "duration: missing"),
        ({**SMALL, "nodes": 0}, "nodes: 0 is out of range"),
        ({**SMALL, "nodes": "four"}, "nodes: 'four' is not a whole number"),
        ({**SMALL, "duraton": 3}, "duraton: unknown key; did you mean duration?"),
        ({**SMALL, "settle": 61}, "settle: 61 is out of range"),
        ({**SMALL, "topology": {"kind": "gird"}}, "topology.kind: 'gird' is not known; did you mean 'grid'?"),
        ({**SMALL, "topology": {"kind": "edges"}}, "topology.edges: missing"),
        ({**SMALL, "topology": {"kind": "edges", "edges": [[1, 5]]}}, "topology.edges[0]: there is no node 5"),
        ({**SMALL, "topology": {"kind": "edges", "edges": [[1, 1]]}}, "topology.edges[0]: a link joins two nodes"),
        ({**SMALL, "topology": {"kind": "chain", "range": 5}}, "topology.range: unknown key"),
        ({**PLACED, "topology": {"kind": "range"}}, "topology.range: missing"),
        ({**PLACED, "topology": {"kind": "range", "range": 0}}, "topology.range: 0 is out of range"),
        ({**SMALL, "mobility": {"kind": "waypoint"}}, "mobility.kind: nodes of a chain topology have no positions"),
        ({**PLACED, "mobility": {"kind": "trace", "file": "none.csv"}}, "mobility.file: cannot read none.csv"),
        ({**SMALL, "radio": {"los": 0.1}}, "radio.los: unknown key; did you mean loss?"),
        ({**SMALL, "radio": {"loss": 1.5}}, "radio.loss: 1.5 is out of range; write a number from 0 to 1"),
        ({**SMALL, "radio": {"links": [{"from": 1, "to": 9}]}}, "radio.links[0].to: 9 is out of range"),
        ({**SMALL, "routes": {"convergence": [5, 1]}}, "routes.convergence: 5.0 is above 1.0"),
        ({**SMALL, "routes": {"source": "rip"}}, "routes.source: 'rip' is not known"),
        (
            {**SMALL, "routes": {"source": "olsr", "cold": True}},
            'routes.cold: is not for source = "olsr"; leave it out, or write source = "ideal"',
        ),
        (
            {**SMALL, "routes": {"source": "babel", "mprs": True}},
            'routes.mprs: is not for source = "babel"; leave it out, or write source = "ideal"',
        ),
        (
            {**SMALL, "routes": {"hello_interval": 1}},
            'routes.hello_interval: is not for source = "ideal"; leave it out, or write source = "olsr"',
        ),
        ({**SMALL, "config": {"refresh": 5}}, "config.refresh: unknown key"),
        ({**SMALL, "config": {"hop_ack": 1}}, "config.hop_ack: 1 is not a truth value"),
        ({**SMALL, "config": {"beacon_min": 99}}, "config: beacon_min"),
        ({**SMALL, "nodes": 300}, "config.nodes: must be above the highest node index; write 301"),
        ({**SMALL, "node": [{"index": 1}, {"index": 1}]}, "node[1].index: node 1 is described twice"),
        ({**SMALL, "node": [{"index": 1, "x": 3}]}, "node[0].x: a position needs both"),
        ({**SMALL, "client": [{"name": "a"}]}, "client[0]: say where the clients live"),
        ({**SMALL, "client": [CLIENT, CLIENT]}, "client[1].name: two clients are called 'a'"),
        ({**SMALL, "client": [{**CLIENT, "publish": [{"subject": "x"}]}]}, "client[0].publish[0]: say when to publish"),
        ({**SMALL, "client": [{**CLIENT, "publish": [{"rate": 0}]}]}, "client[0].publish[0].rate: 0 is out of range"),
        (
            {**SMALL, "client": [{**CLIENT, "publish": [{"rate": 1, "lifetime": 5, "persistent": True}]}]},
            "client[0].publish[0]: a persistent event has no lifetime",
        ),
        ({**SMALL, "client": [{**CLIENT, "subscribe": [{"filter": "a >"}]}]}, "client[0].subscribe[0].filter: "),
        ({**SMALL, "client": [{**CLIENT, "subscribe": [{"hold": 3}]}]}, "client[0].subscribe[0].hold: "),
        (
            {**SMALL, "client": [{**CLIENT, "presence": {"schedule": [[3, "away"]]}}]},
            "client[0].presence.schedule[0]: ",
        ),
        (
            {**SMALL, "fault": [{"at": 3, "kind": "crsh", "node": 1}]},
            "fault[0].kind: 'crsh' is not known; did you mean",
        ),
        ({**SMALL, "client": [{**CLIENT, "service": {}}]}, "client[0].service.mean: missing"),
        ({**SMALL, "client": [{**CLIENT, "service": {"mean": 0}}]}, "client[0].service.mean: 0 is out of range"),
        ({**SMALL, "client": [{**CLIENT, "service": {"mean": 1, "lw": "fixed"}}]}, "client[0].service.lw: unknown key"),
        (
            {
                **SMALL,
                "client": [{**CLIENT, "service": {"mean": 1}, "subscribe": [{"subject": "a"}, {"subject": "b"}]}],
            },
            "client[0].service: a client that takes time over each event has one subscription",
        ),
        ({**SMALL, "fault": [{"at": 99, "kind": "heal"}]}, "fault[0].at: 99 is out of range"),
        ({**SMALL, "fault": [{"at": 3, "kind": "crash"}]}, "fault[0].nodes: say which node"),
        ({**SMALL, "fault": [{"at": 3, "kind": "cut"}]}, "fault[0]: say what is cut"),
        ({**SMALL, "fault": [{"at": 3, "kind": "cut", "groups": [[1], [1]]}]}, "fault[0].groups: a node is in two"),
        ({**SMALL, "fault": [{"at": 3, "kind": "pause", "node": 1}]}, "fault[0].until: missing"),
        ({**SMALL, "fault": [{"at": 3, "kind": "pause", "node": 1, "until": 2}]}, "fault[0].until: 2 is out of range"),
        ({**SMALL, "fault": [{"at": 3, "kind": "skew", "node": 1, "by": -5}]}, "fault[0].by: -5 is out of range"),
        ({**SMALL, "fault": [{"at": 3, "kind": "move", "node": 1, "x": 0, "y": 0}]}, "fault[0].kind: nodes of a chain"),
        ({**SMALL, "fault": [{"at": 3, "kind": "crash", "node": 1, "disc": "kept"}]}, "fault[0].disc: unknown key"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(data: dict[str, Any], says: str) -> None:
    """The line names the file, the key and what is wrong with it."""
    assert refused(data).startswith(f"test.toml: {says}")


def test_clients_live_where_chapard_runs() -> None:
    """A node without chapard has no clients."""
    line = refused({**SMALL, "node": [{"index": 1, "chapard": False}], "client": [CLIENT]})
    assert line.startswith("test.toml: client[0].node: node 1 has chapard = false")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("x,y\n", "1: write the heading time,node,x,y"),
        ("time,node,x,y\n", "holds no positions"),
        ("time,node,x,y\n1,1,2\n", "2: '1,1,2' is not a row time,node,x,y"),
        ("time,node,x,y\n1,9,2,3\n", "2: time from 0, a node of the scenario"),
        ("time,node,x,y\n1,1,nan,3\n", "2: time from 0, a node of the scenario"),
    ],
)
def test_a_recorded_trace_is_checked(tmp_path: Path, content: str, says: str) -> None:
    """A trace with a bad row is refused by file and line."""
    (tmp_path / "way.csv").write_text(content)
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_dict({**PLACED, "mobility": {"kind": "trace", "file": "way.csv"}}, "test.toml", tmp_path)
    assert says in str(refusal.value)
    assert "way.csv" in str(refusal.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """A file that is missing, a folder, not text or not TOML: one line each."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.toml").write_text("duration = \n")
    for name, says in (
        ("none.toml", "No such file"),
        ("", "Is a directory"),
        ("binary.toml", "not a text file"),
        ("broken.toml", "not TOML: "),
    ):
        with pytest.raises(ScenarioError, match=says) as refusal:
            load(tmp_path / name)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("file", sorted(LIBRARY.glob("*.toml")), ids=lambda file: file.stem)
def test_the_library_is_sound(file: Path) -> None:
    """Every scenario that ships can be read, begins with a sentence on what it shows, and carries its file's name."""
    assert load(file).name == file.stem
    assert load(file).about
    assert file.read_text(encoding="utf-8").startswith("# ")


def test_sources_of_routes() -> None:
    """OLSR's daemons are agents here; Babel's know no relays."""
    specs = {name: Scenario.from_dict({**SMALL, "routes": {"source": name}}).routes for name in ROUTE_KEYS}
    assert {name: spec.has_agents for name, spec in specs.items()} == {
        "ideal": False,
        "babel": False,
        "olsr": True,
        "olsrd": True,
    }
    assert not specs["babel"].mprs
    assert specs["ideal"].mprs
    quick = {"source": "olsrd", "hello_interval": 0.5, "tc_interval": 1, "link_quality": True}
    spec = Scenario.from_dict({**SMALL, "routes": quick}).routes
    assert (spec.hello_interval, spec.tc_interval, spec.link_quality) == (0.5, 1.0, True)
