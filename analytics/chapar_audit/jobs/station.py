"""ON/OFF queues as a run has them: what is estimated of each, and how that compares with theorem 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FEWEST_ABSENCES: Final = 30
"""With fewer OFF periods nothing is said of means."""
PER_BATCH: Final = 5
"""OFF periods, at least, in each part of a client's time whose mean counts as independent."""
SIGMAS: Final = 2.0
"""Of a mean and of what it is compared with: 95 % confidence."""
SHARE: Final = 0.03
"""Of what is expected: latencies of messages and timers."""
SURE: Final = 4.0
"""Deviations beyond so many standard errors are not chance."""
SPREAD: Final = 0.25
"""By which the squared coefficient of variation of an exponential may differ from 1."""
INSTANT: Final = 1e-6
"""Seconds: the service of an application that was never seen to take longer."""


class Part(NamedTuple):
    """What a client acknowledged in a part of its time."""

    events: int
    waited: float
    served: int
    busy: float


class Stretch(NamedTuple):
    """The ON or the OFF periods of a client: their number and the sums of their powers, and how many have ended."""

    periods: int = 0
    seconds: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    ended: int = 0


class Seen(NamedTuple):
    """What was seen of one client."""

    node: int
    client: str
    events: int
    seconds: float
    squares: float
    """Of the gaps between arrivals."""
    queued: float
    on: Stretch
    off: Stretch
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Station:
    """The queue of a client, or of several that are alike, which count as one that was watched for longer."""

    name: str
    seen: Sequence[Seen]

    @property
    def events(self) -> int:
        return sum(each.events for each in self.seen)

    @property
    def lam(self) -> float:
        return sum(each.events - 1 for each in self.seen) / math.fsum(each.seconds for each in self.seen)

    @property
    def on(self) -> Stretch:
        return _all(each.on for each in self.seen)

    @property
    def off(self) -> Stretch:
        return _all(each.off for each in self.seen)

    @property
    def queue(self) -> OnOff:
        """D, T_ON and T_OFF. Of a period that was cut at the end of the run, the time counts, and not the end."""
        parts = self.batches()
        served, busy = sum(each.served for each in parts), math.fsum(each.busy for each in parts)
        on, off = self.on, self.off
        return OnOff(
            max(INSTANT, busy / served if served else 0.0),
            on.seconds / max(1, on.ended),
            off.seconds / max(1, off.ended),
        )

    def batches(self) -> list[Part]:
        """Parts of the clients' times, each with some OFF periods in it."""
        return [batch for each in self.seen for batch in _merged(each.parts, each.off.periods // PER_BATCH)]

    def measured(self) -> tuple[float, float]:
        """What an event waited on average until it was taken in hand, and the standard error (batch means)."""
        parts = [each for each in self.batches() if each.events]
        events = sum(each.events for each in parts)
        mean = math.fsum(each.waited for each in parts) / max(1, events)
        if len(parts) < 2:
            return mean, math.inf
        squares = math.fsum((each.waited - mean * each.events) ** 2 for each in parts)
        return mean, math.sqrt(squares * len(parts) / (len(parts) - 1)) / events

    def expected(self) -> tuple[float, float]:
        """What it waits by theorem 2, less the service, and the standard error, for all it is made of is estimated.

        Raises ImpossibleInputError where the queue would grow for ever.
        """
        queue, lam = self.queue, self.lam
        wait = _wait(queue, lam)
        served = sum(each.served for each in self.batches())
        changes = (
            (_wait(queue, lam * 1.01), self.events),
            (_wait(OnOff(queue.d * 1.01, queue.on, queue.off), lam), max(1, served)),
            (_wait(OnOff(queue.d, queue.on * 1.01, queue.off), lam), max(1, self.on.ended)),
            (_wait(OnOff(queue.d, queue.on, queue.off * 1.01), lam), max(1, self.off.ended)),
        )
        return wait, math.sqrt(math.fsum((100 * (changed - wait)) ** 2 / count for changed, count in changes))

    def row(self) -> tuple[int | None, str, int, float, float, float, float, float, float, float]:
        """Of the table `waiting`."""
        queue, (mean, error) = self.queue, self.measured()
        try:
            expected = self.expected()[0]
        except ImpossibleInputError:
            expected = math.inf
        node = self.seen[0].node if len(self.seen) == 1 else None
        half = SIGMAS * error
        return node, self.name, self.events, self.lam, queue.d, queue.on, queue.off, mean, half, expected


def _wait(queue: OnOff, lam: float) -> float:
    return queue.response_time(lam) - queue.d * queue.slowdown


def _all(stretches: Iterable[Stretch]) -> Stretch:
    sums = [sum(each) for each in zip(*stretches, strict=True)]
    return Stretch(int(sums[0]), sums[1], sums[2], sums[3], int(sums[4]))


def _merged(parts: Sequence[Part], most: int) -> list[Part]:
    """The parts in at most so many, at least one, of about the same length."""
    count = max(1, min(most, len(parts)))
    groups = [parts[len(parts) * place // count : len(parts) * (place + 1) // count] for place in range(count)]
    return [Part(*(sum(each) for each in zip(*group, strict=True))) for group in groups if group]


def stations(came: Iterable[Any], stretched: Iterable[Any], served: Iterable[Any], parts: int) -> list[Station]:
    """From the rows of `timeliness.arrivals`, `stretches` and `services`, of clients that were OFF.

    Clients whose names differ in the number at the end are one station, if they are alike.
    """
    periods: dict[tuple[int, str, str], Stretch] = {
        (row.node, row.client, row.state): Stretch(row.periods, row.seconds, row.squares, row.cubes, row.ended)
        for row in stretched
    }
    taken: dict[tuple[int, str], list[Part]] = {}
    for row in served:
        of_client = taken.setdefault((row.node, row.client), [Part(0, 0.0, 0, 0.0)] * parts)
        of_client[row.part] = Part(row.events, row.waited_s, row.served, row.busy_s)
    groups: dict[str, list[Seen]] = {}
    for row in came:
        seconds = (row.last_us - row.first_us) / 1e6
        on, off = (periods.get((row.node, row.client, state), Stretch()) for state in ("on", "off"))
        parts_of = taken.get((row.node, row.client), [])
        seen = Seen(row.node, row.client, row.events, seconds, row.squares, row.queued_s, on, off, parts_of)
        if seconds > 0:
            groups.setdefault(stem(row.client), []).append(seen)
    return [each for name in sorted(groups) for each in _alike(Station(name, groups[name]))]


def stem(client: str) -> str:
    """A client's name without the number at the end."""
    return client.rstrip("0123456789").rstrip("-") or client


def _alike(station: Station) -> list[Station]:
    """One station if its clients have the same rates, else each of them by itself."""
    queue, lam = station.queue, station.lam
    for each in station.seen:
        counts = (
            (each.events - 1, lam * each.seconds),
            (each.on.ended, each.on.seconds / queue.on),
            (each.off.ended, each.off.seconds / queue.off if queue.off else 0.0),
        )
        if any(abs(count - due) > SURE * math.sqrt(due) + SPREAD * due for count, due in counts):
            return [Station(each.client, [each]) for each in station.seen]
    return [Station(station.seen[0].client if len(station.seen) == 1 else station.name, station.seen)]


def judged(job: str, station: Station) -> list[Finding]:
    """Whether it waited as theorem 2 says, and whether the recorded absences fit what was queued meanwhile."""
    absence = _absence(job, station)
    return [_theorem(job, station, absence), absence]


def _theorem(job: str, station: Station, absence: Finding) -> Finding:
    subject = f"wait of {station.name} in its ON/OFF queue"
    mean, error = station.measured()
    try:
        expected, doubt = station.expected()
    except ImpossibleInputError as unstable:
        return Finding(job, subject, State.OPEN, mean, None, "s", "", str(unstable))
    if station.off.ended < FEWEST_ABSENCES or math.isinf(error):
        why = f"{station.off.ended} OFF periods: at least {FEWEST_ABSENCES} are needed to estimate from"
        return Finding(job, subject, State.OPEN, mean, expected, "s", "", why)
    within = SIGMAS * math.hypot(error, doubt) + SHARE * expected
    tolerance = f"95 % confidence ±{SIGMAS * math.hypot(error, doubt):.3g} and {100 * SHARE:g} %"
    if abs(mean - expected) <= within:
        return Finding(job, subject, State.HOLDS, mean, expected, "s", tolerance)
    if absence.state is State.DEVIATES:
        return Finding(job, subject, State.DEVIATES, mean, expected, "s", tolerance, absence.reason)
    if uncovered := not_covered(station):
        reason = f"theorem 2 does not cover this: {uncovered}"
        return Finding(job, subject, State.OPEN, mean, expected, "s", tolerance, reason)
    reason = "service that is not exponential, or an application that goes on with it while OFF"
    return Finding(job, subject, State.DEVIATES, mean, expected, "s", tolerance, reason)


def not_covered(station: Station, *, arrivals: bool = True) -> str:
    """Which assumption of the theorem the run does not meet; empty if none. Without `arrivals`, those do not count."""
    gaps = station.events - len(station.seen)
    seconds, squares = (
        math.fsum(values) for values in zip(*((s.seconds, s.squares) for s in station.seen), strict=True)
    )
    spreads: Mapping[str, tuple[float, int]] = {
        "arrivals are not Poisson": (gaps * squares / seconds**2 - 1, gaps),
        "ON periods are not exponential": (_spread(station.on), station.on.periods),
        "OFF periods are not exponential": (_spread(station.off), station.off.periods),
    }
    for what, (spread, count) in list(spreads.items())[0 if arrivals else 1 :]:
        if abs(spread - 1) > SPREAD + SURE * 2 / math.sqrt(max(1, count)):
            return f"{what} (their squared coefficient of variation is {spread:.2f}, not 1)"
    return ""


def _spread(stretch: Stretch) -> float:
    """The squared coefficient of variation of periods."""
    return stretch.periods * stretch.squares / stretch.seconds**2 - 1 if stretch.seconds else 1.0


def _absence(job: str, station: Station) -> Finding:
    """What was queued for clients that were OFF was so for as long as sessions say, whatever the law of the periods."""
    subject = f"absence of {station.name} by what was queued"
    events, off, lam = station.events, station.off, station.lam
    queued = math.fsum(each.queued for each in station.seen)
    expected, deviation = lam * off.squares / 2, math.sqrt(lam * off.cubes / 3)
    within = SURE * deviation + SHARE * expected
    t_off = station.queue.off
    seen_off = t_off * math.sqrt(queued / expected) if expected else 0.0
    holds = abs(queued - expected) <= within
    reason = (
        f"the waits in the queue say T_OFF = {seen_off:.4g} s, the recorded ON and OFF times {t_off:.4g} s: "
        "the rows of `sessions` are wrong, or clients left without a word"
    )
    return Finding(
        job,
        subject,
        State.HOLDS if holds else State.DEVIATES,
        queued / events,
        expected / events,
        "s",
        f"±{within / events:.3g}",
        "" if holds else reason,
    )
