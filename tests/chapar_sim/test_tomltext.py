"""Scenarios written as TOML."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from chapar_sim.tomltext import dumps

keys = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = plain | st.lists(plain, max_size=3)
tables = st.recursive(
    st.dictionaries(keys, values, max_size=3),
    lambda inner: st.dictionaries(keys, values | inner | st.lists(inner, min_size=1, max_size=2), max_size=3),
    max_leaves=8,
)


@given(tables)
def test_what_is_written_is_read_again(data: dict[str, object]) -> None:
    """Tables, lists of tables and plain values come back as they were."""
    assert tomllib.loads(dumps(data)) == data
