"""The trace seen per client and per node: when who was there, and which subscriptions a home surely knew.

What a client asks for while it is OFF reaches its home only when it is ON again, and a home that lost its disk knows
nothing until its clients come back. So a subscription has two lives here: the application's (`asked`) and the home's
(`told`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.event import Event, EventId
    from chapar.filter import Filter
    from chapar_sim.trace import Accepted, NodeChange, Trace


class Span(NamedTuple):
    """A stretch of time, from `start` up to `end`."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start

    def meet(self, start: float, end: float) -> Span:
        """The part of it between `start` and `end`; of negative length if there is none."""
        return Span(max(self.start, start), min(self.end, end))

    def without(self, other: Span) -> list[Span]:
        """What is left of it outside of `other`."""
        parts = self.meet(self.start, other.start), self.meet(other.end, self.end)
        return [part for part in parts if part.length > 0]


class Subscription(NamedTuple):
    """One subscription of one client."""

    client: str
    filter: Filter
    asked: Span
    """From the application's subscribe to its unsubscribe."""
    told: tuple[Span, ...]
    """When the home surely knew that it stands."""
    gone: float
    """When the home surely knows that it does not stand any more."""


class Publication(NamedTuple):
    """One event, as its home accepted it."""

    event_id: EventId
    event: Event
    """With its id and its sender."""
    home: int
    asked: float
    """When the application published."""
    taken: float
    """When the home had it at the latest."""

    @property
    def is_memorised(self) -> bool:
        return self.event.delivery is not Delivery.REALTIME

    @property
    def lifetime(self) -> float:
        """Seconds; endless for a persistent event."""
        return math.inf if self.event.delivery is Delivery.PERSISTENT else self.event.lifetime_ms / 1000


class History:
    """What happened to every client and node.

    `session` is how long a request takes to reach the home of a client that is ON; `pauses` are the nodes whose daemon
    did not answer for a while, and when.
    """

    def __init__(self, trace: Trace, session: float, pauses: Iterable[tuple[int, Span]] = ()) -> None:
        self._session = session
        self.end = trace.end
        self.home = {row.client: row.home for row in trace.presence}
        self.on = self._presence(trace, list(pauses))
        """Client → when it was ON and its daemon answered."""
        self._changes: dict[int, list[NodeChange]] = defaultdict(list)
        for change in trace.nodes:
            self._changes[change.node].append(change)
        self.wipes = {node: _wipes(changes) for node, changes in self._changes.items()}
        """Node → when it lost its disk."""
        self.subscriptions = self._subscriptions(trace)
        self.publications = {row.event_id: self._publication(row) for row in trace.accepted}
        self.delivered: dict[str, dict[EventId, float]] = defaultdict(dict)
        for delivery in trace.delivered:
            self.delivered[delivery.client].setdefault(delivery.event_id, delivery.t)

    def _presence(self, trace: Trace, pauses: list[tuple[int, Span]]) -> dict[str, list[Span]]:
        changes: dict[str, list[tuple[float, bool]]] = {client: [] for client in sorted(self.home)}
        for row in trace.presence:
            changes[row.client].append((row.t, row.on))
        present = {}
        for client, rows in changes.items():
            spans = _spans(rows, trace.end)
            for node, pause in pauses:
                if node == self.home[client]:
                    spans = [part for span in spans for part in span.without(pause)]
            present[client] = spans
        return present

    def up(self, node: int) -> list[Span]:
        """When the node's daemon ran. One that the trace never saw start ran from the beginning."""
        changes = [(change.t, change.up) for change in self._changes.get(node, ())]
        runs_first = not changes or not changes[0][1]
        return _spans([(0.0, True), *changes] if runs_first else changes, self.end)

    def wiped(self, node: int, start: float, end: float) -> bool:
        """Whether the node lost its disk between `start` and `end`, both included."""
        return any(start <= t <= end for t in self.wipes.get(node, ()))

    def matching(self, client: str, publication: Publication) -> list[Subscription]:
        """The client's subscriptions, past and present, that ask for this event; none if it is not for its node."""
        if publication.event.to and self.home[client] not in publication.event.to:
            return []
        return [each for each in self.subscriptions.get(client, ()) if each.filter.matches(publication.event)]

    def _subscriptions(self, trace: Trace) -> dict[str, list[Subscription]]:
        open_at: dict[tuple[str, int], float] = {}
        found: dict[str, list[Subscription]] = defaultdict(list)
        for row in trace.interests:
            key = row.client, row.number
            if row.active:
                open_at[key] = row.t
            elif key in open_at:
                found[row.client].append(self._subscription(row.client, row.filter, Span(open_at.pop(key), row.t)))
        for row in trace.interests:
            key = row.client, row.number
            if row.active and key in open_at:
                found[row.client].append(self._subscription(row.client, row.filter, Span(open_at.pop(key), math.inf)))
        return found

    def _subscription(self, client: str, filter_: Filter, asked: Span) -> Subscription:
        told = tuple(self._told(client, asked))
        return Subscription(client, filter_, asked, told, self._next_word(client, asked.end))

    def _told(self, client: str, asked: Span) -> Iterable[Span]:
        wipes = [t for t in self.wipes.get(self.home.get(client, -1), ()) if t > asked.start]
        start = asked.start
        for limit in [*wipes, math.inf]:
            known = self._next_word(client, start)
            if known < min(limit, asked.end):
                yield Span(known, min(limit, asked.end))
            start = max(start, limit)

    def _next_word(self, client: str, t: float) -> float:
        """When the home surely heard what the client has had to say since `t`."""
        for on in self.on.get(client, ()):
            heard = max(t, on.start) + self._session
            if heard <= on.end:
                return heard
        return math.inf

    def _publication(self, row: Accepted) -> Publication:
        chain = 0 if row.event.delivery is Delivery.REALTIME else 1
        event = row.event.accepted(id=row.event_id, chain=chain)
        taken = min(self._next_word(row.client, row.t), self.end)
        return Publication(row.event_id, event, row.home, row.t, taken)


def _wipes(changes: list[NodeChange]) -> list[float]:
    """When the disk was lost. The first start, and the start after a crash without a disk, find it empty anyway."""
    before = [None, *changes[:-1]]
    return [
        change.t
        for change, last in zip(changes, before, strict=True)
        if not change.disk and not (change.up and (last is None or not last.disk))
    ]


def _spans(changes: Iterable[tuple[float, bool]], end: float) -> list[Span]:
    """The stretches in which the last change was to True."""
    spans: list[Span] = []
    since: float | None = None
    for t, on in changes:
        if on and since is None:
            since = t
        elif not on and since is not None:
            spans.append(Span(since, t))
            since = None
    if since is not None:
        spans.append(Span(since, end))
    return spans
