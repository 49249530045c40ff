"""From a publisher to a subscriber over brokers, all of them queues (the paper of `onoff`: algorithm 1, 4.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from chapar_audit.models.conditions import at_least, require
from chapar_audit.models.onoff import OnOff

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stop(NamedTuple):
    """A station on the path, what it is, and the rate of other events there."""

    name: str
    station: OnOff
    others: float = 0.0


def stops(publisher: OnOff, subscriber: OnOff, brokers: int, d: float, others: float = 0.0) -> tuple[Stop, ...]:
    """The queues of algorithm 1: the publisher's, two for each broker, the subscriber's.

    The last broker's output is the one that waits for the subscriber, so there are two M/M/1 queues per broker.
    """
    require(brokers >= 1, f"brokers = {brokers}: a path has at least 1 broker")
    at_least("others", others)
    queue = OnOff(d)
    path = [Stop("publisher", publisher)]
    for number in range(1, brokers):
        path += [Stop(f"broker {number} in", queue, others), Stop(f"broker {number} out", queue, others)]
    path += [Stop(f"broker {brokers} in", queue, others), Stop("to subscriber", subscriber)]
    return (*path, Stop("subscriber", queue))


def response_times(path: Sequence[Stop], lam: float) -> list[float]:
    """The time at each stop, as if events arrived there as a Poisson stream.

    They do so at the first stop alone. What leaves an ON/OFF queue comes in bursts, so that the sum is too low: by
    2.5 to 8 % in simulations of the paper's settings. `tandem` solves the chain instead.
    """
    return [stop.station.response_time(lam + stop.others) for stop in path]


def response_time(path: Sequence[Stop], lam: float) -> float:
    """R from end to end (algorithm 1)."""
    return math.fsum(response_times(path, lam))
