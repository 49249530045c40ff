"""The client over a real socket: publishing, staying connected, and leaving nothing behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import chapar
from chapar import Delivery, Event
from chapar.limits import MAX_EVENT_BYTES
from chapar.session import Acknowledge, Close, Inquire, Open, Publish, Request
from fake_daemon import NODE, FakeDaemon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


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


def payloads(events: list[Event]) -> list[bytes]:
    return [event.payload for event in events]


# Connecting


def test_a_connected_client_knows_its_node_and_name() -> None:
    """Entering waits for the daemon; leaving goes OFF."""

    async def scene(daemon: FakeDaemon) -> None:
        client = chapar.connect(daemon.address, client_id="rover-3")
        assert not client.is_connected
        with pytest.raises(chapar.ClosedError, match="never open"):
            _ = client.node
        async with client:
            assert (client.node, client.client_id, client.is_connected) == (NODE, "rover-3", True)
        assert not client.is_connected
        assert [type(each) for each in daemon.requests] == [Open, Acknowledge, Close]

    play(scene)


def test_clients_without_a_name_get_different_ones_and_sessions_that_do_not_last() -> None:
    """Nobody will ask for them again; a session with a name lasts."""

    async def scene(daemon: FakeDaemon) -> None:
        async with (
            chapar.connect(daemon.address) as one,
            chapar.connect(daemon.address) as other,
            chapar.connect(daemon.address, client_id="rover-3"),
        ):
            assert one.client_id != other.client_id
            opened = [each for each in daemon.requests if isinstance(each, Open)]
            assert [each.lasting for each in opened] == [False, False, True]

    play(scene)


def test_the_environment_names_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """CHAPAR_DAEMON counts where no address is given."""

    async def scene(daemon: FakeDaemon) -> None:
        monkeypatch.setenv("CHAPAR_DAEMON", daemon.address)
        async with chapar.connect() as client:
            assert client.is_connected

    play(scene)


def test_ipv6_is_an_address_like_any_other() -> None:
    """The same over ::1."""

    async def scene() -> None:
        async with FakeDaemon("::1") as daemon, chapar.connect(daemon.address) as client:
            assert await (await client.publish(subject="x"))

    asyncio.run(scene())


def test_without_a_daemon_entering_fails_in_time_and_says_what_to_do() -> None:
    """Whether nobody listens there, or somebody who never answers."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.is_mute = True
        with pytest.raises(chapar.NoDaemonError, match=f"{daemon.address}: start chapard"):
            await chapar.connect(daemon.address, timeout=0.02).open()
        daemon.crash()
        client = chapar.connect(daemon.address, timeout=0.02)
        with pytest.raises(ConnectionError):
            await client.open()
        with pytest.raises(chapar.ClosedError, match="not open"):
            await client.publish(subject="x")
        await client.close()

    play(scene)


def test_a_daemon_that_comes_while_a_client_waits_for_it_is_found() -> None:
    """Programs start in any order; a client that failed to open may try again."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.crash()
        client = chapar.connect(daemon.address, timeout=0.02)
        with pytest.raises(chapar.NoDaemonError):
            await client.open()
        patient = chapar.connect(daemon.address, timeout=None)
        entering = asyncio.create_task(patient.open())
        await turns()
        daemon.start()
        await entering
        await client.open()
        assert client.is_connected
        await client.close()
        await patient.close()

    play(scene)


def test_a_refused_session_is_the_daemons_own_sentence() -> None:
    """Not a timeout."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.refuse = lambda _: "this node serves 256 sessions already"
        with pytest.raises(chapar.ConnectRefusedError, match="serves 256 sessions") as caught:
            await chapar.connect(daemon.address).open()
        assert caught.value.reason == "this node serves 256 sessions already"

    play(scene)


def test_a_cancelled_opening_leaves_nothing_open() -> None:
    """No socket, no timer: a warning of either would be an error here."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.is_mute = True
        opening = asyncio.create_task(chapar.connect(daemon.address).open())
        await daemon.until(lambda: daemon.datagrams > 0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    play(scene)


def test_a_client_opens_once() -> None:
    """Another connection is another client."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            with pytest.raises(chapar.ClosedError, match="opens once"):
                await client.open()
        with pytest.raises(chapar.ClosedError, match="opens once"):
            await client.open()

    play(scene)


# Publishing


