"""The client's end of a session: nothing twice, nothing out of order, nothing forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.event import Event, EventId, event_id
from chapar.filter import Filter
from chapar.session import (
    AHEAD_LIMIT,
    PATIENCE,
    PING_EVERY,
    PUBLISH_WINDOW,
    PUBLISH_WINDOW_BYTES,
    RETRY,
    SEEN_LIMIT,
    Acknowledge,
    Arrival,
    ClientSession,
    Close,
    Closed,
    Deliver,
    Goodbye,
    Inquire,
    Open,
    Opened,
    Ping,
    Pong,
    Publish,
    Receipt,
    Refused,
    Standing,
    Subscribe,
    Subscribed,
    Unsubscribe,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar.session import Request

LIFE = 7
EPOCH = 70
NODE = 3
NOW = 1000.0
A, B = Filter(subject="a"), Filter(subject="b")


def body(sequence: int) -> bytes:
    """Event `sequence` of some publisher."""
    return Event(subject="a").accepted(id=event_id(1, 1, sequence)).encode()


def delivery(number: int, after: int, sequence: int | None = None, life: int = LIFE) -> Deliver:
    return Deliver(life, number, after, (body(number if sequence is None else sequence),))


def run(number: int, after: int, count: int) -> Deliver:
    return Deliver(LIFE, number, after, [body(each) for each in range(number, number + count)])


def opened(life: int = LIFE, *, published: int = 0, subscriptions: tuple[int, ...] = (), epoch: int = EPOCH) -> Opened:
    return Opened(epoch, life, True, NODE, published, subscriptions)  # noqa: FBT003 - a field of the message


def on() -> ClientSession:
    """A session that has just come ON, with nothing left to send."""
    session = ClientSession("c")
    session.open(NOW)
    session.received(opened(), NOW)
    session.requests(NOW)
    return session


def sequences(arrivals: list[Arrival]) -> list[int]:
    return [int.from_bytes(event.id[-4:], "big") for _, event in arrivals if event.id is not None]


def consume(session: ClientSession, arrivals: list[Arrival]) -> list[int]:
    for number, _ in arrivals:
        session.consumed(number)
    return sequences(arrivals)


def publications(requests: list[Request]) -> list[tuple[int, int, int]]:
    """After, number and length of every run."""
    runs = (each for each in requests if isinstance(each, Publish))
    return [(each.after, each.number, len(each.payloads)) for each in runs]


def acknowledged(requests: list[Request]) -> list[int]:
    return [each.number for each in requests if isinstance(each, Acknowledge)]


# Deliveries


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[int], list[Deliver]]:
    """Deliveries as their home numbered them, some dropped there, in runs; and how they arrive, repeated and shuffled.

    A repetition may begin anywhere in a run; the first of what is not confirmed follows 0.
    """
    kept = sorted(draw(st.sets(st.integers(1, 40))))
    before = dict(zip(kept, [0, *kept], strict=False))
    sent = []
    for first in kept:
        length = draw(st.integers(1, 4))
        numbers = [each for each in range(first, first + length) if each in before]
        whole = numbers[: next((place for place, each in enumerate(numbers) if each != first + place), len(numbers))]
        sent.append(Deliver(LIFE, first, before[first], [body(each) for each in whole]))
    return kept, draw(st.permutations([*sent, *(draw(st.lists(st.sampled_from(sent), max_size=10)) if sent else [])]))


@given(streams())
def test_deliveries_reach_the_application_once_and_in_order(stream: tuple[list[int], list[Deliver]]) -> None:
    """Whatever order and repetitions runs arrive in; each is confirmed as far as there is no gap before it."""
    kept, arriving = stream
    session = on()
    got: list[int] = []
    arrived: set[int] = set()
    for message in arriving:
        got += consume(session, session.received(message, NOW))
        arrived |= set(range(message.number, message.number + len(message.bodies)))
        unbroken = next((place for place, each in enumerate(kept) if each not in arrived), len(kept))
        assert got == kept[:unbroken]
        assert all(number == max(got, default=0) for number in acknowledged(session.requests(NOW)))
    assert got == kept
    session.received(arriving[0] if arriving else delivery(1, 0), NOW)
    assert acknowledged(session.requests(NOW)) or not arriving


def test_a_repetition_is_confirmed_again_and_dropped() -> None:
    """The home repeats because it has not heard the confirmation; in quiet nothing is confirmed twice."""
    session = on()
    assert consume(session, session.received(delivery(5, 0), NOW)) == [5]
    assert session.requests(NOW) == [Acknowledge(LIFE, 5)]
    assert session.requests(NOW) == []
    for _ in range(2):
        assert session.received(delivery(5, 0), NOW) == []
        assert session.requests(NOW) == [Acknowledge(LIFE, 5)]


@given(st.integers(1, 12).flatmap(lambda count: st.permutations(range(1, count + 1))))
def test_a_delivery_is_confirmed_when_the_application_has_taken_it(order: list[int]) -> None:
    """Up to the first that it has not taken, in whatever order it takes them, and even if the home repeats them."""
    session = on()
    session.received(run(1, 0, len(order)), NOW)
    assert session.requests(NOW) == []
    confirmed = 0
    for place, number in enumerate(order, start=1):
        session.consumed(number)
        waiting = set(order[place:])
        safe = min(waiting, default=len(order) + 1) - 1
        assert acknowledged(session.requests(NOW)) == ([safe] if safe > confirmed else [])
        confirmed = safe
        session.received(run(1, 0, len(order)), NOW)
        assert acknowledged(session.requests(NOW)) == [safe]


def test_what_comes_ahead_of_a_gap_is_bounded() -> None:
    """A home never has as many under way; the rest comes again."""
    session = on()
    for number in range(3, AHEAD_LIMIT + 10):
        assert session.received(delivery(number, number - 1), NOW) == []
    got = session.received(run(1, 0, 2), NOW)
    assert sequences(got) == list(range(1, AHEAD_LIMIT + 3))


def test_bytes_that_are_no_event_are_confirmed_dropped_and_counted() -> None:
    """To have them repeated would not make them an event; what follows them arrives."""
    session = on()
    good = body(2)
    arrivals = session.received(Deliver(LIFE, 1, 0, (b"junk", good, good[:-1] + b"\xc1\xc1", body(4))), NOW)
    assert consume(session, arrivals) == [2, 4]
    assert session.malformed == 2
    assert acknowledged(session.requests(NOW)) == [4]


# Lives of the daemon


def test_a_delivery_of_another_life_is_neither_taken_nor_confirmed() -> None:
    """Its number means another delivery now. It may be we who were misled, so the session is opened again, once."""
    session = on()
    assert session.received(delivery(1, 0, life=LIFE - 1), NOW) == []
    assert session.received(delivery(1, 0, life=LIFE - 1), NOW) == []
    assert session.requests(NOW) == [Open("c", EPOCH, 1, True)]  # noqa: FBT003 - a field of the request
    assert not session.is_on


def test_the_next_life_numbers_afresh_and_brings_no_event_again() -> None:
    """What it repeats from its disk, or is served again by the network, is known by its id, and confirmed."""
    session = on()
    for number in (10, 12):
        consume(session, session.received(delivery(number, number - 1 if number > 10 else 0, sequence=number), NOW))
    session.received(delivery(12, 10, sequence=12), NOW)
    session.received(opened(LIFE + 1), NOW)
    session.requests(NOW)
    assert session.received(delivery(1, 0, sequence=10, life=LIFE + 1), NOW) == []
    assert acknowledged(session.requests(NOW)) == [1]
    assert consume(session, session.received(delivery(3, 1, sequence=3, life=LIFE + 1), NOW)) == [3]
    assert session.requests(NOW) == [Acknowledge(LIFE + 1, 3)]


def test_what_had_come_ahead_in_an_old_life_is_forgotten() -> None:
    """Its number means another delivery now."""
    session = on()
    session.received(delivery(3, 2, sequence=30), NOW)
    session.received(opened(LIFE + 1), NOW)
    got = [session.received(delivery(number, number - 1, life=LIFE + 1), NOW) for number in (1, 2, 3)]
    assert [sequences(events) for events in got] == [[1], [2], [3]]


def test_what_the_application_still_holds_is_not_confirmed_to_the_next_life() -> None:
    """Numbers of the old life confirm nothing in the new one; the event does, once the application has taken it."""
    session = on()
    one, two = session.received(run(1, 0, 2), NOW)
    for life in (LIFE + 1, LIFE + 2):
        session.received(opened(life), NOW)
        session.requests(NOW)
        fresh = session.received(Deliver(life, 1, 0, (body(10 * life), body(1), body(2))), NOW)
        assert sequences(fresh) == [10 * life]
        assert acknowledged(session.requests(NOW)) == [0]
        session.consumed(fresh[0].number)
        assert acknowledged(session.requests(NOW)) == [1]
    assert one.event.id is not None
    assert two.event.id is not None
    session.consumed_since(two.event.id)
    assert acknowledged(session.requests(NOW)) == []
    session.consumed_since(one.event.id)
    assert acknowledged(session.requests(NOW)) == [3]


def test_what_was_taken_before_the_next_life_repeats_it_is_confirmed_at_once() -> None:
    """The application was quicker than the daemon's way back."""
    session = on()
    (one,) = session.received(delivery(1, 0), NOW)
    session.received(opened(LIFE + 1), NOW)
    assert one.event.id is not None
    session.consumed_since(one.event.id)
    session.requests(NOW)
    assert session.received(delivery(5, 0, sequence=1, life=LIFE + 1), NOW) == []
    assert acknowledged(session.requests(NOW)) == [5]


