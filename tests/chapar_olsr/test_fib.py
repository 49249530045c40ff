"""What is made of the kernel's routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr import fib
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.fib import ASKING, FAILED_HOLD, MAIN_TABLE, Fib, KernelRoute
from chapar_olsr.source import Identity
from chapar_olsr.view import Route, RouteView


def index_of(address: str) -> int | None:
    """Node I has the addresses 10.66.0.I and fd66::I."""
    for prefix, base in (("10.66.0.", 10), ("fd66::", 16)):
        if address.startswith(prefix):
            return int(address.removeprefix(prefix), base)
    return None


def made(*routes: KernelRoute, address: str = "10.66.0.1", tables: tuple[int, ...] = (MAIN_TABLE,)) -> Fib:
    table = Fib(Identity(1, address, index_of), Faults(), tables)
    table.replace(routes)
    return table


def to(
    node: int,
    over: int | None = None,
    *,
    metric: int = 0,
    interface: int = 2,
    table: int = MAIN_TABLE,
    is_unicast: bool = True,
) -> KernelRoute:
    gateway = "" if over is None else f"10.66.0.{over}"
    return KernelRoute(f"10.66.0.{node}", 32, gateway, interface, metric, table, is_unicast)


def to6(node: int, gateway: str, *, metric: int) -> KernelRoute:
    return KernelRoute(f"fd66::{node:x}", 128, gateway, 2, metric)


# Routes


def test_routes_of_olsrd() -> None:
    """Neighbours are on the link, and the metric is the number of hops."""
    found = made(to(2, metric=1), to(3, 2, metric=2), to(4, 2, metric=3)).view()
    assert found == RouteView(
        index=1,
        neighbours=frozenset({2}),
        routes={2: Route(2, 1), 3: Route(2, 2), 4: Route(2, 3)},
        mprs=None,
        selectors=None,
        address="10.66.0.1",
    )


def test_routes_of_babeld() -> None:
    """A neighbour is its own gateway; without hop counts in the metric, all others are at least two hops away."""
    found = made(to(2, 2), to(3, 2), to(4, 2)).view()
    assert found.neighbours == {2}
    assert dict(found.routes) == {2: Route(2, 1), 3: Route(2, 2), 4: Route(2, 2)}


@pytest.mark.parametrize(("metric", "hops"), [(0, 2), (1, 2), (2, 2), (3, 3), (64, 64), (65, 2), (1024, 2)])
def test_a_metric_is_a_hop_count_where_it_can_be_one(metric: int, hops: int) -> None:
    """Larger ones are somebody's preference, and smaller ones no hop count of somebody who is no neighbour."""
    assert made(to(2, 2), to(3, 2, metric=metric)).view().routes[3] == Route(2, hops)


def test_a_gateway_is_a_neighbour() -> None:
    """Also if there is no route to itself."""
    assert made(to(3, 2, metric=2)).view().neighbours == {2}


def test_a_neighbour_that_is_reached_over_another_is_none() -> None:
    """The daemon knows why it does not use the direct link."""
    found = made(to(3), to(2, 3, metric=2)).view()
    assert found.neighbours == {3}
    assert found.routes[2] == Route(3, 2)


def test_the_lowest_metric_is_used() -> None:
    """As the kernel does."""
    found = made(to(4), to(2), to(3, 2, metric=5), to(3, 4, metric=3)).view()
    assert found.routes[3] == Route(4, 3)


def test_what_is_no_route_to_a_node_is_no_route() -> None:
    """Networks, strangers, ourselves, other tables, unreachable: none is a fault, and each change causes nothing."""
    table = made(to(2))
    strangers = [
        KernelRoute("10.66.0.0", 24, "", 2, 0),
        KernelRoute("0.0.0.0", 0, "10.66.0.2", 2, 0),  # noqa: S104 - the default route
        KernelRoute("192.0.2.1", 32, "10.66.0.2", 2, 0),
        KernelRoute("10.66.0.1", 32, "10.66.0.2", 2, 0),
        to(5, 2, table=100),
        to(6, 2, is_unicast=False),
    ]
    assert [table.add(each, 0.0) for each in strangers] == [False] * 6
    assert [table.remove(each) for each in strangers] == [False] * 6
    assert dict(table.view().routes) == {2: Route(2, 1)}


def test_other_tables_count_if_named() -> None:
    """The first that is named goes before the others, whatever the metrics."""
    table = made(to(3, table=100, metric=9), to(3, 2, metric=2), to(2), tables=(100, MAIN_TABLE))
    assert table.view().neighbours == {2, 3}


def test_a_gateway_outside_the_network_is_left_out() -> None:
    """Nobody knows which node it is; it is no fault of anybody."""
    table = made(KernelRoute("10.66.0.3", 32, "192.0.2.1", 2, 2))
    assert table.view().routes == {}


def test_ipv6_gateways_are_known_by_their_own_route() -> None:
    """A route with metric 1 over a link-local gateway is to that gateway; without one they have no name."""
    near, far = to6(2, "fe80::2", metric=1), to6(3, "fe80::2", metric=2)
    found = made(near, far, address="fd66::1").view()
    assert dict(found.routes) == {2: Route(2, 1), 3: Route(2, 2)}
    assert made(far, address="fd66::1").view().routes == {}


def test_of_two_families_ours_speaks_for_a_node() -> None:
    """A node with routes to both of its addresses is one node, and that is no fault."""
    routes = (to(2), to(3, 2, metric=2), to6(3, "", metric=1))
    assert made(*routes).view().routes[3] == Route(2, 2)
    assert made(*routes, address="fd66::1").view().routes[3] == Route(3, 1)


