"""The oracle: what must have arrived, computed from the true network and nothing of the core.

It knows the medium (who could hear whom, and when), which daemons ran, who subscribed, who was ON, and the role rules.
About a memorised event it says two kinds of things: where it *surely* was, on which the promise of delivery stands,
and where it *may* have been, on which every exemption stands.

What it claims is a lower bound, by these choices:

- Only symmetric links count, and only *spells*: stretches in which a connected component, with exactly these nodes
  and links, stayed as it was while every node of it ran chapard.
- In a spell a copy has spread only after the settle time, and only to the nodes that the role rules make brokers. What
  comes later, when roles have settled, has the time that it takes to spread.
- A broker's copy counts for the dismissal time after the spell and no longer, unless the next spell lasts long enough
  to make it a broker again. A copy that only a dismissed broker holds counts once it has had time to check out.
- The copy at the publisher's home counts until that node loses its disk, that of a broker until its tables are
  corrupted as well. Copies that subscribers' homes keep do not count at all.
- A home must be in one such spell with the brokers for the whole delivery time, knowing the subscription throughout,
  and the client must afterwards be ON for long enough, before the event expires.
- A home that lost its disk after it may have confirmed the event is owed nothing: the network believes it served.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from chapar_sim.history import Span
from chapar_sim.spells import brokers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapar.event import EventId
    from chapar_sim.bounds import Bounds
    from chapar_sim.history import History, Publication
    from chapar_sim.spells import Disturbance, Network, Spell


class Haven(NamedTuple):
    """Where an event surely was: with all brokers of `nodes`, from `ready` to `end`."""

    nodes: frozenset[int]
    ready: float
    end: float
    patience: float
    """How long these brokers may take to serve a home among them."""


class Claim(NamedTuple):
    """A client must have got an event, and this is why."""

    haven: Haven
    queued: float
    """When its home had it at the latest."""
    handed: float
    """When the application had it at the latest."""


class Oracle:
    """Says of every event who must have got it."""

    def __init__(
        self, history: History, network: Network, bounds: Bounds, disturbances: Iterable[Disturbance] = ()
    ) -> None:
        self._history = history
        self._network = network
        self._bounds = bounds
        self._losses_of_memory = _losses_of_memory(history, disturbances)
        self._settled = [spell for spell in network.spells if spell.is_sound and spell.length >= bounds.roles()]
        self._brokers = {spell: brokers_of(spell.neighbours, bounds.config.broker_min) for spell in self._settled}
        self._havens: dict[EventId, list[Haven]] = {}
        self._earliest: dict[EventId, Mapping[int, float]] = {}

    def brokers(self, spell: Spell) -> frozenset[int]:
        """Who the role rules make a broker in a sound spell, once roles have settled."""
        return self._brokers.get(spell, frozenset())

    def memorised(self, publication: Publication, client: str) -> Claim | None:
        """Why the client must have got this memorised event; None if it need not have."""
        home = self._history.home[client]
        expiry = publication.asked + self._bounds.shortest_life(publication.lifetime)
        for haven in self.havens(publication):
            if home not in haven.nodes:
                continue
            for subscription in self._history.matching(client, publication):
                for told in subscription.told:
                    claim = self._claim(haven, told, client, expiry)
                    if claim is not None and not self._may_have_confirmed(publication, home, claim.queued):
                        return claim
        return None

    def overdue(self, publication: Publication, client: str, t: float) -> bool:
        """Whether the client's home must have had this memorised event before `t`."""
        home = self._history.home[client]
        for haven in self.havens(publication):
            for subscription in self._history.matching(client, publication) if home in haven.nodes else ():
                for told in subscription.told:
                    queued = max(haven.ready, told.start) + haven.patience
                    if queued <= min(t, haven.end, told.end) and not self._may_have_confirmed(publication, home, t):
                        return True
        return False

    def together(self, publication: Publication, client: str, t: float) -> bool:
        """Whether publisher's and client's homes were in one unchanged network, the subscription known, until `t`."""
        haven = self._stage(publication, self._history.home[client])
        if haven is None or haven.end < t:
            return False
        subscriptions = self._history.matching(client, publication)
        return any(told.start <= haven.ready and t <= told.end for each in subscriptions for told in each.told)

    def _claim(self, haven: Haven, told: Span, client: str, expiry: float) -> Claim | None:
        queued = max(haven.ready, told.start) + haven.patience
        if queued > min(haven.end, told.end, expiry):
            return None
        for on in self._history.on[client]:
            window = on.meet(queued, min(told.end, expiry))
            if window.length >= self._bounds.drain():
                return Claim(haven, queued, window.start + self._bounds.drain())
        return None

    def realtime(self, publication: Publication, client: str) -> Claim | None:
        """Why the client must have got this real-time event, unless a loss was recorded; None if it need not have."""
        haven = self._stage(publication, self._history.home[client])
        if haven is None:
            return None
        for subscription in self._history.matching(client, publication):
            for told in subscription.told:
                if told.start <= haven.ready and (claim := self._claim(haven, told, client, math.inf)):
                    return claim
        return None

    def _stage(self, publication: Publication, home: int) -> Haven | None:
        """The unchanged network in which a real-time event went from its home to `home`, ready since before it did."""
        if publication.taken > publication.asked + self._bounds.session():
            return None
        if publication.home == home:
            return self._local_stage(publication)
        for spell in self._network.spells:
            if spell.start <= publication.asked < spell.end and {home, publication.home} <= spell.nodes:
                return self._shared_stage(spell, publication)
        return None

    def _local_stage(self, publication: Publication) -> Haven | None:
        ready = publication.asked - self._bounds.session()
        for up in self._history.up(publication.home):
            if up.start <= ready and publication.taken <= up.end:
                wait = publication.taken - ready + self._bounds.session()
                return Haven(frozenset({publication.home}), ready, up.end, wait)
        return None

    def _shared_stage(self, spell: Spell, publication: Publication) -> Haven | None:
        """Addressed events need no tables, so they are owed across nodes without chapard as well."""
        bounds = self._bounds
        if not spell.is_sound and not (spell.runs and publication.event.to):
            return None
        if not bounds.config.hop_ack and bounds.loss > 0:
            return None
        ready = publication.asked - bounds.spread(spell.diameter)
        wait = publication.taken - ready + bounds.crossing(spell.diameter)
        return Haven(spell.nodes, ready, spell.end, wait) if spell.start + bounds.roles() <= ready else None

    def havens(self, publication: Publication) -> list[Haven]:
        """All spells whose brokers surely came to hold a memorised event; its own home first."""
        known = self._havens.get(publication.event_id)
        if known is None:
            known = self._havens[publication.event_id] = [*self._at_home(publication), *self._with_brokers(publication)]
        return known

    def _at_home(self, publication: Publication) -> Iterable[Haven]:
        """The publisher's home serves its own clients whatever the network does."""
        home = publication.home
        for up in self._history.up(home):
            ready = max(up.start, publication.taken)
            if ready < up.end and not self._history.wiped(home, publication.asked, ready):
                yield Haven(frozenset({home}), ready, up.end, self._bounds.local())

    def _with_brokers(self, publication: Publication) -> Iterable[Haven]:
        bounds = self._bounds
        copies: dict[int, Span] = {}
        for spell in self._settled:
            if spell.end <= publication.taken:
                continue
            brokers = self._brokers[spell]
            ready = self._ready(spell, publication, copies)
            roles_known = spell.start + bounds.roles()
            for broker in brokers:
                if ready <= spell.end:
                    copies[broker] = Span(ready, spell.end + bounds.config.dismissal_time)
                elif self._holds(broker, copies, roles_known):
                    copies[broker] = Span(copies[broker].start, spell.end + bounds.config.dismissal_time)
            if ready <= spell.end:
                yield Haven(spell.nodes, ready, spell.end, bounds.deliver(spell.diameter))

    def _ready(self, spell: Spell, publication: Publication, copies: Mapping[int, Span]) -> float:
        """When all brokers of the spell surely hold the event."""
        settle = self._bounds.settle(spell.diameter)
        ready = math.inf
        home, start = publication.home, max(spell.start, publication.taken)
        if home in spell.nodes and not self._history.wiped(home, publication.asked, start):
            ready = max(spell.start + settle, start + self._bounds.spread(spell.diameter))
        holders = [node for node in copies if node in spell.nodes and self._holds(node, copies, spell.start)]
        if not self._brokers[spell].isdisjoint(holders):
            ready = min(ready, spell.start + settle)
        elif holders:
            ready = min(ready, spell.start + settle + self._bounds.check_out())
        return ready

    def _holds(self, node: int, copies: Mapping[int, Span], t: float) -> bool:
        copy = copies.get(node)
        return copy is not None and copy.start <= t < copy.end and not self._forgot(node, copy.start, t)

    def _forgot(self, node: int, start: float, end: float) -> bool:
        """Whether the node lost its memory between `start` and `end`, both included."""
        return any(start <= t <= end for t in self._losses_of_memory.get(node, ()))

    def _may_have_confirmed(self, publication: Publication, home: int, t: float) -> bool:
        """Whether the home lost its disk before `t`, and may have confirmed the event before that."""
        wipes = [wipe for wipe in self._history.wipes.get(home, ()) if publication.asked <= wipe <= t]
        if not wipes:
            return False
        known = self._earliest.get(publication.event_id)
        if known is None:
            known = self._network.earliest(publication.home, publication.asked)
            self._earliest[publication.event_id] = known
        asked = [
            subscription.asked.start
            for client, at in self._history.home.items()
            if at == home
            for subscription in self._history.matching(client, publication)
        ]
        return bool(asked) and max(known.get(home, math.inf), min(asked)) <= wipes[-1]


def _losses_of_memory(history: History, disturbances: Iterable[Disturbance]) -> dict[int, list[float]]:
    times = {node: list(wipes) for node, wipes in history.wipes.items()}
    for each in disturbances:
        if each.forgets:
            times.setdefault(each.node, []).append(each.t)
    return times
