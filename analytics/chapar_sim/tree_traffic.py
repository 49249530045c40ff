"""Traffic on a tree of brokers whose subscribers come and go (van Vliet, 2.3): measured message by message.

Subscribers come and go in crowds, publishers publish at random, and may come and go, too. Brokers know where publishers
are, unless these advertise (2.5.2). The run starts in the steady state, so that it measures from the start.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.broker_tree import NOTIFICATION, BrokerTree
from chapar_sim.clock import Clock
from chapard.core.overlay.interest import Change, Subscriber

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable
    from random import Random

    from chapar_sim.tree_shapes import Tree
    from chapard.core.overlay.router import RouterConfig

WANTED = Filter(subject="position")
NOTICE = Event(subject="position")


class Swell(NamedTuple):
    """How a rate of arrivals changes with time (2.4)."""

    times: Callable[[float], float]
    """The rate at a time, in multiples of the crowd's own, which is the one that the start of the run is steady for."""
    most: float
    """The multiple is never above this."""


class Crowd(NamedTuple):
    """Subscribers of one filter at one broker. Rates are per unit of time."""

    at: int
    arrivals: float
    """λ: of all of them if there are any number, of each that is away if they are `members`."""
    departures: float
    """μ: of each that is here."""
    members: int | None = None
    """How many there are in all (2.3.5); None is any number (2.3.1)."""
    wants: Filter = WANTED
    swell: Swell | None = None
    """None: arrivals have the same rate at all times."""


class Source(NamedTuple):
    """A publisher at one broker."""

    at: int
    notifications: float
    """ω, while it is active."""
    beginnings: float = 0.0
    """γ: how often it becomes active when it is not."""
    endings: float = 0.0
    """ν: how often it ceases to be when it is. 0 is always active."""
    notices: tuple[Event, ...] = (NOTICE,)
    """What it publishes: one of these, all equally likely."""
    advertises: Filter = WANTED
    is_regular: bool = False
    """Notifications come every 1/ω, instead of at random."""


class Rates(NamedTuple):
    """Messages on links per unit of time, by class."""

    subscriptions: float
    unsubscriptions: float
    refreshes: float
    """Of advertisements, too."""
    notifications: float
    advertisements: float = 0.0
    unadvertisements: float = 0.0

    @property
    def total(self) -> float:
        return sum(self)


_CLASSES = (
    *(Change.SUBSCRIBE, Change.UNSUBSCRIBE, Change.REFRESH),
    *(NOTIFICATION, Change.ADVERTISE, Change.UNADVERTISE),
)


def rates_of(counts: Counter[str], duration: float) -> Rates:
    """The rates of messages counted in this time."""
    return Rates(*(counts[each] / duration for each in _CLASSES))