def test_an_event_arrives_as_it_was_given() -> None:
    """By keywords, by keywords that were used before, and whole."""
    everything = Event(
        subject="s", type="t", group="g", attributes={"a": 1, "b": True}, payload=b"p", to=[1, 2], lifetime=1.5
    )

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            for _ in range(2):
                await client.publish(subject="x", payload=b"1")
                await client.publish(subject="x", payload=b"2", lifetime=2)
                await client.publish(subject="x", payload=b"3", persistent=True)
                await client.publish(type="x", group="g", payload=b"4")
            await client.publish(everything)
            await client.publish(
                subject="s", type="t", group="g", attributes={"a": 1, "b": True}, payload=b"p", to=[1, 2],
                lifetime=1.5,
            )  # fmt: skip
        alike = [
            Event(subject="x", payload=b"1"),
            Event(subject="x", payload=b"2", lifetime=2),
            Event(subject="x", payload=b"3", persistent=True),
            Event(type="x", group="g", payload=b"4"),
        ]
        got = [event[2:] for event in daemon.events]
        assert got == [event[2:] for event in (*alike, *alike, everything, everything)]

    play(scene)


def test_what_is_no_event_is_refused_before_it_leaves() -> None:
    """With the error of Event, and on the short way through remembered heads too."""
    room = MAX_EVENT_BYTES

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            await client.publish(subject="x")
            wrongs: list[dict[str, Any]] = [{"subject": 7}, {"subject": ["x"]}, {"payload": "text"}, {"lifetime": -1}]
            for wrong in wrongs:
                with pytest.raises(chapar.EventError):
                    await client.publish(**wrong)
            for subject in ("x", "y"):
                with pytest.raises(chapar.EventError, match="too large"):
                    await client.publish(subject=subject, payload=bytes(room))
            with pytest.raises(chapar.EventError, match="not both"):
                await client.publish(subject="x", lifetime=1, persistent=True)
        assert len(daemon.events) == 1

    play(scene)


def test_an_event_that_came_from_the_network_is_not_published_again() -> None:
    """It has its id, and its publisher; the content can be published anew."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            await client.publish(subject="x")
            with pytest.raises(chapar.EventError, match="published before"):
                await client.publish(await anext(events))

    play(scene)


def test_publishing_does_not_pause_and_packs() -> None:
    """A loop of publishes runs through without a turn of the event loop, and fills datagrams."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            ran: list[int] = []
            asyncio.get_running_loop().call_soon(ran.append, 1)
            before = daemon.datagrams
            for number in range(1000):
                await client.publish(subject="x", payload=b"%064d" % number)
            assert ran == []
            await daemon.until(lambda: len(daemon.events) == 1000)
            assert daemon.datagrams - before <= 8
        assert [int(payload) for payload in payloads(daemon.events)] == list(range(1000))

    play(scene)


def test_a_receipt_tells_id_and_confirmations() -> None:
    """The id is that of the event at its home; the home is asked who has confirmed it."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            receipts = [await client.publish(subject="x", persistent=True) for _ in range(3)]
            assert [await receipt for receipt in receipts] == [event.id for event in daemon.events]
            assert await receipts[1].confirmed() == (3, 2)
            assert [each.id for each in daemon.requests if isinstance(each, Inquire)] == [receipts[1].id]

    play(scene)


def test_a_refused_event_is_its_own_affair() -> None:
    """The receipt raises the daemon's reason; events before and after it are accepted."""

    def no_secrets(request: Request) -> str | None:
        return "no member of the group" if isinstance(request, Publish) and b"secret" in request.head else None

    async def scene(daemon: FakeDaemon) -> None:
        daemon.refuse = no_secrets
        async with chapar.connect(daemon.address) as client:
            before = await client.publish(subject="x")
            refused = await client.publish(subject="x", group="secret")
            after = await client.publish(subject="x")
            with pytest.raises(chapar.PublishRefusedError, match="no member of the group") as caught:
                await refused
            assert caught.value.reason == "no member of the group"
            assert await before
            assert await after

    play(scene)


def test_a_refused_inquiry_is_raised() -> None:
    """The home follows no real-time events."""

    async def scene(daemon: FakeDaemon) -> None:
        daemon.refuse = lambda request: "not followed" if isinstance(request, Inquire) else None
        async with chapar.connect(daemon.address) as client:
            receipt = await client.publish(subject="x")
            with pytest.raises(chapar.RefusedError, match="not followed"):
                await receipt.confirmed()

    play(scene)


