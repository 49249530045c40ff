"""Figure 4.2: routers that toggle as rarely as the thesis prints it are found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from chapar_audit.figures.figure import Effort
from chapar_audit.figures.presence import difference
from chapar_audit.models.cafes import Cafes
from chapar_audit.verdict import State
from fake_workshop import FakeWorkshop

if TYPE_CHECKING:
    from collections.abc import Mapping


def answer(given: Mapping[str, str], *, printed: bool = False) -> float:
    """What one of the models says."""
    routers, clients = map(int, given["multicast"].split(","))
    rates = (float(given[name]) for name in ("omega", "r", "lam", "mu", "gamma", "nu"))
    cafes = Cafes(routers, clients, *rates)
    if given["algorithm"] == "flooding":
        return cafes.notification_flooding
    return cafes.printed_subscription_flooding if printed else cafes.subscription_flooding


def test_both_ways_of_flooding_are_compared() -> None:
    """At each point of each panel."""
    drawn = difference(FakeWorkshop(answer).workshop, Effort.FULL)
    assert len(drawn.findings) == 3 * 6 * 2
    assert [each.measured for each in drawn.findings] == pytest.approx([each.expected for each in drawn.findings])


def test_the_printed_toggle_rate_deviates() -> None:
    """Flooding notifications is the same in both."""
    drawn = difference(FakeWorkshop(partial(answer, printed=True)).workshop, Effort.QUICK)
    wrong = {each.subject.split(",")[0] for each in drawn.findings if each.state is State.DEVIATES}
    assert wrong == {"flooding subscriptions"}


def test_the_caption_says_from_when_on_notifications_are_cheaper() -> None:
    """Clients that publish for 120 minutes: 2.6 minutes of subscribing, not 4.5."""
    drawn = difference(FakeWorkshop(answer).workshop, Effort.QUICK)
    assert "2.6 minutes (in the thesis 4.5) where they publish for 120" in drawn.caption
