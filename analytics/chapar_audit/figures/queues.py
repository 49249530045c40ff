"""Queues of subscribers that come and go, as scenarios for our own broker: for the figures on timeliness."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chapar_audit.figures.workshop import Run
    from chapar_audit.models.onoff import OnOff
    from chapar_audit.models.path import Stop

SOURCE: Final = "sample"
"""The subject of what is published first."""
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
    clients = [(f"listener-{place}", SOURCE, [presence]) for place, presence in enumerate(listeners, 1)]
    return _scenario(name, seconds, streams, d, clients)


def chains(name: str, seconds: float, stream: str, path: Sequence[Stop], count: int) -> str:
    """Several times the same path, fed by one source: each stop publishes what it is done with for the next one."""
    clients = []
    for chain in range(1, count + 1):
        before = SOURCE
        for place, stop in enumerate(path, 1):
            after = hop(chain, place)
            more = [coming_and_going(stop.station), f'relay = "{after}"' if place < len(path) else ""]
            clients.append((f"stop-{chain}-{place}", before, more))
            before = after
    return _scenario(name, seconds, [stream], path[0].station.d, clients)


def hop(chain: int, place: int) -> str:
    """The subject of what has left a stop."""
    return f"chain-{chain}-{place}"


def _scenario(
    name: str, seconds: float, streams: Sequence[str], d: float, clients: Sequence[tuple[str, str, Sequence[str]]]
) -> str:
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
        lines += ["[[client.publish]]", f'subject = "{SOURCE}"', "payload = 8", stream]
    for client, subject, more in clients:
        lines += ["[[client]]", f'name = "{client}"', "node = 1", *more]
        lines += [f"service = {{ mean = {d:.6g} }}", f'subscribe = [{{ subject = "{subject}" }}]']
    return "\n".join([*filter(None, lines), ""])


def waited(run: Run, start: float = 0.0, end: float = math.inf, parts: int = 1) -> Waited:
    """What was published between these times; in so many parts, each of whose means counts as independent."""
    return _mean(_in_parts(run, start, end, parts).values())


def passed(run: Run, start: float, end: float, parts: int) -> Waited:
    """From the source through all stops of a chain: the sum of the means at the stops, for each chain and part."""
    stops: dict[tuple[str, int], list[list[float]]] = {}
    for (who, part), seconds in _in_parts(run, start, end, parts).items():
        stops.setdefault((who.rpartition("-")[0], part), []).append(seconds)
    whole = max(map(len, stops.values()), default=0)
    return _mean([math.fsum(map(fmean, each))] for each in stops.values() if len(each) == whole)


def _in_parts(run: Run, start: float, end: float, parts: int) -> dict[tuple[str, int], list[float]]:
    """By who had it, and by the part of the time in which it was published."""
    length = (end - start) / parts
    taken: dict[tuple[str, int], list[float]] = {}
    for event in run.result["per_event"]:
        if start <= event["t"] < end:
            part = int((event["t"] - start) / length)
            for who, seconds in event["got"].items():
                taken.setdefault((who, part), []).append(seconds)
    return taken


def _mean(groups: Iterable[Sequence[float]]) -> Waited:
    """Of all in the groups, whose means count as independent."""
    sums = [(math.fsum(each), len(each)) for each in groups]
    count = sum(each for _, each in sums)
    mean = math.fsum(total for total, _ in sums) / max(1, count)
    if len(sums) < 2:
        return Waited(mean, math.inf)
    squares = math.fsum((total - mean * size) ** 2 for total, size in sums)
    return Waited(mean, math.sqrt(squares * len(sums) / (len(sums) - 1)) / count)


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
