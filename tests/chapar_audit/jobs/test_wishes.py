"""From what clients wanted to the messages that tell of it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from chapar_audit.jobs.overlay import Overlay
from chapar_audit.jobs.wishes import Span, Told, Wish, by_way, periods, told, wanted

A, B = b"a" * 20, b"b" * 20
LINKS = ((1, 2), (2, 3))
SECOND = 1_000_000


def span(begin: float, end: float, *refreshes: float) -> Span:
    return Span(int(begin * SECOND), int(end * SECOND), np.array([int(t * SECOND) for t in refreshes]))


def wish(t: float, node: int, *, begins: bool, client: str = "c", filter_id: bytes = A) -> Wish:
    return Wish(int(t * SECOND), node, client, filter_id, begins)


WISHES = [
    wish(0.25, 3, begins=True),
    wish(1.25, 2, begins=True),
    wish(1.75, 3, begins=False),
    wish(3.25, 2, begins=False),
]


def test_by_identity_a_filter_stands_while_anybody_behind_wants_it() -> None:
    """Broker 3 alone is behind one link, 2 and 3 are behind the other; nobody is behind the ways back but 2."""
    changes = wanted(WISHES)
    found = told(Overlay(LINKS, "identity", 1.0), changes, span(0, 4, 0.5, 1.5, 2.5, 3.5), 0)
    assert found == {
        ((3, 2), A): Told(1, 1, 2),
        ((2, 1), A): Told(1, 1, 3),
        ((2, 3), A): Told(1, 1, 2),
    }
    assert by_way({**found, ((3, 2), B): Told(1)})[3, 2] == Told(2, 1, 2)


def test_by_simple_routing_each_client_is_told_of() -> None:
    """Two stand at one refresh."""
    found = told(Overlay(LINKS, "simple", 1.0), wanted(WISHES), span(0, 4, 0.5, 1.5, 2.5, 3.5), 0)
    assert found[(2, 1), A] == Told(2, 2, 4)


def test_what_was_before_counts_as_standing_and_not_as_a_beginning() -> None:
    """A span within the time that is recorded."""
    found = told(Overlay(LINKS, "identity", 1.0, roots=(1,)), wanted(WISHES), span(1, 2, 1.5), 0)
    assert found == {((3, 2), A): Told(0, 1, 1), ((2, 1), A): Told(0, 0, 1)}


def test_a_client_that_subscribes_twice_wants_it_until_the_last_is_gone() -> None:
    """And one that ceases without having begun never wanted it."""
    twice = [wish(1, 3, begins=True), wish(2, 3, begins=True), wish(3, 3, begins=False), wish(4, 3, begins=False)]
    changes = wanted([*twice, wish(0.5, 2, begins=False)])
    assert changes[A].ts_us.tolist() == [SECOND, 4 * SECOND]
    assert changes[A].step.tolist() == [1, -1]


def test_what_is_near_a_refresh_or_is_undone_at_once_may_be_under_way() -> None:
    """Not if nothing takes time, nor for two that begin together."""
    near = [
        wish(1.4, 3, begins=True),
        wish(2.1, 3, begins=False),
        wish(2.2, 2, begins=True),
        wish(2.25, 1, begins=True),
    ]
    overlay, look = Overlay(LINKS, "identity", 1.0), span(0, 4, 0.5, 1.5, 2.5, 3.5)
    assert told(overlay, wanted(near), look, 200_000)[(2, 1), A].unsure == 3
    assert told(overlay, wanted(near), look, 0)[(2, 1), A].unsure == 0
    together = [wish(2.0, 3, begins=True), wish(2.0, 2, begins=True)]
    assert told(overlay, wanted(together), look, 200_000)[(2, 1), A].unsure == 0


@pytest.mark.parametrize("algorithm", ["identity", "simple"])
def test_counts_are_those_of_following_every_change(algorithm: str) -> None:
    """Brute force: a broker's state after each change, for a random day."""
    rng = Random(3)
    wishes: list[Wish] = []
    standing: set[tuple[int, str]] = set()
    for second in range(1, 200):
        key = (rng.choice((1, 2, 3)), rng.choice("xy"))
        wishes.append(wish(second, key[0], begins=key not in standing, client=key[1]))
        standing ^= {key}
    overlay, look = Overlay(LINKS, algorithm, 1.0), span(20.5, 180.5, *range(25, 180, 10))
    count, before = [0, 0, 0], 0
    standing.clear()
    for each in wishes:
        standing ^= {(each.node, each.client)}
        behind = sum(node in {2, 3} for node, _ in standing)
        now = behind if algorithm == "simple" else min(behind, 1)
        if look.begin <= each.ts_us < look.end:
            count[0] += max(0, now - before)
            count[1] += max(0, before - now)
            count[2] += now if each.ts_us in look.refreshes else 0
        before = now
    assert told(overlay, wanted(wishes), look, 0)[(2, 1), A][:3] == tuple(count)


def test_a_span_is_made_of_whole_periods() -> None:
    """Each has half a period before its refresh and half behind it."""
    found = periods(3 * SECOND, 11 * SECOND, 7 * SECOND, 2 * SECOND)
    assert found is not None
    assert (found.begin, found.end) == (4 * SECOND, 10 * SECOND)
    assert found.refreshes.tolist() == [5 * SECOND, 7 * SECOND, 9 * SECOND]
    assert found.seconds == 6
    assert periods(3 * SECOND, 5 * SECOND, 0, 2 * SECOND) is not None
    assert periods(3 * SECOND, 4 * SECOND, 0, 2 * SECOND) is None
