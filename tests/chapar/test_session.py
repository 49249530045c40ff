"""The client's end of a session: nothing twice, nothing out of order, nothing forgotten."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Event, EventId, event_id
from chapar.filter import Filter
from chapar.session import (
    PUBLISH_WINDOW,
    SEEN_LIMIT,
    Acknowledge,
    ClientSession,
    Close,
    Deliver,
    Goodbye,
    Message,
    Open,
    Opened,
    Ping,
    Publish,
    Receipt,
    Refused,
    Subscribe,
    Unsubscribe,
)

EPOCH = 7
A, B = Filter(subject="a"), Filter(subject="b")


def delivery(number: int, after: int, sequence: int | None = None, epoch: int = EPOCH) -> Deliver:
    """Delivery `number`: event `sequence` of some publisher."""
    made = Event(subject="a").accepted(id=event_id(1, 1, number if sequence is None else sequence))
    return Deliver(epoch, number, after, made.encode())


def opened(epoch: int = EPOCH, *, resumed: bool = True, subscriptions: tuple[int, ...] = ()) -> Opened:
    return Opened(epoch, resumed, 0, subscriptions)


def on() -> ClientSession:
    """A session that has just come ON, with nothing left to send."""
    session = ClientSession()
    session.open()
    session.received(opened(resumed=False))
    session.requests()
    return session


def sequences(events: list[Event]) -> list[int]:
    return [event.id[-1] + 256 * event.id[-2] for event in events if event.id is not None]


# Deliveries


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Deliver], list[Deliver]]:
    """Deliveries as their home numbered them, some dropped there; and how they arrive, repeated and shuffled."""
    kept = sorted(draw(st.sets(st.integers(1, 30))))
    sent = [delivery(number, before) for before, number in zip([0, *kept], kept, strict=False)]
    extra = draw(st.lists(st.sampled_from(sent), max_size=10)) if sent else []
    arriving = draw(st.permutations([*sent, *extra]))
    return sent, arriving


@given(streams())
def test_deliveries_reach_the_application_once_and_in_order(stream: tuple[list[Deliver], list[Deliver]]) -> None:
    """Whatever order and repetitions they arrive in; each is confirmed as far as there is no gap before it."""
    sent, arriving = stream
    session = on()
    got: list[int] = []
    arrived: set[int] = set()
    for message in arriving:
        got += sequences(session.received(message))
        arrived.add(message.number)
        unbroken = 0
        for each in sent:
            if each.number not in arrived:
                break
            unbroken = each.number
        assert session.requests() == [Acknowledge(EPOCH, unbroken)]
        assert got == [each.number for each in sent if each.number <= unbroken]
    assert got == [each.number for each in sent]


def test_a_repetition_is_confirmed_again_and_dropped() -> None:
    """The home repeats because it has not heard the confirmation."""
    session = on()
    assert sequences(session.received(delivery(5, 0))) == [5]
    for _ in range(2):
        assert session.received(delivery(5, 0)) == []
    assert session.requests() == [Acknowledge(EPOCH, 5)] * 3


def test_a_delivery_of_another_epoch_is_neither_taken_nor_confirmed() -> None:
    """It comes from a session that is no more."""
    session = on()
    assert session.received(delivery(1, 0, epoch=EPOCH - 1)) == []
    assert session.requests() == []


def test_a_new_epoch_starts_at_1_and_brings_no_event_again() -> None:
    """A home that lost its disk numbers anew and may serve again; events are known by their id."""
    session = on()
    session.received(delivery(10, 0, sequence=1))
    session.received(delivery(12, 11, sequence=2))
    session.received(opened(EPOCH + 1, resumed=False))
    session.requests()
    assert session.received(delivery(1, 0, sequence=1, epoch=EPOCH + 1)) == []
    assert sequences(session.received(delivery(2, 1, sequence=2, epoch=EPOCH + 1))) == [2]
    assert sequences(session.received(delivery(3, 2, sequence=3, epoch=EPOCH + 1))) == [3]
    assert session.requests()[-1] == Acknowledge(EPOCH + 1, 3)
    session.open()
    assert session.requests() == [Open(EPOCH + 1)]


def test_what_had_come_ahead_in_an_old_epoch_is_forgotten() -> None:
    """Its number means another delivery now."""
    session = on()
    session.received(delivery(3, 2, sequence=30))
    session.received(opened(EPOCH + 1, resumed=False))
    got = [session.received(delivery(number, number - 1, epoch=EPOCH + 1)) for number in (1, 2, 3)]
    assert [sequences(events) for events in got] == [[1], [2], [3]]


def test_opening_the_same_epoch_again_keeps_the_place() -> None:
    """A session that goes on continues its numbers, and what had come ahead of a gap is not forgotten."""
    session = on()
    session.received(delivery(1, 0))
    session.received(delivery(3, 2))
    session.lost()
    session.open()
    session.received(opened())
    assert sequences(session.received(delivery(2, 1))) == [2, 3]


def test_memory_of_events_is_bounded() -> None:
    """The oldest ids are forgotten first; what a home can be served again is among those that are kept."""
    session = on()
    for number in range(1, SEEN_LIMIT + 2):
        assert len(session.received(delivery(number, 0))) == 1
    session.received(opened(EPOCH + 1, resumed=False))
    assert session.received(delivery(1, 0, sequence=2, epoch=EPOCH + 1)) == []
    assert len(session.received(delivery(2, 0, sequence=1, epoch=EPOCH + 1))) == 1


# Coming and going


def test_the_epoch_is_asked_for_again() -> None:
    """A client without a session says 0; one with a session names it."""
    session = ClientSession()
    session.open()
    assert session.requests() == [Open(0)]
    session.received(opened())
    session.close()
    session.open()
    assert session.requests() == [Close(), Open(EPOCH)]
    session.ping()
    assert session.requests() == [Ping()]
    assert session.requests() == []


def test_a_client_is_on_from_the_answer_to_the_end() -> None:
    """Asking is not enough; closing, a lost connection and a daemon that stops each end it."""
    session = ClientSession()
    states = [session.is_on]
    for end in (session.close, session.lost, lambda: session.received(Goodbye())):
        session.open()
        states.append(session.is_on)
        session.received(opened())
        states.append(session.is_on)
        end()
        states.append(session.is_on)
    assert states == [False, *[False, True, False] * 3]


def test_what_stands_is_stated_again_in_full_when_the_session_opens() -> None:
    """Subscriptions made or ended while OFF, or lost by the home, or ended unheard: the home ends up with ours."""
    session = ClientSession()
    one, two = session.subscribe(A), session.subscribe(B)
    assert session.requests() == []
    session.open()
    session.received(opened(subscriptions=()))
    assert session.requests() == [Open(0), Subscribe(one, A), Subscribe(two, B)]
    session.lost()
    session.unsubscribe(one)
    three = session.subscribe(A)
    assert session.requests() == []
    session.received(opened(subscriptions=(one, two)))
    assert session.requests() == [Unsubscribe(one), Subscribe(two, B), Subscribe(three, A)]


def test_changes_while_on_are_sent_at_once() -> None:
    """Each subscription has a number of its own; ending one that does not stand is nothing."""
    session = on()
    one, two = session.subscribe(A), session.subscribe(A)
    assert one != two
    session.unsubscribe(one)
    session.unsubscribe(one)
    assert session.requests() == [Subscribe(one, A), Subscribe(two, A), Unsubscribe(one)]


# Refusals


def test_a_refused_request_is_not_made_again() -> None:
    """The application finds the reason under its number."""
    session = on()
    publication, subscription = session.publish(Event()), session.subscribe(A)
    session.requests()
    session.received(Refused(publication, "full"))
    session.received(Refused(subscription, "too many"))
    assert session.refusals == {publication: "full", subscription: "too many"}
    session.received(opened())
    assert session.requests() == []


def test_a_home_that_took_us_for_off_is_told_that_we_are_on() -> None:
    """Once for each time we believed to be ON; a refusal to open is the application's to see."""
    session = on()
    session.publish(Event())
    session.requests()
    session.received(Refused(0, "no open session"))
    session.received(Refused(0, "no open session"))
    assert session.requests() == [Open(EPOCH)]
    assert not session.is_on
    assert session.refusals == {0: "no open session"}
    session.received(opened())
    assert session.requests() == [Publish(1, Event())]


