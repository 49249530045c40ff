"""What the oracle claims, and what it must not claim. Claims are checked against the simplest networks there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar_sim.bounds import Bounds
from chapar_sim.spells import Disturbance
from tracebook import BOUNDS, QUICK, Tracebook

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapar_sim.oracle import Claim

SETTLE, SPREAD, DELIVER = BOUNDS.settle(1), BOUNDS.spread(1), BOUNDS.deliver(1)
LONG = 1000.0
"""Seconds that are enough for everything."""


def memorised(book: Tracebook, id_: EventId, client: str) -> Claim | None:
    case = book.case()
    return case.oracle.memorised(case.history.publications[id_], client)


def realtime(book: Tracebook, id_: EventId, client: str) -> Claim | None:
    case = book.case()
    return case.oracle.realtime(case.history.publications[id_], client)


def test_two_nodes_that_stay_together() -> None:
    """In a quiet network a subscriber is owed a memorised event, within the stated times."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(0, 2)
    claim = memorised(book, book.publish(50, 1, lifetime=500), "c2")
    assert claim is not None
    assert claim.queued == pytest.approx(50 + BOUNDS.session() + SPREAD + DELIVER)


def test_who_did_not_ask_is_owed_nothing() -> None:
    """No subscription, one that does not match, or an address elsewhere: no claim."""
    book = Tracebook(nodes=3, end=LONG).chain().wants(0, 2, 'subject = "other"').wants(0, 3)
    assert memorised(book, book.publish(50, 1, lifetime=500), "c2") is None
    assert memorised(book, book.publish(50, 1, lifetime=500), "c1") is None
    assert memorised(book, book.publish(50, 1, lifetime=500, to=(2,)), "c3") is None
    assert memorised(book, book.publish(50, 1, lifetime=500, to=(3,)), "c3") is not None


def test_contact_that_is_too_short_owes_nothing() -> None:
    """A home that is no broker must stay for settling and serving; a second less is no promise."""
    enough = BOUNDS.settle(2) + BOUNDS.deliver(2) + 0.1
    for length, is_owed in ((enough, True), (enough - 1, False)):
        book = Tracebook(nodes=3, end=LONG).links(0).chain(100).links(100 + length).wants(0, 3)
        assert (memorised(book, book.publish(50, 1, lifetime=900), "c3") is not None) == is_owed


def test_an_event_must_live_long_enough() -> None:
    """Contact after, or only just before, the event expires owes nothing."""
    for lifetime, is_owed in ((60.0, False), (50 + SETTLE, False), (60 + SETTLE + DELIVER + BOUNDS.drain(), True)):
        book = Tracebook(nodes=2, end=LONG).links(0).links(100, (1, 2)).wants(0, 2)
        assert (memorised(book, book.publish(50, 1, lifetime=lifetime), "c2") is not None) == is_owed


def test_a_late_subscriber_is_owed_what_still_lives() -> None:
    """A subscription made long after the publication is served from memory (instant notification)."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(300, 2)
    claim = memorised(book, book.publish(50, 1, persistent=True), "c2")
    assert claim is not None
    assert claim.queued >= 300 + DELIVER


def test_a_client_must_come_back_before_the_event_expires() -> None:
    """An OFF client's queue keeps the event; it is owed if the client is ON for long enough while the event lives."""
    for back, is_owed in ((400.0, True), (700.0, False)):
        book = Tracebook(nodes=2, end=LONG).chain().wants(0, 2).presence(20, 2, on=False).presence(back, 2, on=True)
        assert (memorised(book, book.publish(50, 1, lifetime=600), "c2") is not None) == is_owed


def courier(*, publisher_returns: bool = False) -> Tracebook:
    """Node 1 publishes to its neighbour 2 and is gone; 2 then meets 3, and 3 later meets 4."""
    book = Tracebook(nodes=4, end=LONG).wants(0, 4)
    book.links(0, (1, 2)).links(100, (2, 3)).links(300, (3, 4))
    return book.links(500, (1, 4)) if publisher_returns else book.links(500)


def test_brokers_carry_events_onwards() -> None:
    """A full mesh of two makes both brokers, so an event travels with 2 to 3, and with 3 to 4."""
    book = courier()
    claim = memorised(book, book.publish(10, 1, lifetime=900), "c4")
    assert claim is not None
    assert claim.haven.nodes == {3, 4}


def test_a_carrier_that_forgot_carries_nothing() -> None:
    """A lost disk, or corrupted tables, end what a broker is trusted to hold."""
    wiped = courier().daemon(90, 2, up=False, disk=False).daemon(95, 2, up=True)
    assert memorised(wiped, wiped.publish(10, 1, lifetime=900), "c4") is None
    upset = courier()
    upset.disturbances = [Disturbance(99, 2, 99, forgets=True)]
    assert memorised(upset, upset.publish(10, 1, lifetime=900), "c4") is None
    kept = courier().daemon(90, 2, up=False).daemon(93, 2, up=True)
    assert memorised(kept, kept.publish(10, 1, lifetime=900), "c4") is not None


def test_the_publishers_home_holds_its_events_for_good() -> None:
    """The home of the publisher delivers in person, unless its disk was lost."""
    book = courier(publisher_returns=True).daemon(90, 2, up=False, disk=False).daemon(95, 2, up=True)
    id_ = book.publish(10, 1, lifetime=900)
    assert memorised(book, id_, "c4") is not None
    book.daemon(300, 1, up=False, disk=False).daemon(310, 1, up=True)
    assert memorised(book, id_, "c4") is None


