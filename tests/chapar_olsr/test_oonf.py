"""What olsrd2 says, believed as far as it makes sense. The answers here are spelled as OONF's plugins spell them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.oonf import COMMANDS, read_untrusted
from chapar_olsr.source import Identity, SourceError
from chapar_olsr.view import Route, RouteView
from fake_olsrd import identity

Entry = dict[str, Any]


def neighbour(originator: str, **other: object) -> Entry:
    """An entry of `nhdpinfo jsonraw neighbor`."""
    return {
        "neighbor_originator": originator,
        "neighbor_dualstack": "-",
        "neighbor_symmetric": "true",
        "neighbor_linkcount": 1,
        "domain": 0,
        "domain_metric": "ff_dat_metric",
        "domain_metric_in": "1.02kbit/s",
        "domain_metric_in_raw": 2105088,
        "domain_mpr": "rfc7181_mpr",
        "domain_mpr_local": "false",
        "domain_mpr_remote": "false",
        "domain_mpr_willingness": 7,
        **other,
    }


def link(originator: str, bindto: str, address: str) -> Entry:
    """An entry of `nhdpinfo jsonraw link_addr`."""
    return {"if": "wlan0", "link_bindto": bindto, "neighbor_originator": originator, "link_address": address}


def route(destination: str, gateway: str, hops: object, **other: object) -> Entry:
    """An entry of `olsrv2info jsonraw route`."""
    return {
        "route_dst": destination,
        "route_gw": gateway,
        "route_src_ip": "10.66.0.1",
        "route_metric": 2,
        "route_if": "wlan0",
        "domain": "0",
        "domain_metric_out_raw": 2105088,
        "domain_path_hops": hops,
        **other,
    }


GOOD: dict[str, list[Any]] = {
    "neighbor": [
        neighbour("10.66.0.2", domain_mpr_remote="true"),
        neighbour("10.66.0.3", domain_mpr_local="true"),
        neighbour("10.66.0.4", neighbor_symmetric="false"),
        neighbour("fd66::2", domain_mpr_local="true"),
    ],
    "link_addr": [
        link("10.66.0.2", "10.77.0.2", "10.77.0.2"),
        link("10.66.0.3", "10.66.0.3", "10.66.0.3"),
        link("fd66::2", "fe80::2", "fd66::2"),
    ],
    "route": [
        route("10.66.0.2", "10.77.0.2", 1),
        route("10.66.0.3", "-", 1),
        route("10.66.0.5", "10.77.0.2", 2),
        route("192.0.2.0/24", "10.77.0.2", 3),
        route("fd66::2", "fe80::2", 1),
    ],
}
VIEW = RouteView(
    index=1,
    neighbours=frozenset({2, 3}),
    routes={2: Route(2, 1), 3: Route(3, 1), 5: Route(2, 2)},
    mprs=frozenset({2}),
    selectors=frozenset({3}),
    address="10.66.0.1",
)


def spelled(values: dict[str, list[Any]]) -> dict[str, bytes]:
    return {name: json.dumps({name: listed}).encode() for name, listed in values.items()}


def read(answers: dict[str, bytes], node: Identity | None = None) -> tuple[RouteView, dict[Fault, int]]:
    faults = Faults()
    return read_untrusted(answers, node or identity(1), faults), dict(faults.counts)


def test_the_answers_give_a_view() -> None:
    """Neighbours by originator, gateways by their links, the other family and networks left aside without a fault."""
    view, faults = read(spelled(GOOD))
    assert view == VIEW
    assert view.quality is None
    assert not faults


def test_a_prompt_before_an_answer_is_skipped() -> None:
    """As telnet may give it, with an empty line at the end."""
    view, _ = read({name: b"> " + answer + b"\n\n" for name, answer in spelled(GOOD).items()})
    assert view == VIEW


def test_ipv6_gateways_are_link_local() -> None:
    """The link tells whose they are, and IPv4 is then left aside."""

    def index_of(address: str) -> int | None:
        return {"fd66::1": 1, "fd66::2": 2, "fd66::5": 5}.get(address)

    values = {**GOOD, "route": [*GOOD["route"], route("fd66::5", "fe80::2", 2)]}
    view, faults = read(spelled(values), Identity(1, "fd66::1", index_of))
    assert view.neighbours == view.selectors == frozenset({2})
    assert view.routes == {2: Route(2, 1), 5: Route(2, 2)}
    assert not faults


def test_the_lowest_domain_counts() -> None:
    """Otherwise every route would be there twice; nine is below ten."""
    values = {
        "neighbor": [
            neighbour("10.66.0.2", domain=10, domain_mpr_local="true"),
            neighbour("10.66.0.2", domain=9, domain_mpr_remote="true"),
        ],
        "link_addr": [],
        "route": [
            route("10.66.0.5", "10.66.0.2", 3, domain="10"),
            route("10.66.0.5", "10.66.0.2", 2, domain="9"),
        ],
    }
    view, faults = read(spelled(values))
    assert (view.mprs, view.selectors) == (frozenset({2}), frozenset())
    assert view.routes[5] == Route(2, 2)
    assert not faults


def test_an_olsrd2_without_mpr_flags_leaves_relays_to_the_broker() -> None:
    """None is not nobody; where there is no neighbour at all, it is nobody."""
    bare = [
        {key: value for key, value in each.items() if not key.startswith("domain_mpr")} for each in GOOD["neighbor"]
    ]
    view, faults = read(spelled({**GOOD, "neighbor": bare}))
    assert (view.mprs, view.selectors) == (None, None)
    assert not faults
    alone, _ = read(spelled({name: [] for name in COMMANDS}))
    assert alone == RouteView(1, address="10.66.0.1")


def test_a_link_cannot_take_somebody_elses_originator() -> None:
    """An address that is one node's originator stays that node, whatever links claim."""
    claims = [link("10.66.0.2", "10.77.0.2", "10.66.0.3"), *GOOD["link_addr"]]
    view, _ = read(spelled({**GOOD, "link_addr": claims}))
    assert view == VIEW


