"""Each rule with a trace that breaks it, and its near misses that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chapar.event import event_id
from chapar_sim.bounds import Bounds
from chapar_sim.checkers import RULES, judge, limits, matching, memorised, once, order, realtime
from chapar_sim.spells import Disturbance
from chapar_sim.tablecheck import tables
from tracebook import BOUNDS, QUICK, Tracebook

if TYPE_CHECKING:
    from chapar_sim.checkers import Rule

LONG = 1000.0


def verdict(rule: Rule, book: Tracebook) -> list[str]:
    return [violation.what for violation in rule(book.case())]


def pair(*, end: float = LONG) -> Tracebook:
    """Two neighbours; the client of 2 wants everything."""
    return Tracebook(nodes=2, end=end).chain().wants(0, 2)


def test_a_good_run_breaks_no_rule() -> None:
    """A plain run with all classes of events passes every rule, and violations come sorted by time."""
    book = pair()
    for t, lifetime in ((100, 0.0), (200, 300.0), (300, 0.0)):
        book.deliver(t + 1, 2, book.publish(t, 1, lifetime=lifetime))
    for node in (1, 2):
        book.look(node, fmt={2: {"*"}})
    assert judge(book.case()) == []
    bad = pair()
    bad.publish(500, 1)
    bad.publish(100, 1, lifetime=300)
    found = judge(bad.case())
    assert [each.rule for each in found] == ["memorised", "realtime"]
    assert found == sorted(found, key=lambda each: each.t)


def test_every_rule_is_applied() -> None:
    """The judge applies the seven rules, each under its own name."""
    assert [rule.__name__ for rule in RULES] == [
        "once", "order", "matching", "memorised", "realtime", "tables", "limits",
    ]  # fmt: skip


# once


def test_once_sees_an_application_that_got_an_event_twice() -> None:
    """Twice to one client is a violation, reported once; once to each of two clients is not."""
    book = Tracebook(nodes=2, end=LONG).chain()
    id_ = book.publish(10, 1)
    book.deliver(11, 1, id_).deliver(11, 2, id_)
    assert verdict(once, book) == []
    assert len(verdict(once, book.deliver(12, 2, id_).deliver(13, 2, id_))) == 1


def test_once_sees_a_home_that_repeats_an_event_in_one_life() -> None:
    """A new number for an old event within one life of its daemon is a violation; the next may serve it again."""
    book = pair()
    id_ = book.publish(10, 1, lifetime=60)
    book.hand(11, 2, id_, incarnation=1, number=1).hand(40, 2, id_, incarnation=2, number=1)
    assert verdict(once, book) == []
    assert len(verdict(once, book.hand(50, 2, id_, incarnation=2, number=2))) == 1


# order


@pytest.mark.parametrize("lifetime", [0.0, 500.0])
def test_order_sees_an_event_after_its_successor(lifetime: float) -> None:
    """In a settled network the older of two events comes first, in each class."""
    book = pair()
    older, newer = book.publish(100, 1, lifetime=lifetime), book.publish(101, 1, lifetime=lifetime)
    book.deliver(102, 2, newer)
    assert verdict(order, book) == []
    assert len(verdict(order, book.deliver(103, 2, older))) == 1


def test_order_is_promised_per_class_and_publisher() -> None:
    """Real-time events may overtake memorised ones, and one publisher's events another's."""
    book = Tracebook(nodes=3, end=LONG).chain().wants(0, 2)
    kept, other, quick = book.publish(100, 1, lifetime=500), book.publish(101, 3), book.publish(102, 1)
    book.deliver(103, 2, quick, other).deliver(104, 2, kept)
    assert verdict(order, book) == []


def test_order_forgives_what_a_young_subscription_brings() -> None:
    """Older events that only a new subscription asks for may come after newer ones; not if it has long stood."""
    for since, violations in ((119.0, 0), (50.0, 1)):
        book = Tracebook(nodes=2, end=LONG).chain()
        book.wants(0, 2, 'subject = "new"').wants(since, 2, 'subject = "old"', number=2)
        older = book.publish(100, 1, lifetime=500, subject="old")
        newer = book.publish(110, 1, lifetime=500, subject="new")
        book.deliver(120, 2, newer).deliver(125, 2, older)
        assert len(verdict(order, book)) == violations


def test_order_forgives_what_was_elsewhere() -> None:
    """An event that came with a carrier after its successor had come directly is late for a reason."""
    book = Tracebook(nodes=3, end=LONG).links(0, (1, 2)).links(100, (1, 3)).links(300, (1, 3), (2, 3)).wants(0, 3)
    older, newer = book.publish(99, 1, lifetime=900), book.publish(101, 1, lifetime=900)
    book.deliver(103, 3, newer).deliver(310, 3, older)
    assert verdict(order, book) == []


def test_order_does_not_forgive_an_overdue_event() -> None:
    """Once a home must have had the older event, a newer one before it is out of order."""
    book = Tracebook(nodes=3, end=LONG).links(0, (1, 2)).links(100, (1, 3)).links(300, (1, 3), (2, 3)).wants(0, 3)
    older, newer = book.publish(99, 1, lifetime=900), book.publish(400, 1, lifetime=500)
    assert len(verdict(order, book.deliver(401, 3, newer).deliver(402, 3, older))) == 1


def test_order_of_realtime_events_forgives_only_a_lost_disk() -> None:
    """A home that lost its disk between two real-time events has forgotten which came first."""
    book = pair()
    older, newer = book.publish(100, 1), book.publish(101, 1)
    book.deliver(102, 2, newer).deliver(110, 2, older)
    assert len(verdict(order, book)) == 1
    book.daemon(105, 2, up=False, disk=False).daemon(106, 2, up=True)
    assert verdict(order, book) == []


# matching


def test_matching_sees_an_event_nobody_asked_for() -> None:
    """An event that no subscription asks for must not reach the client; one that does, must match in all its parts."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(0, 2, 'subject = "s" and sender = 1')
    book.deliver(101, 2, book.publish(100, 1))
    assert verdict(matching, book) == []
    book.deliver(201, 2, book.publish(200, 1, subject="t"))
    book.deliver(301, 2, book.publish(300, 2))
    assert len(verdict(matching, book)) == 2


