"""The filters of a home: what is announced covers exactly what is wanted, and nothing twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from chapar.filter import Constraint, Filter, Op
from chapard.core.config import Config
from chapard.core.fmt import FMT, Merge, filters_digest
from chapard.core.interests import COUNTER_BITS, MAX_VERSION, Announcement, Interests
from strategies.values import constraints_on

CONFIG = Config(nodes=4)
HOME = 2
PINNED = Filter(where='subject >= "a" and subject <= "a"')
CONTRADICTION = Filter(subject="b", where="speed > 2 and speed < 1")

subjects = constraints_on("subject", st.just(1), st.sampled_from(["a", "b", "ab"]))
speeds = constraints_on("speed", st.sampled_from([1, 2]), st.just("x"))
filters = st.one_of(
    st.sampled_from([Filter(), Filter(subject="a"), Filter(subject="b"), PINNED, CONTRADICTION]),
    st.lists(st.one_of(subjects, speeds), max_size=2).map(Filter.of),
    st.sampled_from(["a", "b"]).flatmap(
        lambda subject: speeds.map(lambda speed: Filter.of([Constraint("subject", Op.EQ, subject), speed]))
    ),
)
Change = tuple[bool, int, Filter]
change: st.SearchStrategy[Change] = st.tuples(st.booleans(), st.integers(0, 30), filters)
changes = st.integers(0, 25).flatmap(lambda length: st.lists(change, min_size=length, max_size=length))


def replay(fmt: FMT, announcements: list[Announcement]) -> None:
    """Hand announcements to a broker, each of which must follow from the one before."""
    for step in announcements:
        assert bool(step.added) != bool(step.removed)
        if step.added:
            assert fmt.add(HOME, step.version, step.base, step.added, 0.0) is Merge.CHANGED
        else:
            assert fmt.remove(HOME, step.version, step.base, step.removed, 0.0) is Merge.CHANGED


def check_reduced(announced: tuple[Filter, ...], wanted: set[Filter]) -> None:
    """An antichain under covering, of wanted filters, that covers all of them."""
    assert set(announced) <= wanted
    assert len(set(announced)) == len(announced)
    for one in announced:
        assert not any(one.covers(other) for other in announced if other != one)
    for each in wanted:
        assert any(one.covers(each) for one in announced)


@settings(max_examples=200)
@given(changes)
@example([(True, 0, Filter(subject="a")), (True, 0, PINNED)])
@example([(True, 0, PINNED), (True, 0, Filter(subject="a")), (False, 1, Filter())])
@example([(True, 0, Filter(subject="a")), (True, 0, CONTRADICTION)])
@example([(True, 0, CONTRADICTION), (True, 0, Filter(subject="a")), (False, 0, Filter())])
def test_the_announced_set_is_an_antichain_that_covers_what_is_wanted(changes: list[Change]) -> None:
    """After any changes of any clients, what a broker has replayed is what is announced, reduced and complete."""
    interests = Interests(incarnation=1)
    fmt = FMT(CONFIG)
    wanted: Counter[Filter] = Counter()
    for is_new, place, filter_ in changes:
        before = interests.version
        held = sorted(wanted.elements(), key=str)
        if is_new or not held:
            wanted[filter_] += 1
            announcements = interests.add(filter_)
        else:
            gone = held[place % len(held)]
            wanted[gone] -= 1
            wanted += Counter()
            announcements = interests.remove(gone)
        replay(fmt, announcements)
        check_versions(before, interests.version, announcements)
        check_reduced(interests.announced(), set(wanted))
        assert set(fmt.homes().get(HOME, ())) == set(interests.announced())
        record = fmt.get(HOME)
        assert (record[:2] if record else (0, 0)) == (interests.version, interests.digest)
        assert len(interests) == len(wanted)


def check_versions(before: int, after: int, announcements: list[Announcement]) -> None:
    """Each announcement is based on the version before it and raises it by one; the first also enters the range."""
    for step in announcements:
        assert step.base == before
        assert step.version == max(before, 1 << COUNTER_BITS) + 1
        before = step.version
    assert before == after


@given(changes, filters)
def test_no_version_lacks_a_filter_that_is_wanted_throughout(changes: list[Change], last: Filter) -> None:
    """What comes is announced before what goes, so brokers miss no event between two announcements."""
    interests = Interests(incarnation=1)
    fmt = FMT(CONFIG)
    for _, _, filter_ in changes:
        replay(fmt, interests.add(filter_))
    wanted = {filter_ for _, _, filter_ in changes}
    staying = wanted - {last}
    assume(staying)
    for step in interests.remove(last) if last in wanted else interests.add(last):
        replay(fmt, [step])
        held = fmt.homes()[HOME]
        assert all(any(one.covers(each) for one in held) for each in staying)


def test_equal_filters_of_several_clients_count_once() -> None:
    """Only the first client that wants a filter, and the last that no longer does, is news."""
    interests = Interests(1)
    assert len(interests.add(Filter(subject="a"))) == 1
    assert interests.add(Filter(subject="a")) == []
    assert interests.remove(Filter(subject="a")) == []
    (gone,) = interests.remove(Filter(subject="a"))
    assert gone.removed == (Filter(subject="a"),)
    assert interests.announced() == ()


def test_what_a_covering_filter_hid_is_announced_when_it_leaves() -> None:
    """A covered filter is no news while the covering one stands; afterwards it is, before the other goes."""
    narrow, wide = Filter(subject="a", where="speed > 3"), Filter(subject="a")
    interests = Interests(1)
    interests.add(narrow)
    come, go = interests.add(wide)
    assert (come.added, go.removed) == ((wide,), (narrow,))
    assert interests.add(Filter(subject="a", where="speed > 5")) == []
    come, go = interests.remove(wide)
    assert (come.added, go.removed) == ((narrow,), (wide,))
    assert interests.announced() == (narrow,)


@given(st.lists(filters, max_size=12), st.integers(1, 2**40))
def test_a_restart_restores_what_stood_under_its_version(wanted: list[Filter], version: int) -> None:
    """The reduced set comes back under the version it had; the next change starts in the incarnation's own range."""
    interests = Interests(incarnation=3, version=version)
    interests.restore(wanted)
    assert interests.version == version
    check_reduced(interests.announced(), set(wanted))
    assert interests.digest == filters_digest(interests.announced())
    assert len(interests) == len(set(wanted))
    for each in wanted:
        interests.remove(each)
    assert interests.announced() == ()
    (step,) = interests.add(Filter(subject="new"))
    assert step.version > max(version, 3 << COUNTER_BITS)


def test_versions_of_a_later_incarnation_lie_above_those_of_an_earlier() -> None:
    """Even a home that lost its disk is believed: its first announcement is above all that it ever made."""
    earlier = Interests(incarnation=7)
    for n in range(100):
        earlier.add(Filter(subject=str(n)))
    later = Interests(incarnation=8)
    (step,) = later.add(Filter(subject="a"))
    assert step.version > earlier.version
    assert step.base == 0


@given(st.integers(0, 2**63 - 1))
@example(4)
@example(5)
@example(6)
@example(MAX_VERSION - 1)
@example(MAX_VERSION)
def test_a_home_goes_above_whoever_contradicts_it(version: int) -> None:
    """Of its own version, or of a higher one that is not absurd; a lower one is merely old."""
    interests = Interests(incarnation=1, version=5)
    interests.contradicted(version)
    assert interests.version == (version + 1 if 5 <= version < MAX_VERSION else 5)
