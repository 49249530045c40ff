"""What events cost on the air, beside the least that anybody could pay for them, and what silence costs."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_olsr.agent.messages import PORT as OLSR_PORT
from chapar_sim.fewest import Fewest, fewest
from chapar_sim.links import hearers
from chapar_sim.trace import MICRO
from chapar_sim.traffic import DATA, PORT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chapar_sim.outcome import Outcome
    from chapar_sim.scenario import Scenario
from chapar_sim.trace import Trace

CALM: Final = 5.0
"""Seconds of quiet after which a network counts as idle."""
SHORTEST_IDLE: Final = 5.0
"""Seconds of idleness below which its cost is not worth stating."""


class Cost(NamedTuple):
    """Per published event, from the first publication to the last delivery; per second, when nothing happens."""

    published: int
    transmissions: float | None
    """Of data, per published event."""
    fewest_unicast: float | None
    fewest_broadcast: float | None
    """The least that could have served whoever wanted each event, on the links of the moment of its publication."""
    is_exact: bool
    """Whether they are exact; else no way is cheaper, but perhaps every way is dearer."""
    bytes: float | None
    """All of chapard's, per published event."""
    idle_bytes: float | None
    """All of chapard's, per second."""
    idle_olsr_bytes: float | None
    """Of OLSR, per second."""


def cost_of(trace: Trace, scenario: Scenario, outcomes: Sequence[Outcome]) -> Cost:
    """The cost of a run. Where there is nothing to state it is None."""
    published = len(outcomes)
    bounds = _bounds(trace, outcomes)
    first = min((each.published.t for each in outcomes), default=0.0)
    last = max((t for each in outcomes for t in (each.published.t, *each.got.values())), default=0.0)
    idle_from = max(scenario.active, trace.quiet_since, last) + CALM
    idle = trace.end - idle_from
    return Cost(
        published,
        _per(trace.traffic.transmissions[DATA], published),
        _per(sum(each.unicast for each in bounds), len(bounds)),
        _per(sum(each.broadcast for each in bounds), len(bounds)),
        all(each.is_exact for each in bounds),
        _per(_bytes(trace, PORT, first, last), published),
        _per(_bytes(trace, PORT, idle_from, trace.end), idle) if idle >= SHORTEST_IDLE else None,
        _per(_bytes(trace, OLSR_PORT, idle_from, trace.end), idle) if idle >= SHORTEST_IDLE else None,
    )


def _bytes(trace: Trace, port: int, start: float, end: float) -> int:
    return sum(row.bytes for row in trace.air if row.port == port and start * MICRO <= row.ts_us <= end * MICRO)


def _per(whole: float, parts: float) -> float | None:
    return whole / parts if parts else None


def _bounds(trace: Trace, outcomes: Sequence[Outcome]) -> list[Fewest]:
    """The least for each event that some other node wants and all of them could be reached."""
    homes = {row.client: row.home for row in trace.presence}
    times = [row.t for row in trace.connectivity]

    @cache
    def hears(place: int) -> Mapping[int, tuple[int, ...]]:
        return hearers(trace.connectivity[place].links)

    @cache
    def least(place: int, source: int, targets: frozenset[int]) -> Fewest | None:
        return fewest(hears(place), source, targets)

    found = []
    for each in outcomes:
        place = bisect_right(times, each.published.t) - 1
        targets = frozenset(homes[client] for client in each.wanted) - {each.published.home}
        bound = least(place, each.published.home, targets) if targets and place >= 0 else None
        if bound is not None:
            found.append(bound)
    return found
