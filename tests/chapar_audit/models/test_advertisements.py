"""Publishers that come and go, against their limits and a Markov chain."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar_audit.models.advertisements import Publisher, advertised
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.population import Population
from chapar_audit.models.tree import rooted, traffic, usage

rates = st.floats(0.01, 10)


def test_a_publisher_that_is_always_there_advertises_nothing() -> None:
    """nu = 0 and no refreshes of advertisements: the traffic is that of the tree alone."""
    tree = rooted([(1, 2), (2, 3)], 1)
    who = {2: Population(0.2, 1, 4), 3: Population(0.1, 2, 3)}
    steady = traffic(tree, who, 5, 2)
    x = usage(tree, {broker: each.idle for broker, each in who.items()}).x
    always = advertised(Publisher(0.5, 0, 5, 2, math.inf), x, steady.toggle, tree.links)
    assert always.identity == pytest.approx(steady.identity)
    assert always.flooding == steady.flooding
    assert always.resubscribing == always.advertising == 0


@given(rates, rates, rates, rates)
def test_one_link_is_a_chain_of_four_states(gamma: float, nu: float, lam: float, mu: float) -> None:
    """One subscriber at the far end of one link: what each transition of (publisher, subscriber) sends, counted."""
    present, active = gamma / (gamma + nu), lam / (lam + mu)
    toggles = present * ((1 - active) * lam + active * mu)
    comings = (1 - present) * gamma
    who = Population(lam, mu, 1)
    ours = advertised(Publisher(gamma, nu, 3, 2, 4), 1 - who.idle, who.toggles, 1)
    assert ours.toggle == pytest.approx(toggles)
    assert ours.advertising == pytest.approx(comings + present * nu)
    assert ours.resubscribing == pytest.approx(comings * active)
    assert ours.state_dependent == pytest.approx(present * ((3 + 1 / 2) * active + 1 / 4))
    assert ours.identity == pytest.approx(ours.state_dependent + ours.printed_toggle + ours.resubscribing)


def test_withdrawing_with_messages_doubles_what_2_44_lacks() -> None:
    """Once when the publisher comes, once when it goes."""
    publisher = Publisher(0.2, 0.1, 1, 1, 1)
    once = advertised(publisher, 2, 0, 4)
    twice = advertised(publisher, 2, 0, 4, unadvertising_withdraws=True)
    assert twice.resubscribing == 2 * once.resubscribing > 0
    assert twice.printed_toggle == once.printed_toggle


@pytest.mark.parametrize("wrong", [{"gamma": -1}, {"gamma": 0, "nu": 0}, {"omega": -1}, {"r": 0}, {"ra": -2}])
def test_impossible_publishers_are_refused(wrong: dict[str, float]) -> None:
    """Negative rates, no periods, and a publisher that neither comes nor goes."""
    good = {"gamma": 0.2, "nu": 0.1, "omega": 1, "r": 1, "ra": 1}
    with pytest.raises(ImpossibleInputError):
        Publisher(**{**good, **wrong})
