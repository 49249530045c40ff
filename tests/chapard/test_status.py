"""What the daemon says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard import status
from chapard.core.config import Mode, Overlay, Routing
from chapard.core.effects import Loss, Reason
from chapard.core.nodevector import NodeVector
from chapard.core.overlay.router import Algorithm
from chapard.ledger import Ledger
from chapard.status import MOST_LISTED, MOST_NODES, MOST_TEXT, Port, Surroundings, pages
from fake_network import FakeNetwork, a_beacon, chain, mesh, quick

AROUND = Surroundings(
    version="1.2.3", address="10.0.0.1", started=999_990.0, route_source="static", route_state="ok", route_version=4
)


@pytest.fixture
def network() -> FakeNetwork:
    """Three in a row: a subscriber at 0, the broker 1, a publisher at 2, all settled."""
    network = FakeNetwork(chain(3))
    network.run(10)
    network.client("sub", at=0).subscribe(Filter(subject="temp", where="celsius > 20"))
    network.run(2)
    return network


def said(
    network: FakeNetwork, path: str, *, node: int = 1, around: Surroundings = AROUND, ledger: Ledger | None = None
) -> dict[str, Any]:
    """A page as a client reads it."""
    listed = pages(network.nodes[node], ledger or Ledger(node), lambda: around, lambda: network.now)
    code, content_type, body = listed[path]()
    assert code == 200
    assert content_type.startswith("application/json")
    answer: dict[str, Any] = json.loads(body)
    return answer


def test_the_summary_says_who_and_where_and_how(network: FakeNetwork) -> None:
    """Identity, role with its reason, sizes and digests of the tables, sessions, routes."""
    network.client("pub", at=1).publish(Event(subject="temp", attributes={"celsius": 21.5}, lifetime=60))
    network.run(2)
    summary = said(network, "/status", around=AROUND._replace(started=network.now - 12.5))
    node = network.nodes[1]
    assert summary["version"] == "1.2.3"
    assert summary["node"] == {"index": 1, "incarnation": 1, "address": "10.0.0.1", "uptime_seconds": 12.5}
    assert summary["role"] == {
        "role": "broker", "why": "mpr: it is the relay of nodes 0, 2", "broker": 1, "power": "full",
    }  # fmt: skip
    assert summary["peers"] == 2
    assert summary["tables"]["fmt"] == {
        "homes": len(node.fmt), "filters": 1, "digest": f"{node.fmt.tree.root:016x}",
    }  # fmt: skip
    assert summary["tables"]["met"] == {
        "events": 1, "bytes": node.met.bytes, "digest": f"{node.met.tree.root:016x}",
    }  # fmt: skip
    assert summary["sessions"] == {"on": 1, "off": 0, "queued": 0}
    assert summary["routes"] == {
        "source": "static", "state": "ok", "version": 4, "faults": {}, "destinations": 2, "neighbours": 2,
    }  # fmt: skip
    assert summary["sizes"]["met"] == [1, node.config.met_events]
    assert summary["disk"] == {"state": "ok", "pending": 0}


def test_two_brokers_that_agree_show_the_same_digests(network: FakeNetwork) -> None:
    """A person compares them by eye."""
    one, other = (said(network, "/status", node=each)["tables"]["fmt"] for each in (0, 1))
    assert one == other
    assert one["digest"] != f"{0:016x}"


def test_drops_and_losses_are_told_with_their_reasons(network: FakeNetwork) -> None:
    """Those that happened, no others."""
    before = said(network, "/status")
    outlet = network.nodes[1].outlet
    outlet.drop(Reason.MALFORMED, peer=0)
    outlet.drop(Reason.MALFORMED, peer=0)
    outlet.lose(event_id(1, 1, 1), NodeVector.of([0], 64), Reason.EXPIRED)
    after = said(network, "/status")
    assert after["drops"] == before["drops"] | {"malformed": 2}
    assert after["losses"] == before["losses"] | {"expired": 1}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "ok"),
        ({"is_durable": False}, "off"),
        ({"disk_fault": "full", "disk_pending": 3}, "fault: full"),
    ],
)
def test_the_disk_is_well_or_not(network: FakeNetwork, changes: dict[str, Any], state: str) -> None:
    """On, off, or at fault with the reason."""
    disk = said(network, "/status", around=AROUND._replace(**changes))["disk"]
    assert disk == {"state": state, "pending": changes.get("disk_pending", 0)}


def test_kernel_drops_of_both_ports_add_up(network: FakeNetwork) -> None:
    """One number tells whether buffers are too small."""
    around = AROUND._replace(mesh=Port(kernel_drops=3), clients=Port(kernel_drops=4))
    assert said(network, "/status", around=around)["kernel_drops"] == 7


def test_peers_are_described_by_their_beacons(network: FakeNetwork) -> None:
    """Whom they chose, whom they hear, and when they were heard."""
    heard = network.nodes[0].station.peers.get(1)
    assert heard is not None
    network.now = heard.heard + 1.5
    assert said(network, "/status/peers", node=0) == {
        "peers": [
            {
                "index": 1,
                "broker": 1,
                "is_broker": True,
                "incarnation": 1,
                "heard_seconds_ago": 1.5,
                "neighbours": [0, 2],
            }
        ],
        "truncated": False,
    }


def test_a_peer_without_a_broker_has_none() -> None:
    """It is null, not a number that means none."""
    network = FakeNetwork(nodes=[0])
    network.inject(0, a_beacon(5))
    assert said(network, "/status/peers", node=0)["peers"][0]["broker"] is None


def test_the_fmt_is_listed_by_home(network: FakeNetwork) -> None:
    """Filters in the language they were written in."""
    listed = said(network, "/status/fmt")
    (home,) = [each for each in listed["homes"] if each["filters"]]
    assert home["home"] == 0
    assert [Filter.parse(text) for text in home["filters"]] == [Filter(subject="temp", where="celsius > 20")]
    assert home["version"] == network.nodes[0].home.interests.version
    assert not listed["truncated"]


def test_the_met_is_listed_in_order(network: FakeNetwork) -> None:
    """Who wants an event and who has it; a persistent one does not expire."""
    publisher = network.client("pub", at=2)
    publisher.publish(Event(subject="temp", attributes={"celsius": 30}, payload=b"x" * 10, lifetime=60))
    publisher.publish(Event(type="order", to=[40], persistent=True))
    network.run(5)
    first, second = said(network, "/status/met")["events"]
    memories = list(network.nodes[1].met)
    expires = first.pop("expires_seconds")
    assert first == {
        "id": "2.1.1",
        "delivery": "lifetime",
        "subject": "temp",
        "bytes": len(memories[0].body),
        "wanted": [0],
        "delivered": [0, 2],
    }
    assert 54 < expires < 56
    assert (second["id"], second["delivery"], second["subject"]) == ("2.1.2", "persistent", None)
    assert second["expires_seconds"] is None
    assert second["wanted"] == [40]
    assert 40 not in second["delivered"]


def test_clients_are_listed_with_what_waits_for_them(network: FakeNetwork) -> None:
    """A client that is OFF has a queue that fills."""
    network.clients["sub"].off()
    publisher = network.client("pub", at=0)
    for celsius in (21, 22, 23):
        publisher.publish(Event(subject="temp", attributes={"celsius": celsius}))
    pub, sub = said(network, "/status/clients", node=0)["clients"]
    assert sub == {"client": "sub", "state": "off", "subscriptions": 1, "queue": 3, "in_flight": 0, "published": 0}
    assert (pub["client"], pub["state"], pub["published"]) == ("pub", "on", 3)
    assert said(network, "/status", node=0)["sessions"] == {"on": 1, "off": 1, "queued": 3}


def test_routes_are_listed_by_destination(network: FakeNetwork) -> None:
    """With the source they come from."""
    assert said(network, "/status/routes", node=0) == {
        "source": "static",
        "state": "ok",
        "version": 4,
        "faults": {},
        "routes": [
            {"destination": 1, "next_hop": 1, "hops": 1},
            {"destination": 2, "next_hop": 1, "hops": 2},
        ],
        "neighbours": [1],
        "mprs": [1],
        "selectors": [],
        "two_hop": None,
        "quality": None,
        "truncated": False,
    }


def test_a_live_source_tells_more(network: FakeNetwork) -> None:
    """Who hears whom, how well, and what was wrong with what the source said, by kind; what never was is left out."""
    around = AROUND._replace(
        route_source="olsrd",
        route_state="stale: refused",
        route_faults={"unreachable": 2, "syntax": 0},
        two_hop={1: frozenset({2, 0})},
        quality={1: 0.98765},
    )
    listed = said(network, "/status/routes", node=0, around=around)
    assert (listed["source"], listed["state"], listed["faults"]) == ("olsrd", "stale: refused", {"unreachable": 2})
    assert (listed["two_hop"], listed["quality"]) == ({"1": [0, 2]}, {"1": 0.988})
    assert said(network, "/status", node=0, around=around)["routes"]["faults"] == {"unreachable": 2}


def test_unknown_relays_are_null() -> None:
    """Where routing knows none, that is not the same as nobody."""
    network = FakeNetwork(chain(2), knows_mprs=False)
    listed = said(network, "/status/routes", node=0)
    assert (listed["mprs"], listed["selectors"]) == (None, None)


def test_losses_are_listed_by_event(network: FakeNetwork) -> None:
    """Which homes did not get it, why, and how long ago; and how many there were in all."""
    ledger = Ledger(1)
    ledger.note(Loss(event_id(2, 1, 5), NodeVector.of([0, 3], 16), Reason.NO_ROUTE), network.now - 4)
    assert said(network, "/status/losses", ledger=ledger) == {
        "total": 1,
        "losses": [
            {"number": 1, "seconds_ago": 4.0, "id": "2.1.5", "homes": [0, 3], "reason": "no_route", "client": None}
        ],
        "truncated": False,
    }


def test_health_is_one_line() -> None:
    """A disk at fault degrades the daemon; only what keeps it from serving at all is ill health."""
    node = FakeNetwork(nodes=[0]).nodes[0]

    def healthz(**changes: Any) -> tuple[int, bytes]:
        code, _, body = pages(node, Ledger(0), lambda: AROUND._replace(**changes), lambda: 0.0)["/healthz"]()
        return code, body

    assert healthz() == (200, b"ok\n")
    assert healthz(disk_fault="full") == (200, b"degraded: disk full\n")
    assert healthz(trouble="stopping", disk_fault="full") == (503, b"stopping\n")


# Bounds


def test_so_many_filters_are_listed_and_no_more() -> None:
    """A thousand in all, of however many homes; the rest is said to be missing."""
    node = FakeNetwork(nodes=[0]).nodes[0]
    for home in (1, 2):
        node.fmt.merge(home, 1, [Filter(subject=f"{home}/{n}") for n in range(600)], 0.0, 0.0)
    listed = status.fmt(node)
    assert sum(len(home["filters"]) for home in listed["homes"]) == MOST_LISTED
    assert listed["truncated"]
    node.fmt.forget(2)
    assert not status.fmt(node)["truncated"]


def test_long_filters_are_not_all_listed() -> None:
    """What an answer weighs is bounded, however long filters are."""
    node = FakeNetwork(nodes=[0]).nodes[0]
    values = ", ".join(f"'{n:03d}{'x' * 40}'" for n in range(256))
    long = [Filter(subject=str(n), where=f"a in ({values})") for n in range(200)]
    node.fmt.merge(1, 1, long, 0.0, 0.0)
    listed = status.fmt(node)
    texts = [text for home in listed["homes"] for text in home["filters"]]
    assert listed["truncated"]
    assert MOST_TEXT // 2 < sum(map(len, texts)) <= MOST_TEXT
    assert texts == [str(each) for each in long[: len(texts)]]


def test_so_many_events_are_listed_and_no_more() -> None:
    """The first thousand."""
    network = FakeNetwork(nodes=[0])
    publisher = network.client("pub", at=0)
    for _ in range(MOST_LISTED + 1):
        publisher.publish(Event(lifetime=600))
    listed = said(network, "/status/met", node=0)
    assert len(listed["events"]) == MOST_LISTED
    assert listed["truncated"]


def test_so_many_clients_are_listed_and_no_more() -> None:
    """The first thousand, by name."""
    network = FakeNetwork(nodes=[0], config=quick(session_limit=MOST_LISTED + 1))
    for number in range(MOST_LISTED):
        network.client(f"{number:04d}", at=0)
    assert not said(network, "/status/clients", node=0)["truncated"]
    network.client("one more", at=0)
    listed = said(network, "/status/clients", node=0)
    assert len(listed["clients"]) == MOST_LISTED
    assert listed["truncated"]


def test_so_many_nodes_are_listed_and_no_more() -> None:
    """Node vectors of a large network do not make an answer of many megabytes."""
    network = FakeNetwork(nodes=[0], config=quick(nodes=512))
    everyone = ~NodeVector.empty(512)
    for peer in range(1, 200):
        network.inject(0, a_beacon(peer)._replace(neighbours=everyone.to_wire()))
    listed = said(network, "/status/peers", node=0)
    assert sum(len(peer["neighbours"]) for peer in listed["peers"]) == MOST_NODES
    assert [peer["index"] for peer in listed["peers"]] == list(range(1, 200))
    assert listed["truncated"]


def test_so_many_two_hop_neighbours_are_listed_and_no_more(network: FakeNetwork) -> None:
    """A source may know millions of them."""
    everyone = frozenset(range(4096))
    around = AROUND._replace(two_hop=dict.fromkeys(range(20), everyone))
    listed = said(network, "/status/routes", node=0, around=around)
    assert sum(map(len, listed["two_hop"].values())) == MOST_NODES
    assert listed["truncated"]


def test_a_full_mesh_is_listed_whole() -> None:
    """The bounds are above what an ordinary network has."""
    network = FakeNetwork(mesh(6))
    network.run(5)
    assert not said(network, "/status/peers")["truncated"]


def test_the_summary_shows_the_links_of_a_tree(network: FakeNetwork) -> None:
    """Mode and algorithm, and for each link its state, the interests received and sent, and events that came round."""
    assert said(network, "/status")["routing"] == {"mode": "chapar"}
    config = quick(routing=Routing(mode=Mode.TREE), overlay=Overlay(((0, 1), (1, 2))))
    tree = FakeNetwork(chain(2), config=config)
    tree.run(2)
    tree.client("s", at=0).subscribe(Filter(subject="x"))
    tree.run(1)
    nothing = {"received": 0, "sent": 0}
    up = {"neighbour": 0, "state": "up", "subscriptions": {"received": 1, "sent": 0}, "advertisements": nothing}
    down = {"neighbour": 2, "state": "down", "subscriptions": nothing, "advertisements": nothing}
    summary = said(tree, "/status")
    assert summary["routing"] == {
        "mode": "tree", "algorithm": "identity", "advertisements": False, "loops": 0, "sent": {},
        "links": [{**up, "loops": 0}, {**down, "loops": 0}],
    }  # fmt: skip
    assert summary["role"]["why"].startswith("tree: ")


def test_auto_shows_its_choices_with_the_numbers_behind_them() -> None:
    """Rates and costs per second once enough was seen, and null before.

    All five events a second are wanted, so filtering costs the refreshes besides, and the class is flooded.
    """
    routing = Routing(mode=Mode.TREE, algorithm=Algorithm.AUTO, refresh_period=1.0)
    tree = FakeNetwork(chain(2), config=quick(routing=routing, overlay=Overlay(((0, 1),))))
    tree.run(2)
    publisher, subscriber = tree.client("p", at=0), tree.client("s", at=1)
    subscriber.subscribe(Filter(subject="x"))
    tree.run(1)
    [choice] = said(tree, "/status")["routing"]["choices"]
    assert 0 <= choice.pop("seconds_ago") <= 2
    assert choice == {
        "neighbour": 0, "subject": "x", "type": None, "routed": "filtering", "forced": False,
        "rates": None, "costs": None,
    }  # fmt: skip
    for _ in range(30):
        for _ in range(5):
            publisher.publish(Event(subject="x"))
        tree.run(1)
    routed = said(tree, "/status")["routing"]
    [choice] = routed["choices"]
    assert choice["routed"] == "flooding"
    assert choice["rates"]["omega"] == pytest.approx(5, rel=0.2)
    assert choice["costs"]["flooding"] < choice["costs"]["filtering"]
    assert not routed["truncated"]


def test_filters_on_a_tree_are_those_of_its_links() -> None:
    """What the node's own clients want, and what was received and sent over each link that is up, within the bounds."""
    routing = Routing(mode=Mode.TREE)
    tree = FakeNetwork(chain(2), config=quick(routing=routing, overlay=Overlay(((0, 1), (1, 2)))))
    tree.run(2)
    tree.client("s", at=0).subscribe(Filter(subject="x"))
    tree.run(1)
    assert said(tree, "/status/fmt") == {
        "homes": [],
        "links": [
            {"neighbour": None, "received": [], "sent": []},
            {"neighbour": 0, "received": ['subject = "x"'], "sent": []},
        ],
        "truncated": False,
    }
    greedy = tree.client("greedy", at=0)
    for number in range(MOST_LISTED + 1):
        greedy.subscribe(Filter(subject=str(number)))
    tree.run(3)
    listed = said(tree, "/status/fmt")
    assert listed["truncated"]
    assert len(listed["links"][1]["received"]) == MOST_LISTED
