"""Filters match, cover and overlap exactly: every answer is checked against the events that decide it.

Whether a value satisfies constraints depends only on its place among the values they name: at one of them, or between
two neighbours. The named values, the next value after each, and the least value of each kind therefore visit every
case there is, and the events made of them are a complete brute force: if two filters differ, one of these events is
the witness.
"""

from __future__ import annotations

import copy
import pickle
import sys
from itertools import product
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op
from chapar.errors import FilterError, WireError, WireReason
from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.limits import INT64_MAX, MAX_FILTER_BYTES, MAX_NODES, MAX_STRING
from chapar.ordered_set import after_prefix, next_number, next_string
from strategies.values import LAST, NUMBERS, ORDERED, STRINGS, constraints_on, events, filters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chapar.value import Value

# Few values, close together, so that constraints meet, contradict and include each other often.
near_numbers = st.sampled_from((1, 2, nextafter(1.0, inf), next_number(nextafter(1.0, inf)), 1.5, 2**53, 2**53 + 1))
near_strings = st.sampled_from(("", "a", "a\0", "a\0\0", "ab", "a" + LAST, "b"))
node_numbers = st.sampled_from((-1, 0, 0.5, 1, 2, MAX_NODES - 2, MAX_NODES - 1, MAX_NODES))
far_numbers = st.sampled_from(NUMBERS)
far_strings = st.sampled_from(STRINGS)

# Three neighbours and nothing but their order: bounds, holes and points coincide all the time.
tight_values = st.sampled_from((1, nextafter(1.0, inf), nextafter(nextafter(1.0, inf), inf))) | st.sampled_from(
    ("a", "a\0", "a\0\0")
)
tight = st.lists(st.builds(Constraint, st.just("a"), st.sampled_from(ORDERED), tight_values), max_size=4).map(Filter.of)
near = st.lists(constraints_on("a", near_numbers, near_strings), max_size=4).map(Filter.of)
far = st.lists(constraints_on("a", far_numbers, far_strings), max_size=4).map(Filter.of)
headers = st.lists(
    constraints_on("sender", node_numbers, near_strings) | constraints_on("subject", near_numbers, near_strings),
    max_size=4,
).map(Filter.of)
mixed = st.lists(
    constraints_on("a", near_numbers, near_strings) | constraints_on("b", near_numbers, near_strings), max_size=5
).map(Filter.of)
pairs = st.one_of(*(st.tuples(some, some) for some in (tight, near, far, headers, mixed)))


def cases(constraints: Iterable[Constraint]) -> list[Value | None]:
    """Absence, and one value of every case that the constraints on one attribute can tell apart."""
    named: list[Any] = [0.0, "", -sys.float_info.max]
    for _, op, value in constraints:
        named += value if isinstance(value, tuple) else [value]
        named += [after_prefix(value)] if op is Op.PREFIX and isinstance(value, str) else []
    found: dict[tuple[bool, Any], Value | None] = {(False, None): None}
    for value in [True, False, *named]:
        following = None if value is None or isinstance(value, bool) else _next(value)
        found.update({(isinstance(each, bool), each): each for each in (value, following) if each is not None})
    return list(found.values())


def _next(value: Any) -> Value | None:
    return next_string(value) if isinstance(value, str) else next_number(value)


def deciding_events(*asked: Filter) -> Iterator[Event]:
    """Real events that tell apart everything the filters can tell apart."""
    constraints = [constraint for each in asked for constraint in each.constraints]
    names = sorted({constraint.name for constraint in constraints})
    choices = []
    for name in names:
        held = cases(each for each in constraints if each.name == name)
        if name == "sender":
            held = [None, *range(4), *range(MAX_NODES - 4, MAX_NODES)]
        elif name == "subject":
            held = [None, *(value for value in held if isinstance(value, str))]
        choices.append(held)
    for values in product(*choices):
        present: dict[str, Any] = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        header = {name: present.pop(name) for name in ("subject", "sender") if name in present}
        yield Event(attributes=present, **header)


@given(pairs)
@settings(max_examples=1500, deadline=None)
def test_covers_overlaps_and_satisfiable_are_exact(pair: tuple[Filter, Filter]) -> None:
    """They say yes exactly if the events say yes: no false claim, no missed one, contradictions included."""
    one, other = pair
    verdicts = [(one.matches(event), other.matches(event)) for event in deciding_events(one, other)]
    assert one.satisfiable is any(matched for matched, _ in verdicts)
    assert one.overlaps(other) is any(matched and too for matched, too in verdicts)
    assert other.overlaps(one) is one.overlaps(other)
    assert one.covers(other) is all(matched for matched, too in verdicts if too)
    assert other.covers(one) is all(too for matched, too in verdicts if matched)


