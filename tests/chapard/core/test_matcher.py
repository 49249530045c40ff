"""The matcher gives exactly the nodes that the three-line brute force gives, and keeps nothing of what has gone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op
from chapar.event import Event
from chapar.filter import Filter
from chapard.core.matcher import MAX_MASKS, MAX_PLANS, Matcher
from chapard.core.nodevector import NodeVector
from footprint import bytes_reached
from strategies.matching import random_event, random_filter
from strategies.values import events, filters

NODES = 16
Held = dict[tuple[Filter, int], None]


def brute_force(held: Held, event: Event) -> NodeVector:
    return NodeVector.of([node for asked, node in held if asked.matches(event)], NODES)


def loaded(held: Held) -> Matcher:
    matcher = Matcher(NODES)
    for asked, node in held:
        matcher.add(asked, node)
    return matcher


@given(st.lists(st.tuples(filters, st.integers(0, NODES - 1)), max_size=12), st.lists(events(), min_size=1, max_size=4))
@example([(Filter(where="a = 1"), 0), (Filter(where="a = true"), 1)], [Event(attributes={"a": True})])
@example([(Filter(where="a = 1"), 0), (Filter(where="a in (true, 2)"), 1)], [Event(attributes={"a": 1.0})])
@example([(Filter(where="a != 1"), 0), (Filter(where="a exists"), 1)], [Event(attributes={"a": "1"})])
@example([(Filter(), 0), (Filter(where="sender = 0"), 1)], [Event()])
def test_few_filters_of_any_kind(asked: list[tuple[Filter, int]], published: list[Event]) -> None:
    """Whatever values filters and events are made of, the answer is that of evaluating every filter."""
    held = dict.fromkeys(asked)
    matcher = loaded(held)
    for event in published:
        assert matcher.match(event) == brute_force(held, event)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((20, 150, 500)))
def test_filters_come_and_go(seed: int, count: int) -> None:
    """After every addition and removal the answer is the brute force's, and at the end nothing is left."""
    rng, matcher, held = Random(seed), Matcher(NODES), Held()
    for change in range(2 * count):
        if held and rng.random() < (0.2 if change < count else 0.75):
            asked, node = rng.choice(list(held))
            del held[asked, node]
            assert matcher.remove(asked, node)
            assert not matcher.remove(asked, node)
        else:
            asked, node = random_filter(rng), rng.randrange(NODES)
            held[asked, node] = None
            matcher.add(asked, node)
        event = random_event(rng)
        assert matcher.match(event) == brute_force(held, event)
    assert len(matcher) == len({asked for asked, _ in held})
    assert set(matcher.filters()) == {asked for asked, _ in held}
    for asked, node in held:
        assert matcher.remove(asked, node)
    assert len(matcher) == 0
    assert matcher.filters() == []
    assert not matcher.match(random_event(rng))


@pytest.mark.parametrize("left", [0, 20, 200])
def test_memory_follows_what_is_held(left: int) -> None:
    """A matcher that has shrunk takes little more memory than one that never held more."""
    rng = Random(left)
    held = dict.fromkeys((random_filter(rng), rng.randrange(NODES)) for _ in range(4000))
    matcher = loaded(held)
    full = bytes_reached(matcher)
    kept = dict(list(held.items())[:left])
    for asked, node in list(held)[left:]:
        matcher.remove(asked, node)
    fresh = bytes_reached(loaded(kept))
    assert bytes_reached(matcher) < 2 * fresh + 20_000
    assert full > 10 * 20_000
    event = random_event(rng)
    assert matcher.match(event) == brute_force(kept, event)


def test_what_was_found_last_is_forgotten_when_filters_change() -> None:
    """The same event, looked up again after every change of who holds what."""
    matcher, event, wanted = Matcher(16), Event(subject="a"), Filter(subject="a")
    assert not matcher.match(event).any()
    matcher.add(wanted, 3)
    assert list(matcher.match(event).indexes()) == [3]
    matcher.add(wanted, 5)
    assert list(matcher.match(event).indexes()) == list(matcher.match(event).indexes()) == [3, 5]
    matcher.remove(wanted, 3)
    assert list(matcher.match(event).indexes()) == [5]
    assert not matcher.match(Event(subject="b")).any()


def test_equal_filters_of_several_nodes_are_one() -> None:
    """A filter that three nodes hold counts once, and goes when the last of them lets go."""
    matcher = Matcher(NODES)
    for node in (3, 5, 5, 7):
        matcher.add(Filter(subject="position", where="speed > 1"), node)
    asked = Filter.parse('speed > 1.0 and subject = "position"')
    event = Event(subject="position", attributes={"speed": 2})
    assert len(matcher) == 1
    assert matcher.vector(asked).indexes() == [3, 5, 7]
    assert matcher.match(event).indexes() == [3, 5, 7]
    assert matcher.remove(asked, 5)
    assert matcher.match(event).indexes() == [3, 7]
    assert matcher.remove(asked, 3)
    assert matcher.remove(asked, 7)
    assert not matcher.remove(asked, 7)
    assert len(matcher) == 0
    assert not matcher.vector(asked)


