"""What became of each event: who should have got it, who did, when, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from chapar.event import Delivery, split_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapar.event import EventId
    from chapar.filter import Filter
    from chapar_sim.trace import Accepted, Trace


class Outcome(NamedTuple):
    """One event and its fate."""

    published: Accepted
    wanted: tuple[str, ...]
    """Clients that got it, or were subscribed when it was published or, if it is kept, still were in the end."""
    got: Mapping[str, float]
    """When each client got it first."""
    again: int
    """Deliveries beyond the first of each client."""

    @property
    def delivery(self) -> Delivery:
        return self.published.event.delivery

    def latencies(self) -> list[float]:
        return [t - self.published.t for t in self.got.values()]

    def to_json(self) -> dict[str, Any]:
        """As a program reads it."""
        event = self.published.event
        return {
            "id": ".".join(map(str, split_id(self.published.event_id))),
            "publisher": self.published.client,
            "node": self.published.home,
            "t": round(self.published.t, 6),
            "subject": event.subject,
            "delivery": self.delivery.label,
            "payload_bytes": len(event.payload),
            "wanted": list(self.wanted),
            "got": {client: round(t - self.published.t, 6) for client, t in sorted(self.got.items())},
            "again": self.again,
        }


def outcomes(trace: Trace) -> list[Outcome]:
    """Of every event that a home has accepted, in order of publication."""
    wishes = _wishes(trace)
    homes = {row.client: row.home for row in trace.presence}
    got: dict[EventId, dict[str, float]] = defaultdict(dict)
    times: Counter[EventId] = Counter()
    for row in trace.delivered:
        got[row.event_id].setdefault(row.client, row.t)
        times[row.event_id] += 1
    found = []
    for accepted in sorted(trace.accepted, key=lambda row: row.t):
        event_id = accepted.event_id
        wanted = _wanted(accepted, wishes, homes, got[event_id], trace.end)
        found.append(Outcome(accepted, wanted, got[event_id], times[event_id] - len(got[event_id])))
    return found


Wish = tuple[float, float, "Filter"]


def _wishes(trace: Trace) -> dict[str, list[Wish]]:
    """Client → from when to when it was subscribed to what."""
    began = {}
    wishes: dict[str, list[Wish]] = {row.client: [] for row in trace.presence}
    for row in trace.interests:
        key = (row.client, row.number)
        if row.active:
            began[key] = row
        else:
            begin = began.pop(key)
            wishes.setdefault(row.client, []).append((begin.t, row.t, begin.filter))
    for begin in began.values():
        wishes.setdefault(begin.client, []).append((begin.t, trace.end, begin.filter))
    return wishes


def _wanted(
    row: Accepted, wishes: Mapping[str, list[Wish]], homes: Mapping[str, int], got: Mapping[str, float], end: float
) -> tuple[str, ...]:
    return tuple(each for each in sorted(wishes) if each in got or _wants(wishes[each], row, homes.get(each), end))


def _wants(wishes: Iterable[Wish], row: Accepted, home: int | None, end: float) -> bool:
    """Whether a client was subscribed to an event when it was published or, if it is kept, still was in the end."""
    if row.event.to and home not in row.event.to:
        return False
    kept = {Delivery.REALTIME: row.t, Delivery.LIFETIME: row.t + row.event.lifetime_ms / 1000, Delivery.PERSISTENT: end}
    last = min(kept[row.event.delivery], end)
    event = row.event.accepted(id=row.event_id)
    return any(begin <= last <= until and filter_.matches(event) for begin, until, filter_ in wishes)
