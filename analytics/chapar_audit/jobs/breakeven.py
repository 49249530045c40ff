"""What other ways to route would have cost with the rates that were measured, and which an operator should choose.

An expensive choice is no broken model: where another algorithm would have been cheaper, the row is open and says so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as sql

from chapar_audit.jobs import clients, ids
from chapar_audit.jobs.overlay import OverlayError
from chapar_audit.jobs.pricing import Demand, prices
from chapar_audit.jobs.sightings import ways
from chapar_audit.jobs.spoken import EVENT_KINDS, spoken
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.clients import Look
    from chapar_audit.recorded import Recorded

JOB: Final = "break-even"
WITHIN: Final = 0.15
"""Part by which the cheapest may be cheaper than what was chosen: rates of another day differ by more."""
CHOICE: Final = "choice of the routing algorithm"
MULTICAST: Final = "choice of multicast along routes"
TOLERANCE: Final = f"{100 * WITHIN:g} % above the cheapest"
IN_REAL_TIME: Final = "events in real time"
MOST_EVENTS: Final = 50_000
"""Of a mesh, about so many are followed one by one; they stand for all."""
EVERYTHING: Final = "all events"
"""The only class where somebody wants events whatever their subject."""
NEEDED: Final = ("frames", "interests", "publishes", "deliveries", "routes")
ALTERNATIVES: Final = sql.StructType(
    [
        sql.StructField("filter_class", sql.StringType(), nullable=False),
        sql.StructField("algorithm", sql.StringType(), nullable=False),
        sql.StructField("rate", sql.DoubleType(), nullable=False),
    ]
)

Prices = dict[str, dict[str, float]]
"""By class and algorithm."""


def judge(recorded: Recorded) -> Judgement:
    """Whether what the run chose was the cheapest, or nearly."""
    if missing := sorted(recorded.missing & set(NEEDED)):
        return Judgement([_open(CHOICE, f"not recorded: {', '.join(missing)}")])
    return judge_tree(recorded) if recorded.mode == "tree" else judge_mesh(recorded)


def judge_tree(recorded: Recorded) -> Judgement:
    """The algorithm of a tree against the others."""
    try:
        look = clients.look(recorded)
    except OverlayError as error:
        return Judgement([_open(CHOICE, str(error))])
    if look.overlay.advertisements:
        why = "subscriptions follow advertisements, of which only ids are recorded: their rates are not known"
        return Judgement([_open(CHOICE, why)])
    found = {name: prices(look.overlay, each) for name, each in demands(recorded, look).items()}
    spent = _spent(recorded, look)
    if not spent and not any(max(each.values()) for each in found.values()):
        return Judgement([_open(CHOICE, "nothing was published, and nobody wanted anything")])
    return Judgement([chosen(look.overlay.algorithm, spent, found), *unpriced(found)], _table(recorded, found))


def judge_mesh(recorded: Recorded) -> Judgement:
    """Multicast along routes against a message to each subscriber by itself, and against flooding.

    Both send events only; what daemons tell each other besides is not counted for any.
    """
    share = 1 + recorded.tables["publishes"].count() // MOST_EVENTS
    row = costs(recorded.tables, share).first()
    if row is None or not row.multicast or row.first_us == row.last_us:
        return Judgement([_open(MULTICAST, "nobody was given events in real time from another node")])
    seconds = (row.last_us - row.first_us) / 1e6 / share
    spent, unicast = row.multicast / seconds, row.unicast / seconds
    found = {IN_REAL_TIME: {"unicast": unicast, "flooding": row.events * len(recorded.settings) / seconds}}
    best, least = min(found[IN_REAL_TIME].items(), key=lambda item: item[1])
    finding = Finding(JOB, MULTICAST, State.HOLDS, spent, least, "messages/s", TOLERANCE)
    if spent > (1 + WITHIN) * least:
        why = f"{best} of each event would have cost {100 * (1 - least / spent):.0f} % less"
        finding = finding._replace(state=State.OPEN, reason=why)
    found[IN_REAL_TIME] = {"multicast": spent, **found[IN_REAL_TIME]}
    return Judgement([finding], _table(recorded, found))


def _table(recorded: Recorded, found: Prices) -> dict[str, DataFrame]:
    rows = [(name, algorithm, rate) for name, each in sorted(found.items()) for algorithm, rate in each.items()]
    return {"alternatives": recorded.tables["publishes"].sparkSession.createDataFrame(rows, ALTERNATIVES)}


# Rates


def demands(recorded: Recorded, look: Look) -> dict[str, Demand]:
    """By class: what was published, how far it had to go, and who wanted it."""
    overlay, span, known = look
    events: Counter[bytes] = Counter()
    notified: Counter[bytes] = Counter()
    subjects: dict[bytes, str] = {}
    is_one = any(each[: ids.ELEMENT] == ids.NOTHING for each in known.locals)
    for row in reached(recorded.tables["publishes"], recorded.tables["deliveries"], span.begin, span.end).collect():
        key = ids.NOTHING if row.subject is None or is_one else ids.element(row.subject)
        if key != ids.NOTHING:
            subjects[key] = row.subject
        events[key] += row.events
        notified[key] += row.events * len(overlay.crossed(row.node, row.homes or ()))
    keys = events.keys() | {ids.NOTHING if is_one else each[: ids.ELEMENT] for each in known.locals}
    return {
        EVERYTHING if is_one else clients.name_of(key, subjects).removeprefix("filters for "): Demand(
            events[key] / span.seconds,
            notified[key] / span.seconds,
            {each: who for each, who in known.locals.items() if is_one or each[: ids.ELEMENT] == key},
        )
        for key in keys
    }


def reached(publishes: DataFrame, deliveries: DataFrame, begin: int, end: int) -> DataFrame:
    """How many events of this time from each node and subject came to the same brokers' clients.

    node, subject, homes (null: none), events.
    """
    homes = deliveries.groupBy("event_id").agg(f.array_sort(f.collect_set("node")).alias("homes"))
    return (
        publishes.where(f.col("ts_us").between(begin, end - 1))
        .select("event_id", "node", "subject")
        .join(homes.hint("shuffle_hash"), "event_id", "left")
        .groupBy("node", "subject", "homes")
        .agg(f.count("*").alias("events"))
    )


def costs(tables: Mapping[str, DataFrame], share: int = 1) -> DataFrame:
    """One row on the events in real time that reached another node, and all: first_us, last_us, events and messages.

    `multicast` messages carried them, repetitions not counted; `unicast` would have, with one for each node whose
    clients were given it and for each hop of the route that there was when it was published. Of so many events one
    is looked at, by its id.
    """
    looked_at = f.pmod(f.crc32("event_id"), f.lit(share)) == 0
    live = tables["publishes"].where("delivery = 'realtime'").where(looked_at).select("event_id", "node", "ts_us")
    live = live.join(tables["losses"].select("event_id").distinct(), "event_id", "left_anti")

    is_carrier = f.col("kind").isin(*EVENT_KINDS, "publish") & (f.col("direction") == "tx") & (f.col("retry") == 0)
    carried = tables["frames"].where(is_carrier & looked_at).groupBy("event_id").agg(f.count("*").alias("frames"))
    given = tables["deliveries"].where(looked_at)
    homes = given.groupBy("event_id", f.col("node").alias("peer")).agg(f.max("hops").alias("went"))
    known = ways(tables["routes"])
    during = (f.col("ts_us") >= known.from_us) & (known.until_us.isNull() | (f.col("ts_us") < known.until_us))
    alone = (
        live.join(homes.hint("shuffle_hash"), "event_id")
        .where("node != peer")
        .alias("each")
        .join(
            f.broadcast(known), (f.col("each.node") == known.node) & (f.col("each.peer") == known.peer) & during, "left"
        )
        .groupBy("event_id")
        .agg(f.sum(f.coalesce("hops", "went")).alias("hops"))
    )
    return (
        live.join(carried.hint("shuffle_hash"), "event_id")
        .join(alone.hint("shuffle_hash"), "event_id")
        .agg(
            f.min("ts_us").alias("first_us"),
            f.max("ts_us").alias("last_us"),
            f.count("*").alias("events"),
            f.sum("frames").alias("multicast"),
            f.sum("hops").alias("unicast"),
        )
    )


def _spent(recorded: Recorded, look: Look) -> float:
    """Messages per second that went over all links of the tree."""
    heard = spoken(recorded.tables["interests"], recorded.tables["frames"], look.span)
    return sum(each.total() for each in heard.sent.values()) / look.span.seconds


# The verdict


def chosen(algorithm: str, spent: float, found: Mapping[str, Mapping[str, float]]) -> Finding:
    """Whether what the run's algorithm cost was the least, or nearly; of `auto` each class has its own least."""
    is_auto = algorithm == "auto"
    whole = totals(found)
    best = min(whole, key=whole.__getitem__)
    least = sum(min(each["flooding"], each["identity"]) for each in found.values()) if is_auto else whole[best]
    subject = f"{CHOICE}: {algorithm}"
    row = Finding(JOB, subject, State.HOLDS, spent, least, "messages/s", TOLERANCE)
    if spent <= (1 + WITHIN) * least or (not is_auto and best == algorithm):
        return row
    share = f"{100 * (1 - least / spent):.0f} % less"
    if is_auto:
        cheaper = ", ".join(
            f"{'flooding' if each['flooding'] < each['identity'] else 'identity'} for {name}"
            for name, each in sorted(found.items())
        )
        why = f"the cheaper of two for each class ({cheaper}) would have cost {share}: it learns rates as the run goes"
    else:
        why = f"{best} routing would have cost {share}: set routing.algorithm = {best}, if these rates are typical"
    return row._replace(state=State.OPEN, reason=why)


def totals(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Of all classes, by algorithm: those that have a price for each."""
    common = [name for name in next(iter(found.values())) if all(name in each for each in found.values())]
    return {name: sum(each[name] for each in found.values()) for name in common}


def unpriced(found: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """Rows for algorithms whose cost the models do not tell."""
    lacking = ", ".join(sorted(name for name, each in found.items() if "covering" not in each))
    rows = [_open("cost of merging routing", "no model prices what is merged: compare runs (chapar-sim compare)")]
    if lacking:
        why = f"which filters for {lacking} cover which is not recorded, and the model has two: compare runs"
        rows.insert(0, _open("cost of covering routing", why))
    return rows


def _open(subject: str, why: str) -> Finding:
    return Finding(JOB, subject, State.OPEN, reason=why)
