"""The rows of a verdict."""

import json

import pytest

from chapar_audit.verdict import Finding, State, as_json, compared, state_of


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ([], State.OPEN),
        ([State.OPEN], State.OPEN),
        ([State.OPEN, State.HOLDS], State.HOLDS),
        ([State.HOLDS, State.DEVIATES, State.OPEN], State.DEVIATES),
    ],
)
def test_one_deviation_is_enough_and_nothing_decided_is_no_pass(states: list[State], whole: State) -> None:
    """The state of the whole."""
    assert state_of([Finding("truth", "frames", state) for state in states]) is whole


def test_a_comparison_holds_within_its_tolerance_and_gives_a_reason_beyond_it() -> None:
    """At the tolerance itself it still holds; without one, only equality does."""
    assert compared("traffic", "events", 103, 100, within=0.03, reason="retries")[2:] == (
        State.HOLDS, 103, 100, "", "3 %", "",
    )  # fmt: skip
    assert compared("traffic", "events", 104, 100, within=0.03, reason="retries").reason == "retries"
    assert compared("truth", "frames", 99, 100, within=0).state is State.DEVIATES
    assert compared("truth", "frames", 100, 100, within=0).tolerance == "exact"


def test_the_verdict_is_plain_json() -> None:
    """Names, numbers and states."""
    told = json.loads(json.dumps(as_json("demo", [compared("truth", "frames", 1, 2, within=0, unit="frames")])))
    assert told["state"] == "deviates"
    assert told["findings"][0]["expected"] == 2