# Publications


def test_publications_wait_for_on_and_for_a_receipt() -> None:
    """They are sent again on every connection until the home has them, and the receipt tells the id."""
    session = ClientSession()
    number = session.publish(Event(subject="a"))
    assert session.requests() == []
    for _ in range(2):
        session.lost()
        session.open()
        session.received(opened())
        assert session.requests() == [Open(EPOCH if _ else 0), Publish(number, Event(subject="a"))]
    session.received(Receipt(number, event_id(1, 1, 1)))
    session.received(Receipt(number, event_id(1, 1, 2)))
    session.received(Receipt(99, event_id(1, 1, 3)))
    assert session.receipts == {number: event_id(1, 1, 1)}
    session.received(opened())
    assert session.requests() == []


def test_a_window_of_publications_is_under_way() -> None:
    """The oldest first; each receipt, or refusal, lets the next one go."""
    session = on()
    published = [session.publish(Event()) for _ in range(PUBLISH_WINDOW + 3)]
    assert [each.number for each in session.requests() if isinstance(each, Publish)] == published[:PUBLISH_WINDOW]
    session.received(Receipt(published[0], event_id(1, 1, 1)))
    session.received(Refused(published[1], "no"))
    assert [each.number for each in session.requests() if isinstance(each, Publish)] == published[-3:-1]


class Home:
    """A home that accepts publications and can repeat the last receipts, and no more."""

    def __init__(self) -> None:
        self.accepted: list[int] = []
        self.receipts: dict[int, EventId] = {}

    def take(self, publication: Publish) -> Receipt:
        number = publication.number
        if number not in self.receipts:
            self.accepted.append(number)
            self.receipts[number] = event_id(1, 1, len(self.accepted))
            if len(self.receipts) > 2 * PUBLISH_WINDOW:
                del self.receipts[next(iter(self.receipts))]
        return Receipt(number, self.receipts[number])


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 2**32))
def test_each_publication_is_accepted_once_in_order(bursts: list[int], seed: int) -> None:
    """The connection breaks at any moment and loses what is on it, both ways; in the end the home has each once."""
    rng = Random(seed)
    session, home = ClientSession(), Home()
    total = 0
    for burst in [*bursts, 0]:
        for _ in range(burst):
            session.publish(Event())
        total += burst
        session.open()
        replies: list[Message] = []
        limit = rng.randrange(100)
        for _ in range(limit):
            for request in session.requests():
                if isinstance(request, Open):
                    replies.append(opened())
                elif isinstance(request, Publish):
                    replies.append(home.take(request))
            if not replies or rng.random() < 0.1:
                break
            session.received(replies.pop(0))
        session.lost()
        session.requests()
    session.open()
    while requests := session.requests():
        for request in requests:
            if isinstance(request, Publish):
                session.received(home.take(request))
            else:
                session.received(opened())
    assert home.accepted == list(range(1, total + 1))
    assert sorted(session.receipts) == home.accepted
