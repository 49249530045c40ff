"""Applications of the real SDK that act out the clients of a scenario, in real time.

Each client does in order, in a task of its own, what its script says. What it did and saw is told as rows of a trace.
Events that it publishes, and filters that it subscribes with, while it is OFF wait until it is ON again, as they do in
the simulator.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

import chapar
from chapar.errors import ChaparError, NoDaemonError
from chapar_lab.rows import Dropped
from chapar_sim.clientspec import relayed
from chapar_sim.trace import Accepted, Delivered, Interest, Presence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chapar import Client, Event
    from chapar.event import EventId
    from chapar.filter import Filter
    from chapar.subscription import Subscription
    from chapar_lab.rows import Row
    from chapar_sim.service import Service

CONNECT_PATIENCE: Final = 2.0
"""Seconds after which a client whose daemon does not answer looks whether it still wants to be ON."""
LOOK_EVERY: Final = 0.02
"""Seconds between two looks at whether clients are connected."""


class WallClock:
    """Seconds since the start, and actions when they have passed."""

    def __init__(self, start: float | None = None) -> None:
        """`start` is a time of the loop's clock, which all processes of a machine share; None: now."""
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time() if start is None else start
        self._asked = count()

    def restart(self, start: float) -> None:
        """Count from this time on. What was scheduled stays when it was."""
        self._start = start

    @property
    def now(self) -> float:
        return self._loop.time() - self._start

    def at(self, time: float, action: Callable[[], None]) -> None:
        # The loop does not keep the order of what is due at one time; a nanosecond later each keeps it.
        self._loop.call_at(self._start + time + 1e-9 * next(self._asked), action)

    async def reach(self, time: float) -> None:
        reached = asyncio.Event()
        self.at(time, reached.set)
        await reached.wait()


