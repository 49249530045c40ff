"""What brokers of a tree tell each other, and what a broker wants done."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chapar.event import Event
    from chapar.filter import Filter


class Subscriber(NamedTuple):
    """A client, by its home's index and its name there."""

    home: int
    client: str


class Interest(NamedTuple):
    """One row of a routing table. Only simple routing tells the subscribers of equal filters apart."""

    filter: Filter
    subscriber: Subscriber | None = None


class Topic(StrEnum):
    """The two routing tables of a broker (1.4.2)."""

    SUBSCRIPTIONS = "subscriptions"
    ADVERTISEMENTS = "advertisements"


class Change(StrEnum):
    """What an interest message says of its interest."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    REFRESH = "refresh"
    EXPIRE = "expire"
    """Nobody said it: the interest was not refreshed."""


class Tell(NamedTuple):
    """Send an interest message over a link."""

    link: int
    topic: Topic
    change: Change
    interest: Interest


class Expired(NamedTuple):
    """What was received over a link is forgotten, as it was not refreshed."""

    link: int
    topic: Topic
    interest: Interest


class Forward(NamedTuple):
    """Send an event over a link."""

    link: int
    event: Event


class Deliver(NamedTuple):
    """Hand an event to the broker's own clients that want it."""

    event: Event


class Delta(NamedTuple):
    """A change of what is sent over one link. What is new goes first, so that no event falls between the two."""

    new: tuple[Interest, ...] = ()
    gone: tuple[Interest, ...] = ()


NOTHING = Delta()
