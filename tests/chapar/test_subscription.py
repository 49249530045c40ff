"""Iterating over events: nothing lost by those who stop waiting, nothing confirmed that was not handed out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import chapar
from chapar import Event, Filter
from chapar.session import Arrival, Subscribe
from chapar.subscription import STRETCH, Inbox
from fake_daemon import FakeDaemon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chapar.session import Request


def play(scene: Callable[[FakeDaemon], Awaitable[None]]) -> None:
    """Run a scene with a daemon; it has ten seconds."""

    async def staged() -> None:
        async with asyncio.timeout(10), FakeDaemon() as daemon:
            await scene(daemon)

    asyncio.run(staged())


async def turns(count: int = 5) -> None:
    """Let everything that is ready to run do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def event(number: int, subject: str = "x") -> Event:
    return Event(subject=subject, payload=b"%d" % number, persistent=True)


async def take(events: chapar.Subscription, count: int) -> list[int]:
    return [int((await anext(events)).payload) for _ in range(count)]


# What is asked for


def test_events_that_match_come_in_order_until_the_block_is_left() -> None:
    """Content decides, and afterwards the daemon has no subscription any more."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client:
            async with client.subscribe(subject="x", where="speed > 2") as events:
                for speed in (1, 3, 2, 5):
                    daemon.deliver(Event(subject="x", attributes={"speed": speed}, payload=b"%d" % speed))
                assert await take(events, 2) == [3, 5]
                assert events.filter == Filter(subject="x", where="speed > 2")
            await daemon.until(lambda: not daemon.standing("s"))

    play(scene)


def test_a_filter_is_given_whole_or_in_parts() -> None:
    """Not both; everything is a filter too."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            whole = Filter(subject="x", type="t", group="g", sender=7, where="a = 1")
            in_parts = client.subscribe(subject="x", type="t", group="g", sender=7, where="a = 1")
            assert in_parts.filter == whole == client.subscribe(filter=whole).filter
            assert client.subscribe().filter == Filter()
            with pytest.raises(TypeError, match="not both"):
                client.subscribe(subject="x", filter=whole)
            with pytest.raises(chapar.FilterError):
                client.subscribe(where="speed >")

    play(scene)


def test_a_refused_subscription_raises_the_daemons_reason() -> None:
    """On entering; the client goes on without it."""

    def at_most_one(request: Request) -> str | None:
        is_second = isinstance(request, Subscribe) and request.filter == Filter(subject="y")
        return "a client has at most 1 subscriptions" if is_second else None

    async def scene(daemon: FakeDaemon) -> None:
        daemon.refuse = at_most_one
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as events:
            with pytest.raises(chapar.SubscribeRefusedError, match="at most 1"):
                await client.subscribe(subject="y").__aenter__()
            daemon.deliver(event(1))
            assert await take(events, 1) == [1]

    play(scene)


def test_a_subscription_that_a_restarted_daemon_refuses_ends_with_its_reason() -> None:
    """It had stood before, so it is the iteration that learns of it."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            daemon.refuse = lambda request: "fewer from now on" if isinstance(request, Subscribe) else None
            daemon.forget_addresses()
            await client.publish(subject="y")
            with pytest.raises(chapar.SubscribeRefusedError, match="fewer from now on"):
                await anext(events)

    play(scene)


def test_a_subscription_is_iterated_over_inside_its_block() -> None:
    """Not before; nor entered again."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            events = client.subscribe(subject="x")
            with pytest.raises(chapar.ClosedError, match="inside its `async with` block"):
                await anext(events)
            async with events:
                with pytest.raises(chapar.ClosedError, match="entered once"):
                    await events.__aenter__()
            with pytest.raises(StopAsyncIteration):
                await anext(events)
            with pytest.raises(chapar.ClosedError, match="entered once"):
                await events.__aenter__()

    play(scene)


def test_a_cancelled_entering_leaves_no_subscription() -> None:
    """The daemon may have heard of it; it is told otherwise."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client:
            daemon.pause()
            entering = asyncio.create_task(client.subscribe(subject="x").__aenter__())
            await turns()
            entering.cancel()
            await turns()
            daemon.resume()
            assert await (await client.publish(subject="y"))
            assert daemon.standing("s") == []

    play(scene)


# Confirmation and back-pressure


def test_an_event_is_confirmed_when_it_is_handed_out() -> None:
    """Not when it arrives."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as events:
            for number in range(5):
                daemon.deliver(event(number))
            await take(events, 1)
            await daemon.until(lambda: daemon.unconfirmed("s") == 4)
            assert len(events) == 4
            await take(events, 4)
            await daemon.until(lambda: daemon.unconfirmed("s") == 0)

    play(scene)


