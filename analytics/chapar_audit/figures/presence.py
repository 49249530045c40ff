"""Presence in CAFES, one multicast network of routers: figure 4.2 of van Vliet's thesis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from chapar_audit import drawing
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.figures.measured import crossing, half_width, tolerance
from chapar_audit.models.cafes import Cafes
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from matplotlib.axes import Axes

    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

JOB: Final = "figure 000:4.2"
UNIT: Final = "messages/min"
ROUTERS, CLIENTS = 3, 4
"""N and c, which the thesis does not state."""
PUBLISHING: Final = (5, 30, 120)
"""1/ν, how long clients publish, in minutes: a panel each. In between they do not for 30."""
LONGEST: Final = 10.0
"""1/μ, how long they subscribe. In between they do not for 60."""
SUBSCRIBED: Final[Mapping[Effort, Sequence[float]]] = {Effort.QUICK: (1,), Effort.FULL: (0.25, 1, 2, 4, 7, 10)}
"""The 1/μ that are measured."""
RUNS: Final = {Effort.QUICK: 3, Effort.FULL: 12}
MINUTES: Final = {Effort.QUICK: 400, Effort.FULL: 600}
WITHIN: Final = 0.04
"""Least tolerance. The few clients publish and pause for long, so that it takes long to meet their average."""
FINE: Final = 100
SUBSCRIPTIONS, NOTIFICATIONS = "identity", "flooding"
"""What is flooded, as routing algorithms on trees are called: identity routing sends all routers the subscriptions."""


class Spot(NamedTuple):
    """What is measured, with both algorithms."""

    publishing: float
    subscribed: float


def difference(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 4.2."""
    spots = [Spot(publishing, subscribed) for publishing in PUBLISHING for subscribed in SUBSCRIBED[effort]]
    both = (SUBSCRIPTIONS, NOTIFICATIONS)
    found = iter(workshop.traffic([_options(spot, flooded, effort) for spot in spots for flooded in both]))
    measured = {spot: {flooded: next(found) for flooded in both} for spot in spots}
    drawn, panels = drawing.canvas(width=9.6, height=3.9, columns=len(PUBLISHING))
    for axes, publishing in zip(panels, PUBLISHING, strict=True):
        _curves(axes, publishing)
        _points(axes, {spot: each for spot, each in measured.items() if spot.publishing == publishing}, RUNS[effort])
    lows, highs = zip(*(axes.get_ylim() for axes in panels), strict=True)
    for axes in panels:
        axes.set_ylim(min(lows), max(highs))
    panels[0].set_ylabel("A_NF − A_SF, messages a minute")
    drawing.shared_legend(drawn)
    rows = [row for spot, each in measured.items() for row in _rows(spot, each, RUNS[effort])]
    return Drawing(drawn, _caption(effort), rows)


def model(spot: Spot) -> Cafes:
    """With the rates of 4.3, per minute."""
    return Cafes(
        ROUTERS, CLIENTS, omega=1, r=2, lam=1 / 60, mu=1 / spot.subscribed, gamma=1 / 30, nu=1 / spot.publishing
    )


def _options(spot: Spot, algorithm: str, effort: Effort) -> str:
    """Both algorithms meet the same clients: chance is theirs."""
    each, seed = model(spot), round(100 * spot.subscribed + spot.publishing) + 1
    return (
        f"--multicast {ROUTERS},{CLIENTS} --lam {each.lam:.9g} --mu {each.mu:.9g} --omega {each.omega:g} "
        f"--gamma {each.gamma:.9g} --nu {each.nu:.9g} --r {each.r:g} --algorithm {algorithm} "
        f"--duration {MINUTES[effort]} --runs {RUNS[effort]} --seed {seed}"
    )


def _right(spot: Spot) -> float:
    return model(spot).notification_flooding - model(spot).subscription_flooding


def _printed(spot: Spot) -> float:
    return model(spot).notification_flooding - model(spot).printed_subscription_flooding


def _curves(axes: Axes, publishing: float) -> None:
    minutes = np.linspace(LONGEST / FINE, LONGEST, FINE).tolist()
    drawing.printed_line(axes, minutes, [_printed(Spot(publishing, each)) for each in minutes], "the thesis")
    drawing.model_line(axes, minutes, [_right(Spot(publishing, each)) for each in minutes], "the right model")
    axes.axhline(0, color=drawing.FAINT, linewidth=0.8, zorder=1)
    axes.set_title(f"publishing for 1/ν = {publishing} min", fontsize=10)
    axes.set_xlabel("subscribed for 1/μ, minutes")


def _points(axes: Axes, measured: Mapping[Spot, Mapping[str, Mapping[str, Any]]], runs: int) -> None:
    more = [each[NOTIFICATIONS]["total"] - each[SUBSCRIPTIONS]["total"] for each in measured.values()]
    bars = [math.hypot(*(half_width(figures, runs) for figures in each.values())) for each in measured.values()]
    drawing.measured_points(axes, [spot.subscribed for spot in measured], more, "our broker", bars)


def _rows(spot: Spot, measured: Mapping[str, Mapping[str, Any]], runs: int) -> list[Finding]:
    where = f"1/ν = {spot.publishing:g}, 1/μ = {spot.subscribed:g}"
    expected = {
        SUBSCRIPTIONS: ("flooding subscriptions", model(spot).subscription_flooding),
        NOTIFICATIONS: ("flooding notifications", model(spot).notification_flooding),
    }
    return [
        compared(JOB, f"{name}, {where}", measured[flooded]["total"], right,
                 within=tolerance(measured[flooded], runs, WITHIN), unit=UNIT,
                 reason="routers say otherwise who wants what than 4.1 to 4.3 with the toggle rate of c sources")
        for flooded, (name, right) in expected.items()
    ]  # fmt: skip


def _caption(effort: Effort) -> str:
    said = []
    for publishing in PUBLISHING:
        right, printed = (_even(publishing, costs) for costs in (_right, _printed))
        said.append(f"{right} minutes (in the thesis {printed}) where they publish for {publishing}")
    return (
        f"One multicast network of N = {ROUTERS} routers with c = {CLIENTS} clients each, which the thesis does not "
        "state: what flooding notifications costs more than flooding subscriptions. Below 0 it is cheaper, which is so "
        f"if clients subscribe for more than {', '.join(said)}. The missing c makes flooding subscriptions look better "
        "than it is, the more so the more clients a router has. Our brokers hang on one that stands for the network "
        "and repeats what it hears, so that what they send to it is what is on the network; "
        f"{RUNS[effort]} runs of {MINUTES[effort]} minutes with 95 % confidence."
    )


def _even(publishing: float, costs: Any) -> str:
    """The 1/μ at which both cost the same."""
    minutes = np.linspace(LONGEST, LONGEST / FINE, FINE).tolist()
    even = crossing(minutes, [costs(Spot(publishing, each)) for each in minutes], 0)
    return f"{even:.1f}" if even else "0"


FIGURES: Final = (
    Figure(
        number="000:4.2",
        title="Flooding of notifications and of subscriptions on one multicast network",
        make=difference,
        error="the toggle rate in 4.2 lacks the factor c, the number of a router's clients; and its conclusion depends "
        "on N and c, which are not stated.",
    ),
)
