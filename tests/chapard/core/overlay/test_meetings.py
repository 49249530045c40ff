"""Meetings: both ends of a link agree on when it begins, whatever either of them missed."""

from __future__ import annotations

from random import Random

import pytest

from chapar.wire import Meet
from chapard.core.overlay.meetings import COUNTER_BITS, Meetings

PATIENCE = 2.0


class End:
    """One end of a link, and what it has to send in order."""

    def __init__(self, index: int, other: int, incarnation: int = 1) -> None:
        self.index, self.other = index, other
        self.meetings = Meetings([other], incarnation, PATIENCE)
        self.outbox: list[Meet] = []
        self.begun = 0

    def hear(self, now: float) -> None:
        """The other end is in contact."""
        if self.meetings.found(self.other, now):
            self.send(0)

    def send(self, answer: int) -> None:
        self.outbox.append(Meet(self.index, self.meetings.number(self.other), answer))

    def take(self, meet: Meet) -> None:
        begins, wants_answer = self.meetings.on_meet(meet)
        self.begun += begins
        if wants_answer:
            self.send(meet.number)


def settle(one: End, other: End) -> None:
    """Carry everything, in order on each side, until nothing is left to say."""
    for _ in range(50):
        if not one.outbox and not other.outbox:
            return
        for a, b in ((one, other), (other, one)):
            if a.outbox:
                b.take(a.outbox.pop(0))
    raise AssertionError("they never stop meeting")


def agreed(one: End, other: End) -> bool:
    ends = ((one, other), (other, one))
    return all(a.meetings.theirs(b.index) == b.meetings.number(a.index) for a, b in ends)


@pytest.mark.parametrize("first", [(0,), (1,), (0, 1)])
def test_whoever_finds_the_other_first_both_begin_once(first: tuple[int, ...]) -> None:
    """One MEET and its answer, or two that cross, make one beginning at each end."""
    ends = End(0, 1), End(1, 0)
    for each in first:
        ends[each].hear(0.0)
    settle(*ends)
    assert [end.begun for end in ends] == [1, 1]
    assert agreed(*ends)


def test_an_end_that_forgot_alone_makes_the_other_begin_anew() -> None:
    """Its next beginning has another number, so the other end knows that all it had said is void."""
    one, other = End(0, 1), End(1, 0)
    one.hear(0.0)
    settle(one, other)
    one.meetings.lost(1)
    assert not one.meetings.is_up(1)
    one.hear(5.0)
    settle(one, other)
    assert (one.begun, other.begun) == (2, 2)
    assert agreed(one, other)


def test_without_an_answer_it_asks_again_in_a_while() -> None:
    """A MEET that nobody answers is sent again after the patience, and not before."""
    one = End(0, 1)
    one.hear(0.0)
    one.hear(1.0)
    assert len(one.outbox) == 1
    assert one.meetings.next_deadline() == PATIENCE
    assert one.meetings.due(PATIENCE) == [1]
    one.hear(PATIENCE)
    assert len(one.outbox) == 2
    assert one.outbox[0] == one.outbox[1]


def test_a_next_incarnation_never_uses_a_number_again() -> None:
    """However often links of one life begin, those of the next have numbers above."""
    meetings = Meetings([1], 7, PATIENCE)
    for _ in range(100):
        meetings.found(1, 0.0)
        meetings.lost(1)
    assert meetings.number(1) < Meetings([1], 8, PATIENCE).number(1) == (8 << COUNTER_BITS) + 1


@pytest.mark.parametrize("seed", range(100))
def test_after_any_history_both_ends_agree(seed: int) -> None:
    """Contacts, losses and MEETs that vanish in any order: found once more, both ends begin the same link."""
    rng = Random(seed)
    one, other = End(0, 1), End(1, 0)
    now = 0.0
    for _ in range(30):
        now += rng.uniform(0, 2 * PATIENCE)
        end = rng.choice((one, other))
        match rng.randrange(4):
            case 0:
                end.hear(now)
            case 1:
                end.meetings.lost(end.other)
                end.outbox.clear()
            case 2 if end.outbox:
                # A frame that is lost takes the link with it.
                end.outbox.clear()
                end.meetings.lost(end.other)
            case _ if end.outbox:
                (other if end is one else one).take(end.outbox.pop(0))
    settle(one, other)
    for end in (one, other):
        end.hear(now + 10 * PATIENCE)
    settle(one, other)
    assert agreed(one, other)
    assert one.meetings.is_up(1)
    assert other.meetings.is_up(0)
