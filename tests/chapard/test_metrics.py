"""The metrics page."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard.core.config import Mode, Overlay, Routing
from chapard.core.effects import Reason
from chapard.core.nodevector import NodeVector
from chapard.core.overlay.router import Algorithm
from chapard.core.roles import Role, Why
from chapard.metrics import CONTENT_TYPE, Metrics
from chapard.routes import FAULT_KINDS
from chapard.status import Port, Surroundings
from fake_network import FakeNetwork, chain, quick

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from chapard.core.node import Node

AROUND = Surroundings(version="1.2.3", address="10.0.0.1", started=0.0)
LABELS = {
    "reason": {str(reason) for reason in Reason},
    "role": {str(role) for role in Role},
    "why": {str(why) for why in Why},
    "state": {"on", "off"},
    "port": {"mesh", "client"},
    "direction": {"received", "sent"},
    "version": {AROUND.version},
    "kind": set(FAULT_KINDS),
    "mode": {str(mode) for mode in Mode},
    "algorithm": {"none", *(str(algorithm) for algorithm in Algorithm)},
}
"""What labels may say; `table` may say what the node's sizes name."""


def families(metrics: Metrics) -> dict[str, Metric]:
    """The page as Prometheus' own parser reads it."""
    code, content_type, page = metrics.page()
    assert (code, content_type) == (200, CONTENT_TYPE)
    return {family.name: family for family in text_string_to_metric_families(page.decode())}


def values(node: Node, around: Surroundings = AROUND) -> dict[str, float]:
    """Every sample under its name and the values of its labels."""
    found = families(Metrics(node, lambda: around))
    return {
        ".".join((sample.name, *(value for _, value in sorted(sample.labels.items())))): sample.value
        for family in found.values()
        for sample in family.samples
    }


@pytest.fixture
def node() -> Node:
    return FakeNetwork(nodes=[0]).nodes[0]


def test_the_page_is_what_prometheus_reads(node: Node) -> None:
    """Its parser takes it, and every family has a type and a text that helps."""
    for family in families(Metrics(node, lambda: AROUND)).values():
        assert family.type in {"counter", "gauge"}
        assert family.documentation
        assert family.samples


def test_names_are_ours_and_follow_the_rules(node: Node) -> None:
    """All start with chapar_ (those of the process with process_), counters end in _total and nothing else does."""
    for family in families(Metrics(node, lambda: AROUND)).values():
        assert family.name.startswith(("chapar_", "process_"))
        for sample in family.samples:
            assert sample.name.endswith("_total") is (family.type == "counter")
            assert not sample.name.endswith(("_ms", "_us", "_kb", "_percent"))


def test_labels_take_few_values_whatever_happens() -> None:
    """No peer, client, event or filter becomes a series."""
    network = FakeNetwork(chain(3))
    subscriber = network.client("a client", at=1)
    subscriber.subscribe(Filter(subject="a subject"))
    network.client("another", at=0).publish(Event(subject="a subject", lifetime=60))
    before = len(values(network.nodes[1]))
    network.run(20)
    node = network.nodes[1]
    tables = set(node.sizes())
    for family in families(Metrics(node, lambda: AROUND)).values():
        for sample in family.samples:
            for label, value in sample.labels.items():
                assert value in (tables if label == "table" else LABELS[label])
    assert len(values(node)) == before


def test_every_reason_is_there_from_the_start(node: Node) -> None:
    """A rate can be taken of what has not happened yet."""
    found = values(node)
    for reason in Reason:
        assert found[f"chapar_drops_total.{reason}"] == 0
        assert found[f"chapar_losses_total.{reason}"] == 0
    for kind in FAULT_KINDS:
        assert found[f"chapar_route_faults_total.{kind}"] == 0


def test_drops_and_losses_are_counted_apart(node: Node) -> None:
    """Each under its reason; malformed frames count at the mesh port too."""
    node.datagram_received(b"\xc1", 5, 0.0)
    node.outlet.lose(event_id(0, 1, 1), NodeVector.of([3], 64), Reason.EXPIRED)
    found = values(node, AROUND._replace(mesh=Port(malformed=2), clients=Port(malformed=7)))
    assert found["chapar_drops_total.malformed"] == 1
    assert found["chapar_losses_total.expired"] == 1
    assert found["chapar_losses_total.malformed"] == found["chapar_drops_total.expired"] == 0
    assert (found["chapar_malformed_total.mesh"], found["chapar_malformed_total.client"]) == (3, 7)


def test_events_and_sessions_are_counted() -> None:
    """What was published and delivered, who is ON and OFF, and what waits for whom."""
    network = FakeNetwork(nodes=[0])
    subscriber = network.client("sub", at=0)
    subscriber.subscribe(Filter(subject="x"))
    publisher = network.client("pub", at=0)
    publisher.publish(Event(subject="x"))
    subscriber.off()
    publisher.publish(Event(subject="x"))
    publisher.publish(Event(subject="y"))
    found = values(network.nodes[0])
    assert (found["chapar_events_published_total"], found["chapar_events_delivered_total"]) == (3, 1)
    assert (found["chapar_sessions.on"], found["chapar_sessions.off"]) == (1, 1)
    assert (found["chapar_session_queue_events"], found["chapar_session_flight_events"]) == (1, 0)
    assert found["chapar_table_used.sessions"] == 2
    assert found["chapar_table_limit.sessions"] == network.config.session_limit


