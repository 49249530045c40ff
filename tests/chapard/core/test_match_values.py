"""From values to slots: the indexes exclude what a value excludes, however slots come and go, within their bounds."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op
from chapar.filter import Filter
from chapard.core.match_region import Cut, Region, admits, is_set, position_of, regions_of
from chapard.core.match_values import MAX_BINS, RangeIndex, SetIndex, blank, fit
from footprint import bytes_reached
from strategies.matching import random_constraint, random_value

CAPACITY = 2048


def region(*constraints: Constraint) -> Region:
    return regions_of(Filter.of(constraints).constraints)["x"]


def random_region(rng: Random, *, a_set: bool) -> Region:
    while True:
        found = region(*(random_constraint(rng, ["x"]) for _ in range(rng.randint(1, 2))))
        if found and is_set(found) == a_set:
            return found


def failed_in_sets(index: SetIndex, position: Cut, capacity: int) -> list[int]:
    failed = blank(capacity)
    index.exclude(position, failed)
    return list(failed.search(1))


def failed_in_ranges(index: RangeIndex, kept: dict[int, Region], position: Cut, capacity: int) -> list[int]:
    failed = blank(capacity)
    for slot in index.exclude(position, failed):
        assert not failed[slot], "what certainly fails is not in doubt"
        failed[slot] = not admits(kept[slot], position)
    return list(failed.search(1))


def not_admitting(kept: dict[int, Region], position: Cut) -> list[int]:
    return sorted(slot for slot, each in kept.items() if not admits(each, position))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((30, 300, 900)))
def test_a_set_index_excludes_what_does_not_admit_the_value(seed: int, changes: int) -> None:
    """Lists become bitmaps and bitmaps lists again as slots come, go and are cut off; the answer stays exact."""
    rng, index, kept = Random(seed), SetIndex(CAPACITY), dict[int, Region]()
    for change in range(2 * changes):
        if kept and rng.random() < (0.2 if change < changes else 0.8):
            slot = rng.choice(sorted(kept))
            index.remove(slot, kept.pop(slot))
        else:
            slot = next(each for each in iter(lambda: rng.randrange(CAPACITY), -1) if each not in kept)
            kept[slot] = random_region(rng, a_set=True)
            index.add(slot, kept[slot])
        if change % 10 == 0:
            position = position_of(random_value(rng))
            assert failed_in_sets(index, position, CAPACITY) == not_admitting(kept, position)
    for slot in sorted(kept):
        assert not index.is_empty()
        index.remove(slot, kept.pop(slot))
    assert index.is_empty()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((30, 300, 900)))
def test_a_range_index_excludes_what_does_not_admit_the_value(seed: int, changes: int) -> None:
    """Bins are split and joined as slots come and go; certain and in doubt together stay exact."""
    rng, kept = Random(seed), dict[int, Region]()
    index = RangeIndex(CAPACITY, kept.__getitem__)
    for change in range(2 * changes):
        if kept and rng.random() < (0.2 if change < changes else 0.8):
            slot = rng.choice(sorted(kept))
            index.remove(slot, kept.pop(slot))
        else:
            slot = next(each for each in iter(lambda: rng.randrange(CAPACITY), -1) if each not in kept)
            kept[slot] = random_region(rng, a_set=False)
            index.add(slot, kept[slot])
        if change % 10 == 0:
            position = position_of(random_value(rng))
            assert failed_in_ranges(index, kept, position, CAPACITY) == not_admitting(kept, position)
    for slot in sorted(kept):
        assert not index.is_empty()
        index.remove(slot, kept.pop(slot))
    assert index.is_empty()


@pytest.mark.parametrize("a_set", [True, False])
def test_an_index_follows_a_change_of_capacity(a_set: bool) -> None:  # noqa: FBT001 - pytest passes it by name
    """Longer bitmaps have room for more slots, shorter ones for those that are left."""
    rng, kept = Random(7), dict[int, Region]()
    sets, ranges = SetIndex(64), RangeIndex(64, kept.__getitem__)
    index = sets if a_set else ranges
    for slot in range(1000):
        if slot % 64 == 0:
            index.resize(slot + 64)
        kept[slot] = random_region(rng, a_set=a_set)
        index.add(slot, kept[slot])
    for slot in range(999, 63, -1):
        index.remove(slot, kept.pop(slot))
    index.resize(64)
    for _ in range(200):
        position = position_of(random_value(rng))
        found = failed_in_sets(sets, position, 64) if a_set else failed_in_ranges(ranges, kept, position, 64)
        assert found == not_admitting(kept, position)


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_few_slots_are_in_doubt_in_whatever_order_they_come(order: str) -> None:
    """Of 20 000 thresholds, a few hundred at most are compared with a value, in at most MAX_BINS bins."""
    count = 20_000
    thresholds = {"ascending": list(range(count)), "descending": list(range(count, 0, -1))}.get(order)
    if thresholds is None:
        thresholds = Random(1).sample(range(count), count)
    regions = [region(Constraint("x", Op.GT, threshold)) for threshold in thresholds]
    index = RangeIndex(count, regions.__getitem__)
    for slot, each in enumerate(regions):
        index.add(slot, each)
    assert index.bins() <= MAX_BINS
    assert max(len(index.exclude(position_of(value), blank(count))) for value in range(0, count, 37)) <= 300


def test_few_values_leave_nothing_in_doubt() -> None:
    """Where many slots share the same few bounds, bins end at those bounds and every answer is certain."""
    ops = (Op.GT, Op.GE, Op.LT, Op.LE, Op.NE)
    regions = [region(Constraint("x", ops[slot % 5], slot % 7)) for slot in range(4000)]
    index = RangeIndex(4000, regions.__getitem__)
    for slot, each in enumerate(regions):
        index.add(slot, each)
    doubts = [len(index.exclude(position_of(value / 2), blank(4000))) for value in range(-2, 16)]
    assert max(doubts) <= 100, "at most the limit of a bin, where hundreds share each bound"
    assert index.bins() < 64


@pytest.mark.parametrize("holes", [1, 30])
def test_bins_never_exceed_their_bound(holes: int) -> None:
    """Neither many regions nor regions with many holes can make an index of more bins than it may have."""
    rng, most = Random(3), 64
    regions = [
        region(*(Constraint("x", Op.NE, rng.randrange(10**6)) for _ in range(holes))) for _ in range(6000 // holes)
    ]
    index = RangeIndex(len(regions), regions.__getitem__, most)
    for slot, each in enumerate(regions):
        index.add(slot, each)
        assert index.bins() <= most


@pytest.mark.parametrize("order", ["ascending", "random"])
def test_an_index_with_all_its_bins_goes_on_sharing_doubt_among_them(order: str) -> None:
    """At the bound, bins that were made early are joined, so that none has more than five times its share."""
    count, most = 8000, 32
    thresholds = list(range(count)) if order == "ascending" else Random(2).sample(range(count), count)
    regions = [region(Constraint("x", Op.GT, threshold)) for threshold in thresholds]
    index = RangeIndex(count, regions.__getitem__, most)
    for slot, each in enumerate(regions):
        index.add(slot, each)
        assert index.bins() <= most
    doubts = [len(index.exclude(position_of(value), blank(count))) for value in range(0, count, 17)]
    assert max(doubts) <= 5 * count // most


def test_a_value_that_many_slots_admit_takes_a_bitmap() -> None:
    """Thousands of slots under one value take a bit each, a few under each of many values no bitmaps."""
    index = SetIndex(4096)
    for slot in range(4096):
        index.add(slot, region(Constraint("x", Op.EQ, 1)))
    assert bytes_reached(index) < 4096
    index = SetIndex(4096)
    for slot in range(4096):
        index.add(slot, region(Constraint("x", Op.EQ, slot)))
    assert bytes_reached(index) < 4096 * 400


@pytest.mark.parametrize("a_set", [True, False])
def test_an_index_gives_memory_back(a_set: bool) -> None:  # noqa: FBT001 - pytest passes it by name
    """An index that has shrunk takes little more than one that never was larger."""
    rng = Random(9)
    kept = {slot: random_region(rng, a_set=a_set) for slot in range(4000)}
    region_of = kept.__getitem__
    index, fresh = (SetIndex(4000), SetIndex(64)) if a_set else (RangeIndex(4000, region_of), RangeIndex(64, region_of))
    for slot, each in kept.items():
        index.add(slot, each)
    for slot in range(3999, 39, -1):
        index.remove(slot, kept.pop(slot))
    index.resize(64)
    for slot, each in kept.items():
        fresh.add(slot, each)
    assert bytes_reached(index) < 2 * bytes_reached(fresh)


def test_bins_are_joined_when_slots_have_gone() -> None:
    """An index that has shrunk does not keep the bins of its best days."""
    kept = {slot: region(Constraint("x", Op.GT, slot)) for slot in range(5000)}
    index = RangeIndex(5000, kept.__getitem__)
    for slot, each in kept.items():
        index.add(slot, each)
    most = index.bins()
    for slot in range(4950):
        index.remove(slot, kept.pop(slot))
    assert most > 50
    assert index.bins() < 16
    assert failed_in_ranges(index, kept, position_of(4975), 5000) == not_admitting(kept, position_of(4975))


def test_fit_keeps_what_fits_and_adds_zeros() -> None:
    """A bitmap is cut off or filled up with zeros."""
    bits = ~blank(8)
    fit(bits, 12)
    assert bits.to01() == "111111110000"
    fit(bits, 4)
    assert bits.to01() == "1111"
