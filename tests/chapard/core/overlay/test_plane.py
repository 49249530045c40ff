"""A plane: which links learn of an interest, of its end, and of its refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.filter import Filter
from chapard.core.overlay.identity import Identity
from chapard.core.overlay.interest import Change, Expired, Interest, Tell, Topic
from chapard.core.overlay.merging import Merging
from chapard.core.overlay.plane import Plane
from chapard.core.overlay.routing_table import MISSED_PERIODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapard.core.overlay.forwarding import Forwarding

HERE = 0
F, G = (Interest(Filter(subject=name)) for name in "fg")


class Fixture:
    """A plane with links 1, 2 and 3."""

    def __init__(self, algorithm: Callable[[], Forwarding] = Identity, topic: Topic = Topic.SUBSCRIPTIONS) -> None:
        self.wanted = {1, 2, 3, 4}
        self.effects: list[Tell | Expired] = []
        self.plane = Plane(topic, algorithm, lambda link, _: link in self.wanted, self.effects)
        for link in (1, 2, 3):
            self.plane.open(link)

    def said(self) -> list[tuple[int, str, Interest]]:
        """Link, change and interest of what was said since this was last asked."""
        said = list(self.effects)
        self.effects.clear()
        return [(each.link, each.change.value if isinstance(each, Tell) else "expire", each.interest) for each in said]


def test_news_goes_to_every_other_link() -> None:
    fixture = Fixture()
    assert fixture.plane.take(1, F)
    assert fixture.said() == [(2, "subscribe", F), (3, "subscribe", F)]
    assert not fixture.plane.take(1, F)
    assert fixture.said() == []


def test_a_second_holder_is_told_to_the_first_only() -> None:
    """The others know already; the first one has it from us for the first time."""
    fixture = Fixture()
    fixture.plane.take(1, F)
    fixture.said()
    fixture.plane.take(2, F)
    assert fixture.said() == [(1, "subscribe", F)]
    fixture.plane.take(HERE, F)
    assert fixture.said() == []


def test_the_end_is_told_when_nobody_else_holds_it() -> None:
    fixture = Fixture()
    for link in (1, 2, HERE):
        fixture.plane.take(link, F)
    fixture.said()
    assert fixture.plane.drop(HERE, F)
    assert fixture.said() == []
    fixture.plane.drop(2, F)
    assert fixture.said() == [(1, "unsubscribe", F)]
    fixture.plane.drop(1, F)
    assert fixture.said() == [(2, "unsubscribe", F), (3, "unsubscribe", F)]
    assert not fixture.plane.drop(1, F)


def test_only_wanted_links_are_told() -> None:
    """What begins to be wanted later is told then, and withdrawn when it is wanted no more."""
    fixture = Fixture()
    fixture.wanted = {2}
    fixture.plane.take(1, F)
    assert fixture.said() == [(2, "subscribe", F)]
    fixture.wanted = {3}
    fixture.plane.reconsider(3)
    assert fixture.said() == [(3, "subscribe", F)]
    fixture.plane.reconsider(2)
    assert fixture.said() == [(2, "unsubscribe", F)]
    fixture.plane.reconsider(1)
    fixture.plane.drop(1, F)
    assert fixture.said() == [(3, "unsubscribe", F)]


def test_a_link_that_comes_is_told_what_stands() -> None:
    """Merging gathers nothing first: it is all there."""
    for algorithm in (Identity, Merging):
        fixture = Fixture(algorithm)
        fixture.plane.take(1, F)
        fixture.plane.settle()
        fixture.said()
        fixture.plane.open(4)
        assert fixture.said() == [(4, "subscribe", F)]
        assert not fixture.plane.unsettled


def test_a_link_that_goes_takes_with_it_what_it_told() -> None:
    fixture = Fixture()
    fixture.plane.take(1, F)
    fixture.plane.take(2, G)
    fixture.said()
    assert fixture.plane.close(1) == (F,)
    assert fixture.said() == [(2, "unsubscribe", F), (3, "unsubscribe", F)]
    fixture.plane.take(3, F)
    assert fixture.said() == [(2, "subscribe", F)]


def test_a_refresh_sends_what_stands_and_mends_what_was_sent() -> None:
    fixture = Fixture()
    fixture.plane.take(1, F)
    fixture.plane.forwarding(2).lost(F)
    fixture.plane.forwarding(3).gained(G)
    fixture.said()
    fixture.plane.refresh()
    assert fixture.said() == [(2, "subscribe", F), (3, "refresh", F), (3, "unsubscribe", G)]
    assert list(fixture.plane.sent(2)) == list(fixture.plane.sent(3)) == [F]


def test_what_is_not_refreshed_expires_with_what_followed_from_it() -> None:
    fixture = Fixture()
    fixture.plane.take(1, F)
    fixture.plane.take(HERE, G)
    fixture.said()
    for _ in range(MISSED_PERIODS):
        assert fixture.plane.expire() == []
    assert fixture.plane.expire() == [(1, F)]
    assert fixture.said() == [(1, "expire", F), (2, "unsubscribe", F), (3, "unsubscribe", F)]
    assert fixture.plane.table.received(HERE) == (G,), "our own clients need no refresh"


def test_advertisements_are_told_in_their_own_words() -> None:
    fixture = Fixture(topic=Topic.ADVERTISEMENTS)
    fixture.plane.take(HERE, F)
    fixture.plane.drop(HERE, F)
    changes = (Change.ADVERTISE, Change.UNADVERTISE)
    assert fixture.effects == [Tell(link, Topic.ADVERTISEMENTS, change, F) for change in changes for link in (1, 2, 3)]


def test_a_refresh_ends_a_gathering() -> None:
    fixture = Fixture(Merging)
    fixture.plane.take(1, F)
    fixture.plane.refresh()
    assert fixture.said() == [(2, "subscribe", F), (3, "subscribe", F)]
    assert not fixture.plane.unsettled


def test_gathered_filters_go_together() -> None:
    fixture = Fixture(Merging)
    fixture.plane.take(1, F)
    fixture.plane.take(1, G)
    assert fixture.said() == []
    assert fixture.plane.unsettled
    fixture.plane.settle()
    both = Interest(Filter.parse('subject in ("f", "g")'))
    assert fixture.said() == [(2, "subscribe", both), (3, "subscribe", both)]
    assert not fixture.plane.unsettled
