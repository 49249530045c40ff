"""Which queues are one way, and what is said of how long events waited on it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.jobs.station import Part, Seen, Station, Stretch
from chapar_audit.jobs.ways import Way, judged, ways
from chapar_audit.models import tandem
from chapar_audit.models.onoff import OnOff
from chapar_audit.models.path import Stop
from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Sequence

LAM, D, T = 1.0, 0.125, 5.0
QUEUE = OnOff(D, T, T)
WAIT = QUEUE.response_time(LAM) - 2 * D
AFTER = tandem.second_response_time(QUEUE, QUEUE, LAM) - 2 * D
CYCLES, PARTS = 20_000, 20
FINE = Finding("timeliness", "the last queue", State.HOLDS)


def moments(spread: float = 1.0) -> Stretch:
    return Stretch(CYCLES, T * CYCLES, 2 * spread * T**2 * CYCLES, 6 * T**3 * CYCLES, CYCLES)


def station(name: str, wait: float, *nodes: int, off: Stretch | None = None) -> Station:
    """Clients of this name at the nodes, whose events wait so long."""
    events = round(2 * T * CYCLES * LAM) + 1
    part = Part(events // PARTS, wait * (events // PARTS), events // 40, D * (events // 40))
    return Station(name, [
        Seen(node, name, events, 2 * T * CYCLES, 2 * 2 * T * CYCLES, 0.0, moments(), off or moments(), [part] * PARTS)
        for node in nodes or (1,)
    ])  # fmt: skip


def edge(publisher: str, client: str, events: int = 1000, transit: float = 0.0) -> Any:
    return SimpleNamespace(
        publisher_node=1, publisher=publisher, node=1, client=client, events=events, transit=transit * events
    )


def turns(*clients: str) -> list[Any]:
    moment = moments()
    return [SimpleNamespace(node=1, client=client, state=state, **moment._asdict())
            for client in clients for state in ("on", "off")]  # fmt: skip


def found(edges: Sequence[Any], turned: Sequence[Any], *stations: Station) -> list[tuple[str, list[str]] | None]:
    return [None if each is None else told(each) for each in ways(edges, turned, stations)]


def told(way: Way) -> tuple[str, list[str]]:
    return f"{way.publisher}{' comes and goes' if way.unseen else ''}", [stop.name for stop in way.stops]


def verdict(way: Way, theorem: Finding = FINE) -> list[tuple[str, State]]:
    return [(finding.subject.rpartition(": ")[2], finding.state) for finding in judged("timeliness", way, theorem)]


def test_clients_that_hand_on_are_stops_of_one_way() -> None:
    """From a publisher who is always there."""
    first, last = station("first", WAIT), station("last", AFTER)
    edges = [edge("source", "first"), edge("first", "last")]
    assert found(edges, turns("first"), first, last) == [("source", ["first"]), ("source", ["first", "last"])]


def test_a_publisher_who_comes_and_goes_is_the_first_queue() -> None:
    """Though how long events were in it is not known."""
    assert found([edge("source", "last")], turns("source"), station("last", AFTER)) == [
        ("source comes and goes", ["last"])
    ]


def test_publishers_who_are_always_there_are_one_stream() -> None:
    """Of two who come and go nobody knows how their bursts mix; nor of a client that hears itself."""
    last = station("last", WAIT)
    both = [edge("one-1", "last"), edge("one-2", "last")]
    assert found(both, [], last) == [("one", ["last"])]
    assert found([both[0], edge("two", "last")], [], last) == [("publishers", ["last"])]
    assert found(both, turns("one-1"), last) == [None]
    assert found([edge("last", "last")], turns("last"), last) == [None]
    assert found([], [], last) == [None]


def test_the_way_between_homes_counts() -> None:
    """The mean of all events, over all legs."""
    first, last = station("first", WAIT), station("last", AFTER)
    edges = [edge("source", "first", transit=0.5), edge("first", "last", transit=0.25)]
    way = ways(edges, turns("first"), [first, last])[1]
    assert way is not None
    assert way.transit == pytest.approx(0.75)
    algorithm_1, chain = judged("timeliness", way, FINE)
    assert algorithm_1.measured == pytest.approx(0.75 + WAIT + AFTER, rel=1e-3)
    assert algorithm_1.expected == pytest.approx(0.75 + 2 * WAIT, rel=1e-3)
    assert chain.expected == pytest.approx(0.75 + WAIT + AFTER, rel=1e-3)


def test_one_queue_is_judged_by_algorithm_1() -> None:
    """The tandem would say the same."""
    assert verdict(Way("source", None, [station("last", WAIT)], 0.0)) == [("algorithm 1", State.HOLDS)]
    assert verdict(Way("source", None, [station("last", 1.2 * WAIT)], 0.0)) == [("algorithm 1", State.DEVIATES)]


def test_bursts_leave_algorithm_1_open() -> None:
    """If the tandem holds or not."""
    assert OnOff(D, T, T).response_time(LAM) == pytest.approx(tandem.response_times([Stop("first", QUEUE)], LAM)[0])
    for last, state in ((AFTER, State.HOLDS), (1.5 * AFTER, State.DEVIATES)):
        way = Way("source", None, [station("first", WAIT), station("last", last)], 0.0)
        assert verdict(way) == [("algorithm 1", State.OPEN), ("tandem", state)]


def test_a_deviation_has_the_reason_of_its_queues() -> None:
    """That of the last queue by itself, or that its periods are not what the models take them for."""
    long = station("last", 1.5 * AFTER)
    wrong = FINE._replace(state=State.DEVIATES, reason="the rows of `sessions` are wrong")
    _, chain = judged("timeliness", Way("source", None, [station("first", WAIT), long], 0.0), wrong)
    assert (chain.state, chain.reason) == (State.DEVIATES, wrong.reason)
    odd = station("first", WAIT, off=moments(spread=0.5))
    _, chain = judged("timeliness", Way("source", None, [odd, long], 0.0), FINE)
    assert chain.state is State.OPEN
    assert chain.reason.startswith("first: OFF periods are not exponential")
    _, chain = judged("timeliness", Way("source", None, [station("first", WAIT), long], 0.0), FINE)
    assert chain.reason.startswith("some of the events come by another way")


def test_too_few_absences_on_the_way_are_open() -> None:
    """Whatever was measured."""
    few = Stretch(5, 5 * T, 50 * T, 150 * T, 5)
    assert verdict(Way("source", None, [station("first", WAIT, off=few), station("last", AFTER)], 0.0)) == [
        ("algorithm 1", State.OPEN)
    ]
