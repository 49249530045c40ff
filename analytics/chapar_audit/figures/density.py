"""Density in the report on Chapar: relays and brokers by the size of the area (3.16), and traffic (3.17 to 3.19)."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

from chapar_audit import drawing
from chapar_audit.figures.areas import (
    MEMORISED,
    PACKET,
    PLANS,
    REACH,
    ROUTING,
    SUBSCRIBING,
    SUBSCRIPTIONS,
    UPKEEP,
    Expected,
    areas,
    roles,
    slots,
)
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.verdict import Finding, State, compared

if TYPE_CHECKING:
    from chapar_audit.figures.areas import Area, Mean, Plan, Slots
    from chapar_audit.figures.workshop import Workshop

ROLES, TRAFFIC, LOGARITHMIC, AVERAGES = (f"figure 002:3.{number}" for number in (16, 17, 18, 19))
STEP: Final = 100
"""Metres between two points of a model's curve."""
SIGMAS: Final = 3
"""Standard deviations of single draws by which a run may differ from their mean."""
LEAST: Final = 0.5
"""By which it may always."""
TOLD_EARLY: Final = 0.1
"""Share of OLSR's traffic that may come on top, as agents tell changes at once."""
EVENT_SYSTEM: Final = (SUBSCRIBING, MEMORISED)
"""What the report counts as such."""
LINES: Final = (
    (ROUTING, drawing.MEASURED, "o"),
    (MEMORISED, drawing.SERIES[2], "s"),
    (SUBSCRIBING, drawing.SERIES[3], "^"),
)
"""Kinds of traffic with their colours and marks."""
MESHED, PEAK, PEAK_SHARE = 450, 1400, 0.67
"""In the report there are no relays up to MESHED metres, and most of them, this share of nodes, at PEAK."""
DENSE, SPARSE = 450, 1400
"""The metres from which the report calls networks dense, and sparse."""
SAVED: Final = ((0, 200), (DENSE, 25), (SPARSE, 10))
"""From so many metres on, OLSR costs so many times what subscriptions and events do (report)."""


