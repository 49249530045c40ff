"""What clients wanted, and what that makes brokers of a tree tell each other, message by message.

By identity a filter stands on a link while a client behind it wants it, by simple routing once for each who does: it is
said when it begins and when it ends to stand, and in between once at each beginning of a period that all links share.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from chapar_audit.jobs.overlay import Overlay, Way


class Wish(NamedTuple):
    """A client begins to want a filter, or ceases to."""

    ts_us: int
    node: int
    client: str
    filter_id: bytes
    begins: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """All changes for one filter, in order of time: at which broker, and how many clients more (1) or fewer (-1)."""

    ts_us: NDArray[np.int64]
    node: NDArray[np.int64]
    step: NDArray[np.int64]
    client: NDArray[np.int64]
    """Which, by a number that means nothing else."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is looked at, from one middle of a refresh period to another, and the refreshes in it."""

    begin: int
    end: int
    refreshes: NDArray[np.int64]
    """When periods begin, microseconds."""

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / 1e6


class Told(NamedTuple):
    """Messages on one way about one filter, or several."""

    subscribe: int = 0
    unsubscribe: int = 0
    refresh: int = 0
    unsure: int = 0
    """How many may be missing or too many, since they were under way when something else happened."""

    def plus(self, other: Told) -> Told:
        return Told(*(a + b for a, b in zip(self, other, strict=True)))


def wanted(wishes: Iterable[Wish]) -> dict[bytes, Wanted]:
    """By filter, the changes that count: a client may subscribe to the same filter twice."""
    standing: Counter[tuple[int, str, bytes]] = Counter()
    rows: dict[bytes, list[tuple[int, int, int, int]]] = {}
    numbers: dict[tuple[int, str], int] = {}
    for ts_us, node, client, filter_id, begins in sorted(wishes):
        key = (node, client, filter_id)
        before = standing[key]
        standing[key] = max(0, before + (1 if begins else -1))
        if (before == 0) != (standing[key] == 0):
            rows.setdefault(filter_id, []).append(
                (ts_us, node, 1 if begins else -1, numbers.setdefault((node, client), len(numbers)))
            )
    found = {}
    for filter_id, each in rows.items():
        columns = np.array(each, dtype=np.int64).T
        found[filter_id] = Wanted(*columns)
    return found


def told(overlay: Overlay, changes: Mapping[bytes, Wanted], span: Span, delay_us: int) -> dict[tuple[Way, bytes], Told]:
    """The messages by way and filter; none where no word of it goes.

    A message that is under way for up to `delay_us` may fall into another period than the change it tells of.
    """
    found = {}
    for filter_id, each in changes.items():
        for way in overlay.told:
            behind = np.isin(each.node, np.fromiter(overlay.behind[way], np.int64))
            if behind.any():
                count = _simple if overlay.algorithm == "simple" else _identity
                found[way, filter_id] = count(each.ts_us[behind], each.step[behind], span, delay_us)
    return found


def _identity(ts_us: NDArray[np.int64], step: NDArray[np.int64], span: Span, delay_us: int) -> Told:
    active = np.cumsum(step)
    turns = np.flatnonzero((active == 0) | ((active == 1) & (step == 1)))
    begins, ends = ts_us[turns][step[turns] == 1], ts_us[turns][step[turns] == -1]
    standing = _at(span.refreshes, ts_us, active) > 0
    return Told(
        _within(begins, span), _within(ends, span), int(standing.sum()), _unsure(ts_us, step, span, delay_us)
    )  # fmt: skip


def _simple(ts_us: NDArray[np.int64], step: NDArray[np.int64], span: Span, delay_us: int) -> Told:
    standing = _at(span.refreshes, ts_us, np.cumsum(step))
    begins, ends = ts_us[step == 1], ts_us[step == -1]
    return Told(_within(begins, span), _within(ends, span), int(standing.sum()), _unsure(ts_us, step, span, delay_us))


def _at(times: NDArray[np.int64], ts_us: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value that stood at each of these times: 0 before the first."""
    place = np.searchsorted(ts_us, times, side="right") - 1
    return np.where(place >= 0, values[np.maximum(place, 0)], 0)


def _within(ts_us: NDArray[np.int64], span: Span) -> int:
    return int(np.count_nonzero((ts_us >= span.begin) & (ts_us < span.end)))


def _unsure(ts_us: NDArray[np.int64], step: NDArray[np.int64], span: Span, delay_us: int) -> int:
    """Changes so near before a boundary or a refresh, or to one that undoes them, that messages may change places."""
    if not delay_us:
        return 0
    marks = np.concatenate((span.refreshes, [span.begin, span.end]))
    near = np.zeros(len(ts_us), dtype=bool)
    for mark in marks:
        near |= (ts_us > mark - delay_us) & (ts_us <= mark)
    crossing = (np.diff(ts_us) < delay_us) & (step[1:] != step[:-1])
    near[:-1] |= crossing
    near[1:] |= crossing
    inside = (ts_us > span.begin - delay_us) & (ts_us < span.end)
    return int(np.count_nonzero(near & inside))


def by_way(told_of: Mapping[tuple[Way, bytes], Told]) -> dict[Way, Told]:
    """Over all filters."""
    found: dict[Way, Told] = {}
    for (way, _), each in told_of.items():
        found[way] = found.get(way, Told()).plus(each)
    return found


def periods(first_us: int, last_us: int, phase_us: int, period_us: int) -> Span | None:
    """Whole refresh periods within a time, with half a period around each of their beginnings; None if there is none.

    `phase_us` is when any period begins.
    """
    half = period_us // 2
    low = -(-(first_us - phase_us + half) // period_us)
    high = (last_us - phase_us - half) // period_us
    if high < low:
        return None
    begins = phase_us + np.arange(low, high + 1, dtype=np.int64) * period_us
    return Span(int(begins[0]) - half, int(begins[-1]) - half + period_us, begins)
