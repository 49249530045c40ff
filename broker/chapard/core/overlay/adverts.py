"""What a broker advertises where advertisements are on: what its clients publish, and what it keeps for later.

An advertisement asks for subject, type and group of an event. It stands for as long after its last use as a
subscription of a silent home does, and for as long as an event is kept here that it stands for: subscriptions
then find that event, wherever its publisher is.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from chapar.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.event import Event

MOST: Final = 256
"""Advertisements of one broker; one that publishes under more names advertises everything."""


class Adverts:
    """The advertisements of one broker, with the time until which each stands."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._until: dict[Filter, float] = {}

    def use(self, event: Event, now: float) -> Filter | None:
        """An event is published or kept here; returns what is to be advertised besides."""
        advert = _advert(event)
        if advert not in self._until and len(self._until) >= MOST:
            advert = Filter()
        is_news = advert not in self._until
        self._until[advert] = now + self._lease
        return advert if is_news else None

    def expire(self, kept: Iterable[Event], now: float) -> list[Filter]:
        """What is no longer to be advertised."""
        late = {advert: None for advert, until in self._until.items() if until <= now}
        for event in kept if late else ():
            for advert in (_advert(event), Filter()):
                if advert in late:
                    del late[advert]
                    self._until[advert] = now + self._lease
        for advert in late:
            del self._until[advert]
        return list(late)

    def next_deadline(self) -> float:
        return min(self._until.values(), default=inf)


def _advert(event: Event) -> Filter:
    return Filter(subject=event.subject, type=event.type, group=event.group)
