"""The memorised events that one broker of a tree keeps: those of its own clients, and all that came past it.

- A broker holds what matches any filter it has sent over a link, since the other ends hand over what they have of it.
  So whoever subscribes later is served by the broker on the way that has seen the filter before.
- Of each link it knows which of its events are at the other end: those it has sent there or got from there, and those
  the other end listed when the link began. The rest goes over the link as soon as it is wanted there.
- Both ends mean the same events by that: those that both have. Now and then they compare what they believe, and if that
  differs, which takes an end that lost something without a word, they list what they hold once more.
- What a full table gave up is not taken again for a while, so the other ends are told, and do not send it again.
- A copy that comes over another link than the first shows a cycle, unless it has waited at a broker on its way: what
  was lost here, with the disk, may come back from several sides.
- What is served is in the order of ids, per publisher that of publication, and new events wait behind older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapar.limits import U32_MAX
from chapard.core.digest import hash63
from chapard.core.effects import Reason
from chapard.core.met import MET, memory_of
from chapard.core.nodevector import NodeVector
from chapard.core.shelf import Shelf, given_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chapar.event import Event, EventId
    from chapard.core.met import Memory
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station
    from chapard.core.store import Store


class Way(NamedTuple):
    """How an event came here."""

    link: int
    """Our own index: from a client of ours."""
    hops: int
    """Links of the tree it had crossed."""
    has_waited: bool = False
    """At a broker, until somebody wanted it who lacked it."""


class Keeping:
    """The memorised events of one broker."""

    def __init__(self, station: Station, outlet: Outlet, store: Store) -> None:
        self._station = station
        self._outlet = outlet
        self._shelf = Shelf(store, station.config.nodes)
        self.met = MET(station.config, is_whole=False)
        self._here = NodeVector.of([station.index], station.config.nodes)
        self._nobody = NodeVector.empty(station.config.nodes)
        self._ways: dict[EventId, Way] = {}
        """Not of those that were there before a restart."""
        self._there: dict[int, set[EventId]] = {}
        """Per link that is up, which of our events are at the other end."""
        self._listed: dict[int, set[EventId]] = {}
        """Of a listing whose end has not come yet."""
        self._given_up: dict[int, set[EventId]] = {}
        """Per link, which of our events the other end does not take any more."""
        self._notices: dict[int, dict[EventId, None]] = {}
        """Per link, which of its other end's events we do not take any more, and it has not been told."""
        self.refused: dict[EventId, None] = {}
        """What a full queue of our clients did not take."""

    # For the home

    def publish(self, event: Event, body: bytes, now: float) -> None:
        """Keep an event of one of our own clients; `settle` it when the disk has it."""
        memory = memory_of(event, body, event.lifetime_ms, self._nobody, self._nobody, now)
        memory.is_own = memory.is_unsaved = True
        self._keep(memory, Way(self._station.index, 0), now)

    def settle(self, event_id: EventId) -> None:
        """An event of our own clients can no longer be undone by a crash."""
        self.met.settle(event_id)

    def confirm(self, event_id: EventId) -> None:
        """The event is safe in the queues of our clients."""
        self.refused.pop(event_id, None)
        memory = self.met.get(event_id)
        if memory is not None:
            memory.is_taken = True
            self.met.deliver(event_id, self._here)
            self._shelf.put(memory)

    def refuse(self, memory: Memory) -> None:
        """A queue of our clients had no room for it: it is owed to them."""
        memory.wanted |= self._here
        self.refused[memory.event_id] = None

    # What comes and goes

    def take(self, event: Event, body: bytes, remaining_ms: int, way: Way, now: float) -> Memory | None:
        """Keep an event that came over a link; None if it is known, or is not kept."""
        memory = memory_of(event, body, remaining_ms, self._nobody, self._nobody, now)
        if memory.event_id in self.met or self.met.is_gone(memory.event_id):
            self._known(memory.event_id, way)
            return None
        if memory.expiry <= now:
            self._outlet.drop(Reason.EXPIRED, peer=way.link, event_id=memory.event_id)
            return None
        self._keep(memory, way, now)
        self.at(way.link, [memory.event_id])
        return self.met.get(memory.event_id)

    def _known(self, event_id: EventId, way: Way) -> None:
        """An event has come that is, or was, here."""
        came = self._ways.get(event_id, way)
        is_loop = came.link != way.link and not way.has_waited
        self._outlet.drop(Reason.LOOP if is_loop else Reason.DUPLICATE, peer=way.link, event_id=event_id)
        if event_id in self.met:
            self.at(way.link, [event_id])
        elif way.link in self._there:
            self._notices.setdefault(way.link, {})[event_id] = None

    def way(self, memory: Memory) -> Way:
        """How it came here."""
        return self._ways.get(memory.event_id, Way(self._station.index, 0, has_waited=True))

    def expire(self, now: float) -> None:
        """Let go of what has outlived its lifetime; what was owed to our clients is lost to them."""
        for memory in self.met.expire(now):
            self._outlet.lose(memory.event_id, memory.wanted & ~memory.delivered, Reason.EXPIRED)
            self._forgotten(memory)

    def _keep(self, memory: Memory, way: Way, now: float) -> None:
        self._ways[memory.event_id] = way
        for each in given_up(self._outlet, self.met.add(memory, now)):
            for link, there in self._there.items():
                if each.event_id in there:
                    self._notices.setdefault(link, {})[each.event_id] = None
            self._forgotten(each)
        if memory.event_id in self.met:
            self._shelf.put(memory)

    def _forgotten(self, memory: Memory) -> None:
        self._shelf.forget(memory)
        self._ways.pop(memory.event_id, None)
        self.refused.pop(memory.event_id, None)
        for known in (*self._there.values(), *self._given_up.values()):
            known.discard(memory.event_id)

    # Links

    def open(self, link: int) -> None:
        """A link has begun: nothing is known of its other end."""
        self.close(link)
        self._there[link] = set()

    def close(self, link: int) -> None:
        for known in (self._there, self._listed, self._given_up):
            known.pop(link, None)
        self._notices.pop(link, None)

    def listed(self, link: int, event_ids: Iterable[EventId], *, is_whole: bool) -> None:
        """The other end lists what it holds; with the end of the list, that and nothing else counts."""
        if link not in self._there:
            return
        listed = self._listed.setdefault(link, set())
        listed.update(each for each in event_ids if each in self.met)
        if is_whole:
            self._there[link] = self._listed.pop(link)

    def given_up(self, link: int, event_ids: Iterable[EventId]) -> None:
        """The other end does not take these events any more."""
        if link in self._there:
            ours = [each for each in event_ids if each in self.met]
            self._there[link].difference_update(ours)
            self._given_up.setdefault(link, set()).update(ours)

    def notices(self) -> dict[int, list[EventId]]:
        """Per link, what its other end is to be told that we do not take any more; it counts as told then."""
        told = {link: list(event_ids) for link, event_ids in self._notices.items()}
        self._notices.clear()
        return told

    def belief(self, link: int) -> tuple[int, int]:
        """How many events both ends have, and a digest of which, as far as this end knows."""
        both = [each for each in self._there.get(link, ()) if each in self.met]
        digest = 0
        for event_id in both:
            digest ^= hash63(event_id)
        return len(both), digest % (U32_MAX + 1)

    def at(self, link: int, event_ids: Iterable[EventId]) -> None:
        """These events are at the other end; of those that are not here we need not know."""
        if link in self._there:
            self._there[link].update(each for each in event_ids if each in self.met)

    def lacking(self, link: int, now: float) -> Iterator[Memory]:
        """The events that the other end of a link lacks, per publisher in order."""
        known = self._there.get(link, set()) | self._given_up.get(link, set())
        for memory in self.met:
            if memory.event_id not in known and not memory.is_unsaved and memory.expiry > now:
                yield memory

    def held(self) -> list[EventId]:
        """What to tell the other end of a link that begins."""
        return [memory.event_id for memory in self.met if not memory.is_unsaved]

    # Disk

    def restore(self, body: bytes, expiry: float | None, delivered: bytes, flags: int, now: float) -> None:
        """Take up an event that was saved before a restart."""
        memory = self._shelf.read(body, expiry, delivered, flags, now)
        if memory is None:
            return
        self.met.add(memory, now)
        if not memory.delivered[self._station.index]:
            self.refuse(memory)
