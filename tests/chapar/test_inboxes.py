"""Which events wait for whom, and when each is confirmed: the rules, without a socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from chapar.errors import ClosedError, SubscribeRefusedError
from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.inboxes import Inboxes
from chapar.session import Acknowledge, Arrival, ClientSession, Deliver, Opened, Refused, Subscribed, Unsubscribe
from chapar.subscription import Inbox
from fake_daemon import Watch

if TYPE_CHECKING:
    from chapar.session import Message

X, Y = Filter(subject="x"), Filter(subject="y")


def body(sequence: int, subject: str) -> bytes:
    return Event(subject=subject, payload=b"%d" % sequence).accepted(id=event_id(1, 1, sequence)).encode()


class Stage(Watch):
    """Inboxes over a session that is ON, with a home that grants every subscription."""

    def __init__(self) -> None:
        super().__init__()
        self.session = ClientSession("s")
        self.answer: Message | None = None
        """What the home answers, if it is not that the subscription stands."""
        self.inboxes = Inboxes(self.session, self.changed, self._ask, claim_time=0.01)
        self._number = 0
        self.incarnation = 0
        self.restart()

    def restart(self) -> None:
        """The home is a new incarnation of itself, and counts anew."""
        self.incarnation += 1
        self._number = 0
        self.session.open(0.0)
        self.session.received(Opened(1, self.incarnation, True, 1, 0, ()), 0.0)  # noqa: FBT003 - the field `resumed`
        self.session.requests(0.0)

    async def _ask(self, number: int) -> Message:
        return self.answer or Subscribed(number)

    async def enter(self, filter_: Filter, *, keep: bool = False) -> Inbox:
        inbox = Inbox(filter_, limit=10, keep=keep)
        await self.inboxes.enter(inbox)
        return inbox

    def deliver(self, *events: tuple[int, str]) -> None:
        bodies = [body(sequence, subject) for sequence, subject in events]
        run = Deliver(self.incarnation, self._number + 1, self._number, bodies)
        self._number += len(events)
        self.inboxes.arrived(self.session.received(run, 0.0))

    @property
    def confirmed(self) -> int:
        """The number up to which the home is told that it can forget, as of now."""
        told = [each.number for each in self.session.requests(0.0) if isinstance(each, Acknowledge)]
        self._confirmed = max([*told, getattr(self, "_confirmed", 0)]) if self._number else 0
        return self._confirmed

    def hand(self, inbox: Inbox) -> int:
        arrival = inbox.buffer.popleft()
        self.inboxes.handed(arrival)
        return int(arrival.event.payload)


def test_an_event_is_confirmed_when_the_last_inbox_has_let_go_of_it() -> None:
    """Whatever the order; the home is told cumulatively."""

    async def scene() -> None:
        stage = Stage()
        one, other, all_ = await stage.enter(X), await stage.enter(X), await stage.enter(Filter())
        stage.deliver((1, "x"), (2, "y"), (3, "x"))
        assert [len(each.buffer) for each in (one, other, all_)] == [2, 2, 3]
        assert [stage.hand(all_) for _ in range(3)] == [1, 2, 3]
        assert stage.hand(one) == 1
        assert stage.confirmed == 0
        assert stage.hand(other) == 1
        assert stage.confirmed == 2
        stage.inboxes.leave(one)
        assert stage.confirmed == 2
        stage.inboxes.leave(other)
        assert stage.confirmed == 3

    asyncio.run(scene())


def test_what_nobody_wants_is_confirmed_at_once() -> None:
    """With one subscription, with several, and with none."""

    async def scene() -> None:
        stage = Stage()
        stage.deliver((1, "z"))
        assert stage.confirmed == 1
        inbox = await stage.enter(X)
        stage.deliver((2, "z"))
        assert stage.confirmed == 2
        await stage.enter(Y)
        stage.deliver((3, "z"), (4, "x"))
        assert stage.confirmed == 3
        assert len(inbox.buffer) == 1

    asyncio.run(scene())


def test_a_restart_confirms_nothing_in_the_place_of_another() -> None:
    """Numbers begin anew; an event from before that is handed out is not taken for the one that has its number now."""

    async def scene() -> None:
        stage = Stage()
        inbox, other = await stage.enter(Filter()), await stage.enter(X)
        stage.deliver((1, "x"), (2, "y"), (3, "x"))
        assert stage.hand(inbox) == 1
        stage.restart()
        stage.inboxes.renumber()
        stage.deliver((9, "y"), (2, "y"), (3, "x"))  # the home has forgotten 1, and what it kept comes again
        assert [stage.hand(inbox) for _ in range(2)] == [2, 3]
        assert stage.confirmed == 0
        assert stage.hand(other) == 1
        assert stage.hand(inbox) == 9
        assert stage.confirmed == 2
        assert stage.hand(other) == 3
        assert stage.confirmed == 3
        assert not inbox.buffer

    asyncio.run(scene())


def test_what_is_kept_waits_unconfirmed_for_the_next_who_asks() -> None:
    """Only that, and only once."""

    async def scene() -> None:
        stage = Stage()
        inbox = await stage.enter(X, keep=True)
        stage.deliver((1, "x"), (2, "x"))
        assert stage.hand(inbox) == 1
        stage.inboxes.leave(inbox)
        stage.deliver((3, "z"), (4, "x"))
        stage.session.requests(0.0)
        again = await stage.enter(X)
        assert again.number == inbox.number
        assert [stage.hand(again) for _ in range(2)] == [2, 4]
        assert not again.buffer
        stage.inboxes.leave(again)
        assert Unsubscribe(again.number) in stage.session.requests(0.0)
        stage.deliver((5, "x"))
        assert stage.confirmed == 5

    asyncio.run(scene())


def test_the_same_is_kept_once() -> None:
    """Of two subscriptions alike that are left, one stands."""

    async def scene() -> None:
        stage = Stage()
        one, other = await stage.enter(X, keep=True), await stage.enter(X, keep=True)
        stage.inboxes.leave(one)
        stage.inboxes.leave(other)
        gone = [each.number for each in stage.session.requests(0.0) if isinstance(each, Unsubscribe)]
        assert gone == [other.number]

    asyncio.run(scene())


def test_a_kept_subscription_that_is_refused_holds_nothing_back_any_more() -> None:
    """What matches it is nobody's."""

    async def scene() -> None:
        stage = Stage()
        inbox = await stage.enter(X, keep=True)
        stage.inboxes.leave(inbox)
        stage.inboxes.refused(inbox.number, "no more")
        stage.deliver((1, "x"))
        assert stage.confirmed == 1

    asyncio.run(scene())


