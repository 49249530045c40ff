"""Whether daemons repeated no more than was lost: apart from all first transmissions, link by link.

A datagram is repeated when its receiver asks for it, because a later one came first, and when no confirmation comes in
time. The second kind needs a cause: the datagram, or whatever could confirm it, did not arrive.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as f

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.journeys import Way
    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
SUBJECT: Final = "datagrams repeated unasked, link by link"
ANSWERED_US: Final = 50_000
"""What is asked for is repeated at once."""
LATE: Final = 0.01
"""Share of the datagrams of a link whose confirmation may be late, where the processor is shared."""


class Link(NamedTuple):
    """What one node sent to another, and what became of it."""

    sent: int
    """Datagrams, each as often as it was sent."""
    repeated: int
    asked: int
    """How many of these the other end had asked for."""
    unheard: int
    """Datagrams that it did not record to have received, and whatever could have confirmed them and did not arrive."""

    def most(self, late: float) -> int:
        """How many may be repeated unasked."""
        return self.unheard + round(late * self.sent)


def rows(recorded: Recorded, removed: int) -> list[Finding]:
    """One row on all links; none, where daemons number no datagrams."""
    links = of_links(recorded.tables["frames"])
    if not any(link.sent for link in links.values()):
        return []
    if removed:
        why = f"recorders removed {removed} rows: what was received is not known"
        return [Finding(JOB, SUBJECT, State.OPEN, reason=why)]
    return [judged(links, lost(recorded), 0.0 if recorded.world == "sim" else LATE)]


def of_links(frames: DataFrame) -> dict[Way, Link]:
    """By sender and receiver."""
    counted = frames.where("kind in ('link', 'ack', 'beacon')").groupBy("direction", "kind", "node", "peer").count()
    told: Counter[tuple[str, Way]] = Counter()
    heard: Counter[tuple[str, Way]] = Counter()
    beacons: Counter[int] = Counter()
    for direction, kind, node, peer, count in counted.collect():
        if direction == "rx":
            heard[kind, (peer, node)] += count
        elif peer is not None:
            told[kind, (node, peer)] += count
        elif kind == "beacon":
            beacons[node] += count
    again = {(row.node, row.peer): row for row in _repeated(frames).collect()}
    found = {}
    for way in {way for kind, way in told if kind == "link"}:
        back = (way[1], way[0])
        unheard = sum(
            max(0, told[kind, each] - heard[kind, each])
            for kind, each in (("link", way), ("link", back), ("ack", back))
        ) + max(0, beacons[way[1]] - heard["beacon", back])  # fmt: skip
        row = again.get(way)
        found[way] = Link(told["link", way], row.repeated if row else 0, row.asked if row else 0, unheard)
    return found


def _repeated(frames: DataFrame) -> DataFrame:
    """By node and peer: repeated, asked."""
    is_ask = f.col("kind") == "nack"
    rows = frames.where("(direction = 'tx' and kind = 'link' and retry > 0) or (direction = 'rx' and kind = 'nack')")
    by_time = Window.partitionBy("node", "peer").orderBy("ts_us", (~is_ask).cast("int"))
    asked_us = f.last(f.when(is_ask, f.col("ts_us")), ignorenulls=True).over(by_time)
    return (
        rows.withColumn("since_us", f.col("ts_us") - asked_us)
        .where(~is_ask)
        .groupBy("node", "peer")
        .agg(f.count("*").alias("repeated"), f.count_if(f.col("since_us") <= ANSWERED_US).alias("asked"))
    )


def lost(recorded: Recorded) -> int | None:
    """Datagrams with a number that the medium lost; None if nobody watched it."""
    if "air" in recorded.missing:
        return None
    is_lost = f.array_contains("kinds", "link") & (f.size("lost") > 0)
    return recorded.tables["air"].where(is_lost).count()


def judged(links: Mapping[Way, Link], lost_in_air: int | None, late: float) -> Finding:
    """`lost_in_air` datagrams the medium reports as lost."""
    unasked = {way: link.repeated - link.asked for way, link in links.items()}
    wrong = {way: unasked[way] for way, link in links.items() if unasked[way] > link.most(late)}
    asked = sum(link.asked for link in links.values())
    tolerance = f"on each of {len(links)} ways at most what did not arrive either way"
    tolerance += f" and {100 * late:g} %" if late else ""
    tolerance += "" if lost_in_air is None else f"; the medium reports {lost_in_air} datagrams lost"
    tolerance += f"; {asked} more were asked for" if asked else ""
    reason = ""
    if wrong:
        (node, peer), count = max(wrong.items(), key=lambda item: (item[1], item[0]))
        link = links[node, peer]
        reason = (
            f"{node} repeated {count} datagrams to {peer}, though of {link.sent} and their confirmations only "
            f"{link.unheard} did not arrive: rows are there twice, or {peer} confirms too late"
        )
    most = sum(link.most(late) for way, link in links.items() if link.repeated > link.asked)
    state = State.DEVIATES if wrong else State.HOLDS
    return Finding(JOB, SUBJECT, state, float(sum(unasked.values())), float(most), "datagrams", tolerance, reason)
