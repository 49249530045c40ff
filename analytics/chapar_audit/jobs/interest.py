"""Traffic on a tree of brokers: notifications, refreshes and toggles against what the routing algorithm should cost.

Twice: message by message on each link, from what clients did, which is exact; and as rates of the whole tree, by the
model in equilibrium, with λ, μ, ω and N estimated from the data.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f
from pyspark.sql import types as sql

from chapar_audit.jobs import carried, counted, ids, populations, steady, wishes
from chapar_audit.jobs.clients import MOST_WISHES, delay_of, look, name_of
from chapar_audit.jobs.overlay import OverlayError
from chapar_audit.jobs.spoken import NOTIFICATION, batches, spoken
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from chapar_audit.jobs.clients import Clients
    from chapar_audit.jobs.overlay import Overlay, Way
    from chapar_audit.jobs.spoken import Batches, Spoken
    from chapar_audit.jobs.wishes import Span
    from chapar_audit.recorded import Recorded

JOB: Final = "traffic"
EXACT: Final = frozenset({"flooding", "simple", "identity"})
"""Algorithms of which it is known, without the text of filters, what they tell."""
UNKNOWN: Final = {
    "covering": "what covering routing tells depends on which filters cover which, and their text is not recorded",
    "merging": "what merging routing tells depends on which filters are merged, and their text is not recorded",
    "auto": "auto routing floods some classes of filters over some links, which is not recorded",
}
"""Why it is not known of the others."""
WORDS: Final = {"subscribe": "subscriptions", "unsubscribe": "unsubscriptions", "refresh": "refreshes"}
REFRESHES: Final = "one refresh per period, which all links share, and filter on each link in use: x/r"
RATES: Final = sql.StructType(
    [
        sql.StructField("node", sql.IntegerType(), nullable=False),
        sql.StructField("peer", sql.IntegerType(), nullable=False),
        sql.StructField("change", sql.StringType(), nullable=False),
        sql.StructField("messages", sql.LongType(), nullable=False),
        sql.StructField("rate", sql.DoubleType(), nullable=False),
        sql.StructField("expected", sql.LongType(), nullable=True),
    ]
)


def judge_tree(recorded: Recorded) -> Judgement:
    """The traffic of a run in tree mode."""
    try:
        overlay, span, clients = look(recorded)
    except OverlayError as error:
        return Judgement([_open("traffic on the tree", str(error))])
    heard = spoken(recorded.tables["interests"], recorded.tables["frames"], span)
    delay = delay_of(recorded)
    findings, expected = _interest_rows(recorded, overlay, span, heard, clients, delay)
    findings += _notification_rows(recorded, overlay, heard, clients, delay)
    is_right = all(each.state is not State.DEVIATES for each in findings)
    findings += _steady_rows(overlay, span, heard, clients, is_right=is_right)
    return Judgement(findings, {"interest_rates": _table(recorded, span, heard, expected)})


# Message by message


def _interest_rows(
    recorded: Recorded, overlay: Overlay, span: Span, heard: Spoken, clients: Clients, delay: int
) -> tuple[list[Finding], dict[tuple[Way, str], int]]:
    """The rows on interest, and by way and change how many messages were expected."""
    algorithm = overlay.algorithm
    why = ""
    if not _is_exact(overlay, clients):
        why = UNKNOWN.get(algorithm, f"what {algorithm} routing tells is not known")
    elif overlay.advertisements:
        why = "subscriptions follow advertisements, of which only ids are recorded"
    elif recorded.tables["runs"].count() > len(recorded.settings):
        why = "a daemon was started more than once: what it held in between is not recorded"
    if why:
        return [_open(f"interest of {algorithm} routing, link by link", why)], {}
    of_way: Mapping[Way, wishes.Told] = {}
    if algorithm != "flooding":
        of_way = wishes.by_way(wishes.told(overlay, clients.changes, span, delay))
    removed = _removed(recorded, "interests")
    findings, expected = [], {}
    for change, words in WORDS.items():
        counts = {}
        for way in overlay.ways:
            due = of_way.get(way, wishes.Told())
            should = expected[way, change] = getattr(due, change)
            counts[way] = counted.Count(
                sent=heard.sent[way][change],
                heard=heard.heard[way][change],
                due=should,
                fewer=due.unsure,
                more=due.unsure,
                begun=heard.begun[way],
            )
        findings += counted.judged(f"{words} of {algorithm} routing", counts, removed=removed)
    return findings, expected


def _notification_rows(
    recorded: Recorded, overlay: Overlay, heard: Spoken, clients: Clients, delay: int
) -> list[Finding]:
    what = f"notifications of {overlay.algorithm} routing"
    if "frames" in recorded.missing:
        return [_open(what, "frames were not recorded (record.frames)")]
    tables = recorded.tables
    if overlay.algorithm == "flooding":
        rows = tables["publishes"].groupBy("node").count().collect()
        due = carried.flooded(overlay, Counter({row.node: row["count"] for row in rows}))
    elif overlay.algorithm == "auto":
        return [_open(what, UNKNOWN["auto"])]
    else:
        found = carried.collected(carried.patterns(tables["deliveries"], tables["losses"]))
        due = carried.carried(overlay, found, _waiting(tables["sessions"]))
    unsure = _unsure_events(recorded, overlay, clients, delay) if delay else Counter()
    counts = {
        way: counted.Count(
            sent=heard.sent_in_all[way],
            heard=heard.heard_in_all[way],
            due=due.least[way],
            more=due.most[way] - due.least[way] + unsure[way],
            begun=heard.begun[way],
            repeated=heard.repeated[way],
        )
        for way in overlay.ways
    }
    return counted.judged(what, counts, removed=_removed(recorded, "frames"))


def _waiting(sessions: DataFrame) -> frozenset[int]:
    """Brokers with a client that was OFF at the end: what they hold for it, nobody was given."""
    last = sessions.groupBy("node", "client").agg(f.max_by("state", "ts_us").alias("state"))
    return frozenset(row.node for row in last.where(f.col("state") == "off").select("node").distinct().collect())


def _unsure_events(recorded: Recorded, overlay: Overlay, clients: Clients, delay: int) -> Counter[Way]:
    """Events that were under way while something else happened: they may have gone in vain, or twice."""
    rows = recorded.tables["publishes"].select("ts_us", "node", "subject", "delivery").orderBy("ts_us")
    events = [
        carried.Published(row.ts_us, row.node, row.subject, row.delivery != "realtime")
        for row in rows.limit(MOST_WISHES).collect()
    ]
    found: Counter[Way] = Counter()
    if overlay.algorithm != "flooding":
        found.update(carried.in_vain(overlay, events, clients.changes, delay))
    if any(each.kept for each in events):
        digests = recorded.tables["frames"].where((f.col("kind") == "digests") & (f.col("direction") == "rx"))
        compared: dict[Way, list[int]] = {}
        for row in digests.select("ts_us", "node", "peer").collect():
            compared.setdefault((row.node, row.peer), []).append(row.ts_us)
        found.update(carried.sent_twice(overlay, events, compared, delay // 2))
    return found


def _removed(recorded: Recorded, dataset: str) -> int:
    row = recorded.tables["removals"].where(f.col("dataset") == dataset).agg(f.sum("rows").alias("rows")).first()
    return int(row.rows or 0) if row is not None else 0


def _is_exact(overlay: Overlay, clients: Clients) -> bool:
    """Whether what brokers tell each other is known: by covering routing it is as by identity, if nothing covers."""
    is_alone = overlay.algorithm == "covering" and not ids.may_cover(clients.locals)
    return overlay.algorithm in EXACT or is_alone


# In equilibrium


def _steady_rows(overlay: Overlay, span: Span, heard: Spoken, clients: Clients, *, is_right: bool) -> list[Finding]:
    cut = batches(span)
    if not _is_exact(overlay, clients) or overlay.advertisements:
        return [_open(f"rates of {overlay.algorithm} routing", "no model has rates for this on a tree")]
    by_class: dict[bytes, list[bytes]] = {}
    for filter_id in clients.locals:
        by_class.setdefault(ids.class_of(filter_id), []).append(filter_id)
    subjects = {ids.element(subject): subject for _, subject in clients.published if subject is not None}
    findings = []
    for filter_class, filters in sorted(by_class.items()):
        if overlay.algorithm == "flooding":
            break
        evidence = _evidence(clients, filters, span, is_right=is_right)
        refreshes, toggles = populations.interest_rates(overlay, [clients.locals[each] for each in filters])
        name = name_of(filter_class, subjects)
        for what, changes, rate in (
            (f"refreshes for {name} ({REFRESHES})", ("refresh",), refreshes),
            (f"toggles for {name}", ("subscribe", "unsubscribe"), toggles),
        ):
            counts = _in_batches(heard, [(filter_class, change) for change in changes], cut)
            measured = steady.mean_rate(counts, cut.seconds)
            findings.append(steady.judged(what, measured, rate, evidence, cut.count))
    findings.append(_steady_notifications(overlay, span, heard, clients, is_right=is_right))
    return findings


def _steady_notifications(overlay: Overlay, span: Span, heard: Spoken, clients: Clients, *, is_right: bool) -> Finding:
    what, cut = "rate of notifications", batches(span)
    vague = [each for each in clients.locals if not ids.is_plain(each)]
    if vague and overlay.algorithm != "flooding":
        return _open(what, "which events satisfy conditions on attributes is not recorded; the counts above decide")
    if clients.kept and overlay.algorithm != "flooding":
        return _open(what, f"{clients.kept} memorised events also go to those who subscribe later")
    expected = 0.0
    for (node, subject), count in clients.published.items():
        links = float(len(overlay.links))
        if overlay.algorithm != "flooding":
            idle = populations.together(each for key, each in clients.locals.items() if ids.asks_for(key, subject))
            links = populations.wanted_links(overlay, node, idle)
        expected += count / span.seconds * links
    measured = steady.mean_rate(_in_batches(heard, [(b"", NOTIFICATION)], cut), cut.seconds)
    evidence = _evidence(clients, list(clients.locals), span, is_right=is_right)
    if overlay.algorithm == "flooding":
        evidence = evidence._replace(toggles=0)
    return steady.judged(what, measured, expected, evidence, cut.count)


def _evidence(clients: Clients, filters: Sequence[bytes], span: Span, *, is_right: bool) -> steady.Evidence:
    changes = [clients.changes[each] for each in filters]
    return steady.evidence(changes, span, counted=is_right)


def _in_batches(heard: Spoken, keys: Sequence[tuple[bytes, str]], cut: Batches) -> list[int]:
    return [sum(heard.by_class[key][batch] for key in keys) for batch in range(cut.count)]


def _table(recorded: Recorded, span: Span, heard: Spoken, expected: Mapping[tuple[Way, str], int]) -> DataFrame:
    rows: list[tuple[Any, ...]] = [
        (node, peer, change, count, count / span.seconds, expected.get(((node, peer), change)))
        for (node, peer), counts in sorted(heard.sent.items())
        for change, count in sorted(counts.items())
    ]
    return recorded.tables["interests"].sparkSession.createDataFrame(rows, RATES)


def _open(subject: str, why: str) -> Finding:
    return Finding(JOB, subject, State.OPEN, reason=why)
