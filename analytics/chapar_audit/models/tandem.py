"""Two queues in a row, numerically: the second gets what leaves the first, in bursts where the first is ON/OFF.

The chain of both queues and both servers' states is a quasi-birth-death process: its level is the length of one queue,
its phase all the rest, with the other queue cut where it is practically never longer. Logarithmic reduction
(G. Latouche and V. Ramaswami, 1993) solves it.

Long OFF periods make long queues. Where both are long, the chain is solved with events that are c times as large and as
rare, for three values of c, and extrapolated to c = 1. A single queue's response time is linear in c (theorem 2); what
a queue adds in bursts that load it fully grows with √c. The parabola in √c is within 0.5 % of the chain with c = 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from chapar_audit.models.conditions import above_zero, require
from chapar_audit.models.onoff import OnOff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from chapar_audit.models.path import Stop

    Matrix = NDArray[np.float64]

LONGEST: Final = 48
"""Events in the queue that is cut. The time to solve a chain grows with the cube of this: some tenths of a second."""
MUCH_TOO_LONG: Final = 384
"""A chain with so many takes ten seconds."""
TAIL: Final = 1e-7
"""The share of time in which the queue is longer than the chain has it."""
GRAINS: Final = (1.0, 2.0, 4.0)
GROWTH: Final = 1.25
SHORT: Final = 8
"""A period is long, and events may be made larger, while it has room for so many of them."""


def second_response_time(first: OnOff, second: OnOff, lam: float) -> float:
    """The mean time at the second queue, from the end of service at the first to the end of service at the second."""
    above_zero("lambda", lam)
    first.utilisation(lam)
    second.utilisation(lam)
    if first.off == 0:
        return second.response_time(lam)  # what leaves an M/M/1 queue is Poisson (Burke)
    if _length(first, lam) <= LONGEST:
        return _solved(first, second, lam)
    if second.off == 0 and (time := _solved_after_a_long_queue(first, second, lam)) is not None:
        return time
    grain = _finest(first, second, lam)
    if grain == 1:
        return _solved(first, second, lam)
    grains = [grain * each for each in GRAINS]
    times = [_solved(_coarse(first, each), _coarse(second, each), lam / each) for each in grains]
    return _at_one(grains, times)


def response_times(path: Sequence[Stop], lam: float) -> list[float]:
    """The time at each stop of a path.

    A stop gets what leaves the last ON/OFF stop before it: M/M/1 queues in between, which smooth the bursts a little,
    are passed over, so that the sum is rather high than low. Before the first ON/OFF stop, and where a stop has other
    events too, the stream is taken as Poisson.
    """
    times: list[float] = []
    known: dict[tuple[OnOff, OnOff], float] = {}
    source: OnOff | None = None
    for stop in path:
        if source is None or stop.others > 0:
            times.append(stop.station.response_time(lam + stop.others))
        else:
            pair = (source, stop.station)
            if pair not in known:
                known[pair] = second_response_time(*pair, lam)
            times.append(known[pair])
        if stop.station.off > 0:
            source = stop.station
    return times


def _coarse(station: OnOff, grain: float) -> OnOff:
    return OnOff(station.d * grain, station.on, station.off)


def _length(first: OnOff, lam: float) -> int:
    """Beyond which the first queue practically never is."""
    return len(first.queue_lengths(lam, TAIL, MUCH_TOO_LONG)) - 1


def _finest(first: OnOff, second: OnOff, lam: float) -> float:
    """The smallest c at which the first queue is short enough; as long as all periods stay long, if possible."""
    periods = [each for station in (first, second) if station.off > 0 for each in (station.on, station.off)]
    largest = min(periods, default=math.inf) / (SHORT * max(first.d, second.d))
    grain = 1.0
    while (length := _length(_coarse(first, grain), lam / grain)) > LONGEST:
        if length < MUCH_TOO_LONG and grain * GROWTH > largest:
            break
        grain *= GROWTH
        load = first.utilisation(lam)
        require(grain * first.d < max(periods), f"utilisation {load:.6g}: too close to 1 to be solved numerically")
    return grain


def _at_one(grains: Sequence[float], times: Sequence[float]) -> float:
    """The parabola in √c through the points, at c = 1, after Lagrange."""
    roots = [math.sqrt(grain) for grain in grains]
    return math.fsum(
        time * math.prod((1 - other) / (here - other) for other in roots if other != here)
        for here, time in zip(roots, times, strict=True)
    )


def _solved(first: OnOff, second: OnOff, lam: float) -> float:
    """From the chain whose level is the length of the second queue, and whose phases are (n, first, second).

    n is the length of the first queue; first and second are ON or OFF, and a queue that is never away has no OFF.
    """
    count = len(first.queue_lengths(lam, TAIL))
    switching, turning = _switching(first), _switching(second)
    arrive = np.diag(np.full(count - 1, lam), 1)
    serve = np.diag(np.full(count - 1, 1 / first.d), -1)
    stay = np.kron(arrive, np.eye(len(switching))) + np.kron(np.eye(count), switching)
    move = np.kron(serve, _while_on(switching))
    stay -= np.diag((stay + move).sum(axis=1))
    up = np.kron(move, np.eye(len(turning)))
    local = np.kron(stay, np.eye(len(turning))) + np.kron(np.eye(len(stay)), turning)
    down = np.kron(np.eye(len(stay)), _while_on(turning) / second.d)
    empty, rate, total = _solution(up, local, down)
    return float((empty @ rate @ total @ total).sum()) / lam


def _solved_after_a_long_queue(first: OnOff, second: OnOff, lam: float) -> float | None:
    """From the chain whose level is the length of the first queue, which may be any; the second, M/M/1, is cut instead.

    None where the second queue is too long to be cut.
    """
    switching = _switching(first)
    there, either = _while_on(switching), np.eye(len(switching))
    count = LONGEST
    while count <= MUCH_TOO_LONG:
        leave = np.diag(np.full(count - 1, 1 / second.d), -1)
        leave -= np.diag(leave.sum(axis=1))
        enter = np.diag(np.ones(count - 1), 1)
        enter[-1, -1] = 1  # what comes to a full queue is lost
        size = count * len(switching)
        local = np.kron(leave, either) + np.kron(np.eye(count), switching) - lam * np.eye(size)
        empty, _, total = _solution(lam * np.eye(size), local, np.kron(enter, there) / first.d)
        lengths = (empty @ total).reshape(count, -1).sum(axis=1)
        if lengths[-1] < TAIL:
            return float(lengths @ np.arange(count)) / lam
        count *= 2
    return None


def _switching(station: OnOff) -> Any:
    """The generator of ON and OFF."""
    if station.off == 0:
        return np.zeros((1, 1))
    return np.array([[-1 / station.on, 1 / station.on], [1 / station.off, -1 / station.off]])


def _while_on(switching: Matrix) -> Any:
    return np.diag([1.0, 0.0][: len(switching)])


def _solution(up: Any, outer: Any, down: Any) -> tuple[Any, Any, Any]:
    """P(level 0, phase), R, and its sum 1/(1 − R), of the process with `outer` as its local block at level 0.

    Above, where levels can be left downwards, the local block is `outer` less the rates of `down`.
    """
    size = len(up)
    one: Any = np.eye(size)
    local = outer - np.diag(down.sum(axis=1))
    step = np.linalg.inv(-local)
    rise, fall = step @ up, step @ down
    passage, weight = fall, rise
    for _ in range(60):  # each round doubles the levels that are reached
        again = np.linalg.inv(one - rise @ fall - fall @ rise)
        rise, fall = again @ (rise @ rise), again @ (fall @ fall)
        more = weight @ fall
        passage = passage + more
        weight = weight @ rise
        if more.max() < 1e-14:
            break
    rate = up @ np.linalg.inv(-(local + up @ passage))
    total = np.linalg.inv(one - rate)
    balance = outer + rate @ down
    balance[:, 0] = total.sum(axis=1)
    return np.linalg.solve(balance.T, one[0]), rate, total
