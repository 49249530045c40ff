"""What is recorded and shown of the links of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapard.core.effects import InterestRow
from chapard.core.overlay.interest import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.filter import Filter
    from chapard.core.overlay.broker import TreeBroker
    from chapard.core.overlay.interest import Change, Interest


class LinkFigures(NamedTuple):
    """One link of a broker, and its tables."""

    neighbour: int
    is_up: bool
    subscriptions_received: int
    subscriptions_sent: int
    advertisements_received: int
    advertisements_sent: int
    loops: int
    """Events that came over it and had been here over another link."""


class LinkFilters(NamedTuple):
    """The subscriptions that stand over one link."""

    neighbour: int | None
    """None: our own clients'."""
    received: tuple[Filter, ...]
    sent: tuple[Filter, ...]


def interest_row(link: int, direction: str, change: Change, interest: Interest) -> InterestRow:
    """The recorder's row for one interest message on a link."""
    return InterestRow(None, interest.filter.fid, change.value, link, direction)


def figures(broker: TreeBroker) -> list[LinkFigures]:
    """All configured links, by neighbour."""
    return [_figures(broker, link) for link in broker.neighbours]


def filters(broker: TreeBroker) -> list[LinkFilters]:
    """Those of our own clients, and of each link that is up."""
    plane, here = broker.router.plane(Topic.SUBSCRIPTIONS), broker.router.index
    own = LinkFilters(None, _of(plane.table.received(here)), ())
    links = broker.router.links
    return [own, *(LinkFilters(each, _of(plane.table.received(each)), _of(plane.sent(each))) for each in links)]


def _of(interests: Iterable[Interest]) -> tuple[Filter, ...]:
    return tuple(each.filter for each in interests)


def _figures(broker: TreeBroker, link: int) -> LinkFigures:
    is_up = broker.meetings.is_up(link)
    plane = broker.router.plane
    subscriptions, advertisements = plane(Topic.SUBSCRIPTIONS), plane(Topic.ADVERTISEMENTS)
    return LinkFigures(
        neighbour=link,
        is_up=is_up,
        subscriptions_received=subscriptions.table.count(link),
        subscriptions_sent=len(subscriptions.sent(link)) if is_up else 0,
        advertisements_received=advertisements.table.count(link),
        advertisements_sent=len(advertisements.sent(link)) if is_up else 0,
        loops=broker.loops[link],
    )