def test_the_place_in_the_network_is_shown() -> None:
    """Role, peers, tables and routes of a broker with two neighbours."""
    network = FakeNetwork(chain(3))
    network.client("sub", at=0).subscribe(Filter(subject="x"))
    network.client("pub", at=2).publish(Event(subject="x", lifetime=60))
    network.run(10)
    node = network.nodes[1]
    found = values(node)
    assert found["chapar_role_info.broker.mpr"] == found["chapar_is_broker"] == 1
    assert found["chapar_peers"] == 2
    assert (found["chapar_fmt_homes"], found["chapar_fmt_filters"]) == (len(node.fmt), 1)
    assert (found["chapar_met_events"], found["chapar_met_bytes"]) == (1, node.met.bytes)
    assert (found["chapar_route_destinations"], found["chapar_route_neighbours"]) == (2, 2)
    assert values(network.nodes[2])["chapar_is_broker"] == 0


def test_what_is_around_the_node_is_shown(node: Node) -> None:
    """Sockets, disk, route source, HTTP, version."""
    around = AROUND._replace(
        mesh=Port(received=1, received_bytes=2, sent=3, sent_bytes=4, kernel_drops=5, send_errors=6),
        clients=Port(received=7, queue_drops=8, receive_errors=9),
        disk_fault="full",
        disk_pending=10,
        route_state="stale: gone",
        route_version=12,
        route_faults={"unreachable": 13},
        http_refused=11,
    )
    found = values(node, around)
    assert found["chapar_datagrams_total.received.mesh"] == 1
    assert found["chapar_bytes_total.received.mesh"] == 2
    assert found["chapar_datagrams_total.sent.mesh"] == 3
    assert found["chapar_bytes_total.sent.mesh"] == 4
    assert found["chapar_kernel_drops_total.mesh"] == 5
    assert found["chapar_send_errors_total.mesh"] == 6
    assert found["chapar_datagrams_total.received.client"] == 7
    assert found["chapar_send_queue_drops_total.client"] == 8
    assert found["chapar_receive_errors_total.client"] == 9
    assert (found["chapar_disk_fault"], found["chapar_disk_pending_saves"]) == (1, 10)
    assert (found["chapar_route_source_up"], found["chapar_route_version"]) == (0, 12)
    assert found["chapar_route_faults_total.unreachable"] == 13
    assert found["chapar_http_refused_total"] == 11
    assert found["chapar_build_info.1.2.3"] == 1
    assert values(node)["chapar_route_source_up"] == 1


def test_the_process_is_shown(node: Node) -> None:
    """Processor time and memory, under the names that dashboards know."""
    found = values(node)
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_resident_memory_bytes"] > 1e6


def test_two_daemons_in_one_process_keep_apart() -> None:
    """Each page shows its own node, as it is when the page is asked for."""
    network = FakeNetwork(nodes=[0, 1])
    one, other = (Metrics(network.nodes[index], lambda: AROUND) for index in (0, 1))
    network.client("c", at=0).publish(Event(subject="x"))
    for metrics, published in ((one, 1), (other, 0)):
        assert families(metrics)["chapar_events_published"].samples[0].value == published


def test_a_page_of_large_tables_is_quick() -> None:
    """A scrape holds the loop for less than 20 ms of processor time, the quickest of five tries."""
    homes, filters, events = 64, 100, 2048
    node = FakeNetwork(nodes=[0], config=quick(met_events=events)).nodes[0]
    for home in range(homes):
        wanted = [Filter(subject=f"{home}/{number}") for number in range(filters)]
        node.fmt.merge(home, 1, wanted, 0.0, 0.0)
    nobody = NodeVector.empty(64)
    for number in range(events):
        event = Event(subject="x", lifetime=600).accepted(id=event_id(1, 1, number), chain=1 + number)
        node.replicated.memorised.store(event, event.encode(), event.lifetime_ms, nobody, 0.0)
    metrics = Metrics(node, lambda: AROUND)
    costs = []
    for _ in range(5):
        start = process_time()
        metrics.page()
        costs.append(process_time() - start)
    found = values(node)
    assert (found["chapar_fmt_filters"], found["chapar_met_events"]) == (homes * filters, events)
    assert min(costs) < 0.02


def test_a_tree_shows_its_links_and_what_stands_over_them() -> None:
    """How many are up, and sums over all links: no neighbour becomes a series."""
    routing = Routing(mode=Mode.TREE, algorithm=Algorithm.COVERING)
    network = FakeNetwork(chain(2), config=quick(routing=routing, overlay=Overlay(((0, 1), (1, 2)))))
    network.run(2)
    network.client("s", at=0).subscribe(Filter(subject="x"))
    network.run(1)
    shown = values(network.nodes[1])
    assert shown["chapar_routing_info.covering.tree"] == 1
    assert (shown["chapar_overlay_links.up"], shown["chapar_overlay_links.down"]) == (1, 1)
    assert shown["chapar_overlay_interests.received.subscriptions"] == 1
    assert shown["chapar_overlay_interests.sent.subscriptions"] == 0
    assert shown["chapar_overlay_loops_total"] == 0
