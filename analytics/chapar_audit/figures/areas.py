"""The simulation of the report on Chapar (table 3.2): walking nodes in areas of several sizes, run and measured.

`Plan` says what is run; `roles` and `slots` say what was measured in it; `Expected` is what geometry makes of it, the
average over many draws of where nodes are.
"""

from __future__ import annotations

import math
from functools import cached_property, reduce
from random import Random
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as fn

from chapar_audit.figures.figure import Effort
from chapar_audit.models import mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from chapar_audit.figures.workshop import Run, Workshop
    from chapar_audit.models.mesh import Position

REACH: Final = 250.0
"""Metres up to which nodes hear each other."""
SPEED: Final = 1.0
"""Metres per second."""
HELLO_INTERVAL: Final = 2.0
TC_INTERVAL: Final = 5.0
EARLY: Final = 0.5
"""Seconds by which HELLOs and TCs may be early, so that nodes do not speak in step (RFC 3626, 18.3)."""
PACKET: Final = 46
"""Bytes around the messages of a packet of OLSR: its own, UDP's, IP's and Ethernet's."""
SUBSCRIPTIONS, EVENTS = 3, 1
"""In a slot."""
LEAST, MEAN, SPREAD = 94, 362, 0.8
"""Bytes of a memorised event in the report; it does not give the spread of their logarithm, this is ours."""
THEMES: Final = 8
"""An event is for the subscribers of one of these."""
SECOND: Final = 1_000_000
"""In microseconds."""
RELAY, BROKER = "mpr", "broker"
"""The reason, and the role, as daemons record them."""
OLSR_PORT: Final = 698
ROUTING, SUBSCRIBING, MEMORISED, UPKEEP = "OLSR", "subscriptions", "memorised events", "beacons and tables"
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    SUBSCRIBING: ("subscribe", "unsubscribe"),
    MEMORISED: ("publish", "store", "event", "brief", "fragment", "delivered", "replay"),
}
"""Kinds of frames; all others of chapard's are upkeep."""
SCENARIO: Final = """\
name = "area of {diameter:g} m"
seed = {seed}
duration = {duration:g}
snapshot_every = 0
nodes = {nodes}
[topology]
kind = "range"
range = {reach:g}
area = [{side}, {side}]
[mobility]
kind = "waypoint"
speed = [{speed:g}, {speed:g}]
[routes]
source = "olsr"
hello_interval = {hello:g}
tc_interval = {tc:g}
"""
SUBSCRIBER: Final = """\
[[client]]
name = "subscriber {number}"
node = {node}
subscribe = [{{ filter = 'subject = "theme-{theme}"', start = {start:.3f} }}]
"""
PUBLISHER: Final = """\
[[client]]
name = "publisher {number}"
node = {node}
publish = [{{ subject = "theme-{theme}", at = [{start:.3f}], lifetime = {lifetime:g}, payload = {size} }}]
"""