class Actor:
    """One client."""

    def __init__(
        self,
        name: str,
        home: int,
        address: str | None,
        clock: WallClock,
        tell: Callable[[Row], None],
        tasks: asyncio.TaskGroup,
        *,
        keep: bool,
        service: Service | None = None,
        relay: str | None = None,
    ) -> None:
        """With `keep`, subscriptions stand while the client is OFF; with a `service`, each event takes its time.

        With a `relay`, what it has taken is published under that subject.
        """
        self.home = home
        self._name = name
        self._address = address
        self._clock = clock
        self._tell = tell
        self._tasks = tasks
        self._keep = keep
        self._service = service
        self._relay = relay
        self._is_free = asyncio.Event()
        """Nothing is being served."""
        self._is_free.set()
        self._is_over = False
        self._wants_on = False
        self._client: Client | None = None
        self._filters: dict[int, Filter] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._numbers = 0
        self._unpublished: list[tuple[float, Event]] = []
        """What was published while OFF."""
        self._got: dict[EventId, set[int]] = {}
        """The subscriptions that have handed out each event."""
        self._is_present = False
        self._must_notice = False
        """Its daemon was killed: until the client knows, that it believes to be connected means nothing."""
        self._steps: asyncio.Queue[Callable[[], Awaitable[None]] | None] = asyncio.Queue()
        self._task = tasks.create_task(self._act())

    async def end(self) -> None:
        """Go OFF, once everything before that is done."""
        self.go_off()
        self._steps.put_nowait(None)
        await self._task
        self._is_over = True
        self._is_free.set()

    # What its script has it do

    def go_on(self) -> None:
        self._wants_on = True
        self._steps.put_nowait(partial(self._go_on, self._clock.now))

    def go_off(self) -> None:
        self._wants_on = False
        self._steps.put_nowait(partial(self._go_off, self._clock.now))

    def publish(self, event: Event) -> None:
        self._steps.put_nowait(partial(self._publish, self._clock.now, event))

    def subscribe(self, filter_: Filter) -> int:
        self._numbers += 1
        self._steps.put_nowait(partial(self._subscribe, self._numbers, filter_))
        return self._numbers

    def unsubscribe(self, number: int) -> None:
        self._steps.put_nowait(partial(self._unsubscribe, number))

    async def _act(self) -> None:
        while (step := await self._steps.get()) is not None:
            await step()

    async def _go_on(self, due: float) -> None:
        while self._client is None and self._wants_on:
            client = chapar.connect(self._address, client_id=self._name, timeout=CONNECT_PATIENCE)
            try:
                await client.open()
            except NoDaemonError:
                continue
            self._client = client
            if self._service is not None:
                self._service.go_on(due)
            for number, filter_ in self._filters.items():
                await self._enter(number, filter_)
            waiting, self._unpublished = self._unpublished, []
            for t, event in waiting:
                await self._publish(t, event)

    async def _go_off(self, due: float) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._present(on=False)
            if self._service is not None:
                self._service.go_off(due)
            try:
                await client.close()
            except ChaparError as error:
                self._drop(error)
            self._subscriptions.clear()

    async def _publish(self, t: float, event: Event) -> None:
        if self._client is None:
            self._unpublished.append((t, event))
            return
        try:
            receipt = await self._client.publish(event)
        except ChaparError as error:
            self._drop(error)
        else:
            self._tasks.create_task(self._accepted(t, event, receipt))

    async def _accepted(self, t: float, event: Event, receipt: chapar.Receipt) -> None:
        try:
            taken = await receipt
        except ChaparError as error:
            self._drop(error)
        else:
            self._tell(Accepted(t, self._name, self.home, taken, event))

    async def _subscribe(self, number: int, filter_: Filter) -> None:
        self._tell(Interest(self._clock.now, self._name, number, filter_, active=True))
        self._filters[number] = filter_
        if self._client is not None:
            await self._enter(number, filter_)

    async def _enter(self, number: int, filter_: Filter) -> None:
        assert self._client is not None, "it is ON"
        subscription = self._client.subscribe(filter=filter_, keep=self._keep)
        self._subscriptions[number] = subscription
        self._tasks.create_task(self._read(number, subscription))
        await asyncio.sleep(0)  # it is asked for before whatever comes next; the answer may be long in coming

    async def _unsubscribe(self, number: int) -> None:
        self._tell(Interest(self._clock.now, self._name, number, self._filters.pop(number), active=False))
        if number in self._subscriptions:
            self._subscriptions.pop(number).close()

    async def _read(self, number: int, subscription: Subscription) -> None:
        try:
            async with subscription:
                if self._service is None:
                    async for event in subscription:
                        self._take(number, event)
                else:
                    await self._serve(self._service, number, subscription)
        except ChaparError as error:
            self._drop(error)

    async def _serve(self, service: Service, number: int, subscription: Subscription) -> None:
        """Ask for an event when nothing is being served: not even what was when this client was last ON.

        What comes first, and not alone, has waited for this client to be ON: to connect took it some time.
        """
        await self._is_free.wait()
        waited, is_first = len(subscription) > 0, True
        async for event in subscription:
            self._is_free.clear()
            service.begin(self._is_free.set, waited=waited or (is_first and len(subscription) > 0))
            is_first = False
            await self._is_free.wait()
            if self._is_over:  # in the middle of it
                return
            self._take(number, event)
            waited = len(subscription) > 0

    def _take(self, number: int, event: Event) -> None:
        """An event counts once though several subscriptions hand it out; twice, if one of them does so twice."""
        assert event.id is not None, "the network delivers events that a home has stamped"
        subscriptions = self._got.setdefault(event.id, set())
        if not subscriptions or number in subscriptions:
            self._tell(Delivered(self._clock.now, self._name, self.home, event.id, number))
            if self._relay and not subscriptions:
                self.publish(relayed(self._relay, event.payload))
        subscriptions.add(number)

    def _drop(self, error: ChaparError) -> None:
        self._tell(Dropped(self._clock.now, self._name, self.home, type(error).__name__))

    # What is seen of it

    def daemon_down(self) -> None:
        """Somebody has ended its daemon."""
        self._must_notice = self._client is not None
        self._present(on=False)

    def look(self) -> None:
        """See whether it is connected."""
        is_connected = self._client is not None and self._client.is_connected
        if not is_connected:
            self._must_notice = False
        if not self._must_notice:
            self._present(on=is_connected)

    def _present(self, *, on: bool) -> None:
        if on != self._is_present:
            self._is_present = on
            self._tell(Presence(self._clock.now, self._name, self.home, on))
