"""Automatic routing on one link: single filters, or the whole class in their place."""

from __future__ import annotations

from itertools import pairwise

from chapar.filter import Filter
from chapard.core.overlay.auto import Auto
from chapard.core.overlay.class_traffic import ALWAYS, ENOUGH, SILENCE
from chapard.core.overlay.filter_class import FilterClass, whole
from chapard.core.overlay.forwarding import is_told_of
from chapard.core.overlay.interest import NOTHING, Delta, Interest

R = 10.0
A, B = FilterClass("a", None), FilterClass("b", None)
FAST, SLOW = (Interest(Filter.parse(f'subject = "a" and speed {bound}')) for bound in ("> 9", "< 1"))
OTHER = Interest(Filter(subject="b"))
ALL = whole(A)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def auto(*told: Interest) -> Auto:
    made = Auto(R, Clock())
    for each in told:
        made.gained(each)
    return made


def test_unless_it_chooses_otherwise_it_is_identity_based() -> None:
    link = auto()
    assert link.gained(FAST) == Delta(new=(FAST,))
    assert link.gained(OTHER) == Delta(new=(OTHER,))
    assert link.lost(FAST) == Delta(gone=(FAST,))
    assert list(link.sent) == [OTHER]
    assert is_told_of(link, [OTHER])


def test_a_flooded_class_takes_the_place_of_its_filters() -> None:
    """And of those that come, and it does not go with them; other classes do not notice."""
    link = auto(FAST, OTHER)
    assert link.choose(A, flooding=True) == Delta((ALL,), (FAST,))
    assert link.choose(A, flooding=True) == NOTHING
    assert link.gained(SLOW) == link.lost(FAST) == link.lost(SLOW) == NOTHING
    assert list(link.sent) == [OTHER, ALL]
    assert is_told_of(link, [OTHER])
    link.gained(SLOW)
    assert link.choose(A, flooding=False) == Delta((SLOW,), (ALL,))
    assert (link.floods(A), link.floods(B)) == (False, False)


def test_a_whole_class_that_stands_elsewhere_goes_on() -> None:
    """Whatever is chosen here, until it stands there no more and is not chosen."""
    link = auto(FAST)
    assert link.gained(ALL) == Delta((ALL,), (FAST,))
    assert link.choose(A, flooding=True) == link.choose(A, flooding=False) == NOTHING
    assert link.floods(A)
    assert link.lost(ALL) == Delta((FAST,), (ALL,))
    link.choose(A, flooding=True)
    assert link.gained(ALL) == link.lost(ALL) == NOTHING


def test_single_filters_are_refreshed_always_and_whole_classes_after_silence() -> None:
    """In the period after SILENCE without an event, and then every SILENCE periods."""
    link = auto(FAST, OTHER)
    link.choose(A, flooding=True)
    link.heard((A,), wanted=True)
    refreshed = [list(link.refreshed()) for _ in range(3 * SILENCE + 1)]
    assert all(OTHER in each for each in refreshed)
    assert [number for number, each in enumerate(refreshed) if ALL in each] == [SILENCE, 2 * SILENCE, 3 * SILENCE]


def test_a_new_choice_is_sent_again_unless_an_event_shows_that_it_arrived() -> None:
    """At the second beginning of a period; the first may be the moment of the choice."""
    link = auto(FAST)
    link.choose(A, flooding=True)
    assert [list(link.refreshed()) for _ in range(3)] == [[], [ALL], []]
    link.choose(A, flooding=False)
    link.choose(A, flooding=True)
    link.heard((A,), wanted=True)
    assert [list(link.refreshed()) for _ in range(3)] == [[], [], []]


def test_events_spare_refreshes_but_not_all() -> None:
    """However many events come, a whole class is sent again every ALWAYS periods."""
    link = auto(FAST)
    link.choose(A, flooding=True)
    times = []
    for number in range(3 * ALWAYS):
        link.heard((A,), wanted=True)
        times += [number for _ in link.refreshed()]
    assert {later - earlier for earlier, later in pairwise(times)} == {ALWAYS}


def test_what_was_sent_is_made_right() -> None:
    link = auto(FAST, OTHER)
    link.choose(A, flooding=True)
    link.sent.clear()
    link.sent[FAST] = None
    assert link.settle() == Delta((ALL, OTHER), (FAST,))
    assert link.settle() == NOTHING


def test_choices_outlive_what_was_told() -> None:
    link = auto(FAST)
    link.choose(A, flooding=True)
    fresh = link.afresh()
    assert len(fresh) == 0
    assert list(fresh.sent) == [ALL]


def test_it_chooses_by_what_it_has_seen_and_says_why() -> None:
    """A filter that stands always, and an event in each period: refreshes are spared by flooding.

    When nobody is interested any more, filtering costs nothing.
    """
    clock = Clock()
    link = Auto(R, clock)
    link.gained(FAST)
    assert link.choices(7)[0].estimate is None
    for _ in range(2 * ENOUGH):
        clock.now += R
        link.heard((A,), wanted=True)
    assert list(link.better()) == [(A, True)]
    link.choose(A, flooding=True)
    (choice,) = link.choices(7)
    assert (choice.link, choice.class_, choice.floods, choice.forced, choice.since) == (7, A, True, False, clock.now)
    assert choice.estimate is not None
    assert choice.estimate.flooding < choice.estimate.filtering
    assert list(link.better()) == []
    link.lost(FAST)
    while not (better := list(link.better())):
        clock.now += R
        link.heard((A,), wanted=False)
    assert better == [(A, False)]


def test_classes_that_are_long_gone_are_forgotten() -> None:
    clock = Clock()
    link = Auto(R, clock)
    link.gained(FAST)
    link.lost(FAST)
    assert link.choices(1)
    clock.now = 1000 * R
    assert list(link.better()) == []
    assert link.choices(1) == []
