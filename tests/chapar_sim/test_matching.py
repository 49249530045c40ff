"""The command chapar-sim matching: how large a filter table is, and what a lookup takes."""

from __future__ import annotations

import json
import sys

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.cli import main
from chapar_sim.matching import look_up, measured
from chapard.core.matcher import Matcher


def test_the_index_is_ids_and_node_vectors() -> None:
    """20 bytes and a bit for each node, a filter; the records grow with each who holds it."""
    one = measured(20, 40, 5, 1, 10, seed=3)
    assert one["index_bytes"] == 20 * (20 + 40 / 8)
    all_hold = measured(20, 40, 5, 40, 10, seed=3)
    assert all_hold["index_bytes"] == one["index_bytes"]
    assert all_hold["record_bytes"] > 20 * one["record_bytes"]
    assert (one["found"], all_hold["found"]) == (1, 40)


def test_a_lookup_takes_as_many_steps_in_a_large_table() -> None:
    """Filters are looked up by the values they ask for, not one by one."""
    assert measured(500, 40, 5, 1, 10, seed=3)["steps"] == measured(5, 40, 5, 1, 10, seed=3)["steps"]


def test_steps_are_counted() -> None:
    """Deciding filters one by one takes more steps for each of them, and whoever traced before still does."""
    before, steps = sys.gettrace(), []
    for count in (1, 3):
        matcher = Matcher(8)
        for bound in range(count):
            matcher.add(Filter(where=f"x > {bound}"), bound)
        found = look_up(matcher, Event(attributes={"x": 10}))
        assert found.found == count
        steps.append(found.steps)
    assert 0 < steps[0] < steps[1]
    assert sys.gettrace() is before


def test_the_command_prints_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, or as text."""
    arguments = ["matching", "--filters", "4", "--nodes", "8", "--lookups", "2"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["index_bytes"] == 4 * 21
    assert main(arguments) == 0
    assert "index_bytes            84.00\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--filters 4 --nodes 2 --holders 3", "--holders 3: there are 2 nodes"),
        ("--filters 5000", "--filters 5000: at most 4096"),
        ("--filters 5 --elements 33", "--elements 33: at most 32"),
        ("--filters 0", "'0' is not a whole number from 1"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], options: str, says: str) -> None:
    """With exit code 2."""
    try:
        code: object = main(["matching", *options.split()])
    except SystemExit as end:
        code = end.code
    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1)
    assert says in err
