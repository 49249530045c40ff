"""Tables of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.cli.table import columns_of, cut, facts, table

cells = st.none() | st.integers(-999, 999) | st.text(max_size=6)


def test_columns_are_aligned() -> None:
    """Text to the left, numbers to the right, what is absent a dash, no spaces at the end of a line."""
    rows = [("a", 5, None), ("longer", 1200, "x")]
    assert table(("name", "size", "note"), rows) == "name    size  note\na          5  –\nlonger  1200  x\n"


def test_an_empty_table_is_its_headings() -> None:
    """Nothing to align, nothing to fail on."""
    assert table(("a", "b"), []) == "a  b\n"


def test_wide_characters_take_two_columns() -> None:
    """And combining ones none, so that what follows stands below its heading."""
    assert table(("x", "y"), [("漢字", 1), ("e\u0301", 2)]) == "x     y\n漢字  1\ne\u0301     2\n"


@given(st.lists(st.tuples(cells, cells, cells), max_size=5))
def test_each_row_is_one_printable_line(rows: list[tuple[str | int | None, ...]]) -> None:
    """Whatever is in the cells: they come from the network."""
    lines = table(("a", "b", "c"), rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)


@given(st.lists(st.tuples(st.text("ab", max_size=4), st.text("ab漢", max_size=60)), max_size=5), st.integers(0, 50))
def test_the_last_column_is_cut_to_the_terminal(rows: list[tuple[str, str]], width: int) -> None:
    """Lines fit, unless the headings alone do not."""
    lines = table(("name", "filter"), rows, width=width).splitlines()
    assert max(map(columns_of, lines)) <= max(width, len("name  filter"))


def test_what_is_cut_leaves_a_mark() -> None:
    """And what fits does not."""
    assert cut("filter", 6) == "filter"
    assert cut("filters", 6) == "filte…"
    assert cut("漢字漢字", 6) == "漢字…"


def test_facts_stand_below_each_other() -> None:
    """Names padded to the longest; values escaped."""
    assert facts([("node", "1"), ("kernel drops", "a\nb")]) == "node          1\nkernel drops  a\\nb\n"
