"""Adverts: what is published or kept is advertised, once, and for long enough."""

from __future__ import annotations

from chapar import Event, Filter
from chapard.core.overlay.adverts import MOST, Adverts

LEASE = 100.0
POSITION = Event(subject="position", type="gps", attributes={"speed": 3})
ADVERT = Filter(subject="position", type="gps")


def test_an_advert_asks_for_what_the_events_have_in_common() -> None:
    """Subject, type and group; it is new once, and the next event like it says nothing new."""
    adverts = Adverts(LEASE)
    assert adverts.use(POSITION, 0.0) == ADVERT
    assert adverts.use(Event(subject="position", type="gps", attributes={"speed": 9}), 1.0) is None
    assert adverts.use(Event(group="crew"), 1.0) == Filter(group="crew")


def test_an_advert_ends_a_lease_after_its_last_use() -> None:
    """Each use puts the end off."""
    adverts = Adverts(LEASE)
    adverts.use(POSITION, 0.0)
    adverts.use(POSITION, 60.0)
    assert adverts.next_deadline() == 160.0
    assert adverts.expire([], 159.0) == []
    assert adverts.expire([], 160.0) == [ADVERT]
    assert adverts.use(POSITION, 161.0) == ADVERT


def test_an_advert_stands_while_an_event_of_it_is_kept() -> None:
    """Subscriptions must find what is kept here."""
    adverts = Adverts(LEASE)
    adverts.use(POSITION, 0.0)
    assert adverts.expire([POSITION], 100.0) == []
    assert adverts.expire([], 200.0) == [ADVERT]


def test_many_names_make_one_advert_of_everything() -> None:
    """A client with a subject for each event does not fill the tables of the network."""
    adverts = Adverts(LEASE)
    news = [adverts.use(Event(subject=f"s{number}"), 0.0) for number in range(MOST + 5)]
    assert news[MOST - 1 : MOST + 2] == [Filter(subject=f"s{MOST - 1}"), Filter(), None]
    assert adverts.expire([Event(subject="one too many")], LEASE)[-1] != Filter()
