"""Whether events in real time went as Chapar's multicast sends them: on one tree, for no more than routes allow.

A publisher's home hands an event to its broker, unless it is one itself; from there each daemon hands it to the next
hops of the homes that want it. Of equally short ways those are taken that more homes share, so what routes alone say is
the most that it may cost. The least is one link into each home, and one at each distance up to the farthest.

While routes or brokers changed, an event may go to a daemon twice or in vain, and then nothing else is exact but this:
whoever had it was sent it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.models.multicast import event_cost
from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from chapar_audit.jobs.journeys import Journey, Way
    from chapar_audit.jobs.network import Network

JOB: Final = "traffic"
TREES: Final = "events in real time, link by link"
PRICES: Final = "an event in real time on average, against recorded routes"


class Alike(NamedTuple):
    """Events that went alike."""

    key: int
    journey: Journey
    events: int
    first_us: int
    """When the first of them was published."""
    is_calm: bool
    """Whether nothing changed while they were under way."""

    @property
    def measured(self) -> int:
        """Transmissions for each of them."""
        return sum(self.journey.times.values())


class Tree(NamedTuple):
    """What is wrong with the links that an event took, if its tree has this root."""

    root: int
    twice: Counter[Way]
    """Handed over once more than needed, by the same daemon or by another."""
    missing: frozenset[int]
    """Daemons that had it, though nobody recorded to have sent it there."""
    vain: frozenset[int]
    """Daemons that were sent it, passed it to nobody and are no home of it, unless it is missing elsewhere."""

    @property
    def surplus(self) -> int:
        return self.twice.total() + len(self.vain)

    @property
    def faults(self) -> int:
        return self.surplus + len(self.missing)


class Price(NamedTuple):
    """What routes say that an event costs."""

    least: int
    most: int
    """One transmission for each link of the union of the next-hop paths."""


class Judged(NamedTuple):
    alike: Alike
    tree: Tree
    price: Price | None
    """None where the recorded routes do not lead to all homes, or changed meanwhile."""

    @property
    def is_at_its_price(self) -> bool:
        return self.price is None or self.price.least <= self.alike.measured <= self.price.most


def judge(found: Sequence[Alike], network: Network | None, silent: AbstractSet[int]) -> list[Judged]:
    """At `silent` homes, nobody may have been given what was meant for them. Without a network, nothing has a price."""
    judged = []
    for alike in sorted(found, key=lambda each: each.first_us):
        if network is not None:
            network.until(alike.first_us)
        if not alike.is_calm:
            judged.append(Judged(alike, unsure_tree(alike.journey), None))
            continue
        tree = tree_of(alike.journey, network.brokers if network is not None else frozenset(), silent)
        worth = None if network is None else price(alike.journey, tree.root, network.next_hops)
        judged.append(Judged(alike, tree, worth))
    return judged


def tree_of(journey: Journey, brokers: AbstractSet[int], silent: AbstractSet[int]) -> Tree:
    """The tree with the fewest faults: its root is a broker at its publisher, or one that was handed it there."""
    firsts = sorted(peer for node, peer in journey.sent if node == journey.origin)
    roots = [journey.origin] if journey.origin in brokers or not firsts else firsts
    return min((_rooted(journey, root, silent) for root in roots), key=lambda tree: (tree.faults, tree.root))


def unsure_tree(journey: Journey) -> Tree:
    """What is wrong whatever changed."""
    ways = [way for way, times in journey.times.items() if times]
    has_it = {journey.origin, *(peer for _, peer in ways)}
    return Tree(journey.origin, Counter(), _that_had_it(journey, ways) - has_it, frozenset())


def _rooted(journey: Journey, root: int, silent: AbstractSet[int]) -> Tree:
    twice = Counter({way: times - 1 for way, times in journey.times.items()})
    ways = [way for way, times in journey.times.items() if times and way != (journey.origin, root)]
    came_from: dict[int, int] = {}
    for node, peer in ways:
        if peer in came_from or peer == root:
            twice[node, peer] += 1
        came_from.setdefault(peer, node)
    missing = _that_had_it(journey, ways) - {root, *came_from}
    ends = came_from.keys() - {node for node, _ in ways}
    vain = ends - journey.hops.keys() - journey.reached - silent - {root} if not missing else ()
    return Tree(root, +twice, missing, frozenset(vain))


def _that_had_it(journey: Journey, ways: Sequence[Way]) -> frozenset[int]:
    return frozenset(journey.hops.keys() | {node for node, _ in ways})


def price(journey: Journey, root: int, next_hops: Mapping[int, Mapping[int, int]]) -> Price | None:
    """None where next hops do not lead to all homes."""
    entry = int(root != journey.origin)
    homes = _homes(journey, root)
    whole = event_cost(root, homes, next_hops)
    if whole.unreached:
        return None
    at = Counter(event_cost(root, [home], next_hops).transmissions for home in homes)
    least = sum(max(1, at[hops]) for hops in range(1, max(at, default=0) + 1))
    return Price(entry + least, entry + whole.transmissions)


def _homes(journey: Journey, root: int) -> list[int]:
    """Where the tree led: to homes, among which for all we know are the ends of its branches."""
    ends = {peer for node, peer in journey.sent if (node, peer) != (journey.origin, root)}
    ends -= {node for node, _ in journey.sent}
    return sorted((journey.hops.keys() | journey.reached | ends) - {root})


# The verdict


def rows(judged: Sequence[Judged], removed: int) -> list[Finding]:
    """None without an event. `removed` rows of frames the recorders gave up."""
    return [_trees(judged, removed), _prices(judged, removed)] if judged else []


def _trees(judged: Sequence[Judged], removed: int) -> Finding:
    measured = sum(each.alike.events * each.alike.measured for each in judged)
    surplus = sum(each.alike.events * each.tree.surplus for each in judged)
    lacking = sum(each.alike.events * len(each.tree.missing) for each in judged)
    calm = sum(each.alike.events for each in judged if each.alike.is_calm)
    unsure = sum(each.alike.events for each in judged) - calm
    tolerance = f"exact for {calm} events"
    if unsure:
        tolerance += f"; {unsure} were under way while routes or brokers changed: to each who had it at least once"
    state, reason = State.HOLDS, ""
    if surplus or lacking:
        state, reason = State.DEVIATES, _reason_of_trees(judged, removed)
    elif not calm:
        state, reason = State.OPEN, "routes or brokers changed while each of the events was under way"
    return Finding(
        JOB, TREES, state, float(measured), float(measured - surplus + lacking), "transmissions", tolerance, reason
    )  # fmt: skip


def _reason_of_trees(judged: Sequence[Judged], removed: int) -> str:
    twice: Counter[Way] = Counter()
    missing: Counter[int] = Counter()
    vain: Counter[int] = Counter()
    for each in judged:
        for way, times in each.tree.twice.items():
            twice[way] += times * each.alike.events
        missing.update(dict.fromkeys(each.tree.missing, each.alike.events))
        vain.update(dict.fromkeys(each.tree.vain, each.alike.events))
    said = []
    if missing:
        node, count = missing.most_common(1)[0]
        why = "rows of whoever did are missing"
        if removed:
            why = f"recorders removed {removed} rows to keep to their budget"
        more = f" ({missing.total()} in all)" if len(missing) > 1 else ""
        said.append(f"{node} had {count} events that nobody recorded to have sent there{more}: {why}")
    if twice:
        (node, peer), count = twice.most_common(1)[0]
        more = f" ({twice.total()} in all)" if len(twice) > 1 else ""
        said.append(
            f"{node} sent {count} events to {peer} once more than needed{more}: its rows are there twice, or its "
            "neighbours' routes disagree"
        )
    if vain:
        node, count = vain.most_common(1)[0]
        said.append(
            f"{count} events ended at {node}, where no client was given them: stale interest, or rows of the way on or "
            "of deliveries are missing"
        )
    return "; ".join(said)


def _prices(judged: Sequence[Judged], removed: int) -> Finding:
    priced = [(each, each.price) for each in judged if each.price is not None]
    events = sum(each.alike.events for each, _ in priced)
    if not events:
        calm = any(each.alike.is_calm for each in judged)
        why = "routes to their homes were not recorded" if calm else "routes or brokers changed during each of them"
        return Finding(JOB, PRICES, State.OPEN, reason=why)
    measured = sum(each.alike.events * each.alike.measured for each, _ in priced) / events
    most = sum(each.alike.events * worth.most for each, worth in priced) / events
    least = sum(each.alike.events * worth.least for each, worth in priced) / events
    dear = sum(each.alike.events for each, worth in priced if each.alike.measured > worth.most)
    cheap = sum(each.alike.events for each, worth in priced if each.alike.measured < worth.least)
    said = []
    if dear:
        said.append(f"{dear} events cost more: ways longer than routes say, or rows of frames that are there twice")
    if cheap:
        why = f"recorders removed {removed} of them" if removed else "for all we know they were lost"
        said.append(f"{cheap} events cost less than any way to their homes: rows of frames are missing, {why}")
    tolerance = f"each of {events} at most the union of its next-hop paths, at least one at each distance ({least:.3g})"
    state = State.DEVIATES if said else State.HOLDS
    return Finding(JOB, PRICES, state, measured, most, "transmissions", tolerance, "; ".join(said))
