"""The checkers: what the design promises, each promise a function from a finished run to the ways it was broken.

They are independent of the core. They read the trace (what clients and the medium saw) and the scenario, and reckon for
themselves who could have been reached (`oracle`) and how long anything may take (`bounds`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from chapar.event import origin_of
from chapar_sim.case import Case, Violation, name
from chapar_sim.tablecheck import tables

if TYPE_CHECKING:
    from chapar.event import EventId
    from chapar_sim.history import Publication
    from chapar_sim.scenario import Scenario
    from chapar_sim.trace import Delivered, RecordedLoss, Trace

BOUND_AT_HOME: Final = frozenset({"queue_full", "session_limit"})
"""Reasons for which a home may refuse a memorised event to its clients: its bounds were reached."""
BOUND_ANYWHERE: Final = frozenset({"table_full", "discarded"})
"""Reasons for which a broker may give up a memorised event: its tables' bounds were reached."""


def check(trace: Trace, scenario: Scenario) -> list[Violation]:
    """Every broken promise of a run, in order of time. None is what a correct core leaves."""
    return judge(Case.of(trace, scenario))


def judge(case: Case) -> list[Violation]:
    """Apply every rule to a prepared case."""
    found = [violation for rule in RULES for violation in rule(case)]
    return sorted(found, key=lambda each: (each.t, each.rule, each.what))


def once(case: Case) -> Iterable[Violation]:
    """No event reaches an application twice, nor a client twice within one life of its daemon.

    The second half looks beneath the client's own guard against repetitions, which would hide a home that repeats.
    """
    reached = Counter((row.client, row.event_id) for row in case.trace.delivered)
    for row in case.trace.delivered:
        if reached.pop((row.client, row.event_id), 1) > 1:
            yield Violation("once", row.t, f"{row.client} got {name(row.event_id)} more than once")
    handed = Counter((row.client, row.incarnation, row.event_id) for row in case.trace.handed)
    for hand in case.trace.handed:
        if handed.pop((hand.client, hand.incarnation, hand.event_id), 1) > 1:
            what = f"{hand.client} was handed {name(hand.event_id)} more than once in incarnation {hand.incarnation}"
            yield Violation("once", hand.t, what)


def order(case: Case) -> Iterable[Violation]:
    """Each client gets the real-time events of a publisher node in order of publication, and its memorised events too.

    A memorised event may come after a younger one if it had to: when the younger one came, the home was elsewhere, or
    had not known the subscription for long. A home that lost its disk may have forgotten what it passed on.
    """
    streams: dict[tuple[str, int, int, bool], list[Delivered]] = defaultdict(list)
    for row in case.trace.delivered:
        publication = case.history.publications.get(row.event_id)
        if publication is not None:
            streams[row.client, row.subscription, origin_of(row.event_id), publication.is_memorised].append(row)
    for (client, _, _, is_memorised), rows in streams.items():
        youngest = rows[0]
        for row in rows[1:]:
            if row.event_id > youngest.event_id:
                youngest = row
            elif row.event_id < youngest.event_id and not _may_be_late(case, row, youngest, is_memorised=is_memorised):
                first = f"{name(youngest.event_id)}, which came at {youngest.t:.2f} s"
                yield Violation("order", row.t, f"{client} got {name(row.event_id)} after {first}")


def _may_be_late(case: Case, late: Delivered, young: Delivered, *, is_memorised: bool) -> bool:
    if not is_memorised:
        return case.history.wiped(late.home, young.t, late.t)
    older, younger = case.history.publications[late.event_id], case.history.publications[young.event_id]
    # When the younger event took its place in the client's queue is not known: after it was published, for certain.
    was_due = case.oracle.overdue(older, late.client, younger.asked)
    return not (was_due or case.oracle.together(older, late.client, young.t))


