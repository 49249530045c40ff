"""The verdict on rates: what the model says within the confidence of the data, or nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chapar_audit.jobs.steady import Evidence, Measured, evidence, judged, mean_rate
from chapar_audit.jobs.wishes import Span, Wanted
from chapar_audit.verdict import State

MANY = Evidence(1000, (5.0, 5.1), 0.5, counted=True)


def test_a_rate_is_a_mean_with_the_confidence_of_student() -> None:
    """Four batches of 2 s: mean 2, s = 0.408, t = 3.182."""
    rate, half_width = mean_rate([3, 4, 4, 5], 2)
    assert rate == 2
    assert half_width == pytest.approx(3.182 * math.sqrt(0.5 / 3) / 2)
    assert mean_rate([3], 1) == (3, math.inf)


@pytest.mark.parametrize(
    ("measured", "expected", "about", "state", "reason"),
    [
        (Measured(10.4, 0.1), 10, MANY, State.HOLDS, ""),
        (Measured(11, 1.2), 10, MANY, State.HOLDS, ""),
        (Measured(10.6, 0.1), 10, MANY, State.DEVIATES, "do not come and go as the model has it"),
        (Measured(20, 0.1), 10, MANY._replace(counted=False), State.DEVIATES, "some links carried other messages"),
        (Measured(20, 0.1), 10, MANY._replace(halves=(1, 9)), State.DEVIATES, "not stationary: 1 clients"),
        (Measured(10, 0.1), 10, MANY._replace(toggles=29), State.OPEN, "changed 29 times"),
        (Measured(10, 6.0), 10, MANY, State.OPEN, "too uncertain"),
        (Measured(0, 0), 0, MANY._replace(toggles=1), State.HOLDS, ""),
        (Measured(0, 0), 10, MANY._replace(toggles=0), State.DEVIATES, "clients"),
    ],
)
def test_a_rate_holds_deviates_or_is_open(
    measured: Measured, expected: float, about: Evidence, state: State, reason: str
) -> None:
    """Where nobody comes or goes there is no chance, and nothing to be uncertain about."""
    row = judged("toggles", measured, expected, about, 20)
    assert row.state is state
    assert reason in row.reason
    assert "±" in row.tolerance


def test_few_batches_decide_nothing() -> None:
    assert judged("toggles", Measured(10, 0.1), 10, MANY, 7).state is State.OPEN


def test_evidence_of_both_halves() -> None:
    """One client from 2 s to 8 s of 12 s, another from 4 s on: 6 and 8 seconds of interest in halves of 6 s."""
    changes = Wanted(np.array([2, 4, 8]) * 1_000_000, np.array([1, 2, 1]), np.array([1, 1, -1]), np.array([0, 1, 0]))
    found = evidence([changes], Span(0, 12_000_000, np.array([6_000_000])), counted=None)
    assert found.toggles == 3
    assert found.halves == pytest.approx((1.0, 8 / 6))
