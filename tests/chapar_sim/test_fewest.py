"""The fewest transmissions for an event."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_sim.fewest import MOST_EXACT, Fewest, fewest
from chapar_sim.links import graph_links
from chapar_sim.terrain import TopologySpec

Hears = dict[int, set[int]]


def hears(kind: str, nodes: int, columns: int = 0) -> Hears:
    found: Hears = {node: set() for node in range(1, nodes + 1)}
    for a, b in graph_links(TopologySpec(kind=kind, columns=columns, centre=1), sorted(found)):
        found[a].add(b)
    return found


@pytest.mark.parametrize(
    ("graph", "targets", "expected"),
    [
        (hears("grid", 9, 3), [3, 7, 9], Fewest(6, 4, is_exact=True)),
        (hears("grid", 25, 5), [5, 21, 25], Fewest(12, 10, is_exact=True)),
        (hears("chain", 5), [5], Fewest(4, 4, is_exact=True)),
        (hears("chain", 5), [2, 3, 4, 5], Fewest(4, 4, is_exact=True)),
        (hears("star", 5), [2, 3, 4, 5], Fewest(4, 1, is_exact=True)),
        (hears("chain", 5), [1], Fewest(0, 0, is_exact=True)),
        (hears("chain", 5), [], Fewest(0, 0, is_exact=True)),
    ],
    ids=["grid-9", "grid-25", "far end", "all of a chain", "centre of a star", "itself", "nobody"],
)
def test_known_networks(graph: Hears, targets: list[int], expected: Fewest) -> None:
    """From node 1, counted by hand."""
    assert fewest(graph, 1, targets) == expected


def test_who_cannot_be_reached_has_no_figure() -> None:
    """There is no way at all, so none is the cheapest."""
    assert fewest({1: {2}, 2: {1}, 3: set()}, 1, [2, 3]) is None


def test_many_targets_give_a_bound() -> None:
    """Each of them costs a transmission; with broadcasts the farthest one costs as many as it has hops."""
    many = fewest(hears("chain", MOST_EXACT + 3), 1, range(2, MOST_EXACT + 3))
    assert many == Fewest(MOST_EXACT + 1, MOST_EXACT + 1, is_exact=False)


NODES = range(6)
links = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda pair: pair[0] != pair[1]))


@given(links, st.sets(st.sampled_from(range(1, 6)), min_size=1))
def test_nothing_is_cheaper(pairs: set[tuple[int, int]], targets: set[int]) -> None:
    """Trying every set of transmissions finds the same figures; a link may work one way only."""
    graph: Hears = {node: {b for a, b in pairs if a == node} for node in NODES}
    by_hand = {True: _least(graph, targets, _broadcasts(graph)), False: _least(graph, targets, _unicasts(graph))}
    found = fewest(graph, 0, targets)
    if found is None:
        assert by_hand == {True: None, False: None}
    else:
        assert (found.broadcast, found.unicast) == (by_hand[True], by_hand[False])


Transmission = tuple[int, frozenset[int]]
"""Who speaks, and who hears it."""


def _broadcasts(graph: Hears) -> list[Transmission]:
    return [(node, frozenset(hearers)) for node, hearers in graph.items() if hearers]


def _unicasts(graph: Hears) -> list[Transmission]:
    return [(node, frozenset({hearer})) for node, hearers in graph.items() for hearer in sorted(hearers)]


def _least(graph: Hears, targets: set[int], transmissions: list[Transmission]) -> int | None:
    """Never more than one transmission per node: a node needs the event once."""
    for count in range(len(graph) + 1):
        for chosen in combinations(transmissions, count):
            if targets <= _reached(chosen):
                return count
    return None


def _reached(chosen: tuple[Transmission, ...]) -> set[int]:
    has = {0}
    for _ in chosen:
        for speaker, hearers in chosen:
            if speaker in has:
                has |= hearers
    return has
