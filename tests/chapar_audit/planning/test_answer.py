"""How numbers are shown."""

from __future__ import annotations

from chapar_audit.planning.answer import cheaper, columns, listed, shown


def test_numbers_have_six_digits() -> None:
    """Whole ones all of theirs; where there is none, a dash."""
    assert [shown(each) for each in (1 / 3, 12_345_678, 1e-9, None, "stop")] == [
        "0.333333", "12345678", "1e-09", "–", "stop",
    ]  # fmt: skip


def test_columns_are_aligned() -> None:
    """The first flush left, numbers flush right, no blanks at the end."""
    lines = columns(("name", "value"), [["a", 1], ["long name", ""]])
    assert lines == ["name       value", "a              1", "long name"]


def test_quantities_are_listed_with_their_meaning() -> None:
    """Symbol, value, meaning."""
    assert listed([("x", 1.5, "links"), ("A_f", 10, "flooding")]) == ["x    1.5  links", "A_f   10  flooding"]


def test_the_cheaper_one_is_named() -> None:
    """Or neither."""
    assert cheaper(1.0, 2.0) == "identity-based routing is cheaper: 1 instead of 2"
    assert cheaper(3.0, 2.0) == "flooding is cheaper: 2 instead of 3"
    assert cheaper(2.0, 2.0) == "identity-based routing and flooding cost the same"