def test_publishing_waits_when_too_much_is_under_way() -> None:
    """The outgoing queue is bounded; a publisher that gives up waiting has published nothing."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, outgoing=10) as client:
            daemon.pause()
            for number in range(10):
                await client.publish(subject="x", payload=b"%d" % number)
            waiting = [asyncio.create_task(client.publish(subject="x", payload=b"w%d" % each)) for each in range(12)]
            await turns()
            assert not any(task.done() for task in waiting)
            waiting[0].cancel()
            waiting[5].cancel()
            daemon.resume()
            done = await asyncio.gather(*waiting, return_exceptions=True)
            assert [isinstance(each, chapar.Receipt) for each in done] == [each not in {0, 5} for each in range(12)]
            await asyncio.gather(*(each for each in done if isinstance(each, chapar.Receipt)))
        kept = [b"%d" % number for number in range(10)] + [b"w%d" % each for each in range(12) if each not in {0, 5}]
        assert payloads(daemon.events) == kept

    play(scene)


def test_room_meant_for_a_publisher_that_gives_up_goes_to_the_next() -> None:
    """Even if it gives up in the very turn in which it is woken."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, outgoing=1) as client:
            daemon.pause()
            await client.publish(subject="x", payload=b"0")
            first, second = (asyncio.create_task(client.publish(subject="x", payload=each)) for each in (b"1", b"2"))
            await turns()
            daemon.resume()
            receipt_of_0 = client.publish(subject="x", payload=b"3")
            third = asyncio.create_task(receipt_of_0)
            await daemon.until(lambda: len(daemon.events) == 1)
            first.cancel()
            await asyncio.gather(second, third)
            assert first.cancelled()
        assert payloads(daemon.events) == [b"0", b"2", b"3"]

    play(scene)


# A daemon that goes and returns


@pytest.mark.parametrize("is_clean", [True, False])
def test_what_is_published_while_the_daemon_is_away_arrives_once_in_order(*, is_clean: bool) -> None:
    """Across several restarts, each another incarnation, and the subscriber sees nothing twice."""

    async def scene(daemon: FakeDaemon) -> None:
        async with (
            chapar.connect(daemon.address, client_id="s") as client,
            client.subscribe(subject="x") as events,
        ):
            receipts = []
            got = []
            for round_ in range(4):
                receipts += [
                    await client.publish(subject="x", payload=b"%d" % (50 * round_ + each), persistent=True)
                    for each in range(50)
                ]
                if round_ % 2:  # some are accepted, and some of these handed out, before the next crash
                    await receipts[-1]
                    got += [await anext(events) for _ in range(25)]
                if is_clean:
                    daemon.stop()
                else:
                    daemon.crash()
                receipts.append(await client.publish(subject="x", payload=b"between", persistent=True))
                await turns()
                daemon.start()
            ids = [await receipt for receipt in receipts]
            got += [await anext(events) for _ in range(204 - len(got))]
            assert len(events) == 0
        assert payloads(daemon.events)[:51] == [*(b"%d" % number for number in range(50)), b"between"]
        assert len(set(ids)) == len(daemon.events) == 204
        assert ids == [event.id for event in daemon.events]
        assert got == daemon.events
        assert daemon.unconfirmed("s") == 0

    play(scene)


def test_real_time_events_under_way_in_a_crash_are_given_up() -> None:
    """Nobody knows whether they went out; to repeat them could be the second time. Later ones are published."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            assert await (await client.publish(subject="x", payload=b"before"))
            daemon.pause()
            lost = await client.publish(subject="x", payload=b"lost")
            await turns()
            daemon.crash()
            kept = await client.publish(subject="x", payload=b"kept", persistent=True)
            await turns()
            daemon.start()
            assert await kept
            with pytest.raises(chapar.EventLostError, match="lost the session"):
                await lost
            assert await (await client.publish(subject="x", payload=b"after"))
        assert payloads(daemon.events) == [b"before", b"kept", b"after"]
        assert {event.delivery for event in daemon.events} == {Delivery.REALTIME, Delivery.PERSISTENT}

    play(scene)


def test_a_daemon_that_took_the_client_for_off_hears_from_it_again() -> None:
    """As after the keep-alive time, when a host has slept."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            daemon.forget_addresses()
            assert await (await client.publish(subject="x", payload=b"1"))
            assert (await anext(events)).payload == b"1"

    play(scene)


