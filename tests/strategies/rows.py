"""Rows of the datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from chapard.core.records import COLUMNS

if TYPE_CHECKING:
    from chapard.core.records import Column

_VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "i64": st.integers(-(2**63), 2**63 - 1),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i16": st.integers(-(2**15), 2**15 - 1),
    "str": st.text(st.characters(codec="utf-8"), max_size=80),
    "event_id": st.binary(min_size=10, max_size=10),
    "filter_id": st.binary(min_size=20, max_size=20),
    "list<i32>": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40).map(tuple),
    "list<str>": st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=5).map(tuple),
}


def _value(column: Column) -> st.SearchStrategy[Any]:
    values = _VALUES[column.type]
    return st.none() | values if column.nullable else values


def rows_of(dataset: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """A row of a dataset: a value for each of its columns."""
    return st.tuples(*map(_value, COLUMNS[dataset]))
