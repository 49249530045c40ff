"""The oracle of a network on a tree of brokers: what must have arrived, computed from the true network and the plan.

What counts besides the choices of `oracle`:

- In a spell the links of the tree between its nodes are up after a while, and brokers they join are a *region*: what
  is held anywhere in it reaches whoever wants it there. Nodes without chapard are no hindrance, as they route.
- A copy is surely at its publisher's home until that loses its disk, and at each broker on the way to a home that
  surely had it; of these only until tables are corrupted.
- After a corruption of any tables the links of the tree count as up only when the stated refresh periods have passed.
- Where publishers are known, copies count at their roots only; and with advertisements a real-time event counts when
  one like it was published in the same region before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from chapar_sim.oracle import Haven, Oracle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chapar_sim.bounds import Bounds
    from chapar_sim.history import History, Publication
    from chapar_sim.spells import Disturbance, Network, Spell


class TreeOracle(Oracle):
    """Says of every event who must have got it, where events follow the links of a tree."""

    def __init__(
        self, history: History, network: Network, bounds: Bounds, disturbances: Iterable[Disturbance] = ()
    ) -> None:
        disturbances = tuple(disturbances)
        super().__init__(history, network, bounds, disturbances)
        self._neighbours: dict[int, list[int]] = {}
        for one, other in bounds.config.overlay.links:
            self._neighbours.setdefault(one, []).append(other)
            self._neighbours.setdefault(other, []).append(one)
        self._routing = bounds.config.routing
        self._corruptions = [each.t for each in disturbances if each.forgets]
        self._regions: dict[Spell, list[frozenset[int]]] = {}
        self._published: dict[tuple[object, ...], list[float]] = {}
        for publication in history.publications.values():
            self._published.setdefault(_kind(publication), []).append(publication.taken)

    def brokers(self, spell: Spell) -> frozenset[int]:  # noqa: ARG002 - nobody is appointed
        return frozenset()

    def regions(self, spell: Spell) -> list[frozenset[int]]:
        """The parts of a spell whose brokers are joined by links of the tree within it."""
        found = self._regions.get(spell)
        if found is None:
            found = self._regions[spell] = list(self._parts(spell.nodes))
        return found

    def _parts(self, nodes: frozenset[int]) -> Iterator[frozenset[int]]:
        left = set(nodes)
        while left:
            part, waiting = set[int](), [min(left)]
            while waiting:
                node = waiting.pop()
                part.add(node)
                waiting += [each for each in self._neighbours.get(node, ()) if each in left and each not in part]
            left -= part
            yield frozenset(part)

    def _shared_stage(self, spell: Spell, publication: Publication) -> Haven | None:
        bounds = self._bounds
        region = next(part for part in self.regions(spell) if publication.home in part)
        up, spread = self._up(spell), bounds.overlay_spread(len(region), spell.diameter)
        ready = publication.asked - spread
        if not spell.runs or spell.start + up > ready:
            return None
        if self._routing.publisher_roots and publication.home not in self._routing.publisher_roots:
            return None
        before = self._published[_kind(publication)]
        if self._routing.advertisements and not any(spell.start + up <= each <= ready for each in before):
            return None
        wait = publication.taken - ready + bounds.overlay_crossing(len(region), spell.diameter)
        return Haven(region, ready, spell.end, wait)

    def _stage(self, publication: Publication, home: int) -> Haven | None:
        haven = super()._stage(publication, home)
        return haven if haven is not None and home in haven.nodes else None

    def _with_brokers(self, publication: Publication) -> Iterable[Haven]:
        copies: dict[int, float] = {}
        for spell in self._network.spells:
            if not spell.runs or spell.end <= publication.taken:
                continue
            for region in self.regions(spell):
                held = self._held(publication, copies, spell, region)
                spread = self._bounds.overlay_spread(len(region), spell.diameter)
                ready = min(held.values(), default=math.inf) + spread
                if ready > spell.end:
                    continue
                haven = Haven(region, ready, spell.end, spread + self._bounds.session())
                yield haven
                self._copied(publication, haven, held, copies)

    def _held(
        self, publication: Publication, copies: Mapping[int, float], spell: Spell, region: frozenset[int]
    ) -> dict[int, float]:
        """The brokers of a region that surely hold the event, and since when that counts."""
        up, home = spell.start + self._up(spell), publication.home
        roots = self._routing.publisher_roots
        found = {}
        if home in region and not self._history.wiped(home, publication.asked, up):
            found[home] = max(up, publication.taken)
        for node, since in copies.items():
            if node in region and since <= up and not self._forgot(node, since, up):
                found.setdefault(node, up)
        return {node: since for node, since in found.items() if not roots or node in roots}

    def _copied(
        self, publication: Publication, haven: Haven, held: Mapping[int, float], copies: dict[int, float]
    ) -> None:
        """Whoever surely got the event had it over the brokers between."""
        expiry = publication.asked + self._bounds.shortest_life(publication.lifetime)
        for client, home in self._history.home.items():
            if home not in haven.nodes:
                continue
            for subscription in self._history.matching(client, publication):
                for told in subscription.told:
                    queued = max(haven.ready, told.start) + haven.patience
                    if queued <= min(haven.end, told.end, expiry):
                        for node in self._between(held, home):
                            copies[node] = min(copies.get(node, math.inf), queued)

    def _between(self, holders: Iterable[int], home: int) -> list[int]:
        """The brokers that lie on the way to a home from each of those that hold the event: whoever it came from."""
        ways = [set(_way(self._neighbours, holder, home)) for holder in holders]
        return sorted(set.intersection(*ways)) if ways else []

    def _up(self, spell: Spell) -> float:
        before = [t for t in self._corruptions if t <= spell.start]
        recovered = max(before, default=-math.inf) + self._bounds.overlay_recovery()
        return max(self._bounds.overlay_up(spell.diameter), recovered - spell.start)


def _kind(publication: Publication) -> tuple[object, ...]:
    """What a broker advertises of it."""
    event = publication.event
    return publication.home, event.subject, event.type, event.group


def _way(neighbours: Mapping[int, Iterable[int]], start: int, end: int) -> list[int]:
    """The nodes of a tree from `start` to `end`; none if there is no way."""
    before = {start: start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for other in neighbours.get(node, ()):
            if other not in before:
                before[other] = node
                waiting.append(other)
    way = [end] if end in before else []
    while way and way[-1] != start:
        way.append(before[way[-1]])
    return way
