"""The applications: clients that publish, subscribe, and are ON and OFF, each driving a session of the real SDK."""

from __future__ import annotations

from collections import deque
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from chapar.event import later, peek_id
from chapar.session import Arrival, ClientSession, Deliver, Opened, Receipt, Refused
from chapar_sim.clientspec import Between, OneOf, relayed
from chapar_sim.service import Service
from chapar_sim.trace import Accepted, Delivered, Handed, Interest, Presence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chapar.event import Event, Value
    from chapar.filter import Filter
    from chapar.session import Message, Request
    from chapar_sim.clientspec import ClientSpec, PresenceSpec, PublishSpec, SubscribeSpec
    from chapar_sim.clock import Clock
    from chapar_sim.scenario import Scenario
    from chapar_sim.trace import Trace

LOOPBACK: Final = 0.0005
"""Seconds a message takes between a client and the daemon of its node."""
RECONNECT: Final = 0.1
"""Seconds after which a client tries a daemon that has come back."""
PINGS_PER_KEEP_ALIVE: Final = 3


class Home(Protocol):
    """The daemon of the client's node, as the client can reach it."""

    def request(self, home: int, client: str, requests: Iterable[Request]) -> None: ...
    def is_up(self, home: int) -> bool: ...
    def disturbed(self) -> None: ...


class Actor(Protocol):
    """A client, as its script has it act: the simulator's own, or one on a real daemon."""

    def go_on(self) -> None: ...
    def go_off(self) -> None: ...
    def publish(self, event: Event, /) -> None: ...
    def subscribe(self, filter_: Filter, /) -> int: ...
    def unsubscribe(self, number: int, /) -> None: ...


class Schedule(Protocol):
    """A clock that carries out actions: virtual, or of the wall."""

    @property
    def now(self) -> float: ...
    def at(self, time: float, action: Callable[[], None], /) -> None: ...


AnyActor = TypeVar("AnyActor", bound=Actor)


