"""babeld's local protocol: what was recorded, and what nobody should have said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr import babel
from chapar_olsr.babel import Answer, Babel
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.source import Identity
from chapar_olsr.view import Route, RouteView

RECORDED = Path(__file__).resolve().parent.parent / "vectors" / "babeld"
GREETING = ("BABEL 1.0", "version babeld-1.12.1", "host node", "my-id 02:00:00:00:00:00:00:01", "ok")


def index_of(address: str) -> int | None:
    """Node I has the addresses 10.66.0.I and fd66::I."""
    for prefix, base in (("10.66.0.", 10), ("fd66::", 16)):
        if address.startswith(prefix):
            return int(address.removeprefix(prefix), base)
    return None


def identity(index: int = 1, *, version: int = 4) -> Identity:
    return Identity(index, f"10.66.0.{index}" if version == 4 else f"fd66::{index:x}", index_of)


def recorded(name: str) -> list[str]:
    return (RECORDED / name).read_text(encoding="ascii").splitlines()


def told(*lines: str) -> tuple[Babel, Faults]:
    faults = Faults()
    machine = Babel(faults)
    for line in lines:
        machine.receive_untrusted(line)
    return machine, faults


def view(*lines: str, index: int = 1) -> RouteView:
    return told(*GREETING, *lines)[0].view(identity(index))


def neighbour(node: int, *, cost: int = 96, verb: str = "add", interface: str = "wlan0") -> str:
    reach = f"reach ffff ureach 0000 rxcost {cost} txcost {cost} cost {cost}"
    return f"{verb} neighbour 5{node:x} address fe80::{node:x} if {interface} {reach}"


def route(
    to: int | str,
    over: int,
    *,
    refmetric: int = 0,
    metric: int = 96,
    installed: str = "yes",
    verb: str = "add",
    source: str = "0.0.0.0/0",
) -> str:
    prefix = f"10.66.0.{to}/32" if isinstance(to, int) else to
    return (
        f"{verb} route {over}-{prefix} prefix {prefix} from {source} installed {installed} "
        f"id 02:00:00:00:00:00:00:0{over} metric {metric} refmetric {refmetric} via fe80::{over:x} if wlan0"
    )


# Recorded


@pytest.mark.parametrize("version", [4, 6])
def test_the_middle_of_a_chain(version: int) -> None:
    """Neighbours on both sides, and next hops and hop counts to the ends, whichever family the node goes by."""
    machine, faults = told(*recorded("chain_middle.txt"))
    assert machine.view(identity(3, version=version)) == RouteView(
        index=3,
        neighbours=frozenset({2, 4}),
        routes={1: Route(2, 2), 2: Route(2, 1), 4: Route(4, 1), 5: Route(4, 2)},
        mprs=None,
        selectors=None,
        address=identity(3, version=version).address,
    )
    assert not faults.counts


def test_a_route_that_is_not_installed_is_none() -> None:
    """In a diamond node 1 hears of every node from both of its neighbours, and uses one way to each."""
    machine, faults = told(*recorded("diamond.txt"))
    found = machine.view(identity())
    assert found.neighbours == {2, 3}
    assert dict(found.routes) == {2: Route(2, 1), 3: Route(3, 1), 4: Route(3, 2), 5: Route(3, 3)}
    assert not faults.counts


def test_hops_over_radio_links() -> None:
    """Where costs have settled to within some percent of each other, hop counts are exact."""
    machine, faults = told(*recorded("radio.txt"))
    assert {to: way.hops for to, way in machine.view(identity()).routes.items()} == {2: 1, 3: 2, 4: 3, 5: 4}
    assert not faults.counts


def test_a_cut_is_followed() -> None:
    """While the link is cut babeld keeps its lost routes as installed, with an infinite metric: they are none."""
    lines = recorded("chain_end_cut.txt")
    machine, faults = told()
    reached: list[set[int]] = []
    for line in lines:
        machine.receive_untrusted(line)
        nodes = set(machine.view(identity()).routes)
        if not reached or reached[-1] != nodes:
            reached.append(nodes)
    assert reached[-1] == {2, 3, 4, 5}
    assert {2, 3} in reached[reached.index({2, 3, 4, 5}) :]
    assert not faults.counts


def test_what_is_flushed_is_forgotten() -> None:
    """In the end nothing is left of a neighbour that went, and nothing was misread on the way."""
    lines = recorded("chain_end_lost.txt")
    machine, faults = told(*lines)
    assert machine.view(identity()) == RouteView(1, mprs=None, selectors=None, address="10.66.0.1")
    lost = next(number for number, line in enumerate(lines) if line.startswith("change neighbour"))
    half_way, _ = told(*lines[: lost + 1])
    assert not half_way.view(identity()).routes, "its cost was infinite long before it was flushed"
    assert not faults.counts


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDED.glob("*.txt")))
def test_the_order_of_a_table_is_of_no_account(name: str) -> None:
    """babeld tells its table in the order of its memory."""
    lines = recorded(name)
    start, end = (number for number, line in enumerate(lines) if line == "ok")
    table = lines[start + 1 : end]
    forth, _ = told(*lines[: start + 1], *table)
    back, _ = told(*lines[: start + 1], *reversed(table))
    assert forth.view(identity(9)) == back.view(identity(9))


# Rules


def test_answers_are_told_from_news() -> None:
    """`ok` ends an answer, the greeting included; `no` and `bad` refuse."""
    machine, faults = told()
    assert [machine.receive_untrusted(line) for line in GREETING] == [None, None, None, None, Answer.OK]
    assert machine.is_greeted
    assert machine.receive_untrusted(neighbour(2)) is None
    assert machine.receive_untrusted("no Couldn't flush interface") is Answer.REFUSED
    assert machine.receive_untrusted("bad") is Answer.REFUSED
    assert not faults.counts


def test_nothing_counts_before_the_greeting() -> None:
    """Somebody else's server may say ok, too."""
    machine, faults = told("HTTP/1.1 200 OK", "ok", neighbour(2), "BABEL 2.0")
    assert not machine.is_greeted
    assert faults.counts == {Fault.SYNTAX: 4}


