"""The way of events through several ON/OFF queues: how long they waited in all, against algorithm 1 and the tandem.

A client that hands on what it takes is a stop on a way: what it publishes comes to the next. Of a publisher that comes
and goes without being such a stop, no queue is recorded, for its application's own does not reach its home; but what
it publishes comes in bursts all the same.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as f

from chapar_audit.jobs.station import (
    FEWEST_ABSENCES,
    INSTANT,
    SHARE,
    SIGMAS,
    Stretch,
    not_covered,
    stem,
)
from chapar_audit.models import path
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.station import Station

FROM_ONE: Final = 0.99
"""Of what comes to a client, when it has one publisher."""
BURSTS: Final = "the events come in bursts, which algorithm 1 takes for a Poisson stream: see the tandem"


class Edge(NamedTuple):
    """What one client published and another, that comes and goes, was handed."""

    publisher_node: int
    publisher: str
    node: int
    client: str
    events: int
    transit: float
    """Seconds in all from the one's home to the other's."""


@dataclass(frozen=True, slots=True)
class Way:
    """Queues in a row, the last one first seen from its end."""

    publisher: str
    unseen: OnOff | None
    """The publisher's ON and OFF times, where its own queue is not recorded."""
    stops: Sequence[Station]
    transit: float
    """Seconds between homes, on average."""

    @property
    def name(self) -> str:
        return f"from {self.publisher} to {self.stops[-1].name}"


def edges(deliveries: DataFrame, publishes: DataFrame) -> DataFrame:
    """The columns of `Edge`; `deliveries` are those of clients that were OFF."""
    published = publishes.select(
        f.col("node").alias("publisher_node"), f.col("client").alias("publisher"), "event_id",
        f.col("ts_us").alias("accepted_us"),
    )  # fmt: skip
    transit = (f.col("ts_us") - f.col("queued_us") - f.col("accepted_us")) / 1e6
    return (
        deliveries.join(published.hint("shuffle_hash"), "event_id")
        .groupBy("publisher_node", "publisher", "node", "client")
        .agg(f.count("*").alias("events"), f.sum(transit).alias("transit"))
    )


def spans(publishes: DataFrame) -> DataFrame:
    """Of each client from when to when it published: node, client, first_us, last_us."""
    return publishes.groupBy("node", "client").agg(f.min("ts_us").alias("first_us"), f.max("ts_us").alias("last_us"))


def ways(found: Iterable[Any], stretched: Iterable[Any], stations: Sequence[Station]) -> list[Way | None]:
    """The way to each station, from the rows of `edges` and of the publishers' `stretches`.

    None: events of several publishers come together there of whom some come and go, or by ways that differ.
    """
    coming: dict[tuple[int, str], list[Edge]] = {}
    for row in found:
        edge = Edge(row.publisher_node, row.publisher, row.node, row.client, row.events, row.transit)
        coming.setdefault((edge.node, edge.client), []).append(edge)
    turns: dict[tuple[int, str], dict[str, Stretch]] = {}
    for row in stretched:
        stretch = Stretch(row.periods, row.seconds, row.squares, row.cubes, row.ended)
        turns.setdefault((row.node, row.client), {})[row.state] = stretch
    station_of = {(each.node, each.client): station for station in stations for each in station.seen}
    return [_way(station, coming, turns, station_of) for station in stations]


def _way(
    station: Station,
    coming: Mapping[tuple[int, str], Sequence[Edge]],
    turns: Mapping[tuple[int, str], Mapping[str, Stretch]],
    station_of: Mapping[tuple[int, str], Station],
) -> Way | None:
    stops, transit = [station], 0.0
    while True:
        into = [edge for each in stops[0].seen for edge in coming.get((each.node, each.client), ())]
        if not into:
            return None
        publishers = {(edge.publisher_node, edge.publisher) for edge in into}
        transit += math.fsum(edge.transit for edge in into) / sum(edge.events for edge in into)
        if publishers.isdisjoint(turns):
            return Way(_named(publishers), None, stops, transit)
        if not all(_has_one(coming.get((each.node, each.client), ())) for each in stops[0].seen):
            return None
        before = {station_of[each].name: station_of[each] for each in publishers if each in station_of}
        if not before:
            return Way(_named(publishers), _turning(turns.get(each, {}) for each in publishers), stops, transit)
        (first, *others) = before.values()
        if others or first in stops:
            return None
        stops = [first, *stops]


