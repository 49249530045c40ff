"""What the matcher costs as the number of filters grows.

Events are random and distinct, so nothing is answered twice. A lookup is the median over many events, a change the
mean over many changes, so that what is done only now and then is in it. Goals are ratios of what one run measures.
Equality is measured with 3000 values for each text element and with 20 000: the fewer there are, the more filters an
event matches, and the more a lookup costs.
"""

from __future__ import annotations

import tracemalloc
from functools import partial
from random import Random
from statistics import mean, median
from time import perf_counter_ns
from typing import TYPE_CHECKING

from benchmarks.figure import Figure
from chapar.constraint import Constraint, Op
from chapar.event import Event
from chapar.filter import Filter
from chapard.core.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    MakeFilter = Callable[[Random], Filter]
    MakeEvent = Callable[[Random], Event]

NODES = 256
FEW, SOME, MANY = 100, 10_000, 100_000
EVENTS = 2000
CHANGES = 2000
SCANS = 9
VALUES = (3000, 20_000)
"""Values of each text element in the equality workloads."""
HEX = "0123456789abcdef"


def equality_filter(rng: Random, values: int) -> Filter:
    """One to five elements asked for by equality: the five elements of a filter id (report 3.1)."""
    wanted = equality_event(rng, values)
    names = rng.sample(("subject", "type", "sender", "group", "zone"), rng.randint(1, 5))
    return Filter.of(Constraint(name, Op.EQ, wanted.value(name)) for name in names)


def equality_event(rng: Random, values: int) -> Event:
    subject, type_, group = (f"{kind}/{rng.randrange(values)}" for kind in ("subject", "type", "group"))
    zone, sender = rng.randrange(30_000), rng.randrange(NODES)
    return Event(subject=subject, type=type_, group=group, sender=sender, attributes={"zone": zone})


NUMBERS = ("speed", "heading", "height", "battery")
TEXTS = ("callsign", "cell")
CHOICES = ("unit", "state")


def content_filter(rng: Random) -> Filter:
    """Two or three constraints, ranges, prefixes and sets: most hold for one value in a hundred, some for half."""
    narrow = rng.sample(TEXTS + CHOICES, 2)
    number = rng.choice(NUMBERS)
    match rng.randrange(3):
        case 0:
            asked = [selection(rng, name) for name in narrow]
        case 1:
            low = 990 * rng.random()
            asked = [selection(rng, narrow[0]), Constraint(number, Op.GE, low), Constraint(number, Op.LT, low + 10)]
        case _:
            bound = Constraint(number, rng.choice((Op.LT, Op.LE, Op.GT, Op.GE)), 1000 * rng.random())
            asked = [*(selection(rng, name) for name in narrow), bound]
    return Filter.of(asked)


def selection(rng: Random, name: str) -> Constraint:
    """A prefix of a text, or a set of choices."""
    if name in TEXTS:
        return Constraint(name, Op.PREFIX, "".join(rng.choices(HEX, k=1 if rng.random() < 0.1 else 2)))
    return Constraint(name, Op.IN, tuple(rng.sample(range(300), rng.randint(2, 4))))


def content_event(rng: Random) -> Event:
    return Event(
        attributes={
            **{name: 1000 * rng.random() for name in NUMBERS},
            **{name: "".join(rng.choices(HEX, k=8)) for name in TEXTS},
            **{name: rng.randrange(300) for name in CHOICES},
        }
    )


def distinct(make: MakeFilter, rng: Random, count: int) -> list[Filter]:
    filters: dict[Filter, None] = {}
    while len(filters) < count:
        filters[make(rng)] = None
    return list(filters)


def loaded(filters: Iterable[Filter], rng: Random) -> Matcher:
    matcher = Matcher(NODES)
    for each in filters:
        matcher.add(each, rng.randrange(NODES))
    return matcher


def timed(action: Callable[[Event], object], events: Iterable[Event]) -> Iterator[float]:
    """Microseconds that `action` takes for each event."""
    for event in events:
        start = perf_counter_ns()
        action(event)
        yield (perf_counter_ns() - start) / 1000


def lookups(small: Matcher, large: Matcher, make: MakeEvent, rng: Random) -> tuple[float, float]:
    """Median microseconds of a lookup in either matcher; in turns, so that both meet the same machine."""
    events = [make(rng) for _ in range(EVENTS)]
    pairs = list(zip(timed(small.match, events), timed(large.match, events), strict=True))
    return median(one for one, _ in pairs), median(other for _, other in pairs)