class Plan(NamedTuple):
    """What is run, in each of several areas."""

    nodes: int
    diameters: Sequence[float]
    """D: the diagonal of a square, in metres."""
    warm: float
    """Seconds before the first slot."""
    slot: float
    slots: int
    draws: int
    """Of positions, for what is expected."""

    @property
    def duration(self) -> float:
        return self.warm + self.slot * self.slots

    def scenario(self, diameter: float, seed: int = 1) -> str:
        """The same subscriptions and events, at the same times and nodes, in every area."""
        rng = Random(f"{seed}/areas")
        side = round(_side(diameter), 3)
        parts = [
            SCENARIO.format(
                diameter=diameter, seed=seed, duration=self.duration, nodes=self.nodes, reach=REACH, side=side,
                speed=SPEED, hello=HELLO_INTERVAL, tc=TC_INTERVAL,
            )
        ]  # fmt: skip
        homes = rng.sample(range(1, self.nodes + 1), self.nodes)
        for number in range(SUBSCRIPTIONS * self.slots):
            start = self.warm + self.slot * (number // SUBSCRIPTIONS + rng.random())
            node = homes[number % self.nodes]
            parts.append(SUBSCRIBER.format(number=number, node=node, theme=rng.randrange(THEMES), start=start))
        for number in range(EVENTS * self.slots):
            start = self.warm + self.slot * (number // EVENTS + rng.random())
            parts.append(
                PUBLISHER.format(
                    number=number, node=rng.randint(1, self.nodes), theme=rng.randrange(THEMES), start=start,
                    lifetime=self.duration, size=_size(rng),
                )
            )  # fmt: skip
        return "".join(parts)


PLANS: Final[Mapping[Effort, Plan]] = {
    Effort.QUICK: Plan(14, (250, 600, 1000), warm=20, slot=10, slots=3, draws=20),
    Effort.FULL: Plan(40, (250, 450, 700, 1000, 1400, 2000), warm=40, slot=30, slots=6, draws=40),
}


def _side(diameter: float) -> float:
    return diameter / math.sqrt(2)


def _size(rng: Random) -> int:
    """Bytes of a payload, log-normal: what an event has above the smallest one."""
    return round(rng.lognormvariate(math.log(MEAN - LEAST) - SPREAD**2 / 2, SPREAD))


# Expected


class Mean(NamedTuple):
    """Over draws of positions."""

    value: float
    deviation: float
    """Standard deviation of one draw."""


class Draw(NamedTuple):
    """Nodes somewhere, and what follows from it."""

    neighbours: mesh.Neighbours
    chosen: mesh.Relays
    serving: frozenset[int]

    @property
    def subscription(self) -> float:
        """Frames of one."""
        return fmean(mesh.broker_transmissions(home, self.serving, self.neighbours) for home in self.chosen)

    @property
    def hello_bytes(self) -> float:
        """Of the HELLOs of all nodes in a second, each in a packet of its own."""
        bodies = sum(mesh.hello_bytes(len(self.neighbours[node]), len(relays)) for node, relays in self.chosen.items())
        return (bodies + PACKET * len(self.chosen)) / (HELLO_INTERVAL - EARLY / 2)

    def tc_bytes(self, headers: int) -> float:
        """Of all TCs in a second, with so many bytes around each: those that ride along with others have none.

        A TC names whom its node chose, and those who chose it.
        """
        named = {node: set(relays) for node, relays in self.chosen.items()}
        for node, relays in self.chosen.items():
            for relay in relays:
                named[relay].add(node)
        each = (
            mesh.transmissions(node, self.chosen) * (headers + mesh.tc_bytes(len(names)))
            for node, names in named.items()
            if names
        )
        return sum(each) / (TC_INTERVAL - EARLY / 2)


class Expected:
    """What geometry makes of an area: averages over draws of where its nodes are in the middle of the slots."""

    def __init__(self, plan: Plan, diameter: float) -> None:
        self._plan = plan
        self._side = _side(diameter)

    @cached_property
    def _draws(self) -> list[Draw]:
        plan = self._plan
        way = SPEED * (plan.warm + plan.duration) / 2
        found = []
        for number in range(plan.draws):
            rng = Random(f"{number}/draws")
            neighbours = mesh.in_range({node: _walked(self._side, way, rng) for node in range(plan.nodes)}, REACH)
            chosen = mesh.relays(neighbours)
            found.append(Draw(neighbours, chosen, mesh.brokers(neighbours, chosen)))
        return found

    def mean(self, of: Callable[[Draw], float]) -> Mean:
        found = [of(draw) for draw in self._draws]
        return Mean(fmean(found), pstdev(found))

    @property
    def relays(self) -> Mean:
        return self.mean(lambda draw: len(mesh.relaying(draw.chosen)))

    @property
    def brokers(self) -> Mean:
        return self.mean(lambda draw: len(draw.serving))

    @property
    def subscription(self) -> Mean:
        return self.mean(lambda draw: draw.subscription)

    @property
    def hello_bytes(self) -> Mean:
        return self.mean(lambda draw: draw.hello_bytes)

    def tc_bytes(self, headers: int = 0) -> Mean:
        return self.mean(lambda draw: draw.tc_bytes(headers))


def _walked(side: float, way: float, rng: Random) -> Position:
    """Where a node is that began anywhere and went so many metres, from one waypoint to the next."""
    here = (rng.uniform(0, side), rng.uniform(0, side))
    while way > 0:
        there = (rng.uniform(0, side), rng.uniform(0, side))
        share = min(1.0, way / math.dist(here, there))
        way -= math.dist(here, there)
        here = (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
    return here


# Measured


class Area(NamedTuple):
    """An area, and what was measured there."""

    diameter: float
    run: Run
    expected: Expected


def areas(workshop: Workshop, plan: Plan) -> list[Area]:
    """Run them all."""
    runs = workshop.record([plan.scenario(diameter) for diameter in plan.diameters])
    return [Area(diameter, run, Expected(plan, diameter)) for diameter, run in zip(plan.diameters, runs, strict=True)]


class Roles(NamedTuple):
    """How many nodes, on average over the slots."""

    relays: float
    brokers: float


def roles(workshop: Workshop, areas: Sequence[Area], plan: Plan) -> dict[float, Roles]:
    """By area, from what daemons said of their roles."""
    first, last = round(plan.warm * SECOND), round(plan.duration * SECOND)
    said = _of_all(workshop, areas, "roles")
    until = fn.lead("ts_us", 1, last).over(Window.partitionBy("diameter", "node").orderBy("ts_us"))
    spells = said.withColumn(
        "spell", fn.greatest(until - fn.greatest("ts_us", fn.lit(first)), fn.lit(0)) / (last - first)
    )
    summed = spells.groupBy("diameter").agg(
        fn.sum(fn.when(fn.col("reason") == RELAY, fn.col("spell")).otherwise(0)).alias("relays"),
        fn.sum(fn.when(fn.col("role") == BROKER, fn.col("spell")).otherwise(0)).alias("brokers"),
    )
    return {row.diameter: Roles(row.relays, row.brokers) for row in summed.collect()}


class Share(NamedTuple):
    """What was on the air of one kind of traffic in one slot."""

    frames: int
    bytes: float


Slots = dict[str, list[Share]]
"""By kind of traffic, slot by slot."""


def slots(workshop: Workshop, areas: Sequence[Area], plan: Plan) -> dict[float, Slots]:
    """By area, from what the medium saw. Headers are shared out by the bytes of frames."""
    first, last = round(plan.warm * SECOND), round(plan.duration * SECOND)
    air = _of_all(workshop, areas, "air").where(fn.col("ts_us").between(first, last - 1))
    where = ("diameter", fn.floor((fn.col("ts_us") - first) / (plan.slot * SECOND)).cast("int").alias("slot"))
    routing = air.where(fn.col("port") == OLSR_PORT).select(
        *where, fn.lit(ROUTING).alias("traffic"), fn.col("bytes").cast("double")
    )
    frames = air.where(fn.col("port") != OLSR_PORT).select(
        *where,
        (fn.col("bytes") / fn.aggregate("kind_bytes", fn.lit(0), lambda total, each: total + each)).alias("stretch"),
        fn.explode(fn.arrays_zip("kinds", "kind_bytes")).alias("frame"),
    )
    ours = frames.select(
        "diameter", "slot", _traffic(fn.col("frame.kinds")), fn.col("frame.kind_bytes") * fn.col("stretch")
    )
    summed = (
        routing.unionAll(ours)
        .groupBy("diameter", "traffic", "slot")
        .agg(fn.count("*").alias("frames"), fn.sum("bytes").alias("bytes"))
    )
    found = {
        area.diameter: {kind: [Share(0, 0.0)] * plan.slots for kind in (ROUTING, SUBSCRIBING, MEMORISED, UPKEEP)}
        for area in areas
    }
    for row in summed.collect():
        found[row.diameter][row.traffic][row.slot] = Share(row.frames, row.bytes)
    return found


def _of_all(workshop: Workshop, areas: Sequence[Area], dataset: str) -> DataFrame:
    """The rows of all areas, with the column `diameter`."""
    tables = (
        workshop.recorded(area.run).tables[dataset].withColumn("diameter", fn.lit(area.diameter)) for area in areas
    )
    return reduce(lambda one, more: one.unionByName(more), tables)


def _traffic(kind: Column) -> Column:
    said = fn.lit(UPKEEP)
    for name, kinds in GROUPS.items():
        said = fn.when(kind.isin(*kinds), name).otherwise(said)
    return said
