"""What is estimated of ON/OFF queues, and what is said of it."""

from __future__ import annotations

from math import inf
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from chapar_audit.jobs.station import Part, Seen, Station, Stretch, judged, stations
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import State

LAM, D, T_ON, T_OFF = 1.0, 0.125, 20.0, 20.0
WAIT = OnOff(D, T_ON, T_OFF).response_time(LAM) - 2 * D
CYCLES, PARTS = 2000, 20


def moments(mean: float, count: int, *, spread: float = 1.0) -> Stretch:
    """As many periods as exponential ones would have them on average; `spread` is of their second moment."""
    return Stretch(count, mean * count, 2 * spread * mean**2 * count, 6 * spread * mean**3 * count, count)


def seen(name: str = "sub", node: int = 1, **other: Any) -> Seen:
    """A client that does exactly what the theorem says."""
    seconds = CYCLES * (T_ON + T_OFF)
    off = other.get("off", moments(T_OFF, CYCLES))
    events = round(LAM * seconds) + 1
    part = Part(events // PARTS, WAIT * (events // PARTS), events // (2 * PARTS), D * (events // (2 * PARTS)))
    known: dict[str, Any] = {
        "node": node,
        "client": name,
        "events": events,
        "seconds": seconds,
        "squares": 2 * seconds / LAM,
        "queued": LAM * moments(T_OFF, CYCLES).squares / 2,
        "on": moments(T_ON, CYCLES),
        "off": off,
        "parts": [part] * PARTS,
    }
    return Seen(**{**known, **other})


def longer(share: float) -> list[Part]:
    return [each._replace(waited=share * each.waited) for each in seen().parts]


def verdict(*clients: Seen) -> list[tuple[State, str]]:
    return [(finding.state, finding.reason) for finding in judged("timeliness", Station("sub", clients))]


def test_parameters_come_out_as_they_went_in() -> None:
    """Of one client or of several that are alike."""
    for clients in ([seen()], [seen("a-1"), seen("a-2", 2)]):
        station = Station("sub", clients)
        assert station.lam == pytest.approx(LAM)
        assert station.queue == OnOff(D, T_ON, T_OFF)
        assert station.expected()[0] == pytest.approx(WAIT)
        assert station.measured()[0] == pytest.approx(WAIT)


def test_the_error_of_a_mean_is_that_of_the_means_of_batches() -> None:
    """Known where batches are independent: the deviation of one, over the root of their number."""
    rng = Random(1)
    parts = [Part(100, 100 * rng.gauss(13, 2), 50, 6.0) for _ in range(400)]
    station = Station("sub", [seen(parts=parts[at : at + PARTS]) for at in range(0, 400, PARTS)])
    assert station.measured()[1] == pytest.approx(2 / 20, rel=0.2)
    assert Station("sub", [seen(parts=parts[:1])]).measured()[1] == inf


def test_a_batch_holds_several_off_periods() -> None:
    """Or its mean would depend on those of its neighbours."""
    few = Station("sub", [seen(off=moments(T_OFF, 23))])
    assert len(few.batches()) == 4
    assert sum(each.events for each in few.batches()) == sum(each.events for each in seen().parts)
    assert len(Station("sub", [seen(off=moments(T_OFF, 3))]).batches()) == 1


def test_what_the_theorem_says_holds() -> None:
    assert verdict(seen()) == [(State.HOLDS, "")] * 2


def test_waits_that_do_not_follow_are_a_deviation() -> None:
    """Whatever else fits: it is the service then."""
    theorem, absence = verdict(seen(parts=longer(1.3)))
    assert theorem == (
        State.DEVIATES,
        "service that is not exponential, or an application that goes on with it while OFF",
    )
    assert absence[0] is State.HOLDS


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_wrong_absences_are_told_by_what_was_queued_meanwhile(factor: float) -> None:
    """Both rows turn red, and say how long the absences were."""
    wrong = moments(factor * T_OFF, CYCLES)
    theorem, absence = verdict(seen(off=wrong, on=moments((2 - factor) * T_ON, CYCLES)))
    assert theorem[0] is absence[0] is State.DEVIATES
    assert theorem[1] == absence[1]
    assert f"say T_OFF = 20 s, the recorded ON and OFF times {factor * T_OFF:g} s" in absence[1]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"squares": 1.1 * CYCLES * 40}, "arrivals are not Poisson"),
        ({"on": moments(T_ON, CYCLES, spread=0.5)}, "ON periods are not exponential"),
        (
            {"off": moments(T_OFF, CYCLES, spread=0.5), "queued": moments(T_OFF, CYCLES, spread=0.5).squares / 2},
            "OFF periods are not exponential (their squared coefficient of variation is 0.00, not 1)",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_open(other: dict[str, Any], says: str) -> None:
    """If it does not come out as if it did."""
    theorem, absence = verdict(seen(**other, parts=longer(0.5)))
    assert theorem[0] is State.OPEN
    assert says in theorem[1]
    assert absence[0] is State.HOLDS
    assert verdict(seen(**other))[0][0] is State.HOLDS


def test_too_few_absences_are_open() -> None:
    """Their number is said."""
    theorem, _ = verdict(seen(off=moments(T_OFF, 8)))
    assert theorem == (State.OPEN, "8 OFF periods: at least 30 are needed to estimate from")


def test_a_queue_that_grows_for_ever_is_open() -> None:
    """The theorem has no value for it, nor has the table of what waited a finite one."""
    parts = [each._replace(busy=each.served * 0.6) for each in seen().parts]
    theorem, _ = verdict(seen(parts=parts))
    assert theorem[0] is State.OPEN
    assert "unstable" in theorem[1]
    assert Station("sub", [seen(parts=parts)]).row()[-1] == inf


def rows(client: str, node: int, *, rate: float = 1.0) -> tuple[Any, Any, Any]:
    events = round(4000 * rate)
    came = SimpleNamespace(
        node=node, client=client, events=events, first_us=0, last_us=4_000_000_000, squares=8000.0, queued_s=900.0
    )
    stretched = [
        SimpleNamespace(
            node=node, client=client, state=state, periods=100, seconds=2000.0, squares=8e4, cubes=5e6, ended=100
        )
        for state in ("on", "off")
    ]
    served = SimpleNamespace(node=node, client=client, part=3, events=9, waited_s=5.0, served=2, busy_s=0.2)
    return came, stretched, served


def grouped(*clients: tuple[Any, Any, Any]) -> list[str]:
    came, stretched, served = zip(*clients, strict=True)
    return [each.name for each in stations(came, [row for pair in stretched for row in pair], served, PARTS)]


def test_clients_that_are_alike_are_one_station() -> None:
    """Their names differ in the number at the end, and their rates do not."""
    assert grouped(rows("sub-1", 1), rows("sub-2", 2), rows("other", 1)) == ["other", "sub"]
    assert grouped(rows("sub-1", 1), rows("sub-2", 2, rate=3)) == ["sub-1", "sub-2"]
    assert grouped(rows("sub-1", 1)) == ["sub-1"]


def test_what_was_seen_of_a_client_comes_together() -> None:
    """Parts of its time in which it acknowledged nothing among it."""
    came, stretched, served = rows("sub", 1)
    (station,) = stations([came], stretched, [served], PARTS)
    (client,) = station.seen
    assert (client.seconds, client.on.seconds, client.off.ended) == (4000, 2000, 100)
    assert [each.events for each in client.parts] == [0, 0, 0, 9, *[0] * 16]
