"""Subscribers who come in waves, against as many who come evenly: figure 2.7 of van Vliet's thesis."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from chapar_audit import drawing
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.figures.measured import half_width, tolerance
from chapar_audit.models.transient import Grove, Wave, identity, printed_steps
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from matplotlib.axes import Axes

    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

JOB: Final = "figure 000:2.7"
GROVE: Final = Grove(m=3, k=5, omega=1, r=1)
MU: Final = 5.0
TIME: Final = 25.0
"""T, over which messages are counted."""
RATES: Final = (2, 5, 15)
"""c, arrivals at each end-broker: a panel each."""
WAVES: Final[Mapping[Effort, Mapping[int, tuple[int, ...]]]] = {
    Effort.QUICK: {2: (1, 40)},
    Effort.FULL: dict.fromkeys(RATES, (1, 4, 10, 20, 30, 40)),
}
"""The frequencies a that are measured for each c."""
RUNS: Final = {Effort.QUICK: 3, Effort.FULL: 8}
WITHIN: Final = 0.03
"""Least tolerance of the messages of a setting."""
FASTEST: Final = 50
SMOOTH: Final = (0.5, 0.75, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11, 15, 20, 30, FASTEST)
"""The frequencies between which the right curve is drawn."""
UNIT: Final = "messages"


class Spot(NamedTuple):
    """What is measured."""

    c: int
    a: int
    """0 is for arrivals that are even."""


def difference(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 2.7."""
    spots = [Spot(c, a) for c, frequencies in WAVES[effort].items() for a in (0, *frequencies)]
    answers = workshop.traffic([_options(spot, RUNS[effort]) for spot in spots])
    found = dict(zip(spots, answers, strict=True))
    drawn, panels = drawing.canvas(width=9.6, height=3.9, columns=len(RATES))
    for axes, c in zip(panels, RATES, strict=True):
        _curves(axes, c)
        _points(axes, {spot: figures for spot, figures in found.items() if spot.c == c}, RUNS[effort])
    lows, highs = zip(*(axes.get_ylim() for axes in panels), strict=True)
    for axes in panels:
        axes.set_ylim(min(lows), max(highs))
    panels[0].set_ylabel("messages more than with even arrivals")
    drawing.shared_legend(drawn)
    rows = [_row(spot, figures, RUNS[effort]) for spot, figures in found.items()]
    return Drawing(drawn, _caption(effort), rows)


def _options(spot: Spot, runs: int) -> str:
    swing = f" --wave-amplitude {spot.c} --wave-frequency {spot.a}" if spot.a else ""
    return (
        f"--tree {GROVE.m},{GROVE.k} --lam {spot.c} --mu {MU:g} --omega {GROVE.omega:g} --r {GROVE.r:g} --regular"
        f"{swing} --duration {TIME:g} --runs {runs} --seed {spot.c + spot.a}"
    )


def _curves(axes: Axes, c: int) -> None:
    """The thesis's in steps of a that meet its spikes; the right one has none."""
    every = np.arange(0.5, FASTEST + 0.5, 0.5).tolist()
    drawing.printed_line(axes, every, [_printed(c, a) for a in every], "the thesis, in steps of π/20", linewidth=1.3)
    drawing.model_line(axes, SMOOTH, [_right(c, a) for a in SMOOTH], "the right model")
    axes.axhline(0, color=drawing.FAINT, linewidth=0.8, zorder=1)
    axes.set_title(f"c = {c}", fontsize=10)
    axes.set_xlabel("frequency a")


@cache
def _right(c: int, a: float) -> float:
    """How much more waves cost."""
    return identity(GROVE, _wave(c, a), TIME) - identity(GROVE, _wave(c, 0), TIME)


@cache
def _printed(c: int, a: float) -> float:
    return printed_steps(GROVE, _wave(c, a), TIME) - printed_steps(GROVE, _wave(c, 0), TIME)


def _wave(c: int, a: float) -> Wave:
    """0 is for arrivals that are even."""
    return Wave(a, c if a else 0, c, MU)


def _points(axes: Axes, found: Mapping[Spot, Mapping[str, Any]], runs: int) -> None:
    if not found:
        return
    even = next(figures for spot, figures in found.items() if not spot.a)
    waves = [(spot.a, figures) for spot, figures in found.items() if spot.a]
    frequencies = [a for a, _ in waves]
    more = [TIME * (figures["total"] - even["total"]) for _, figures in waves]
    bars = [TIME * math.hypot(half_width(figures, runs), half_width(even, runs)) for _, figures in waves]
    drawing.measured_points(axes, frequencies, more, "our broker", bars)


def _row(spot: Spot, figures: Mapping[str, Any], runs: int) -> Finding:
    how = f"waves of a = {spot.a}" if spot.a else "even arrivals"
    right = identity(GROVE, _wave(spot.c, spot.a), TIME)
    return compared(
        JOB, f"{how}, c = {spot.c}", TIME * figures["total"], right, within=tolerance(figures, runs, WITHIN), unit=UNIT,
        reason="subscribers come otherwise than c + c sin(at) says, or links are used otherwise than 1 − Π p",
    )  # fmt: skip


def _caption(effort: Effort) -> str:
    return (
        f"Subscribers come to the 81 end-brokers of a tree (m = {GROVE.m}, k = {GROVE.k}) at rate c + c sin(at) and "
        f"stay for 1/μ = {1 / MU:g}: the messages in T = {TIME:g}, less those with the even rate c; below 0, waves are "
        "cheaper. Slow waves save messages where subscribers are few (c = 2 and 5), as nobody is there for half of the "
        "time, and cost more where there always is somebody otherwise (c = 15), unless they are very slow; the faster "
        f"they are, the less they matter. That a wave of a = 40 at c = 5 costs {_printed(5, 40):.0f} messages more is "
        "an artefact of the thesis's steps, in which it always is at the same phase: by the right model it is "
        f"{_right(5, 40):.0f}. Points are differences of what crosses the links between our brokers, {RUNS[effort]} "
        "runs each, with 95 % confidence; compared are the messages themselves. Notifications come every 1/ω, so that "
        "only subscribers are a matter of chance."
    )


FIGURES: Final = (
    Figure(
        number="000:2.7",
        title="A varying arrival rate against an even one",
        make=difference,
        error="its integral is taken in steps of π/20, so that waves of a = 20 and 40 are at the same phases at every "
        "step, and its toggle rate is 2 λ(t) p(t) where (λ(t) + μ ρ(t)) p(t) is meant.",
    ),
)
