"""What a merge costs: the traffic of the seconds after a cut was healed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_sim.traffic import CLASSES, SYNC, Merge

if TYPE_CHECKING:
    from chapar_sim.trace import Trace
    from chapar_sim.workload import Schedule

MERGE_WINDOW: Final = 30.0
"""Seconds after a healed cut whose traffic is reported as the merge."""


def watch_merge(trace: Trace, clock: Schedule, since: float, end: float) -> None:
    """A cut is healed now: note in the trace what is sent from here on, until the window or the run ends."""
    traffic, begin = trace.traffic, clock.now
    sync, total = traffic.bytes[SYNC], sum(traffic.bytes[each] for each in CLASSES)
    window = min(MERGE_WINDOW, end - begin)

    def report() -> None:
        all_bytes = sum(traffic.bytes[each] for each in CLASSES) - total
        trace.merges.append(Merge(since, begin, window, traffic.bytes[SYNC] - sync, all_bytes))

    clock.at(begin + window, report)
