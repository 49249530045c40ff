"""The rule about tables: once faults have ended, every broker's tables equal the homes' truth within the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_sim.case import Case, Violation, name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.event import EventId
    from chapar.filter import Filter
    from chapar_sim.spells import Spell
    from chapar_sim.trace import Snapshot


def tables(case: Case) -> Iterable[Violation]:
    """At the end of the quiet time every broker's tables are right.

    In every network that has stood unchanged for the stated bound: the nodes that the role rules make brokers are
    brokers; each of them knows, for every home of the network, filters that cover all its clients' subscriptions and no
    filter that none of them asked for; of a home that nobody can have heard of for the lease it knows nothing; and all
    hold the same living memorised events and know the same homes served, among them every home whose client has long
    had the event.
    """
    last = {row.node: row for row in case.trace.snapshots if row.t >= case.trace.end - 1e-6}
    for spell in case.network.spells:
        if spell.end < case.trace.end or not spell.is_sound or spell.length < case.bounds.tables(spell.diameter):
            continue
        brokers = [last[node] for node in sorted(spell.nodes) if node in last and last[node].is_broker]
        idle = case.oracle.brokers(spell) - {row.node for row in brokers}
        for node in sorted(idle & last.keys()):
            what = f"node {node} should be a broker of {sorted(spell.nodes)} and is not"
            yield Violation("tables", case.trace.end, what)
        for row in brokers:
            yield from _fmt(case, spell, row)
        yield from _met(case, spell, brokers)


def _fmt(case: Case, spell: Spell, row: Snapshot) -> Iterable[Violation]:
    for home in sorted(spell.nodes):
        sure, possible = _truth(case, home, case.trace.end - case.bounds.tables(spell.diameter))
        known = row.fmt.get(home, frozenset())
        for missing in _texts(filter_ for filter_ in sure if not any(each.covers(filter_) for each in known)):
            yield Violation("tables", row.t, f"broker {row.node} lacks the filter {missing} of home {home}")
        for dead in _texts(known - possible):
            what = f"broker {row.node} holds for home {home} the filter {dead}, which does not stand"
            yield Violation("tables", row.t, what)
    for home in sorted(row.fmt.keys() - spell.nodes):
        silence = case.trace.end - case.network.latest_word(home, spell.nodes)
        if row.fmt[home] and silence > case.bounds.lease() + case.bounds.tables(spell.diameter):
            what = f"broker {row.node} holds filters of home {home}, unheard of for {silence:.0f} s"
            yield Violation("tables", row.t, what)


def _truth(case: Case, home: int, since: float) -> tuple[set[Filter], set[Filter]]:
    """The filters that surely stand at a home and have since `since`, and those that may be known of it."""
    clients = [client for client, at in case.history.home.items() if at == home]
    all_ever = [each for client in clients for each in case.history.subscriptions.get(client, ())]
    standing = [each for each in all_ever if each.told and each.told[-1].end > case.trace.end]
    sure = {each.filter for each in standing if each.told[-1].start <= since}
    return sure, {each.filter for each in all_ever if each.gone > since}


def _texts(filters: Iterable[Filter]) -> list[str]:
    return sorted(map(str, filters))


def _met(case: Case, spell: Spell, brokers: list[Snapshot]) -> Iterable[Violation]:
    served = _served(case, spell)
    given_up = {row.event_id for row in case.trace.losses if row.reason in {"table_full", "discarded"}}
    for event_id in sorted({event_id for row in brokers for event_id in row.met} - given_up):
        if not _surely_alive(case, event_id):
            continue
        lacking = [row.node for row in brokers if event_id not in row.met]
        if lacking:
            yield Violation("tables", case.trace.end, f"brokers {lacking} lack event {name(event_id)} that others hold")
        elif len({row.met[event_id] for row in brokers}) > 1:
            views = "; ".join(f"{row.node}: {sorted(row.met[event_id])}" for row in brokers)
            yield Violation("tables", case.trace.end, f"brokers disagree who has event {name(event_id)}: {views}")
        elif unknown := sorted(served.get(event_id, set()) - brokers[0].met[event_id]):
            what = f"brokers do not know that homes {unknown} have event {name(event_id)}"
            yield Violation("tables", case.trace.end, what)


def _served(case: Case, spell: Spell) -> dict[EventId, set[int]]:
    """Event → the homes of the network whose clients had it before the stated bound."""
    since = case.trace.end - case.bounds.tables(spell.diameter)
    found: dict[EventId, set[int]] = {}
    for row in case.trace.delivered:
        if row.home in spell.nodes and row.t <= since:
            found.setdefault(row.event_id, set()).add(row.home)
    return found


def _surely_alive(case: Case, event_id: EventId) -> bool:
    publication = case.history.publications.get(event_id)
    if publication is None:
        return False
    return publication.asked + case.bounds.shortest_life(publication.lifetime) > case.trace.end + 1