def test_opening_in_the_same_life_keeps_the_place() -> None:
    """Numbers go on, and what had come ahead of a gap is not forgotten."""
    session = on()
    session.received(delivery(1, 0), NOW)
    session.received(delivery(3, 2), NOW)
    session.lost()
    session.open(NOW)
    session.received(opened(), NOW)
    assert sequences(session.received(delivery(2, 1), NOW)) == [2, 3]


def test_memory_of_events_is_bounded() -> None:
    """The oldest ids are forgotten first; `SEEN_LIMIT` of them at least are kept."""
    session = on()
    total = 2 * SEEN_LIMIT
    for number in range(1, total + 1):
        assert len(session.received(delivery(number, 0), NOW)) == 1
    session.received(opened(LIFE + 1), NOW)
    for number in range(total - SEEN_LIMIT + 1, total + 1):
        assert session.received(delivery(number, 0, life=LIFE + 1), NOW) == []
    assert len(session.received(delivery(total + 1, 0, sequence=1, life=LIFE + 1), NOW)) == 1


# Coming and going


def test_the_session_and_its_floor_are_named_again() -> None:
    """A client without a session says 0; one with a session names it, and below which number all is answered."""
    session = ClientSession("c", lasting=False)
    session.open(NOW)
    assert session.requests(NOW) == [Open("c", 0, 1, False)]  # noqa: FBT003 - a field of the request
    nodes = [session.node]
    session.received(opened(), NOW)
    assert [*nodes, session.node] == [None, NODE]
    session.subscribe(A)
    session.publish(Event())
    session.publish(Event(subject="x"))
    session.requests(NOW)
    for answered, floor in ((None, 2), (2, 3), (3, 4)):
        if answered:
            session.received(Receipt(answered, event_id(1, 1, 1), 1), NOW)
        session.lost()
        session.open(NOW)
        assert session.requests(NOW) == [Open("c", EPOCH, floor, False)]  # noqa: FBT003 - a field of the request
        session.received(opened(published=3), NOW)
        session.requests(NOW)