class Traffic:
    """A run."""

    def __init__(
        self,
        shape: Tree,
        config: RouterConfig,
        sources: Iterable[Source],
        crowds: Iterable[Crowd],
        rng: Random,
        make: Callable[..., BrokerTree] = BrokerTree,
    ) -> None:
        sources = tuple(sources)
        known = None if config.advertisements else [source.at for source in sources]
        self.tree = make(shape.links, config, publishers=known)
        self._rng = rng
        self._clock = Clock()
        self._number = 0
        self._active: set[Subscriber] = set()
        """Publishers that are."""
        for source in sources:
            self._establish(source)
        for crowd in crowds:
            self._populate(crowd)

    def run(self, duration: float) -> Rates:
        """Let this time pass, and return the rates of what crossed links in it."""
        self.tree.counts.clear()
        end = self._clock.now + duration
        self._clock.run_until(end)
        self.tree.run_until(end)
        return rates_of(self.tree.counts, duration)

    def _later(self, rate: float, action: Callable[[], None]) -> None:
        """Do something after a time that is exponential with this rate."""
        if rate > 0:
            self._clock.after(self._rng.expovariate(rate), self._acting(action))

    def _acting(self, action: Callable[[], None]) -> Callable[[], None]:
        """What to do at a time: before it, let brokers do what is due."""

        def act() -> None:
            self.tree.run_until(self._clock.now)
            action()

        return act

    def _client(self, at: int) -> Subscriber:
        self._number += 1
        return Subscriber(at, str(self._number))

    # Publishers

    def _establish(self, source: Source) -> None:
        """A publisher, active or not as it is at a random moment."""
        client = self._client(source.at)
        if not source.endings or self._rng.random() < source.beginnings / (source.beginnings + source.endings):
            self._begin(source, client)
        else:
            self._later(source.beginnings, lambda: self._begin(source, client))
        self._notify(source, client, self._rng.random() if source.is_regular else 1)

    def _begin(self, source: Source, client: Subscriber) -> None:
        self._active.add(client)
        self.tree.advertise(source.at, client, source.advertises)
        self._later(source.endings, lambda: self._end(source, client))

    def _end(self, source: Source, client: Subscriber) -> None:
        self._active.discard(client)
        self.tree.unadvertise(source.at, client, source.advertises)
        self._later(source.beginnings, lambda: self._begin(source, client))

    def _publish(self, source: Source, client: Subscriber) -> None:
        self.tree.delivered.clear()
        if client in self._active:
            self.tree.publish(source.at, self._rng.choice(source.notices))
        self._notify(source, client)

    def _notify(self, source: Source, client: Subscriber, share: float = 1.0) -> None:
        """Publish when it is time again, or at first after a share of that time."""
        if not source.is_regular:
            self._later(source.notifications, lambda: self._publish(source, client))
        elif source.notifications > 0:
            self._clock.after(share / source.notifications, self._acting(lambda: self._publish(source, client)))

    # Subscribers

    def _populate(self, crowd: Crowd) -> None:
        """As many subscribers as there are at a random moment."""
        if crowd.members is None:
            for _ in range(_poisson(crowd.arrivals / crowd.departures, self._rng)):
                self._come(crowd, self._client(crowd.at))
            self._on_arrival(crowd, lambda: self._arrive(crowd))
            return
        for _ in range(crowd.members):
            member = self._client(crowd.at)
            if self._rng.random() < crowd.arrivals / (crowd.arrivals + crowd.departures):
                self._come(crowd, member)
            else:
                self._on_arrival(crowd, partial(self._come, crowd, member))

    def _on_arrival(self, crowd: Crowd, action: Callable[[], None]) -> None:
        """Do something when somebody of the crowd comes: at the highest rate, by the share that is due at the time."""
        swell = crowd.swell
        if swell is None:
            self._later(crowd.arrivals, action)
            return

        def perhaps() -> None:
            if self._rng.random() * swell.most < swell.times(self._clock.now):
                action()
            else:
                self._on_arrival(crowd, action)

        self._later(crowd.arrivals * swell.most, perhaps)

    def _arrive(self, crowd: Crowd) -> None:
        """One of any number of subscribers comes, and the next one after it."""
        self._come(crowd, self._client(crowd.at))
        self._on_arrival(crowd, lambda: self._arrive(crowd))

    def _come(self, crowd: Crowd, client: Subscriber) -> None:
        self.tree.subscribe(crowd.at, client, crowd.wants)
        self._later(crowd.departures, lambda: self._go(crowd, client))

    def _go(self, crowd: Crowd, client: Subscriber) -> None:
        self.tree.unsubscribe(crowd.at, client, crowd.wants)
        if crowd.members is not None:
            self._on_arrival(crowd, lambda: self._come(crowd, client))


def _poisson(mean: float, rng: Random) -> int:
    """How many events of a Poisson process fall into a stretch in which `mean` are expected."""
    number, product, limit = 0, rng.random(), math.exp(-mean)
    while product > limit:
        number += 1
        product *= rng.random()
    return number
