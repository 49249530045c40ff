"""The memorised event table: who wants what and has it, how long, in which order, and what goes when it is full."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Event, EventId, event_id, origin_of, peek_id
from chapar.filter import Filter
from chapar.wire import decode_met_record_untrusted
from chapard.core.config import Config
from chapard.core.digest import DigestTree, hash63
from chapard.core.met import GONE_FACTOR, MET, Memory, destinations, memory_of
from chapard.core.nodevector import NodeVector

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

NODES = 8
CONFIG = Config(nodes=NODES)
NOW = 1000.0
FILTERS = (Filter(subject="a"), Filter(subject="b"), Filter(where="n > 3"))


def vector(*homes: int) -> NodeVector:
    return NodeVector.of(homes, NODES)


def event(
    chain: int, *, origin: int = 0, lifetime: float = 0, subject: str = "a", to: tuple[int, ...] = (), size: int = 0
) -> Event:
    """The memorised event with this place in its origin's chain: persistent unless it has a lifetime."""
    made = Event(
        subject=subject,
        attributes={"n": chain},
        lifetime=lifetime,
        persistent=not lifetime,
        to=to,
        payload=bytes(size),
    )
    return made.accepted(id=event_id(origin, 1, chain), chain=chain)


def memory(made: Event, *, delivered: Iterable[int] = (), wanted: Iterable[int] = (), now: float = NOW) -> Memory:
    return memory_of(made, made.encode(), made.lifetime_ms, vector(*delivered), vector(*wanted), now)


def ids(memories: Iterable[Memory]) -> list[EventId]:
    return [each.event_id for each in memories]


def id_of(chain: int, origin: int = 0) -> EventId:
    return event_id(origin, 1, chain)


# Against a model


@dataclass
class Model:
    """The table as a plain list of facts."""

    wants: dict[int, list[Filter]] = field(default_factory=dict)
    events: dict[EventId, Event] = field(default_factory=dict)
    expiry: dict[EventId, float] = field(default_factory=dict)
    wanted: dict[EventId, set[int]] = field(default_factory=dict)
    delivered: dict[EventId, set[int]] = field(default_factory=dict)

    def wanting(self, made: Event) -> set[int]:
        if made.to:
            return set(made.to)
        return {home for home, filters in self.wants.items() if any(each.matches(made) for each in filters)}

    def forget(self, gone: EventId) -> None:
        for table in (self.events, self.expiry, self.wanted, self.delivered):
            del table[gone]

    def check(self, met: MET) -> None:
        assert ids(met) == sorted(self.events)
        assert len(met) == len(self.events)
        for home in range(NODES):
            lacking = [each for each in self.events if home in self.wanted[each] - self.delivered[each]]
            assert met.pending(home) == sorted(lacking)
        tree = DigestTree()
        for each in met:
            assert set(each.wanted.indexes()) == self.wanted[each.event_id]
            assert set(each.delivered.indexes()) == self.delivered[each.event_id]
            tree.set(each.event_id, hash63(each.delivered.to_wire()))
        assert met.tree.root == tree.root
        assert met.tree.all_entries() == tree.all_entries()
        assert met.bytes == sum(len(each.encode()) for each in self.events.values())


Operation = tuple[str, int, int, set[int], int, list[Filter]]
operation: st.SearchStrategy[Operation] = st.tuples(
    st.sampled_from(["add", "add", "add", "add", "deliver", "want", "expire", "keep", "release"]),
    st.integers(1, 12),
    st.integers(0, 2),
    st.sets(st.integers(0, NODES - 1), max_size=3),
    st.sampled_from([0, 0, 5, 20]),
    st.lists(st.sampled_from(FILTERS), max_size=2),
)
operations = st.integers(0, 40).flatmap(lambda length: st.lists(operation, min_size=length, max_size=length))