def test_what_waits_unsent_is_above_the_floor() -> None:
    """Publications made while OFF count from the oldest."""
    session = ClientSession("c")
    session.subscribe(A)
    session.publish(Event())
    session.open(NOW)
    assert session.requests(NOW)[0] == Open("c", 0, 2, True)  # noqa: FBT003 - a field of the request


def test_a_client_is_on_from_the_answer_to_the_end() -> None:
    """Asking is not enough; closing, a lost connection and a daemon that stops each end it."""
    session = ClientSession("c")
    states = [session.is_on]
    ends: list[Callable[[], object]] = [
        lambda: session.close(NOW),
        session.lost,
        lambda: session.received(Goodbye(), NOW),
    ]
    for end in ends:
        session.open(NOW)
        states.append(session.is_on)
        session.received(opened(), NOW)
        states.append(session.is_on)
        end()
        states.append(session.is_on)
    assert states == [False, *[False, True, False] * 3]


def test_closing_confirms_again_and_is_repeated_until_it_is_answered() -> None:
    """What went before may have been lost, and nothing follows it; an answer of either kind ends it."""
    for answer in (Closed(), Refused(0, "no open session")):
        session = on()
        consume(session, session.received(delivery(1, 0), NOW))
        session.requests(NOW)
        session.close(NOW)
        assert session.requests(NOW) == [Acknowledge(LIFE, 1), Close()]
        session.received(opened(), NOW)  # an answer to what was asked before is none to this
        assert [session.is_on] == [False]
        session.tick(NOW + RETRY)
        assert session.requests(NOW) == [Acknowledge(LIFE, 1), Close()]
        session.received(answer, NOW)
        assert session.next_deadline() is None


