"""Broker trees: where an event goes, what a new filter hides, and how fast a simulated tree runs."""

from __future__ import annotations

import time
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.figure import Figure
from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.tree_shapes import m_ary
from chapar_sim.tree_traffic import Crowd, Source, Traffic
from chapard.core.matcher import Matcher
from chapard.core.overlay.covering import Covering
from chapard.core.overlay.interest import Change, Interest, Topic
from chapard.core.overlay.router import Router, RouterConfig

if TYPE_CHECKING:
    from collections.abc import Callable

LINKS = range(1, 9)
FILTERS, COVERED = 100_000, 10_000
EVENTS, INSERTIONS = 2_000, 300
SUBSCRIBERS, VIRTUAL = 3000, 20.0
TIMES_LOOKUP, COVERING_MS, MESSAGES = 3.0, 2.0, 20_000


def measure() -> list[Figure]:
    lookup, decision = _decisions()
    insertion, box = _insertion(_random_filter), _insertion(_random_box)
    messages = _tree()
    times, most, least = f"≤ {TIMES_LOOKUP:g}", f"≤ {COVERING_MS:g}", f"≥ {MESSAGES}"
    return [
        Figure("matcher's lookup, 100 000 filters", lookup, "µs", "", None),
        Figure("forwarding decision, 8 links", decision / lookup, "lookups", times, decision <= TIMES_LOOKUP * lookup),
        Figure("covering insertion, 10 000 filters", insertion, "ms", most, insertion <= COVERING_MS),
        Figure("covering insertion, 10 000 boxes", box, "ms", most, box <= COVERING_MS),
        Figure("tree of 1093 brokers", messages, "messages/s CPU", least, messages >= MESSAGES),
    ]


def _random_filter(rng: Random) -> Filter:
    return Filter.parse(f'subject = "s{rng.randrange(200)}" and speed > {rng.random()} and height < {rng.random()}')


def _event(rng: Random, number: int) -> Event:
    attributes = {"speed": rng.random(), "height": rng.random()}
    return Event(subject=f"s{rng.randrange(200)}", attributes=attributes).accepted(id=event_id(0, 1, number))


def _decisions() -> tuple[float, float]:
    """Medians in µs: the lookup alone, and the whole way of an event through a router."""
    rng = Random(1)
    matcher, router = Matcher(), Router(0, RouterConfig(), 0.0)
    for link in LINKS:
        router.link_up(link, 0.0)
    for number in range(FILTERS):
        filter_, link = _random_filter(rng), LINKS[number % len(LINKS)]
        matcher.add(filter_, link)
        router.on_interest(link, Topic.SUBSCRIPTIONS, Change.SUBSCRIBE, Interest(filter_), 0.0)
        router.drain()
    events = [_event(rng, number) for number in range(EVENTS)]

    def decide(event: Event) -> None:
        router.on_event(1, event)
        router.drain()

    return _median_us(matcher.match, events), _median_us(decide, events)


def _median_us(action: Callable[[Event], object], events: list[Event]) -> float:
    times = []
    for event in events:
        begin = time.perf_counter()
        action(event)
        times.append(time.perf_counter() - begin)
    return 1e6 * median(times)


def _random_box(rng: Random) -> Filter:
    """So small that hardly any covers another."""
    x, y = rng.random(), rng.random()
    return Filter.parse(f"x > {x} and x < {x + 0.01} and y > {y} and y < {y + 0.01}")


def _insertion(random_one: Callable[[Random], Filter]) -> float:
    """Median in ms of one filter more among COVERED."""
    rng = Random(2)
    covering = Covering()
    times = []
    for number in range(COVERED + INSERTIONS):
        interest = Interest(random_one(rng))
        begin = time.perf_counter()
        covering.gained(interest)
        if number >= COVERED:
            times.append(time.perf_counter() - begin)
    return 1e3 * median(times)


def _tree() -> float:
    """Messages per second of processor time, with as many subscribers coming and going as there are."""
    shape = m_ary(3, 7)
    crowds = [Crowd(leaf, SUBSCRIBERS / len(shape.leaves), 1.0) for leaf in shape.leaves]
    config = RouterConfig(nodes=shape.nodes, refresh_period=1.0)
    traffic = Traffic(shape, config, [Source(0, 2.0)], crowds, Random(3))
    begin = time.process_time()
    rates = traffic.run(VIRTUAL)
    return rates.total * VIRTUAL / (time.process_time() - begin)
