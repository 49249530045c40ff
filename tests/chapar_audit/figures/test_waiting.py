"""Figures 7, 9, 11 and 12 of the paper on timeliness: queues in which events wait too long are found."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from chapar_audit.figures.figure import Effort
from chapar_audit.figures.waiting import FIGURES, JOURNEYS, LOADS, METRO_2, connections, rates_of_day
from chapar_audit.figures.workshop import Run
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import State, state_of
from chapar_sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.workshop import Workshop

EVENTS = 720


class Waiting:
    """A workshop in whose queues events wait as theorem 2 says, or so many times as long."""

    def __init__(self, times: float = 1.0) -> None:
        self.times = times

    def record(self, scenarios: Sequence[str]) -> list[Run]:
        return [Run(Path(), {"per_event": self.events(tomllib.loads(each))}) for each in scenarios]

    def events(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        active = Scenario.from_dict(data).active
        source, *listeners = data["client"]
        found = []
        for place in range(EVENTS):
            t = active * place / EVENTS
            stream = next(each for each in source["publish"] if t < each.get("stop", active))
            seconds = [self.times * wait(each, stream["rate"]) for each in listeners]
            names = [each["name"] for each in listeners]
            got = {who: time * (1 + 0.01 * (place % 3 - 1)) for who, time in zip(names, seconds, strict=True)}
            found += [{"t": t, "got": got}] * (round(stream["rate"] * 100) if "stop" in stream else 1)
        return found


def wait(listener: dict[str, Any], rate: float) -> float:
    presence, d = listener["presence"], float(listener["service"]["mean"])
    if "on" in presence:
        return OnOff(d, presence["on"], presence["off"]).response_time(rate)
    turns: list[float] = [0.0, *(t for t, _ in presence["schedule"])]
    absences = [back - gone for place, (gone, back) in enumerate(pairwise(turns)) if place % 2]
    station = OnOff(d, (turns[-1] - sum(absences)) / len(absences), sum(absences) / len(absences))
    away = sum(each**2 for each in absences) / (2 * turns[-1])
    return (away + d * station.slowdown) / (1 - station.utilisation(rate))


@pytest.mark.parametrize("effort", Effort)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.number)
def test_queues_that_follow_theorem_2_agree(figure: Any, effort: Effort) -> None:
    """Each measured point is compared; in which runs is what the simulator can read."""
    drawn = figure.make(cast("Workshop", Waiting()), effort)
    assert {finding.state for finding in drawn.findings} == {State.HOLDS}
    assert all(finding.measured == pytest.approx(finding.expected, rel=0.02) for finding in drawn.findings)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.number)
def test_queues_that_do_not_are_found(figure: Any) -> None:
    """By a quarter more, beyond what chance may make; the reason says what that is."""
    drawn = figure.make(cast("Workshop", Waiting(1.25)), Effort.QUICK)
    assert state_of(drawn.findings) is State.DEVIATES
    assert "than theorem 2 says" in drawn.findings[0].reason


def test_synthetic_traces_have_the_averages_of_the_paper() -> None:
    """Of connections and of calls; below the rate at which the queue would grow for ever."""
    periods = connections(JOURNEYS, 1)
    for column, mean in zip(zip(*periods, strict=True), METRO_2, strict=True):
        assert sum(column) / len(column) == pytest.approx(mean)
    for _, mean in LOADS:
        rates = rates_of_day(mean, 144, 1)
        assert sum(rates) / len(rates) == pytest.approx(mean, rel=0.02)
        assert max(rates) <= 0.25 < OnOff(1, 40, 40).fastest
        assert max(rates) > 3 * min(rates)
