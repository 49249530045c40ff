"""The filter mapping table: versions decide, leases age, and a match is what a brute force finds."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.event import Event
from chapar.filter import Filter
from chapar.wire import decode_fmt_record_untrusted
from chapard.core.config import Config
from chapard.core.fmt import ASK_PAUSES, ASK_SHARE, FMT, REFUSED_SHARE, Merge, filters_digest, key_of
from footprint import bytes_reached

if TYPE_CHECKING:
    from random import Random

CONFIG = Config(nodes=16)
LEASE = CONFIG.subscription_lease
NOW = 10_000.0
FILTERS = (
    Filter(),
    *(Filter(subject=name) for name in "abc"),
    *(Filter(subject="a", where=f"speed > {n}") for n in range(3)),
    Filter(type="gps", where='unit in ("m", "km")'),
)
ATTRIBUTES: tuple[dict[str, int | str], ...] = ({}, {"speed": 1}, {"speed": 5, "unit": "m"})
EVENTS = tuple(
    Event(subject=subject, type=kind, attributes=attributes)
    for subject in (None, "a", "b")
    for kind in (None, "gps")
    for attributes in ATTRIBUTES
)
homes = st.integers(0, 5)
sets = st.lists(st.sampled_from(FILTERS), unique=True, max_size=4)


class Record(NamedTuple):
    home: int
    version: int
    filters: list[Filter]


records = st.builds(Record, homes, st.integers(1, 5), sets)


def filled(records: list[Record]) -> FMT:
    fmt = FMT(CONFIG)
    for record in records:
        fmt.merge(*record, age=0, now=NOW)
    return fmt


def content(fmt: FMT) -> dict[int, tuple[int, frozenset[Filter]]]:
    known = {home: fmt.get(home) for home in fmt.homes()}
    return {home: (record.version, frozenset(record.filters)) for home, record in known.items() if record}


def check_derived(fmt: FMT) -> None:
    """What the table derives from its records is what the records say."""
    table = fmt.homes()
    assert len(fmt) == len(table)
    assert list(table) == sorted(table)
    for event in EVENTS:
        wanted = [home for home, filters in table.items() if any(each.matches(event) for each in filters)]
        assert fmt.match(event).indexes() == wanted
    fresh = filled([Record(home, version, list(filters)) for home, (version, filters) in content(fmt).items()])
    assert fmt.tree.root == fresh.tree.root
    assert fmt.tree.all_entries() == {key_of(home): version for home, (version, _) in content(fmt).items()}


# Merging


@given(st.lists(records, max_size=12), st.randoms(use_true_random=False))
def test_merging_takes_the_higher_version_in_any_order(some: list[Record], rng: Random) -> None:
    """Per home the highest version wins, of equal versions the larger digest, whatever the order and repetitions."""
    shuffled = [*some, *some]
    rng.shuffle(shuffled)
    one, two = filled(some), filled(shuffled)
    winners: dict[int, Record] = {}
    for record in some:
        best = winners.get(record.home, record)
        winners[record.home] = max(best, record, key=lambda each: (each.version, filters_digest(each.filters)))
    expected = {home: (record.version, frozenset(record.filters)) for home, record in winners.items()}
    assert content(one) == content(two) == expected
    assert one.tree.root == two.tree.root
    assert one.tree.groups() == two.tree.groups()


def given_to(target: FMT, source: FMT, now: float) -> None:
    """All records of one broker, handed to another as they travel."""
    for key in source.tree.all_entries():
        data = source.encoded(key, now)
        assert data is not None
        record = decode_fmt_record_untrusted(data, CONFIG.nodes)
        target.merge(record.home, record.version, record.filters, record.age_ms / 1000, now)


@settings(max_examples=60)
@given(st.lists(records, max_size=8), st.lists(records, max_size=8), st.lists(records, max_size=8))
def test_tables_merge_commutatively_associatively_and_idempotently(
    one: list[Record], two: list[Record], three: list[Record]
) -> None:
    """(A with B) with C, A with (B with C) and C with B with A hold the same; merging again changes nothing."""
    left = filled(one)
    given_to(left, filled(two), NOW)
    given_to(left, filled(three), NOW)
    inner = filled(two)
    given_to(inner, filled(three), NOW)
    right = filled(one)
    given_to(right, inner, NOW)
    back = filled(three)
    given_to(back, filled(two), NOW)
    given_to(back, filled(one), NOW)
    assert content(left) == content(right) == content(back)
    assert left.tree.root == right.tree.root == back.tree.root
    root = left.tree.root
    given_to(left, right, NOW)
    assert left.tree.root == root
    check_derived(left)


class Step(NamedTuple):
    """A version of one home, and how it came from the one before."""

    version: int
    base: int
    added: list[Filter]
    removed: list[Filter]
    whole: list[Filter]


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """What one home announces, version by version."""
    steps: list[Step] = []
    current: list[Filter] = []
    for version in range(1, draw(st.integers(2, 8)) + 1):
        base = version - 1
        removed = draw(st.lists(st.sampled_from(current), unique=True)) if current else []
        if removed:
            current = [each for each in current if each not in removed]
            steps.append(Step(version, base, [], removed, list(current)))
        else:
            added = draw(st.lists(st.sampled_from(FILTERS), min_size=1, max_size=3, unique=True))
            current = [*current, *(each for each in added if each not in current)]
            steps.append(Step(version, base, added, [], list(current)))
    return steps


@given(histories(), st.data())
def test_an_unsubscription_never_comes_back(history: list[Step], data: st.DataObject) -> None:
    """Steps and records may be lost, repeated and reordered: a broker holds a version exactly as its home had it."""
    fmt = FMT(CONFIG)
    truth = {step.version: frozenset(step.whole) for step in history}
    for step in data.draw(st.lists(st.sampled_from(history), max_size=20)):
        before = content(fmt).get(3, (0, frozenset()))
        as_record = data.draw(st.booleans())
        if as_record:
            merged = fmt.merge(3, step.version, step.whole, 0, NOW)
        elif step.added:
            merged = fmt.add(3, step.version, step.base, step.added, NOW)
        else:
            merged = fmt.remove(3, step.version, step.base, step.removed, NOW)
        version, filters = content(fmt).get(3, (0, frozenset()))
        assert filters == truth.get(version, frozenset())
        if merged is Merge.CHANGED:
            assert version == step.version > before[0]
        else:
            assert (version, filters) == before
            known = {0: Merge.KNOWN, 1: Merge.GAP}
            expected = Merge.STALE if step.version < version else known.get(step.version > version)
            assert merged is expected
    check_derived(fmt)


def test_a_change_to_an_unknown_version_is_a_gap() -> None:
    """A step that does not follow from what is held changes nothing and asks for the whole record."""
    fmt = FMT(CONFIG)
    a, b = FILTERS[1], FILTERS[2]
    assert fmt.add(3, 7, 6, [a], NOW) is Merge.GAP
    assert fmt.remove(3, 7, 6, [a], NOW) is Merge.GAP
    assert fmt.get(3) is None
    assert fmt.add(3, 7, 0, [a], NOW) is Merge.CHANGED
    assert fmt.add(3, 9, 8, [b], NOW) is Merge.GAP
    assert fmt.add(3, 8, 7, [b], NOW) is Merge.CHANGED
    assert fmt.remove(3, 9, 8, [a], NOW) is Merge.CHANGED
    assert fmt.add(3, 9, 8, [a], NOW) is Merge.KNOWN
    assert fmt.add(3, 8, 7, [a], NOW) is Merge.STALE
    assert fmt.merge(3, 8, [a], 0, NOW) is Merge.STALE
    assert fmt.homes() == {3: (b,)}


def test_two_copies_of_one_version_settle_on_the_larger_digest() -> None:
    """Brokers that doubt each other agree at once, and what the home then says above the doubt prevails."""
    small, large = sorted(([FILTERS[1]], [FILTERS[2]]), key=filters_digest)
    for order in ((small, large), (large, small)):
        fmt = FMT(CONFIG)
        for filters in order:
            fmt.merge(3, 7, filters, 0, NOW)
        assert fmt.homes() == {3: tuple(large)}
        assert fmt.merge(3, 8, small, 0, NOW) is Merge.CHANGED
        assert fmt.homes() == {3: tuple(small)}


def test_a_filter_counts_once() -> None:
    """A record that names a filter twice is the record that names it once, so it cannot hide behind a right digest."""
    a, b = FILTERS[1], FILTERS[2]
    fmt = FMT(CONFIG)
    fmt.merge(3, 7, [a], 0, NOW)
    assert fmt.merge(3, 7, [a, b, b], 0, NOW) is not Merge.KNOWN
    other = FMT(CONFIG)
    other.merge(3, 7, [a, b, b], 0, NOW)
    record = other.get(3)
    assert record is not None
    assert record == (7, filters_digest([a, b]), (a, b))
    assert other.add(3, 8, 7, [b, b], NOW) is Merge.CHANGED
    assert other.remove(3, 9, 8, [b], NOW) is Merge.CHANGED
    assert other.homes() == {3: (a,)}
    check_derived(other)


@given(sets, st.randoms(use_true_random=False))
def test_the_digest_of_a_set_does_not_know_its_order(filters: list[Filter], rng: Random) -> None:
    """Home and broker may hold the filters in different orders."""
    shuffled = list(filters)
    rng.shuffle(shuffled)
    assert filters_digest(filters) == filters_digest(shuffled)
    assert 0 <= filters_digest(filters) < 2**32
    smaller = filters[1:]
    assert filters_digest(smaller) != filters_digest(filters) or smaller == filters


# What is derived


class Operation(NamedTuple):
    kind: str
    home: int
    filters: list[Filter]


kinds = st.sampled_from(["merge", "merge", "add", "add", "remove", "forget", "clear", "expire"])
operation = st.builds(Operation, kinds, homes, sets)
operations = st.integers(0, 25).flatmap(lambda length: st.lists(operation, min_size=length, max_size=length))


@settings(max_examples=60)
@given(operations)
def test_matching_and_digests_follow_every_change(operations: list[Operation]) -> None:
    """After any changes a match equals a brute force over the records, and the tree equals one made from scratch."""
    fmt = FMT(CONFIG)
    now = NOW
    for kind, home, filters in operations:
        now += LEASE / 5
        held = fmt.get(home)
        version = held.version if held else 0
        if kind == "merge":
            fmt.merge(home, version + 1, filters, 0, now)
        elif kind == "add":
            fmt.add(home, version + 1, version, filters, now)
        elif kind == "remove":
            fmt.remove(home, version + 1, version, filters, now)
        elif kind == "forget":
            fmt.forget(home)
            assert fmt.get(home) is None
        elif kind == "clear":
            fmt.clear()
            assert fmt.homes() == {}
            assert fmt.next_deadline() is None
        else:
            fmt.expire(now)
        check_derived(fmt)


# Leases


def lease_end(fmt: FMT, home: int, now: float) -> float:
    """When a home is forgotten if nothing more is heard of it, as its record says."""
    data = fmt.encoded(key_of(home), now)
    assert data is not None
    return now - decode_fmt_record_untrusted(data, CONFIG.nodes).age_ms / 1000 + LEASE


@given(st.lists(st.tuples(homes, st.floats(0, LEASE)), min_size=1, max_size=20))
def test_a_home_is_forgotten_a_lease_after_it_was_last_heard_of(heard: list[tuple[int, float]]) -> None:
    """Not before, whatever renewed it, and exactly those homes are reported."""
    fmt = filled([Record(home, 1, [FILTERS[1]]) for home in range(6)])
    last = dict.fromkeys(range(6), NOW)
    now = NOW
    for home, later in heard:
        now += later
        due = sorted(each for each, at in last.items() if at + LEASE <= now)
        assert fmt.expire(now) == due
        for each in due:
            del last[each]
        fmt.renew([home, 15], now)
        if home in last:
            last[home] = now
        assert sorted(fmt.homes()) == sorted(last)
        deadline = fmt.next_deadline()
        assert (deadline is None) == (not last)
        assert deadline is None or deadline <= min(last.values()) + LEASE


@given(st.lists(st.floats(0, LEASE / 16), min_size=1, max_size=20))
def test_a_home_that_is_not_heard_of_is_asked_in_good_time(waits: list[float]) -> None:
    """From three quarters of its lease on it is named once per pause, while there are several pauses left to answer."""
    fmt = filled([Record(4, 1, [])])
    fmt.merge(3, 1, [FILTERS[1]], 0.7 * LEASE, NOW)
    silent_since = NOW - 0.7 * LEASE
    pause = ASK_SHARE * LEASE / ASK_PAUSES
    asked = -inf
    now = NOW
    for wait in waits:
        now += wait
        fmt.renew([4], now)
        fmt.expire(now)
        is_due = 3 in fmt.homes() and silent_since + ASK_SHARE * LEASE <= now and asked + pause <= now
        deadline = fmt.next_deadline()
        assert deadline is not None
        assert (deadline <= now) == is_due
        assert fmt.unheard(now) == ([3] if is_due else [])
        asked = now if is_due else asked
    assert 4 * pause <= (1 - ASK_SHARE) * LEASE


def test_asking_again_starts_with_the_next_lease() -> None:
    """A home that answered is left in peace; one that was forgotten and came back is a new one."""
    fmt = filled([Record(3, 1, [FILTERS[1]])])
    overdue = NOW + ASK_SHARE * LEASE
    assert fmt.unheard(overdue) == [3]
    fmt.renew([3], overdue)
    assert fmt.unheard(overdue + LEASE / 2) == []
    assert fmt.unheard(overdue + ASK_SHARE * LEASE) == [3]
    fmt.forget(3)
    fmt.merge(3, 1, [FILTERS[1]], ASK_SHARE * LEASE, overdue + ASK_SHARE * LEASE)
    assert fmt.unheard(overdue + ASK_SHARE * LEASE) == [3]


@given(st.floats(0, 0.8 * LEASE), st.lists(st.floats(0, 0.01 * LEASE), max_size=8))
def test_passing_a_record_on_does_not_make_it_younger(age: float, waits: list[float]) -> None:
    """From broker to broker a record keeps the moment its home was last heard of, to the millisecond."""
    now = NOW
    source = FMT(CONFIG)
    source.merge(3, 1, [FILTERS[1]], age, now)
    ends = now - age + LEASE
    for count, wait in enumerate(waits, start=1):
        now += wait
        target = FMT(CONFIG)
        given_to(target, source, now)
        assert ends - 0.002 * count <= lease_end(target, 3, now) <= ends + 1e-6
        source = target


def test_a_record_that_is_nearly_over_is_not_taken() -> None:
    """Else brokers would hand dying records to each other; and an old copy never shortens a lease."""
    fmt = FMT(CONFIG)
    limit = REFUSED_SHARE * LEASE
    assert fmt.merge(3, 1, [FILTERS[1]], limit + 1, NOW) is Merge.REFUSED
    assert fmt.merge(3, 1, [FILTERS[1]], limit, NOW) is Merge.CHANGED
    assert lease_end(fmt, 3, NOW) == NOW + LEASE - limit
    assert fmt.merge(3, 1, [FILTERS[1]], 0, NOW) is Merge.KNOWN
    assert fmt.merge(3, 2, [FILTERS[2]], 100, NOW) is Merge.CHANGED
    assert lease_end(fmt, 3, NOW) == NOW + LEASE


def test_a_stale_record_renews_nothing() -> None:
    """What an overtaken copy says of its age is not about the record that is held."""
    fmt = FMT(CONFIG)
    fmt.merge(3, 2, [FILTERS[1]], 100, NOW)
    assert fmt.merge(3, 1, [FILTERS[2]], 0, NOW) is Merge.STALE
    assert lease_end(fmt, 3, NOW) == NOW - 100 + LEASE


def test_a_home_that_routing_still_sees_is_kept_for_two_leases() -> None:
    """Its renewals may have been lost; and the deadline comes for both ends."""
    fmt = filled([Record(3, 1, [FILTERS[1]]), Record(4, 1, [FILTERS[1]])])
    assert fmt.expire(NOW + LEASE - 1, present=[3]) == []
    assert fmt.expire(NOW + LEASE, present=[3]) == [4]
    fmt.unheard(NOW + LEASE)
    deadline = fmt.next_deadline()
    assert deadline is not None
    assert NOW + LEASE < deadline <= NOW + 2 * LEASE
    assert fmt.expire(NOW + 2 * LEASE - 1, present=[3]) == []
    assert fmt.unheard(NOW + 2 * LEASE - 1) == [3]
    assert fmt.next_deadline() == NOW + 2 * LEASE
    assert fmt.expire(NOW + 2 * LEASE, present=[3]) == [3]


def test_a_clock_set_back_does_not_keep_a_lease_alive() -> None:
    """A lease renewed in what is now the future counts from now."""
    fmt = filled([Record(3, 1, [FILTERS[1]])])
    assert fmt.expire(100.0) == []
    assert fmt.expire(100.0 + LEASE) == [3]


# Bounds and records


def test_more_than_the_limits_is_refused() -> None:
    """Homes and filters of a home are bounded; what is refused changes nothing, and known homes are still served."""
    fmt = FMT(replace(CONFIG, fmt_homes=2, filters_per_home=2))
    assert fmt.merge(1, 1, FILTERS[:3], 0, NOW) is Merge.REFUSED
    assert fmt.merge(1, 1, FILTERS[:2], 0, NOW) is Merge.CHANGED
    assert fmt.add(1, 2, 1, FILTERS[2:3], NOW) is Merge.REFUSED
    assert fmt.merge(2, 1, [], 0, NOW) is Merge.CHANGED
    assert fmt.merge(3, 1, [], 0, NOW) is Merge.REFUSED
    assert fmt.merge(2, 2, FILTERS[:1], 0, NOW) is Merge.CHANGED
    assert fmt.homes() == {1: FILTERS[:2], 2: FILTERS[:1]}


@given(homes, st.integers(1, 2**62), sets, st.floats(0, 500))
def test_a_record_travels_whole(home: int, version: int, filters: list[Filter], age: float) -> None:
    """Home, version, age and filters come out as they are held; there is no record of an unknown home."""
    fmt = FMT(CONFIG)
    fmt.merge(home, version, filters, age, NOW)
    data = fmt.encoded(key_of(home), NOW)
    assert data is not None
    record = decode_fmt_record_untrusted(data, CONFIG.nodes)
    assert (record.home, record.version, list(record.filters)) == (home, version, filters)
    assert record.age_ms == pytest.approx(1000 * age, abs=1.1)
    assert record.age_ms >= 1000 * age - 1e-3
    assert fmt.encoded(key_of(home + 1), NOW) is None


def test_filters_that_are_announced_again_are_kept_once() -> None:
    """A new version that repeats filters leaves those that the table and its matcher hold: no memory is used twice."""
    fmt = FMT(CONFIG)
    fmt.merge(1, 1, [Filter(subject="a"), Filter(subject="b")], 0, NOW)
    before = fmt.homes()[1]
    fmt.merge(1, 2, [Filter(subject="c"), Filter(subject="b"), Filter(subject="a")], 0, NOW)
    after = fmt.homes()[1]
    assert after == (Filter(subject="c"), *reversed(before))
    assert after[1] is before[1]
    assert after[2] is before[0]


@pytest.mark.parametrize(("where", "most"), [("", 450), ("celsius > {}.5", 560), ("celsius > {}.5 and zone < {}", 660)])
def test_a_filter_takes_little_memory(where: str, most: int) -> None:
    """Hundreds of thousands of filters as they come over the network fit into a small computer's memory."""
    fmt, count = FMT(Config()), 2000
    empty = bytes_reached(fmt)
    sent = [Filter(subject=f"sensor/1/{n}", where=where.format(1000 + n, 9000 - n)).to_wire() for n in range(count)]
    fmt.merge(1, 1, [Filter.from_wire_untrusted(each) for each in sent], 0, NOW)
    fmt.match(Event(subject="sensor/1/77", attributes={"celsius": 1100, "zone": 5}))
    assert bytes_reached(fmt) - empty < most * count