def test_confirmations_are_collected_over_a_turn_of_the_loop() -> None:
    """A hundred events handed out in one go are confirmed with one datagram."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as events:
            for number in range(101):
                daemon.deliver(event(number))
            await take(events, 1)
            assert await (await client.publish(subject="y"))  # all that was sent before has arrived
            before = daemon.datagrams
            assert await take(events, 100) == list(range(1, 101))
            await daemon.until(lambda: daemon.unconfirmed("s") == 0)
            assert daemon.datagrams == before + 1

    play(scene)


def test_a_slow_application_holds_its_daemon_back() -> None:
    """What is not handed out fills the daemon's window, and no more is sent."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.window = 10
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as events:
            for number in range(30):
                daemon.deliver(event(number))
            assert await take(events, 1) == [0]
            await daemon.until(lambda: daemon.unconfirmed("s") == 29)
            assert await (await client.publish(subject="y"))  # all that was sent before has arrived
            assert len(events) == 10
            assert await take(events, 29) == list(range(1, 30))

    play(scene)


def test_a_full_buffer_takes_no_more_than_it_was_made_for() -> None:
    """Whatever a daemon sends beyond that is left to it to repeat."""

    async def scene(daemon: FakeDaemon) -> None:
        async with (
            chapar.connect(daemon.address, client_id="s") as client,
            client.subscribe(subject="x", buffer=5) as events,
        ):
            for number in range(12):
                daemon.deliver(event(number))
            assert await (await client.publish(subject="y"))
            assert len(events) == 5
            assert await take(events, 5) == [0, 1, 2, 3, 4]
            daemon.repeat()
            assert await take(events, 5) == [5, 6, 7, 8, 9]
            await daemon.until(lambda: daemon.unconfirmed("s") == 2)
            daemon.repeat()
            assert await take(events, 2) == [10, 11]

    play(scene)


def test_an_event_goes_to_every_subscription_that_matches_and_is_confirmed_after_the_last() -> None:
    """A subscription that ends counts as having handed it out."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as one:
            async with client.subscribe() as all_, client.subscribe(subject="x", where="a = 1") as narrow:
                daemon.deliver(event(1))
                daemon.deliver(event(2, "y"))
                assert await take(one, 1) == [1]
                assert await (await client.publish(subject="z"))
                assert daemon.unconfirmed("s") == 3
                assert await take(all_, 1) == [1]
                await daemon.until(lambda: daemon.unconfirmed("s") == 2)
                assert (len(one), len(all_), len(narrow)) == (0, 2, 0)
            await daemon.until(lambda: daemon.unconfirmed("s") == 0)

    play(scene)


def test_what_arrives_for_a_subscription_that_has_just_ended_is_confirmed() -> None:
    """Nobody waits for it, and it must not hold up the rest."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client, client.subscribe(subject="x") as events:
            async with client.subscribe(subject="y"):
                daemon.pause()
            daemon.deliver(event(1, "y"))
            daemon.deliver(event(2))
            assert await take(events, 1) == [2]
            daemon.resume()
            await daemon.until(lambda: daemon.unconfirmed("s") == 0)

    play(scene)


# Waiting


def test_a_cancelled_wait_loses_no_event() -> None:
    """However often, and also if the event comes in the very turn of the cancellation."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            got = []
            for number in range(20):
                waiting = asyncio.create_task(events.__anext__())
                await turns(number % 4)
                daemon.deliver(event(number))
                await turns(number % 5)
                waiting.cancel()
                outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
                if isinstance(outcome, Event):
                    got.append(int(outcome.payload))
            got += await take(events, 20 - len(got))
            assert got == list(range(20))

    play(scene)


def test_several_tasks_may_share_one_iterator() -> None:
    """Each event goes to one of them, and closing ends them all."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            events = client.subscribe(subject="x")
            async with events:
                got: list[int] = []

                async def work() -> None:
                    async for each in events:
                        got.append(int(each.payload))
                        await asyncio.sleep(0)

                workers = [asyncio.create_task(work()) for _ in range(3)]
                for number in range(50):
                    daemon.deliver(event(number))
                await turns(300)
            await asyncio.gather(*workers)
            assert sorted(got) == list(range(50))

    play(scene)


