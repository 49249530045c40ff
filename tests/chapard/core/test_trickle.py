"""Beacons: rare while nothing changes, at once on news."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from chapard.core.trickle import PROMPT_GAP, PROMPT_SPREAD, SEARCH, Trickle

SHORTEST, LONGEST = 1.0, 16.0
SLACK = 1e-9
seeds = st.integers(0, 2**32)


def settled(seed: int, now: float = 0.0) -> tuple[Trickle, float]:
    """A trickle that has had no news for long, and the time."""
    trickle = Trickle(SHORTEST, LONGEST, Random(seed), now)
    for _ in range(10):
        now = trickle.deadline
        trickle.sent(now)
    return trickle, now


@given(seeds, st.floats(0, 1e9))
def test_intervals_double_up_to_the_longest(seed: int, now: float) -> None:
    """A new node beacons at once, then in the second half of intervals of 1, 2, 4, 8, 16, 16, … times the shortest."""
    trickle = Trickle(SHORTEST, LONGEST, Random(seed), now)
    assert now <= trickle.deadline <= now + PROMPT_SPREAD * SHORTEST + 1e-6
    for interval in (1, 2, 4, 8, 16, 16, 16):
        now = trickle.deadline
        trickle.sent(now)
        assert interval / 2 - 1e-6 <= trickle.deadline - now <= interval + 1e-6


def test_the_moment_within_an_interval_is_random() -> None:
    """Two nodes that beacon together do not go on colliding: the whole second half of the interval is used."""
    moments = []
    for seed in range(50):
        trickle, now = settled(seed)
        moments.append((trickle.deadline - now) / LONGEST)
    assert len(set(moments)) == 50
    assert min(moments) < 0.6
    assert max(moments) > 0.9


@given(seeds, st.floats(0.3, 7.9))
def test_news_is_sent_at_once_and_often_for_a_while(seed: int, later: float) -> None:
    """A prompt brings the beacon forward to now, give or take the spread, and starts the intervals again."""
    trickle, now = settled(seed)
    now += later
    trickle.prompt(now)
    assert now - SLACK <= trickle.deadline <= now + PROMPT_SPREAD * SHORTEST + SLACK
    now = trickle.deadline
    trickle.sent(now)
    assert trickle.deadline <= now + SHORTEST + SLACK


@given(seeds, st.lists(st.floats(0, 0.3), max_size=40))
def test_news_never_delays_a_beacon_and_is_paced(seed: int, gaps: list[float]) -> None:
    """However much news there is, prompt beacons keep a gap; and no prompt moves a beacon to later."""
    trickle, now = settled(seed)
    sent = now
    for gap in gaps:
        now += gap
        if trickle.deadline <= now:
            assert trickle.deadline >= sent + PROMPT_GAP * SHORTEST - SLACK
            sent = now
            trickle.sent(now)
        before = trickle.deadline
        trickle.prompt(now)
        assert trickle.deadline <= before
        assert trickle.deadline <= max(now + PROMPT_SPREAD * SHORTEST, sent + PROMPT_GAP * SHORTEST) + SLACK


@given(seeds)
def test_a_stretched_pace_holds_from_the_next_interval(seed: int) -> None:
    """The power policy changes the limits; the beacon already due stays due."""
    trickle, _ = settled(seed)
    due = trickle.deadline
    trickle.stretch(4 * SHORTEST, 4 * LONGEST)
    assert trickle.deadline == due
    for interval in (16, 32, 64, 64):
        now = trickle.deadline
        trickle.sent(now)
        assert interval / 2 - SLACK <= trickle.deadline - now <= interval + SLACK
    trickle.stretch(SHORTEST, LONGEST)
    now = trickle.deadline
    trickle.sent(now)
    assert trickle.deadline <= now + LONGEST + SLACK
    trickle.stretch(4 * SHORTEST, 4 * LONGEST)
    trickle.prompt(trickle.deadline)
    trickle.sent(trickle.deadline)
    assert trickle.deadline >= now + 2 * SHORTEST


@given(seeds, st.floats(0, 20))
def test_a_search_caps_the_wait_and_nothing_else(seed: int, interval: float) -> None:
    """The next beacon waits for the second half of the search interval at most, and that is never too short."""
    trickle, now = settled(seed)
    before = trickle.deadline
    trickle.search(interval, now)
    assert trickle.deadline <= before
    if interval < LONGEST:
        assert trickle.deadline <= now + max(interval, SEARCH * SHORTEST) + SLACK
        assert trickle.deadline >= min(before, now + max(interval, SEARCH * SHORTEST) / 2) - SLACK
    else:
        assert trickle.deadline == before
    now = trickle.deadline
    trickle.sent(now)
    assert trickle.deadline >= now + LONGEST / 2 - SLACK
