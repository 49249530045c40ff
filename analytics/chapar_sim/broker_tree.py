"""Routers of brokers joined into a tree: no radio, no delay, and no loss but what is asked for.

What one router sends reaches the next in the order in which it was sent; an input has had all its consequences when
`settle` returns. Each message on each link is counted by what it says, as the traffic models do.
"""

from __future__ import annotations

from collections import Counter, deque
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.event import event_id
from chapard.core.effects import Drop
from chapard.core.overlay.interest import Deliver, Expired, Forward, Tell
from chapard.core.overlay.router import Router

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chapar.event import Event
    from chapar.filter import Filter
    from chapard.core.overlay.interest import Subscriber
    from chapard.core.overlay.router import RouterConfig

MOST_MESSAGES: Final = 10_000_000
"""Messages that follow from one input. More is a loop."""
NOTIFICATION: Final = "notification"
"""The class of an event on a link; those of interest messages are their changes."""

Edge = tuple[int, int]


class Message(NamedTuple):
    """What crossed a link."""

    sender: int
    receiver: int
    content: Tell | Forward

    @property
    def kind(self) -> str:
        return NOTIFICATION if isinstance(self.content, Forward) else self.content.change.value


class BrokerTree:
    """Brokers with indexes from 0, and the links between them."""

    def __init__(
        self,
        links: Iterable[Edge],
        config: RouterConfig,
        *,
        publishers: Iterable[int] | None = None,
        watch: Callable[[Message], None] | None = None,
        loses: Callable[[Message], bool] | None = None,
    ) -> None:
        self.now = 0.0
        self.neighbours = neighbours_of(links)
        self.routers = {index: Router(index, config, self.now) for index in sorted(self.neighbours)}
        self.counts: Counter[str] = Counter()
        self.delivered: list[tuple[int, Event]] = []
        """Each event handed to a broker's clients, since somebody last took the list away."""
        self.drops: list[tuple[int, Drop]] = []
        self._under_way: deque[Message] = deque()
        self._watch = watch
        self.loses = loses
        self._published = 0
        self._due = inf
        """No router has anything to do before; each moves it as it is told things."""
        if publishers is not None:
            for index, toward in links_toward(self.neighbours, publishers).items():
                self.routers[index].publisher_links = toward
        for index, others in self.neighbours.items():
            for other in others:
                self.routers[index].link_up(other, self.now)
        self.settle()

    # What clients do

    def subscribe(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self.routers[at].subscribe(client, filter_, self.now)
        self.settle(at)

    def unsubscribe(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self.routers[at].unsubscribe(client, filter_, self.now)
        self.settle(at)

    def advertise(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self.routers[at].advertise(client, filter_, self.now)
        self.settle(at)

    def unadvertise(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self.routers[at].unadvertise(client, filter_, self.now)
        self.settle(at)

    def publish(self, at: int, event: Event) -> None:
        self._published += 1
        self.routers[at].publish(event.accepted(id=event_id(at, 1, self._published)))
        self.settle(at)

    # What happens to links

    def cut(self, one: int, other: int) -> None:
        self._at_both_ends(Router.link_down, one, other)

    def restore(self, one: int, other: int) -> None:
        self._at_both_ends(Router.link_up, one, other)

    def _at_both_ends(self, change: Callable[[Router, int, float], None], one: int, other: int) -> None:
        change(self.routers[one], other, self.now)
        change(self.routers[other], one, self.now)
        self.settle(one, other)

    # Time

    def run_until(self, end: float, order: Callable[[list[int]], None] | None = None) -> None:
        """Let routers do what is due up to and including `end`; `order` rearranges those due at one time."""
        while (due := self._due) <= end:
            self.now = max(self.now, due)
            ready = [index for index, router in self.routers.items() if router.next_deadline <= due]
            if order is not None:
                order(ready)
            for index in ready:
                self.routers[index].tick(self.now)
                self.settle(index)
            self._due = min(router.next_deadline for router in self.routers.values())
        self.now = max(self.now, end)

    def settle(self, *indexes: int) -> None:
        """Carry what these brokers, or all, want sent, and all that follows from it."""
        for index in indexes or self.routers:
            self._collect(index)
        for _ in range(MOST_MESSAGES):
            if not self._under_way:
                return
            self._arrive(self._under_way.popleft())
        raise RuntimeError(f"{MOST_MESSAGES} messages follow from one input: something has no end")

    def _arrive(self, message: Message) -> None:
        router, content = self.routers[message.receiver], message.content
        if isinstance(content, Forward):
            router.on_event(message.sender, content.event)
        else:
            router.on_interest(message.sender, content.topic, content.change, content.interest, self.now)
        self._collect(message.receiver)

    def _collect(self, index: int) -> None:
        self._due = min(self._due, self.routers[index].next_deadline)
        for effect in self.routers[index].drain():
            match effect:
                case Tell() | Forward():
                    self._send(Message(index, effect.link, effect))
                case Deliver(event=event):
                    self.delivered.append((index, event))
                case Drop():
                    self.drops.append((index, effect))
                case Expired():
                    self.counts["expire"] += 1

    def _count(self, message: Message) -> None:
        self.counts[message.kind] += 1

    def _send(self, message: Message) -> None:
        self._count(message)
        if self._watch is not None:
            self._watch(message)
        if self.loses is None or not self.loses(message):
            self._under_way.append(message)


def neighbours_of(links: Iterable[Edge]) -> dict[int, tuple[int, ...]]:
    neighbours: dict[int, list[int]] = {}
    for one, other in links:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    return {index: tuple(sorted(others)) for index, others in neighbours.items()}


def links_toward(neighbours: Mapping[int, tuple[int, ...]], publishers: Iterable[int]) -> dict[int, frozenset[int]]:
    """For each broker its links behind which a publisher is."""
    toward: dict[int, set[int]] = {index: set() for index in neighbours}
    for publisher in publishers:
        reached = {publisher}
        edge = deque([publisher])
        while edge:
            nearer = edge.popleft()
            for index in neighbours[nearer]:
                if index not in reached:
                    reached.add(index)
                    toward[index].add(nearer)
                    edge.append(index)
    return {index: frozenset(links) for index, links in toward.items()}