def changes(matcher: Matcher, make: MakeFilter, rng: Random) -> tuple[float, float]:
    """Mean microseconds of adding a filter, and of removing it again."""
    filters = [each for each in distinct(make, rng, CHANGES) if not matcher.vector(each)]
    nodes = [rng.randrange(NODES) for _ in filters]
    start = perf_counter_ns()
    for each, node in zip(filters, nodes, strict=True):
        matcher.add(each, node)
    added = perf_counter_ns()
    for each, node in zip(filters, nodes, strict=True):
        matcher.remove(each, node)
    removed = perf_counter_ns()
    return (added - start) / 1000 / len(filters), (removed - added) / 1000 / len(filters)


def equality_figures(values: int) -> list[Figure]:
    rng, label = Random(2), f"matcher: equality, {values} values"
    make, make_event = partial(equality_filter, values=values), partial(equality_event, values=values)
    filters = distinct(make, rng, MANY)
    matcher = loaded(filters, rng)
    few, many = lookups(loaded(filters[:FEW], rng), matcher, make_event, rng)
    events = [make_event(rng) for _ in range(SCANS)]
    matching = mean(sum(each.matches(event) for each in filters) for event in events)
    add, remove = changes(matcher, make, rng)
    return [
        Figure(f"{label}: filters that match an event", matching, "of 100 000", "", None),
        Figure(f"{label}: lookup among 100 000", many, "µs", "", None),
        Figure(f"{label}: 100 000 against 100", many / few, "×", "at most 3", many <= 3 * few),
        Figure(f"{label}: adding a filter", add / many, "lookups", "at most 10", add <= 10 * many),
        Figure(f"{label}: removing a filter", remove / many, "lookups", "", None),
    ]


def content_figures(rng: Random) -> list[Figure]:
    filters = distinct(content_filter, rng, MANY)
    matcher = loaded(filters, rng)
    some, many = lookups(loaded(filters[:SOME], rng), matcher, content_event, rng)
    matching: list[int] = []
    events = [content_event(rng) for _ in range(SCANS)]
    scan = median(timed(lambda event: matching.append(sum(each.matches(event) for each in filters)), events))
    add, remove = changes(matcher, content_filter, rng)
    return [
        Figure("matcher: content, filters that match an event", mean(matching), "of 100 000", "", None),
        Figure("matcher: content, lookup among 100 000 filters", many, "µs", "", None),
        Figure("matcher: content, against evaluating each", scan / many, "×", "at least 100", scan >= 100 * many),
        Figure("matcher: content, 100 000 filters against 10 000", many / some, "×", "at most 4", many <= 4 * some),
        Figure("matcher: content, adding a filter", add / many, "lookups", "at most 10", add <= 10 * many),
        Figure("matcher: content, removing a filter", remove / many, "lookups", "", None),
    ]


def table_filter(rng: Random) -> Filter:
    """As an FMT holds them: a subject, some with a type or group, half with attribute constraints."""
    asked = [Constraint("subject", Op.EQ, f"area/{rng.randrange(40)}/sensor/{rng.randrange(25)}")]
    if rng.random() < 0.3:
        asked.append(Constraint(rng.choice(("type", "group")), Op.EQ, f"kind-{rng.randrange(10)}"))
    if rng.random() < 0.5:
        asked.extend(content_filter(rng).constraints)
    return Filter.of(asked)


def memory_figures(rng: Random) -> list[Figure]:
    tracemalloc.start()
    matcher = Matcher(NODES)
    while len(matcher) < SOME:
        matcher.add(table_filter(rng), rng.randrange(NODES))
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return [Figure("matcher: 10 000 filters of 256 nodes", megabytes, "MB", "below 30", megabytes < 30)]


def odd_figures(rng: Random) -> list[Figure]:
    """What an odd user can ask for; no goal, but no cliff either."""
    ascending = loaded((Filter.of([Constraint("x", Op.GT, bound)]) for bound in range(MANY)), rng)
    events = [Event(attributes={"x": rng.randrange(MANY)}) for _ in range(EVENTS // 4)]
    thresholds = median(timed(ascending.match, events))
    names = [f"n{number}" for number in range(20)]

    def many_names(rng: Random) -> Filter:
        return Filter.of(Constraint(name, Op.EQ, rng.randrange(1000)) for name in rng.sample(names, rng.randint(1, 5)))

    scattered = loaded(distinct(many_names, rng, MANY), rng)
    events = [Event(attributes={name: rng.randrange(1000) for name in names}) for _ in range(EVENTS // 4)]
    masks = median(timed(scattered.match, events))
    return [
        Figure("matcher: 100 000 thresholds on one attribute", thresholds, "µs", "", None),
        Figure("matcher: 100 000 equalities under any of 20 names", masks, "µs", "", None),
    ]


def measure() -> list[Figure]:
    equality = [figure for values in VALUES for figure in equality_figures(values)]
    return [*memory_figures(Random(1)), *equality, *content_figures(Random(3)), *odd_figures(Random(4))]
