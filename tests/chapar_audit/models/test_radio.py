"""The battalion's radio network: its shape, its right form, and how far the printed one is from it."""

from __future__ import annotations

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.radio import AT_DISTANCE, NETS, PUBLISHER, SUBSCRIBERS, TREE, Net, Radio, above, distance


def test_the_network_is_that_of_table_3_2() -> None:
    """125 nets, 124 links, 920 possible subscribers."""
    assert (len(NETS), TREE.links, SUBSCRIBERS) == (125, 124, sum(AT_DISTANCE))
    assert above(Net(3, 96)) == (2, 24)
    assert above(Net(2, 7)) == (1, 2)
    assert above(Net(1, 4)) == (0, 1)
    near = {net for net in NETS if distance(net) == 0}
    assert near == {(2, 1), (3, 2), (3, 3), (3, 4), PUBLISHER}
    assert AT_DISTANCE == (4 + 3 * 8, 16 + 5 * 4 + 20 * 8, 3 * 16 + 18 * 4 + 72 * 8)


@pytest.mark.parametrize("q", [1, 10])
def test_lambda_is_found_for_any_number_of_subscribers(q: float) -> None:
    """lam and psi are inverse to each other."""
    radio = Radio(6, 1, 1 / 6, q)
    for psi in (0.5, 110, 900):
        assert radio.psi(radio.lam(psi)) == pytest.approx(psi)


@pytest.mark.parametrize("radio", [Radio(6, 1, 1 / 6), Radio(2, 1, 1 / 6), Radio(6, 1, 1 / 6, 10)])
def test_at_the_break_even_both_cost_the_same(radio: Radio) -> None:
    """There the curves cross: identity-based routing is cheaper just below, dearer just above."""
    point = radio.break_even()
    assert point is not None
    here = radio.traffic(point)
    assert here.identity == pytest.approx(here.flooding)
    assert radio.traffic(point * 0.99).identity < here.flooding < radio.traffic(point * 1.01).identity


def test_the_published_break_even_costs_half_as_much_again_as_flooding() -> None:
    """At Ψ = 110, 12 % of the subscribers, where the printed form has both costs equal."""
    radio = Radio(6, 1, 1 / 6)
    right, printed = radio.traffic(110), radio.printed_traffic(110)
    assert printed.identity == pytest.approx(printed.flooding, rel=0.02)
    assert right.flooding == printed.flooding == 744
    assert 1.5 < right.identity / right.flooding < 1.6


def test_a_break_even_needs_refreshes_or_toggles() -> None:
    """Without refreshes and with hardly a toggle, flooding is never cheaper; without notifications it always is."""
    assert Radio(6, 1e-9, float("inf")).break_even() is None
    assert Radio(0, 1, 1).break_even() == 0


@pytest.mark.parametrize(
    ("radio", "printed", "right"),
    [
        (Radio(2, 1, 1 / 6), 42.5, 13.9),
        (Radio(6, 1, 1 / 6), 107.4, 44.8),
        (Radio(12, 1, 1 / 6), 171.3, 82.5),
        (Radio(6, 6, 1 / 6), 97.4, 23.2),
        (Radio(6, 1 / 6, 1 / 6), 109.1, 51.3),
        (Radio(6, 1 / 6, 1), 296.9, 166.1),
        (Radio(6, 1 / 6, 3), 452.7, 247.7),
    ],
)
def test_published_break_evens_are_far_too_high(radio: Radio, printed: float, right: float) -> None:
    """Every one that figures 3.3 to 3.5 show."""
    assert radio.printed_break_even() == pytest.approx(printed, abs=0.06)
    assert radio.break_even() == pytest.approx(right, abs=0.06)


@pytest.mark.parametrize("wrong", [(-1, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)])
def test_impossible_settings_are_refused(wrong: tuple[float, float, float, float]) -> None:
    """Negative or zero where there must be something."""
    with pytest.raises(ImpossibleInputError):
        Radio(*wrong)


@pytest.mark.parametrize("psi", [-1, 920, 1000])
def test_more_active_than_there_are_is_refused(psi: float) -> None:
    """All 920 are never active all the time."""
    with pytest.raises(ImpossibleInputError, match="920"):
        Radio(6, 1, 1).lam(psi)
