"""Figure 2.7: waves that cost what the thesis's steps say are found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from chapar_audit.figures.figure import Effort
from chapar_audit.figures.waves import GROVE, TIME, difference
from chapar_audit.models.transient import Wave, identity, printed_steps
from chapar_audit.verdict import State, state_of
from fake_workshop import FakeWorkshop

if TYPE_CHECKING:
    from collections.abc import Mapping


def answer(given: Mapping[str, str], *, printed: bool = False) -> float:
    """Messages per unit of time, by one of the models."""
    assert (given["tree"], float(given["omega"]), float(given["r"])) == ("3,5", GROVE.omega, GROVE.r)
    a, b = (float(given.get(name, 0)) for name in ("wave-frequency", "wave-amplitude"))
    model = printed_steps if printed else identity
    return model(GROVE, Wave(a, b, float(given["lam"]), float(given["mu"])), float(given["duration"])) / TIME


def test_all_waves_are_compared() -> None:
    """Six of each c, and even arrivals, with the messages of the whole time."""
    drawn = difference(FakeWorkshop(answer).workshop, Effort.FULL)
    assert len(drawn.findings) == 3 * 7
    assert [each.measured for each in drawn.findings] == pytest.approx([each.expected for each in drawn.findings])
    assert state_of(drawn.findings) is State.HOLDS


def test_what_steps_of_pi_20_see_deviates() -> None:
    """Waves with a = 40 only, at c = 2 and 5, where they are most of the traffic."""
    drawn = difference(FakeWorkshop(partial(answer, printed=True)).workshop, Effort.FULL)
    wrong = [each.subject for each in drawn.findings if each.state is State.DEVIATES]
    assert {"waves of a = 40, c = 2", "waves of a = 40, c = 5"} <= set(wrong)
    assert not [each for each in wrong if "a = 1," in each or "even" in each]
