"""Subscribers that move between brokers."""

from __future__ import annotations

import pytest

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.population import Population
from chapar_audit.models.roaming import Roaming

RING = Roaming(lam=(0.5, 0.1, 0), mu=(1, 2, 0.5), moves=((0, 0.8, 0), (0, 0, 0.6), (0.3, 0, 0)))


def test_the_loads_settle_in_equilibrium() -> None:
    """From an empty network, the differential equation ends where the balance says."""
    last = RING.loads((0, 0, 0), end=60)[-1]
    assert last == pytest.approx(RING.settled(), rel=1e-6)


def test_in_equilibrium_what_arrives_leaves() -> None:
    """At each broker, and over the edge of the network."""
    rho = RING.settled()
    leaving = [mu * load for mu, load in zip(RING.mu, rho, strict=True)]
    assert RING.arrivals(rho) == pytest.approx(leaving)
    gone = sum(rate * (1 - sum(row)) for rate, row in zip(leaving, RING.moves, strict=True))
    assert gone == pytest.approx(sum(RING.lam))


def test_roamers_toggle_brokers_like_other_arrivals() -> None:
    """A broker without arrivals from outside toggles too; its rate is that of a population with all its arrivals."""
    rho = RING.settled()
    third = Population(RING.arrivals(rho)[2], RING.mu[2])
    assert RING.lam[2] == 0
    assert RING.toggles(rho)[2] == pytest.approx(third.toggles)
    assert third.toggles > 0


def test_who_stays_put_is_the_steady_state() -> None:
    """Without moves each broker is M/M/∞ on its own."""
    still = Roaming((0.5, 2), (1, 4), ((0, 0), (0, 0)))
    assert still.settled() == (0.5, 0.5)
    assert still.toggles((0.5, 0.5)) == pytest.approx((Population(0.5, 1).toggles, Population(2, 4).toggles))


@pytest.mark.parametrize(
    ("lam", "mu", "moves", "said"),
    [
        ((1, 1), (1, 1), ((0, 0.6), (0.6, 0.6)), "at most 1 in all"),
        ((1, 1), (1, 1), ((0, 1),), "2 rows of 2"),
        ((1,), (0,), ((0,),), "above 0"),
        ((-1,), (1,), ((0,),), "from 0"),
    ],
)
def test_impossible_networks_are_refused(
    lam: tuple[float, ...], mu: tuple[float, ...], moves: tuple[tuple[float, ...], ...], said: str
) -> None:
    """The line says which condition."""
    with pytest.raises(ImpossibleInputError, match=said):
        Roaming(lam, mu, moves)


def test_who_never_leaves_has_no_equilibrium() -> None:
    """Two brokers that hand subscribers to and fro for ever."""
    with pytest.raises(ImpossibleInputError, match="no equilibrium"):
        Roaming((1, 0), (1, 1), ((0, 1), (1, 0))).settled()
