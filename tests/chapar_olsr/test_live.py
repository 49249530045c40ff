"""A source under supervision, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.live import FIRST_RETRY, LAST_RETRY, OK, LiveRoutes
from chapar_olsr.source import SourceError
from chapar_olsr.view import Route, RouteView
from virtual_loop import run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import pytest

INDEX = 1
MAX_AGE = 15.0
PAIR = RouteView(INDEX, frozenset({2}), {2: Route(2, 1)})
OTHER = RouteView(INDEX, frozenset({3}), {3: Route(3, 1)})
LONELY = RouteView(INDEX)
Step = RouteView | Exception | float
"""A view to give, an error to raise, or seconds to wait."""


class Scripted:
    """A source that does what it is told, once; asked again, it goes on where it was."""

    name = "scripted"

    def __init__(self, *steps: Step) -> None:
        self.faults = Faults()
        self.asked: list[float] = []
        self._steps = list(steps)

    async def views(self) -> AsyncGenerator[RouteView, None]:
        self.asked.append(asyncio.get_running_loop().time())
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, RouteView):
                yield step
            elif isinstance(step, Exception):
                raise step
            else:
                await asyncio.sleep(step)
        await asyncio.get_running_loop().create_future()


Check = Callable[[LiveRoutes, list[RouteView]], None]


def supervise(source: Scripted, seconds: float, check: Check, max_age: float | None = MAX_AGE) -> None:
    """Run a source for a while, then look."""

    async def work() -> None:
        routes = LiveRoutes(source, index=INDEX, max_age=max_age)
        seen: list[RouteView] = []
        task = asyncio.create_task(routes.run(seen.append))
        await asyncio.sleep(seconds)
        check(routes, seen)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(work())


def test_equal_views_cause_nothing() -> None:
    """However often a source stands by them; only a different one is handed on, with the next version."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen == [LONELY, PAIR, OTHER]
        assert [view.version for view in seen] == [0, 1, 2]
        assert (routes.view, routes.version, routes.state) == (OTHER, 2, OK)

    supervise(Scripted(PAIR, 1.0, PAIR, 1.0, PAIR, 1.0, OTHER), 5.0, check)


def test_quality_is_that_of_the_last_view() -> None:
    """It drifts all the time: nobody is told, but who looks sees how it is now."""
    good, bad = replace(PAIR, quality={2: 0.9}), replace(PAIR, quality={2: 0.2})

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen == [LONELY, PAIR]
        assert (routes.view.quality, routes.version) == ({2: 0.2}, 1)

    supervise(Scripted(good, 1.0, bad), 5.0, check)


def test_a_first_view_that_says_alone_is_an_answer() -> None:
    """A source that sees nobody is up."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert routes.state == OK
        assert seen[-1].version == routes.version == 1

    supervise(Scripted(LONELY), 1.0, check)


def test_the_last_view_stands_for_a_time_after_a_failure() -> None:
    """The state says what is wrong, and the fault is counted."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen[-1] == PAIR
        assert routes.state == "stale: connection refused"
        assert routes.faults.counts == {Fault.UNREACHABLE: 1}

    supervise(Scripted(PAIR, SourceError("connection refused")), MAX_AGE - 1, check)


def test_then_the_node_is_alone() -> None:
    """And comes back with the source."""

    def is_alone(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen[-1] == LONELY
        assert routes.state == "down: connection refused"

    def is_back(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen == [LONELY, PAIR, LONELY, PAIR]
        assert routes.state == OK

    supervise(Scripted(PAIR, SourceError("connection refused")), MAX_AGE + 1, is_alone)
    supervise(Scripted(PAIR, SourceError("connection refused"), 20.0, PAIR), MAX_AGE + 10, is_back)


def test_a_source_that_falls_silent_ages_out_too() -> None:
    """It has not failed, it only says nothing any more."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen[-1] == LONELY
        assert routes.state == "down: no answer for 15 s"

    supervise(Scripted(PAIR), MAX_AGE + 1, check)


def test_standing_by_a_view_keeps_it_young() -> None:
    """A sign of life now and then is enough."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen == [LONELY, PAIR]
        assert routes.state == OK

    supervise(Scripted(*(PAIR, 10.0) * 9), 80.0, check)


def test_a_view_may_stand_for_ever() -> None:
    """What was written by hand does not become untrue by being unreadable."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert routes.view == seen[-1] == PAIR
        assert routes.state == "stale: no such file"

    supervise(Scripted(PAIR, SourceError("no such file")), 1000.0, check, max_age=None)


def test_a_source_that_fails_is_asked_again_less_and_less_often() -> None:
    """Never more than once a second, and never given up."""
    source = Scripted(*[SourceError("refused") for _ in range(20)])

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        gaps = [after - before for before, after in pairwise(source.asked)]
        assert min(gaps) >= FIRST_RETRY
        assert max(gaps) == gaps[-1] == LAST_RETRY
        assert gaps == sorted(gaps)
        assert seen == [LONELY]
        assert routes.state == "down: refused"

    supervise(source, 60.0, check)


def test_a_mistake_in_a_source_does_not_end_the_service(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback, and the source starts again."""

    def check(routes: LiveRoutes, seen: list[RouteView]) -> None:
        assert seen == [LONELY, PAIR, OTHER]
        assert routes.state == OK

    with caplog.at_level(logging.ERROR):
        supervise(Scripted(PAIR, ZeroDivisionError("a bug"), OTHER), 5.0, check)
    assert "please report" in caplog.text
    assert "a bug" in caplog.text


def test_a_source_that_never_was_there_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Why, and once it is time, that this node serves alone."""
    with caplog.at_level(logging.INFO):
        supervise(Scripted(*[SourceError("refused") for _ in range(20)]), MAX_AGE + 30, lambda _, __: None)
    assert [record.getMessage() for record in caplog.records] == [
        "routes from scripted: unreachable (1 so far): refused",
        "routes from scripted: down: refused; this node serves alone",
    ]


def test_a_source_that_comes_and_goes_is_told_once_per_interval(caplog: pytest.LogCaptureFixture) -> None:
    """However often it fails, and whatever it says of that each time."""
    steps = [step for n in range(20) for step in (PAIR, SourceError(f"{n} bytes of 900", Fault.TRUNCATED))]
    with caplog.at_level(logging.INFO):
        supervise(Scripted(*steps), 30.0, lambda _, __: None)
    assert [record.getMessage() for record in caplog.records] == [
        "routes from scripted: 1 neighbours, 1 nodes",
        "routes from scripted: truncated (1 so far): 0 bytes of 900",
    ]


def test_faults_are_told_once_per_kind_and_interval(caplog: pytest.LogCaptureFixture) -> None:
    """The log does not grow with what a source says."""
    source = Scripted(*(PAIR, 1.0) * 50)
    for _ in range(30):
        source.faults.add(Fault.LOOP, "round and round")

    with caplog.at_level(logging.WARNING):
        supervise(source, 45.0, lambda routes, seen: seen.append(routes.view))
    assert [record.getMessage() for record in caplog.records] == [
        "routes from scripted: loop (30 so far): round and round"
    ]
