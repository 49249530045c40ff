"""The content index is exact whatever names filters use, and its cost does not follow the number of names."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.filter import Filter
from chapard.core.match_bitmaps import Entry, asked_by
from chapard.core.match_content import LARGEST_BUCKET, ContentIndex
from chapard.core.match_region import element_of, position_of, regions_of
from chapard.core.nodevector import NodeVector
from footprint import bytes_reached
from strategies.matching import random_event, random_filter

if TYPE_CHECKING:
    from chapar.value import Value

    Values = dict[str, Value]

NODES = 16


def entry(where: str, node: int) -> Entry:
    return Entry(NodeVector.of([node], NODES), asked_by(Filter(where=where).constraints))


def random_entry(rng: Random, names: list[str]) -> Entry:
    while True:
        constraints = random_filter(rng, names).constraints
        if constraints and all(regions_of(constraints).values()):
            return Entry(NodeVector.of([rng.randrange(NODES)], NODES), asked_by(constraints))


def found(index: ContentIndex, values: Values) -> list[int]:
    vectors: list[NodeVector] = []
    index.match(values, {name: position_of(element_of(value)) for name, value in values.items()}, vectors)
    return sorted({node for vector in vectors for node in vector.indexes()})


def wanted(entries: list[Entry], values: Values) -> list[int]:
    return sorted({node for each in entries if each.admits(values.get) for node in each.vector.indexes()})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((2, 8, 60)), st.sampled_from((50, 400)))
def test_what_is_found_is_what_admits_the_event(seed: int, names: int, count: int) -> None:
    """Names become popular and rare again as entries come, go and change hands; the answer stays exact."""
    rng, index, kept = Random(seed), ContentIndex(), list[Entry]()
    vocabulary = [f"n{number}" for number in range(names)]
    for change in range(2 * count):
        if kept and rng.random() < (0.2 if change < count else 0.8):
            index.remove(kept.pop(rng.randrange(len(kept))))
        else:
            kept.append(random_entry(rng, vocabulary))
            index.add(kept[-1])
        if kept:
            changing, node = rng.choice(kept), rng.randrange(NODES)
            if not changing.vector[node]:
                changing.vector = changing.vector.with_(node)
                index.hold(changing, node)
            elif changing.vector.count() > 1:
                index.release(changing, node)
                changing.vector = changing.vector.without(node)
        if change % 5 == 0:
            values = dict(random_event(rng, vocabulary).attributes)
            assert found(index, values) == wanted(kept, values)
    for each in kept:
        assert not index.is_empty()
        index.remove(each)
    assert index.is_empty()


def test_few_entries_need_no_bitmaps() -> None:
    """Up to LARGEST_BUCKET entries of a name are compared one by one; one more makes the name popular."""
    index = ContentIndex()
    entries = [entry(f"x > {number}", number % NODES) for number in range(LARGEST_BUCKET + 1)]
    for each in entries:
        assert {other.slot for other in entries} == {-1}
        index.add(each)
    assert sorted(each.slot for each in entries) == list(range(LARGEST_BUCKET + 1))


def test_a_popular_name_that_few_entries_are_left_of_becomes_rare() -> None:
    """When three quarters of a name's entries have gone, the rest leave the bitmaps and are found all the same."""
    index = ContentIndex()
    entries = [entry(f"x > {number}", number % NODES) for number in range(100)]
    for each in entries:
        index.add(each)
    for each in entries[5:]:
        index.remove(each)
    assert {each.slot for each in entries} == {-1}
    assert found(index, {"x": 2.5}) == [0, 1, 2]


def test_names_that_one_filter_has_stay_out_of_the_bitmaps() -> None:
    """A thousand filters with a name of their own each are found by that name, and none is in the bitmaps."""
    index = ContentIndex()
    entries = [entry(f"shared > 1 and own{number} > 1", number % NODES) for number in range(1000)]
    for each in entries:
        index.add(each)
    assert sum(each.slot >= 0 for each in entries) == 0
    assert found(index, {"shared": 2, "own17": 2}) == [1]


def test_buckets_that_overflow_into_each_other_need_no_recursion() -> None:
    """Full buckets in a chain, each of whose entries belongs into the next one, are taken one after the other."""
    index, links = ContentIndex(), 1500
    chain = [
        entry(f"n{link} > {number} and n{link + 1} > {number}", number % NODES)
        for link in range(links)
        for number in range(LARGEST_BUCKET)
    ]
    for each in chain:
        index.add(each)
    last = entry("n0 > 0", 0)
    index.add(last)
    assert found(index, {"n700": 3.5, "n701": 3.5}) == [0, 1, 2, 3]
    assert found(index, {"n0": 1}) == [0]


def test_a_name_becomes_rare_when_the_others_outgrow_it() -> None:
    """A name that was popular among few filters leaves the bitmaps when it is rare among many."""
    index = ContentIndex()
    early = [entry(f"old > {number}", number % NODES) for number in range(2 * LARGEST_BUCKET)]
    for each in early:
        index.add(each)
    assert min(each.slot for each in early) == 0
    late = asked_by(Filter(where="new exists").constraints)
    for number in range(80_000):
        index.add(Entry(NodeVector.of([number % NODES], NODES), late))
    assert {each.slot for each in early} == {-1}
    assert found(index, {"old": 1.5}) == [0, 1]


def test_a_compacted_index_finds_the_same_in_less_memory() -> None:
    """Giving back the memory of names that are no longer used changes no answer."""
    index = ContentIndex()
    entries = [entry(f"n{number} > 1", number % NODES) for number in range(5000)]
    for each in entries:
        index.add(each)
    for each in entries[20:]:
        index.remove(each)
    before = bytes_reached(index)
    index.compact()
    assert bytes_reached(index) < before - 100_000
    assert found(index, {"n3": 10, "n5": 10}) == [3, 5]