class Client:
    """One application. What it does and what it sees goes into the trace."""

    def __init__(
        self,
        name: str,
        home: int,
        keep_alive: float,
        clock: Clock,
        trace: Trace,
        daemon: Home,
        service: Service | None = None,
        relay: str | None = None,
    ) -> None:
        """With a `service`, it asks for one event at a time, and has it when that is over.

        With a `relay`, it publishes what it has under that subject.
        """
        self.name = name
        self.home = home
        self._ping_every = keep_alive / PINGS_PER_KEEP_ALIVE
        self._clock = clock
        self._trace = trace
        self._daemon = daemon
        self._session = ClientSession(name)
        self._wants_on = False
        self._connections = 0
        self._published: dict[int, tuple[float, Event]] = {}
        self._filters: dict[int, Filter] = {}
        self._handed: set[tuple[int, int]] = set()
        self._service = service
        self._relay = relay
        self._arrived: deque[Arrival] = deque()
        """What has come and was not asked for yet."""
        self._life = (0, 0)
        """The daemon's incarnation and the session's epoch, within which deliveries are numbered."""

    # What the application does

    def go_on(self) -> None:
        if not self._wants_on:
            self._wants_on = True
            self._open()

    def go_off(self) -> None:
        if self._wants_on:
            self._wants_on = False
            was_on = self._session.is_on
            self._session.close(self._clock.now)
            self._flush()
            self._present(on=False, was=was_on)

    def publish(self, event: Event) -> None:
        self._daemon.disturbed()
        self._published[self._session.publish(event)] = (self._clock.now, event)
        self._flush()

    def subscribe(self, filter_: Filter) -> int:
        self._daemon.disturbed()
        number = self._session.subscribe(filter_)
        self._filters[number] = filter_
        self._trace.interests.append(Interest(self._clock.now, self.name, number, filter_, active=True))
        self._flush()
        return number

    def unsubscribe(self, number: int) -> None:
        self._daemon.disturbed()
        self._session.unsubscribe(number)
        self._ended(number)
        self._flush()

    # What happens to it

    def daemon_up(self) -> None:
        """The daemon answers again."""
        if self._wants_on and not self._session.is_on:
            self._open()

    def daemon_down(self) -> None:
        """The daemon is gone without a word."""
        was_on = self._session.is_on
        self._session.lost()
        self._present(on=False, was=was_on)

    def received(self, message: Message) -> None:
        """A message of the daemon arrives."""
        was_on = self._session.is_on
        if isinstance(message, Deliver):
            self._hand(message)
        elif isinstance(message, Receipt):
            self._accepted(message)
        elif isinstance(message, Refused):
            self._refused(message)
        elif isinstance(message, Opened):
            self._opened(message)
        arrivals = self._session.received(message, self._clock.now)
        if self._service is not None:
            self._arrived += arrivals
            self._ask_for_next(waited=False)
        else:
            for number, event in arrivals:
                self._session.consumed(number)
                self._deliver(event)
        for number in self._session.given_up:
            self._given_up(number)
        self._session.given_up.clear()
        self._present(on=self._session.is_on, was=was_on)
        if self._session.is_on and not was_on:
            if not self._wants_on:  # it went OFF while the daemon was answering
                self._session.close(self._clock.now)
                self._present(on=False, was=True)
            else:
                self._connections += 1
                self._clock.after(self._ping_every, partial(self._ping, self._connections))
        self._flush()

    def _deliver(self, event: Event) -> None:
        assert event.id is not None, "the network delivers events that a home has stamped"
        self._trace.delivered.append(Delivered(self._clock.now, self.name, self.home, event.id))
        if self._relay:
            self.publish(relayed(self._relay, event.payload))

    def _ask_for_next(self, *, waited: bool) -> None:
        """Take the next event in hand, if there is one and nothing else is in hand."""
        service = self._service
        if service is not None and self._session.is_on and self._arrived and not service.is_busy:
            number, event = self._arrived.popleft()
            assert event.id is not None, "the network delivers events that a home has stamped"
            if number:
                self._session.consumed(number)
            else:
                self._session.consumed_since(event.id)
            service.begin(partial(self._served, event), waited=waited)

    def _served(self, event: Event) -> None:
        self._deliver(event)
        self._ask_for_next(waited=True)
        self._flush()

    def _hand(self, delivery: Deliver) -> None:
        for number, body in enumerate(delivery.bodies, delivery.number):
            key = (delivery.incarnation, number)
            if key not in self._handed:
                self._handed.add(key)
                self._trace.handed.append(Handed(self._clock.now, self.name, *key, peek_id(body)))

    def _opened(self, opened: Opened) -> None:
        life = opened.incarnation, opened.epoch
        if life != self._life:
            self._life = life
            self._arrived = deque(Arrival(0, event) for _, event in self._arrived)  # its numbers mean nothing any more

    def _accepted(self, receipt: Receipt) -> None:
        for place in range(receipt.length):
            published = self._published.pop(receipt.number + place, None)
            if published is not None:
                time, event = published
                self._trace.accepted.append(Accepted(time, self.name, self.home, later(receipt.id, place), event))

    def _given_up(self, number: int) -> None:
        self._trace.drops[self.home, "given_up"] += 1
        self._published.pop(number, None)

    def _refused(self, refusal: Refused) -> None:
        self._trace.drops[self.home, f"refused_{refusal.reason}"] += 1
        self._published.pop(refusal.number, None)
        self._ended(refusal.number)

    def _ended(self, number: int) -> None:
        filter_ = self._filters.pop(number, None)
        if filter_ is not None:
            self._trace.interests.append(Interest(self._clock.now, self.name, number, filter_, active=False))

    def _open(self) -> None:
        if self._daemon.is_up(self.home):
            self._session.open(self._clock.now)
            self._flush()

    def _ping(self, connection: int) -> None:
        if self._session.is_on and connection == self._connections:
            self._session.ping()
            self._flush()
            self._clock.after(self._ping_every, partial(self._ping, connection))

    def _flush(self) -> None:
        requests = self._session.requests(self._clock.now)
        if requests:
            self._clock.after(LOOPBACK, partial(self._daemon.request, self.home, self.name, requests))

    def _present(self, *, on: bool, was: bool) -> None:
        if on != was:
            self._daemon.disturbed()
            self._trace.presence.append(Presence(self._clock.now, self.name, self.home, on))
            if self._service is not None and on:
                self._service.go_on()
                self._ask_for_next(waited=True)
            elif self._service is not None:
                self._service.go_off()


def build(
    scenario: Scenario, seed: int, keep_alive: float, clock: Clock, trace: Trace, daemon: Home
) -> dict[str, Client]:
    """All clients of a scenario by name, with everything they will do scheduled."""
    services, relays = services_of(scenario, seed, clock), relays_of(scenario, seed)

    def make(name: str, home: int) -> Client:
        return Client(name, home, keep_alive, clock, trace, daemon, services.get(name), relays[name])

    return enact(scenario, seed, clock, make)


def enact(
    scenario: Scenario,
    seed: int,
    schedule: Schedule,
    make: Callable[[str, int], AnyActor],
    *,
    node: int | None = None,
) -> dict[str, AnyActor]:
    """The clients of a scenario, each made from its name and its home, with everything they will do scheduled.

    With `node`, only the clients that live there: they do what they do among all.
    """
    actors = {}
    for role in cast_of(scenario, seed):
        if node in {None, role.home}:
            actor = actors[role.name] = make(role.name, role.home)
            _Script(actor, role.spec, scenario.active, schedule, f"{seed}/client/{role.name}").begin()
    return actors


class Role(NamedTuple):
    """One client of a scenario."""

    name: str
    home: int
    spec: ClientSpec


def cast_of(scenario: Scenario, seed: int) -> list[Role]:
    """All clients of a scenario, and where each of them lives."""
    hosts = [spec.index for spec in scenario.nodes if spec.chapard]
    cast = []
    for spec in scenario.clients:
        homes = _homes(spec, hosts, seed)
        for home in homes:
            name = spec.name if len(homes) == 1 else f"{spec.name}-{home}"
            names = [name] if spec.each == 1 else [f"{name}-{number}" for number in range(1, spec.each + 1)]
            cast += [Role(each, home, spec) for each in names]
    return cast


