"""Covering-based routing: only the widest filters travel, and what a filter had hidden follows when it goes."""

from __future__ import annotations

from random import Random

import pytest

from chapar.filter import Filter
from chapard.core.overlay.covering import LOOKED_AT, Covering
from chapard.core.overlay.interest import NOTHING, Delta, Interest
from strategies.matching import random_filter

ONE, TWO, THREE, OTHER = (Interest(Filter.parse(text)) for text in ("x > 1", "x > 2", "x > 3", "y > 1"))
FIVE, FIVE_TOO = (Interest(Filter.parse(text)) for text in ("x = 5", "x >= 5 and x <= 5"))
NEVER = Interest(Filter.parse("x < 1 and x > 2"))


def test_what_is_covered_is_not_sent() -> None:
    covering = Covering()
    assert covering.gained(ONE) == Delta(new=(ONE,))
    assert covering.gained(TWO) == NOTHING
    assert covering.gained(OTHER) == Delta(new=(OTHER,))
    assert TWO in covering
    assert list(covering.sent) == [ONE, OTHER]
    assert covering.lost(TWO) == NOTHING
    assert TWO not in covering


def test_what_a_wider_filter_covers_is_withdrawn() -> None:
    covering = Covering()
    covering.gained(TWO)
    covering.gained(OTHER)
    assert covering.gained(ONE) == Delta(new=(ONE,), gone=(TWO,))
    assert TWO in covering


def test_what_was_hidden_is_sent_when_nothing_hides_it_any_more() -> None:
    """The widest of it, that is; the rest is hidden by that."""
    covering = Covering()
    for each in (THREE, TWO, ONE, OTHER):
        covering.gained(each)
    assert covering.lost(ONE) == Delta(new=(TWO,), gone=(ONE,))
    assert covering.lost(TWO) == Delta(new=(THREE,), gone=(TWO,))
    assert covering.lost(THREE) == Delta(gone=(THREE,))


def test_of_filters_that_mean_the_same_one_is_sent() -> None:
    covering = Covering()
    assert covering.gained(FIVE) == Delta(new=(FIVE,))
    assert covering.gained(FIVE_TOO) == NOTHING
    assert covering.lost(FIVE) == Delta(new=(FIVE_TOO,), gone=(FIVE,))


def hide(covering: Covering, *interests: Interest) -> None:
    """Damage that no rule of the algorithm does: what was sent is taken for hidden."""
    for each in interests:
        covering._sent.remove(each)  # noqa: SLF001 - damage
        covering._hidden.add(each)  # noqa: SLF001 - damage


def test_what_is_hidden_wrongly_is_sent_again() -> None:
    """The widest of it, in place of what it covers; what is hidden rightly stays so."""
    covering = Covering()
    for each in (ONE, TWO, OTHER):
        covering.gained(each)
    hide(covering, ONE, OTHER)
    covering.gained(THREE)
    assert covering.settle() == Delta(new=(ONE, OTHER), gone=(THREE,))
    assert list(covering.sent) == [ONE, OTHER]
    assert covering.settle() == NOTHING
    assert len(covering) == 4


def test_many_hidden_filters_are_looked_at_in_turn() -> None:
    """All of them within their number divided by LOOKED_AT, rounded up."""
    covering = Covering()
    single = [Interest(Filter.parse(f"z = {number}")) for number in range(3 * LOOKED_AT - 5)]
    for each in single:
        covering.gained(each)
    hide(covering, *single)
    assert [len(covering.settle().new) for _ in range(4)] == [LOOKED_AT, LOOKED_AT, LOOKED_AT - 5, 0]
    assert set(covering.sent) == set(single)


def test_what_no_event_matches_is_never_sent() -> None:
    covering = Covering()
    assert covering.gained(NEVER) == NOTHING
    covering.gained(ONE)
    assert covering.lost(ONE) == Delta(gone=(ONE,))
    assert covering.lost(NEVER) == NOTHING


def test_news_that_was_already_sent_is_sent_again() -> None:
    """It was sent by mistake, and may not have arrived."""
    covering = Covering()
    covering.gained(ONE)
    assert covering.gained(ONE) == Delta(new=(ONE,))


@pytest.mark.parametrize("seed", range(20))
def test_what_was_sent_covers_all_and_nothing_twice(seed: int) -> None:
    """After any steps, sent filters cover all that stands and not each other; deltas add up to them."""
    rng = Random(seed)
    covering = Covering()
    standing: set[Interest] = set()
    told: set[Interest] = set()
    for _ in range(150):
        if standing and rng.random() < 0.4:
            interest = rng.choice(sorted(standing, key=repr))
            standing.discard(interest)
            delta = covering.lost(interest)
        else:
            interest = Interest(random_filter(rng))
            if interest in standing:
                continue
            standing.add(interest)
            delta = covering.gained(interest)
        assert told.isdisjoint(delta.new)
        assert told.issuperset(delta.gone)
        told = (told | set(delta.new)) - set(delta.gone)
        assert told == set(covering.sent)
        assert told <= standing
        for each in standing - told:
            assert each in covering
            assert not each.filter.satisfiable or any(wide.filter.covers(each.filter) for wide in told)
        assert not any(one.filter.covers(two.filter) for one in told for two in told if one != two)
