"""When clients were there, and what their homes knew."""

from __future__ import annotations

import math

from chapar_sim.history import Span, Subscription
from chapar_sim.spells import Disturbance
from tracebook import BOUNDS, Tracebook

WORD = BOUNDS.session()


def only(book: Tracebook, client: str) -> Subscription:
    (found,) = book.case().history.subscriptions[client]
    return found


def test_a_home_knows_a_subscription_once_its_client_is_on() -> None:
    """What is asked for while OFF is told at the next ON, and stands for the home through later absences."""
    book = Tracebook(nodes=1, end=100).presence(10, 1, on=False).wants(20, 1).presence(30, 1, on=True)
    book.presence(50, 1, on=False)
    assert only(book, "c1").told == (Span(30 + WORD, math.inf),)


def test_a_moment_of_presence_tells_nothing() -> None:
    """A client that is ON for less than a session takes may not have been heard."""
    book = Tracebook(nodes=1, end=100).presence(10, 1, on=False).wants(20, 1)
    book.presence(30, 1, on=True).presence(30.1, 1, on=False).presence(60, 1, on=True)
    assert only(book, "c1").told == (Span(60 + WORD, math.inf),)


def test_a_lost_disk_forgets_until_the_client_is_back() -> None:
    """After its disk is lost a home knows a subscription when the client is ON again; a kept disk forgets nothing."""
    book = Tracebook(nodes=1, end=100).wants(0, 1)
    book.daemon(20, 1, up=False).daemon(25, 1, up=True)
    book.daemon(40, 1, up=False, disk=False).daemon(50, 1, up=True)
    assert only(book, "c1").told == (Span(WORD, 40), Span(50 + WORD, math.inf))


def test_an_end_that_nobody_was_told_of_is_open() -> None:
    """A subscription given up while OFF is gone for the home only when the client is ON again."""
    book = Tracebook(nodes=1, end=100).wants(0, 1).presence(10, 1, on=False).leaves(20, 1).presence(70, 1, on=True)
    assert only(book, "c1").asked == Span(0, 20)
    assert only(book, "c1").told == (Span(WORD, 20),)
    assert only(book, "c1").gone == 70 + WORD


def test_a_paused_daemon_hears_nothing() -> None:
    """While its daemon hangs, a client that is ON is not heard."""
    book = Tracebook(nodes=1, end=100).wants(20, 1)
    book.disturbances = [Disturbance(15, 1, 40, forgets=False)]
    assert only(book, "c1").told == (Span(40 + WORD, math.inf),)


def test_publications_wait_for_their_home() -> None:
    """An event published while OFF is taken when the client is ON; its content carries id and sender."""
    book = Tracebook(nodes=2, end=100).presence(10, 2, on=False).presence(30, 2, on=True)
    id_ = book.publish(20, 2, lifetime=60)
    publication = book.case().history.publications[id_]
    assert (publication.asked, publication.taken, publication.lifetime) == (20, 30 + WORD, 60)
    assert (publication.event.id, publication.event.value("sender")) == (id_, 2)


def test_daemons_run_from_the_beginning_unless_seen_to_start() -> None:
    """A node without any change ran all the time; one whose first change is a start did not run before."""
    book = Tracebook(nodes=3, end=100).daemon(10, 2, up=True).daemon(20, 3, up=False)
    history = book.case().history
    assert [history.up(node) for node in (1, 2, 3)] == [[Span(0, 100)], [Span(10, 100)], [Span(0, 20)]]


def test_an_empty_disk_is_lost_once() -> None:
    """The first start finds no disk, and the start after a crash without one finds none either: neither is a loss."""
    book = Tracebook(nodes=2, end=100).daemon(0, 1, up=True, disk=False).daemon(20, 1, up=False, disk=False)
    book.daemon(30, 1, up=True, disk=False).daemon(40, 1, up=False).daemon(50, 1, up=True, disk=False)
    assert book.case().history.wipes == {1: [20, 50]}
