"""What `auto` does at a broker beside routing by interest: it listens, chooses anew in each period, and objects.

Every event is shown to the classes it belongs to on the link over which it came. It also renews what was received over
the links on which it goes on: interests in whole classes live by the events they bring.

A neighbour may think that all of a class is wanted here when it is not, since what took that back was lost. It is told
again: by an objection, when an event comes that nobody wants; or by a refresh of a single filter of the class, which
nobody sends who wants all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.core.overlay.auto import Auto
from chapard.core.overlay.filter_class import class_of, classes_of, is_whole, whole
from chapard.core.overlay.interest import NOTHING, Delta

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from chapar.event import Event
    from chapard.core.overlay.auto import Choice
    from chapard.core.overlay.filter_class import FilterClass
    from chapard.core.overlay.interest import Interest
    from chapard.core.overlay.plane import Plane


class Choices:
    """The choices of one broker, on all its links."""

    def __init__(self, plane: Plane, is_wanted: Callable[[int, Interest], bool]) -> None:
        self._plane = plane
        self._is_wanted = is_wanted
        self._unwanted: dict[tuple[int, FilterClass], None] = {}
        """Classes of events that nobody wants, and the links over which such came in this period."""

    def on(self, link: int) -> Auto:
        forwarding = self._plane.forwarding(link)
        assert isinstance(forwarding, Auto), "automatic routing runs on every link"
        return forwarding

    def report(self, links: Iterable[int]) -> list[Choice]:
        return [choice for link in links for choice in self.on(link).choices(link)]

    def choose(self, link: int, class_: FilterClass, *, flooding: bool) -> None:
        flooding = flooding and self._is_wanted(link, whole(class_))
        self._plane.tell(link, self.on(link).choose(class_, flooding=flooding))

    def decide(self, links: Iterable[int]) -> None:
        """A period begins: choose for each class on each link, and object to what came unwanted."""
        for link in links:
            for class_, flooding in self.on(link).better():
                self.choose(link, class_, flooding=flooding)
        for link, class_ in self._unwanted:
            self._plane.tell(link, self._objection(link, class_))
        self._unwanted.clear()

    def reconsider(self, link: int) -> None:
        """Interests may be wanted behind a link no more: nor is all of their class then."""
        for choice in self.on(link).choices(link):
            if choice.floods and not choice.forced:
                self.choose(link, choice.class_, flooding=True)

    def forget(self, link: int) -> None:
        """The link is gone."""
        self._unwanted = {each: None for each in self._unwanted if each[0] != link}

    def carried(self, event: Event, came_from: int, onward: Collection[int], links: Collection[int]) -> None:
        """An event goes from a link to others, and to our own clients perhaps."""
        classes = classes_of(event)
        table = self._plane.table
        for class_ in classes:
            interest = table.wholes.get(class_)
            if interest is not None:
                for link in table.holders(interest):
                    if link in onward and link != came_from:
                        table.take(link, interest)
        if came_from in links:
            wanted = any(link != came_from for link in onward)
            self.on(came_from).heard(classes, wanted=wanted)
            if not wanted and not any(self.on(came_from).floods(each) for each in classes):
                self._unwanted.update(dict.fromkeys((came_from, each) for each in classes))

    def contradicted(self, link: int, refreshed: Interest) -> Interest | None:
        """What was received over a link in all of a class, of which a single filter is refreshed there."""
        table = self._plane.table
        if not table.wholes or is_whole(refreshed):
            return None
        interest = table.wholes.get(class_of(refreshed.filter))
        return interest if interest is not None and table.has(link, interest) else None

    def _objection(self, link: int, class_: FilterClass) -> Delta:
        return NOTHING if self.on(link).floods(class_) else Delta(gone=(whole(class_),))