def test_a_session_that_is_over_is_followed_by_another() -> None:
    """Its deliveries are numbered anew by the same daemon, and none is taken for one of before."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client, client.subscribe(subject="x") as events:
            for number in range(3):
                await client.publish(subject="x", payload=b"%d" % number)
            assert [(await anext(events)).payload for _ in range(2)] == [b"0", b"1"]
            assert await (await client.publish(subject="y"))
            daemon.forget_session(client.client_id)
            for number in range(3, 6):
                await client.publish(subject="x", payload=b"%d" % number, persistent=True)
            assert [(await anext(events)).payload for _ in range(4)] == [b"2", b"3", b"4", b"5"]
            await daemon.until(lambda: daemon.unconfirmed(client.client_id) == 0)

    play(scene)


def test_a_second_connection_of_the_same_name_ends_the_first() -> None:
    """The later one has the session; the earlier one is told, everywhere it waits, and does not fight back."""

    async def scene(daemon: FakeDaemon) -> None:
        first = chapar.connect(daemon.address, client_id="rover-3")
        async with first, first.subscribe(subject="x") as events, chapar.connect(daemon.address, client_id="rover-3"):
            waiting = asyncio.create_task(events.__anext__())
            receipt = await first.publish(subject="x")
            with pytest.raises(chapar.EventLostError, match="another connection"):
                await receipt
            with pytest.raises(chapar.SessionTakenError, match="rover-3: give each client a client_id of its own"):
                await waiting
            with pytest.raises(chapar.SessionTakenError):
                await first.publish(subject="x")
            with pytest.raises(chapar.SessionTakenError):
                await first.subscribe(subject="y").__aenter__()
        assert sum(isinstance(each, Open) for each in daemon.requests) == 2

    play(scene)


# Closing


def test_closing_sees_every_event_off() -> None:
    """Without a single receipt awaited, all that was published is with the daemon when the block is left."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address) as client:
            for _ in range(3000):
                await client.publish(subject="x", payload=bytes(64))
        assert len(daemon.events) == 3000

    play(scene)


def test_closing_without_a_daemon_is_bounded_and_tells_of_lost_events() -> None:
    """The events are counted in the error; their receipts raise too."""

    async def scene(daemon: FakeDaemon) -> None:
        client = chapar.connect(daemon.address)
        await client.open()
        daemon.crash()
        receipts = [await client.publish(subject="x", persistent=True) for _ in range(3)]
        waiting = asyncio.create_task(receipts[0].accepted())
        await turns()
        with pytest.raises(chapar.EventLostError, match="3 events were not taken"):
            await client.close(timeout=0.02)
        for wait in (waiting, receipts[1].accepted()):
            with pytest.raises(chapar.EventLostError, match="client is closed"):
                await wait

    play(scene)


def test_closing_does_not_hide_why_a_block_was_left() -> None:
    """What the application raised is what its caller sees."""

    async def scene(daemon: FakeDaemon) -> None:
        receipts = []

        async def fail() -> None:
            async with chapar.connect(daemon.address, timeout=0.3) as client:
                daemon.is_mute = True
                receipts.append(await client.publish(subject="x"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        with pytest.raises(chapar.EventLostError):
            await receipts[0]

    play(scene)


def test_closing_during_a_restart_still_confirms_what_was_received() -> None:
    """The daemon dies with the confirmations in its mailbox; the client tells its next incarnation before it goes."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address, client_id="s") as client:
            async with client.subscribe(subject="x", keep=True) as events:
                for _ in range(3):
                    await client.publish(subject="x", persistent=True)
                first = await anext(events)
                await anext(events)
                daemon.pause()
            await turns()
            daemon.mail()
            daemon.crash()
            leaving = asyncio.create_task(client.close())
            await turns()
            daemon.start()
            await leaving
        assert daemon.unconfirmed("s") == 1
        assert first.id is not None

    play(scene)


def test_a_client_that_the_daemon_has_forgotten_is_closed_in_good_order() -> None:
    """It is opened again for the purpose."""

    async def scene(daemon: FakeDaemon) -> None:
        async with chapar.connect(daemon.address):
            daemon.forget_addresses()
        assert [type(each) for each in daemon.requests][-1] is Close
        assert sum(isinstance(each, Open) for each in daemon.requests) == 2

    play(scene)


def test_closing_ends_iterations_and_waiting_publishers() -> None:
    """In other tasks too; afterwards nothing can be asked of the client, and closing again is nothing."""

    async def scene(daemon: FakeDaemon) -> None:
        client = chapar.connect(daemon.address, outgoing=1)
        await client.open()

        async def listen() -> int:
            async with client.subscribe(subject="x") as events:
                return len([event async for event in events])

        listening = asyncio.create_task(listen())
        await daemon.until(lambda: bool(daemon.standing(client.client_id)))
        daemon.pause()
        await client.publish(subject="y")
        waiting = asyncio.create_task(client.publish(subject="y"))
        await turns()
        daemon.resume()
        await client.close()
        assert await listening == 0
        for work in (waiting, client.publish(subject="x"), client.subscribe(subject="x").__aenter__()):
            with pytest.raises(chapar.ClosedError, match="closed"):
                await work
        await client.close()
        assert len(daemon.events) == 1
        assert daemon.standing(client.client_id) == []

    play(scene)
