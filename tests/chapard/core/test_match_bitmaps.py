"""Bitmaps find exactly the entries whose regions admit an event, through growth, moves and shrinking."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.filter import Filter
from chapard.core.match_bitmaps import FEWEST_SLOTS, MAX_PLANS, BitmapIndex, Entry, asked_by
from chapard.core.match_region import admits, element_of, position_of, regions_of
from chapard.core.nodevector import NodeVector
from footprint import bytes_reached
from strategies.matching import ATTRIBUTES, random_event, random_filter

if TYPE_CHECKING:
    from chapar.value import Value

    Values = dict[str, Value]

NODES = 16


def asking(where: str, *nodes: int, length: int = NODES) -> Entry:
    return Entry(NodeVector.of(nodes, length), asked_by(Filter(where=where).constraints))


def entry(rng: Random) -> Entry:
    """A filter that constrains one attribute or more, held by one node or several."""
    while True:
        constraints = random_filter(rng, ATTRIBUTES).constraints
        if constraints and all(regions_of(constraints).values()):
            nodes = rng.sample(range(NODES), rng.choice((1, 1, 1, 3)))
            return Entry(NodeVector.of(nodes, NODES), asked_by(constraints))


def random_values(rng: Random) -> Values:
    return dict(random_event(rng).attributes)


def opened(names: tuple[str, ...] = ATTRIBUTES) -> BitmapIndex:
    index = BitmapIndex()
    for name in names:
        index.open(name)
    return index


def vectors_found(index: BitmapIndex, values: Values) -> list[NodeVector]:
    found: list[NodeVector] = []
    index.match(values, {name: position_of(element_of(value)) for name, value in values.items()}, found)
    return found


def nodes_found(index: BitmapIndex, values: Values) -> list[int]:
    return sorted({node for vector in vectors_found(index, values) for node in vector.indexes()})


def nodes_wanted(entries: list[Entry], values: Values) -> list[int]:
    return sorted({node for each in entries if each.admits(values.get) for node in each.vector.indexes()})


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_an_entry_admits_what_its_filter_matches(seed: int) -> None:
    """What an entry admits is what the filter matches, and what its regions admit, name by name."""
    rng = Random(seed)
    asked, event = random_filter(rng, ATTRIBUTES), random_event(rng)
    made = Entry(NodeVector.of([1], NODES), asked_by(asked.constraints))
    assert made.admits(event.attributes.get) is asked.matches(event)
    assert made.regions() == regions_of(asked.constraints)
    assert made.names() == list(made.regions())
    assert made.regions() == {name: made.region(name) for name in made.names()}
    positions = {name: position_of(element_of(value)) for name, value in event.attributes.items()}
    in_regions = [name in positions and admits(region, positions[name]) for name, region in made.regions().items()]
    assert all(in_regions) is asked.matches(event)


def test_a_long_set_keeps_its_regions() -> None:
    """A set that is looked up by hash has the same regions as the constraint that it comes from."""
    constraints = Filter(where=f"x in ({', '.join(map(str, range(100)))})").constraints
    made = Entry(NodeVector.of([1], NODES), asked_by(constraints))
    assert made.regions() == regions_of(constraints)
    assert made.admits({"x": 99}.get)
    assert not made.admits({"x": 100}.get)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((20, 200, 600)))
def test_what_is_found_is_what_admits_the_event(seed: int, count: int) -> None:
    """While entries come, go and change hands, the nodes found are those of the entries that admit the event."""
    rng, index, kept = Random(seed), opened(), list[Entry]()
    for change in range(2 * count):
        if kept and rng.random() < (0.2 if change < count else 0.8):
            index.remove(kept.pop(rng.randrange(len(kept))))
        else:
            kept.append(entry(rng))
            index.add(kept[-1])
        changing = rng.choice(kept) if kept else None
        if changing is not None and not changing.vector[change % NODES]:
            changing.vector = changing.vector.with_(change % NODES)
            index.hold(changing, change % NODES)
        elif changing is not None and changing.vector.count() > 1:
            index.release(changing, change % NODES)
            changing.vector = changing.vector.without(change % NODES)
        assert len(index) == len(kept)
        if change % 5 == 0:
            at = random_values(rng)
            assert nodes_found(index, at) == nodes_wanted(kept, at)


def test_many_matches_give_the_nodes_that_hold_one() -> None:
    """Thousands of matches become one vector, in which exactly the nodes are that hold one of them."""
    index = opened(("x", "y"))
    for number in range(3000):
        where = f"x > {number}" if number % NODES else f"x > {number} and y exists"
        index.add(asking(where, number % NODES))
    assert vectors_found(index, {"x": 2500.5}) == [NodeVector.of(range(1, NODES), NODES)]


def test_capacity_follows_the_number_of_entries() -> None:
    """Bitmaps are at most an eighth longer than needed when they have grown, and shrink with what they hold."""
    rng, index = Random(5), opened()
    entries = [entry(rng) for _ in range(2000)]
    for each in entries:
        index.add(each)
        assert index.capacity <= max(FEWEST_SLOTS, len(index) * 9 // 8)
    for each in entries[:-10]:
        index.remove(each)
        assert index.capacity <= max(FEWEST_SLOTS, 4 * len(index) + 4)
    assert sorted(each.slot for each in entries[-10:]) == list(range(10))
    assert {each.slot for each in entries[:-10]} == {-1}


def test_plans_beyond_their_bound_are_made_again() -> None:
    """Events with more different sets of names than are remembered are matched all the same."""
    rng, index = Random(6), opened()
    kept = [entry(rng) for _ in range(300)]
    for each in kept:
        index.add(each)
    for number in range(3 * MAX_PLANS):
        at = {**random_values(rng), f"other{number}": 1}
        assert nodes_found(index, at) == nodes_wanted(kept, at)
        if number == MAX_PLANS:
            full = bytes_reached(index)
    assert bytes_reached(index) < 1.1 * full


def test_an_index_gives_memory_back() -> None:
    """What is kept for nodes that hold nothing any more, and for names that are closed, goes."""
    index = opened(("x", "y"))
    index.add(asking("x > 1", 0, length=512))
    nodes_found(index, {"x": 1})
    before = bytes_reached(index)
    others = [asking(f"y > {node}", node, length=512) for node in range(1, 512)]
    for each in others:
        index.add(each)
    nodes_found(index, {"x": 1, "y": 1})
    for each in others:
        index.remove(each)
    index.close("y")
    assert bytes_reached(index) < before + 20_000


def test_a_name_is_closed_when_nothing_constrains_it() -> None:
    """The entries that constrain a name are listed; when they have gone the name can be closed and opened again."""
    index = opened(("x", "y"))
    one = asking("x > 1", 1)
    both = asking("x > 1 and y in (1, 2)", 2)
    index.add(one)
    index.add(both)
    assert index.constraining("y") == [both]
    assert index.constraining("x") == [one, both]
    assert nodes_found(index, {"x": 2}) == [1]
    index.remove(both)
    index.close("y")
    assert nodes_found(index, {"x": 2, "y": 1}) == [1]
    index.open("y")
    index.add(both)
    assert nodes_found(index, {"x": 2, "y": 1}) == [1, 2]