def test_the_filter_without_constraints_matches_every_event() -> None:
    """`*` concerns its node whatever the event, an empty one included."""
    matcher = Matcher(NODES)
    matcher.add(Filter.parse("*"), 4)
    assert matcher.match(Event()).indexes() == [4]
    assert matcher.match(Event(subject="x", attributes={"a": True})).indexes() == [4]


def test_a_filter_that_no_event_matches_is_held_all_the_same() -> None:
    """A contradiction is counted, listed and removed like any other filter."""
    matcher, asked = Matcher(NODES), Filter(where="x < 1 and x > 2")
    matcher.add(asked, 1)
    matcher.add(asked, 2)
    assert matcher.filters() == [asked]
    assert not matcher.match(Event(attributes={"x": 1.5}))
    assert matcher.remove(asked, 1)
    assert matcher.remove(asked, 2)
    assert len(matcher) == 0


def test_one_equality_in_many_words() -> None:
    """Filters that ask for the same in other words are different filters, and come and go independently."""
    matcher = Matcher(NODES)
    words = [Filter(where=f"x = 5 and x > {low}") for low in range(-200, 0)]
    for number, asked in enumerate([Filter(where="x = 5"), *words]):
        matcher.add(asked, number % NODES)
    assert len(matcher) == 201
    assert matcher.match(Event(attributes={"x": 5.0})).count() == NODES
    assert not matcher.match(Event(attributes={"x": 4}))
    matcher.remove(Filter(where="x = 5"), 0)
    for number, asked in enumerate(words[:-1], start=1):
        matcher.remove(asked, number % NODES)
    assert matcher.match(Event(attributes={"x": 5})).indexes() == [200 % NODES]


def test_more_masks_than_are_kept() -> None:
    """Equality under any of several hundred combinations of names is exact, while masks fill up and are freed."""
    rng, matcher, held = Random(8), Matcher(NODES), Held()
    names = [f"n{number}" for number in range(12)]

    def asked() -> Filter:
        chosen = rng.sample([*names, "subject", "type"], rng.randint(1, 4))
        return Filter.of(
            Constraint(name, Op.EQ, rng.randrange(3) if name in names else str(rng.randrange(3))) for name in chosen
        )

    for change in range(40 * MAX_MASKS):
        if held and rng.random() < (0.1 if change < 20 * MAX_MASKS else 0.8):
            gone, node = rng.choice(list(held))
            del held[gone, node]
            matcher.remove(gone, node)
        else:
            come, node = asked(), rng.randrange(NODES)
            held[come, node] = None
            matcher.add(come, node)
        if change % 10 == 0:
            attributes = {name: rng.randrange(3) for name in names if rng.random() < 0.7}
            event = Event(subject=str(rng.randrange(3)), type=rng.choice((None, "1")), attributes=attributes)
            assert matcher.match(event) == brute_force(held, event)
            used, most = matcher.sizes()["masks"]
            assert used <= most == MAX_MASKS
        if change == 20 * MAX_MASKS:
            assert matcher.sizes()["masks"] == (MAX_MASKS, MAX_MASKS)
    for gone, node in held:
        matcher.remove(gone, node)
    assert matcher.sizes()["masks"] == (0, MAX_MASKS)


def test_events_with_more_sets_of_names_than_are_remembered() -> None:
    """What is remembered of events' names is bounded, and never wrong after filters have changed."""
    matcher = Matcher(NODES)
    matcher.add(Filter(where="x = 1"), 1)
    for number in range(3 * MAX_PLANS):
        assert matcher.match(Event(attributes={f"n{number}": 1, "x": 1})).indexes() == [1]
        used, most = matcher.sizes()["plans"]
        assert used <= most == MAX_PLANS
    event = Event(attributes={"x": 1, "y": 2})
    assert matcher.match(event).indexes() == [1]
    matcher.add(Filter(where="y = 2"), 2)
    assert matcher.match(event).indexes() == [1, 2]
    matcher.remove(Filter(where="x = 1"), 1)
    assert matcher.match(event).indexes() == [2]


@pytest.mark.parametrize("node", [-1, NODES])
def test_nodes_outside_the_network_are_refused(node: int) -> None:
    """A node's index must be below the matcher's length, and not negative."""
    matcher, asked = Matcher(NODES), Filter(subject="x")
    matcher.add(asked, NODES - 1)
    with pytest.raises(IndexError):
        matcher.add(asked, node)
    with pytest.raises(IndexError):
        matcher.remove(asked, node)
    assert matcher.vector(asked).indexes() == [NODES - 1]