def _has_one(coming: Sequence[Edge]) -> bool:
    """Whether nearly all that comes is of one publisher."""
    return max((edge.events for edge in coming), default=0) >= FROM_ONE * sum(edge.events for edge in coming) > 0


def _named(publishers: Iterable[tuple[int, str]]) -> str:
    """One name for clients that differ in the number at the end; `publishers` for others."""
    names = {name for _, name in publishers}
    if len(names) == 1:
        return names.pop()
    stems = {stem(name) for name in names}
    return stems.pop() if len(stems) == 1 else "publishers"


def _turning(turns: Iterable[Mapping[str, Stretch]]) -> OnOff | None:
    """The ON and OFF times of clients that are alike, who hand on at once what they have."""
    known = [each for each in turns if {"on", "off"} <= each.keys()]
    on, off = (
        math.fsum(each[state].seconds for each in known) / max(1, sum(each[state].ended for each in known))
        for state in ("on", "off")
    )
    return OnOff(INSTANT, on, off) if on > 0 and off > 0 else None


def judged(job: str, way: Way, theorem: Finding) -> list[Finding]:
    """Whether events waited on their way as the models say; `theorem` is the row of its last queue by itself."""
    subject = f"wait {way.name}, in all its queues"
    waits = [stop.measured() for stop in way.stops]
    measured = way.transit + math.fsum(wait for wait, _ in waits)
    if min(stop.off.ended for stop in way.stops) < FEWEST_ABSENCES or any(math.isinf(error) for _, error in waits):
        why = f"at least {FEWEST_ABSENCES} OFF periods of each client on the way are needed to estimate from"
        return [Finding(job, f"{subject}: algorithm 1", State.OPEN, measured, None, "s", "", why)]
    lam = way.stops[-1].lam
    first = [path.Stop(way.publisher, way.unseen)] if way.unseen else []
    stops = [*first, *(path.Stop(stop.name, stop.queue) for stop in way.stops)]
    services = math.fsum(stop.station.d * stop.station.slowdown for stop in stops[len(first) :])
    try:
        doubts = [stop.expected()[1] for stop in way.stops]
        times = [path.response_times(stops, lam)]
        if len(stops) > 1:
            times.append(_tandem(stops, lam))
    except ImpossibleInputError as unstable:
        return [Finding(job, f"{subject}: algorithm 1", State.OPEN, measured, None, "s", "", str(unstable))]
    chance = SIGMAS * math.hypot(*doubts, *(error for _, error in waits))
    poisson, *tandem = (way.transit + math.fsum(each[len(first) :]) - services for each in times)
    findings = [_compared(job, f"{subject}: algorithm 1", measured, poisson, chance)]
    if findings[0].state is State.DEVIATES and tandem:
        findings[0] = findings[0]._replace(state=State.OPEN, reason=BURSTS)
    findings += [_compared(job, f"{subject}: tandem", measured, expected, chance) for expected in tandem]
    return [_explained(each, way, theorem) for each in findings]


def _tandem(stops: Sequence[path.Stop], lam: float) -> list[float]:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for small matrices, more threads wait for each other
    from chapar_audit.models.tandem import response_times  # noqa: PLC0415 - numpy, after its threads are set

    return response_times(stops, lam)


def _compared(job: str, subject: str, measured: float, expected: float, chance: float) -> Finding:
    holds = abs(measured - expected) <= chance + SHARE * expected
    tolerance = f"95 % confidence ±{chance:.3g} and {100 * SHARE:g} %"
    return Finding(job, subject, State.HOLDS if holds else State.DEVIATES, measured, expected, "s", tolerance)


def _explained(finding: Finding, way: Way, theorem: Finding) -> Finding:
    """With the reason of a deviation: that of the last queue, unless bursts are that, or what the models leave out."""
    if finding.state is not State.DEVIATES:
        return finding
    is_alone = len(way.stops) == 1 and way.unseen is None
    if theorem.state is State.DEVIATES or (theorem.state is State.OPEN and is_alone):
        return finding._replace(state=theorem.state, reason=theorem.reason)
    for stop in way.stops:
        if uncovered := not_covered(stop, arrivals=False):
            return finding._replace(state=State.OPEN, reason=f"{stop.name}: {uncovered}")
    return finding._replace(reason="some of the events come by another way, or wait where nothing is recorded of it")
