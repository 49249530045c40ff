"""One suite of behaviour, two drivers: what the simulator's scenarios promise, real daemons on loopback keep.

Each scenario of `tests/scenarios` runs in the simulator and on real daemons (`e2e.loopback` says what differs), and the
simulator's own checkers judge both. Beside them stands what a reader expects of each client, in plain numbers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from chapar.event import Delivery, origin_of
from chapar_sim.case import Case
from chapar_sim.checkers import judge
from chapar_sim.scenario import load
from chapar_sim.world import World
from e2e import loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_sim.scenario import Scenario

pytestmark = pytest.mark.lab

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


class Between(NamedTuple):
    """How many events a client gets of a subject, where that depends on what a fault catches."""

    least: int
    most: int


EXPECTED: dict[str, dict[str, dict[str, int | Between]]] = {
    "pair": {
        "monitor": {"position": 16, "report": 6, "order": 5},
        "addressee": {"command": 10},
        "bystander": {"alive": 10, "report": 6},
        "sleeper": {"report": 6, "order": 5},
        "leaver": {"report": 4},
        "latecomer": {"report": 6, "order": 5},
    },
    "pair-restart": {
        "steady": {"order": 40, "answer": 40, "alive": Between(15, 40)},
        "shaken": {"order": 40, "answer": 40, "report": 16},
        "sleeper": {"order": 40, "answer": 40},
    },
    "chain": {
        "first": {"reply": 10},
        "last": {"position": 11, "report": 20, "order": 10},
        "middle": {"position": 30, "order": 10},
        "addressed-3": {"command": 12},
        "addressed-5": {"command": 12},
        "leaver": {"reply": 10, "report": Between(15, 19)},
        "sleeper": {"order": 10},
    },
    "mesh": {
        "west": {"order": 25, "note": 15},
        "east": {"report": 25, "position": 7},
        "south": {"report": 25, "order": 25, "command": 12},
        "relay": {"report": 25, "order": 25},
        "nomad": {"order": 25, "note": 15},
    },
    "star": {f"leaf-{node}": {"note": 40, "fact": 40, "tick": 18} for node in (2, 3, 4, 5)},
}
"""Scenario → client → subject → how many events of it reach the client."""


def simulated(scenario: Scenario, _folder: Path) -> Case:
    return Case.of(World(scenario).run(), scenario)


DRIVERS = (pytest.param(simulated, id="simulator"), pytest.param(loopback.run, id="daemons"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.parametrize("driver", DRIVERS)
def test_what_clients_get(driver: Callable[[Scenario, Path], Case], name: str, tmp_path: Path) -> None:
    """No promise is broken, and every client gets the events it asked for: as many, once, per publisher in order."""
    case = driver(load(SCENARIOS / f"{name}.toml"), tmp_path)
    assert judge(case) == []
    got = counts(case)
    assert got.keys() == EXPECTED[name].keys()
    wrong = {
        (client, subject): got[client][subject]
        for client, expected in EXPECTED[name].items()
        for subject in expected.keys() | got[client].keys()
        if not is_as_expected(got[client][subject], expected.get(subject, 0))
    }
    assert wrong == {}
    assert out_of_order(case) == []
    assert claims(case)[True] > 0, "the oracle claims nothing: the checkers had nothing to judge"


def test_the_scenarios_are_all_expected() -> None:
    """Each scenario file has its expectations."""
    assert {file.stem for file in SCENARIOS.glob("*.toml")} == EXPECTED.keys()


def counts(case: Case) -> dict[str, Counter[str]]:
    """Events that reached each client, by subject."""
    got: dict[str, Counter[str]] = {}
    for row in case.trace.delivered:
        subject = case.history.publications[row.event_id].event.subject
        got.setdefault(row.client, Counter())[subject or ""] += 1
    return got


def is_as_expected(count: int, expected: int | Between) -> bool:
    if isinstance(expected, Between):
        return expected.least <= count <= expected.most
    return count == expected


def out_of_order(case: Case) -> list[str]:
    """Where a client got two events of one stream in another order than they were published in, or one twice."""
    last: dict[tuple[str, int, Delivery, str | None], bytes] = {}
    found = []
    for row in case.trace.delivered:
        event = case.history.publications[row.event_id].event
        stream = row.client, origin_of(row.event_id), event.delivery, event.subject
        if stream in last and row.event_id <= last[stream]:
            found.append(f"{row.client} got {event.subject} of node {stream[1]} late or twice at {row.t:.2f} s")
        last[stream] = row.event_id
    return found


def claims(case: Case) -> Counter[bool]:
    """Of how many deliveries the oracle says that there must be one, and of how many that there need not."""
    return Counter(
        (case.oracle.memorised if publication.is_memorised else case.oracle.realtime)(publication, client) is not None
        for publication in case.history.publications.values()
        for client in case.history.home
    )