def test_a_neighbour_of_infinite_cost_is_none() -> None:
    """It was heard, but did not hear us; whatever leads over it is gone with it."""
    assert view(neighbour(2), route(2, 2)).neighbours == {2}
    assert view(neighbour(2, cost=65535), route(2, 2), route(3, 2, refmetric=96)).routes == {}


def test_a_neighbour_is_known_by_what_it_announces() -> None:
    """Before its own route is there nobody knows which node it is, and routes over it wait."""
    assert view(neighbour(2), route(3, 2, refmetric=96)).routes == {}
    assert dict(view(neighbour(2), route(3, 2, refmetric=96), route(2, 2, installed="no")).routes) == {
        2: Route(2, 1),
        3: Route(2, 2),
    }


def test_a_neighbour_known_by_its_node_address_needs_no_route() -> None:
    """Where babeld's neighbour address is a node's own."""
    line = neighbour(2).replace("fe80::2", "fd66::2")
    assert view(line).neighbours == {2}


def test_a_neighbour_that_announces_others_only_is_told() -> None:
    """Most likely a prefix is missing in somebody's configuration."""
    machine, faults = told(*GREETING, neighbour(2), route("192.0.2.2/32", 2))
    assert machine.view(identity()).neighbours == frozenset()
    assert faults.counts == {Fault.OUTSIDE_PREFIX: 1}
    assert [detail for _, _, detail in faults.news(0.0)] == ["the babel neighbour fe80::2 announces 192.0.2.2 only"]


def test_the_same_address_on_two_interfaces_is_two_neighbours() -> None:
    """Link-local addresses belong to a link: a route over one interface is none over the other."""
    found = view(neighbour(2, interface="eth0"), route(2, 2))
    assert found.neighbours == frozenset()


@pytest.mark.parametrize(
    ("refmetric", "cost", "hops"), [(96, 96, 2), (1, 96, 2), (288, 96, 4), (130, 96, 2), (160, 96, 3), (65534, 1, 255)]
)
def test_hops_follow_from_the_cost_of_the_link(refmetric: int, cost: int, hops: int) -> None:
    """Each hop is taken to cost as much as the first: at least two, and no more than IP allows."""
    found = view(neighbour(2, cost=cost), route(2, 2), route(3, 2, refmetric=refmetric))
    assert found.routes[3] == Route(2, hops)


def test_networks_and_routes_for_some_sources_are_passed_over() -> None:
    """They are no routes to a node, and no fault."""
    machine, faults = told(
        *GREETING,
        neighbour(2),
        route(2, 2),
        route("0.0.0.0/0", 2, refmetric=96),
        route("10.66.0.0/24", 2, refmetric=96),
        route(3, 2, refmetric=96, source="10.66.0.1/32"),
    )
    assert dict(machine.view(identity()).routes) == {2: Route(2, 1)}
    assert not faults.counts