def test_an_answer_that_is_none_gives_no_view() -> None:
    """The one error says which command it was, and what olsrd2 said instead."""
    with pytest.raises(SourceError, match=r"olsrv2info jsonraw route.* is no JSON .*Error, unknown command") as refused:
        read({**spelled(GOOD), "route": b"Error, unknown command 'olsrv2info'\n"})
    assert refused.value.fault is Fault.SYNTAX


@pytest.mark.parametrize(
    ("name", "entry", "fault"),
    [
        ("neighbor", 7, Fault.BAD_VALUE),
        ("neighbor", neighbour("10.66.0.9", neighbor_symmetric="yes"), Fault.BAD_VALUE),
        ("neighbor", neighbour("10.66.0.9", neighbor_symmetric=1), Fault.BAD_VALUE),
        ("neighbor", neighbour("10.66.0.999"), Fault.BAD_ADDRESS),
        ("neighbor", neighbour("1" * 1000), Fault.BAD_ADDRESS),
        ("link_addr", link("10.66.0.2", "nowhere", "10.77.0.2"), Fault.BAD_ADDRESS),
        ("route", route("10.66.0.9", "10.77.0.2", "2"), Fault.BAD_VALUE),
        ("route", route("10.66.0.9", "10.77.0.2", hops=True), Fault.BAD_VALUE),
        ("route", route("10.66.0.9", "10.77.0.2", 1e400), Fault.BAD_VALUE),
        ("route", route("10.66.0.9", "10.77.0.2", -1), Fault.BAD_VALUE),
        ("route", route("10.66.0.9", "10.77.0.2", 10**30), Fault.BAD_VALUE),
        ("route", route("10.66.0.9", "", 2), Fault.BAD_ADDRESS),
        ("route", route("10.66.0.9", "-", 2), Fault.LOOP),
        ("route", route("10.66.0.1", "10.77.0.2", 2), Fault.LOOP),
        ("route", route("198.51.100.9", "10.77.0.2", 2), Fault.OUTSIDE_PREFIX),
        ("route", route("10.66.0.5", "10.77.0.2", 2), Fault.DUPLICATE),
    ],
)
def test_an_entry_that_makes_no_sense_is_counted_and_left_out(name: str, entry: object, fault: Fault) -> None:
    """Everything else in the answers still counts."""
    view, faults = read(spelled({**GOOD, name: [*GOOD[name], entry]}))
    assert view == VIEW
    assert faults == {fault: 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@given(st.sampled_from(sorted(COMMANDS)), st.data())
def test_whatever_an_olsrd2_says_there_is_a_view(name: str, data: st.DataObject) -> None:
    """Values of good answers replaced by anything."""
    listed = [dict(each) for each in GOOD[name]]
    for entry in listed:
        entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(JSON)
    view, _ = read(spelled({**GOOD, name: listed}))
    assert all(each.next_hop in view.neighbours for each in view.routes.values())


@given(st.binary(max_size=200))
def test_whatever_bytes_come_there_is_a_view_or_one_error(body: bytes) -> None:
    """No other exception leaves the reader."""
    with suppress(SourceError):
        read({**spelled(GOOD), "neighbor": body})
