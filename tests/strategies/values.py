"""Hypothesis strategies for values, constraints, filters and events, fond of the places where orders are subtle."""

from __future__ import annotations

import sys
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from chapar.constraint import Constraint, Op
from chapar.event import Event, EventId, event_id
from chapar.filter import Filter
from chapar.limits import INT64_MAX, INT64_MIN, MAX_LIFETIME_MS, MAX_NODES, MAX_STRING, U32_MAX, U64_MAX
from chapar.value import WORDS

if TYPE_CHECKING:
    from chapar.value import Value

LAST = "\U0010ffff"

# Numbers where integers and doubles pass each other, and the ends of both.
NUMBERS: tuple[int | float, ...] = (
    *(0, 1, 2, 1.5, 1.0, 5e-324, -5e-324, nextafter(1.0, inf), nextafter(1.0, -inf)),
    *(2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, float(2**53 + 2)),
    *(INT64_MAX, INT64_MAX - 1, float(2**63), nextafter(float(2**63), -inf), nextafter(float(2**63), inf)),
    *(INT64_MIN, INT64_MIN + 1, nextafter(float(INT64_MIN), -inf), nextafter(float(INT64_MIN), inf)),
    *(sys.float_info.max, -sys.float_info.max, nextafter(sys.float_info.max, 0), 4095, 4095.5, 4096, -1, 0.5),
)
# Strings that are neighbours, prefixes of each other, or at the ends of the order and of the length.
STRINGS: tuple[str, ...] = (
    *("", "\0", "\0\0", "a", "a\0", "a\0\0", "a\0a", "aa", "b", "ab", "a" + LAST, LAST, LAST + LAST),
    *("\ud7ff", "\ue000", "a\ud7ff", "a\ue000", "\uffff", "\U00010000"),
    *("a" * MAX_STRING, "a" * (MAX_STRING - 1), "a" * (MAX_STRING - 1) + "b", LAST * MAX_STRING),
    *("a" + LAST * (MAX_STRING - 1), "é", '"', "'", "\\", "\n", "and", "*"),
)

numbers = st.one_of(
    st.sampled_from(NUMBERS),
    st.integers(INT64_MIN, INT64_MAX),
    st.floats(allow_nan=False, allow_infinity=False),
)
strings = st.one_of(st.sampled_from(STRINGS), st.text(max_size=8), st.text("ab\0" + LAST, max_size=3))
values: st.SearchStrategy[Value] = st.one_of(numbers, strings, st.booleans())

names = st.one_of(
    st.sampled_from(("a", "b", "speed", "_", "Type", "x.y-z")),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True),
).filter(lambda name: name not in ("type", "subject", "sender", "group") and name.lower() not in WORDS)

ANY_KIND = (Op.EQ, Op.NE)
ORDERED = (*ANY_KIND, Op.LT, Op.LE, Op.GT, Op.GE)


def conditions(of_numbers: Any = numbers, of_strings: Any = strings) -> st.SearchStrategy[tuple[Op, Any]]:
    """Any legal operator with its value, from the given strategies."""
    of_values = st.one_of(of_numbers, of_strings, st.booleans())
    return st.one_of(
        st.tuples(st.sampled_from(ORDERED), st.one_of(of_numbers, of_strings)),
        st.tuples(st.sampled_from(ANY_KIND), st.booleans()),
        st.tuples(st.just(Op.PREFIX), of_strings),
        st.tuples(st.just(Op.IN), st.lists(of_values, min_size=1, max_size=4).map(tuple)),
        st.just((Op.EXISTS, None)),
    )


def constraints_on(name: str, of_numbers: Any = numbers, of_strings: Any = strings) -> st.SearchStrategy[Constraint]:
    """Any legal constraint on `name`, with values from the given strategies."""
    return conditions(of_numbers, of_strings).map(lambda condition: Constraint(name, *condition))


constraints = st.builds(
    lambda name, condition: Constraint(name, *condition),
    st.one_of(names, st.sampled_from(("type", "subject", "sender", "group"))),
    conditions(),
)
filters = st.lists(constraints, max_size=6).map(Filter.of)

event_ids: st.SearchStrategy[EventId] = st.builds(
    event_id, st.integers(0, MAX_NODES - 1), st.integers(0, U32_MAX), st.integers(0, U32_MAX)
)
header_strings = st.none() | strings


@st.composite
def events(draw: st.DrawFn, *, stamped: bool | None = None) -> Event:
    """Any event: stamped by its home, not stamped, or (None) either."""
    persistent = draw(st.booleans())
    lifetime_ms = 0 if persistent else draw(st.just(0) | st.integers(1, MAX_LIFETIME_MS))
    event = Event(
        subject=draw(header_strings),
        type=draw(header_strings),
        group=draw(header_strings),
        attributes=draw(st.dictionaries(names, values, max_size=5)),
        payload=draw(st.binary(max_size=80)),
        to=draw(st.lists(st.integers(0, MAX_NODES - 1), max_size=5)),
        lifetime=lifetime_ms / 1000,
        persistent=persistent,
    )
    if stamped is False or (stamped is None and draw(st.booleans())):
        return event
    return event.accepted(id=draw(event_ids), chain=draw(st.integers(0, U64_MAX)) if persistent or lifetime_ms else 0)
