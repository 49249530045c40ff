"""Broker trees: every routing algorithm delivers what flooding delivers, and recovers from whatever went wrong.

The bound for recovery, without further losses. Brokers know their own clients' interests; that is all there is to
recover from. With the first period after the damage every broker sends again all that stands, so nothing is missing
any more, what was hidden or merged wrongly included (of hidden filters, LOOKED_AT on each link). What was received and
is not sent by its neighbour misses that refresh and the next two; the third period drops it, and each broker withdraws
at once what it had sent because of it. Merging may gather once more at each broker on the way. So all is right after
RECOVERY_PERIODS and, with merging, a `merge_delay` per link of the longest path, which the tests keep below a period
in all.

With `auto` an interest in a whole class may be received and not sent, or sent and not received, and is refreshed by the
events that it brings. Where none come it is sent again in the period after SILENCE others, and dropped after
SILENT_PERIODS, so that all is right after SILENT_PERIODS + 1.

A cut needs no period: what was learnt over the link goes with it, and comes with it again.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapar_sim.broker_tree import BrokerTree
from chapard.core.overlay.auto import Auto
from chapard.core.overlay.class_traffic import ALWAYS
from chapard.core.overlay.covering import Covering
from chapard.core.overlay.filter_class import class_of, whole
from chapard.core.overlay.interest import Change, Interest, Subscriber, Topic
from chapard.core.overlay.router import Algorithm, RouterConfig
from chapard.core.overlay.routing_table import MISSED_PERIODS, SILENT_PERIODS
from strategies.matching import random_event, random_filter

if TYPE_CHECKING:
    from chapar_sim.broker_tree import Edge

PERIOD = 10.0
MERGE_DELAY = 0.5
MAX_BROKERS = 9
RECOVERY_PERIODS = dict.fromkeys(Algorithm, MISSED_PERIODS + 1) | {Algorithm.AUTO: SILENT_PERIODS + 1}
GATHERED = MAX_BROKERS * MERGE_DELAY
NAMES = ("speed", "state", "subject")
FILTERING = [each for each in Algorithm if each not in {Algorithm.FLOODING, Algorithm.AUTO}]
SEEDS = 40


class Placed(NamedTuple):
    """A client's filter at a broker."""

    at: int
    client: Subscriber
    filter: Filter


def random_tree(rng: Random, brokers: int) -> list[Edge]:
    """Brokers 0 to `brokers` - 1, each joined to an earlier one."""
    return [(rng.randrange(index), index) for index in range(1, brokers)]