def test_matching_allows_for_an_end_under_way() -> None:
    """An event published just after a subscription ended may be in flight, or wait for the client at its home."""
    book = pair().leaves(200, 2)
    book.deliver(202, 2, book.publish(201, 1))
    assert verdict(matching, book) == []
    book.deliver(231, 2, book.publish(230, 1))
    assert len(verdict(matching, book)) == 1
    away = pair().presence(190, 2, on=False).leaves(200, 2).presence(400, 2, on=True)
    away.deliver(400, 2, away.publish(300, 1))
    assert verdict(matching, away) == []
    away.deliver(431, 2, away.publish(430, 1))
    assert len(verdict(matching, away)) == 1


def test_matching_sees_an_event_from_before_the_subscription_is_fine_but_not_its_reverse() -> None:
    """A subscription made after the delivery does not excuse it; one made before the delivery does."""
    book = Tracebook(nodes=2, end=LONG).chain().wants(200, 2)
    book.deliver(210, 2, book.publish(100, 1, lifetime=500))
    assert verdict(matching, book) == []
    book.deliver(199, 2, book.publish(101, 1, lifetime=500))
    assert len(verdict(matching, book)) == 1


def test_matching_sees_a_wrong_address() -> None:
    """An event addressed to other nodes must not come, whatever was asked for."""
    book = Tracebook(nodes=3, end=LONG).chain().wants(0, 2).wants(0, 3)
    id_ = book.publish(100, 1, to=(3,))
    assert verdict(matching, book.deliver(101, 3, id_)) == []
    assert len(verdict(matching, book.deliver(101, 2, id_))) == 1


def test_matching_sees_an_expired_event() -> None:
    """Lifetimes hold, but for the time of transit."""
    book = pair()
    id_ = book.publish(100, 1, lifetime=10)
    latest = 100 + BOUNDS.session() + BOUNDS.longest_life(10, 1)
    assert verdict(matching, book.deliver(latest - 0.1, 2, id_)) == []
    assert len(verdict(matching, book.deliver(latest + 0.1, 2, id_))) == 1