@settings(max_examples=80)
@given(operations)
def test_the_table_equals_a_list_of_facts(operations: list[Operation]) -> None:
    """What is pending for a home, digests and sizes follow every add, delivery, change of filters and expiry."""
    met, model = MET(CONFIG), Model()
    now = NOW
    for kind, chain, origin, homes, lifetime, filters in operations:
        now += 1.0
        eid = id_of(chain, origin)
        if kind == "add" and eid not in met:
            to = tuple(sorted(homes)) if chain % 4 == 0 else ()
            made = event(chain, origin=origin, lifetime=lifetime, subject="ab"[chain % 2], to=to)
            added = memory(made, delivered=homes, wanted=model.wanting(made), now=now)
            assert met.add(added, now).overflow == []
            model.events[eid], model.expiry[eid] = made, now + lifetime if lifetime else inf
            model.wanted[eid], model.delivered[eid] = model.wanting(made), set(homes)
        elif kind == "deliver":
            news = met.deliver(eid, vector(*homes))
            assert set(news.indexes()) == (homes - model.delivered[eid] if eid in model.events else set())
            if eid in model.events:
                model.delivered[eid] |= homes
        elif kind == "want":
            for home in sorted(homes):
                model.wants[home] = filters
                met.want(home, partial(matches_any, filters))
            for each, made in model.events.items():
                model.wanted[each] = model.wanting(made)
        elif kind == "expire":
            over = sorted(each for each, expiry in model.expiry.items() if expiry <= now)
            assert sorted(ids(met.expire(now))) == over
            for each in over:
                model.forget(each)
        elif kind == "keep":
            gone = [each for each in sorted(model.events) if origin_of(each) != origin]
            kept = set(model.events) - set(gone)
            assert ids(met.keep_only(partial(is_among, kept))) == gone
            for each in gone:
                model.forget(each)
        elif kind == "release":
            met.release(now)
        model.check(met)


def matches_any(filters: list[Filter], made: Event) -> bool:
    return any(each.matches(made) for each in filters)


def is_among(kept: set[EventId], each: Memory) -> bool:
    return each.event_id in kept


# Delivered


Fact = tuple[int, set[int]]
facts = st.lists(st.tuples(st.integers(1, 5), st.sets(st.integers(0, NODES - 1), max_size=4)), max_size=15)


def told(facts: Iterable[Fact]) -> MET:
    """A table that heard these (event, delivered) pairs one after the other, as a broker does."""
    met = MET(CONFIG)
    for chain, homes in facts:
        if id_of(chain) in met:
            met.deliver(id_of(chain), vector(*homes))
        else:
            met.add(memory(event(chain), delivered=homes, wanted=range(NODES)), NOW)
    return met