def test_a_session_that_never_opened_has_nothing_to_confirm() -> None:
    """Closing says so and no more."""
    session = ClientSession("c")
    session.close(NOW)
    assert session.requests(NOW) == [Close()]


def test_what_stands_is_stated_again_in_full_when_the_session_opens() -> None:
    """Subscriptions made or ended while OFF, or lost by the home, or ended unheard: the home ends up with ours."""
    session = ClientSession("c")
    one, two = session.subscribe(A), session.subscribe(B)
    assert session.requests(NOW) == []
    session.open(NOW)
    session.received(opened(), NOW)
    assert session.requests(NOW)[1:] == [Subscribe(one, A), Subscribe(two, B)]
    session.lost()
    session.unsubscribe(one)
    three = session.subscribe(A)
    assert session.requests(NOW) == []
    session.received(opened(subscriptions=(one, two)), NOW)
    said = session.requests(NOW)
    assert said[0] == Unsubscribe(one)
    assert set(said[1:]) == {Subscribe(two, B), Subscribe(three, A)}


def test_changes_while_on_are_sent_at_once() -> None:
    """Each subscription has a number of its own; ending one that does not stand is nothing."""
    session = on()
    one, two = session.subscribe(A), session.subscribe(A)
    assert one != two
    session.unsubscribe(one)
    session.unsubscribe(one)
    assert session.requests(NOW) == [Subscribe(one, A), Subscribe(two, A), Unsubscribe(one)]


# Refusals


def test_a_refused_request_is_not_made_again() -> None:
    """Neither a publication nor a subscription nor an inquiry."""
    session = on()
    numbers = [session.publish(Event()), session.subscribe(A), session.inquire(event_id(1, 1, 1))]
    session.requests(NOW)
    for number in numbers:
        session.received(Refused(number, "no"), NOW)
    assert session.backlog == 0
    session.received(opened(published=1), NOW)
    assert session.requests(NOW) == []


def test_a_home_that_took_us_for_off_is_told_that_we_are_on() -> None:
    """Once for each time we believed to be ON; a refusal to open is asked again in time."""
    session = on()
    session.publish(Event())
    session.requests(NOW)
    session.received(Refused(0, "no open session"), NOW)
    session.received(Refused(0, "no open session"), NOW)
    assert session.requests(NOW) == [Open("c", EPOCH, 1, True)]  # noqa: FBT003 - a field of the request
    assert not session.is_on
    assert session.next_deadline() == NOW + RETRY
    session.received(opened(), NOW)
    assert publications(session.requests(NOW)) == [(0, 1, 1)]