def test_matching_sees_an_event_from_nowhere() -> None:
    """What no home accepted cannot arrive, unless its home lost its disk with the receipt, or it may be forged."""
    book = pair()
    book.deliver(101, 2, event_id(1, 1, 77))
    assert len(verdict(matching, book)) == 1
    assert list(matching(replace(book.case(), forged_from=100.0))) == []
    assert len(list(matching(replace(book.case(), forged_from=102.0)))) == 1
    book.daemon(100, 1, up=False, disk=False)
    assert verdict(matching, book) == []


# memorised


@pytest.mark.parametrize("persistent", [False, True])
def test_memorised_sees_a_lost_event(*, persistent: bool) -> None:
    """A memorised event that could have arrived and did not is a violation; delivered, it is not."""
    book = pair()
    id_ = book.publish(100, 1, lifetime=0 if persistent else 600, persistent=persistent)
    assert len(verdict(memorised, book)) == 1
    assert verdict(memorised, book.deliver(900, 2, id_)) == []


def test_memorised_forgives_bounds_and_nothing_else() -> None:
    """A full queue at its home or a full table excuses a loss; a dead hop, or a full queue elsewhere, does not."""
    for node, reason, violations in (
        (2, "queue_full", 0), (1, "queue_full", 1), (1, "table_full", 0), (1, "discarded", 0), (1, "hop_dead", 1),
    ):  # fmt: skip
        book = pair()
        book.lose(101, node, book.publish(100, 1, lifetime=600), (node,), reason)
        assert len(verdict(memorised, book)) == violations


def test_memorised_leaves_alone_what_could_not_arrive() -> None:
    """An event that expired before the partition healed is nobody's fault."""
    book = Tracebook(nodes=2, end=LONG).links(0).links(200, (1, 2)).wants(0, 2)
    book.publish(100, 1, lifetime=90)
    assert verdict(memorised, book) == []


# realtime


def test_realtime_sees_a_silent_loss() -> None:
    """A reachable subscriber gets the event or a loss is on record that names its home."""
    book = pair()
    id_ = book.publish(200, 1)
    assert len(verdict(realtime, book)) == 1
    assert len(verdict(realtime, book.lose(203, 1, id_, (7,), "hop_dead"))) == 1
    assert verdict(realtime, book.lose(203, 1, id_, (2,), "hop_dead")) == []


def test_realtime_knows_losses_before_the_homes_are_known() -> None:
    """A home that found no broker cannot say who lost by it; a subscriber's home that drops an event names itself."""
    early, late = pair(), pair()
    early.lose(203, 1, early.publish(200, 1), (), "no_broker")
    late.lose(203, 2, late.publish(200, 1), (2,), "late")
    assert verdict(realtime, early) == verdict(realtime, late) == []


def test_realtime_leaves_alone_who_was_not_reachable() -> None:
    """A subscriber beyond a cut, or beyond a link that works one way only, is owed nothing."""
    book = Tracebook(nodes=2, end=LONG).links(0, one_way=((1, 2),)).wants(0, 2)
    book.publish(200, 1)
    assert verdict(realtime, book) == []


# tables


def settled(**fmt: set[str]) -> Tracebook:
    """A chain of three in which 1 wants a, 3 wants b; node 2 and its replica 1 are brokers and hold these filters."""
    book = Tracebook(nodes=3, end=LONG).chain().wants(0, 1, 'subject = "a"').wants(0, 3, 'subject = "b"')
    table = {int(home[1:]): texts for home, texts in fmt.items()}
    return book.look(1, fmt=table).look(2, fmt=table).look(3, is_broker=False)


def test_tables_that_are_right() -> None:
    """The homes' filters and nothing else; a filter may be hidden by one of the same home that covers it."""
    assert verdict(tables, settled(h1={'subject = "a"'}, h3={'subject = "b"'})) == []
    covered = settled(h1={'subject = "a"'}, h3={"*"}).wants(10, 3, number=2)
    assert verdict(tables, covered) == []


def test_tables_that_lack_a_filter() -> None:
    """Both brokers are found out."""
    assert len(verdict(tables, settled(h1={'subject = "a"'}))) == 2