@given(facts, st.randoms(use_true_random=False))
def test_records_merge_to_the_same_in_any_order(facts: list[Fact], rng: Random) -> None:
    """Delivered vectors merge by OR: any order of any exchanges, repeated or not, ends in the same table."""
    shuffled = [*facts, *facts[: len(facts) // 2]]
    rng.shuffle(shuffled)
    one, two = told(facts), told(shuffled)
    assert one.tree.root == two.tree.root
    for each in one:
        union = set().union(*(homes for chain, homes in facts if id_of(chain) == each.event_id))
        other = two.get(each.event_id)
        assert other is not None
        assert set(each.delivered.indexes()) == set(other.delivered.indexes()) == union
    for home in range(NODES):
        assert one.pending(home) == two.pending(home)


def test_delivered_only_grows_and_news_is_told_once() -> None:
    """A confirmation that comes again, or from a broker that knows less, takes nothing away and is no news."""
    met = told([(1, {1, 2})])
    assert met.deliver(id_of(1), vector(2, 3)) == vector(3)
    root = met.tree.root
    assert met.deliver(id_of(1), vector(1)) == vector()
    assert met.deliver(id_of(1), vector()) == vector()
    assert met.tree.root == root
    held = met.get(id_of(1))
    assert held is not None
    assert held.delivered == vector(1, 2, 3)
    assert met.deliver(id_of(9), vector(1)) == vector()


# Wanted


def test_named_destinations_stand_whatever_the_filters() -> None:
    """An event addressed to nodes is theirs until they have it; filters, their own and others', change nothing."""
    met = MET(CONFIG)
    met.add(memory(event(1, to=(2, 5)), wanted=destinations(event(1, to=(2, 5)), NODES).indexes()), NOW)
    for home in range(NODES):
        met.want(home, lambda _: True)
        met.want(7 - home, lambda _: False)
    assert [home for home in range(NODES) if met.pending(home)] == [2, 5]
    assert destinations(event(1, to=(2, 5, 900)), NODES) == vector(2, 5)


def test_a_home_that_wants_an_event_it_has_is_not_served() -> None:
    """Subscribing anew makes pending what is not delivered, and only that; unsubscribing takes it off again."""
    met = told([(1, {3}), (2, set())])
    met.want(3, lambda _: False)
    assert met.pending(3) == []
    met.want(3, lambda _: True)
    assert met.pending(3) == [id_of(2)]


# Expiry


@given(st.lists(st.integers(1, 50), max_size=10), st.integers(0, 60))
def test_an_event_goes_when_its_lifetime_is_over(lifetimes: list[int], later: int) -> None:
    """At its expiry and not before; persistent events stay; the next deadline is the next expiry."""
    met = MET(CONFIG)
    met.add(memory(event(99)), NOW)
    for chain, lifetime in enumerate(lifetimes, start=1):
        met.add(memory(event(chain, lifetime=lifetime)), NOW)
    assert met.next_deadline() == (NOW + min(lifetimes) if lifetimes else None)
    over = met.expire(NOW + later)
    expected = [id_of(chain) for chain, lifetime in enumerate(lifetimes, start=1) if lifetime <= later]
    assert sorted(ids(over)) == expected
    assert [each for each in map(id_of, range(1, 20)) if met.is_gone(each)] == expected
    assert id_of(99) in met
    rest = [lifetime for lifetime in lifetimes if lifetime > later]
    assert met.next_deadline() == (NOW + min(rest) if rest else None)


@given(st.integers(1, 10**6), st.integers(0, 2 * 10**6), st.floats(0, 10**4))
def test_lifetimes_travel_as_what_remains_of_them(lifetime_ms: int, remaining_ms: int, waited: float) -> None:
    """No exchange prolongs a life: not a claim beyond the lifetime, not rounding; and what lives has some left."""
    made = event(1, lifetime=lifetime_ms / 1000)
    held = memory_of(made, made.encode(), remaining_ms, vector(), vector(), NOW)
    assert held.expiry == NOW + min(remaining_ms, lifetime_ms) / 1000
    now = NOW + waited
    left = held.remaining_ms(now)
    assert left >= 1
    assert left == 1 or now + left / 1000 <= held.expiry + 1e-6


def test_persistent_events_ignore_expiry() -> None:
    """Whatever a peer says remains of one, it never expires, and it travels with nothing remaining."""
    made = event(1)
    held = memory_of(made, made.encode(), 5, vector(), vector(), NOW)
    assert held.expiry == inf
    assert held.remaining_ms(NOW) == 0


# Room


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([0, 5, 9, 20, 30]), st.integers(0, 2)), max_size=30), st.integers(2, 6))
def test_a_full_table_gives_up_the_next_to_expire(adds: list[tuple[int, int]], limit: int) -> None:
    """Beyond the limit the event that expires first goes, persistent ones last and oldest first."""
    met = MET(replace(CONFIG, met_events=limit, persistent_events=4))
    expiries: dict[EventId, float] = {}
    for chain, (lifetime, origin) in enumerate(adds, start=1):
        eid = id_of(chain, origin)
        evicted = met.add(memory(event(chain, origin=origin, lifetime=lifetime)), NOW + chain)
        expiries[eid] = NOW + lifetime if lifetime else inf
        discarded, overflow = [], []
        persistent = [each for each, expiry in expiries.items() if expiry == inf]
        if len(persistent) > 4:
            discarded.append(persistent[0])
            del expiries[persistent[0]]
        if len(expiries) > limit:
            overflow.append(min(expiries, key=lambda each: (expiries[each], each if expiries[each] < inf else b"")))
            del expiries[overflow[0]]
        assert ids(evicted.discarded) == discarded
        assert ids(evicted.overflow) == overflow
        assert ids(met) == sorted(expiries)
        assert all(met.is_gone(each) for each in (*discarded, *overflow))


