"""Order of real-time events whose ways change: those that went another way wait for the ones they overtook.

An event may sit in the repair of a lossy link while its publisher's next one, routes having changed, comes another way.
The home may give its clients each once and in order, so the first of them would be lost. The rules:

- The root of an event says how many events of its publisher earlier (`behind`) one went to just the same homes. Where
  it cannot know, as the one before had another root, it names that one, whoever it went to: the publisher's home says
  which one that was.
- A home that still lacks that one holds the event back, and all behind it, for `overtaking_patience` at most: the one
  before may be lost for good, or may have been refused a place in a queue on its way.
- Where hops are not repaired nothing is worth waiting for.
- What no event is known before is passed on at once. Where there is no room left, nothing of that publisher is held.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.event import EventId, peek_id, split_id
from chapar.event import event_id as event_id_of

if TYPE_CHECKING:
    from chapar.event import Event
    from chapard.core.nodevector import NodeVector

FARTHEST: Final = 255
"""How far back an event may be for the next one to name it: it travels in a byte, or two."""
MOST_AUDIENCES: Final = 64
"""Sets of homes that the events of one publisher went to, which are remembered."""


class _Source:
    """A publisher, as its root knows it."""

    def __init__(self) -> None:
        self.latest = 0
        """The number of its last event that came here."""
        self.by_audience: dict[NodeVector, int] = {}
        """And of the last one that went to these homes."""


class Trail:
    """At the root: which event of each publisher went to the same homes last."""

    def __init__(self) -> None:
        self._sources: dict[bytes, _Source] = {}
        """By publisher, with its incarnation."""

    def behind(self, event_id: EventId, homes: NodeVector, since: int) -> int:
        """How many events earlier one went to these homes; 0 if none is known. This one is remembered.

        `since` is how many events earlier its publisher had a real-time one, if it knows.
        """
        source, sequence = self._source(event_id), _number_of(event_id)
        is_gapless = not since or source.latest >= sequence - since
        before = source.by_audience.pop(homes, 0)
        source.by_audience[homes] = max(before, sequence)
        source.latest = max(source.latest, sequence)
        if len(source.by_audience) > MOST_AUDIENCES:
            del source.by_audience[next(iter(source.by_audience))]
        if not is_gapless:
            return since
        return sequence - before if before and 0 < sequence - before <= FARTHEST else 0

    def passed(self, event_id: EventId) -> None:
        """An event came here that nobody wants."""
        source = self._source(event_id)
        source.latest = max(source.latest, _number_of(event_id))

    def _source(self, event_id: EventId) -> _Source:
        publisher = event_id[:6]
        source = self._sources.get(publisher)
        if source is None:
            self._forget_earlier_lives(publisher)
            source = self._sources[publisher] = _Source()
        return source

    def _forget_earlier_lives(self, publisher: bytes) -> None:
        for each in [each for each in self._sources if each[:2] == publisher[:2]]:
            del self._sources[each]


class Arrival(NamedTuple):
    """An event that has arrived at one of its homes."""

    event: Event
    body: bytes
    hops: int


class _Held(NamedTuple):
    event_id: EventId
    before: EventId
    arrival: Arrival
    until: float


class _Stream:
    """The events of one publisher."""

    def __init__(self) -> None:
        self.latest = EventId(b"")
        """The latest one that was passed on; at first less than any."""
        self.held: list[_Held] = []
        """In order."""

    def pass_on(self) -> list[Arrival]:
        """What need not wait any more, in order."""
        passed = []
        while self.held and self.held[0].before <= self.latest:
            passed.append(self._first())
        return passed

    def give_up(self, now: float) -> list[Arrival]:
        """What has waited long enough, and what comes before it or need not wait then."""
        passed = []
        while any(each.until <= now for each in self.held):
            passed.append(self._first())
            passed += self.pass_on()
        return passed

    def _first(self) -> Arrival:
        first = self.held.pop(0)
        self.latest = max(self.latest, first.event_id)
        return first.arrival


class Arrivals:
    """At a home: puts the events of each publisher back in order."""

    def __init__(self, patience: float, room: int) -> None:
        self._patience = patience
        self._room = room
        self._streams: dict[int, _Stream] = {}
        self._deadline: float | None = None

    def __len__(self) -> int:
        """How many are held."""
        return sum(len(stream.held) for stream in self._streams.values())

    def take(self, arrival: Arrival, behind: int, now: float) -> list[Arrival]:
        """An event has arrived; returns what to pass on now, in order."""
        event_id = peek_id(arrival.body)
        origin, incarnation, sequence = split_id(event_id)
        stream = self._streams.setdefault(origin, _Stream())
        before = event_id_of(origin, incarnation, sequence - behind) if 0 < behind < sequence else None
        if before is not None and before > stream.latest:
            until = now + self._patience
            insort(stream.held, _Held(event_id, before, arrival, until), key=lambda each: each.event_id)
            self._deadline = min(self._deadline or until, until)
            return stream.give_up(until) if len(self) > self._room else []
        stream.latest = max(stream.latest, event_id)
        return [arrival, *stream.pass_on()]

    def tick(self, now: float) -> list[Arrival]:
        """What is not held back any longer."""
        if self._deadline is None or self._deadline > now:
            return []
        passed = [each for stream in self._streams.values() for each in stream.give_up(now)]
        self._deadline = min((each.until for stream in self._streams.values() for each in stream.held), default=None)
        return passed

    def next_deadline(self) -> float | None:
        return self._deadline


def _number_of(event_id: EventId) -> int:
    return int.from_bytes(event_id[6:], "big")
