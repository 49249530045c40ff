"""Perfect merges match what their parts match, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from chapar.filter import Filter
from chapar.limits import MAX_SET_VALUES
from chapard.core.match_region import regions_of, union_of
from chapard.core.overlay.perfect_merge import constraints_for, merged
from strategies.matching import random_event, random_filter

MERGES = [
    (("x = 1", "x = 2", "x in (3, 4)"), "x in (1, 2, 3, 4)"),
    (("x > 1 and x < 5", "x >= 5 and x < 7"), "x > 1 and x < 7"),
    (("x < 1", "x >= 1"), "x >= -1.7976931348623157e+308"),
    (("x < 1", "x > 1"), "x != 1"),
    (("x != 1", "x = 1"), "x >= -1.7976931348623157e+308"),
    (("x <= 1", "x >= 0 and x <= 3 and x != 2"), "x <= 3 and x != 2"),
    (("x = 4", "x < 4"), "x <= 4"),
    (("x = true", "x = false"), "x in (false, true)"),
    (('s starts with "a"', 's starts with "b"'), 's >= "a" and s < "c"'),
    (('subject = "f" and x > 1', 'subject = "g" and x > 1'), 'subject in ("f", "g") and x > 1'),
    (("x > 1 and y = 1", "x > 1 and y = 2", "x <= 1 and y in (1, 2)"), "x >= -1.7976931348623157e+308 and y in (1, 2)"),
]
NO_MERGES = [
    ("x = 1", "y = 1"),
    ("x = 1", "x > 3"),
    ("x < 1", "x > 2"),
    ("x > 1", 'x > "a"'),
    ("x > 1", 'x < "b"'),
    ("x = 1 and y = 1", "x = 2 and y = 2"),
    ("x > 1", "x > 1 and y > 1"),
]


@pytest.mark.parametrize(("parts", "whole"), MERGES)
def test_these_merge(parts: tuple[str, ...], whole: str) -> None:
    """In whatever order they come."""
    filters = [Filter.parse(part) for part in parts]
    assert merged(filters) == merged(reversed(filters))
    assert merged(filters) == [Filter.parse(whole)]


@pytest.mark.parametrize("parts", NO_MERGES)
def test_these_stay_as_they_are(parts: tuple[str, ...]) -> None:
    """No conjunction says what they say together."""
    filters = [Filter.parse(part) for part in parts]
    assert set(merged(filters)) == set(filters)


@pytest.mark.parametrize("seed", range(30))
def test_mergers_match_what_their_parts_match(seed: int) -> None:
    rng = Random(seed)
    names = ("speed", "state")
    filters = [random_filter(rng, names) for _ in range(30)]
    whole = merged(filters)
    assert len(whole) < len(filters)
    for _ in range(200):
        event = random_event(rng, names)
        assert any(each.matches(event) for each in filters) == any(each.matches(event) for each in whole)


def test_a_set_grows_no_larger_than_a_filter_can_hold() -> None:
    filters = [Filter.parse(f"x = {2 * number}") for number in range(MAX_SET_VALUES + 3)]
    values = [each.constraints[0].value for each in merged(filters)]
    assert sorted(len(each) for each in values if isinstance(each, tuple)) == [3, MAX_SET_VALUES]


def test_a_union_of_kinds_that_no_conjunction_asks_for_is_none() -> None:
    regions = [regions_of(Filter.parse(text).constraints)["x"] for text in ("x > 1", 'x = "a"')]
    assert constraints_for("x", union_of(*regions)) is None
    everything = regions_of(Filter.parse("x exists").constraints)["x"]
    assert Filter.of(constraints_for("x", everything) or []) == Filter.parse("x exists")