def test_bytes_are_bounded_too() -> None:
    """Large events make room for each other by the same rule."""
    config = Config(nodes=NODES, met_bytes=64 * 1024)
    met = MET(config)
    for chain in range(1, 30):
        evicted = met.add(memory(event(chain, lifetime=100 - chain, size=10_000)), NOW)
        assert met.bytes <= config.met_bytes
        assert ids(evicted.overflow) == ([id_of(chain)] if chain > 6 else [])
    assert len(met) == 6


def test_a_smaller_limit_holds_from_the_next_event() -> None:
    """The power policy shrinks the table; the next event that comes finds the room that is left."""
    met = MET(CONFIG)
    for chain in range(1, 11):
        met.add(memory(event(chain, lifetime=chain)), NOW)
    met.limit = 3
    evicted = met.add(memory(event(11, lifetime=11)), NOW)
    assert ids(evicted.overflow) == [id_of(chain) for chain in range(1, 9)]
    assert ids(met) == [id_of(chain) for chain in (9, 10, 11)]


def test_the_fifo_of_persistent_events_is_bounded() -> None:
    """What falls off its end is the oldest here, whatever its publisher, and is known to be gone."""
    met = MET(replace(CONFIG, persistent_events=2))
    met.add(memory(event(2, origin=5)), NOW)
    met.add(memory(event(1, origin=3)), NOW)
    evicted = met.add(memory(event(1, origin=4)), NOW)
    assert ids(evicted.discarded) == [id_of(2, 5)]
    assert met.is_gone(id_of(2, 5))
    assert ids(met) == [id_of(1, 3), id_of(1, 4)]


def test_what_is_gone_is_remembered_within_bounds() -> None:
    """Enough to refuse what others still hand around, the latest first; what was handed over is not gone."""
    met = MET(replace(CONFIG, met_events=2))
    limit = GONE_FACTOR * 2
    for chain in range(1, 21):
        met.add(memory(event(chain, lifetime=1)), NOW)
        met.expire(NOW + 1)
    assert [chain for chain in range(1, 21) if met.is_gone(id_of(chain))] == list(range(21 - limit, 21))
    met.add(memory(event(30)), NOW)
    assert ids(met.keep_only(lambda _: False)) == [id_of(30)]
    assert not met.is_gone(id_of(30))
    met.add(memory(event(20, lifetime=9)), NOW + 2)
    assert not met.is_gone(id_of(20))


def test_an_event_is_memorised_once() -> None:
    """Adding what is there is a mistake of the caller."""
    met = told([(1, set())])
    with pytest.raises(AssertionError):
        met.add(memory(event(1)), NOW)


# Order


def held(met: MET, now: float) -> list[int]:
    """The places in the chain of the events that are held back."""
    return [each.event.chain for each in met if each.held_until > now]


@given(st.permutations(range(1, 8)))
def test_an_event_is_held_back_exactly_while_a_predecessor_is_missing(order: list[int]) -> None:
    """In whatever order they come: nothing waits once all before it are here, and what lacks the one before it does."""
    met = MET(CONFIG)
    here: set[int] = set()
    for chain in order:
        met.add(memory(event(chain)), NOW)
        here.add(chain)
        unbroken = {each for each in here if here >= set(range(1, each))}
        waiting = set(held(met, NOW))
        assert not waiting & unbroken
        first_missing = min(set(range(1, 9)) - here)
        assert {each for each in here if each - 1 not in here and each > first_missing} <= waiting
        assert met.is_waiting(NOW) == bool(waiting)
    assert held(met, NOW) == []


