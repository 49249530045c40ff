"""Figures 3.3 to 3.6: brokers that behave as the thesis prints it would be found, and the right model is not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit.figures.battalion import PLANS, draw
from chapar_audit.figures.figure import Effort
from chapar_audit.models.radio import Radio
from chapar_audit.verdict import State, state_of
from fake_workshop import FakeWorkshop

if TYPE_CHECKING:
    from collections.abc import Mapping


def answer(given: Mapping[str, str], *, printed: bool = False) -> float:
    """What one of the models says."""
    omega, mu, r, q = (float(given.get(name, 1)) for name in ("omega", "mu", "r", "locality"))
    radio = Radio(omega, mu, r, q)
    psi = radio.psi(float(given["lam"]))
    said = radio.printed_traffic(psi) if printed else radio.traffic(psi)
    return said.flooding if given["algorithm"] == "flooding" else said.identity


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.number)
def test_what_is_asked_for_is_what_is_compared(plan: Any) -> None:
    """The simulator is given λ, not Ψ: with the right model behind it, every point fits, for local interest too."""
    drawn = draw(plan, FakeWorkshop(answer).workshop, Effort.QUICK)
    assert [each.measured for each in drawn.findings] == pytest.approx([each.expected for each in drawn.findings])
    assert len(drawn.findings) == 6


def test_the_printed_form_deviates() -> None:
    """Brokers that cost what appendix C says are not ours: all points of identity-based routing are too low."""
    drawn = draw(PLANS[0], FakeWorkshop(partial(answer, printed=True)).workshop, Effort.QUICK)
    assert {each.state for each in drawn.findings} == {State.DEVIATES}


def test_all_of_a_curve_is_measured_at_full_effort() -> None:
    """Both break-evens and seven points of each setting, and flooding at the break-even, where it costs the same."""
    workshop = FakeWorkshop(answer)
    drawn = draw(PLANS[0], workshop.workshop, Effort.FULL)
    assert len(workshop.asked) == 3 * (2 + 7 + 1)
    assert state_of(drawn.findings) is State.HOLDS
    against = [each for each in drawn.findings if "against flooding" in each.subject]
    assert [each.expected for each in against] == [248, 744, 1488]


def test_the_caption_says_what_the_printed_break_even_costs() -> None:
    """ω = 6, Ψ = 107.4: 53 % more than flooding."""
    drawn = draw(PLANS[0], FakeWorkshop(answer).workshop, Effort.QUICK)
    assert "from Ψ = 44.8 on, not 107.4, where identity-based routing measures 1139 messages a minute, 53 % more" in (
        drawn.caption
    )
