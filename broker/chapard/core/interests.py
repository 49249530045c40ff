"""The filters of this home, reduced by identity and covering, under the version that only the home raises.

Equal filters of several clients count once. A filter that another one of this home covers is not announced; when the
covering one leaves, what it hid is announced. Each announcement raises the version by one. Whoever holds another
version, or another digest at this version, is wrong by definition; if it holds a higher one (a corrupted table), the
home raises its own above it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from chapar.filter import Op
from chapard.core.fmt import filters_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.filter import Filter

COUNTER_BITS = 24
"""Versions of one incarnation: sixteen million changes before the next incarnation's range begins."""
MAX_VERSION = 2**62
"""A version beyond this is absurd: raising above it would use up the numbers."""


class Announcement(NamedTuple):
    """A step of the announced set: filters added to version `base`, or taken from it."""

    base: int
    version: int
    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class Interests:
    """What the clients of this home want. Each change returns the announcements it causes, in order."""

    def __init__(self, incarnation: int, version: int = 0) -> None:
        self.version = version
        self._floor = incarnation << COUNTER_BITS
        self._wanted: Counter[Filter] = Counter()
        self._announced: dict[Filter, None] = {}
        self._digest = 0
        """That of the announced filters, kept up to date: every beacon carries it."""
        self._by_subject: dict[object, dict[Filter, frozenset[str]]] = {}
        """The announced filters by the subject they ask for, under None those that ask for no certain one.

        With each the names it has constraints on: it covers no filter that has none on one of them.
        """
        self._hopeless: dict[Filter, None] = {}
        """Announced filters that no event can match: any other covers them."""

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def digest(self) -> int:
        return self._digest

    def announced(self) -> tuple[Filter, ...]:
        return tuple(self._announced)

    def add(self, filter: Filter) -> list[Announcement]:  # noqa: A002 - the field's own noun
        """A client wants this."""
        self._wanted[filter] += 1
        if self._wanted[filter] > 1 or self._is_covered(filter):
            return []
        hidden = self._uncover(filter)
        return self._steps(added=(filter,), removed=hidden)

    def remove(self, filter: Filter) -> list[Announcement]:  # noqa: A002 - the field's own noun
        """A client no longer wants this."""
        self._wanted[filter] -= 1
        if self._wanted[filter] > 0:
            return []
        del self._wanted[filter]
        if filter not in self._announced:
            return []
        self._conceal(filter)
        shown: dict[Filter, None] = {}
        for each in self._wanted:
            if each not in self._announced and filter.covers(each) and not self._is_covered(each):
                for hidden in self._uncover(each):
                    shown.pop(hidden, None)
                shown[each] = None
        return self._steps(added=tuple(shown), removed=(filter,))

    def restore(self, filters: Iterable[Filter]) -> None:
        """After a restart: what the clients want, under the version it had. Nothing is announced anew."""
        for each in filters:
            self._wanted[each] += 1
            if self._wanted[each] == 1 and not self._is_covered(each):
                self._uncover(each)

    def contradicted(self, version: int) -> None:
        """Somebody holds `version` with other filters than ours: go above it."""
        if self.version <= version < MAX_VERSION:
            self.version = version + 1

    def _steps(self, added: tuple[Filter, ...], removed: tuple[Filter, ...]) -> list[Announcement]:
        """What comes is announced before what goes, so that no version lacks a filter that is wanted throughout."""
        steps = []
        for more, less in ((added, ()), ((), removed)):
            if more or less:
                base, self.version = self.version, max(self.version, self._floor) + 1
                steps.append(Announcement(base, self.version, more, less))
        return steps

    def _is_covered(self, filter: Filter) -> bool:  # noqa: A002 - the field's own noun
        """Whether an announced filter covers this one.

        It must ask for the same subject, or for no certain one; only filters that pin their subject down in a
        roundabout way, or can match nothing, are covered by others too.
        """
        subject = _subject_of(filter)
        has_subject = any(c.name == "subject" for c in filter.constraints)
        if not filter.satisfiable or (has_subject and subject is None):
            return any(each.covers(filter) for each in self._announced)
        places = (subject, None) if has_subject else (None,)
        names = _names_of(filter)
        return any(
            asked <= names and each.covers(filter)
            for place in places
            for each, asked in self._by_subject.get(place, {}).items()
        )

    def _uncover(self, filter: Filter) -> tuple[Filter, ...]:  # noqa: A002 - the field's own noun
        """Announce a filter and conceal those it covers, which are returned."""
        names = _names_of(filter)
        candidates = self._may_be_hidden_by(filter)
        hidden = tuple(each for each, asked in candidates if names <= asked and filter.covers(each))
        for each in hidden:
            self._conceal(each)
        self._announced[filter] = None
        if not filter.satisfiable:
            self._hopeless[filter] = None
        self._digest ^= filters_digest((filter,))
        self._by_subject.setdefault(_subject_of(filter), {})[filter] = names
        return hidden

    def _may_be_hidden_by(self, filter: Filter) -> Iterable[tuple[Filter, frozenset[str]]]:  # noqa: A002 - the field's own noun
        """The announced filters that this one can cover, and the names they have constraints on.

        If it asks for a certain subject, they do too somehow. Those that no event matches it covers anyway.
        """
        subject = _subject_of(filter)
        places = self._by_subject if subject is None else (subject, None)
        found = (pair for place in places for pair in self._by_subject.get(place, {}).items())
        if not self._hopeless:
            return found
        return {**dict(found), **dict.fromkeys(self._hopeless, _names_of(filter))}.items()

    def _conceal(self, filter: Filter) -> None:  # noqa: A002 - the field's own noun
        del self._announced[filter]
        self._hopeless.pop(filter, None)
        self._digest ^= filters_digest((filter,))
        place = _subject_of(filter)
        del self._by_subject[place][filter]
        if not self._by_subject[place]:
            del self._by_subject[place]


def _names_of(filter: Filter) -> frozenset[str]:  # noqa: A002 - the field's own noun
    return frozenset(c.name for c in filter.constraints)


def _subject_of(filter: Filter) -> object:  # noqa: A002 - the field's own noun
    """The subject a filter asks for by equality, None if it asks for no certain one."""
    return next((c.value for c in filter.constraints if c.name == "subject" and c.op is Op.EQ), None)
