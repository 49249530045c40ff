"""The general tree against brute force over all states, and against the closed forms for m-ary trees."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.population import Population
from chapar_audit.models.static import used_links
from chapar_audit.models.tree import (
    Tree,
    from_usage,
    leaves,
    link_use,
    m_ary,
    m_ary_usage,
    rooted,
    traffic,
    uniform_m_ary_usage,
    usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

probabilities = st.floats(0, 1)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, dict[int, float]]:
    """A random tree of up to seven brokers, a publisher, and how idle each broker is."""
    count = draw(st.integers(1, 7))
    edges = [(draw(st.integers(1, broker - 1)), broker) for broker in range(2, count + 1)]
    publisher = draw(st.integers(1, count)) if edges else 1
    return rooted(edges, publisher), {broker: draw(probabilities) for broker in range(1, count + 1)}


def by_brute_force(tree: Tree, idle: Mapping[int, float]) -> tuple[float, dict[int, float]]:
    """x and d_i as means over all 2^N states of the brokers."""
    x, d = 0.0, dict.fromkeys(tree.brokers, 0.0)
    for state in product((0, 1), repeat=len(tree.brokers)):
        active = {broker for broker, on in zip(tree.brokers, state, strict=True) if on}
        chance = math.prod(1 - idle[each] if each in active else idle[each] for each in tree.brokers)
        x += chance * used_links(tree, active)
        for broker in tree.brokers:
            others = math.prod(
                1 - idle[each] if each in active else idle[each] for each in tree.brokers if each != broker
            )
            sign = 1 if broker in active else -1
            d[broker] += sign * others * used_links(tree, active)
    return x, d


@given(trees())
def test_x_and_d_are_means_over_all_states(given_tree: tuple[Tree, dict[int, float]]) -> None:
    """d_i is the mean number of links that a change of broker i alone adds or frees."""
    tree, idle = given_tree
    x, d = by_brute_force(tree, idle)
    ours = usage(tree, idle)
    assert ours.x == pytest.approx(x, abs=1e-12)
    assert ours.d == pytest.approx(d, abs=1e-12)


@given(st.sampled_from([(1, 4), (2, 2), (2, 4), (3, 3), (4, 3)]), st.data())
def test_m_ary_closed_forms_are_the_general_tree(shape: tuple[int, int], data: st.DataObject) -> None:
    """2.20 and 2.22, with the second product from j + 1."""
    tree = m_ary(*shape)
    ends = leaves(tree)
    idle = data.draw(st.lists(probabilities, min_size=len(ends), max_size=len(ends)))
    x, d = m_ary_usage(*shape, idle)
    general = usage(tree, dict(zip(ends, idle, strict=True)))
    assert x == pytest.approx(general.x)
    assert d == pytest.approx([general.d[end] for end in ends])


@given(st.sampled_from([(1, 3), (2, 4), (3, 4), (5, 3)]), probabilities)
def test_uniform_closed_forms_are_the_special_case(shape: tuple[int, int], idle: float) -> None:
    """2.15 and 2.18."""
    x, d = m_ary_usage(*shape, [idle])
    ours = uniform_m_ary_usage(*shape, idle)
    assert ours == pytest.approx((x, d[0]))
    assert d == pytest.approx([d[0]] * len(d))


def test_an_m_ary_tree_has_its_numbers() -> None:
    """N = m^(k−1) end-brokers, l = (m^k − m)/(m − 1) links."""
    tree = m_ary(3, 4)
    assert (tree.links, leaves(tree)[0], leaves(tree)[-1]) == (39, 14, 40)
    assert m_ary(1, 5).links == 4


def test_the_extremes_of_the_traffic() -> None:
    """Nobody interested costs nothing; everybody, always, costs flooding of notifications and of refreshes (2.3.3)."""
    tree = m_ary(2, 4)
    nobody = traffic(tree, dict.fromkeys(leaves(tree), Population(0, 1)), 3, 0.5)
    assert (nobody.identity, nobody.flooding) == (0, 42)
    everybody = traffic(tree, dict.fromkeys(leaves(tree), Population(1, 1e-6)), 3, 0.5)
    assert everybody.identity == pytest.approx(42 + 14 / 0.5)


def test_without_refreshes_an_infinite_period() -> None:
    """1/r is 0 then."""
    assert from_usage(2, 1, 5, math.inf, 10) == (10, 1, 50)


@pytest.mark.parametrize(
    ("edges", "publisher", "said"),
    [
        ([(1, 2), (2, 3), (3, 1)], 1, "cycle"),
        ([(1, 2), (2, 1)], 1, "twice"),
        ([(1, 1)], 1, "itself"),
        ([(1, 2), (3, 4)], 1, "brokers \\[3, 4\\] are not connected"),
        ([(1, 2)], 7, "publisher 7 is none of the brokers 1, 2"),
    ],
)
def test_what_is_no_tree_is_refused(edges: list[tuple[int, int]], publisher: int, said: str) -> None:
    """The line names the brokers."""
    with pytest.raises(ImpossibleInputError, match=said):
        rooted(edges, publisher)


@pytest.mark.parametrize(("m", "k"), [(0, 3), (2, 0), (10, 9), (1, 10**9), (10**9, 3)])
def test_impossible_shapes_are_refused(m: int, k: int) -> None:
    """No children, no levels, more brokers than anybody has."""
    with pytest.raises(ImpossibleInputError):
        m_ary(m, k)


def test_a_wide_star_and_a_long_chain_take_no_time() -> None:
    """The work grows with the number of brokers, whatever the shape."""
    star = rooted([(0, leaf) for leaf in range(1, 50_001)], 0)
    assert usage(star, dict.fromkeys(range(1, 50_001), 0.5)).x == 25_000
    chain = rooted([(place, place + 1) for place in range(50_000)], 0)
    assert usage(chain, {50_000: 0.25}).d[50_000] == 50_000


@given(trees(), st.lists(st.floats(0, 5), min_size=7, max_size=7))
def test_the_links_sum_up_to_x_and_to_the_toggle_traffic(
    given_tree: tuple[Tree, dict[int, float]], rates: list[float]
) -> None:
    """Link by link the model is the same: Σ u = x, and the links' toggles are Σ d_i t_i."""
    tree, idle = given_tree
    toggles = {broker: rates[broker - 1] for broker in tree.brokers}
    links, used = link_use(tree, idle, toggles), usage(tree, idle)
    assert sum(each.used for each in links.values()) == pytest.approx(used.x)
    assert sum(each.toggles for each in links.values()) == pytest.approx(
        sum(used.d[broker] * toggles[broker] for broker in tree.brokers)
    )