def test_an_event_behind_a_held_one_is_held_too() -> None:
    """Even if its own predecessor is there: the home it is for may not want that one, but want what is missing."""
    met = MET(CONFIG)
    for chain in (1, 3, 4):
        met.add(memory(event(chain)), NOW)
    assert held(met, NOW) == [3, 4]
    met.add(memory(event(2)), NOW)
    assert held(met, NOW) == []


def test_an_event_that_closes_a_gap_is_known_by_its_successor() -> None:
    """The next of the same publisher is here, and of nobody else."""
    met = told([(1, set()), (3, set())])
    met.add(memory(event(2, origin=1)), NOW)
    assert [met.has_successor(each) for each in met] == [False, False, False]
    met.add(memory(event(2)), NOW)
    assert [each.event.chain for each in met if met.has_successor(each)] == [1, 2]


def test_whoever_follows_an_event_that_went_while_it_was_held_is_held_as_long() -> None:
    """Its place in the chain is known, but the one before it is still missing; when that comes, nobody waits."""
    met = told([(1, set())])
    met.add(memory(event(3, lifetime=1)), NOW)
    met.expire(NOW + 1)
    met.add(memory(event(4)), NOW + 1)
    assert held(met, NOW + 1) == [4]
    assert held(met, NOW + CONFIG.order_patience) == []
    met.add(memory(event(2)), NOW + 1)
    assert held(met, NOW + 1) == []


def test_patience_for_a_predecessor_ends() -> None:
    """After `order_patience` an event is served out of order; before that it is not."""
    met = told([(1, set()), (3, set())])
    met.release(NOW + CONFIG.order_patience - 0.1)
    assert held(met, NOW) == [3]
    met.release(NOW + CONFIG.order_patience)
    assert held(met, NOW) == []


def test_nobody_waits_for_what_is_over() -> None:
    """A predecessor that has expired, or was discarded, is past; a first event has no predecessor."""
    met = MET(CONFIG)
    met.add(memory(event(1, lifetime=1)), NOW)
    met.expire(NOW + 1)
    met.add(memory(event(2)), NOW + 1)
    assert held(met, NOW + 1) == []


def test_chains_are_counted_per_publisher_and_incarnation() -> None:
    """What one origin lacks holds back no other, and a restarted origin begins a chain of its own."""
    met = told([(1, set())])
    met.add(memory(event(2, origin=1)), NOW)
    again = event(2).accepted(id=event_id(0, 2, 2), chain=2)
    met.add(memory(again), NOW)
    met.add(memory(event(2)), NOW)
    assert sorted(each.event_id for each in met if each.held_until) == sorted([id_of(2, 1), event_id(0, 2, 2)])


def test_events_are_iterated_and_pending_per_publisher_in_order() -> None:
    """Service goes through the ids, and ids of one publisher ascend as it published."""
    met = told([(3, set()), (1, set()), (2, set())])
    assert met.pending(4) == ids(met) == [id_of(1), id_of(2), id_of(3)]


# Exchange


@given(st.integers(1, 100), st.sets(st.integers(0, NODES - 1)), st.integers(0, 200))
def test_a_record_travels_with_its_body_as_it_came(lifetime: int, homes: set[int], later: int) -> None:
    """Body, delivered vector and remaining time come out as they are held; nothing of what is over, or unknown."""
    met = MET(CONFIG)
    made = event(1, lifetime=lifetime)
    met.add(memory(made, delivered=homes), NOW)
    data = met.encoded(id_of(1), NOW + later)
    assert (data is None) == (later >= lifetime)
    if data is not None:
        record = decode_met_record_untrusted(data, NODES)
        assert (record.body, peek_id(record.body)) == (made.encode(), id_of(1))
        assert NodeVector.from_wire(record.delivered, NODES) == vector(*homes)
        assert record.remaining_ms == 1000 * (lifetime - later)
    assert met.encoded(id_of(2), NOW) is None
