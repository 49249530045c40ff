"""Over which links of a tree events went: those between their origin and the brokers whose clients were given them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyspark.sql import functions as f

from chapar_audit.jobs.ids import asks_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.overlay import Overlay, Way
    from chapar_audit.jobs.wishes import Wanted


class Pattern(NamedTuple):
    """Events from one broker that came to the same others."""

    origin: int
    homes: tuple[int, ...]
    """Where a client was given them."""
    lost: tuple[int, ...]
    """Where somebody recorded them as lost: how far they came is not known."""
    events: int


class Published(NamedTuple):
    """An event, when and where it was published."""

    ts_us: int
    node: int
    subject: str | None
    kept: bool = False
    """Memorised: brokers hold it."""


class Carried(NamedTuple):
    """How many notifications each way carried, at least and at most."""

    least: Counter[Way]
    most: Counter[Way]


def patterns(deliveries: DataFrame, losses: DataFrame) -> DataFrame:
    """Events by origin and by where they came to. The origin is in the first two bytes of an event's id."""
    given = deliveries.select("event_id", f.col("node").alias("home"), f.lit(True).alias("given"))  # noqa: FBT003
    gone = losses.select("event_id", "home", f.lit(False).alias("given"))  # noqa: FBT003
    origin = f.conv(f.hex(f.substring("event_id", 1, 2)), 16, 10).cast("int")
    return (
        given.unionAll(gone)
        .groupBy("event_id")
        .agg(
            f.array_sort(f.collect_set(f.when(f.col("given"), f.col("home")))).alias("homes"),
            f.array_sort(f.collect_set(f.when(~f.col("given"), f.col("home")))).alias("lost"),
        )
        .groupBy(origin.alias("origin"), "homes", "lost")
        .agg(f.count("*").alias("events"))
    )


def collected(rows: DataFrame) -> list[Pattern]:
    return [Pattern(row.origin, tuple(row.homes), tuple(row.lost), row.events) for row in rows.collect()]


def carried(overlay: Overlay, found: Iterable[Pattern], waiting: frozenset[int]) -> Carried:
    """By any algorithm that sends events only where they are wanted.

    `waiting` are the brokers that may hold events for clients that are OFF.
    """
    least: Counter[Way] = Counter()
    most: Counter[Way] = Counter()
    for pattern in found:
        sure = overlay.crossed(pattern.origin, pattern.homes)
        perhaps = {*pattern.lost, *waiting}
        for way in sure:
            least[way] += pattern.events
        for way in sure | overlay.crossed(pattern.origin, perhaps) if perhaps else sure:
            most[way] += pattern.events
    return Carried(least, most)


def flooded(overlay: Overlay, published: Counter[int]) -> Carried:
    """Every event over every link, away from where it was published: `published` counts them by broker."""
    counts = Counter({way: sum(published[node] for node in overlay.behind[way]) for way in overlay.ways})
    return Carried(counts, counts)


def in_vain(
    overlay: Overlay, events: Sequence[Published], changes: Mapping[bytes, Wanted], delay_us: int
) -> dict[Way, int]:
    """By way, the events that may have gone there in vain: while they were under way, somebody ceased to want them."""
    found: Counter[Way] = Counter()
    for subject in {each.subject for each in events}:
        about = [each for each in events if each.subject == subject]
        times, origins = np.array([each.ts_us for each in about]), np.array([each.node for each in about])
        asking = [each for filter_id, each in changes.items() if asks_for(filter_id, subject)]
        if not asking:
            continue
        ends = np.concatenate([each.ts_us[each.step == -1] for each in asking])
        where = np.concatenate([each.node[each.step == -1] for each in asking])
        for way in overlay.ways:
            beyond = np.sort(ends[~np.isin(where, list(overlay.behind[way]))])
            here = times[np.isin(origins, list(overlay.behind[way]))]
            after = np.searchsorted(beyond, here)
            coming = np.append(beyond, np.iinfo(np.int64).max)[after]
            found[way] += int(np.count_nonzero(coming - here <= delay_us))
    return found


def sent_twice(
    overlay: Overlay, events: Sequence[Published], compared: Mapping[Way, Sequence[int]], delay_us: int
) -> dict[Way, int]:
    """By way, the memorised events that were under way while its ends compared what they hold.

    The other end then lists what it holds, which these are not yet among, and is sent them once more.
    """
    found = {}
    kept = [each for each in events if each.kept]
    times, origins = np.array([each.ts_us for each in kept]), np.array([each.node for each in kept])
    for way in overlay.ways if kept else ():
        here = times[np.isin(origins, list(overlay.behind[way]))]
        marks = np.sort(np.array([-(2**62), 2**62, *compared.get(way, ())]))
        after = np.searchsorted(marks, here)
        near = np.minimum(marks[after] - here, here - marks[after - 1])
        found[way] = int(np.count_nonzero(near <= delay_us))
    return found
