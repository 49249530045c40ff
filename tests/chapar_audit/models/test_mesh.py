"""Relays and brokers of a mesh, against the report's rules, RFC 3626 and counting by hand."""

from __future__ import annotations

from random import Random

import pytest

from chapar_audit.models.mesh import (
    broker_transmissions,
    brokers,
    hello_bytes,
    in_range,
    relaying,
    relays,
    tc_bytes,
    transmissions,
)
from chapar_olsr.mpr import select_mprs

CHAIN = {node: frozenset({node - 1, node + 1} & set(range(1, 6))) for node in range(1, 6)}
"""Five in a row."""
FULL = {node: frozenset(range(1, 5)) - {node} for node in range(1, 5)}
STAR = {1: frozenset({2, 3, 4}), 2: frozenset({1}), 3: frozenset({1}), 4: frozenset({1})}


def drawn(seed: int) -> dict[int, frozenset[int]]:
    rng = Random(seed)
    places = {node: (rng.uniform(0, 700), rng.uniform(0, 700)) for node in range(30)}
    return dict(in_range(places, 250))


def test_nodes_hear_each_other_up_to_the_distance() -> None:
    """Both ways, and the distance itself is included."""
    near = in_range({1: (0, 0), 2: (3, 4), 3: (10, 0)}, 5)
    assert near == {1: frozenset({2}), 2: frozenset({1}), 3: frozenset()}


@pytest.mark.parametrize("seed", range(8))
def test_relays_reach_all_who_are_two_hops_away(seed: int) -> None:
    """As few as the agent's own heuristic needs, but for ties that were decided otherwise."""
    neighbours = drawn(seed)
    for node, chosen in relays(neighbours).items():
        near = neighbours[node]
        beyond = frozenset().union(*(neighbours[each] for each in near)) - near - {node}
        assert chosen <= near
        assert beyond <= frozenset().union(*(neighbours[each] for each in chosen))
        assert abs(len(chosen) - len(select_mprs(node, {each: neighbours[each] for each in near}))) <= 1


def test_relays_are_brokers() -> None:
    """In a row all but the ends; a full mesh has no relay and elects two, a star's hub gets a replica, who is alone
    serves itself."""
    assert brokers(CHAIN, relays(CHAIN)) == relaying(relays(CHAIN)) == {2, 3, 4}
    assert relaying(relays(FULL)) == frozenset()
    assert brokers(FULL, relays(FULL)) == {1, 2}
    assert brokers(STAR, relays(STAR)) == {1, 2}
    apart = FULL | {9: frozenset()}
    assert brokers(apart, relays(apart)) == {1, 2, 9}


@pytest.mark.parametrize("seed", range(4))
def test_a_message_for_all_is_sent_by_those_who_were_chosen(seed: int) -> None:
    """Everyone in reach hears it, and nobody sends it who is no relay but its origin."""
    neighbours = drawn(seed)
    chosen = relays(neighbours)
    for origin in neighbours:
        count = transmissions(origin, chosen)
        assert count <= len(relaying(chosen) | {origin})
    assert [transmissions(node, relays(CHAIN)) for node in CHAIN] == [4, 3, 3, 3, 4]
    assert transmissions(1, relays(FULL)) == 1


def test_a_subscription_is_told_by_each_broker_with_somebody_to_tell() -> None:
    """In a row of brokers 2, 3, 4: one of home 1 is sent by it, by 2 and by 3, as 4 could only tell 3."""
    serving = frozenset({2, 3, 4})
    assert [broker_transmissions(home, serving, CHAIN) for home in (1, 2, 3, 4, 5)] == [3, 2, 1, 2, 3]
    assert broker_transmissions(1, frozenset({1}), CHAIN) == 0


def test_messages_of_olsr_grow_by_the_addresses_in_them() -> None:
    """A HELLO names relays apart from other neighbours (RFC 3626, 6.1, 9.1)."""
    assert [hello_bytes(*each) for each in ((0, 0), (3, 0), (3, 1), (3, 3))] == [16, 32, 36, 32]
    assert tc_bytes(2) == 24
