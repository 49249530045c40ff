"""While parts of a network were apart: what went on within them, and how soon after the link was back all had come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Delivery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_sim.outcome import Outcome
    from chapar_sim.trace import Trace


class Apart(NamedTuple):
    """One partition that ended."""

    start: float
    end: float
    published: int
    """Events in that time."""
    delivered: int
    """Deliveries in that time: within the parts."""
    waited: int
    """Deliveries, of events that are kept, that could be made only afterwards."""
    caught_up: float | None
    """Seconds until the last of these; None if there was none."""


def times_apart(trace: Trace, outcomes: Sequence[Outcome]) -> list[Apart]:
    """Every partition that ended by a healed cut, in order of time."""
    found = []
    for merge in trace.merges:
        before = [each for each in outcomes if each.published.t < merge.t]
        got = [(each, t) for each in before for t in each.got.values()]
        late = [t for each, t in got if each.delivery is not Delivery.REALTIME and t >= merge.t]
        found.append(
            Apart(
                merge.since,
                merge.t,
                sum(each.published.t >= merge.since for each in before),
                sum(merge.since <= t < merge.t for _, t in got),
                len(late),
                max(late) - merge.t if late else None,
            )
        )
    return found
