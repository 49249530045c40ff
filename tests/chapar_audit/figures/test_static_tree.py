"""Figure 2.4: a broker that sends too much is found."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from chapar_audit.figures.figure import Effort
from chapar_audit.figures.static_tree import CASES, K, M, traffic
from chapar_audit.models import static
from chapar_audit.verdict import State, state_of
from fake_workshop import FakeWorkshop

if TYPE_CHECKING:
    from collections.abc import Mapping


def answer(given: Mapping[str, str], more: float = 0.0) -> float:
    """What the model says, and some messages more where subscriptions are sent."""
    if "algorithm" in given:
        return float(static.flooding(M, K))
    (cost,) = (case.cost for case in CASES if case.place == given["place"])
    return cost(M, K, int(given["static"])) + more


@pytest.mark.parametrize("effort", Effort)
def test_break_evens_are_read_off_the_measured_points(effort: Effort) -> None:
    """12.75, 9.727 and 8.25 subscribers; with all points, each of the 27 numbers of subscribers is compared."""
    drawn = traffic(FakeWorkshop(answer).workshop, effort)
    assert state_of(drawn.findings) is State.HOLDS
    evens = [each.measured for each in drawn.findings if "break-even" in each.subject]
    assert evens == [pytest.approx(even, abs=1e-3) for even in (12.75, 9.727, 8.25)]
    assert re.search(r"best case 12\.75, homogeneous 9\.727, worst case 8\.25", drawn.caption)
    assert len(drawn.findings) == 1 + 3 + (8 if effort is Effort.QUICK else 3 * 27)


def test_one_message_too_many_deviates() -> None:
    """Where chance has no part, each message counts."""
    drawn = traffic(FakeWorkshop(partial(answer, more=1)).workshop, Effort.QUICK)
    wrong = [each.subject for each in drawn.findings if each.state is State.DEVIATES]
    assert "worst case, 8 subscribers" in wrong
    assert "homogeneous, break-even" in wrong
    assert "flooding" not in wrong
