"""Real-time events come in order, and none is lost for having been overtaken, if it comes in time."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import Event, event_id, split_id
from chapard.core.nodevector import NodeVector
from chapard.core.order import FARTHEST, MOST_AUDIENCES, Arrival, Arrivals, Trail

PATIENCE = 1.5
ROOM = 8
NOW = 50.0


def a_vector(homes: list[int]) -> NodeVector:
    return NodeVector.of(homes, 32)


def arrival(sequence: int, *, origin: int = 3, incarnation: int = 1) -> Arrival:
    event = Event(subject="s").accepted(id=event_id(origin, incarnation, sequence))
    return Arrival(event, event.encode(), 2)


def numbers(passed: list[Arrival]) -> list[int]:
    return [split_id(each.event.id)[2] for each in passed if each.event.id is not None]


def arrivals(room: int = ROOM) -> Arrivals:
    """A home that has had the first event of a publisher."""
    made = Arrivals(PATIENCE, room)
    assert numbers(made.take(arrival(1), 0, NOW)) == [1]
    return made


def test_what_comes_in_order_is_passed_on_at_once() -> None:
    """Nothing waits, nothing is due."""
    home = arrivals()
    assert [numbers(home.take(arrival(number), 1, NOW)) for number in (2, 3, 4)] == [[2], [3], [4]]
    assert home.next_deadline() is None


def test_what_overtook_waits_and_comes_in_order() -> None:
    """All that stand behind the missing one come with it."""
    home = arrivals()
    assert home.take(arrival(4), 1, NOW) == home.take(arrival(3), 1, NOW + 0.1) == []
    assert numbers(home.take(arrival(2), 1, NOW + 0.2)) == [2, 3, 4]
    assert len(home) == 0


def test_an_event_that_names_one_farther_back_waits_for_that_one_only() -> None:
    """What went to others in between is nobody's business here."""
    home = arrivals()
    assert home.take(arrival(9), 4, NOW) == []
    assert numbers(home.take(arrival(5), 4, NOW)) == [5, 9]


def test_what_names_none_is_passed_on_and_ends_the_wait_of_what_is_behind_it() -> None:
    """An event to another set of homes says nothing of those before it; it comes at once, and they are late then."""
    home = arrivals()
    assert home.take(arrival(7), 1, NOW) == []
    assert numbers(home.take(arrival(6), 0, NOW)) == [6, 7]


def test_patience_ends() -> None:
    """The missing one may be lost for good: what waited for it comes in order, a moment later."""
    home = arrivals()
    home.take(arrival(4), 1, NOW)
    home.take(arrival(3), 1, NOW + 1)
    assert home.next_deadline() == NOW + PATIENCE
    assert home.tick(NOW + PATIENCE - 0.01) == []
    assert numbers(home.tick(NOW + PATIENCE)) == [3, 4]
    assert home.next_deadline() is None


def test_what_waits_for_another_waits_on() -> None:
    """Only what has waited long enough is passed on, with all before it."""
    home = arrivals()
    home.take(arrival(3), 1, NOW)
    home.take(arrival(8), 1, NOW + 1)
    assert numbers(home.tick(NOW + PATIENCE)) == [3]
    assert home.next_deadline() == NOW + 1 + PATIENCE
    assert numbers(home.take(arrival(7), 4, NOW + PATIENCE)) == [7, 8]


def test_an_event_that_is_late_all_the_same_is_passed_on() -> None:
    """Who takes it knows what has been there already; nothing is decided here."""
    home = arrivals()
    home.take(arrival(3), 1, NOW)
    home.tick(NOW + PATIENCE)
    assert numbers(home.take(arrival(2), 1, NOW + 2)) == [2]
    assert numbers(home.take(arrival(4), 1, NOW + 2)) == [4]


def test_the_first_one_waits_for_what_was_sent_here_before_it() -> None:
    """A stream whose first events are in repair begins with them."""
    home = Arrivals(PATIENCE, ROOM)
    assert home.take(arrival(2), 1, NOW) == []
    assert numbers(home.take(arrival(1), 0, NOW)) == [1, 2]


