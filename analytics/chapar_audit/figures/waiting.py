"""ON/OFF queues of the paper on timeliness: response times against the rate of events (7, 11, 12), over a day (9)."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit import drawing
from chapar_audit.figures import queues
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.models.onoff import OnOff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.queues import Waited
    from chapar_audit.figures.workshop import Workshop

LISTENERS: Final = 5
MOST_TURNS: Final = 2000
"""ON and OFF periods of a listener in a run, at most."""
BEGIN, END, PARTS = 0.1, 0.97, 8
"""What is published in this share of a run counts: queues are empty at first, and all clients are there at the end."""
SHARE: Final = 0.03
"""Of what is expected: a run begins with empty queues, and messages take a millisecond."""
NOT_OURS: Final = "events wait longer or shorter in the queue of a client than theorem 2 says"
LINES: Final = 60
"""Points of a curve."""
METRO_1: Final = (146.38, 96.0)
METRO_2: Final = (155.88, 72.15)
"""Seconds with and without the network, on average, on the two ways of the paper."""
JOURNEYS: Final = 12.13 * 3600
"""Seconds that were recorded on the second way."""
TRACE: Final = 4
"""Seed of the trace."""
MOST_12: Final = 200.0
SHARE_12: Final = 0.1
INTERVAL: Final = 600.0
"""Seconds in which the rate stays as it is."""
LOADS: Final = (("low load, antenna 9", 0.04), ("high load, antenna 24", 0.075))
"""What the paper calls them, and their mean rate."""
NAMES_9: Final = ("theorem 2 for each 10 minutes", "our broker, each hour, 95 % confidence")
FAINT: Final = 0.55
"""Of the line of the first load, where the lines cross."""
SHARE_9: Final = 0.05
"""As the paper allows; the queue follows its rate within a minute or two."""
CAPTION_9: Final = (
    "Events at the rates of two antennas, for subscribers that are there and away for 40 s and take 1 s over each. The "
    "calls that the paper counted in 50 weeks are not public, so the rates are synthetic: a day, uneven from one 10 "
    "minutes to the next, with the averages of the paper, 0.04 and 0.075 events/s. Theorem 2 is applied to each 10 "
    "minutes by itself, as in the paper, and comes as close."
)


class Curve(NamedTuple):
    """A queue, and the rates at which it is measured."""

    label: str
    station: OnOff
    rates: Sequence[float]


def _seconds(station: OnOff, rate: float, events: int) -> float:
    """In which so many deliveries are made."""
    return min(events / (LISTENERS * rate), MOST_TURNS * (station.on + station.off))


def _measure(workshop: Workshop, curves: Sequence[Curve], events: int) -> list[list[Waited]]:
    """The points of each curve, from runs of so many deliveries."""
    asked = [
        queues.scenario(
            f"{each.label}, {rate:g} events/s", _seconds(each.station, rate, events), [queues.poisson(rate)],
            each.station.d, [queues.coming_and_going(each.station)] * LISTENERS,
        )
        for each in curves
        for rate in each.rates
    ]  # fmt: skip
    runs = iter(workshop.record(asked))
    return [
        [
            queues.waited(next(runs), BEGIN * seconds, END * seconds, PARTS)
            for seconds in (_seconds(each.station, rate, events) for rate in each.rates)
        ]
        for each in curves
    ]


def _against_rate(figure: str, workshop: Workshop, curves: Sequence[Curve], events: int, most: float) -> Drawing:
    """Model and measurement; the caption is still to come. `most` seconds are shown."""
    drawn, axes = drawing.plane("events per second λ", "response time in s")
    findings = []
    for place, (curve, found) in enumerate(zip(curves, _measure(workshop, curves, events), strict=True)):
        dense = [curve.station.fastest * (each + 1) / LINES for each in range(LINES - 1)]
        times = [curve.station.response_time(each) for each in dense]
        count = sum(each <= most for each in times)
        shown, times = dense[:count], times[:count]
        labels = ("theorem 2", "our broker, 95 % confidence") if place == 0 else (None, None)
        drawing.model_line(axes, shown, times, labels[0])
        drawing.measured_points(
            axes, curve.rates, [each.mean for each in found], labels[1],
            [queues.SIGMAS * each.error for each in found], fmt=drawing.MARKERS[place],
        )  # fmt: skip
        drawing.mark_end(axes, shown, times, curve.label, drawing.MODEL)
        findings += [
            queues.agrees(figure, f"{curve.label}, λ = {rate:g}/s", each, curve.station.response_time(rate), SHARE,
                          NOT_OURS)
            for rate, each in zip(curve.rates, found, strict=True)
        ]  # fmt: skip
    axes.set_ylim(0, most)
    axes.set_xlim(left=0)
    drawing.legend(axes)
    return Drawing(drawn, "", findings)


def by_period(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 7."""
    full = effort is Effort.FULL
    rates = (0.05, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    of_period = {20.0: rates, 40.0: rates, 60.0: rates} if full else {20.0: rates[1:3], 40.0: (), 60.0: ()}
    curves = [Curve(f"{each:g} s", OnOff(0.125, each, each), some) for each, some in of_period.items()]
    made = _against_rate("figure 004:7", workshop, curves, 100_000 if full else 10_000, 160)
    caption = (
        "Subscribers that are there and away for 20, 40 or 60 s on average, and take 0.125 s over an event: how long "
        "events take from publication until they are done with them. The curve is theorem 2, which is exact for "
        f"these queues; points are the queues that our broker keeps for {LISTENERS} clients, each of which comes and "
        "goes by itself. All curves end at 4 events/s, where a queue would grow for ever; the nearer, the longer a "
        "run must be for a sure mean, as the error bars show."
    )
    return made._replace(caption=caption)


def by_service(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 11."""
    full = effort is Effort.FULL
    curves = [
        Curve("0.125 s", OnOff(0.125, *METRO_1), (0.25, 0.5, 1.0, 2.0, 3.0) if full else (0.1, 0.25)),
        Curve("0.0625 s", OnOff(0.0625, *METRO_1), (0.25, 0.5, 1.0, 2.0, 4.0, 6.0) if full else (0.1,)),
    ]
    made = _against_rate("figure 004:11", workshop, curves, 200_000 if full else 10_000, 250)
    caption = (
        "The same for connections as they are in the metro from Cité Universitaire to Dugommier, 146.38 s with and "
        "96 s without the network on average (exponential, as the paper found), and two service times. From about "
        "3.5 and 7 events/s response times become too high, as the paper says; the limits are 4.8 and 9.7."
    )
    return made._replace(caption=caption)


def connections(seconds: float, seed: int) -> list[tuple[float, float]]:
    """Times with and without the network that a recorder in the metro might have found in so many seconds.

    Drawn from exponential laws and stretched to the averages that the paper gives.
    """
    rng = Random(seed)
    count = round(seconds / sum(METRO_2))
    columns = [[rng.expovariate(1 / mean) for _ in range(count)] for mean in METRO_2]
    scales = [mean * count / math.fsum(column) for mean, column in zip(METRO_2, columns, strict=True)]
    return [(on * scales[0], off * scales[1]) for on, off in zip(*columns, strict=True)]


def _schedule(periods: Sequence[tuple[float, float]], start: int) -> str:
    """One pass through the periods, from one of them on."""
    turns, now = [], 0.0
    for on, off in [*periods[start:], *periods[:start]]:
        turns += [f'[{now + on:.3f}, "off"]', f'[{now + on + off:.3f}, "on"]']
        now += on + off
    return f"presence = {{ schedule = [{', '.join(turns)}] }}"


def by_trace(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 12."""
    full, figure = effort is Effort.FULL, "figure 004:12"
    seconds, passes = (JOURNEYS, 2) if full else (JOURNEYS / 4, 2)
    periods = connections(seconds, TRACE)
    whole = math.fsum(map(sum, periods))
    usual = math.fsum(off**2 for _, off in periods) / (2 * whole)
    listeners = [_schedule(periods, len(periods) * place // passes) for place in range(passes)]
    asked = [
        (place, d, rate)
        for place, (d, rates) in enumerate(((0.125, (0.5, 1.0, 2.0, 3.0)), (0.0625, (0.5, 2.0, 4.0, 6.0))))
        for rate in (rates if full else rates[:1])
    ]
    runs = workshop.record(
        [queues.scenario(f"trace, {d:g} s, {rate:g} events/s", whole, [queues.poisson(rate)], d, listeners)
         for _, d, rate in asked]
    )  # fmt: skip
    drawn, axes = drawing.plane("events per second λ", "response time in s")
    findings = []
    for place, d in enumerate((0.125, 0.0625)):
        station = OnOff(d, *METRO_2)
        dense = [station.fastest * (each + 1) / LINES for each in range(LINES - 1)]
        shown = [each for each in dense if station.response_time(each) <= MOST_12]
        names = ("theorem 2", "for the absences of this trace", "our broker") if place == 0 else (None, None, None)
        times = [station.response_time(each) for each in shown]
        drawing.model_line(axes, shown, times, names[0])
        expected = {rate: _for_absences(station, rate, usual) for rate in shown}
        drawing.model_line(axes, shown, list(expected.values()), names[1], color=drawing.OTHER, linestyle="--")
        drawing.mark_end(axes, shown, times, f"{d:g} s", drawing.MODEL)
        points = [(rate, queues.waited(run)) for (of, _, rate), run in zip(asked, runs, strict=True) if of == place]
        drawing.measured_points(axes, [rate for rate, _ in points], [each.mean for _, each in points], names[2],
                                fmt=drawing.MARKERS[place])  # fmt: skip
        findings += [
            queues.agrees(figure, f"{d:g} s, λ = {rate:g}/s", each, _for_absences(station, rate, usual), SHARE_12,
                          NOT_OURS)
            for rate, each in points
        ]  # fmt: skip
    axes.set_ylim(0, MOST_12)
    axes.set_xlim(left=0)
    drawing.legend(axes)
    caption = (
        "The way back, where the paper had its clients come and go as recorded in 12 hours of journeys. The recording "
        f"is not public, so the trace is synthetic: {len(periods)} times with and without the network, exponential, "
        "with the averages of the paper. So few absences have a mean square of their own, and what events wait grows "
        "with it: green is theorem 2 with that put in, blue as the paper has it. That is the gap of up to 10 % that "
        "the paper saw."
    )
    return Drawing(drawn, caption, findings)


def _for_absences(station: OnOff, lam: float, away: float) -> float:
    """Theorem 2 for absences of which the mean square, over twice the mean time of a turn, is `away`."""
    usual = station.off**2 / (station.on + station.off)
    return station.response_time(lam) + (away - usual) / (1 - station.utilisation(lam))


def rates_of_day(mean: float, count: int, seed: int) -> list[float]:
    """Calls at an antenna, in so many intervals: few in the night, many in the evening, and uneven."""
    rng = Random(seed)
    day = 86_400 / INTERVAL
    loads = [
        (1 - 0.7 * math.cos(2 * math.pi * (place / count * day - 24) / day)) * rng.lognormvariate(0, 0.35)
        for place in range(count)
    ]
    scale = mean * count / math.fsum(loads)
    return [min(scale * load, 0.25) for load in loads]


def _of_all(rates: Sequence[float], times: Sequence[float]) -> float:
    """The mean of the times of events, of which so many come to each."""
    return math.fsum(rate * time for rate, time in zip(rates, times, strict=True)) / math.fsum(rates)


def over_a_day(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 9."""
    full, figure = effort is Effort.FULL, "figure 004:9"
    count, window, listeners = (144, 6, 60) if full else (18, 6, 12)
    station = OnOff(1.0, 40.0, 40.0)
    days = [rates_of_day(mean, count, seed) for seed, (_, mean) in enumerate(LOADS)]
    runs = workshop.record([
        queues.scenario(
            name, count * INTERVAL,
            [f"rate = {rate:.6g}\nstart = {at * INTERVAL:g}\nstop = {(at + 1) * INTERVAL:g}"
             for at, rate in enumerate(rates)],
            station.d, [queues.coming_and_going(station)] * listeners,
        )
        for (name, _), rates in zip(LOADS, days, strict=True)
    ])  # fmt: skip
    drawn, axes = drawing.plane("hours", "response time in s")
    findings = []
    for place, ((name, _), rates, run) in enumerate(zip(LOADS, days, runs, strict=True)):
        times = [station.response_time(rate) for rate in rates]
        edges = [at * INTERVAL / 3600 for at in range(count + 1)]
        names = NAMES_9 if place == 0 else (None, None)
        drawing.model_line(axes, edges, [*times, times[-1]], names[0], drawstyle="steps-post", linewidth=1.2,
                           alpha=1 if place else FAINT)  # fmt: skip
        drawing.mark_end(axes, edges, times, name.partition(",")[0], drawing.MODEL)
        hours = [(first, queues.waited(run, first * INTERVAL, (first + window) * INTERVAL))
                 for first in range(0, count, window)]  # fmt: skip
        drawing.measured_points(
            axes, [(first + window / 2) * INTERVAL / 3600 for first, _ in hours], [each.mean for _, each in hours],
            names[1], [queues.SIGMAS * each.error for _, each in hours], fmt=drawing.MARKERS[place],
        )  # fmt: skip
        findings += [
            queues.agrees(figure, f"{name}, hour {1 + first // window}", each,
                          _of_all(rates[first : first + window], times[first : first + window]), SHARE_9, NOT_OURS)
            for first, each in hours
        ]  # fmt: skip
        whole = queues.waited(run)
        findings.append(queues.agrees(figure, f"{name}, all events", whole, _of_all(rates, times), SHARE_9, NOT_OURS))
    drawing.legend(axes)
    return Drawing(drawn, CAPTION_9, findings)


FIGURES: Final = (
    Figure(number="004:7", title="Response time of an ON/OFF queue against the rate of events", make=by_period),
    Figure(number="004:9", title="Response time over a day of changing rates (synthetic trace)", make=over_a_day),
    Figure(number="004:11", title="Response time on a way through the metro", make=by_service),
    Figure(number="004:12", title="Response time on the way back, from a trace (synthetic)", make=by_trace),
)
