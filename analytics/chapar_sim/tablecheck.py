"""The rule about tables: once faults have ended, every broker's tables equal the homes' truth within the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chapar_sim.case import Case, Violation, name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chapar.event import EventId
    from chapar.filter import Filter
    from chapar_sim.history import Publication
    from chapar_sim.spells import Spell
    from chapar_sim.trace import Snapshot


@dataclass(frozen=True, slots=True)
class View:
    """The tables of one network at one moment, the network having stood unchanged since `since` or longer."""

    case: Case
    spell: Spell
    t: float
    since: float
    """The stated bound before `t`: what was so then must be known now."""
    snapshots: tuple[Snapshot, ...]

    @property
    def brokers(self) -> list[Snapshot]:
        return [row for row in self.snapshots if row.is_broker]

    def fault(self, what: str) -> Violation:
        return Violation("tables", self.t, what)


def tables(case: Case) -> Iterable[Violation]:
    """Whenever looked at, the tables of a network that has stood unchanged for the stated bound are right.

    The nodes that the role rules make brokers are brokers. Each of them knows, for every home of the network, filters
    that cover all its clients' subscriptions and no filter that none of them asked for; of a home that nobody can
    have heard of for the lease it knows nothing. All hold the same living memorised events; and at the end of the quiet
    time they know the same homes served, among them every home whose client has long had the event.
    """
    if case.bounds.config.routing.mode == "tree":
        return  # there, no broker has a table of all homes
    for view in _views(case):
        yield from _roles(view)
        for row in view.brokers:
            yield from _fmt(view, row)
        yield from _met(view)
        if view.t >= case.trace.end:
            yield from _served(view)


def _views(case: Case) -> Iterator[View]:
    looks: dict[float, dict[int, Snapshot]] = {}
    for row in case.trace.snapshots:
        looks.setdefault(row.t, {})[row.node] = row
    for spell in case.network.spells:
        if not spell.is_sound:
            continue
        bound = case.bounds.tables(spell.diameter)
        for t, rows in looks.items():
            if spell.start + bound <= t <= spell.end:
                seen = tuple(rows[node] for node in sorted(spell.nodes) if node in rows)
                yield View(case, spell, t, t - bound, seen)


def _roles(view: View) -> Iterable[Violation]:
    idle = view.case.oracle.brokers(view.spell) - {row.node for row in view.brokers}
    for row in view.snapshots:
        if row.node in idle:
            yield view.fault(f"node {row.node} should be a broker of {sorted(view.spell.nodes)} and is not")


def _fmt(view: View, row: Snapshot) -> Iterable[Violation]:
    for home in sorted(view.spell.nodes):
        sure, possible = _truth(view, home)
        known = row.fmt.get(home, frozenset())
        for missing in _texts(filter_ for filter_ in sure if not any(each.covers(filter_) for each in known)):
            yield view.fault(f"broker {row.node} lacks the filter {missing} of home {home}")
        for dead in _texts(known - possible):
            yield view.fault(f"broker {row.node} holds for home {home} the filter {dead}, which does not stand")
    for home in sorted(row.fmt.keys() - view.spell.nodes):
        silence = view.since - _last_word(view, home)
        if row.fmt[home] and silence > view.case.bounds.lease():
            yield view.fault(f"broker {row.node} holds filters of home {home}, unheard of for {silence:.0f} s")


def _last_word(view: View, home: int) -> float:
    """When the network last heard of a home outside it, or could have believed to: corrupted tables make homes up."""
    heard = view.case.network.latest_word(home, view.spell.nodes, view.t)
    return max([heard, *(t for t in view.case.corruptions if t <= view.t)])


def _truth(view: View, home: int) -> tuple[set[Filter], set[Filter]]:
    """The filters that surely stand at a home, and those that may be known of it."""
    history = view.case.history
    clients = [client for client, at in history.home.items() if at == home]
    ever = [each for client in clients for each in history.subscriptions.get(client, ())]
    sure = {each.filter for each in ever if any(told.start <= view.since and told.end > view.t for told in each.told)}
    return sure, {each.filter for each in ever if each.asked.start <= view.t and each.gone > view.since}


def _texts(filters: Iterable[Filter]) -> list[str]:
    return sorted(map(str, filters))


def _met(view: View) -> Iterable[Violation]:
    """Every living event that one broker holds, all hold."""
    for publication in _settled_events(view):
        lacking = [row.node for row in view.brokers if publication.event_id not in row.met]
        if lacking:
            yield view.fault(f"brokers {lacking} lack event {name(publication.event_id)} that others hold")


def _served(view: View) -> Iterable[Violation]:
    """All brokers know who has an event, and know it of everyone who does."""
    had: dict[EventId, set[int]] = {}
    for row in view.case.trace.delivered:
        if row.home in view.spell.nodes and row.t <= view.since:
            had.setdefault(row.event_id, set()).add(row.home)
    for event_id in (publication.event_id for publication in _settled_events(view)):
        known = {row.node: row.met[event_id] for row in view.brokers if event_id in row.met}
        if len(set(known.values())) > 1:
            views = "; ".join(f"{node}: {sorted(homes)}" for node, homes in known.items())
            yield view.fault(f"brokers disagree who has event {name(event_id)}: {views}")
        elif unknown := sorted(had.get(event_id, set()).difference(*known.values())):
            yield view.fault(f"brokers do not know that homes {unknown} have event {name(event_id)}")


def _settled_events(view: View) -> list[Publication]:
    """The events in the brokers' tables that were there in time and surely live; none that a full table gave up."""
    case = view.case
    given_up = {row.event_id for row in case.trace.losses if row.reason in {"table_full", "discarded"}}
    held = sorted({event_id for row in view.brokers for event_id in row.met} - given_up)
    known = [case.history.publications[event_id] for event_id in held if event_id in case.history.publications]
    return [each for each in known if each.taken <= view.since and _lives(case, each, view.t)]


def _lives(case: Case, publication: Publication, t: float) -> bool:
    return publication.asked + case.bounds.shortest_life(publication.lifetime) > t + 1
