"""One of the two routing tables of a broker, with what is sent on of it over each link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapard.core.overlay.forwarding import corrected, is_told_of
from chapard.core.overlay.interest import Change, Delta, Expired, Tell, Topic
from chapard.core.overlay.routing_table import RoutingTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableSequence

    from chapard.core.overlay.forwarding import Forwarding
    from chapard.core.overlay.interest import Interest

_WORDS = {
    Topic.SUBSCRIPTIONS: (Change.SUBSCRIBE, Change.UNSUBSCRIBE),
    Topic.ADVERTISEMENTS: (Change.ADVERTISE, Change.UNADVERTISE),
}


class Plane:
    """Subscriptions, or advertisements. Interest messages go to the end of `effects`."""

    def __init__(
        self,
        topic: Topic,
        algorithm: Callable[[], Forwarding],
        is_wanted: Callable[[int, Interest], bool],
        effects: MutableSequence[Any],
    ) -> None:
        self.topic = topic
        self.table = RoutingTable()
        self._algorithm = algorithm
        self._is_wanted = is_wanted
        """Whether an interest is to travel over a link at all."""
        self._links: dict[int, Forwarding] = {}
        self._effects = effects

    def sent(self, link: int) -> Mapping[Interest, None]:
        return self._links[link].sent

    def forwarding(self, link: int) -> Forwarding:
        return self._links[link]

    @property
    def unsettled(self) -> bool:
        """Whether filters have been gathered that `settle` sends."""
        return any(forwarding.unsettled for forwarding in self._links.values())

    # Links

    def open(self, link: int) -> None:
        """A link is there: what stands elsewhere goes over it."""
        self._links[link] = self._algorithm()
        self.reconsider(link)
        self.tell(link, self._links[link].settle())

    def close(self, link: int) -> tuple[Interest, ...]:
        """A link is gone, and what was learnt over it; returns that."""
        del self._links[link]
        learnt = self.table.received(link)
        for interest in learnt:
            self.drop(link, interest)
        return learnt

    def reconsider(self, link: int) -> None:
        """Other interests may be wanted behind this link than before."""
        forwarding = self._links[link]
        for interest in tuple(self.table.elsewhere(link)):
            wanted = self._is_wanted(link, interest)
            if wanted and interest not in forwarding:
                self.tell(link, forwarding.gained(interest))
            elif not wanted and interest in forwarding:
                self.tell(link, forwarding.lost(interest))

    # Interest

    def take(self, link: int, interest: Interest) -> bool:
        """An interest stands over a link; tell whether that is news."""
        before = self.table.holders(interest)
        if not self.table.take(link, interest):
            return False
        for other in self._unaware(before, link):
            if self._is_wanted(other, interest):
                self.tell(other, self._links[other].gained(interest))
        return True

    def drop(self, link: int, interest: Interest) -> bool:
        """An interest stands over a link no more; tell whether it did."""
        if not self.table.drop(link, interest):
            return False
        for other in self._unaware(self.table.holders(interest), link):
            if interest in self._links[other]:
                self.tell(other, self._links[other].lost(interest))
        return True

    def _unaware(self, holders: tuple[int, ...], link: int) -> list[int]:
        """The links, but for this one, for which an interest of these holders stands nowhere else."""
        return [other for other in self._links if other != link and (not holders or holders == (other,))]

    # Time

    def settle(self) -> None:
        for link, forwarding in self._links.items():
            if forwarding.unsettled:
                self.tell(link, forwarding.settle())

    def expire(self) -> list[tuple[int, Interest]]:
        """A period begins: forget what has not been refreshed, and return it with its link."""
        late = [(link, interest) for link in self._links for interest in self.table.age(link)]
        for link, interest in late:
            self._effects.append(Expired(link, self.topic, interest))
            self.drop(link, interest)
        return late

    def refresh(self) -> None:
        """A period begins: make right what is sent over each link, and send once more all that still stands there."""
        for link, forwarding in self._links.items():
            delta = self._corrected(link, forwarding)
            news = set(delta.new)
            for interest in self._links[link].refreshed():
                if interest not in news:
                    self._effects.append(Tell(link, self.topic, Change.REFRESH, interest))
            self.tell(link, delta)

    def _corrected(self, link: int, forwarding: Forwarding) -> Delta:
        standing = [each for each in self.table.elsewhere(link) if self._is_wanted(link, each)]
        if is_told_of(forwarding, standing):
            return forwarding.settle()
        fresh = self._links[link] = forwarding.afresh()
        return corrected(forwarding.sent, fresh, standing)

    def tell(self, link: int, delta: Delta) -> None:
        """Send what an algorithm has changed."""
        begin, end = _WORDS[self.topic]
        self._effects += [Tell(link, self.topic, begin, interest) for interest in delta.new]
        self._effects += [Tell(link, self.topic, end, interest) for interest in delta.gone]
