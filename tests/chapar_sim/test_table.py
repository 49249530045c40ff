"""Reading tables strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.table import ScenarioError, Table

if TYPE_CHECKING:
    from collections.abc import Callable

READ: dict[str, Callable[[Table], Any]] = {
    "number": lambda table: table.number("key", low=0, high=9),
    "above": lambda table: table.number("key", above=0),
    "integer": lambda table: table.integer("key", low=1, high=5),
    "flag": lambda table: table.flag("key", default=True),
    "text": lambda table: table.text("key"),
    "choice": lambda table: table.choice("key", ("chain", "grid")),
    "span": lambda table: table.span("key", (0, 1)),
    "integers": lambda table: table.integers("key", low=1, high=5),
    "table": lambda table: table.table("key"),
    "tables": lambda table: table.tables("key"),
}


@pytest.mark.parametrize(
    ("how", "value", "expected"),
    [
        ("number", 3, 3.0),
        ("number", 0.5, 0.5),
        ("integer", 5, 5),
        ("flag", False, False),
        ("text", "a", "a"),
        ("choice", "grid", "grid"),
        ("span", 2, (2.0, 2.0)),
        ("span", [1, 2], (1.0, 2.0)),
        ("integers", [1, 5], (1, 5)),
    ],
)
def test_what_fits_is_read(how: str, value: object, expected: object) -> None:
    """A value of the right kind and size comes back as asked for."""
    assert READ[how](Table({"key": value}, "file")) == expected


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("number", "3"),
        ("number", True),
        ("number", float("nan")),
        ("number", -1),
        ("number", 10),
        ("above", 0),
        ("integer", 2.0),
        ("integer", True),
        ("integer", 6),
        ("flag", 1),
        ("text", 3),
        ("choice", "gird"),
        ("choice", ["grid"]),
        ("span", [2, 1]),
        ("span", [1, 2, 3]),
        ("span", "wide"),
        ("span", -1),
        ("integers", 3),
        ("integers", [0]),
        ("table", 3),
        ("tables", 3),
        ("tables", [3]),
    ],
)
def test_what_does_not_fit_is_refused_by_file_and_key(how: str, value: object) -> None:
    """The complaint is one line that begins with where it is."""
    with pytest.raises(ScenarioError, match=r"^file: key(\[0\])?: ") as refusal:
        READ[how](Table({"key": value}, "file"))
    assert "\n" not in str(refusal.value)


def test_a_key_that_nobody_asked_for_is_refused_with_the_closest_one() -> None:
    """A slip of the pen gets a suggestion, anything else the list of keys."""
    table = Table({"los": 0.1}, "file", "radio")
    table.number("loss", 0.0)
    with pytest.raises(ScenarioError, match=r"^file: radio.los: unknown key; did you mean loss\?$"):
        table.finish()
    table = Table({"xyz": 1}, "file", "radio")
    table.number("loss", 0.0)
    with pytest.raises(ScenarioError, match=r"^file: radio.xyz: unknown key; known here: loss$"):
        table.finish()


def test_a_missing_key_says_what_to_write() -> None:
    """Unless it has a default."""
    with pytest.raises(ScenarioError, match=r"^file: key: missing; write a number$"):
        Table({}, "file").number("key")
    assert Table({}, "file").number("key", 4) == 4
