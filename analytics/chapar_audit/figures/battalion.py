"""The radio network of a battalion: figures 3.3 to 3.6 of van Vliet's thesis, whose break-evens rest on appendix C.

Every panel has one setting: what identity-based routing costs against the number of active subscribers, and flooding.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from chapar_audit import drawing
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.figures.measured import half_width, tolerance
from chapar_audit.models.radio import Radio
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

ERROR: Final = (
    "appendix C, to which its curves belong, multiplies 1 − p of all nets below a link where 1 − Π p is meant, so that "
    "links count as idle which are in use, and its toggle rate lacks the number of a net's members."
)
IDENTITY, FLOODING = "identity", "flooding"
UNIT: Final = "messages/min"
RUNS: Final = {Effort.QUICK: 6, Effort.FULL: 12}
MESSAGES: Final = {Effort.QUICK: 15_000, Effort.FULL: 60_000}
"""That are counted for a point, about: where there are few in a minute, they are more a matter of chance."""
WITHIN: Final = {Effort.QUICK: 0.05, Effort.FULL: 0.03}
"""Least tolerance."""
BRIEFLY: Final = 1e-4
"""Minutes after the last refresh, so that it is counted however times are rounded."""
POINTS: Final = 7
"""Of a curve, besides the two break-evens."""
FINE: Final = 80
"""Of a line that is drawn."""


class Setting(NamedTuple):
    """One panel."""

    name: str
    radio: Radio


class Plan(NamedTuple):
    """One figure."""

    number: str
    title: str
    settings: tuple[Setting, ...]
    widest: float
    """The largest Ψ that is drawn."""
    says: str


class Spot(NamedTuple):
    """A point to be measured."""

    setting: Setting
    psi: float
    algorithm: str = IDENTITY


def _setting(name: str, **rates: float) -> Setting:
    return Setting(name, Radio(**{"omega": 6.0, "mu": 1.0, "r": 1 / 6, **rates}))


PLANS: Final = (
    Plan(
        "3.3",
        "Identity-based routing and flooding for different ω",
        tuple(_setting(f"ω = {omega}", omega=omega) for omega in (2, 6, 12)),
        250,
        "The more is published, the longer identity-based routing is worth its subscriptions.",
    ),
    Plan(
        "3.4",
        "Identity-based routing and flooding for various μ",
        tuple(_setting(f"μ = {name}", mu=mu) for name, mu in (("6", 6), ("1", 1), ("1/6", 1 / 6))),
        200,
        "The shorter subscribers stay (1/μ minutes), the more messages tell of their coming and going. In the thesis "
        "that makes little difference, as its toggle rate lacks the number of members; in fact it halves the "
        "break-even.",
    ),
    Plan(
        "3.5",
        "Identity-based routing and flooding for different r",
        tuple(_setting(f"r = {name}", mu=1 / 6, r=r) for name, r in (("1/6", 1 / 6), ("1", 1), ("3", 3))),
        550,
        "The more rarely subscriptions are refreshed, the closer identity-based routing stays to what the "
        "notifications alone cost.",
    ),
    Plan(
        "3.6",
        "Identity-based routing and flooding for uniform and local interest",
        tuple(_setting(f"q = {q}", q=q) for q in (1, 10, 100)),
        400,
        "Members near the publishing squad subscribe q times as often as those at an average distance, and q² times "
        "as often as those far away: the more local interest is, the longer identity-based routing is worth it.",
    ),
)


def draw(plan: Plan, workshop: Workshop, effort: Effort) -> Drawing:
    """Draw the panels of a figure."""
    job = f"figure 000:{plan.number}"
    spots = [spot for setting in plan.settings for spot in _spots(setting, plan.widest, effort)]
    found = workshop.traffic([_options(spot, effort) for spot in spots])
    drawn, panels = drawing.canvas(width=9.6, height=3.9, columns=len(plan.settings))
    findings: list[Finding] = []
    said = []
    for axes, setting in zip(panels, plan.settings, strict=True):
        here = [(spot, figures) for spot, figures in zip(spots, found, strict=True) if spot.setting is setting]
        _curves(axes, setting, plan.widest)
        _points(axes, here, effort)
        findings += _rows(job, here, effort)
        said.append(_said(here))
    for axes in panels:
        axes.set_ylim(0, max(each.get_ylim()[1] for each in panels))
    panels[0].set_ylabel("messages a minute")
    drawing.shared_legend(drawn)
    caption = (
        f"{plan.says} Grey is the thesis: its break-evens (grey ticks) come from appendix C as printed. Blue is the "
        "model of the general tree, with flooding in green; points are what crosses the links between 125 of our "
        f"brokers, message by message, {RUNS[effort]} runs each with 95 % confidence, notifications every 1/ω. "
        + " ".join(said)
    )
    return Drawing(drawn, caption, findings)


@cache
def _break_evens(radio: Radio) -> tuple[float, float]:
    """The right one and the printed one."""
    right, printed = radio.break_even(), radio.printed_break_even()
    assert right is not None, "all who subscribe cost more than flooding"
    assert printed is not None, "in appendix C, too"
    return right, printed


def _spots(setting: Setting, widest: float, effort: Effort) -> list[Spot]:
    """Both break-evens, and of a whole curve some points, with flooding where it should cost the same."""
    right, printed = _break_evens(setting.radio)
    if effort is Effort.QUICK:
        return [Spot(setting, right), Spot(setting, printed)]
    between = (widest * part / POINTS for part in range(1, POINTS + 1))
    return [*(Spot(setting, psi) for psi in sorted({right, printed, *between})), Spot(setting, right, FLOODING)]


def _options(spot: Spot, effort: Effort) -> str:
    """Each run has whole refresh periods. Both algorithms meet the same subscribers and notifications."""
    radio, runs = spot.setting.radio, RUNS[effort]
    periods = math.ceil(MESSAGES[effort] / radio.traffic(spot.psi).identity / runs / radio.r)
    local = f" --locality {radio.q:g}" if radio.q != 1 else ""
    return (
        f"--battalion --lam {radio.lam(spot.psi):.9g} --mu {radio.mu:.9g} --omega {radio.omega:g} --r {radio.r:.9g}"
        f"{local} --regular --algorithm {spot.algorithm} --duration {periods * radio.r + BRIEFLY:.9g} --runs {runs} "
        f"--seed {round(spot.psi)}"
    )


def _curves(axes: Any, setting: Setting, widest: float) -> None:
    radio = setting.radio
    psi = np.linspace(0, widest, FINE).tolist()
    limit = radio.traffic(0).flooding
    axes.axhline(limit, color=drawing.OTHER, linestyle=":", label="flooding")
    drawing.printed_line(axes, psi, [radio.printed_traffic(each).identity for each in psi], "the same in the thesis")
    drawing.model_line(axes, psi, [radio.traffic(each).identity for each in psi], "identity-based, the right model")
    right, printed = _break_evens(radio)
    for even, color in ((right, drawing.MODEL), (printed, drawing.PRINTED)):
        axes.vlines(even, 0, limit, color=color, linewidth=1, zorder=1)
        axes.annotate(f"{even:.0f}", (even, 0), xytext=(3, 4), textcoords="offset points", fontsize=9, color=color)
    axes.set_title(setting.name, fontsize=10)
    axes.set_xlabel("active subscribers Ψ")
    axes.set_xlim(0, widest * 1.02)


def _points(axes: Any, found: Sequence[tuple[Spot, Mapping[str, Any]]], effort: Effort) -> None:
    for algorithm, marker in ((IDENTITY, "o"), (FLOODING, "s")):
        here = [(spot.psi, figures) for spot, figures in found if spot.algorithm == algorithm]
        if not here:
            continue
        psi, totals = [psi for psi, _ in here], [figures["total"] for _, figures in here]
        bars = [half_width(figures, RUNS[effort]) for _, figures in here]
        drawing.measured_points(axes, psi, totals, f"our broker, {algorithm}", bars, fmt=marker, ms=5)


def _rows(job: str, found: Sequence[tuple[Spot, Mapping[str, Any]]], effort: Effort) -> list[Finding]:
    """Each point against the right model; and at its break-even, what both algorithms cost against each other."""
    rows = []
    for spot, figures in found:
        model = spot.setting.radio.traffic(spot.psi)
        expected = model.flooding if spot.algorithm == FLOODING else model.identity
        rows.append(
            compared(job, f"{spot.algorithm}, {spot.setting.name}, Ψ = {spot.psi:.1f}", figures["total"], expected,
                     within=tolerance(figures, RUNS[effort], WITHIN[effort]), unit=UNIT,
                     reason="links are used or refreshed otherwise than 1 − Π p says")
        )  # fmt: skip
    for flooded in (each for each in found if each[0].algorithm == FLOODING):
        (identity,) = (each for each in found if each[0] == flooded[0]._replace(algorithm=IDENTITY))
        rows.append(
            compared(job, f"identity against flooding at the break-even, {flooded[0].setting.name}",
                     identity[1]["total"], flooded[1]["total"],
                     within=tolerance(identity[1], RUNS[effort], WITHIN[effort]), unit=UNIT,
                     reason="the break-even lies elsewhere")
        )  # fmt: skip
    return rows


def _said(found: Sequence[tuple[Spot, Mapping[str, Any]]]) -> str:
    """What the printed break-even really costs."""
    setting = found[0][0].setting
    right, printed = _break_evens(setting.radio)
    (there,) = (figures["total"] for spot, figures in found if spot.psi == printed)
    flooded = setting.radio.traffic(0).flooding
    return (
        f"{setting.name}: flooding is cheaper from Ψ = {right:.1f} on, not {printed:.1f}, where identity-based routing "
        f"measures {there:.0f} messages a minute, {100 * (there / flooded - 1):.0f} % more than flooding's {flooded:g}."
    )


FIGURES: Final = tuple(
    Figure(number=f"000:{plan.number}", title=plan.title, make=partial(draw, plan), error=ERROR) for plan in PLANS
)
