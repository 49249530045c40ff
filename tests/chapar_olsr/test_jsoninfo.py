"""What olsrd says, believed as far as it makes sense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.jsoninfo import ENDPOINTS, read_untrusted
from chapar_olsr.source import SourceError
from chapar_olsr.view import Route, RouteView
from fake_olsrd import identity, replies

OLD: dict[str, Any] = {
    "neighbors": [
        {
            "ipv4Address": "10.66.0.2",
            "symmetric": True,
            "multiPointRelay": True,
            "multiPointRelaySelector": False,
            "willingness": 3,
            "twoHopNeighborCount": 1,
        },
    ],
    "routes": [
        {"destination": "10.66.0.2", "genmask": 32, "gateway": "10.77.0.2", "metric": 1, "rtpMetricCost": 1024},
        {"destination": "10.66.0.3", "genmask": 32, "gateway": "10.77.0.2", "metric": 2, "rtpMetricCost": 2048},
        {"destination": "192.0.2.0", "genmask": 24, "gateway": "10.77.0.2", "metric": 1, "rtpMetricCost": 1024},
    ],
    "mid": [{"ipAddress": "10.66.0.2", "aliases": [{"ipAddress": "10.77.0.2"}]}],
    "links": [{"localIP": "10.77.0.1", "remoteIP": "10.77.0.2", "linkQuality": 1.0, "neighborLinkQuality": 0.5}],
}
"""As olsrd 0.6.6 to 0.6.8 write it, at a node with two interfaces."""
NO_RELAY = {"multiPointRelay": False, "multiPointRelaySelector": False}


def spelled(values: dict[str, Any]) -> dict[str, bytes]:
    return {name: json.dumps({name: listed, "pid": 1}).encode() for name, listed in values.items()}


def read(values: dict[str, bytes]) -> tuple[RouteView, dict[Fault, int]]:
    faults = Faults()
    return read_untrusted(values, identity(1), faults), dict(faults.counts)


def test_old_replies_give_the_same_view_as_new_ones() -> None:
    """The key of neighbours changed at 0.9.0, of MPRs and MID at 0.9.5; gateways are interfaces, not main addresses."""
    neighbour = {name: value for name, value in OLD["neighbors"][0].items() if name != "ipv4Address"}
    middle = {**OLD, "neighbors": [{"ipAddress": "10.66.0.2", **neighbour}]}
    new = {
        **OLD,
        "neighbors": [
            {"ipAddress": "10.66.0.2", "symmetric": True, "isMultiPointRelay": True, "multiPointRelaySelector": False}
        ],
        "mid": [{"main": {"ipAddress": "10.66.0.2", "validityTime": 9}, "aliases": [{"ipAddress": "10.77.0.2"}]}],
    }
    for values in (OLD, middle, new):
        view, faults = read(spelled(values))
        assert view.neighbours == view.mprs == frozenset({2})
        assert view.selectors == frozenset()
        assert view.routes == {2: Route(2, 1), 3: Route(2, 2)}
        assert view.quality == {2: 0.5}
        assert not faults


def test_a_link_that_nobody_measures_is_not_a_bad_one() -> None:
    """With `LinkQualityLevel 0` every olsrd says 0 of both ways, and `chapar-olsrd` of what the other end hears."""
    for here in (0.0, 0, 0.9):
        plain = {"localIP": "10.77.0.1", "remoteIP": "10.77.0.2", "linkQuality": here, "neighborLinkQuality": 0.0}
        view, faults = read(spelled({**OLD, "links": [{**plain, "linkCost": 4194304}]}))
        assert view.neighbours == {2}
        assert view.quality == {}
        assert not faults


def test_a_neighbour_that_does_not_hear_us_is_none() -> None:
    """Only symmetric ones count."""
    view, _ = read(spelled({**OLD, "neighbors": [{**OLD["neighbors"][0], "symmetric": False}], "routes": []}))
    assert view == RouteView(1, address="10.66.0.1")


def test_a_reply_that_is_none_gives_no_view() -> None:
    """The one error says which it was."""
    with pytest.raises(SourceError, match="the reply to /routes is no JSON") as refused:
        read({**spelled(OLD), "routes": b'{"routes": ['})
    assert refused.value.fault is Fault.SYNTAX


@pytest.mark.parametrize(
    ("endpoint", "entry", "fault"),
    [
        ("routes", 7, Fault.BAD_VALUE),
        ("routes", {}, Fault.BAD_VALUE),
        ("routes", {"genmask": "32", "metric": 2}, Fault.BAD_VALUE),
        ("routes", {"genmask": True, "metric": True}, Fault.BAD_VALUE),
        ("routes", {"destination": 4, "genmask": 32, "gateway": "10.66.0.2", "metric": 2}, Fault.BAD_ADDRESS),
        ("routes", {"destination": "10.66.0.9", "genmask": 32, "gateway": None, "metric": 2}, Fault.BAD_ADDRESS),
        ("routes", {"destination": "10.66.0.9", "genmask": 32, "gateway": "10.66.0.2", "metric": -1}, Fault.BAD_VALUE),
        ("routes", {"destination": "10.1.2.3", "genmask": 32, "gateway": "", "metric": 2}, Fault.OUTSIDE_PREFIX),
        ("routes", {"destination": "10.66.0.3", "genmask": 32, "gateway": "10.66.0.2", "metric": 2}, Fault.DUPLICATE),
        ("routes", {"destination": "10.66.0.1", "genmask": 32, "gateway": "10.66.0.2", "metric": 2}, Fault.LOOP),
        ("neighbors", {"ipAddress": "10.66.0.9"}, Fault.BAD_VALUE),
        ("neighbors", {"symmetric": True, **NO_RELAY}, Fault.BAD_ADDRESS),
        ("neighbors", {"ipAddress": "1" * 65, "symmetric": True, **NO_RELAY}, Fault.BAD_ADDRESS),
        ("mid", {"main": 3}, Fault.BAD_VALUE),
        ("mid", {"ipAddress": "10.66.0.2", "aliases": "none"}, Fault.BAD_VALUE),
        ("links", {"remoteIP": "10.66.0.2", "linkQuality": 1e400, "neighborLinkQuality": 1}, Fault.BAD_VALUE),
        ("links", {"remoteIP": "10.66.0.2", "linkQuality": -1, "neighborLinkQuality": 1}, Fault.BAD_VALUE),
    ],
)
def test_an_entry_that_makes_no_sense_is_counted_and_left_out(endpoint: str, entry: object, fault: Fault) -> None:
    """Everything else in the replies still counts."""
    good, _ = read(spelled(OLD))
    view, faults = read(spelled({**OLD, endpoint: [*OLD[endpoint], entry]}))
    assert view == good
    assert faults == {fault: 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ipAddress", "metric"]), inner),
    max_leaves=6,
)


@given(st.sampled_from(["chain5", "star5"]), st.sampled_from(ENDPOINTS), st.data())
def test_whatever_an_olsrd_says_there_is_a_view_or_one_error(topology: str, endpoint: str, data: st.DataObject) -> None:
    """Values of real replies replaced by anything."""
    values = replies(topology, 3)
    reply = json.loads(values[endpoint])
    for entry in reply[endpoint]:
        if entry:
            entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(JSON)
    faults = Faults()
    view = read_untrusted({**values, endpoint: json.dumps(reply).encode()}, identity(3), faults)
    assert all(route.next_hop in view.neighbours for route in view.routes.values())
