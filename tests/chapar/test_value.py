"""Names and values: what an attribute may be called and what it may hold."""

from enum import IntEnum, StrEnum
from math import inf, nan

import pytest
from hypothesis import given

from chapar.limits import INT64_MAX, INT64_MIN, MAX_NAME, MAX_STRING
from chapar.value import HEADER, WORDS, Kind, NameFaults, Value, kind_of, name_fault, plain, value_fault
from strategies.values import names, values


@given(names)
def test_good_names_have_no_fault(name: str) -> None:
    """Every identifier that is neither a header element nor a word of the language is a name."""
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "1a", "a b", "é", "-a", ".a", "a\n", 'a"', "x" * (MAX_NAME + 1), *HEADER, *sorted(WORDS), "AND", "True"],
)
def test_bad_names_have_a_fault_told_in_one_line(name: str) -> None:
    """Other alphabets, header elements and the words of the language in any case are refused, with a reason."""
    fault = name_fault(name)
    assert fault
    assert "\n" not in fault


def test_remembering_names_is_bounded_and_changes_no_answer() -> None:
    """However many names a peer invents, no more than the limit stay, and each is judged as before."""
    faults = NameFaults(limit=10)
    for name in [f"n{number}" for number in range(25)] + [f"{number}n" for number in range(25)] + ["x" * 5000]:
        assert (faults[name] is None) is (name_fault(name) is None) is name.startswith("n")
        assert len(faults) <= 10
    assert "x" * 5000 not in faults
    assert faults["n0"] is None


@given(values)
def test_good_values_have_no_fault_and_a_kind(value: Value) -> None:
    """Integers of 64 bits, finite doubles, text and booleans are values; booleans are no numbers."""
    assert value_fault(value) is None
    kind = Kind.BOOLEAN if isinstance(value, bool) else Kind.STRING if isinstance(value, str) else Kind.NUMBER
    assert kind_of(value) is kind


@pytest.mark.parametrize(
    "value",
    [nan, inf, -inf, INT64_MAX + 1, INT64_MIN - 1, "x" * (MAX_STRING + 1), "\ud800", "a\udfff", None, b"", (), 1j],
    ids=repr,
)
def test_bad_values_have_a_fault(value: object) -> None:
    """NaN, infinities, wider integers, longer text, lone surrogates and other types are refused."""
    assert value_fault(value)


def test_subclasses_become_plain() -> None:
    """Members of enumerations hold what they stand for; a value's type is then exactly one of four."""
    number = IntEnum("number", ["ONE"]).ONE  # type: ignore[attr-defined]  # mypy cannot see members made by a call
    text = StrEnum("text", ["A"]).A  # type: ignore[attr-defined]  # as above
    assert [(plain(each), type(plain(each))) for each in (number, text, True, 1.5)] == [
        (1, int),
        ("a", str),
        (True, bool),
        (1.5, float),
    ]
    assert plain(None) is None
