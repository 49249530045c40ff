"""Constraints have one form each, in memory and on the wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.constraint import (
    Constraint,
    Op,
    canonical,
    checked_constraint,
    decode,
    encode,
    from_wire_untrusted,
    sort_key,
    to_wire,
)
from chapar.errors import FilterError, WireError, WireReason
from chapar.limits import INT64_MAX, MAX_CONSTRAINTS, MAX_SET_VALUES
from strategies.values import constraints

conjunctions = st.lists(constraints, max_size=6)


@given(conjunctions, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(asked: list[Constraint], rng: Any) -> None:
    """A conjunction is what it asks for, however it was written."""
    shuffled = asked * 2
    rng.shuffle(shuffled)
    assert encode(canonical(shuffled)) == encode(canonical(asked))
    assert encode(canonical(canonical(asked))) == encode(canonical(asked))


@given(conjunctions)
def test_what_is_decoded_is_what_was_encoded(asked: list[Constraint]) -> None:
    """Canonical constraints come back from their bytes, with the types of their values."""
    checked = canonical(asked)
    again = decode(encode(checked))
    assert [sort_key(each) for each in again] == [sort_key(each) for each in checked]
    assert repr(again) == repr(checked)


@given(constraints, constraints)
def test_the_key_and_the_encoding_tell_constraints_apart(one: Constraint, other: Constraint) -> None:
    """Two constraints have the same key exactly if they have the same bytes."""
    (one,), (other,) = canonical([one]), canonical([other])
    assert (sort_key(one) == sort_key(other)) is (encode([one]) == encode([other]))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("a", Op.EQ, 1.0), ("a", Op.EQ, 1)),
        (("a", Op.LT, -0.0), ("a", Op.LT, 0)),
        (("a", Op.EQ, 2.0**63), ("a", Op.EQ, 2.0**63)),
        (("a", Op.IN, (1.0,)), ("a", Op.EQ, 1)),
        (("a", Op.IN, ("b", "a", "b")), ("a", Op.IN, ("a", "b"))),
        (("a", Op.IN, [True, "x", 1, 1.0]), ("a", Op.IN, (1, "x", True))),
        (("a", Op.EXISTS), ("a", Op.EXISTS, None)),
    ],
)
def test_one_meaning_has_one_form(written: Any, meant: Any) -> None:
    """Whole doubles are integers where they fit, sets are sorted and hold each value once, a set of one is equality."""
    checked = checked_constraint(*written)
    assert sort_key(checked) == sort_key(Constraint(*meant))
    assert type(checked.value) is type(Constraint(*meant).value)


def test_header_elements_come_first() -> None:
    """Canonical order is that of the header, then of the attributes' names."""
    names = ["b", "group", "a", "sender", "type", "subject"]
    assert [each.name for each in canonical(Constraint(name, Op.EXISTS) for name in names)] == [
        "subject",
        "type",
        "sender",
        "group",
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        (("a", Op.LT, True), "booleans have no order, use = or !="),
        (("a", Op.PREFIX, 1), "only strings have a start"),
        (("a", Op.PREFIX, True), "only strings have a start"),
        (("a", Op.EQ, float("nan")), "finite"),
        (("a", Op.EQ, float("-inf")), "finite"),
        (("a", Op.IN, (1, float("nan"))), "finite"),
        (("a", Op.EQ, INT64_MAX + 1), "use a float"),
        (("a", Op.EQ, None), "a exists"),
        (("a", Op.EQ, (1, 2)), "use an integer, a float, a string or a boolean"),
        (("a", Op.EQ, "\ud800"), "surrogate"),
        (("a", Op.IN, ()), "at least one value"),
        (("a", Op.IN, "abc"), r"write in \(1, 2\)"),
        (("a", Op.IN, tuple(range(MAX_SET_VALUES + 1))), "several filters"),
        (("a", Op.EXISTS, 1), "takes no value"),
        (("and", Op.EQ, 1), "another attribute name"),
        (("a b", Op.EQ, 1), "letters, digits"),
        ((7, Op.EQ, 1), "use a string"),
        (("a", 1, 1), "use one of Op"),
    ],
)
def test_what_means_nothing_is_refused_with_a_hint(written: Any, hint: str) -> None:
    """One line says what to write instead."""
    with pytest.raises(FilterError, match=hint) as refused:
        checked_constraint(*written)
    assert "\n" not in str(refused.value)


def test_a_conjunction_has_a_limit() -> None:
    """MAX_CONSTRAINTS different ones; repetitions do not count."""
    most = [Constraint("a", Op.NE, number) for number in range(MAX_CONSTRAINTS)]
    assert len(canonical(most * 2)) == MAX_CONSTRAINTS
    with pytest.raises(FilterError, match="several filters"):
        canonical([*most, Constraint("a", Op.NE, -1)])


@given(conjunctions)
def test_the_wire_gives_the_constraints_back(asked: list[Constraint]) -> None:
    """Flat lists, as lists or tuples, stand for the constraints they were made of."""
    checked = canonical(asked)
    sent = to_wire(checked)
    assert encode(from_wire_untrusted(sent)) == encode(from_wire_untrusted(tuple(sent))) == encode(checked)


def test_the_wire_form_is_fixed() -> None:
    """Header elements travel as numbers 0 to 3: subject, type, sender, group."""
    asked = canonical(
        [
            Constraint("speed", Op.GT, 2.5),
            Constraint("group", Op.PREFIX, "r"),
            Constraint("sender", Op.IN, (1, 2)),
            Constraint("type", Op.EXISTS),
            Constraint("subject", Op.EQ, "s"),
        ]
    )
    assert to_wire(asked) == [0, 1, "s", 1, 9, None, 2, 7, (1, 2), 3, 8, "r", "speed", 5, 2.5]
    assert encode(asked).hex() == "9f0001a1730109c0020792010203" + "08a172a573706565640" + "5cb4004000000000000"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (None, WireReason.SHAPE),
        ({}, WireReason.SHAPE),
        ("abc", WireReason.SHAPE),
        ([0, 1], WireReason.SHAPE),
        (["a", 1, 1] * (MAX_CONSTRAINTS + 1), WireReason.OVERSIZED),
        ([4, 1, 1], WireReason.RANGE),
        ([-1, 1, 1], WireReason.RANGE),
        ([None, 1, 1], WireReason.TYPE),
        ([True, 1, 1], WireReason.TYPE),
        (["a", "=", 1], WireReason.TYPE),
        (["a", True, 1], WireReason.TYPE),
        (["a", 0, 1], WireReason.RANGE),
        (["a", 10, 1], WireReason.RANGE),
        (["and", 1, 1], WireReason.RANGE),
        (["a", 1, None], WireReason.RANGE),
        (["a", 1, b"x"], WireReason.RANGE),
        (["a", 1, [1]], WireReason.RANGE),
        (["a", 1, {}], WireReason.RANGE),
        (["a", 7, 1], WireReason.RANGE),
        (["a", 7, []], WireReason.RANGE),
        (["a", 7, [[1]]], WireReason.RANGE),
        (["a", 3, False], WireReason.RANGE),
        (["a", 1, 2**64 - 1], WireReason.RANGE),
        (["a", 1, float("nan")], WireReason.RANGE),
        (["a", 9, 0], WireReason.RANGE),
    ],
    ids=repr,
)
def test_foreign_lists_are_refused_under_their_reason(sent: object, reason: WireReason) -> None:
    """Only WireError, whatever a peer puts in the place of a filter."""
    with pytest.raises(WireError) as refused:
        from_wire_untrusted(sent)
    assert refused.value.reason is reason