def dismissed(*, stay: float) -> Tracebook:
    """Broker 9 carries an event of node 1 into a chain, as a leaf, for `stay` seconds; then it leaves again."""
    chain = ((3, 4), (4, 5), (5, 6), (6, 7))
    book = Tracebook(nodes=9, end=LONG).wants(0, 3).links(0, (1, 9), *chain).links(100, (7, 9), *chain)
    return book.links(100 + stay, *chain)


def test_a_dismissed_broker_is_given_time_to_check_out() -> None:
    """What only a dismissed broker holds reaches the brokers after DTT; a stay shorter than that promises nothing."""
    spread = BOUNDS.settle(5) + BOUNDS.check_out()
    for stay, is_owed in ((spread + 0.1, True), (spread - 1, False)):
        book = dismissed(stay=stay)
        assert (memorised(book, book.publish(10, 1, persistent=True), "c3") is not None) == is_owed


def test_a_broker_dismissed_for_longer_than_dtt_is_not_trusted() -> None:
    """Between spells a copy counts for the dismissal time only."""
    for gap, is_owed in ((QUICK.dismissal_time - 1, True), (QUICK.dismissal_time + 1, False)):
        book = Tracebook(nodes=3, end=LONG, clients=(1, 2, 3)).wants(0, 3).links(0, (1, 2))
        book.links(100, one_way=((1, 2),)).daemon(100, 2, up=False).daemon(100 + gap, 2, up=True)
        book.links(100 + gap, (2, 3))
        assert (memorised(book, book.publish(10, 1, lifetime=900), "c3") is not None) == is_owed


def test_a_home_that_lost_its_disk_may_have_confirmed() -> None:
    """What a home may have confirmed before its disk was lost is not owed; what it cannot have had is."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(0, 2).presence(20, 2, on=False)
    before = book.publish(50, 1, lifetime=900)
    book.daemon(200, 2, up=False, disk=False).daemon(210, 2, up=True)
    after = book.publish(300, 1, lifetime=600)
    assert memorised(book, before, "c2") is None
    assert memorised(book, after, "c2") is not None


def test_a_home_that_was_away_cannot_have_confirmed() -> None:
    """A home cut off from publication until its disk was lost is owed the event still."""
    book = Tracebook(nodes=2, end=LONG).links(0).wants(0, 2)
    id_ = book.publish(50, 1, lifetime=900)
    book.daemon(200, 2, up=False, disk=False).daemon(210, 2, up=True).links(220, (1, 2))
    assert memorised(book, id_, "c2") is not None


def test_a_node_without_chapard_breaks_the_promise_of_memory() -> None:
    """A network with a node that has no chapard owes memorised events to nobody but the publisher's own node."""
    book = Tracebook(nodes=3, end=LONG, clients=(1, 2)).chain().wants(0, 1).wants(0, 2)
    book.plain = frozenset({3})
    id_ = book.publish(50, 1, lifetime=900)
    assert memorised(book, id_, "c2") is None
    assert memorised(book, id_, "c1") is not None


def test_realtime_needs_a_network_that_has_settled() -> None:
    """A real-time event is owed in a network unchanged since the settle time and until it was crossed."""
    for t, is_owed in ((90.0, False), (99 + SETTLE, False), (101 + SETTLE, True), (200 - BOUNDS.crossing(1), False)):
        book = Tracebook(nodes=2, end=LONG).links(0).links(100, (1, 2)).links(200).wants(0, 2)
        assert (realtime(book, book.publish(t, 1), "c2") is not None) == is_owed


def test_realtime_needs_a_subscription_that_has_settled() -> None:
    """A subscription that may not have spread yet owes no real-time event; an OFF client's queue still does."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(100, 2).presence(150, 2, on=False).presence(300, 2, on=True)
    known = 100 + BOUNDS.session() + SPREAD
    assert realtime(book, book.publish(known - 0.1, 1), "c2") is None
    assert realtime(book, book.publish(known + 0.1, 1), "c2") is not None
    assert realtime(book, book.publish(160, 1), "c2") is not None


def test_fire_and_forget_owes_nothing_on_lossy_links() -> None:
    """Without hop acknowledgements a loss on the air is nobody's fault."""
    config = type(QUICK)(hop_ack=False, refresh_period=2.0, subscription_lease=20.0)
    for loss, is_owed in ((0.0, True), (0.1, False)):
        book = Tracebook(nodes=2, end=LONG, bounds=Bounds(config, loss=loss)).chain().wants(0, 2)
        assert (realtime(book, book.publish(500, 1), "c2") is not None) == is_owed


def test_addressed_events_cross_nodes_without_chapard() -> None:
    """An event with an address needs no tables, so a node without chapard on its way is no excuse."""
    book = Tracebook(nodes=3, end=LONG, clients=(1, 3)).chain().wants(0, 3)
    book.plain = frozenset({2})
    assert realtime(book, book.publish(500, 1, to=(3,)), "c3") is not None
    assert realtime(book, book.publish(500, 1), "c3") is None


def test_an_event_published_while_off_is_no_realtime_case() -> None:
    """When exactly a home took an event that waited for it is not known, so nothing is claimed."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(0, 2).presence(400, 1, on=False).presence(500, 1, on=True)
    assert realtime(book, book.publish(450, 1), "c2") is None
