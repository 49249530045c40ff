"""Automatic routing on one link: of each filter class, single filters as identity-based routing, or all of it.

While a class is flooded toward us, the interest in all of it stands in place of the single ones: that it is there does
not depend on who comes and goes, so neither our neighbour nor anybody behind it hears of that. Where the interest in
all of a class stands elsewhere, it goes on over this link as any other would, in place of the single ones, too. So
whatever each broker chooses, what is sent over a link admits all that is wanted elsewhere, and ordinary forwarding
brings it.

Events keep the interest in a whole class alive. It is sent again after `SILENCE` periods without any, and in any case
after `ALWAYS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapard.core.overlay.class_traffic import ALWAYS, SILENCE, ClassTraffic, prefers_flooding
from chapard.core.overlay.filter_class import class_of, whole
from chapard.core.overlay.interest import NOTHING, Delta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chapard.core.overlay.class_traffic import Estimate
    from chapard.core.overlay.filter_class import FilterClass
    from chapard.core.overlay.interest import Interest


class Choice(NamedTuple):
    """How a class is routed over a link toward us, and why."""

    link: int
    class_: FilterClass
    floods: bool
    """Whether the other end is to send us all of it."""
    forced: bool
    """Whether it must, since a broker behind us wants all of it."""
    since: float
    estimate: Estimate | None
    """None as long as too little was seen."""


class ClassState:
    """One filter class on one link."""

    def __init__(self, class_: FilterClass, period: float, now: float) -> None:
        self.whole = whole(class_)
        self.told: dict[Interest, None] = {}
        self.chosen = False
        """Whether this broker itself prefers to be sent all of the class."""
        self.since = now
        self.silence = self.age = 0
        """Periods without an event of the class, and without a refresh of the interest in all of it."""
        self.traffic = ClassTraffic(period, now)

    @property
    def forced(self) -> bool:
        return self.whole in self.told

    @property
    def floods(self) -> bool:
        return self.chosen or self.forced

    def is_due(self) -> bool:
        """A period has begun: whether the interest in the whole class is sent again."""
        self.silence += 1
        self.age += 1
        if self.silence <= SILENCE and self.age < ALWAYS:
            return False
        self.silence, self.age = 1, 0
        return True


class Auto:
    """The classes on one link."""

    unsettled = False

    def __init__(self, period: float, clock: Callable[[], float]) -> None:
        self.sent: dict[Interest, None] = {}
        self._period = period
        self._clock = clock
        self._classes: dict[FilterClass, ClassState] = {}
        self._told: dict[Interest, ClassState] = {}

    def __contains__(self, interest: Interest) -> bool:
        return interest in self._told

    def __len__(self) -> int:
        return len(self._told)

    def gained(self, interest: Interest) -> Delta:
        state = self._told[interest] = self._state(class_of(interest.filter))
        flooded = state.floods
        state.told[interest] = None
        state.traffic.stands(len(state.told), self._clock(), flooded=flooded)
        if state.floods:
            return NOTHING if flooded else self._switch(state)
        self.sent[interest] = None
        return Delta(new=(interest,))

    def lost(self, interest: Interest) -> Delta:
        state = self._told.pop(interest)
        flooded = state.floods
        del state.told[interest]
        state.traffic.stands(len(state.told), self._clock(), flooded=flooded)
        if flooded:
            return NOTHING if state.floods else self._switch(state)
        self.sent.pop(interest, None)
        return Delta(gone=(interest,))

    def settle(self) -> Delta:
        """What was sent is made right."""
        due: dict[Interest, None] = {}
        for state in self._classes.values():
            due.update({state.whole: None} if state.floods else state.told)
        new = tuple(each for each in due if each not in self.sent)
        gone = tuple(each for each in self.sent if each not in due)
        self.sent = due
        return Delta(new, gone)

    def refreshed(self) -> Iterator[Interest]:
        """A period has begun: single filters are sent again, and the whole classes for which it is time."""
        rare = {state.whole: state for state in self._classes.values() if state.floods}
        return (each for each in self.sent if each not in rare or rare[each].is_due())

    def afresh(self) -> Auto:
        """What was chosen stays so; what was seen was seen of wrong tables."""
        made = Auto(self._period, self._clock)
        for class_, state in self._classes.items():
            if state.chosen:
                made.choose(class_, flooding=True)
        return made

    # Choices

    def choices(self, link: int) -> list[Choice]:
        return [
            Choice(link, class_, state.floods, state.forced, state.since, state.traffic.estimate())
            for class_, state in self._classes.items()
        ]

    def better(self) -> Iterator[tuple[FilterClass, bool]]:
        """The classes that are to be flooded from now on, or no more, by what has been seen."""
        for class_, state in tuple(self._classes.items()):
            state.traffic.advance(self._clock(), flooded=state.floods)
            estimate = state.traffic.estimate()
            if estimate is not None and prefers_flooding(estimate, floods=state.chosen) != state.chosen:
                yield class_, not state.chosen
            elif state.traffic.is_forgotten and not state.chosen:
                del self._classes[class_]

    def choose(self, class_: FilterClass, *, flooding: bool) -> Delta:
        """Have the class flooded toward us from now on, or not."""
        state = self._state(class_)
        flooded = state.floods
        state.traffic.advance(self._clock(), flooded=flooded)
        state.chosen = flooding
        return NOTHING if state.floods == flooded else self._switch(state)

    def floods(self, class_: FilterClass) -> bool:
        return class_ in self._classes and self._classes[class_].floods

    def heard(self, classes: tuple[FilterClass, ...], *, wanted: bool) -> None:
        """An event of these classes has come over the link."""
        for class_ in classes:
            state = self._classes.get(class_)
            if state is not None:
                state.silence = 0
                state.traffic.notified(wanted=wanted, flooded=state.floods)

    def _state(self, class_: FilterClass) -> ClassState:
        if class_ not in self._classes:
            self._classes[class_] = ClassState(class_, self._period, self._clock())
        return self._classes[class_]

    def _switch(self, state: ClassState) -> Delta:
        """A class is flooded from now on, or no more: what was sent of it is replaced.

        If no event of it comes in the next period, the interest in all of it may have been lost, and is sent again.
        """
        state.since, state.silence, state.age = self._clock(), SILENCE - 1, 0
        single, all_of_it = tuple(each for each in state.told if each != state.whole), (state.whole,)
        new, gone = (all_of_it, single) if state.floods else (single, all_of_it)
        for each in gone:
            self.sent.pop(each, None)
        self.sent.update(dict.fromkeys(new))
        return Delta(new, gone)