def test_a_long_run_of_events_does_not_starve_the_others() -> None:
    """After a stretch of events the rest of the program has its turn."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            for number in range(3 * STRETCH):
                daemon.deliver(event(number))
            assert await (await client.publish(subject="y"))
            assert len(events) == 3 * STRETCH
            heard: list[int] = []
            asyncio.get_running_loop().call_soon(lambda: heard.append(len(events)))
            await take(events, 3 * STRETCH)
            assert heard == [2 * STRETCH]

    play(scene)


# Subscriptions that outlive the client


def test_nested_blocks_that_end_together_leave_the_subscription_standing() -> None:
    """A client with a name that goes OFF finds, when it is back, what was not handed out and what came meanwhile."""

    async def scene(daemon: FakeDaemon) -> None:
        got = []
        for round_ in range(3):
            async with (
                chapar.connect(daemon.address, client_id="rover-3") as client,
                client.subscribe(subject="x") as events,
            ):
                for number in range(1, 6):
                    daemon.deliver(event(10 * round_ + number))
                got += await take(events, 4)
            assert daemon.standing("rover-3") == [Filter(subject="x")]
            daemon.deliver(event(10 * round_ + 6))
        async with (
            chapar.connect(daemon.address, client_id="rover-3") as client,
            client.subscribe(subject="x") as rest,
        ):
            got += await take(rest, 6)
        assert got == [number for number in range(27) if 0 < number % 10 <= 6]

    play(scene)


def test_a_subscription_that_is_left_alone_ends() -> None:
    """The client stays, so its subscription does not; what it had not handed out is confirmed."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="rover-3") as client:
            async with client.subscribe(subject="x") as events:
                for number in range(1, 6):
                    daemon.deliver(event(number))
                assert await take(events, 2) == [1, 2]
            async with asyncio.timeout(10):
                while daemon.standing("rover-3") or daemon.unconfirmed("rover-3"):
                    await asyncio.sleep(0)

    play(scene)


def test_what_is_kept_waits_for_a_client_of_the_same_name() -> None:
    """Events published while it is away, and those that had arrived but were not handed out, each once and in order."""

    async def scene(daemon: FakeDaemon) -> None:
        got = []
        for round_ in range(3):
            async with chapar.connect(daemon.address, client_id="rover-3") as client:
                daemon.deliver(event(10 * round_))
                assert await (await client.publish(subject="y"))  # let what waited arrive before it is asked for
                async with client.subscribe(subject="x", keep=True) as events:
                    for number in range(1, 6):
                        daemon.deliver(event(10 * round_ + number))
                    got += await take(events, 4)
            daemon.deliver(event(10 * round_ + 6))
        async with (
            chapar.connect(daemon.address, client_id="rover-3") as client,
            client.subscribe(subject="x", keep=False) as rest,
        ):
            got += await take(rest, 8)
        assert got == [number for number in range(27) if number % 10 <= 6 and number > 0]
        assert daemon.unconfirmed("rover-3") == 0
        assert daemon.standing("rover-3") == []

    play(scene)


def test_a_kept_subscription_can_be_taken_up_again_by_the_same_client() -> None:
    """What came in between is there, and nothing is asked of the daemon anew."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="rover-3") as client:
            async with client.subscribe(subject="x", keep=True) as events:
                daemon.deliver(event(1))
                daemon.deliver(event(2))
                assert await take(events, 1) == [1]
            daemon.deliver(event(3))
            assert await (await client.publish(subject="y"))
            async with client.subscribe(subject="x") as events:
                assert await take(events, 2) == [2, 3]
            assert sum(isinstance(each, Subscribe) for each in daemon.requests) == 1

    play(scene)


def test_keeping_wants_a_name() -> None:
    """A session without one ends with its client."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            with pytest.raises(ValueError, match="client_id"):
                client.subscribe(subject="x", keep=True)

    play(scene)


# The inbox


def test_an_inbox_takes_what_its_filter_asks_for_and_returns_the_rest() -> None:
    """In order, both."""
    inbox = Inbox(Filter(subject="x"), limit=3)
    arrivals = [Arrival(number, event(number, "x" if number % 2 else "y")) for number in range(1, 6)]
    assert [each.number for each in inbox.offer(arrivals)] == [2, 4]
    assert [each.number for each in inbox.buffer] == [1, 3, 5]
    assert inbox.is_full
    inbox.renumber()
    assert [(number, int(each.payload)) for number, each in inbox.buffer] == [(0, 1), (0, 3), (0, 5)]
    inbox.end()
    assert not inbox.buffer