@given(filters, filters, events())
def test_claims_hold_for_any_event(one: Filter, other: Filter, event: Event) -> None:
    """No event contradicts a claim of covering, of not overlapping or of not being satisfiable."""
    matched, too = one.matches(event), other.matches(event)
    assert not (too and one.covers(other)) or matched
    assert not (matched and too) or one.overlaps(other)
    assert not matched or one.satisfiable


@given(filters, filters, filters)
def test_covering_is_an_order(one: Filter, two: Filter, three: Filter) -> None:
    """Every filter covers itself and less than the empty one; covering is transitive."""
    assert one.covers(one)
    assert Filter().covers(one)
    assert not (one.covers(two) and two.covers(three)) or one.covers(three)
    both = Filter.of([*one.constraints, *two.constraints])
    assert one.covers(both)
    assert both.satisfiable is one.overlaps(two)


@pytest.mark.parametrize(
    "text",
    [
        f"x > 1.0 and x < {nextafter(1.0, inf)!r}",
        f"x > {2**53} and x < {2**53 + 1}",
        f"x > {INT64_MAX} and x < {2.0**63!r}",
        f"x > {sys.float_info.max!r}",
        f"x < {-sys.float_info.max!r}",
        'x > "a" and x < "a\\u0000"',
        'x >= "a" and x < "a\\u0000\\u0000" and x != "a" and x != "a\\u0000"',
        'x starts with "a" and x >= "b"',
        'x < ""',
        f'x > "{LAST * MAX_STRING}"',
        "x != true and x != false",
        "x = 1 and x = true",
        'x > 1 and x starts with ""',
        'x in (1, 2) and x in ("1", 3)',
        'sender = "x"',
        "sender > 0 and sender < 1",
        f"sender > {MAX_NODES - 1}",
        "sender < 0",
        "sender = 1.5",
        "subject = 1",
        "type = true",
    ],
)
def test_contradictions_are_seen(text: str) -> None:
    """What no event can match is covered by everything, covers only its like, and overlaps nothing."""
    contradiction = Filter.parse(text)
    assert not contradiction.satisfiable
    assert Filter(subject="s").covers(contradiction)
    assert contradiction.covers(Filter.parse("y > 1 and y < 1"))
    assert not contradiction.covers(Filter(subject="s"))
    assert not contradiction.overlaps(Filter())
    assert not contradiction.overlaps(contradiction)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x > 1.0", f"x >= {nextafter(1.0, inf)!r}"),
        ("x > 1", "x >= 1 and x != 1"),
        ("x < 1", "x <= 1 and x != 1"),
        (f"x > {2**53}", f"x >= {2**53 + 1}"),
        ("x != true", "x = false"),
        ('x starts with "a"', 'x >= "a" and x < "b"'),
        ('x starts with ""', 'x >= ""'),
        (f'x starts with "{LAST}"', f'x >= "{LAST}"'),
        ('x >= "a" and x < "a\\u0000\\u0000"', 'x in ("a", "a\\u0000")'),
        ("sender > 1.5 and sender <= 3", "sender in (2, 3)"),
        (f"sender > {MAX_NODES - 3}", f"sender in ({MAX_NODES - 2}, {MAX_NODES - 1})"),
        ("sender >= 0.5 and sender < 1.5", "sender = 1"),
        ("sender >= 0", "sender exists"),
        ("sender != -1", "sender exists"),
        ('subject >= ""', "subject exists"),
        ("x = 1 and x in (1, 2)", "x = 1"),
        ("x >= 2 and x <= 2", "x = 2"),
    ],
)
def test_different_texts_can_mean_the_same(one: str, other: str) -> None:
    """Two filters that match the same events cover each other, however they are written."""
    assert Filter.parse(one).covers(Filter.parse(other))
    assert Filter.parse(other).covers(Filter.parse(one))


