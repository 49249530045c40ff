"""Queues of subscribers that come and go, as scenarios for our own broker: for the figures on timeliness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.workshop import Run
    from chapar_audit.models.onoff import OnOff

REST: Final = 900.0
"""Seconds at the end in which everybody is there and queues become empty."""
SIGMAS: Final = 2.0
"""Of what error bars show: 95 % confidence."""
SURE: Final = 3.0
"""Standard errors that chance may make of a comparison."""


class Waited(NamedTuple):
    """How long events took from publication until the application was done with them."""

    mean: float
    error: float
    """Standard error (batch means)."""


def poisson(rate: float) -> str:
    """A stream of publications."""
    return f"rate = {rate:.6g}"


def coming_and_going(station: OnOff) -> str:
    """The times of a listener that is there and away as the station is."""
    return f"presence = {{ on = {station.on:.6g}, off = {station.off:.6g} }}" if station.off else ""


def scenario(name: str, seconds: float, streams: Sequence[str], d: float, listeners: Sequence[str]) -> str:
    """A home, what is published there, and listeners that take D over each event; each is given as when it is there."""
    lines = [
        f"# {name}",
        'name = "queues"',
        f"duration = {seconds + REST:.6g}",
        f"settle = {REST:g}",
        "nodes = 1",
        'topology = { kind = "full" }',
        "[[client]]",
        'name = "source"',
        "node = 1",
    ]
    for stream in streams:
        lines += ["[[client.publish]]", 'subject = "sample"', "payload = 8", stream]
    for place, presence in enumerate(listeners, 1):
        lines += ["[[client]]", f'name = "listener-{place}"', "node = 1", presence]
        lines += [f"service = {{ mean = {d:.6g} }}", 'subscribe = [{ subject = "sample" }]']
    return "\n".join([*filter(None, lines), ""])


def waited(run: Run, start: float = 0.0, end: float = math.inf, parts: int = 1) -> Waited:
    """What was published between these times; in so many parts, each of whose means counts as independent."""
    length = (end - start) / parts
    taken: dict[tuple[str, int], list[float]] = {}
    for event in run.result["per_event"]:
        if start <= event["t"] < end:
            part = int((event["t"] - start) / length)
            for who, seconds in event["got"].items():
                taken.setdefault((who, part), []).append(seconds)
    counts, sums = [len(each) for each in taken.values()], [math.fsum(each) for each in taken.values()]
    if len(counts) < 2:
        return Waited(math.fsum(sums) / max(1, sum(counts)), math.inf)
    mean = math.fsum(sums) / sum(counts)
    squares = math.fsum((total - mean * count) ** 2 for total, count in zip(sums, counts, strict=True))
    return Waited(mean, math.sqrt(squares * len(counts) / (len(counts) - 1)) / sum(counts))


def agrees(figure: str, subject: str, measured: Waited, expected: float, share: float, reason: str) -> Finding:
    """A row that holds if the difference is within a share of what is expected and what chance may make."""
    within = SURE * measured.error + share * expected
    holds = abs(measured.mean - expected) <= within
    return Finding(
        figure,
        subject,
        State.HOLDS if holds else State.DEVIATES,
        measured.mean,
        expected,
        "s",
        f"{SURE:g} standard errors (±{SURE * measured.error:.3g}) and {100 * share:g} %",
        "" if holds else reason,
    )