def services_of(scenario: Scenario, seed: int, clock: Schedule) -> dict[str, Service]:
    """Of the clients that take time over events, how they do so."""
    takers = [role for role in cast_of(scenario, seed) if role.spec.service.mean]
    return {role.name: Service(role.spec.service, f"{seed}/client/{role.name}/service", clock) for role in takers}


def relays_of(scenario: Scenario, seed: int) -> dict[str, str | None]:
    """Under which subject each client publishes what it has taken."""
    return {role.name: role.spec.relay for role in cast_of(scenario, seed)}


def _homes(spec: ClientSpec, hosts: list[int], seed: int) -> list[int]:
    if spec.random:
        return sorted(Random(f"{seed}/homes/{spec.name}").sample(hosts, spec.random))
    return list(spec.nodes) or hosts


class _Script:
    """What one client will do, each strand with chances of its own.

    What follows another action is reckoned from when that was due, for a clock of the wall comes to everything late.
    """

    def __init__(self, client: Actor, spec: ClientSpec, active: float, clock: Schedule, seed: str) -> None:
        self._client = client
        self._spec = spec
        self._active = active
        self._clock = clock
        self._seed = seed

    def begin(self) -> None:
        self._be_present(self._spec.presence, Random(f"{self._seed}/presence"))
        for place, subscription in enumerate(self._spec.subscribe):
            self._subscribe(subscription, Random(f"{self._seed}/subscribe/{place}"))
        for place, stream in enumerate(self._spec.publish):
            self._publish(stream, Random(f"{self._seed}/publish/{place}"))

    # ON and OFF

    def _be_present(self, spec: PresenceSpec, rng: Random) -> None:
        first = self._client.go_on if spec.starts_on else self._client.go_off
        self._clock.at(0.0, first)
        for time, on in spec.schedule:
            self._clock.at(time, self._client.go_on if on else self._client.go_off)
        if spec.on:
            self._turn(spec, rng, 0.0, on=spec.starts_on)
            self._clock.at(self._active, self._client.go_on)

    def _turn(self, spec: PresenceSpec, rng: Random, since: float, *, on: bool) -> None:
        """Stay as it is for one period, then turn."""
        mean = spec.on if on else spec.off
        time = since + (mean if spec.law == "fixed" else rng.expovariate(1 / mean))
        if time < self._active:
            self._clock.at(time, partial(self._turned, spec, rng, time, on=not on))

    def _turned(self, spec: PresenceSpec, rng: Random, due: float, *, on: bool) -> None:
        if on:
            self._client.go_on()
        else:
            self._client.go_off()
        self._turn(spec, rng, due, on=on)

    # Subscriptions

    def _subscribe(self, spec: SubscribeSpec, rng: Random) -> None:
        stop = self._active if spec.stop is None else spec.stop
        self._clock.at(spec.start, partial(self._subscribed, spec, rng, stop, spec.start))

    def _subscribed(self, spec: SubscribeSpec, rng: Random, stop: float, due: float) -> None:
        number = self._client.subscribe(spec.filter)
        end = due + rng.expovariate(1 / spec.hold) if spec.hold else stop
        if spec.hold and end < stop:
            self._clock.at(end, partial(self._unsubscribed, spec, rng, stop, end, number))
        elif spec.stop is not None:
            self._clock.at(stop, partial(self._client.unsubscribe, number))

    def _unsubscribed(self, spec: SubscribeSpec, rng: Random, stop: float, due: float, number: int) -> None:
        self._client.unsubscribe(number)
        again = due + rng.expovariate(1 / spec.gap)
        if again < stop:
            self._clock.at(again, partial(self._subscribed, spec, rng, stop, again))

    # Publications

    def _publish(self, spec: PublishSpec, rng: Random) -> None:
        if spec.at:
            for time in spec.at:
                self._clock.at(time, partial(self._publish_one, spec, rng))
            return
        first = spec.start + (rng.expovariate(spec.rate) if spec.rate else 0.0)
        self._publish_at(first, spec, rng, 1)

    def _publish_at(self, time: float, spec: PublishSpec, rng: Random, count: int) -> None:
        stop = self._active if spec.stop is None else min(spec.stop, self._active)
        if time < stop and (spec.count is None or count <= spec.count):
            self._clock.at(time, partial(self._publish_next, spec, rng, count, time))

    def _publish_next(self, spec: PublishSpec, rng: Random, count: int, due: float) -> None:
        self._publish_one(spec, rng)
        gap = rng.expovariate(spec.rate) if spec.rate else spec.every
        self._publish_at(due + gap, spec, rng, count + 1)

    def _publish_one(self, spec: PublishSpec, rng: Random) -> None:
        attributes = {name: _draw(value, rng) for name, value in spec.attributes}
        self._client.publish(spec.event(attributes, rng.randbytes(rng.randint(*spec.payload))))


def _draw(value: Value | Between | OneOf, rng: Random) -> Value:
    match value:
        case Between(int() as least, int() as most):
            return rng.randint(least, most)
        case Between(least, most):
            return rng.uniform(least, most)
        case OneOf(values):
            return rng.choice(values)
        case _:
            return value