EVENT = Event(
    subject="position",
    type="gps",
    attributes={"speed": 3, "lat": 52.5, "on": True, "mode": "auto"},
    id=event_id(7, 1, 1),
)


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        ("*", True),
        ('subject = "position" and speed > 2 and lat > 52', True),
        ("speed = 3.0", True),
        ("speed > 3", False),
        ("speed >= 3 and speed <= 3", True),
        ("speed < 3", False),
        ("speed != 3", False),
        ("speed != 4", True),
        ('speed != "3"', False),
        ("absent != 1", False),
        ("absent exists", False),
        ("group exists", False),
        ("on exists and mode exists and sender exists", True),
        ("on = true", True),
        ("on != false", True),
        ("on = 1", False),
        ("on != 1", False),
        ("on in (1, 2)", False),
        ("on in (1, true)", True),
        ("speed in (3, true)", True),
        ("speed in (1, true)", False),
        ('mode in ("auto", "manual")', True),
        ('mode starts with "au"', True),
        ('mode starts with "ut"', False),
        ('speed starts with "3"', False),
        ('mode > "as" and mode < "b"', True),
        ("mode > 1", False),
        ("sender = 7", True),
        ("sender in (1, 2)", False),
    ],
)
def test_a_constraint_needs_presence_and_kind(text: str, matched: bool) -> None:  # noqa: FBT001 - the expected verdict
    """Absent attributes and values of another kind satisfy nothing, `!=` included."""
    assert Filter.parse(text).matches(EVENT) is matched


def test_numbers_compare_exactly() -> None:
    """An integer is not rounded to a double before it is compared."""
    event = Event(attributes={"x": 2**53 + 1})
    assert not Filter.parse(f"x = {float(2**53)!r}").matches(event)
    assert Filter.parse(f"x > {float(2**53)!r}").matches(event)


def test_keywords_and_where_make_one_conjunction() -> None:
    """Keywords ask for equality and join the text."""
    made = Filter(subject="s", type="t", sender=3, group="g", where="speed > 2")
    assert made == Filter.parse('group = "g" and type = "t" and speed > 2 and sender = 3 and subject = "s"')
    assert Filter() == Filter(where="*") == Filter.of([]) == Filter.parse("*")


@pytest.mark.parametrize(
    ("keywords", "hint"),
    [
        ({"subject": 1}, "subject is 1: it holds a string"),
        ({"group": b"g"}, "it holds a string"),
        ({"sender": "x"}, "index of a node"),
        ({"sender": True}, "index of a node"),
        ({"sender": 1.5}, "index of a node"),
        ({"where": "speed >"}, "column 8"),
        ({"where": 3}, "a filter is text"),
        ({"subject": "x" * (MAX_STRING + 1)}, "longer than"),
    ],
)
def test_misuse_is_told_in_one_line(keywords: dict[str, Any], hint: str) -> None:
    """A keyword of the wrong type is no contradiction but a mistake."""
    with pytest.raises(FilterError, match=hint) as refused:
        Filter(**keywords)
    assert "\n" not in str(refused.value)


def test_a_filter_has_a_size() -> None:
    """More bytes than MAX_FILTER_BYTES are refused, from our caller and from a peer."""
    members = tuple(f"{number:0>100}" for number in range(MAX_FILTER_BYTES // 100))
    with pytest.raises(FilterError, match="several filters"):
        Filter.of([Constraint("a", Op.IN, members)])
    with pytest.raises(WireError) as refused:
        Filter.from_wire_untrusted(["a", int(Op.IN), members])
    assert refused.value.reason is WireReason.OVERSIZED


@given(filters)
def test_the_wire_gives_the_filter_back(asked: Filter) -> None:
    """So do copies and pickles; equal filters hash alike and have one id."""
    for again in (Filter.from_wire_untrusted(asked.to_wire()), copy.deepcopy(asked)):
        assert again == asked
        assert (hash(again), again.fid, str(again)) == (hash(asked), asked.fid, str(asked))
    assert pickle.loads(pickle.dumps(asked)) == asked  # noqa: S301 - our own bytes


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3), st.lists))
def test_foreign_objects_raise_wire_errors_only(obj: object) -> None:
    """Whatever stands in the place of a filter, or of a constraint's value, is a filter or is refused."""
    for sent in (obj, ["a", 1, obj], ["a", 7, obj], ["a", 7, [obj]], [obj, 1, 1], ["a", obj, 1]):
        try:
            Filter.from_wire_untrusted(sent)
        except WireError as error:
            assert error.reason in WireReason  # noqa: PT017 - a filter may also be read by chance


def test_equality_tells_kinds_apart() -> None:
    """1 and 1.0 are one filter, 1 and true are two; a filter equals nothing else."""
    one, true = Filter.parse("a = 1"), Filter.parse("a = true")
    assert one == Filter.parse("a = 1.0")
    assert one != true
    assert len({one, true, Filter.parse("a = 1.0")}) == 2
    assert one != "a = 1"


def test_filters_cannot_be_changed() -> None:
    """They are keys of tables."""
    with pytest.raises(AttributeError, match="immutable"):
        Filter().constraints = ()  # type: ignore[misc]  # what mypy refuses, the class refuses too


def test_repr_can_be_pasted() -> None:
    """The representation makes the filter again."""
    assert repr(Filter(subject="s")) == "Filter.parse('subject = \"s\"')"