def placed(rng: Random, brokers: int, name: str, count: int) -> list[Placed]:
    """Filters at random brokers; some clients want the same."""
    filters = [random_filter(rng, NAMES) for _ in range(max(1, count // 2))]
    chosen = [(rng.randrange(brokers), rng.choice(filters)) for _ in range(count)]
    return [Placed(at, Subscriber(at, f"{name}{number}"), each) for number, (at, each) in enumerate(chosen)]


def config_of(algorithm: Algorithm, *, advertisements: bool = False) -> RouterConfig:
    return RouterConfig(
        nodes=MAX_BROKERS,
        algorithm=algorithm,
        advertisements=advertisements,
        refresh_period=PERIOD,
        merge_delay=MERGE_DELAY,
    )


class Case:
    """One tree, its clients, and events published at random brokers; the same for every algorithm."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.brokers = self.rng.randint(2, MAX_BROKERS)
        self.links = random_tree(self.rng, self.brokers)
        self.subscriptions = placed(self.rng, self.brokers, "s", self.rng.randint(1, 12))
        self.advertisements = placed(self.rng, self.brokers, "p", self.rng.randint(1, 5))
        self.standing: list[Placed] = []

    def populate(self, tree: BrokerTree, rng: Random) -> None:
        """Clients come, and some go again."""
        steps = [(tree.subscribe, each) for each in self.subscriptions]
        if tree.routers[0].config.advertisements:
            steps += [(tree.advertise, each) for each in self.advertisements]
        rng.shuffle(steps)
        for step, each in steps:
            step(*each)
            if rng.random() < 0.2:
                tree.run_until(tree.now + rng.random() * PERIOD)
                self.choose(tree, Random(len(self.standing)))
        self.standing = list(self.subscriptions)
        for each in self.subscriptions:
            if rng.random() < 0.3:
                tree.unsubscribe(*each)
                self.standing.remove(each)
        self.choose(tree, Random(self.brokers))
        tree.run_until(tree.now + GATHERED)

    def choose(self, tree: BrokerTree, rng: Random) -> None:
        """With `auto`, brokers choose at random; other algorithms leave no choice."""
        if tree.routers[0].config.algorithm is not Algorithm.AUTO:
            return
        classes = sorted({class_of(each.filter) for each in self.subscriptions}, key=str)
        for index in rng.choices(range(self.brokers), k=self.brokers):
            link = rng.choice(tree.neighbours[index])
            if link in tree.routers[index].links:
                tree.routers[index].choose(link, rng.choice(classes), tree.now, flooding=rng.random() < 0.6)
                tree.settle(index)

    def publications(self, rng: Random, *, advertised: bool) -> list[tuple[int, Event]]:
        """Random events at random brokers; with advertisements, those that a client there has advertised."""
        tried = [(rng.randrange(self.brokers), random_event(rng, NAMES[:2])) for _ in range(60)]
        if not advertised:
            return tried
        return [
            (at, event)
            for at, event in tried
            if any(each.at == at and each.filter.matches(event) for each in self.advertisements)
        ]

    def wanted(self, publications: list[tuple[int, Event]]) -> Counter[tuple[int, int]]:
        """Number of the publication, and broker: what must be delivered, by asking every filter."""
        return Counter(
            (number, at)
            for number, (_, event) in enumerate(publications)
            for at in {each.at for each in self.standing if each.filter.matches(event)}
        )


def deliveries(tree: BrokerTree, publications: list[tuple[int, Event]]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for number, (at, event) in enumerate(publications):
        tree.delivered.clear()
        tree.publish(at, event)
        found.update((number, broker) for broker, _ in tree.delivered)
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("advertisements", [False, True])
def test_every_algorithm_delivers_what_flooding_delivers(seed: int, advertisements: bool) -> None:  # noqa: FBT001
    """Deliveries are those of flooding. Events cross the same links with all that filter: merges are perfect."""
    crossings = {}
    for algorithm in Algorithm:
        case, rng = Case(seed), Random(seed + 1)
        tree = BrokerTree(case.links, config_of(algorithm, advertisements=advertisements))
        case.populate(tree, rng)
        publications = case.publications(Random(seed + 2), advertised=advertisements)
        tree.counts.clear()
        assert deliveries(tree, publications) == case.wanted(publications), algorithm
        crossings[algorithm] = tree.counts["notification"]
        assert not tree.drops
    assert len({crossings[each] for each in FILTERING}) == 1
    assert crossings[Algorithm.IDENTITY] <= crossings[Algorithm.AUTO] <= crossings[Algorithm.FLOODING]


def damage(tree: BrokerTree, case: Case, rng: Random) -> None:
    """Interests that nobody sent, and such as were sent and are missing, in what was received and what was sent."""
    known = [each.filter for each in (*case.subscriptions, *case.advertisements)]
    for index, router in tree.routers.items():
        for topic in Topic:
            for link in tree.neighbours[index]:
                for filter_ in (rng.choice(known), random_filter(rng, NAMES)):
                    ghost = rng.choice((Interest(filter_), Interest(filter_, Subscriber(0, "ghost"))))
                    if router.config.algorithm is Algorithm.AUTO and rng.random() < 0.5:
                        ghost = whole(class_of(filter_))
                    if rng.random() < 0.3:
                        router.on_interest(link, topic, Change.REFRESH, ghost, tree.now)
                    forwarding = router.plane(topic).forwarding(link)
                    if rng.random() < 0.3 and ghost not in forwarding:
                        forwarding.gained(ghost)
                        forwarding.settle()
                    if isinstance(forwarding, Auto) and rng.random() < 0.3:
                        forwarding.choose(class_of(filter_), flooding=rng.random() < 0.5)
                for interest in router.plane(topic).table.received(link):
                    if rng.random() < 0.3:
                        router.on_interest(link, topic, Change.UNSUBSCRIBE, interest, tree.now)
                for interest in tuple(router.plane(topic).sent(link)):
                    if rng.random() < 0.3 and interest in forwarding:
                        forwarding.lost(interest)
        router.drain()  # none of this was said to anybody
        for forwarding in (router.plane(topic).forwarding(link) for topic in Topic for link in tree.neighbours[index]):
            # Nor was this done by an algorithm's rules.
            for interest in [each for each in forwarding.sent if rng.random() < 0.3]:
                if isinstance(forwarding, Covering):
                    forwarding._sent.remove(interest)  # noqa: SLF001 - damage
                    forwarding._hidden.add(interest)  # noqa: SLF001 - damage
                elif isinstance(forwarding.sent, dict):
                    del forwarding.sent[interest]


def agreed(tree: BrokerTree) -> bool:
    """Whether each broker has received over each link exactly what its neighbour has sent there."""
    return all(
        set(tree.routers[link].plane(topic).sent(index)) == set(router.plane(topic).table.received(link))
        for index, router in tree.routers.items()
        for topic in Topic
        for link in router.links
    )


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("algorithm", Algorithm)
def test_any_corrupt_tables_recover(algorithm: Algorithm, seed: int) -> None:
    """After RECOVERY_PERIODS deliveries are right, and no table holds anything that is not so."""
    case, rng = Case(seed), Random(seed + 1)
    advertisements = seed % 2 == 1
    tree = BrokerTree(case.links, config_of(algorithm, advertisements=advertisements))
    case.populate(tree, rng)
    tree.run_until(tree.now + rng.random() * PERIOD)
    damage(tree, case, rng)
    tree.run_until(tree.now + RECOVERY_PERIODS[algorithm] * PERIOD + GATHERED, order=rng.shuffle)
    publications = case.publications(Random(seed + 2), advertised=advertisements)
    tree.counts.clear()
    assert deliveries(tree, publications) == case.wanted(publications)
    untouched = BrokerTree(case.links, config_of(algorithm, advertisements=advertisements))
    case.populate(untouched, Random(seed + 1))
    untouched.counts.clear()
    deliveries(untouched, publications)
    if algorithm is not Algorithm.AUTO:  # where damage may have changed a choice
        assert tree.counts["notification"] == untouched.counts["notification"]
    assert agreed(tree)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("algorithm", Algorithm)
def test_cuts_need_no_period(algorithm: Algorithm, seed: int) -> None:
    """While links are cut each part delivers to its own; when they have returned, all is as it was."""
    case, rng = Case(seed), Random(seed + 1)
    advertisements = seed % 2 == 1
    tree = BrokerTree(case.links, config_of(algorithm, advertisements=advertisements))
    case.populate(tree, rng)
    publications = case.publications(Random(seed + 2), advertised=advertisements)
    for _ in range(3):
        cut = rng.sample(case.links, rng.randint(1, len(case.links)))
        for link in cut:
            tree.cut(*link)
        tree.run_until(tree.now + GATHERED)
        part = parts(case.brokers, set(case.links) - set(cut))
        wanted = {each for each in case.wanted(publications) if part[each[1]] == part[publications[each[0]][0]]}
        assert set(deliveries(tree, publications)) == wanted
        for link in cut:
            tree.restore(*link)
        tree.run_until(tree.now + GATHERED)
        assert deliveries(tree, publications) == case.wanted(publications)
        assert agreed(tree)


def parts(brokers: int, links: set[Edge]) -> list[int]:
    """For each broker a number that it shares with those it is connected to."""
    part = list(range(brokers))
    for _ in range(brokers):
        for one, other in links:
            part[one] = part[other] = min(part[one], part[other])
    return part


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("algorithm", Algorithm)
def test_lost_messages_are_made_good(algorithm: Algorithm, seed: int) -> None:
    """However many messages were lost on links, deliveries are right RECOVERY_PERIODS after the last loss."""
    case, rng = Case(seed), Random(seed + 1)
    advertisements = seed % 2 == 1
    tree = BrokerTree(case.links, config_of(algorithm, advertisements=advertisements))
    tree.loses = lambda _message: rng.random() < 0.4
    case.populate(tree, rng)
    tree.run_until(tree.now + 5 * PERIOD)
    tree.loses = None
    tree.run_until(tree.now + RECOVERY_PERIODS[algorithm] * PERIOD + GATHERED, order=rng.shuffle)
    publications = case.publications(Random(seed + 2), advertised=advertisements)
    assert deliveries(tree, publications) == case.wanted(publications)
    assert agreed(tree)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_missed_while_brokers_choose_anew(seed: int) -> None:
    """With `auto`, between any two events some brokers have classes flooded, or no more, and clients come and go."""
    case, rng = Case(seed), Random(seed + 1)
    advertisements = seed % 2 == 1
    tree = BrokerTree(case.links, config_of(Algorithm.AUTO, advertisements=advertisements))
    case.populate(tree, rng)
    for number, publication in enumerate(case.publications(Random(seed + 2), advertised=advertisements)):
        case.choose(tree, rng)
        turned = case.subscriptions[number % len(case.subscriptions)]
        if turned in case.standing:
            tree.unsubscribe(*turned)
            case.standing.remove(turned)
        else:
            tree.subscribe(*turned)
            case.standing.append(turned)
        tree.run_until(tree.now + rng.random() * PERIOD / 2)
        assert deliveries(tree, [publication]) == case.wanted([publication])
        assert agreed(tree)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_corrupt_choices_recover_while_events_flow(seed: int) -> None:
    """An event of one class may be taken for a sign of another: whole classes are sent again every ALWAYS periods."""
    case, rng = Case(seed), Random(seed + 1)
    advertisements = seed % 2 == 1
    tree = BrokerTree(case.links, config_of(Algorithm.AUTO, advertisements=advertisements))
    case.populate(tree, rng)
    tree.loses = lambda _message: rng.random() < 0.3
    damage(tree, case, rng)
    tree.run_until(tree.now + 2 * PERIOD)
    tree.loses = None
    publications = case.publications(Random(seed + 2), advertised=advertisements)
    for _ in range(ALWAYS + 1):
        tree.run_until(tree.now + PERIOD, order=rng.shuffle)
        deliveries(tree, publications[:4])
    assert deliveries(tree, publications) == case.wanted(publications)
    tree.run_until(tree.now + RECOVERY_PERIODS[Algorithm.AUTO] * PERIOD)
    assert agreed(tree)


@pytest.mark.parametrize("algorithm", [Algorithm.IDENTITY, Algorithm.COVERING, Algorithm.MERGING, Algorithm.AUTO])
def test_two_lost_refreshes_do_no_harm(algorithm: Algorithm) -> None:
    """An interest outlives MISSED_PERIODS lost refreshes: its deliveries go on, and nobody is told anything."""
    tree = BrokerTree([(0, 1), (1, 2)], config_of(algorithm))
    tree.subscribe(2, Subscriber(2, "s"), Filter(subject="a"))
    tree.run_until(1.5 * PERIOD)
    tree.counts.clear()
    tree.loses = lambda message: message.sender == 2
    tree.run_until(tree.now + MISSED_PERIODS * PERIOD)
    tree.loses = None
    assert tree.counts == {"refresh": 2 * MISSED_PERIODS}
    assert deliveries(tree, [(0, Event(subject="a"))]) == {(0, 2): 1}
    tree.loses = lambda message: message.sender == 2
    tree.run_until(tree.now + (MISSED_PERIODS + 1) * PERIOD)
    assert deliveries(tree, [(0, Event(subject="a"))]) == {}
