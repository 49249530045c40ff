"""Filter ids: one per filter, and a lookup by equality that the report's rule is measured against."""

from __future__ import annotations

from random import Random

import mmh3
import pytest
from hypothesis import given

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.filter_id import (
    FID_BYTES,
    and_match,
    element,
    event_elements,
    exact_match,
    filter_elements,
    filter_id,
)
from strategies.values import events, filters

SUBJECT, CONTENT, SENDER, TYPE, GROUP = range(5)


def test_elements_stand_in_the_order_of_the_report() -> None:
    """Subject, content, sender, type, group; each the hash of what is asked for, big endian."""
    asked = Filter(subject="s", type="t", sender=3, group="g", where="a > 1")
    elements = filter_elements(asked.constraints)
    hashes = [mmh3.hash(data, signed=False) for data in (b"s", b"\x00\x03", b"t", b"g")]
    assert [elements[place] for place in (SUBJECT, SENDER, TYPE, GROUP)] == hashes
    assert asked.fid == b"".join(each.to_bytes(4, "big") for each in elements)
    assert len(asked.fid) == FID_BYTES


def test_ids_are_fixed() -> None:
    """The same filter has the same id on every node and in every release."""
    assert Filter().fid == bytes(20)
    assert Filter(subject="position").fid.hex() == "cfb9154a" + "00" * 16
    assert Filter(subject="position", where="speed > 2").fid.hex() == "cfb9154a" + "349a7e77" + "00" * 12


def test_what_is_not_asked_for_is_zero() -> None:
    """Zero is kept for that: a real hash of zero becomes one."""
    assert filter_elements(Filter(type="t").constraints)[SUBJECT] == 0
    assert mmh3.hash(b"", signed=False) == 0
    assert element(b"") == 1
    assert filter_elements(Filter(subject="").constraints)[SUBJECT] == 1


@pytest.mark.parametrize(
    "text",
    [
        'subject starts with "s"',
        'subject != "s"',
        "sender in (1, 2)",
        "sender = 1.5",
        "sender = 65536",
        'sender = "x"',
        "subject = 1",
        'subject = "a" and subject = "b"',
    ],
)
def test_what_is_not_one_equality_is_content(text: str) -> None:
    """Only plain equality with a value that the element can hold is looked up by its hash."""
    elements = filter_elements(Filter.parse(text).constraints)
    assert elements[CONTENT] != 0
    assert sum(elements) == elements[CONTENT]


@given(filters, filters)
def test_different_filters_have_different_ids(one: Filter, other: Filter) -> None:
    """Up to the width of the hash, which no example here happens to exhaust."""
    assert (filter_id(one.constraints) == filter_id(other.constraints)) is (one == other)


@given(filters, events())
def test_a_matching_event_has_the_elements(asked: Filter, event: Event) -> None:
    """Looking up by elements never misses an event that matches."""
    if asked.matches(event):
        assert exact_match(filter_elements(asked.constraints), event_elements(event))


@given(events(stamped=True))
def test_a_filter_made_of_an_event_finds_it(event: Event) -> None:
    """Header elements of an event and of the filter that asks for them hash alike, under both rules."""
    asked = Filter(subject=event.subject, type=event.type, sender=event.sender, group=event.group)
    elements = filter_elements(asked.constraints)
    assert asked.matches(event)
    assert exact_match(elements, event_elements(event))
    assert and_match(elements, event_elements(event))


def test_an_event_without_an_element_does_not_have_it() -> None:
    """Absent elements are zero, which no filter asks for."""
    eid = event_elements(Event(subject="s", id=event_id(3, 1, 1)))
    assert [place for place, held in enumerate(eid) if held] == [SUBJECT, SENDER]
    assert not exact_match(filter_elements(Filter(type="t").constraints), eid)


@pytest.mark.parametrize(("bits", "probability"), [(8, 0.0923), (16, 0.00999)])
def test_the_reports_rule_accepts_wrong_events_and_equality_does_not(bits: int, probability: float) -> None:
    """`FID & EID == FID` (3.7) accepts a different, uniform hash as often as appendix B says; equality never does."""
    assert (3**bits - 2 ** (bits + 1) + 1) / 4**bits == pytest.approx(probability, rel=1e-3)
    rng = Random(bits)  # a fixed seed: the sample is always the same
    trials = 200_000
    wrong = exact = 0
    for _ in range(trials):
        asked, held = rng.getrandbits(bits), rng.getrandbits(bits)
        if asked not in (0, held):
            wrong += and_match([asked], [held])
            exact += exact_match([asked], [held])
    assert wrong / trials == pytest.approx(probability, rel=0.05)
    assert exact == 0
