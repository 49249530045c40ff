"""Classes of filters: what `auto` chooses for, flooding or filtering.

Filters that ask for the same subject and the same type are one class, whatever else they ask for; those that ask for a
subject only, for a type only, or for neither, are classes of their own. An event belongs to up to four classes.

To have a class flooded over a link, a broker sends an interest in all of it. That is an ordinary interest, with the
broker instead of a client behind it, and it stands however often the interests in parts of the class come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.constraint import Op
from chapar.filter import Filter
from chapard.core.overlay.interest import Interest, Subscriber

if TYPE_CHECKING:
    from chapar.event import Event

_BROKER: Final = Subscriber(0, "/")
"""Names no client: clients' names have no slash. It travels like any other name."""


class FilterClass(NamedTuple):
    """The subject and the type that filters ask for; None where they ask for none."""

    subject: str | None
    type: str | None

    @property
    def filter(self) -> Filter:
        """What admits all that any filter of the class admits."""
        return Filter(subject=self.subject, type=self.type)


def class_of(filter_: Filter) -> FilterClass:
    asked: dict[str, str] = {}
    for each in filter_.constraints:
        if each.op is Op.EQ and each.name in {"subject", "type"} and isinstance(each.value, str):
            # Of several values, which no event has, any makes a class that covers the filter.
            asked[each.name] = each.value
    return FilterClass(asked.get("subject"), asked.get("type"))


def classes_of(event: Event) -> tuple[FilterClass, ...]:
    """The classes that the event belongs to, by the filter of each."""
    subjects = (None,) if event.subject is None else (event.subject, None)
    types = (None,) if event.type is None else (event.type, None)
    return tuple(FilterClass(subject, type_) for subject in subjects for type_ in types)


def whole(class_: FilterClass) -> Interest:
    """The interest in all of a class."""
    return Interest(class_.filter, _BROKER)


def is_whole(interest: Interest) -> bool:
    return interest.subscriber == _BROKER
