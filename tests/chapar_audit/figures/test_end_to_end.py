"""Table 3 of the paper on timeliness: queues in a row in which events wait too long are found."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from chapar_audit.figures.end_to_end import CASES, HEAD, D, table
from chapar_audit.figures.figure import Effort, Grid
from chapar_audit.figures.workshop import Run
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import State
from chapar_sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.workshop import Workshop

EVENTS = 500
TANDEM = 2.5
"""Of the last row, by `chapar-audit model path --tandem`."""


class InARow:
    """A workshop whose stops hand on every event, and take `seconds` for it in all."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def record(self, scenarios: Sequence[str]) -> list[Run]:
        return [Run(Path(), {"per_event": self.events(tomllib.loads(each))}) for each in scenarios]

    def events(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        active = Scenario.from_dict(data).active
        heard: dict[str, list[str]] = {}
        for client in data["client"][1:]:
            heard.setdefault(client["subscribe"][0]["subject"], []).append(client["name"])
        stops = {client["name"]: client for client in data["client"][1:]}
        each = self.seconds / (len(stops) / len(heard[data["client"][0]["publish"][0]["subject"]]))
        last = [name for name, client in stops.items() if "relay" not in client]
        assert {len(names) for names in heard.values()} == {1, len(last)}, "a stop hears the one before it"
        return [
            {"t": active * place / EVENTS, "got": dict.fromkeys(names, each * (1 + 0.01 * (place % 3 - 1)))}
            for place in range(EVENTS)
            for names in heard.values()
        ]


def made(seconds: float) -> tuple[Grid, dict[str, State]]:
    drawn = table(cast("Workshop", InARow(seconds)), Effort.QUICK)
    assert isinstance(drawn.picture, Grid)
    return drawn.picture, {finding.subject: finding.state for finding in drawn.findings}


def test_the_table_shows_printed_right_and_measured() -> None:
    """A row for each of the paper, and a dash for what was not measured."""
    picture, states = made(TANDEM)
    assert set(states.values()) == {State.HOLDS}
    assert picture.head == HEAD
    assert [row[0] for row in picture.rows] == [case.name for case in CASES]
    assert picture.rows[0][1:4] == ["118.70 s", "116.76 s", "116.76 s"]
    assert picture.rows[2][1:5] == ["27.8 min", "28.3 min", "479.4 min", "479.4 min"]
    *_, tandem, measured = picture.rows[-1]
    assert tandem == "2.50 s"
    assert str(measured).startswith("2.50 ± 0.0")
    assert picture.rows[0][-1] == "–"


@pytest.mark.parametrize("seconds", [0.9 * TANDEM, 1.1 * TANDEM])
def test_queues_that_are_not_a_tandem_are_found(seconds: float) -> None:
    """By a tenth; algorithm 1 is one of them."""
    _, states = made(seconds)
    assert states["degraded network: our broker's queues in a row"] is State.DEVIATES


def test_two_rows_of_the_paper_do_not_follow() -> None:
    """Their queue is busy for nearly all the time that the subscriber is there."""
    odd = [case for case in CASES if case.within is None]
    assert [case.name for case in odd] == ["voluntary, both", "voluntary, subscriber"]
    assert all(OnOff(D, *case.subscriber).utilisation(case.lam) > 0.96 for case in odd)