# Publications


def test_publications_wait_for_on_and_for_a_receipt() -> None:
    """They are sent again on every connection until the home has them; a receipt for others changes nothing."""
    session = ClientSession("c")
    number = session.publish(Event(subject="a", payload=b"x"))
    assert session.requests(NOW) == []
    for _ in range(2):
        session.lost()
        session.open(NOW)
        session.received(opened(), NOW)
        assert session.requests(NOW)[1:] == [Publish(0, number, Event(subject="a").head(), (b"x",))]
        assert session.backlog == 1
    session.received(Receipt(99, event_id(1, 1, 3), 2), NOW)
    assert session.backlog == 1
    session.received(Receipt(number, event_id(1, 1, 1), 1), NOW)
    assert session.backlog == 0
    session.received(opened(published=1), NOW)
    assert session.requests(NOW) == []


def test_publications_travel_in_runs_of_one_head() -> None:
    """Another head or a number between them begins another run; each says which publication it follows."""
    session = on()
    for event in (Event(), Event(payload=b"x"), Event(subject="a"), Event(subject="a")):
        session.publish(event)
    session.subscribe(A)
    session.publish_head(Event(subject="a").head(), b"y", is_realtime=True)
    assert publications(session.requests(NOW)) == [(0, 1, 2), (2, 3, 2), (4, 6, 1)]
    session.publish(Event())
    assert publications(session.requests(NOW)) == [(6, 7, 1)]


def test_what_is_sent_again_follows_what_the_home_has_answered() -> None:
    """Numbers that were no publications, and those given up, are not waited for: a home would wait for ever."""
    session = on()
    first = session.publish(Event(persistent=True))
    session.subscribe(A)
    session.inquire(event_id(1, 1, 1))
    second = session.publish(Event(persistent=True))
    assert publications(session.requests(NOW)) == [(0, first, 1), (first, second, 1)]
    session.received(Receipt(first, event_id(NODE, 1, 1), 1), NOW)
    session.tick(NOW + RETRY)
    assert publications(session.requests(NOW)) == [(first, second, 1)]
    lost = session.publish(Event())
    third = session.publish(Event(persistent=True))
    session.requests(NOW)
    session.received(opened(LIFE + 1, published=first), NOW)
    assert session.given_up == [lost]
    for now in (NOW + RETRY, NOW + 2 * RETRY):
        assert publications(session.requests(now)) == [(first, second, 1), (second, third, 1)]
        session.tick(now + RETRY)


def test_a_home_that_has_a_run_already_is_told_the_rest_from_there() -> None:
    """What is repeated begins with the first that was not answered, whatever came after it was."""
    session = on()
    for _ in range(6):
        session.publish(Event())
    session.requests(NOW)
    session.received(Receipt(1, event_id(NODE, 1, 1), 2), NOW)
    session.received(Receipt(5, event_id(NODE, 1, 5), 1), NOW)
    session.tick(NOW + RETRY)
    assert publications(session.requests(NOW)) == [(2, 3, 2), (5, 6, 1)]


def test_a_window_of_publications_is_under_way() -> None:
    """From the oldest without an answer on: the home must still know its receipt when it is asked again."""
    session = on()
    for _ in range(PUBLISH_WINDOW + 3):
        session.publish(Event())
    assert publications(session.requests(NOW)) == [(0, 1, PUBLISH_WINDOW)]
    session.received(Receipt(2, event_id(1, 1, 2), PUBLISH_WINDOW - 1), NOW)
    assert publications(session.requests(NOW)) == []
    session.received(Receipt(1, event_id(1, 1, 1), 1), NOW)
    assert publications(session.requests(NOW)) == [(PUBLISH_WINDOW, PUBLISH_WINDOW + 1, 3)]
    assert session.backlog == 3


