"""The routing table: what a broker has received over each link, its own clients being one of them.

An interest not refreshed for two periods is dropped in the third (second chance, 1.4.3): one refresh may be lost, or
come just after its neighbour's clock has ticked, without anything happening. An interest in a whole class is kept alive
by the events it brings, too, and refreshed more rarely (`auto`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapard.core.overlay.class_traffic import SILENCE
from chapard.core.overlay.filter_class import class_of, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chapard.core.overlay.filter_class import FilterClass
    from chapard.core.overlay.interest import Interest

MISSED_PERIODS: Final = 2
"""Periods without a refresh that an interest outlives."""
SILENT_PERIODS: Final = 2 * SILENCE + 1
"""Periods with neither a refresh nor an event that an interest in a whole class outlives."""


class RoutingTable:
    """Interests by the link over which they came."""

    def __init__(self) -> None:
        self._received: dict[int, dict[Interest, int]] = {}
        """With the periods since each was last refreshed."""
        self._holders: dict[Interest, dict[int, None]] = {}
        self.wholes: dict[FilterClass, Interest] = {}
        """The interests in whole classes that stand somewhere."""

    def received(self, link: int) -> tuple[Interest, ...]:
        return tuple(self._received.get(link, ()))

    def count(self, link: int) -> int:
        return len(self._received.get(link, ()))

    def has(self, link: int, interest: Interest) -> bool:
        return link in self._holders.get(interest, ())

    def holders(self, interest: Interest) -> tuple[int, ...]:
        """The links over which the interest stands."""
        return tuple(self._holders.get(interest, ()))

    def elsewhere(self, link: int) -> Iterator[Interest]:
        """The interests that stand over another link than this, each once."""
        for interest, holders in self._holders.items():
            if len(holders) > 1 or link not in holders:
                yield interest

    def take(self, link: int, interest: Interest) -> bool:
        """The interest stands over this link; tell whether that is news."""
        rows = self._received.setdefault(link, {})
        is_news = interest not in rows
        rows[interest] = 0
        if is_news:
            self._holders.setdefault(interest, {})[link] = None
            if is_whole(interest):
                self.wholes[class_of(interest.filter)] = interest
        return is_news

    def drop(self, link: int, interest: Interest) -> bool:
        """The interest stands over this link no more; tell whether it did."""
        rows = self._received.get(link, {})
        if rows.pop(interest, None) is None:
            return False
        holders = self._holders[interest]
        del holders[link]
        if not holders:
            del self._holders[interest]
            if is_whole(interest):
                self.wholes.pop(class_of(interest.filter), None)
        return True

    def age(self, link: int) -> list[Interest]:
        """A period has begun: the interests of this link that have missed too many refreshes. They are not dropped."""
        rows = self._received.get(link, {})
        for interest, missed in rows.items():
            rows[interest] = missed + 1
        return [each for each, missed in rows.items() if missed > MISSED_PERIODS and _is_late(each, missed)]


def _is_late(interest: Interest, missed: int) -> bool:
    return not is_whole(interest) or missed > SILENT_PERIODS