def test_publishers_and_their_lives_do_not_wait_for_each_other() -> None:
    """One that was started anew begins with an event that names none."""
    home = arrivals()
    assert home.take(arrival(3), 1, NOW) == []
    assert numbers(home.take(arrival(1, origin=4), 0, NOW)) == [1]
    assert numbers(home.take(arrival(1, incarnation=2), 0, NOW)) == [1, 3]


def test_there_is_room_for_so_many() -> None:
    """Who brings one too many has all that waits passed on, in order; nothing is thrown away."""
    home = arrivals(room=3)
    for number in (3, 4, 5):
        assert home.take(arrival(number), 1, NOW) == []
    assert numbers(home.take(arrival(6), 1, NOW)) == [3, 4, 5, 6]


@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(0, 3))
def test_in_any_order_of_arrival_all_come_once_and_in_order_if_all_come_in_time(
    count: int, seed: int, slowest: float
) -> None:
    """Whoever is late by less than the patience costs nobody anything."""
    rng = Random(seed)
    coming = sorted((rng.uniform(0, slowest), number) for number in range(1, count + 1))
    home, most = Arrivals(PATIENCE, count), PATIENCE
    passed: list[Arrival] = []
    for t, number in coming:
        passed += home.tick(t)
        passed += home.take(arrival(number), int(number > 1), t)
        most = max(most, t)
    passed += home.tick(most + PATIENCE)
    assert sorted(numbers(passed)) == list(range(1, count + 1))
    assert len(home) == 0
    if slowest < PATIENCE:
        assert numbers(passed) == sorted(numbers(passed))


def test_a_trail_names_the_last_event_to_the_same_homes() -> None:
    """Each set of homes is a trail of its own; the first event on it names none."""
    trail = Trail()
    near, far = a_vector([1, 2]), a_vector([1, 2, 3])
    steps = [(1, 0, near), (2, 1, near), (3, 1, far), (5, 2, near), (6, 1, far), (7, 1, far)]
    assert [trail.behind(event_id(9, 1, number), homes, since) for number, since, homes in steps] == [0, 1, 0, 3, 3, 1]


def test_after_events_with_another_root_the_one_before_is_named() -> None:
    """Whoever it went to; it may be on its way to the same homes."""
    trail, homes = Trail(), a_vector([1])
    assert trail.behind(event_id(9, 1, 7), homes, 2) == 2  # a root that has had nothing of it yet
    assert trail.behind(event_id(9, 1, 8), homes, 1) == 1
    assert trail.behind(event_id(9, 1, 20), homes, 3) == 3  # others were the root meanwhile
    assert trail.behind(event_id(9, 1, 21), a_vector([2]), 1) == 0


def test_an_event_that_nobody_wants_leaves_no_gap() -> None:
    """It came to this root and went nowhere: nobody waits for it."""
    trail, homes = Trail(), a_vector([1])
    trail.passed(event_id(9, 1, 1))
    assert trail.behind(event_id(9, 1, 2), homes, 1) == 0
    trail.passed(event_id(9, 1, 3))
    assert trail.behind(event_id(9, 1, 4), homes, 1) == 2


def test_a_trail_names_nothing_out_of_reach_or_of_another_life() -> None:
    """No byte tells of an event farther back, and a publisher that was started anew counts anew."""
    trail, homes = Trail(), a_vector([1])
    trail.behind(event_id(9, 1, 1), homes, 0)
    assert trail.behind(event_id(9, 1, 2 + FARTHEST), homes, 0) == 0
    assert trail.behind(event_id(9, 1, 2), homes, 1) == 0  # an earlier one, which came late
    trail.behind(event_id(9, 1, 600), homes, 0)
    assert trail.behind(event_id(9, 2, 601), homes, 0) == 0
    assert trail.behind(event_id(8, 1, 601), homes, 0) == 0


def test_trails_are_bounded() -> None:
    """The one used longest ago is forgotten first."""
    trail = Trail()
    for number in range(MOST_AUDIENCES + 1):
        assert trail.behind(event_id(9, 1, number + 1), a_vector([number % 8, 8 + number // 8]), int(number > 0)) == 0
    assert trail.behind(event_id(9, 1, 100), a_vector([0, 8]), 0) == 0
    assert trail.behind(event_id(9, 1, 101), a_vector([5, 8]), 1) == 95