@pytest.mark.parametrize("event", [Event(payload=bytes(1000)), Event(subject="s" * 990)], ids=["payload", "head"])
def test_the_window_is_bounded_in_bytes(event: Event) -> None:
    """Heads count as payloads do; what is answered makes room again."""
    session = on()
    for _ in range(400):
        session.publish(event)
    (sent,) = publications(session.requests(NOW))
    size = len(event.head()) + len(event.payload)
    assert PUBLISH_WINDOW_BYTES <= sent[2] * size < PUBLISH_WINDOW_BYTES + size
    session.received(Receipt(1, event_id(1, 1, 1), 10), NOW)
    assert publications(session.requests(NOW)) == [(sent[2], sent[2] + 1, 10)]


def test_the_fate_of_real_time_events_is_lost_with_their_daemon() -> None:
    """Those under way are given up, as they may have been delivered; what had not left, or is memorised, is sent."""
    session = on()
    for event in (Event(), Event(persistent=True), Event(lifetime=5), Event()):
        session.publish(event)
    session.requests(NOW)
    session.received(Receipt(1, event_id(NODE, LIFE, 1), 1), NOW)
    session.publish(Event())
    session.tick(NOW + RETRY)  # to be repeated is still to be under way
    session.received(opened(LIFE + 1, published=1), NOW)
    assert session.given_up == [4]
    assert publications(session.requests(NOW)) == [(1, 2, 1), (2, 3, 1), (3, 5, 1)]
    session.received(Receipt(2, event_id(NODE, LIFE, 2), 4), NOW)
    assert session.backlog == 0


def test_nothing_is_published_between_asking_for_the_session_and_the_answer() -> None:
    """The one who answers may be another life, to which a real-time event that was under way must not go again."""
    session = on()
    session.publish(Event())
    session.requests(NOW)
    session.tick(NOW + RETRY)
    session.open(NOW + RETRY)
    session.publish(Event())
    assert publications(session.requests(NOW + RETRY)) == []
    session.tick(NOW + 2 * RETRY)
    said = session.requests(NOW + 2 * RETRY)
    assert said == [Open("c", EPOCH, 1, True)]  # noqa: FBT003 - a field of the request
    session.received(opened(LIFE + 1), NOW)
    assert session.given_up == [1]
    assert publications(session.requests(NOW)) == [(0, 2, 1)]


def test_a_real_time_event_is_repeated_in_the_same_life() -> None:
    """The home knows it by its number; nothing is given up."""
    session = on()
    session.publish(Event())
    session.requests(NOW)
    session.lost()
    session.open(NOW)
    session.received(opened(), NOW)
    assert session.given_up == []
    assert publications(session.requests(NOW)) == [(0, 1, 1)]


# Time


def test_what_is_not_answered_is_repeated() -> None:
    """Subscriptions, inquiries and publications, every `RETRY`, until each is answered; a number answers one."""
    session = on()
    subscription, inquiry = session.subscribe(A), session.inquire(event_id(1, 1, 1))
    publication = session.publish(Event())
    asked = [Subscribe(subscription, A), Inquire(inquiry, event_id(1, 1, 1)), Publish(0, 3, Event().head(), (b"",))]
    assert session.requests(NOW) == asked
    assert session.next_deadline() == NOW + RETRY
    session.tick(NOW + RETRY - 0.01)
    assert session.requests(NOW + RETRY - 0.01) == []
    now = NOW + RETRY
    session.tick(now)
    assert session.requests(now) == [*asked[:2], Ping(), asked[2]]
    session.received(Subscribed(subscription), now)
    now += RETRY
    session.tick(now)
    assert session.requests(now) == [asked[1], Ping(), asked[2]]
    session.received(Standing(inquiry, 2, 1), now)
    session.received(Receipt(publication, event_id(1, 1, 1), 1), now)
    assert session.next_deadline() == now + PING_EVERY


