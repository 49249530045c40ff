"""The swarm: its command, and that a seed is a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import Future
from typing import Any

import pytest

from chapar_sim.case import Violation
from chapar_sim.cli import main
from chapar_sim.draw import draw, scenario_of
from chapar_sim.swarm import Kind, Outcome, describe, first_failure, judge_seed, outcome_of
from chapar_sim.tree_draw import draw_tree
from chapard.core.effects import Answer, Effect
from chapard.core.node import Node

SHORT = 1
"""A seed whose run is short."""
DIGESTS = """
from chapar_sim.draw import scenario_of
from chapar_sim.world import World
for seed in (0, 1, 4, 8):
    print(World(scenario_of(seed)).run().digest())
"""


class Mute(Node):
    """A node that never answers its clients."""

    def drain(self, now: float) -> list[Effect]:
        return [effect for effect in super().drain(now) if not isinstance(effect, Answer)]


class Broken(Node):
    """A node with a bug that only a tick reaches."""

    def tick(self, now: float) -> None:
        raise AssertionError(f"ticked at {now}")


def test_the_same_seed_gives_the_same_trace() -> None:
    """Two processes with different hash seeds record the same, to the last row."""
    prints = set()
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", DIGESTS], env=env, capture_output=True, check=True)  # noqa: S603 - ours
        prints.add(done.stdout)
    assert len(prints) == 1
    assert len(set(prints.pop().split())) == 4, "and different seeds give different traces"


def test_a_seed_that_passes_is_judged_on_something() -> None:
    """A run without a violation had events to judge."""
    outcome = judge_seed(SHORT)
    assert outcome.violations == ()
    assert outcome.published > 0
    assert outcome.delivered > 0


def test_first_failure_is_the_first() -> None:
    """The first seed that fails is found; with a node that works, none is."""
    assert first_failure([SHORT], Node) is None
    found = first_failure([SHORT, SHORT + 1], Mute)
    assert found is None, "who never gets a receipt has published nothing, so nothing is owed"


def test_the_command_reports_success(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 and one line when every seed passes."""
    assert main(["swarm", "--seeds", "1", "--start", str(SHORT), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 seeds, ")
    assert out.rstrip().endswith("no violation")


def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json all of the outcome is one object."""
    assert main(["swarm", "--seeds", "1", "--start", str(SHORT), "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (report["start"], report["seeds"], report["failures"]) == (SHORT, 1, [])
    assert report["published"] > 0


def test_a_failure_says_how_to_have_it_again() -> None:
    """A failure names its seed, what was drawn, every broken promise, and the command that repeats it."""
    broken = tuple(Violation("once", float(t), f"thing {t}") for t in range(30))
    text = describe(Outcome(5, broken, 1, 1, 100.0))
    assert text.startswith(f"seed 5 failed: {scenario_of(5).about}")
    assert "refresh_period=" in text
    assert "once at 3.00 s: thing 3" in text
    assert "and 10 more" in text
    assert text.endswith("chapar-sim swarm --seeds 1 --start 5")


def test_a_scenario_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """--print gives the scenario of a seed as a file for chapar-sim run."""
    assert main(["swarm", "--print", "3"]) == 0
    assert tomllib.loads(capsys.readouterr().out) == draw(3)


def test_trees_are_drawn_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed is another scenario then, and a failure says so."""
    assert main(["swarm", "--trees", "--print", "3"]) == 0
    assert tomllib.loads(capsys.readouterr().out) == draw_tree(3)
    text = describe(Outcome(5, (), 1, 1, 100.0), Kind.TREES)
    assert "tree [[" in text
    assert text.endswith("chapar-sim swarm --trees --seeds 1 --start 5")
    assert main(["swarm", "--trees", "--seeds", "1", "--start", "1", "--jobs", "1"]) == 0


@pytest.mark.parametrize("wrong", [["--seeds", "0"], ["--start", "-1"], ["--jobs", "0"], ["--print", "-2"]])
def test_wrong_usage_is_refused_in_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Impossible numbers end with exit code 2 and one line."""
    assert main(["swarm", *wrong]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_words_for_numbers_are_refused() -> None:
    """What is no number is wrong usage as well."""
    with pytest.raises(SystemExit) as refusal:
        main(["swarm", "--seeds", "many"])
    assert refusal.value.code == 2


def test_an_exception_in_a_run_is_not_swallowed() -> None:
    """A core that raises ends the search with its own error."""
    with pytest.raises(AssertionError, match="ticked at"):
        first_failure([SHORT], Broken)


def test_a_run_that_raises_fails_its_seed() -> None:
    """In the swarm an exception is a failure of its seed like any other, and the rest goes on."""
    future: Future[Outcome] = Future()
    future.set_exception(AssertionError("a bug"))
    (violation,) = outcome_of(9, future).violations
    assert violation.rule == "exception"
    assert "AssertionError: a bug" in violation.what
