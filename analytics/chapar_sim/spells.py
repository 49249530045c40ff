"""The true network over time: which nodes were connected, for how long unchanged, and what could travel at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chapar_olsr.mpr import select_mprs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapar_sim.history import History
    from chapar_sim.trace import Reroute, Trace

Links = frozenset[tuple[int, int]]


class Disturbance(NamedTuple):
    """Something that befell a node without showing in the trace; it ends the spell its node is in."""

    t: float
    node: int
    until: float
    """The node does not answer until then (it was paused); `t` itself if it was only upset."""
    forgets: bool
    """What it held cannot be counted on any more (its tables were corrupted)."""


class Epoch(NamedTuple):
    """A stretch in which nothing at all changed."""

    start: float
    end: float
    links: Links
    """Directed: (a, b) if b hears a."""
    silent: frozenset[int]
    """Nodes whose daemon does not run or does not answer."""


@dataclass(frozen=True, eq=False)
class Spell:
    """A connected component that stayed as it was, from `start` to `end`."""

    start: float
    end: float
    nodes: frozenset[int]
    links: Links
    """Symmetric links, each once, the lower index first."""
    runs: bool
    """Every daemon that belongs on these nodes ran and answered throughout."""
    whole: bool
    """Every node of it is one that has chapard."""

    @property
    def is_sound(self) -> bool:
        """All of it runs chapard throughout: the network keeps its promises in it."""
        return self.runs and self.whole

    @property
    def length(self) -> float:
        return self.end - self.start

    @cached_property
    def neighbours(self) -> Mapping[int, frozenset[int]]:
        sets: dict[int, set[int]] = {node: set() for node in self.nodes}
        for a, b in self.links:
            sets[a].add(b)
            sets[b].add(a)
        return {node: frozenset(each) for node, each in sets.items()}

    @cached_property
    def diameter(self) -> int:
        """The largest number of hops between two of its nodes."""
        return max(_eccentricity(node, self.neighbours) for node in self.nodes)


def brokers_of(neighbours: Mapping[int, frozenset[int]], broker_min: int) -> frozenset[int]:
    """The brokers of one connected network by the role rules (report 3.3.4), from full knowledge of its links."""
    if len(neighbours) == 1:
        return frozenset(neighbours)
    chosen = [select_mprs(node, {near: neighbours[near] for near in neighbours[node]}) for node in sorted(neighbours)]
    relays = frozenset[int]().union(*chosen)
    if not relays:
        return frozenset(sorted(neighbours)[:broker_min])
    if len(relays) == 1:
        return relays | {min(neighbours.keys() - relays)}
    return relays


class Network:
    """All spells of a run, and the limits of what could travel in it.

    `nodes` are all indexes of the network, `plain` those that route but have no chapard. `reroutes` are the moments at
    which routing came to know something else though no link had changed: each ends the spell its node is in.
    """

    def __init__(
        self,
        trace: Trace,
        history: History,
        *,
        nodes: Iterable[int],
        plain: frozenset[int] = frozenset(),
        disturbances: Iterable[Disturbance] = (),
        reroutes: Iterable[Reroute] = (),
    ) -> None:
        self._nodes = tuple(sorted(nodes))
        self._plain = plain
        self._silences = [
            *((each.node, each.t, each.until) for each in disturbances if each.until > each.t),
            *((node, *gap) for node in self._nodes if node not in plain for gap in _gaps(history, node)),
        ]
        self._breaks: dict[float, set[int]] = {}
        """When something befell which nodes."""
        befell = [(each.t, each.node) for each in trace.nodes]
        befell += [(each.t, each.node) for each in disturbances]
        befell += [(each.t, each.node) for each in reroutes]
        for t, node in befell:
            self._breaks.setdefault(t, set()).add(node)
        self._epochs = self._cut(trace)
        self.spells = sorted(self._join(), key=lambda spell: (spell.start, min(spell.nodes)))
        self.widest = len(self._nodes) - 1
        """More hops than this no path has."""

    def earliest(self, origin: int, t: float) -> dict[int, float]:
        """When each node may first have had what `origin` had at `t`; absent if never. Any link counts, one way."""
        reached = {origin: t}
        for epoch in self._epochs:
            if epoch.end <= t:
                continue
            start = max(t, epoch.start)
            for node in _closure(reached, _followers(epoch.links)):
                reached.setdefault(node, start)
            if len(reached) == len(self._nodes):
                break
        return reached

    def latest_word(self, source: int, targets: frozenset[int], t: float) -> float:
        """The last moment at which a word of `source` could still reach one of `targets` before `t`; -1 if none."""
        reaching: set[int] = set(targets)
        for epoch in reversed(self._epochs):
            if epoch.start >= t:
                continue
            reaching |= _closure(reaching, _followers((b, a) for a, b in epoch.links))
            if source in reaching:
                return min(epoch.end, t)
        return -1.0

    def _cut(self, trace: Trace) -> list[Epoch]:
        instants = {0.0, trace.end} | {row.t for row in trace.connectivity} | self._breaks.keys()
        instants |= {t for _, start, end in self._silences for t in (start, end)}
        times = sorted(t for t in instants if 0 <= t <= trace.end)
        rows = iter([*trace.connectivity, None])
        row, links = next(rows), frozenset[tuple[int, int]]()
        epochs = []
        for start, end in pairwise(times):
            while row is not None and row.t <= start:
                links, row = row.links, next(rows)
            silent = frozenset(node for node, begin, stop in self._silences if begin <= start < stop)
            epochs.append(Epoch(start, end, links, silent))
        return epochs

    def _join(self) -> Iterable[Spell]:
        """Epochs in which a component is the same, and nothing befell its nodes, are one spell."""
        running: dict[tuple[frozenset[int], Links, bool, bool], float] = {}
        end = 0.0
        for epoch in self._epochs:
            befallen = self._breaks.get(epoch.start, set())
            going = {}
            for key in self._components(epoch):
                continued = key in running and befallen.isdisjoint(key[0])
                going[key] = running[key] if continued else epoch.start
            for key, start in running.items():
                if going.get(key) != start:
                    yield Spell(start, epoch.start, *key)
            running, end = going, epoch.end
        for key, start in running.items():
            yield Spell(start, end, *key)

    def _components(self, epoch: Epoch) -> Iterable[tuple[frozenset[int], Links, bool, bool]]:
        links = frozenset((a, b) for a, b in epoch.links if a < b and (b, a) in epoch.links)
        neighbours = _followers([*links, *((b, a) for a, b in links)])
        found: dict[int, frozenset[int]] = {}
        for node in self._nodes:
            if node not in found:
                component = frozenset(_closure([node], neighbours))
                found.update(dict.fromkeys(component, component))
        inner: dict[frozenset[int], list[tuple[int, int]]] = {component: [] for component in found.values()}
        for link in links:
            inner[found[link[0]]].append(link)
        for component, own in inner.items():
            runs = component.isdisjoint(epoch.silent)
            yield component, frozenset(own), runs, component.isdisjoint(self._plain)


def _gaps(history: History, node: int) -> Iterable[tuple[float, float]]:
    """When the node's daemon did not run."""
    last = 0.0
    for up in history.up(node):
        if up.start > last:
            yield last, up.start
        last = up.end
    if last < history.end:
        yield last, history.end


def _followers(links: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    lists: dict[int, list[int]] = {}
    for a, b in links:
        lists.setdefault(a, []).append(b)
    return lists


def _closure(start: Iterable[int], followers: Mapping[int, list[int]]) -> set[int]:
    """All nodes that can be reached from `start`."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for node in followers.get(waiting.pop(), ()):
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


def _eccentricity(start: int, neighbours: Mapping[int, frozenset[int]]) -> int:
    """Hops to the farthest node."""
    reached, ring, hops = {start}, {start}, 0
    while ring := {far for near in ring for far in neighbours[near]} - reached:
        reached |= ring
        hops += 1
    return hops
