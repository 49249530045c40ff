"""CAFES: the limits, and what the missing factor does."""

from __future__ import annotations

from typing import Any

import pytest

from chapar_audit.models.cafes import Cafes
from chapar_audit.models.conditions import ImpossibleInputError

GOOD: dict[str, Any] = {
    "routers": 5, "clients": 5, "omega": 1, "r": 2, "lam": 1 / 60, "mu": 1, "gamma": 1 / 30, "nu": 1 / 30,
}  # fmt: skip


def test_without_interest_only_flooding_notifications_costs() -> None:
    """Nobody subscribes: no control traffic, and no notification leaves its router."""
    nobody = Cafes(**{**GOOD, "lam": 0})
    assert nobody.subscription_flooding == 0
    assert nobody.notification_flooding == 5 * 5 * 0.5


def test_with_everybody_subscribed_subscriptions_come_on_top() -> None:
    """All always subscribed: all notifications, and a refresh from each router for each client."""
    all_of_them = Cafes(**{**GOOD, "lam": 1, "mu": 1e-9})
    expected = all_of_them.notification_flooding + 5 * 5 * 5 / 2
    assert all_of_them.subscription_flooding == pytest.approx(expected)


def test_the_factor_that_4_2_lacks_turns_the_conclusion() -> None:
    """In the chapter's setting flooding subscriptions seems to be better at 1/mu = 1 minute; it is not."""
    ours = Cafes(**GOOD)
    assert ours.printed_subscription_flooding < ours.notification_flooding < ours.subscription_flooding
    one = Cafes(**{**GOOD, "clients": 1})
    assert one.printed_subscription_flooding == one.subscription_flooding


@pytest.mark.parametrize("wrong", [{"routers": 0}, {"clients": 0}, {"omega": -1}, {"mu": 0}, {"nu": -1}, {"r": 0}])
def test_impossible_input_is_refused(wrong: dict[str, float]) -> None:
    """Each in one line."""
    with pytest.raises(ImpossibleInputError):
        Cafes(**{**GOOD, **wrong})
