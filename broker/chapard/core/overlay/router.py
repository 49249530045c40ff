"""The router of one broker on a tree: interest, events, links and ticks go in with the time, effects come out.

An overlay link is known by the index of the node at its other end; a broker's own index stands for its own clients. An
event goes to each link but its own over which a matching filter was received; with flooding, to each but its own.

Subscriptions go to every link; where the configuration knows at which links publishers are, to these; and with
advertisements, to the links over which an overlapping one was received.

Links are taken to deliver what is sent over them, in order; every refresh makes good what they did not. From whatever
tables, and without further losses, what is sent is right with the next period, and what was received and nobody sent is
gone with the third (`MISSED_PERIODS` + 1), with everything that follows from it. With more than `LOOKED_AT` hidden
filters on a link covering takes longer, and with interests in whole classes `auto` does (`SILENT_PERIODS` + 1).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Final

from chapard.core.effects import Drop, Reason
from chapard.core.matcher import Matcher
from chapard.core.overlay.auto import Auto
from chapard.core.overlay.choices import Choices
from chapard.core.overlay.covering import Covering
from chapard.core.overlay.flooding import Flooding
from chapard.core.overlay.identity import Identity
from chapard.core.overlay.interest import Change, Deliver, Expired, Forward, Interest, Tell, Topic
from chapard.core.overlay.merging import Merging
from chapard.core.overlay.plane import Plane
from chapard.core.overlay.refresh import Refresh
from chapard.core.overlay.simple import Simple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from chapar.event import Event, EventId
    from chapar.filter import Filter
    from chapard.core.overlay.auto import Choice
    from chapard.core.overlay.filter_class import FilterClass
    from chapard.core.overlay.forwarding import Forwarding
    from chapard.core.overlay.interest import Subscriber


class Algorithm(StrEnum):
    """`routing.algorithm`: one of the five, or for each filter class flooding or identity, whichever is cheaper."""

    FLOODING = "flooding"
    SIMPLE = "simple"
    IDENTITY = "identity"
    COVERING = "covering"
    MERGING = "merging"
    AUTO = "auto"


_FORWARDING: Final[Mapping[Algorithm, Callable[[], Forwarding]]] = {
    Algorithm.FLOODING: Flooding,
    Algorithm.SIMPLE: Simple,
    Algorithm.IDENTITY: Identity,
    Algorithm.COVERING: Covering,
    Algorithm.MERGING: Merging,
}
_BEGINNINGS: Final = frozenset({Change.SUBSCRIBE, Change.ADVERTISE, Change.REFRESH})

Effect = Tell | Expired | Forward | Deliver | Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterConfig:
    """Parameters of one router. Times are seconds."""

    nodes: int = 256
    """Length of node vectors: indexes of neighbours lie below it."""
    algorithm: Algorithm = Algorithm.IDENTITY
    advertisements: bool = False
    """Whether publishers say what they publish; subscriptions then go only where it comes from."""
    refresh_period: float = 16.0
    merge_delay: float = 0.5
    """How long merging gathers filters: a client's first burst of subscriptions goes as one."""
    link_interests: int = 100_000
    """Interests taken over one link."""
    seen_limit: int = 8192
    """Events whose ids are remembered, to notice those that return."""