def matching(case: Case) -> Iterable[Violation]:
    """An application gets only events that were accepted, that it asked for, and that are still alive.

    A subscription counts until its home surely knows that it ended; an event addressed to nodes reaches only those.
    """
    for row in case.trace.delivered:
        publication = case.history.publications.get(row.event_id)
        if publication is None:
            # A home that lost its disk after sending an event out has lost the receipt as well. And frames are not
            # authenticated: a node that sends mutated ones can make up an event that nobody can tell from a real one.
            if not case.history.wipes.get(origin_of(row.event_id)) and row.t < case.forged_from:
                yield Violation("matching", row.t, f"{row.client} got {name(row.event_id)}, which no home accepted")
            continue
        fault = _mismatch(case, row, publication)
        if fault:
            yield Violation("matching", row.t, f"{row.client} got {name(row.event_id)} {fault}")


def _mismatch(case: Case, row: Delivered, publication: Publication) -> str:
    if row.t < publication.asked:
        return "before it was published"
    if publication.event.to and row.home not in publication.event.to:
        return f"addressed to {list(publication.event.to)}, at node {row.home}"
    asked = [each for each in case.history.matching(row.client, publication) if each.asked.start <= row.t]
    if not any(each.gone >= publication.asked for each in asked):
        return f"published at {publication.asked:.2f} s, for which it had no subscription"
    life = case.bounds.longest_life(publication.lifetime, case.network.widest)
    if publication.is_memorised and row.t > publication.taken + life:
        return f"{row.t - publication.taken - publication.lifetime:.1f} s after it had expired"
    return ""


def memorised(case: Case) -> Iterable[Violation]:
    """No lifetime or persistent event is lost to a client that the oracle says it could have reached.

    The only excuse is a recorded one: a full queue at its home, or a table that was full.
    """
    excuses = _losses(case.trace.losses)
    for publication in case.history.publications.values():
        if not publication.is_memorised:
            continue
        for client, home in case.history.home.items():
            if publication.event_id in case.history.delivered[client]:
                continue
            claim = case.oracle.memorised(publication, client)
            if claim is None or any(_excuses(row, home) for row in excuses.get(publication.event_id, ())):
                continue
            brokers = ", ".join(map(str, sorted(claim.haven.nodes)))
            why = f"nodes {brokers} had it from {claim.haven.ready:.1f} s, its home {home} by {claim.queued:.1f} s"
            what = f"{client} never got {name(publication.event_id)} of {publication.asked:.2f} s: {why}"
            yield Violation("memorised", claim.handed, what)


def _excuses(row: RecordedLoss, home: int) -> bool:
    at_home = row.reason in BOUND_AT_HOME and (row.node == home or home in row.homes)
    return at_home or row.reason in BOUND_ANYWHERE


def realtime(case: Case) -> Iterable[Violation]:
    """A real-time event reaches every subscriber whose home was continuously reachable, or its loss is on record.

    Reachable: in one network, unchanged, settled before the publication and standing until it could be crossed.
    """
    excuses = _losses(case.trace.losses)
    for publication in case.history.publications.values():
        if publication.is_memorised:
            continue
        for client, home in case.history.home.items():
            if publication.event_id in case.history.delivered[client]:
                continue
            claim = case.oracle.realtime(publication, client)
            if claim is None:
                continue
            lost = excuses.get(publication.event_id, ())
            if not any(home in row.homes or row.node == home or not row.homes for row in lost):
                event = f"{name(publication.event_id)} of {publication.asked:.2f} s"
                what = f"{client} at {home} never got {event}, and no loss is on record"
                yield Violation("realtime", claim.handed, what)


def limits(case: Case) -> Iterable[Violation]:
    """Every table and queue is within its limit whenever looked at."""
    for row in case.trace.snapshots:
        for table in sorted(row.sizes):
            used, limit = row.sizes[table]
            if used > limit:
                yield Violation("limits", row.t, f"node {row.node} holds {used} in {table}, which may hold {limit}")


def _losses(rows: Iterable[RecordedLoss]) -> dict[EventId, list[RecordedLoss]]:
    found: dict[EventId, list[RecordedLoss]] = defaultdict(list)
    for row in rows:
        found[row.event_id].append(row)
    return found


Rule = Callable[[Case], Iterable[Violation]]
RULES: Final[tuple[Rule, ...]] = (once, order, matching, memorised, realtime, tables, limits)
