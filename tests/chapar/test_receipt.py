"""Receipts: settled once, awaited by as many as like, at no cost to those who do not."""

from __future__ import annotations

import asyncio

import pytest

from chapar.errors import EventLostError, PublishRefusedError
from chapar.event_id import EventId, event_id
from chapar.receipt import Confirmations, Receipt
from chapar.session import Receipt as Accepted

RUN = Accepted(10, event_id(1, 2, 100), 8)


class Home:
    """Knows of every event that two of three nodes have it."""

    def __init__(self) -> None:
        self.asked: list[EventId] = []

    async def inquire(self, event_id: EventId) -> Confirmations:
        self.asked.append(event_id)
        return Confirmations(3, 2)


def test_the_id_follows_from_the_place_in_the_run() -> None:
    """The home accepts publications in runs; each has the id as many after the first as its number is."""
    receipt = Receipt(Home(), 13)
    receipt.settle(RUN)
    assert receipt.is_accepted
    assert receipt.id == event_id(1, 2, 103)
    assert asyncio.run(receipt.accepted()) == event_id(1, 2, 103)


def test_before_it_is_settled_nothing_is_known() -> None:
    """Neither the id, nor that the home has it."""
    receipt = Receipt(Home(), 13)
    assert (receipt.id, receipt.is_accepted) == (None, False)
    assert "waiting" in repr(receipt)


def test_all_who_wait_are_told_even_if_one_gives_up() -> None:
    """A waiter that is cancelled takes nothing away from the others."""

    async def scene() -> None:
        receipt = Receipt(Home(), 10)

        async def wait() -> EventId:
            return await receipt

        first, second, third = (asyncio.create_task(wait()) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        receipt.settle(RUN)
        assert tuple(await asyncio.gather(first, third)) == (RUN.id, RUN.id)
        assert await receipt == RUN.id
        assert second.cancelled()

    asyncio.run(scene())


def test_a_wait_with_a_limit_ends_and_can_be_taken_up_again() -> None:
    """TimeoutError says nothing of the event."""

    async def scene() -> None:
        receipt = Receipt(Home(), 10)
        with pytest.raises(TimeoutError):
            await receipt.accepted(timeout=0)
        with pytest.raises(TimeoutError):
            await receipt.confirmed(timeout=0)
        receipt.settle(RUN)
        assert await receipt.accepted(timeout=0) == RUN.id

    asyncio.run(scene())


@pytest.mark.parametrize("failure", [PublishRefusedError("the queue is full"), EventLostError("restarted")])
def test_a_failure_is_raised_to_everyone_who_asks(failure: PublishRefusedError | EventLostError) -> None:
    """Those who wait already, and those who ask later."""

    async def scene() -> None:
        receipt = Receipt(Home(), 10)
        waiting = asyncio.create_task(receipt.accepted())
        await asyncio.sleep(0)
        receipt.settle(failure)
        for wait in (waiting, receipt.accepted(), receipt.confirmed()):
            with pytest.raises(type(failure), match=str(failure)):
                await wait
        assert (receipt.id, receipt.is_accepted) == (None, False)
        assert str(failure) in repr(receipt)

    asyncio.run(scene())


def test_confirmations_are_asked_for_under_the_id_once_there_is_one() -> None:
    """Asking waits for the home to have the event first, and asks anew each time."""

    async def scene() -> None:
        home = Home()
        receipt = Receipt(home, 11)
        asking = asyncio.create_task(receipt.confirmed())
        await asyncio.sleep(0)
        assert home.asked == []
        receipt.settle(RUN)
        assert await asking == (3, 2)
        assert (await receipt.confirmed()).confirmed == 2
        assert home.asked == [event_id(1, 2, 101)] * 2

    asyncio.run(scene())


def test_an_unobserved_failure_is_no_warning() -> None:
    """Most publishers look at no receipt; a failure that nobody awaits is theirs to ignore."""

    async def scene() -> None:
        receipt = Receipt(Home(), 10)
        waiting = asyncio.create_task(receipt.accepted())
        await asyncio.sleep(0)
        waiting.cancel()
        receipt.settle(EventLostError("restarted"))
        with pytest.raises(asyncio.CancelledError):
            await waiting

    complaints: list[object] = []
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
        runner.run(scene())
    assert complaints == []