class Router:
    """One broker's share in routing on a tree."""

    def __init__(self, index: int, config: RouterConfig, now: float) -> None:
        self.index = index
        self.config = config
        self.publisher_links: frozenset[int] | None = None
        """The links behind which publishers are, if the configuration knows them; they are set before any is up."""
        self._links: dict[int, None] = {}
        self._effects: list[Effect] = []
        self._now = now
        algorithm = _FORWARDING.get(config.algorithm, self._automatic)
        advertising = Identity if config.advertisements and algorithm is not Flooding else Flooding
        self._subscriptions = Plane(Topic.SUBSCRIPTIONS, algorithm, self._is_wanted, self._effects)
        self._advertisements = Plane(Topic.ADVERTISEMENTS, advertising, self._goes_everywhere, self._effects)
        self._planes = {plane.topic: plane for plane in (self._subscriptions, self._advertisements)}
        self._choices = Choices(self._subscriptions, self._is_wanted) if algorithm == self._automatic else None
        self._clients: dict[tuple[Topic, Interest], set[Subscriber]] = {}
        """The clients of our own behind each interest of the broker's."""
        self._matcher = Matcher(config.nodes)
        self._held: Counter[tuple[int, Filter]] = Counter()
        """Interests by link and filter: simple routing has several of one filter."""
        self._seen: dict[EventId, int] = {}
        self._refresh = Refresh(config.refresh_period, now)
        self._settle_at = inf

    @property
    def links(self) -> tuple[int, ...]:
        return tuple(self._links)

    def plane(self, topic: Topic) -> Plane:
        return self._planes[topic]

    @property
    def choices(self) -> list[Choice]:
        """With `auto`: how each filter class is routed over each link, with the numbers behind it."""
        return self._choices.report(self._links) if self._choices is not None else []

    def choose(self, link: int, class_: FilterClass, now: float, *, flooding: bool) -> None:
        """With `auto`: have a class flooded toward us over a link or not, until the next choice by what is seen."""
        assert self._choices is not None, "other algorithms leave no choice"
        self._now = now
        self._choices.choose(link, class_, flooding=flooding)

    def drain(self) -> list[Effect]:
        """What is to be done, in this order."""
        drained = list(self._effects)
        self._effects.clear()
        return drained

    # Own clients

    def subscribe(self, client: Subscriber, filter_: Filter, now: float) -> None:
        self._join(Topic.SUBSCRIPTIONS, client, filter_, now)

    def unsubscribe(self, client: Subscriber, filter_: Filter, now: float) -> None:
        self._leave(Topic.SUBSCRIPTIONS, client, filter_, now)

    def advertise(self, client: Subscriber, filter_: Filter, now: float) -> None:
        """A client will publish what matches the filter. What it publishes besides may reach nobody."""
        self._join(Topic.ADVERTISEMENTS, client, filter_, now)

    def unadvertise(self, client: Subscriber, filter_: Filter, now: float) -> None:
        self._leave(Topic.ADVERTISEMENTS, client, filter_, now)

    def publish(self, event: Event) -> None:
        """A client of ours has published an event, which our node has stamped."""
        self._carry(event, self.index)

    def _automatic(self) -> Forwarding:
        return Auto(self.config.refresh_period, lambda: self._now)

    def _join(self, topic: Topic, client: Subscriber, filter_: Filter, now: float) -> None:
        interest = self._own(topic, client, filter_)
        self._clients.setdefault((topic, interest), set()).add(client)
        self._take(self._planes[topic], self.index, interest, now)

    def _leave(self, topic: Topic, client: Subscriber, filter_: Filter, now: float) -> None:
        interest = self._own(topic, client, filter_)
        clients = self._clients.get((topic, interest), set())
        clients.discard(client)
        if not clients:
            self._clients.pop((topic, interest), None)
            self._drop(self._planes[topic], self.index, interest, now)

    def _own(self, topic: Topic, client: Subscriber, filter_: Filter) -> Interest:
        is_simple = topic is Topic.SUBSCRIPTIONS and self.config.algorithm is Algorithm.SIMPLE
        return Interest(filter_, client if is_simple else None)

    # Neighbours

    def link_up(self, link: int, now: float) -> None:
        """A link to this neighbour is there. One that was already starts afresh."""
        self._now = now
        self.link_down(link, now)
        self._links[link] = None
        for plane in self._planes.values():
            plane.open(link)
        self._gathered(now)

    def link_down(self, link: int, now: float) -> None:
        """The link to this neighbour is gone, with all that was learnt over it."""
        self._now = now
        if link not in self._links:
            return
        del self._links[link]
        if self._choices is not None:
            self._choices.forget(link)
        for plane in self._planes.values():
            for interest in plane.close(link):
                self._forget(plane.topic, link, interest)
        self._gathered(now)

    def on_interest(self, link: int, topic: Topic, change: Change, interest: Interest, now: float) -> None:
        """A neighbour tells of an interest behind its link."""
        if link not in self._links:
            self._effects.append(Drop(Reason.FOREIGN, link, None, None))
            return
        plane = self._planes[topic]
        if change is Change.REFRESH and plane is self._subscriptions and self._choices is not None:
            ghost = self._choices.contradicted(link, interest)
            if ghost is not None:
                self._take(plane, link, interest, now)
                self._drop(plane, link, ghost, now)
        if change not in _BEGINNINGS:
            self._drop(plane, link, interest, now)
        elif plane.table.count(link) >= self.config.link_interests and not plane.table.has(link, interest):
            self._effects.append(Drop(Reason.TABLE_FULL, link, None, None))
        else:
            self._take(plane, link, interest, now)

    def on_event(self, link: int, event: Event) -> None:
        """A neighbour passes an event on."""
        if link not in self._links:
            self._effects.append(Drop(Reason.FOREIGN, link, None, event.id))
            return
        self._carry(event, link)

    # Time

    @property
    def next_deadline(self) -> float:
        return min(self._refresh.deadline, self._settle_at)

    def tick(self, now: float) -> None:
        self._now = now
        if self._settle_at <= now:
            self._settle_at = inf
            self._subscriptions.settle()
        if self._refresh.has_begun(now):
            # Advertisements first: they decide where subscriptions stand.
            for plane in (self._advertisements, self._subscriptions):
                for link, interest in plane.expire():
                    self._forget(plane.topic, link, interest)
                if plane is self._subscriptions and self._choices is not None:
                    self._choices.decide(self._links)
                plane.refresh()

    # Interest

    def _take(self, plane: Plane, link: int, interest: Interest, now: float) -> None:
        self._now = now
        if not plane.take(link, interest):
            return
        if plane is self._subscriptions:
            self._held[link, interest.filter] += 1
            self._matcher.add(interest.filter, link)
        else:
            self._advertised_otherwise(link)
        self._gathered(now)

    def _drop(self, plane: Plane, link: int, interest: Interest, now: float) -> None:
        self._now = now
        if plane.drop(link, interest):
            self._forget(plane.topic, link, interest)
            if plane is self._advertisements:
                self._advertised_otherwise(link)
            self._gathered(now)

    def _forget(self, topic: Topic, link: int, interest: Interest) -> None:
        """An interest has left its table: let events go their way without it."""
        if topic is Topic.SUBSCRIPTIONS:
            self._held[link, interest.filter] -= 1
            if not self._held[link, interest.filter]:
                del self._held[link, interest.filter]
                self._matcher.remove(interest.filter, link)

    def _is_wanted(self, link: int, interest: Interest) -> bool:
        """Whether a subscription goes toward this link."""
        if self.config.advertisements:
            advertised = self._advertisements.table.received(link)
            return any(each.filter.overlaps(interest.filter) for each in advertised)
        return self.publisher_links is None or link in self.publisher_links

    def _goes_everywhere(self, _link: int, _interest: Interest) -> bool:
        return True

    def _advertised_otherwise(self, link: int) -> None:
        """Other things than before are advertised over a link: subscriptions follow."""
        if self.config.advertisements and link in self._links:
            self._subscriptions.reconsider(link)
            if self._choices is not None:
                self._choices.reconsider(link)

    def _gathered(self, now: float) -> None:
        """Merging sends what it gathers a while after the first of it."""
        if self._settle_at == inf and self._subscriptions.unsettled:
            self._settle_at = now + self.config.merge_delay

    # Events

    def onward(self, event: Event) -> Collection[int]:
        """The links over which an event is wanted; our own index if our clients want it."""
        wanted = self._matcher.match(event)
        if self.config.algorithm is not Algorithm.FLOODING:
            return wanted.indexes()
        return (*self._links, self.index) if wanted[self.index] else self.links

    def passes(self, event: Event, came_from: int) -> Collection[int]:
        """An event of which somebody else keeps account goes its way: the same, and `auto` is shown it."""
        onward = self.onward(event)
        if self._choices is not None:
            self._choices.carried(event, came_from, onward, self._links)
        return onward

    def _carry(self, event: Event, came_from: int) -> None:
        """Hand an event to own clients and onward; one that has been here is reported."""
        assert event.id is not None, "an event on its way is stamped"
        if event.id in self._seen:
            reason = Reason.DUPLICATE if self._seen[event.id] == came_from else Reason.LOOP
            self._effects.append(Drop(reason, came_from, None, event.id))
            return
        self._seen[event.id] = came_from
        if len(self._seen) > self.config.seen_limit:
            del self._seen[next(iter(self._seen))]
        onward = self.passes(event, came_from)
        if self.index in onward:
            self._effects.append(Deliver(event))
        self._effects += [Forward(link, event) for link in onward if link not in (came_from, self.index)]