def test_tables_with_a_filter_that_nobody_asked_for() -> None:
    """Neither a filter of another home nor one that ended stays in the tables."""
    wrong = settled(h1={'subject = "a"'}, h2={'subject = "a"'}, h3={'subject = "b"'})
    assert len(verdict(tables, wrong)) == 2
    ended = settled(h1={'subject = "a"'}, h3={'subject = "b"'}).leaves(500, 1, 'subject = "a"')
    assert len(verdict(tables, ended)) == 2
    fresh = settled(h1={'subject = "a"'}, h3={'subject = "b"'}).leaves(LONG - 3, 1, 'subject = "a"')
    assert verdict(tables, fresh) == []


def test_tables_need_the_stated_time() -> None:
    """Right after a change nothing is asked of the tables; after the bound, everything."""
    for age, violations in ((BOUNDS.tables(2) - 1, 0), (BOUNDS.tables(2) + BOUNDS.session() + 1, 2)):
        book = settled(h1={'subject = "a"'}, h3={'subject = "b"'}).wants(LONG - age, 2)
        assert len(verdict(tables, book)) == violations


def test_tables_keep_an_absent_home_for_the_lease() -> None:
    """The filters of a home that left stand for the lease, and not much longer."""
    lease = BOUNDS.lease() + BOUNDS.tables(1)
    for gone, violations in ((LONG - lease + 1, 0), (LONG - lease - 1, 2)):
        book = Tracebook(nodes=3, end=LONG).chain().links(gone, (1, 2)).wants(0, 3)
        book.look(1, fmt={3: {"*"}}).look(2, fmt={3: {"*"}}).look(3, fmt={3: {"*"}})
        assert len(verdict(tables, book)) == violations


def test_tables_may_believe_a_corruption_for_the_lease() -> None:
    """A home that corrupted tables made up is forgotten like one that left."""
    lease = BOUNDS.lease() + BOUNDS.tables(1)
    for t, violations in ((LONG - lease + 1, 0), (LONG - lease - 1, 2)):
        book = Tracebook(nodes=2, end=LONG).chain().look(1, fmt={9: {"*"}}).look(2, fmt={9: {"*"}})
        book.disturbances = [Disturbance(t, 1, t, forgets=True)]
        assert len(verdict(tables, book)) == violations


def test_tables_of_memory_agree() -> None:
    """All brokers of a network hold the same living events, with the same homes served."""
    for left, right, violations in (
        ({1, 3}, {1, 3}, 0), ({1, 3}, {1}, 1), ({1}, None, 1),
    ):  # fmt: skip
        book = Tracebook(nodes=3, end=LONG).chain()
        id_ = book.publish(100, 1, persistent=True)
        old = book.publish(100, 1, lifetime=10)
        book.look(1, met={id_: left, old: set()}).look(2, met={} if right is None else {id_: right})
        assert len(verdict(tables, book)) == violations


def test_tables_of_memory_know_who_was_served() -> None:
    """A home whose client has long had an event is known to have it; one that got it just now need not be."""
    for t, violations in ((500.0, 1), (LONG - 1, 0)):
        book = Tracebook(nodes=3, end=LONG).chain().wants(0, 3)
        id_ = book.publish(100, 1, persistent=True)
        book.deliver(t, 3, id_)
        for node in (1, 2):
            book.look(node, fmt={3: {"*"}}, met={id_: {1}})
        assert len(verdict(tables, book)) == violations


def test_tables_need_brokers() -> None:
    """A node that the role rules make a broker and that is none leaves its network without tables."""
    book = Tracebook(nodes=3, end=LONG).chain().look(1).look(2, is_broker=False)
    assert verdict(tables, book) == ["node 2 should be a broker of [1, 2, 3] and is not"]


# limits


def test_limits_see_a_table_that_overflows() -> None:
    """A table may be full but not fuller."""
    assert verdict(limits, pair().look(1, sizes={"met": (10, 10)})) == []
    assert len(verdict(limits, pair().look(1, sizes={"met": (11, 10), "fmt": (1, 10)}))) == 1


def test_bounds_grow_with_the_network() -> None:
    """On a lossy link the same silence is not yet a violation: patience is a function of the network."""
    age = BOUNDS.tables(2) + BOUNDS.session() + 1
    book = settled(h1={'subject = "a"'}, h3={'subject = "b"'}).wants(LONG - age, 2)
    book.bounds = Bounds(QUICK, loss=0.2)
    assert verdict(tables, book) == []