def test_events_of_a_former_life_wait_for_a_while_to_be_asked_for() -> None:
    """Each goes to the subscription that is made for it; when the time is over, the rest is nobody's."""

    async def scene() -> None:
        stage = Stage()
        stage.inboxes.expect_claims()
        stage.deliver((1, "x"), (2, "z"), (3, "x"), (4, "y"))
        assert stage.confirmed == 0
        first = await stage.enter(X)
        assert [stage.hand(first) for _ in range(2)] == [1, 3]
        assert stage.confirmed == 1
        second = await stage.enter(Y)
        assert stage.hand(second) == 4
        assert stage.confirmed == 1
        await stage.until(lambda: stage.confirmed == 4)
        stage.deliver((5, "z"))
        assert stage.confirmed == 5

    asyncio.run(scene())


def test_a_refused_subscription_leaves_no_trace() -> None:
    """Events that match it are nobody's."""

    async def scene() -> None:
        stage = Stage()
        stage.answer = Refused(1, "too many")
        with pytest.raises(SubscribeRefusedError, match="too many"):
            await stage.enter(X)
        stage.deliver((1, "x"))
        assert stage.confirmed == 1

    asyncio.run(scene())


def test_a_subscription_refused_later_ends_with_the_reason() -> None:
    """Those that stand go on."""

    async def scene() -> None:
        stage = Stage()
        one, other = await stage.enter(X), await stage.enter(Y)
        stage.inboxes.refused(one.number, "fewer")
        assert str(one.fault) == "the subscription was refused: fewer"
        assert (one.is_ended, other.is_ended) == (True, False)

    asyncio.run(scene())


def test_after_the_end_nothing_is_taken_or_confirmed() -> None:
    """What was not handed out stays with the home; subscriptions end there unless they are to be kept."""

    async def scene() -> None:
        stage = Stage()
        inbox, kept = await stage.enter(X), await stage.enter(Y, keep=True)
        stage.inboxes.expect_claims()
        stage.deliver((1, "x"))
        stage.inboxes.end(ClosedError("over"))
        assert Unsubscribe(inbox.number) in stage.session.requests(0.0)
        stage.inboxes.leave(kept)
        stage.deliver((2, "x"), (3, "y"))
        assert (len(inbox.buffer), len(kept.buffer), stage.confirmed) == (0, 0, 0)
        assert not any(isinstance(each, Unsubscribe) for each in stage.session.requests(0.0))
        assert str(inbox.fault) == "over"

    asyncio.run(scene())


def test_full_is_what_its_fullest_inbox_is() -> None:
    """One that nobody iterates over holds up all."""

    async def scene() -> None:
        stage = Stage()
        one, _ = await stage.enter(X), await stage.enter(Y)
        for sequence in range(1, 11):
            assert not stage.inboxes.is_full
            stage.deliver((sequence, "x"))
        assert stage.inboxes.is_full
        stage.hand(one)
        assert not stage.inboxes.is_full

    asyncio.run(scene())


def test_an_arrival_without_anyone_is_as_if_it_had_been_handed_out() -> None:
    """The session is told so under the number it gave."""
    session = ClientSession("s")
    session.open(0.0)
    session.received(Opened(1, 1, True, 1, 0, ()), 0.0)  # noqa: FBT003 - the field `resumed`
    session.requests(0.0)
    arrivals = session.received(Deliver(1, 1, 0, [body(1, "x")]), 0.0)
    assert arrivals == [Arrival(1, arrivals[0].event)]
    flushed: list[bool] = []

    async def never(_: int) -> Message:
        raise AssertionError

    Inboxes(session, lambda: flushed.append(True), never).arrived(arrivals)
    assert flushed
    assert session.requests(0.0) == [Acknowledge(1, 1)]
