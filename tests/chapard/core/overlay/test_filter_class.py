"""Classes of filters cover their filters, and events belong to the classes whose filters they match."""

from __future__ import annotations

from random import Random

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapard.core.overlay.filter_class import FilterClass, class_of, classes_of, is_whole, whole
from chapard.core.overlay.interest import Interest, Subscriber
from strategies.matching import WORDS, random_filter

NAMES = ("subject", "type", "speed")


@pytest.mark.parametrize(
    ("text", "subject", "type_"),
    [
        ('subject = "a"', "a", None),
        ('subject = "a" and speed > 3', "a", None),
        ('type = "t" and subject = "a"', "a", "t"),
        ('type in ("t")', None, "t"),
        ('subject in ("a", "b")', None, None),
        ('subject starts with "a"', None, None),
        ('subject != "a"', None, None),
        ("subject = 9", None, None),
        ("*", None, None),
        ('sender = 3 and group = "g"', None, None),
    ],
)
def test_filters_that_ask_for_the_same_subject_and_type_are_one_class(
    text: str, subject: str | None, type_: str | None
) -> None:
    assert class_of(Filter.parse(text)) == FilterClass(subject, type_)


@pytest.mark.parametrize("seed", range(20))
def test_a_class_covers_its_filters_and_is_known_by_its_events(seed: int) -> None:
    """What a filter of the class matches, the class matches; contradictions included. Classes are their own class."""
    rng = Random(seed)
    for _ in range(20):
        filter_ = random_filter(rng, NAMES)
        event = Event(subject=rng.choice((None, *WORDS)), type=rng.choice((None, *WORDS)))
        class_ = class_of(filter_)
        assert class_.filter.covers(filter_)
        assert class_of(class_.filter) == class_
        assert (class_ in classes_of(event)) == class_.filter.matches(event)
        assert all(each.filter.matches(event) for each in classes_of(event))


def test_an_event_belongs_to_up_to_four_classes() -> None:
    assert len(set(classes_of(Event(subject="a", type="t")))) == 4
    assert classes_of(Event()) == (FilterClass(None, None),)


def test_an_interest_in_a_whole_class_is_no_clients() -> None:
    class_ = FilterClass("a", None)
    assert is_whole(whole(class_))
    assert whole(class_).filter == Filter(subject="a")
    assert not is_whole(Interest(Filter(subject="a")))
    assert not is_whole(Interest(Filter(subject="a"), Subscriber(0, "a")))
