"""Why events were not delivered to clients that wanted them: by the losses that were recorded, or by what was not.

A recorded loss explains a real-time event, and a memorised one where it is final. Where nothing was recorded, the
reason follows from when the event, the wish and the route between their nodes stood: what was long enough in contact
is owed, and has vanished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as f

from chapar_audit.jobs.fates import FOR_EVER, PAIR, PERSISTENT, REALTIME, asks, lives

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Unsaid(StrEnum):
    """Reasons that nobody records."""

    SETTLING = "settling"
    """The client had subscribed shortly before, or ceased to want it shortly after."""
    APART = "apart"
    """There was no route for long enough between the nodes of publisher and client."""
    EXPIRED = "expired"
    UNDER_WAY = "under_way"
    """The run ended first."""
    WAITING = "waiting"
    """Its client is OFF."""
    RESTARTED = "restarted"
    """A daemon crashed, or ended, that may have held it."""
    ADDRESSED = "addressed"
    """Nothing that this publisher says of this comes there: it may be addressed to other nodes."""
    VANISHED = "vanished"
    """It should have been delivered."""


BOUNDS: Final = ("queue_full", "table_full", "discarded", "session_ended", "session_limit", "not_member", "too_large")
"""Recorded reasons that end a memorised event for a client; of others it is served again, or comes from elsewhere."""
OF_ALL: Final = ("table_full", "discarded", "not_member")
"""Reasons for which an event is dropped as a whole, recorded of the node that dropped it."""
EVERYBODY: Final = "no_broker"
"""A loss of which nobody knows to whom: recorded of all nodes."""
COLUMNS: Final = (*PAIR, "began_us", "ended_us", "origin", "delivery", "lifetime_ms", "published_us")
LACKING: Final = "event_id binary, home int, client string, delivery string, told_by int, reason string"
"""What is needed of it in the end."""


class Times(NamedTuple):
    """How long things take in a run, microseconds."""

    end: int
    settling: int
    """Until a subscription, or a node that is back in reach, is known."""
    crossing: int
    """Until an event has crossed the network, what was lost on its way repaired."""
    serving: int
    """Of contact until a home has what is kept for it."""
    silence: int
    """For which a daemon that is up may have nothing to say."""


Downs: TypeAlias = Mapping[int, Sequence[tuple[int, int]]]
"""By node, from its last sign of life until it was started again, or for ever; microseconds."""


def unmet(known: DataFrame) -> DataFrame:
    """Pairs of an event and a client that wanted it by a plain filter, and was not given it: COLUMNS."""
    return known.where("times = 0").select(*COLUMNS)


def perhaps(known: DataFrame, losses: DataFrame, published: DataFrame, wishes: DataFrame) -> DataFrame:
    """The same by other filters, where a loss was recorded for the home: the event is then known to match there."""
    of_others = (f.col("home") != f.col("node")) | f.col("client").isNotNull()
    is_of_home = (f.col("reason") != EVERYBODY) & of_others
    lost = losses.where(is_of_home).select("event_id", "home", f.col("client").alias("only")).distinct()
    found = (
        lost.join(published, "event_id")
        .join(wishes.where("not is_plain"), "home")
        .where(
            asks("asked_subject", "subject_element")
            & asks("asked_sender", "sender_element")
            & f.col("last_us").between(f.col("began_us"), f.col("ended_us"))
            & (f.col("only").isNull() | (f.col("only") == f.col("client")))
        )
        .select(*COLUMNS)
        .dropDuplicates(list(PAIR))
    )
    return found.join(known.select(*PAIR), list(PAIR), "left_anti")


def recorded(lacking: DataFrame, losses: DataFrame) -> DataFrame:
    """With the last reason that explains it, who recorded that, and whether it did so of this client alone.

    told, told_by and told_of_client are null where nobody recorded one.
    """
    said = losses.select(
        "event_id",
        f.col("home").alias("lost_home"),
        f.col("client").alias("lost_client"),
        f.col("reason").alias("told"),
        f.col("node").alias("told_by"),
        "ts_us",
    )
    is_ours = (f.col("lost_home") == f.col("home")) & (
        f.col("lost_client").isNull() | (f.col("lost_client") == f.col("client"))
    )
    of_all = (f.col("lost_home") == f.col("told_by")) & f.col("told").isin(*OF_ALL)
    is_final = (f.col("delivery") == REALTIME) | f.col("told").isin("expired", *BOUNDS)
    counts = is_final & (of_all | (is_ours & ~f.col("told").isin("duplicate", "loop")))
    last = f.struct("told", "told_by", f.col("lost_client").isNotNull().alias("of_client"))
    rest = [name for name in COLUMNS if name not in PAIR]
    return (
        lacking.join(said, "event_id", "left")
        .groupBy(*PAIR)
        .agg(
            *(f.first(name).alias(name) for name in rest),
            f.max_by(last, f.when(counts, f.struct(is_ours.cast("int"), "ts_us"))).alias("last"),
        )
        .select(*COLUMNS, "last.told", "last.told_by", f.col("last.of_client").alias("told_of_client"))
    )


def signs(frames: DataFrame, starts: Mapping[int, Sequence[int]]) -> DataFrame:
    """When nodes that were started several times last gave a sign of life before that: node, life, last_us."""
    of_these = lives(frames.where(f.col("node").isin(*starts)), starts)
    return of_these.groupBy("node", "life").agg(f.max("ts_us").alias("last_us"))


def contacts(routes: DataFrame) -> DataFrame:
    """When nodes had a route to others: origin, home, contacts (an array of began_us and ended_us)."""
    by_time = Window.partitionBy("node", "destination").orderBy("ts_us")
    is_there = f.col("next_hop").isNotNull()
    turns = routes.select(
        "node", "destination", "ts_us", is_there.alias("is_there"), f.lag(is_there).over(by_time).alias("before")
    ).where("before is null or before != is_there")
    spans = turns.select(
        f.col("node").alias("origin"),
        f.col("destination").alias("home"),
        "is_there",
        f.col("ts_us").alias("began_us"),
        f.coalesce(f.lead("ts_us").over(by_time), f.lit(FOR_EVER)).alias("ended_us"),
    ).where("is_there")
    return spans.groupBy("origin", "home").agg(f.collect_list(f.struct("began_us", "ended_us")).alias("contacts"))


def absences(sessions: DataFrame) -> DataFrame:
    """Clients that were OFF in the end, and since when: home, client, off_us."""
    last = sessions.groupBy(f.col("node").alias("home"), "client").agg(
        f.max_by("state", "ts_us").alias("state"), f.max("ts_us").alias("off_us")
    )
    return last.where("state = 'off'").drop("state")


def explained(told: DataFrame, met: DataFrame | None, away: DataFrame, downs: Downs, times: Times) -> DataFrame:
    """With the column `reason`: recorded, or one of Unsaid.

    Where `met` is None there were no routes to say who was in contact: everybody is taken to be.
    """
    rows = told.join(f.broadcast(away), ["home", "client"], "left")
    if met is None:
        always = f.array(f.struct(f.lit(-FOR_EVER).alias("began_us"), f.lit(FOR_EVER).alias("ended_us")))
        rows = rows.withColumn("contacts", always)
    else:
        rows = rows.join(f.broadcast(met), ["origin", "home"], "left")
    unsaid = f.when(f.col("delivery") == REALTIME, _realtime(downs, times)).otherwise(_memorised(downs, times))
    is_told = (f.col("delivery") == REALTIME) | f.col("told").isin(*BOUNDS) | f.col("told_of_client")
    reason = f.when(f.col("told").isNotNull() & is_told, f.col("told")).otherwise(unsaid)
    return rows.select(*told.columns, reason.alias("reason"))


def _realtime(downs: Downs, times: Times) -> Column:
    """Why a real-time event of which nobody recorded a loss was not delivered."""
    began, ended = f.col("published_us"), f.col("published_us") + times.crossing
    ready = f.when(f.col("origin") == f.col("home"), began).otherwise(began - times.settling)
    is_settled = (f.col("began_us") <= ready) & (f.col("ended_us") >= ended)
    in_contact = (f.col("origin") == f.col("home")) | f.coalesce(
        f.exists("contacts", lambda each: (each.began_us <= ready) & (each.ended_us >= ended)),
        f.lit(False),  # noqa: FBT003
    )
    return (
        f.when(ended > times.end, Unsaid.UNDER_WAY)
        .when(
            _crashed(downs, began, ended, times) | _was_down(downs, "home", f.col("began_us"), ended), Unsaid.RESTARTED
        )
        .when(f.col("off_us") <= ended, Unsaid.WAITING)
        .when(~is_settled, Unsaid.SETTLING)
        .when(~in_contact, Unsaid.APART)
        .otherwise(Unsaid.VANISHED)
    )


def _memorised(downs: Downs, times: Times) -> Column:
    """Why an event that is kept was not delivered."""
    expiry = f.when(f.col("delivery") == PERSISTENT, f.lit(FOR_EVER)).otherwise(
        f.col("published_us") + 1000 * f.col("lifetime_ms")
    )
    began = f.greatest("published_us", "began_us")
    ended = f.least(expiry, f.lit(times.end), f.col("ended_us"), f.coalesce("off_us", f.lit(FOR_EVER)))
    lengths = f.transform(
        "contacts", lambda each: f.least(each.ended_us, ended) - f.greatest(each.began_us, began)
    )  # fmt: skip
    met_us = f.coalesce(f.array_max(lengths), f.lit(0))
    is_owed = f.when(f.col("origin") == f.col("home"), ended - began >= times.crossing).otherwise(
        met_us >= times.serving
    )
    was_down = _was_down(downs, "home", f.col("began_us"), ended) | _was_down(downs, "origin", began, ended)
    return (
        f.when(is_owed & ~was_down, Unsaid.VANISHED)
        .when(is_owed, Unsaid.RESTARTED)
        .when(expiry <= times.end, Unsaid.EXPIRED)
        .when(f.col("off_us").isNotNull(), Unsaid.WAITING)
        .otherwise(Unsaid.UNDER_WAY)
    )


def _crashed(downs: Downs, began: Column, ended: Column, times: Times) -> Column:
    """Whether some daemon may have crashed with the event in hand."""
    found: Column = f.lit(False)  # noqa: FBT003
    for first, _ in chain.from_iterable(downs.values()):
        found |= (ended >= first) & (began <= first + times.silence)
    return found


def _was_down(downs: Downs, column: str, began: Column, ended: Column) -> Column:
    """Whether a node was, and may have forgotten what it held."""
    found: Column = f.lit(False)  # noqa: FBT003
    for node, each in downs.items():
        for first, last in each:
            found |= (f.col(column) == node) & (ended >= first) & (began <= last)
    return found


def addressed(found: DataFrame, known: DataFrame, published: DataFrame) -> DataFrame:
    """What has vanished, but where nothing of the kind was ever given or lost, may be addressed to other nodes."""
    stream = ["origin", "publisher", "subject", "delivery", "home"]
    kinds = published.select("event_id", "publisher", f.coalesce("subject", f.lit("")).alias("subject"))
    given = known.where("times > 0 and origin is not null").join(kinds, "event_id").select(*stream)
    lacking = found.join(kinds, "event_id")
    came = given.unionByName(lacking.where("told is not null").select(*stream)).distinct()
    both = lacking.join(came.withColumn("came", f.lit(True)), stream, "left")  # noqa: FBT003
    is_other = (f.col("reason") == Unsaid.VANISHED) & f.col("came").isNull()
    reason = f.when(is_other, f.lit(str(Unsaid.ADDRESSED))).otherwise(f.col("reason"))
    return both.withColumn("reason", reason).select(*found.columns)


def sent_home(found: DataFrame, frames: DataFrame) -> int:
    """How many of the deliveries that vanished were of an event that a neighbour sent to the home."""
    sent = frames.where("direction = 'tx' and event_id is not null").select("event_id", f.col("peer").alias("home"))
    lost = found.where(f.col("reason") == Unsaid.VANISHED)
    return lost.join(sent, ["event_id", "home"], "left_semi").count()
