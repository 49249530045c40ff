"""The cover index finds exactly what comparing with every filter finds."""

from __future__ import annotations

from random import Random

import pytest

from chapar.filter import Filter
from chapard.core.overlay.cover_index import CoverIndex, shape_of
from chapard.core.overlay.interest import Interest
from strategies.matching import random_filter


def random_box(rng: Random) -> Filter:
    """Bounds under two names, small or large, some of them single values."""
    bounds = []
    for name in ("speed", "height"):
        low = rng.choice((rng.uniform(-2, 40), rng.randrange(-2, 40), 0))
        high = low + rng.choice((0, 0.01, 1, 7.5, 30, 1e9))
        bounds.append(f"{name} {rng.choice(('>', '>='))} {low} and {name} {rng.choice(('<', '<='))} {high}")
        if rng.random() < 0.2:
            bounds[-1] += f" and {name} != {low}"
    return Filter.parse(" and ".join(bounds[: rng.randint(1, 2)]))


@pytest.mark.parametrize("seed", range(40))
def test_it_agrees_with_comparing_all(seed: int) -> None:
    rng = Random(seed)
    random_one = random_box if seed % 2 else random_filter
    index = CoverIndex()
    members: list[Interest] = []
    for _ in range(120):
        if members and rng.random() < 0.3:
            index.remove(members.pop(rng.randrange(len(members))))
        interest = Interest(random_one(rng))
        others = [each for each in members if each != interest]
        coverers = {each for each in others if each.filter.covers(interest.filter)}
        if interest.filter.satisfiable:
            assert set(index.coverers(interest)) == coverers
            assert index.covers(interest) == bool(coverers)
            covered = {each for each in others if interest.filter.covers(each.filter) and each.filter.satisfiable}
            assert {each for each in index.covered_by(interest) if each.filter.satisfiable} == covered
        else:
            assert index.covers(interest)
        if interest not in index:
            index.add(interest)
            members.append(interest)
        assert len(index) == len(members)


def test_a_single_value_is_a_demand_however_it_is_asked_for() -> None:
    """A filter for one value covers every wording of it, so it is found by each of them."""
    texts = ("x = 5", "x >= 5 and x <= 5", "x in (4, 5) and x > 4")
    assert len({shape_of(Filter.parse(text)).demands for text in texts}) == 1
    assert shape_of(Filter.parse("x = 1")).demands != shape_of(Filter.parse("x = true")).demands
    assert shape_of(Filter.parse("*")).demands == ((),)


def test_what_is_removed_leaves_nothing_behind() -> None:
    """A broker lives long, and filters come and go."""
    index = CoverIndex()
    for number in range(100):
        for text in (f"x = {number}", f"x > {number} and x < {number + 9}", f'name starts with "{number}"'):
            interest = Interest(Filter.parse(text))
            index.add(interest)
            index.add(interest)
            index.remove(interest)
    assert not any(each for each in vars(index).values() if isinstance(each, dict))