def test_the_version_rises_with_news_only() -> None:
    """babeld repeats itself with every hello; that must cost nothing."""
    machine, _ = told(*GREETING, neighbour(2), route(2, 2))
    known = machine.version
    machine.receive_untrusted(neighbour(2, verb="change").replace("reach ffff", "reach 7fff"))
    machine.receive_untrusted(route(2, 2, verb="change"))
    machine.receive_untrusted(route(7, 2, verb="flush"))
    assert machine.version == known
    machine.receive_untrusted(neighbour(2, verb="change", cost=97))
    assert machine.version == known + 1


def test_a_change_of_something_unknown_enters_it() -> None:
    """What did not fit at first is there as soon as there is room and babeld repeats it."""
    assert view(neighbour(2, verb="change"), route(2, 2, verb="change")).neighbours == {2}


def test_tables_are_bounded() -> None:
    """One more than fits is counted, and leaves the others alone; what was flushed makes room."""
    machine, faults = told(*GREETING)
    for number in range(babel.MAX_NEIGHBOURS + 1):
        machine.receive_untrusted(f"add neighbour {number:x} address fe80::{number:x} if wlan0 cost 96")
    assert faults.counts == {Fault.FULL: 1}
    machine.receive_untrusted("flush neighbour 7 address fe80::7 if wlan0 cost 96")
    machine.receive_untrusted("add neighbour ffff address fe80::ffff if wlan0 cost 96")
    assert faults.counts == {Fault.FULL: 1}


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "hello",
        "add",
        "add neighbour",
        "add planet 5",
        "add neighbour 52 address",
        "add neighbour 52 address fe80::2 if wlan0",
        "add neighbour 52 address nowhere if wlan0 cost 96",
        "add neighbour 52 address fe80::2 if wlan0 cost -1",
        "add neighbour 52 address fe80::2 if wlan0 cost ninety",
        "add neighbour 52 address fe80::2 if wlan0 cost " + "9" * 30,
        "add neighbour 52 address fe80::2 if wlan0 cost ٣",
        "add neighbour 52 address fe80::2 if " + "w" * 600 + " cost 96",
        route(2, 2).replace("10.66.0.2/32", "10.66.0.2/33"),
        route(2, 2).replace("10.66.0.2/32", "10.66.0.2/24"),
        route(2, 2).replace("via fe80::2", "via 2"),
        route(2, 2).replace(" metric 96", ""),
    ],
)
def test_a_line_that_makes_no_sense_is_counted(line: str) -> None:
    """It changes nothing, and is told in one short line."""
    machine, faults = told(*GREETING)
    known = machine.version
    assert machine.receive_untrusted(line) is None
    assert faults.counts == {Fault.SYNTAX: 1}
    assert machine.version == known
    [(_, _, detail)] = faults.news(0.0)
    assert len(detail) < 120
    assert "\n" not in detail


def test_words_that_a_later_babeld_adds_are_passed_over() -> None:
    """Neither a new pair in a line nor a line about interfaces or own routes is a fault."""
    machine, faults = told(
        *GREETING,
        neighbour(2) + " rtt 0.417 rttcost 0 colour blue",
        route(2, 2) + " age 7",
        "add interface wlan0 up true ipv6 fe80::1 ipv4 10.66.0.1",
        "add interface eth0 up false",
        "flush xroute 10.66.0.1/32-0.0.0.0/0 prefix 10.66.0.1/32 from 0.0.0.0/0 metric 0",
    )
    assert machine.view(identity()).neighbours == {2}
    assert not faults.counts


WORDS = (
    *("add", "change", "flush", "neighbour", "route", "xroute", "interface", "ok", "no", "bad", "BABEL 1.0"),
    *("address", "if", "cost", "prefix", "from", "installed", "metric", "refmetric", "via", "yes", "no", "wlan0"),
    *("fe80::2", "10.66.0.2", "10.66.0.2/32", "fd66::3/128", "0.0.0.0/0", "::/0", "0", "96", "65535", "-1", "9" * 40),
)
LINES = tuple(line for name in ("chain_middle.txt", "chain_end_lost.txt") for line in recorded(name))


@given(st.lists(st.sampled_from(LINES) | st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text(max_size=40)))
def test_no_line_raises(lines: list[str]) -> None:
    """Whatever is said in whatever order gives a view in which every route leads over a neighbour."""
    machine, _ = told(*lines)
    found = machine.view(identity(3))
    assert all(way.next_hop in found.neighbours for way in found.routes.values())
    assert all((way.hops == 1) is (way.next_hop == to) for to, way in found.routes.items())
