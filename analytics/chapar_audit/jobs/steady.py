"""The verdict on a run as a whole against the model of the general tree in equilibrium (van Vliet 2.3, corrected).

λ, μ and N of each filter at each broker are estimated from what clients did. What is measured are means over batches of
whole refresh periods, with 95 % confidence by Student's t. Of refreshes the model has one per period, which all links
share, and filter on each link in use: x/r.
"""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.jobs.wishes import Span, Wanted

JOB: Final = "traffic"
WITHIN: Final = 0.05
"""Part of what is expected that a rate may be off in any case: λ and μ are estimates too."""
WIDEST: Final = 0.5
"""Part of what is expected that is too wide a confidence interval to conclude anything."""
FEWEST_BATCHES: Final = 8
FEWEST_TOGGLES: Final = 30
STUDENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % points of Student's t for 1 to 30 degrees of freedom."""


class Measured(NamedTuple):
    """A rate, and how sure it is."""

    rate: float
    half_width: float
    """Of its 95 % confidence interval."""


class Evidence(NamedTuple):
    """What speaks for or against that the model applies to what was measured."""

    toggles: int
    """Changes of clients' interest."""
    halves: tuple[float, float] = (0.0, 0.0)
    """How many clients were interested on average in the first and in the second half of the time."""
    drift: float = 0.0
    """How far these may differ by chance."""
    counted: bool | None = None
    """Whether message by message all was as clients' interest makes it; None: not known."""


def mean_rate(counts: Sequence[int], seconds: float) -> Measured:
    """From the counts of batches of this length."""
    rates = [count / seconds for count in counts]
    number = len(rates)
    if number < 2:
        return Measured(fmean(rates), math.inf)
    student = STUDENT[min(number - 2, len(STUDENT) - 1)]
    return Measured(fmean(rates), student * stdev(rates) / math.sqrt(number))


def judged(subject: str, measured: Measured, expected: float, evidence: Evidence, batches: int) -> Finding:
    """A row of the verdict."""
    allowed = max(WITHIN * expected, measured.half_width)
    is_still = evidence.toggles == 0
    tolerance = f"{100 * WITHIN:g} %, or 95 % confidence of {batches} batch means: ±{measured.half_width:.3g}"
    row = Finding(JOB, subject, State.HOLDS, measured.rate, expected, "messages/s", tolerance)
    if measured.rate == expected == 0:
        return row
    if not is_still:
        lacking = _lacking(measured, expected, evidence, batches)
        if lacking:
            return row._replace(state=State.OPEN, reason=lacking)
    if abs(measured.rate - expected) <= allowed:
        return row
    return row._replace(state=State.DEVIATES, reason=_reason(evidence))


def _lacking(measured: Measured, expected: float, evidence: Evidence, batches: int) -> str:
    """Why nothing can be concluded; empty if something can."""
    if evidence.toggles < FEWEST_TOGGLES:
        return f"clients' interest changed {evidence.toggles} times: too rarely for a rate, the counts above decide"
    if batches < FEWEST_BATCHES:
        return f"{batches} refresh periods are too few for a confidence interval, the counts above decide"
    if measured.half_width > WIDEST * max(expected, measured.rate):
        return f"too uncertain, ±{measured.half_width:.3g}: run it for longer"
    return ""


def _reason(evidence: Evidence) -> str:
    first, second = evidence.halves
    if evidence.counted is False:
        return "some links carried other messages than clients' interest makes, see there"
    if abs(first - second) > evidence.drift:
        return f"not stationary: {first:.3g} clients were interested in the first half, {second:.3g} in the second"
    return "clients do not come and go as the model has it: at random, and those of each broker by themselves"


def evidence(changes: Sequence[Wanted], span: Span, *, counted: bool | None) -> Evidence:
    """How much clients did in a span, and whether they did the same in both halves."""
    toggles, halves = 0, [0.0, 0.0]
    middle = (span.begin + span.end) // 2
    for each in changes:
        toggles += int(((each.ts_us >= span.begin) & (each.ts_us < span.end)).sum())
        active = np.cumsum(each.step)
        for place, (low, high) in enumerate(((span.begin, middle), (middle, span.end))):
            edges = np.clip(np.concatenate((each.ts_us, [high])), low, high)
            halves[place] += float((np.diff(edges) * active).sum()) / (high - low)
    # Those who are interested are a random walk of as many steps as there are toggles, which forgets within a stay.
    mean = sum(halves) / 2
    stays = max(1.0, toggles / 4 / mean) if mean else 1.0
    return Evidence(toggles, (halves[0], halves[1]), 2 * math.sqrt(4 * mean / stays), counted)
