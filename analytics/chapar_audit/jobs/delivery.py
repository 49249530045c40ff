"""Whether events came to those who wanted them, once and in order; and why they did not, from the reasons recorded.

Publishes, interests and deliveries are joined. What a filter with conditions lets through is not known: such a client
is taken to have wanted what it was given, and what was recorded as lost to its home.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as f

from chapar_audit.jobs import failures, fates, handed
from chapar_audit.jobs.failures import Times, Unsaid
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row

    from chapar_audit.jobs.failures import Downs
    from chapar_audit.recorded import Recorded

JOB: Final = "delivery"
NEEDED: Final = ("publishes", "deliveries", "interests")
PARAMETERS: Final = ("refresh_period", "beacon_min", "orphan_patience", "order_patience", "serve_retry", "hop_limit")
"""Of the protocol, from which follows how long things may take."""
WITNESSES: Final = ("losses", "routes", "sessions")
"""Without these nobody can tell whether an event should have come."""
NAMES: Final = {"realtime": "real-time", "lifetime": "lifetime", "persistent": "persistent"}
"""Of the delivery classes."""
MICRO: Final = 1_000_000
STOPPED_US: Final = 30 * MICRO
"""A daemon that is silent for so long before the end of a run has ended."""
CRASH_US: Final = 30 * MICRO
"""Where frames were not recorded: a daemon that is started again has crashed at most so long before."""
CROSSING_US: Final = 8 * MICRO
"""Until an event has crossed a network that repairs it hop by hop."""
MOST_BROADCAST: Final = 5_000
"""Wishes that are sent to wherever events are; each comes as often as there are parts of a run in which it stands."""
MOST_NAMED: Final = 3
"""Nodes or clients that a row names."""
WORDS: Final[Mapping[str, str]] = {
    "malformed": "it could not be read",
    "foreign": "from a node that may not send it",
    "not_member": "its publisher is no member of the group",
    "no_route": "no route",
    "no_broker": "no broker was found",
    "hop_dead": "a next hop did not answer",
    "hop_limit": "too many hops",
    "late": "a later one had overtaken it",
    "expired": "it expired",
    "no_client": "addressed where no client wants it",
    "unreachable": "the subscriber was not available",
    "queue_full": "a queue was full",
    "table_full": "a table was full",
    "discarded": "fell off the queue of persistent events",
    "session_limit": "too many sessions",
    "session_ended": "the client's session ended",
    "too_large": "too large",
    Unsaid.SETTLING: "asked for too shortly before, or no longer",
    Unsaid.APART: "no route for long enough",
    Unsaid.UNDER_WAY: "still under way in the end",
    Unsaid.WAITING: "waiting for a client that is OFF",
    Unsaid.RESTARTED: "a daemon crashed or ended",
    Unsaid.ADDRESSED: "perhaps addressed to others",
    Unsaid.VANISHED: "nobody says why",
}
"""What reasons mean, for a person."""
UNDECIDED: Final[Mapping[str, str]] = {
    Unsaid.UNDER_WAY: "the run ended before the time that they may take",
    Unsaid.WAITING: "their clients were OFF in the end",
    Unsaid.RESTARTED: "what a daemon held when it crashed is not recorded",
    Unsaid.ADDRESSED: "nothing of these publishers came to these nodes: to whom events are addressed is not recorded",
}
"""Reasons with which it is open whether the event is lost, and why."""


_VAGUELY: Final = "of filters with conditions what was given or lost"


class Reason(NamedTuple):
    """Deliveries of one class that failed for one reason."""

    delivery: str
    reason: str
    told_by: int | None
    """The node that recorded it."""
    failed: int


class Account(NamedTuple):
    """What came of the events of a run, by client; and what all else is asked of."""

    recorded: Recorded
    published: DataFrame
    wishes: DataFrame
    known: DataFrame
    times: Times
    downs: Downs
    hop_limit: int
    is_vague: bool
    """Some wish is by a filter with conditions: which events satisfy them is not recorded."""


def judge(recorded: Recorded) -> Judgement:
    if missing := sorted(recorded.missing & set(NEEDED)):
        reason = f"not recorded: {', '.join(missing)}"
        return Judgement([Finding(JOB, "events come to those who want them", State.OPEN, reason=reason)])
    if odd := [name for name in PARAMETERS if not all(_is_number(each, name) for each in recorded.settings.values())]:
        reason = f"the settings of some node do not say {', '.join(odd)}"
        return Judgement([Finding(JOB, "events come to those who want them", State.OPEN, reason=reason)])
    account = _account(recorded)
    totals = handed.totals(account.known, account.hop_limit).collect()
    found = _lacking(account, totals)
    reasons = _reasons(found)
    came = 0
    if any(each.reason == Unsaid.VANISHED for each in reasons):
        found = failures.addressed(found, account.known, account.published).cache()
        reasons = _reasons(found)
        came = 0 if "frames" in recorded.missing else failures.sent_home(found, recorded.tables["frames"])
    findings = [
        *_ratios(account, totals, reasons, came),
        _once(account, sum(row.repeated for row in totals)),
        _order(account),
        _strangers(account, sum(row.unasked + row.strange for row in totals)),
        _acknowledged(account),
        *_losses(reasons),
    ]
    tables = {
        "latency": handed.latency(account.known),
        "latency_histogram": handed.histogram(account.known),
        "undelivered": found.select(*fates.PAIR, "reason"),
    }
    return Judgement(findings, tables)


def _account(recorded: Recorded) -> Account:
    tables, span, restarts = recorded.tables, _span(recorded), _restarts(recorded)
    wishes = fates.spells(tables["interests"]).cache()
    kinds = {row.is_plain: row["count"] for row in wishes.groupBy("is_plain").count().collect()}
    published = fates.events(tables["publishes"], *fates.elements(tables["publishes"]), span.end).cache()
    given = fates.lives(tables["deliveries"], restarts)
    how = "broadcast" if kinds.get(True, 0) <= MOST_BROADCAST else "shuffle_hash"
    known = fates.fates(fates.wanted(published, wishes, span, how), given, published).cache()
    hop_limit = round(_protocol(recorded, "hop_limit"))
    times, downs = _times(recorded, span), _downs(recorded, restarts)
    return Account(recorded, published, wishes, known, times, downs, hop_limit, False in kinds)


def _lacking(account: Account, totals: Sequence[Row]) -> DataFrame:
    """What was wanted and not given, and why."""
    tables = account.recorded.tables
    losses, found = tables["losses"], failures.unmet(account.known)
    is_vague = account.is_vague and bool(losses.take(1))
    if not is_vague and not any(row.unmet for row in totals):
        return losses.sparkSession.createDataFrame([], failures.LACKING)
    if is_vague:
        found = found.unionByName(failures.perhaps(account.known, losses, account.published, account.wishes))
    told = failures.recorded(found, losses)
    away = failures.absences(tables["sessions"])
    return failures.explained(told, _met(account.recorded), away, account.downs, account.times).cache()


# What is known of the run


def _is_number(settings: Mapping[str, Any], name: str) -> bool:
    protocol = settings.get("protocol")
    return isinstance(protocol, dict) and isinstance(protocol.get(name), int | float)


def _protocol(recorded: Recorded, name: str) -> float:
    """The largest value that a node is configured with."""
    return float(max(each["protocol"][name] for each in recorded.settings.values()))


def _span(recorded: Recorded) -> fates.Span:
    """From the first frame that was recorded to the last; or event, if frames were not."""
    times = [each for span in recorded.spans.values() for each in span]
    if not times:
        found = recorded.tables["publishes"].select("ts_us").union(recorded.tables["deliveries"].select("ts_us"))
        row: Any = found.agg(f.min("ts_us").alias("first"), f.max("ts_us").alias("last")).first()
        times = [row["first"] or 0, row["last"] or 0]
    return fates.Span(min(times), max(times))


def _times(recorded: Recorded, span: fates.Span) -> Times:
    second = {name: _protocol(recorded, name) for name in PARAMETERS}
    settling = second["refresh_period"] + 2 * second["beacon_min"] + second["orphan_patience"]
    serving = settling + second["order_patience"] + 2 * second["serve_retry"]
    times = (span.end, settling * MICRO, CROSSING_US, serving * MICRO, second["refresh_period"] * MICRO)
    return Times(*map(round, times))


def _restarts(recorded: Recorded) -> dict[int, list[int]]:
    """When daemons were started again."""
    began: dict[int, list[int]] = {}
    for start in recorded.starts:
        began.setdefault(start.node, []).append(start.ts_us)
    return {node: sorted(times)[1:] for node, times in began.items() if len(times) > 1}


def _downs(recorded: Recorded, restarts: Mapping[int, Sequence[int]]) -> Downs:
    """When daemons were not up, as far as frames tell."""
    end = max((last for _, last in recorded.spans.values()), default=0)
    found = {
        node: [(last, fates.FOR_EVER)] for node, (_, last) in recorded.spans.items() if last < end - STOPPED_US
    }  # fmt: skip
    last_us: dict[tuple[int, int], int] = {}
    if restarts:
        rows = failures.signs(recorded.tables["frames"], restarts).collect()
        last_us = {(row.node, row.life): row.last_us for row in rows}
    for node, times in restarts.items():
        spans = [(last_us.get((node, life), time - CRASH_US), time) for life, time in enumerate(times)]
        found[node] = [*spans, *found.get(node, ())]
    return found


def _met(recorded: Recorded) -> DataFrame | None:
    """Who was in contact when; None where nobody recorded a route, as brokers are joined directly."""
    routes = recorded.tables["routes"]
    return failures.contacts(routes) if routes.take(1) else None


def _reasons(found: DataFrame) -> list[Reason]:
    rows = found.groupBy("delivery", "reason", "told_by").agg(f.count("*").alias("failed")).collect()
    return [Reason(*(row[name] for name in Reason._fields)) for row in rows]


# Rows of the verdict


def _ratios(account: Account, totals: Sequence[Row], reasons: Sequence[Reason], came: int) -> Iterator[Finding]:
    """By delivery class."""
    delivered = {row.delivery: row.given for row in totals}
    by_class = account.published.groupBy("delivery")
    rows = by_class.agg(f.count("*").alias("events"), f.sum("copies").alias("copies")).collect()
    counts = {row.delivery: row for row in rows}
    for delivery, name in NAMES.items():
        if delivery not in counts:
            continue
        lacking = [each for each in reasons if each.delivery == delivery]
        vanished = sum(each.failed for each in lacking if each.reason == Unsaid.VANISHED)
        wanted = delivered.get(delivery, 0) + sum(each.failed for each in lacking)
        tolerance = "all, or a reason for each" + (f"; {_VAGUELY}" if account.is_vague else "")
        state, reason = _vanished(vanished, came, account.recorded) if vanished else (State.HOLDS, "")
        subject = f"{counts[delivery].events} {name} events come to those who want them"
        yield Finding(JOB, subject, state, delivered.get(delivery, 0), wanted, "deliveries", tolerance, reason)
    copies = sum(row.copies - row.events for row in rows)
    if copies:
        reason = "rows of `publishes` are there twice, or a daemon gave the same id twice"
        yield Finding(JOB, "each event is published once", State.DEVIATES, copies, 0, "rows", "exact", reason)


def _vanished(count: int, came: int, recorded: Recorded) -> tuple[State, str]:
    if unknown := sorted(recorded.missing & set(WITNESSES)):
        return State.OPEN, f"{count} never came, and whether they should have is in {', '.join(unknown)}: not recorded"
    if came:
        why = f"rows of deliveries are missing, as {came} of these were sent to their home"
    else:
        why = "rows of deliveries are missing, or they vanished silently"
    return State.DEVIATES, f"{count} have neither delivery nor loss: {why}"


def _once(account: Account, extra: int) -> Finding:
    subject = "each event comes to a client once"
    if not extra:
        return Finding(JOB, subject, State.HOLDS, 0, 0, "repetitions", "exact")
    rows = handed.repeated(account.known).orderBy(f.desc("extra")).collect()
    named = _named((f"{row.client} at {row.home}", row.extra) for row in rows)
    reason = f"again to {named}: a home repeated what its client had, or rows of deliveries are there twice"
    return Finding(JOB, subject, State.DEVIATES, extra, 0, "repetitions", "exact", reason)


def _order(account: Account) -> Finding:
    subject = "events come in their publisher's order, class by class"
    patience = round(_protocol(account.recorded, "order_patience") * MICRO)
    near = {node: [(first - CROSSING_US, last) for first, last in each] for node, each in account.downs.items()}
    overtaken = handed.overtaken(account.known, patience, near)
    rows: Sequence[Row] = []
    if overtaken.take(1):
        late = handed.unexcused(overtaken, account.wishes, account.times.settling)
        rows = (
            late.groupBy(*handed.CLIENT, "delivery").agg(f.count("*").alias("late")).orderBy(f.desc("late")).collect()
        )
    if not rows:
        return Finding(JOB, subject, State.HOLDS, 0, 0, "late", "exact")
    named = _named((f"{row.delivery} ones to {row.client} at {row.home}", row.late) for row in rows)
    reason = f"after a later event of their publisher came {named}: a home gave them so, or times are wrong"
    return Finding(JOB, subject, State.DEVIATES, sum(row.late for row in rows), 0, "late", "exact", reason)


def _strangers(account: Account, suspects: int) -> Finding:
    subject, counts = "nothing comes that was not published, or not asked for", Counter[str]()
    if suspects:
        strange = handed.strangers(account.known, account.wishes, account.published, account.hop_limit)
        rows = (
            strange.groupBy("fault")
            .agg(f.count("*").alias("found"), f.min_by(f.struct(*fates.PAIR), "event_id").alias("one"))
            .collect()
        )
        counts.update({row.fault: row.found for row in rows})
    if not counts:
        return Finding(JOB, subject, State.HOLDS, 0, 0, "deliveries", "exact")
    one = rows[0].one
    parts = ", ".join(f"{count} {fault}" for fault, count in counts.most_common())
    reason = f"{parts}, like {one.event_id.hex()} to {one.client} at {one.home}: forged, or rows of other datasets lack"
    return Finding(JOB, subject, State.DEVIATES, counts.total(), 0, "deliveries", "exact", reason)


def _acknowledged(account: Account) -> Finding:
    """A client acknowledges what it was given: of that there must be rows."""
    subject = "what clients acknowledge was delivered to them"
    if "acknowledgements" in account.recorded.missing:
        return Finding(JOB, subject, State.OPEN, reason="not recorded: acknowledgements")
    rows = handed.unrecorded(account.known, account.recorded.tables["acknowledgements"]).collect()
    if not rows:
        return Finding(JOB, subject, State.HOLDS, 0, 0, "missing", "exact")
    short = {f"{row.client} at {row.home}": row.acknowledged - row.given for row in rows}
    named = _named(sorted(short.items(), key=lambda item: -item[1]))
    reason = f"rows of deliveries are missing, at least of {named}"
    return Finding(JOB, subject, State.DEVIATES, sum(short.values()), 0, "missing", "exact", reason)


def _losses(reasons: Sequence[Reason]) -> Iterator[Finding]:
    """A row for each reason."""
    by_reason: dict[str, list[Reason]] = {}
    for each in reasons:
        if each.reason != Unsaid.VANISHED:
            by_reason.setdefault(each.reason, []).append(each)
    for code, found in sorted(by_reason.items(), key=lambda item: (-sum(each.failed for each in item[1]), item[0])):
        classes, tellers = Counter[str](), Counter[str]()
        for each in found:
            classes[NAMES.get(each.delivery, each.delivery)] += each.failed
            if each.told_by is not None:
                tellers[f"node {each.told_by}"] += each.failed
        state = State.OPEN if code in UNDECIDED else State.HOLDS
        where = f"recorded by {_named(tellers.most_common())}" if tellers else "concluded from what was recorded"
        why = UNDECIDED.get(code, where)
        subject = f"{' and '.join(classes)} events not delivered: {WORDS.get(code, code)}"
        yield Finding(JOB, subject, state, classes.total(), None, "deliveries", "", why)


def _named(counts: Iterable[tuple[str, int]]) -> str:
    """The first of them, with their numbers."""
    listed = list(counts)
    some = ", ".join(f"{name} ({count})" for name, count in listed[:MOST_NAMED])
    return some + (f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else "")
