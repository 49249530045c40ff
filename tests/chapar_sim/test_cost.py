"""What events cost on the air."""

from __future__ import annotations

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.cost import Cost, cost_of
from chapar_sim.links import graph_links
from chapar_sim.outcome import outcomes
from chapar_sim.scenario import Scenario
from chapar_sim.terrain import TopologySpec
from chapar_sim.trace import Accepted, AirRow, Connectivity, Delivered, Interest, Presence, Trace

SCENARIO = Scenario.from_dict({"duration": 60, "settle": 30, "nodes": 5, "topology": {"kind": "chain"}})
CHAIN = graph_links(TopologySpec(kind="chain"), [1, 2, 3, 4, 5])


def run(*times: float, end: float = 60.0) -> Trace:
    """Node 1 publishes at these times to a subscriber at node 4; between 2 and 3 the chain is cut from 20 s on."""
    trace = Trace(end=end)
    trace.connectivity += [Connectivity(0.0, CHAIN), Connectivity(20.0, CHAIN - {(2, 3), (3, 2)})]
    trace.presence += [Presence(0.0, "pub", 1, on=True), Presence(0.0, "sub", 4, on=True)]
    trace.interests.append(Interest(0.0, "sub", 1, Filter.parse('subject = "a"'), active=True))
    for number, t in enumerate(times, 1):
        id_ = event_id(1, 7, number)
        trace.accepted.append(Accepted(t, "pub", 1, id_, Event(subject="a")))
        if t < 20:
            trace.delivered.append(Delivered(t + 1, "sub", 4, id_))
            trace.traffic.transmissions["data"] += 4
    return trace


def cost(trace: Trace) -> Cost:
    return cost_of(trace, SCENARIO, outcomes(trace))


def air(trace: Trace, *rows: tuple[float, int, int]) -> None:
    trace.air += [AirRow(round(t * 1e6), 1, (), size, port, ()) for t, size, port in rows]


def test_transmissions_stand_beside_the_fewest() -> None:
    """Of each event, on the links of its moment; where there was no way, no bound is stated."""
    found = cost(run(10.0, 12.0))
    assert (found.published, found.transmissions, found.fewest_unicast, found.fewest_broadcast) == (2, 4.0, 3.0, 3.0)
    assert found.is_exact
    found = cost(run(10.0, 25.0))
    assert (found.published, found.transmissions, found.fewest_unicast) == (2, 2.0, 3.0)
    assert cost(run(25.0)).fewest_unicast is None


def test_bytes_are_those_between_the_first_publication_and_the_last_delivery() -> None:
    """Of chapard alone: routing is not its doing."""
    trace = run(10.0, 12.0)
    air(trace, (9.9, 1000, 7701), (10.0, 100, 7701), (13.0, 300, 7701), (13.1, 1000, 7701), (11.0, 1000, 698))
    assert cost(trace).bytes == 200.0


def test_what_silence_costs() -> None:
    """In the quiet time at the end, once it has been quiet for a while."""
    trace = run(10.0)
    air(trace, (34.0, 10_000, 7701), (36.0, 500, 7701), (59.0, 500, 7701), (40.0, 250, 698))
    found = cost(trace)
    assert found.idle_bytes == pytest.approx(1000 / 25)
    assert found.idle_olsr_bytes == pytest.approx(250 / 25)
    trace.quiet_since = 52.0
    assert cost(trace).idle_bytes is None


def test_nothing_published_costs_nothing() -> None:
    """There is no figure per event."""
    found = cost(Trace(end=30.0))
    assert (found.published, found.transmissions, found.fewest_unicast, found.bytes) == (0, None, None, None)