def relays(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.16."""
    plan = PLANS[effort]
    found = areas(workshop, plan)
    measured = roles(workshop, found, plan)
    drawn, axes = drawing.plane("diagonal of the area D, in metres", f"nodes, of {plan.nodes}")
    curve = _curve(plan)
    expected = [Expected(plan, diameter) for diameter in curve]
    claimed = [place for place in (plan.diameters[0], MESHED, PEAK) if place <= curve[-1]]
    shares = [PEAK_SHARE if place == PEAK else 0.0 for place in claimed]
    drawing.printed_line(axes, claimed, [share * plan.nodes for share in shares], "relays, in the report")
    drawing.model_line(axes, curve, [each.relays.value for each in expected], "relays, expected")
    drawing.model_line(axes, curve, [each.brokers.value for each in expected], "brokers, expected", linestyle="-.")
    at = plan.diameters
    drawing.measured_points(axes, at, [measured[each].relays for each in at], "relays, our daemons")
    serving = [measured[each].brokers for each in at]
    drawing.measured_points(axes, at, serving, "brokers, our daemons", fmt="s", mfc="none")
    drawing.legend(axes)
    findings = []
    for area in found:
        here, size = measured[area.diameter], f"with D = {area.diameter:g} m"
        findings.append(_within(ROLES, f"relays {size}", here.relays, area.expected.relays, "nodes"))
        findings.append(_within(ROLES, f"brokers {size}", here.brokers, area.expected.brokers, "nodes"))
    most, where = max((each.relays.value, diameter) for each, diameter in zip(expected, curve, strict=True))
    caption = (
        f"{_setting(plan)} Points are the roles of our daemons on average over the slots; blue is what the rules of "
        f"RFC 3626 and of the report make of {plan.draws} draws of places. As in the report, a small area has no "
        "relays and elects two brokers; a larger one has ever more relays, until the network falls apart; and brokers "
        f"become more even then, as each part needs its own. The report has no relays up to {MESHED} m, and "
        f"{_percent(PEAK_SHARE)} of the nodes at {PEAK} m; the rules make it {_percent(most / plan.nodes)} at most, "
        f"near {where:g} m."
    )
    return Drawing(drawn, caption, findings)


def traffic(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.17."""
    plan = PLANS[effort]
    found = areas(workshop, plan)
    measured = slots(workshop, found, plan)
    drawn, axes = drawing.plane(f"slots of {plan.slot:g} s", "kB per slot", height=4.2)
    findings = []
    numbers = range(1, plan.slots + 1)
    for place, area in enumerate(found):
        here = measured[area.diameter]
        colour, mark = drawing.SERIES[place % len(drawing.SERIES)], drawing.MARKERS[place % len(drawing.MARKERS)]
        routing = [share.bytes / 1000 for share in here[ROUTING]]
        events = [each / 1000 for each in _events(here)]
        axes.plot(numbers, routing, color=colour, marker=mark, label=f"OLSR, D = {area.diameter:g} m")
        axes.plot(numbers, events, color=colour, marker=mark, linestyle=":", mfc="none")
        findings.append(_routing(area, here, plan))
        cheaper = sum(less < more for less, more in zip(events, routing, strict=True))
        findings.append(
            compared(TRAFFIC, f"slots in which subscriptions and events cost less than OLSR, D = {area.diameter:g} m",
                     cheaper, plan.slots, within=0, unit="slots", reason="large events, or few HELLOs")
        )  # fmt: skip
    axes.plot([], [], color=drawing.FAINT, linestyle=":", label="subscriptions and events")
    axes.set_xticks(list(numbers))
    axes.set_ylim(bottom=0)
    drawing.legend(axes)
    caption = (
        f"{_setting(plan)} All that was on the air, headers included: OLSR (solid), and the report's event system, "
        "subscriptions and memorised events (dotted). Where all hear each other, OLSR is its HELLOs alone; as the area "
        "grows, these become shorter, and the TCs of those who relay or are relayed for are added."
    )
    return Drawing(drawn, caption, findings)


def logarithmic(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.18."""
    plan = PLANS[effort]
    found = areas(workshop, plan)
    measured = slots(workshop, found, plan)
    shown = dict(zip(("full mesh", "dense", "sparse"), (found[0], found[len(found) // 2], found[-1]), strict=True))
    drawn, columns = drawing.canvas(width=9, columns=len(shown))
    numbers = range(1, plan.slots + 1)
    for axes, (name, area) in zip(columns, shown.items(), strict=True):
        for kind, colour, mark in LINES:
            amounts = [share.bytes or math.nan for share in measured[area.diameter][kind]]
            axes.plot(numbers, amounts, color=colour, marker=mark, label=kind)
        axes.set_title(f"{name}, D = {area.diameter:g} m", fontsize=10)
        axes.set_xlabel(f"slots of {plan.slot:g} s")
        axes.set_yscale("log")
        axes.set_ylim(100, 1_000_000)
        axes.set_xticks(numbers)
    columns[0].set_ylabel("bytes per slot")
    drawn.legend(*columns[0].get_legend_handles_labels(), loc="outside upper left", ncols=len(LINES))
    findings = [
        _within(LOGARITHMIC, f"frames of a subscription with D = {area.diameter:g} m",
                sum(share.frames for share in measured[area.diameter][SUBSCRIBING]) / (SUBSCRIPTIONS * plan.slots),
                area.expected.subscription, "frames")
        for area in found
    ]  # fmt: skip
    first, *_, last = (_mean(measured[area.diameter], SUBSCRIBING) for area in shown.values())
    caption = (
        f"{_setting(plan)} The same slots on a logarithmic scale. Subscriptions are alike in size and number, events "
        "are not: their spikes are large payloads. A subscription is sent once by each broker with somebody to tell, "
        f"so in the sparse network subscriptions cost {last / first:.1f} times as much as in the full mesh "
        "(the report: 5 times in dense networks and 10 times in sparse ones)."
    )
    return Drawing(drawn, caption, findings)


def averages(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.19."""
    plan = PLANS[effort]
    found = areas(workshop, plan)
    measured = slots(workshop, found, plan)
    drawn, axes = drawing.plane("diagonal of the area D, in metres", f"bytes per slot of {plan.slot:g} s", height=4.4)
    axes.set_yscale("log")
    at, curve = plan.diameters, _curve(plan)
    expected = [Expected(plan, each) for each in curve]
    hello = [each.hello_bytes.value for each in expected]
    least, most = ([each.tc_bytes(headers).value for each in expected] for headers in (0, PACKET))
    for label, tcs, dashes in (("OLSR expected, at least", least, "-"), ("at most", most, "-.")):
        sums = [plan.slot * (one + more) for one, more in zip(hello, tcs, strict=True)]
        drawing.model_line(axes, curve, sums, label, linestyle=dashes)
    drawing.model_line(axes, curve, [plan.slot * each for each in hello], "HELLOs of it", linestyle=":")
    routing, events = ([_mean(measured[each], *kinds) for each in at] for kinds in ((ROUTING,), EVENT_SYSTEM))
    upkeep = [_mean(measured[each], *EVENT_SYSTEM, UPKEEP) for each in at]
    for kind, colour, mark in (*LINES, (UPKEEP, drawing.SERIES[4], "v")):
        amounts = [_mean(measured[each], kind) or math.nan for each in at]
        axes.plot(at, amounts, color=colour, marker=mark, label=kind)
    claimed = [cost / _saved(each) for cost, each in zip(routing, at, strict=True)]
    drawing.printed_line(axes, at, claimed, "both, by the report's ratios")
    drawing.legend(axes)
    findings = [
        _within(
            AVERAGES, f"HELLOs with D = {area.diameter:g} m",
            area.run.result["air"]["by_kind"]["HELLO"]["bytes"] / plan.duration, area.expected.hello_bytes, "bytes/s",
            TOLD_EARLY,
        )
        for area in found
    ]  # fmt: skip
    ratios = ", ".join(f"{cost / less:.0f} at {each:g} m" for cost, less, each in zip(routing, events, at, strict=True))
    caption = (
        f"{_setting(plan)} Averages over the slots. OLSR costs so many times what subscriptions and events do: "
        f"{ratios} (the report: 200 in full meshes, 25 in dense and 10 in sparse networks). The report leaves out what "
        "keeps neighbours and tables in step. Ours is beacons, mostly; with it, what chapard sends is "
        f"{_percent(upkeep[0] / routing[0])} of OLSR in the smallest area and {_percent(upkeep[-1] / routing[-1])} in "
        "the largest."
    )
    return Drawing(drawn, caption, findings)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _curve(plan: Plan) -> list[float]:
    """Where a model's curve is worked out."""
    return [*range(int(plan.diameters[0]), int(plan.diameters[-1]), STEP), plan.diameters[-1]]


def _mean(here: Slots, *kinds: str) -> float:
    """Bytes of a slot, on average."""
    return sum(fmean(share.bytes for share in here[kind]) for kind in kinds)


def _setting(plan: Plan) -> str:
    return (
        f"{plan.nodes} nodes that hear each other up to {REACH:g} m walk at 1 m/s in a square; {plan.slots} slots of "
        f"{plan.slot:g} s after {plan.warm:g} s, in each {SUBSCRIPTIONS} subscriptions and an event that is kept "
        "(the report: 40 nodes, 120 slots of 30 s)."
    )


def _events(here: Slots) -> list[float]:
    """Bytes, slot by slot, of what the report calls the event system."""
    return [one.bytes + other.bytes for one, other in zip(here[SUBSCRIBING], here[MEMORISED], strict=True)]


def _saved(diameter: float) -> float:
    """How many times of subscriptions and events OLSR costs in the report."""
    return next(times for since, times in reversed(SAVED) if diameter >= since)


def _within(job: str, subject: str, measured: float, expected: Mean, unit: str, share: float = 0.0) -> Finding:
    """Holds within what single draws differ by, and a share besides."""
    slack = max(SIGMAS * expected.deviation + share * expected.value, LEAST)
    return _judged(job, subject, measured, (expected.value - slack, expected.value + slack), unit)


def _routing(area: Area, here: Slots, plan: Plan) -> Finding:
    """Between TCs that all ride along with others, and TCs that all have a packet of their own."""
    hello, least, most = area.expected.hello_bytes, area.expected.tc_bytes(), area.expected.tc_bytes(PACKET)
    slack = SIGMAS * most.deviation + TOLD_EARLY * (hello.value + least.value)
    bounds = (hello.value + least.value - slack, hello.value + most.value + slack)
    return _judged(TRAFFIC, f"OLSR with D = {area.diameter:g} m", _mean(here, ROUTING) / plan.slot, bounds, "bytes/s")


def _judged(job: str, subject: str, measured: float, bounds: tuple[float, float], unit: str) -> Finding:
    low, high = bounds
    holds = low <= measured <= high
    reason = "" if holds else "nodes were not where the draws have them, or changes are told early and learnt late"
    state = State.HOLDS if holds else State.DEVIATES
    return Finding(job, subject, state, measured, (low + high) / 2, unit, f"±{(high - low) / 2:.3g}", reason)


FIGURES: Final = (
    Figure(number="002:3.16", title="Relays and brokers against the size of the area", make=relays),
    Figure(number="002:3.17", title="Traffic of OLSR and of the event system over time", make=traffic),
    Figure(number="002:3.18", title="The same traffic on a logarithmic scale", make=logarithmic),
    Figure(number="002:3.19", title="Average traffic against the size of the area", make=averages),
)