# Changes


def test_a_route_is_replaced_by_destination_and_metric() -> None:
    """What removes the one before it, later, removes nothing."""
    table = made(to(2), to(4), to(3, 2, metric=2))
    assert table.add(to(3, 4, metric=2), 0.0)
    assert not table.add(to(3, 4, metric=2), 0.0)
    assert not table.remove(to(3, 2, metric=2))
    assert table.view().routes[3] == Route(4, 2)
    assert table.remove(to(3, 4, metric=2))
    assert 3 not in table.view().routes


def test_an_unreachable_route_takes_the_place_of_another() -> None:
    """babeld writes one where it lost a route."""
    table = made(to(2), to(3, 2))
    assert table.add(to(3, 2, is_unicast=False), 0.0)
    assert set(table.view().routes) == {2}


def test_a_table_that_is_read_again_says_whether_it_differs() -> None:
    """Only then is there a new view."""
    table = made(to(2), to(3, 2))
    assert not table.replace([to(3, 2), to(2), KernelRoute("10.66.0.0", 24, "", 2, 0)])
    assert table.replace([to(2)])
    assert set(table.view().routes) == {2}


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is counted."""
    monkeypatch.setattr(fib, "MAX_ROUTES", 2)
    faults = Faults()
    table = Fib(Identity(1, "10.66.0.1", index_of), faults)
    table.replace([to(2), to(3), to(4)])
    assert table.view().neighbours == {2, 3}
    assert faults.counts == {Fault.FULL: 1}


# Neighbours that do not answer


def test_a_neighbour_that_does_not_answer_is_gone() -> None:
    """And so is what leads over it; it is back when it answers."""
    table = made(to(2), to(3, 2, metric=2), to(4))
    assert table.failed("10.66.0.2", now=100.0)
    assert not table.failed("10.66.0.2", now=100.5), "that was known"
    assert dict(table.view().routes) == {4: Route(4, 1)}
    assert table.resolved("10.66.0.2")
    assert not table.resolved("10.66.0.2")
    assert set(table.view().routes) == {2, 3, 4}


def test_a_link_local_gateway_that_does_not_answer_is_gone() -> None:
    """IPv6 asks for the gateway, not for the node behind it."""
    table = made(to6(2, "fe80::2", metric=1), to6(3, "fe80::2", metric=2), address="fd66::1")
    assert table.failed("fe80::2", now=0.0)
    assert table.view().routes == {}


def test_who_is_no_neighbour_need_not_answer() -> None:
    """Somebody tried to reach a far node, or a stranger, on the link: that says nothing."""
    table = made(to(2), to(3, 2, metric=2))
    assert not table.failed("10.66.0.3", now=0.0)
    assert not table.failed("192.0.2.1", now=0.0)
    table.add(to(3), 1.0)
    assert table.view().neighbours == {2, 3}


def test_a_failure_is_forgotten_in_time() -> None:
    """Nobody who believes it would ever try again; the daemon withdraws its route meanwhile, or knows better."""
    table = made(to(2))
    assert table.next_deadline() is None
    table.failed("10.66.0.2", now=100.0)
    assert table.next_deadline() == 100.0 + FAILED_HOLD
    assert not table.tick(100.0 + FAILED_HOLD - 1)
    assert table.tick(100.0 + FAILED_HOLD)
    assert table.view().neighbours == {2}


def test_a_route_that_is_written_anew_overrules_a_failure() -> None:
    """The daemon has heard the neighbour since."""
    table = made(to(2))
    table.failed("10.66.0.2", now=100.0)
    table.remove(to(2))
    assert table.add(to(2), 101.0)
    assert table.view().neighbours == {2}
    table.failed("10.66.0.2", now=110.0)
    table.replace([to(2), to(3)])
    assert table.view().neighbours == {3}, "a route that stood all the time overrules nothing"


def test_a_failure_that_was_under_way_when_the_route_was_written_is_older() -> None:
    """The kernel began to ask while the link was down: the daemon has heard the neighbour since."""
    table = made(to(2), to(3, 2))
    table.remove(to(2))
    table.add(to(2), now=100.0)
    assert not table.failed("10.66.0.2", now=100.0 + ASKING - 0.1)
    assert table.view().neighbours == {2}
    table.tick(100.0 + ASKING)
    assert table.failed("10.66.0.2", now=100.0 + ASKING), "this one is of questions that were asked since"
    assert table.view().neighbours == set()


NODES = st.integers(1, 6)
ROUTES = st.builds(
    to,
    NODES,
    st.none() | NODES,
    metric=st.integers(0, 4),
    interface=st.integers(1, 2),
    is_unicast=st.booleans(),
)
CHANGES = st.one_of(
    st.tuples(st.just("add"), ROUTES),
    st.tuples(st.just("remove"), ROUTES),
    st.tuples(st.just("failed"), NODES.map("10.66.0.{}".format)),
    st.tuples(st.just("resolved"), NODES.map("10.66.0.{}".format)),
)


@given(st.lists(CHANGES))
def test_a_change_that_causes_nothing_changes_nothing(changes: list[tuple[str, KernelRoute | str]]) -> None:
    """A view differs from the last only after a change that said so, and its routes lead over neighbours."""
    table = made()
    before = table.view()
    for now, (verb, what) in enumerate(changes):
        if isinstance(what, str):
            changed = table.failed(what, float(now)) if verb == "failed" else table.resolved(what)
        else:
            changed = table.add(what, float(now)) if verb == "add" else table.remove(what)
        after = table.view()
        assert changed or after == before
        assert all(way.next_hop in after.neighbours for way in after.routes.values())
        before = after
