"""What is recorded and shown of the links of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapard.core.effects import InterestRow
from chapard.core.overlay.interest import Topic

if TYPE_CHECKING:
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


def interest_row(link: int, direction: str, change: Change, interest: Interest) -> InterestRow:
    """The recorder's row for one interest message on a link."""
    return InterestRow(None, interest.filter.fid, change.value, link, direction)


def figures(broker: TreeBroker) -> list[LinkFigures]:
    """All configured links, by neighbour."""
    return [_figures(broker, link) for link in broker.neighbours]


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
