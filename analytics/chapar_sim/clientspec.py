"""The part of a scenario that says what applications do: [[client]]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from chapar.errors import EventError, FilterError
from chapar.event import Event, Value
from chapar.filter import Filter
from chapar_sim.terrain import read_node, read_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_sim.table import Table

LAWS = ("exponential", "fixed")
MOST_EACH = 1000
"""Clients of one kind on one node."""


class Between(NamedTuple):
    """An attribute drawn evenly between two numbers; whole numbers give whole numbers."""

    least: float
    most: float


class OneOf(NamedTuple):
    """An attribute drawn from a list."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSpec:
    """A stream of publications: `rate` per second on average (Poisson), `every` so many seconds, or `at` some times."""

    rate: float = 0.0
    every: float = 0.0
    at: tuple[float, ...] = ()
    start: float = 0.0
    stop: float | None = None
    """None: when the scenario settles."""
    count: int | None = None
    subject: str | None = None
    type: str | None = None
    group: str | None = None
    attributes: tuple[tuple[str, Value | Between | OneOf], ...] = ()
    payload: tuple[int, int] = (64, 64)
    """Bytes, drawn evenly from least to most."""
    lifetime: float = 0.0
    persistent: bool = False
    to: tuple[int, ...] = ()

    def event(self, attributes: Mapping[str, Value], payload: bytes) -> Event:
        """One event of this stream. Raises EventError if there can be none."""
        return Event(
            subject=self.subject,
            type=self.type,
            group=self.group,
            attributes=attributes,
            payload=payload,
            to=self.to,
            lifetime=self.lifetime,
            persistent=self.persistent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeSpec:
    """A subscription from `start` to `stop`, or coming and going: on average `hold` seconds with, `gap` without it."""

    filter: Filter
    start: float = 0.0
    stop: float | None = None
    """None: it stands to the end."""
    hold: float = 0.0
    gap: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceSpec:
    """When a client is ON: always, in turns of `on` and `off` seconds, or as `schedule` says."""

    on: float = 0.0
    off: float = 0.0
    law: str = "exponential"
    starts_on: bool = True
    schedule: tuple[tuple[float, bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """How long an application takes over an event, while it is ON, before it asks for the next: no time, at mean 0."""

    mean: float = 0.0
    law: str = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """Applications of one kind: on each of `nodes`, on `random` nodes drawn from the seed, or (neither) on all."""

    name: str
    nodes: tuple[int, ...] = ()
    random: int = 0
    each: int = 1
    """So many on each of these nodes."""
    publish: tuple[PublishSpec, ...] = ()
    subscribe: tuple[SubscribeSpec, ...] = ()
    presence: PresenceSpec = PresenceSpec()
    service: ServiceSpec = ServiceSpec()
    relay: str | None = None
    """The subject under which they publish what they have taken, once more."""


def read_client(table: Table, nodes: frozenset[int], hosts: frozenset[int]) -> ClientSpec:
    """`hosts` are the nodes that run a daemon, the only ones a client can live on."""
    spec = ClientSpec(
        name=table.text("name"),
        nodes=_homes(table, nodes, hosts),
        random=table.integer("random", low=1, high=len(hosts)) if table.has("random") else 0,
        each=table.integer("each", 1, low=1, high=MOST_EACH),
        publish=tuple(_publish(each, nodes) for each in table.tables("publish")),
        subscribe=tuple(_subscribe(each) for each in table.tables("subscribe")),
        presence=_presence(table.table("presence")),
        service=_service(table.table("service")) if table.has("service") else ServiceSpec(),
        relay=table.optional_text("relay"),
    )
    if not spec.name:
        table.fail("name", "is empty; give the clients a name")
    if sum((table.has("node"), table.has("nodes"), table.has("random"))) != 1:
        table.fail("", 'say where the clients live: one of node = 3, nodes = [1, 2] or "all", random = 5')
    if spec.service.mean and len(spec.subscribe) > 1:
        table.fail("service", "a client that takes time over each event has one subscription; write more clients")
    if spec.relay and any(each.filter.matches(relayed(spec.relay, b"")) for each in spec.subscribe):
        table.fail("relay", f"{spec.relay!r} is what these clients are subscribed to: they would never come to an end")
    table.finish()
    return spec


def relayed(subject: str, payload: bytes) -> Event:
    """What a client with `relay` publishes of an event that it has taken."""
    return Event(subject=subject, payload=payload)


def _homes(table: Table, nodes: frozenset[int], hosts: frozenset[int]) -> tuple[int, ...]:
    key = "node" if table.has("node") else "nodes"
    if table.raw("nodes") == "all":
        return ()
    homes = (read_node(table, "node", nodes),) if key == "node" else read_nodes(table, "nodes", nodes)
    if table.has("nodes") and not homes:
        table.fail("nodes", 'is empty; write node indexes, or "all"')
    for home in homes:
        if home not in hosts:
            table.fail(key, f"node {home} has chapard = false; clients live on nodes that run chapard")
    return homes


def _publish(table: Table, nodes: frozenset[int]) -> PublishSpec:
    ways = [key for key in ("rate", "every", "at") if table.has(key)]
    if len(ways) != 1:
        table.fail(
            "", "say when to publish: one of rate = 0.5 (per second, Poisson), every = 2.0 (seconds) or at = [10]"
        )
    payload = table.span("payload", (64, 64), high=65_000)
    spec = PublishSpec(
        rate=table.number("rate", above=0, high=100_000) if ways == ["rate"] else 0.0,
        every=table.number("every", low=1e-5) if ways == ["every"] else 0.0,
        at=tuple(sorted(table.pair("at", [each, 0], low=0)[0] for each in table.items("at"))),
        start=table.number("start", 0.0, low=0),
        stop=table.number("stop", low=0) if table.has("stop") else None,
        count=table.integer("count", low=1, high=1_000_000_000) if table.has("count") else None,
        subject=table.optional_text("subject"),
        type=table.optional_text("type"),
        group=table.optional_text("group"),
        attributes=_attributes(table.table("attributes")),
        payload=(int(payload[0]), int(payload[1])),
        lifetime=table.number("lifetime", 0.0, low=0),
        persistent=table.flag("persistent", default=False),
        to=read_nodes(table, "to", nodes),
    )
    table.finish()
    try:
        spec.event({name: example(value) for name, value in spec.attributes}, bytes(spec.payload[1])).encode()
    except EventError as error:
        table.fail("", str(error))
    return spec


def example(value: Value | Between | OneOf) -> Value:
    """One value that the attribute can take."""
    if isinstance(value, Between):
        return value.least
    return value.values[0] if isinstance(value, OneOf) else value


def _attributes(table: Table) -> tuple[tuple[str, Value | Between | OneOf], ...]:
    return tuple((name, _attribute(table, name)) for name in sorted(table.names()))


def _attribute(table: Table, name: str) -> Value | Between | OneOf:
    value = table.raw(name)
    if not isinstance(value, dict):
        if not isinstance(value, (int, float, str, bool)):
            table.fail(name, f"{value!r} is not a number, text or truth value")
        return value
    drawn = table.table(name)
    spec: Between | OneOf
    if drawn.has("between"):
        span = drawn.raw("between")
        drawn.pair("between", span)
        assert isinstance(span, list)
        spec = Between(min(span), max(span))
    else:
        values = tuple(each for each in drawn.items("one_of") if isinstance(each, (int, float, str, bool)))
        if not values:
            table.fail(name, 'write a value, {between = [1, 9]} or {one_of = ["a", "b"]}')
        spec = OneOf(values)
    drawn.finish()
    return spec


def _subscribe(table: Table) -> SubscribeSpec:
    try:
        if table.has("filter"):
            filter_ = Filter.parse(table.text("filter"))
        else:
            filter_ = Filter(
                subject=table.optional_text("subject"),
                type=table.optional_text("type"),
                group=table.optional_text("group"),
                sender=table.integer("sender", low=0, high=4095) if table.has("sender") else None,
                where=table.text("where", ""),
            )
    except FilterError as error:
        table.fail("filter" if table.has("filter") else "where", str(error))
    spec = SubscribeSpec(
        filter=filter_,
        start=table.number("start", 0.0, low=0),
        stop=table.number("stop", low=0) if table.has("stop") else None,
        hold=table.number("hold", above=0) if table.has("hold") else 0.0,
        gap=table.number("gap", above=0) if table.has("gap") else 0.0,
    )
    if bool(spec.hold) != bool(spec.gap):
        table.fail("hold", "a subscription that comes and goes needs both hold and gap (mean seconds)")
    table.finish()
    return spec


def _presence(table: Table) -> PresenceSpec:
    schedule: list[tuple[float, bool]] = []
    for place, item in enumerate(table.items("schedule")):
        key = f"schedule[{place}]"
        if not isinstance(item, (list, tuple)) or len(item) != 2 or item[1] not in {"on", "off"}:
            table.fail(key, f'{item!r}: write a time and a state: [30.0, "off"]')
        schedule.append((table.pair(key, [item[0], 0], low=0)[0], item[1] == "on"))
    spec = PresenceSpec(
        on=table.number("on", above=0) if table.has("on") else 0.0,
        off=table.number("off", above=0) if table.has("off") else 0.0,
        law=table.choice("law", LAWS, "exponential"),
        starts_on=table.choice("first", ("on", "off"), "on") == "on",
        schedule=tuple(sorted(schedule)),
    )
    if bool(spec.on) != bool(spec.off):
        table.fail("on", "a client that comes and goes needs both on and off (seconds)")
    if spec.on and spec.schedule:
        table.fail("schedule", "give a schedule or on and off, not both")
    table.finish()
    return spec


def _service(table: Table) -> ServiceSpec:
    spec = ServiceSpec(mean=table.number("mean", above=0), law=table.choice("law", LAWS, "exponential"))
    table.finish()
    return spec