def test_an_inquiry_that_nobody_waits_for_is_not_repeated() -> None:
    """The application gave up."""
    session = on()
    number = session.inquire(event_id(1, 1, 1))
    session.requests(NOW)
    session.forget_inquiry(number)
    session.tick(NOW + RETRY)
    assert not any(isinstance(each, Inquire) for each in session.requests(NOW + RETRY))


def test_traffic_does_not_put_off_the_repetition_of_something_else() -> None:
    """A lost subscription is repeated under a stream of receipts, a lost publication under a stream of answers."""
    session = on()
    session.subscribe(A)
    session.requests(NOW)
    now = NOW
    for number in range(2, 8):
        session.publish(Event())
        session.requests(now)
        now += RETRY / 4
        session.received(Receipt(number, event_id(NODE, 1, number), 1), now)
        session.tick(now)
        if any(isinstance(each, Subscribe) for each in session.requests(now)):
            break
    assert now <= NOW + RETRY
    session = on()
    session.publish(Event())
    session.requests(NOW)
    now = NOW
    for number in range(2, 8):
        session.inquire(event_id(1, 1, 1))
        session.requests(now)
        now += RETRY / 4
        session.received(Standing(number, 0, 0), now)
        session.received(Pong(), now)
        session.tick(now)
        if publications(session.requests(now)):
            break
    assert now <= NOW + RETRY


def test_a_quiet_client_says_that_it_is_there() -> None:
    """A ping every `PING_EVERY`, answered or not repeated within `RETRY`."""
    session = on()
    now = NOW
    for _ in range(3):
        deadline = session.next_deadline()
        assert deadline == now + PING_EVERY
        now = deadline
        session.tick(now)
        assert session.requests(now) == [Ping()]
        assert session.next_deadline() == now + RETRY
        session.received(Pong(), now)


def test_a_silent_home_is_lost_and_asked_again() -> None:
    """After `PATIENCE` rounds; any word of it ends the silence."""
    session = on()
    now = NOW + PING_EVERY
    for _ in range(PATIENCE):
        session.tick(now)
        assert session.requests(now) == [Ping()]
        now += RETRY
    session.tick(now)
    assert session.requests(now) == [Open("c", EPOCH, 1, True)]  # noqa: FBT003 - a field of the request
    assert not session.is_on
    for _ in range(3):
        now += RETRY
        session.tick(now)
        assert session.requests(now) == [Open("c", EPOCH, 1, True)]  # noqa: FBT003 - a field of the request
    session.received(opened(), now)
    assert session.is_on


def test_a_home_that_answers_but_takes_nothing_is_asked_what_it_has() -> None:
    """It may miss what we hold for answered: opening again tells us from where on it lacks publications."""
    session = on()
    session.publish(Event())
    session.requests(NOW)
    session.received(Receipt(1, event_id(NODE, 1, 1), 1), NOW)
    session.publish(Event())
    session.requests(NOW)
    now = NOW
    said: list[Request] = []
    for _ in range(PATIENCE + 1):
        now += RETRY
        session.tick(now)
        said = session.requests(now)
        session.received(Pong(), now)
    assert Open("c", EPOCH, 2, True) in said  # noqa: FBT003 - a field of the request
    assert session.is_on
    session.received(opened(published=0), now)
    assert publications(session.requests(now)) == [(0, 2, 1)]


def test_a_lost_session_waits_for_whoever_drives_it() -> None:
    """The machine does not know when a daemon that said goodbye, or broke down, is worth asking again."""
    session = on()
    session.publish(Event())
    session.requests(NOW)
    session.lost()
    assert session.next_deadline() is None
    session.tick(NOW + 100)
    assert session.requests(NOW + 100) == []


def test_event_ids_are_what_arrivals_are_known_by() -> None:
    """Two numbers of one life for one event are one arrival: the second is confirmed."""
    session = on()
    (arrival,) = session.received(Deliver(LIFE, 1, 0, (body(1), body(1))), NOW)
    assert arrival.event.id == EventId(event_id(1, 1, 1))
    session.consumed(arrival.number)
    assert acknowledged(session.requests(NOW)) == [2]
