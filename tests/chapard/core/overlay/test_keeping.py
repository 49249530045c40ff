"""Keeping: a broker on the way knows what it has, where it came from, and what is at the other ends of its links."""

from __future__ import annotations

from chapar.event import Event, EventId, event_id
from chapard.core.config import Config
from chapard.core.effects import Loss, Reason, Save
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet
from chapard.core.overlay.keeping import Keeping, Way
from chapard.core.station import Station
from chapard.core.store import Store, saved_under

HERE, NEAR, FAR = 5, 4, 6


class Broker:
    def __init__(self, **changes: int) -> None:
        self.outlet = Outlet()
        config = Config(nodes=16, **changes)  # type: ignore[arg-type]  # all numbers
        self.keeping = Keeping(Station(HERE, 1, config), self.outlet, Store(self.outlet))

    def take(
        self, number: int, link: int = NEAR, *, lifetime: float = 60, now: float = 0.0, has_waited: bool = False
    ) -> bool:
        event = Event(subject="x", lifetime=lifetime, persistent=not lifetime).accepted(id=made(number), chain=number)
        way = Way(link, 2, has_waited)
        return self.keeping.take(event, event.encode(), event.lifetime_ms, way, now) is not None

    def lacking(self, link: int, now: float = 0.0) -> list[int]:
        return [memory.event.chain for memory in self.keeping.lacking(link, now)]


def made(number: int) -> EventId:
    return event_id(1, 1, number)


def test_what_the_other_end_lacks_is_all_it_did_not_give_or_list() -> None:
    """In the order of publication, whatever the order of arrival."""
    broker = Broker()
    broker.keeping.open(NEAR)
    broker.keeping.open(FAR)
    for number in (3, 1, 2):
        assert broker.take(number)
    assert (broker.lacking(NEAR), broker.lacking(FAR)) == ([], [1, 2, 3])
    broker.keeping.at(FAR, [event_id(1, 1, 2), event_id(1, 1, 99)])
    assert broker.lacking(FAR) == [1, 3]


def test_a_link_that_begins_anew_knows_nothing() -> None:
    """Its other end may have lost its disk: it says what it holds."""
    broker = Broker()
    broker.keeping.open(NEAR)
    broker.take(1)
    broker.keeping.close(NEAR)
    broker.keeping.open(NEAR)
    assert broker.lacking(NEAR) == [1]


def test_a_listing_counts_when_it_is_whole() -> None:
    """Then what it names is there, and nothing else, whatever was believed."""
    broker = Broker()
    broker.keeping.open(FAR)
    for number in (1, 2, 3):
        broker.take(number)
    broker.keeping.at(FAR, [event_id(1, 1, 1)])
    broker.keeping.listed(FAR, [event_id(1, 1, 2)], is_whole=False)
    assert broker.lacking(FAR) == [2, 3]
    broker.keeping.listed(FAR, [event_id(1, 1, 3), event_id(1, 1, 99)], is_whole=True)
    assert broker.lacking(FAR) == [1]


def test_both_ends_believe_the_same_of_what_both_have() -> None:
    """In whatever order they learnt it, and whatever else each of them holds; a difference shows."""
    one, other = Broker(), Broker()
    one.keeping.open(NEAR)
    other.keeping.open(NEAR)
    for number in (1, 2):
        one.take(number, NEAR)
    one.take(7, FAR)
    for number in (2, 1):
        other.take(number, FAR)
    other.keeping.at(NEAR, [event_id(1, 1, 2), event_id(1, 1, 1)])
    assert one.keeping.belief(NEAR) == other.keeping.belief(NEAR) != (0, 0)
    other.keeping.met.keep_only(lambda memory: memory.event.chain == 1)
    assert one.keeping.belief(NEAR) != other.keeping.belief(NEAR)


def test_an_event_comes_once() -> None:
    """A copy over the same link is a duplicate, one over another link shows a cycle; both count as being there."""
    broker = Broker()
    broker.keeping.open(NEAR)
    broker.keeping.open(FAR)
    assert broker.take(1)
    assert not broker.take(1)
    assert not broker.take(1, FAR)
    assert (broker.outlet.drops[Reason.DUPLICATE], broker.outlet.drops[Reason.LOOP]) == (1, 1)
    assert broker.lacking(FAR) == []


def test_a_copy_that_has_waited_shows_no_cycle() -> None:
    """What this broker lost with its disk may come back from several sides."""
    broker = Broker()
    assert broker.take(1, has_waited=True)
    assert not broker.take(1, FAR, has_waited=True)
    assert (broker.outlet.drops[Reason.DUPLICATE], broker.outlet.drops[Reason.LOOP]) == (1, 0)


def test_what_was_given_up_is_not_wanted_again() -> None:
    """Whoever has it is told, at once or when it comes again; and who is told does not count it, nor sends it."""
    full, other = Broker(persistent_events=1), Broker()
    full.keeping.open(FAR)
    other.keeping.open(NEAR)
    for number in (1, 2):
        full.take(number, FAR, lifetime=0)
    assert full.keeping.notices() == {FAR: [made(1)]}
    assert full.keeping.notices() == {}
    full.take(1, FAR, lifetime=0)
    assert full.keeping.notices() == {FAR: [made(1)]}
    for number in (1, 2):
        other.take(number, NEAR, lifetime=0)
    other.keeping.given_up(NEAR, [made(1), made(99)])
    assert (other.lacking(NEAR), other.keeping.belief(NEAR)) == ([], full.keeping.belief(FAR))
    other.keeping.open(NEAR)
    assert other.lacking(NEAR) == [1, 2]


def test_what_has_expired_does_not_come_back() -> None:
    """Neither as it arrives too late, nor from an end that has kept it longer."""
    broker = Broker()
    broker.take(1, lifetime=1)
    broker.keeping.expire(2.0)
    assert not broker.take(1, now=2.0)
    assert broker.keeping.held() == []


def test_an_own_event_leaves_when_the_disk_has_it() -> None:
    """Until then nobody is told of it."""
    broker = Broker()
    broker.keeping.open(NEAR)
    event = Event(subject="x", persistent=True).accepted(id=event_id(HERE, 1, 1), chain=1)
    broker.keeping.publish(event, event.encode(), 0.0)
    assert (broker.lacking(NEAR), broker.keeping.held()) == ([], [])
    broker.keeping.settle(event_id(HERE, 1, 1))
    assert (broker.lacking(NEAR), broker.keeping.held()) == ([1], [event_id(HERE, 1, 1)])


def test_what_the_fifo_drops_is_on_record() -> None:
    """The oldest persistent event gives way, and what its clients were owed is lost."""
    broker = Broker(persistent_events=2)
    for number in (1, 2, 3):
        broker.take(number, lifetime=0)
        memory = broker.keeping.met.get(event_id(1, 1, number))
        assert memory is not None
        broker.keeping.refuse(memory)
    here = NodeVector.of([HERE], 16)
    assert Loss(event_id(1, 1, 1), here, Reason.DISCARDED) in broker.outlet.drain()
    assert list(broker.keeping.refused) == [event_id(1, 1, 2), event_id(1, 1, 3)]


def test_a_gap_in_the_chain_holds_nothing_back() -> None:
    """What passes here is what somebody wants, not all that a publisher has to say."""
    broker = Broker()
    broker.take(7)
    memory = broker.keeping.met.get(event_id(1, 1, 7))
    assert memory is not None
    assert memory.held_until == 0.0


def test_a_restart_knows_what_was_kept_and_what_is_owed() -> None:
    """Events that our clients have are theirs; the others are offered once more."""
    broker = Broker()
    for number in (1, 2):
        broker.take(number)
    broker.keeping.confirm(event_id(1, 1, 1))
    saves = [each for each in broker.outlet.drain() if isinstance(each, Save)]
    disk = {each.key: each.value for each in saves if each.value is not None}
    after = Broker()
    for _, (body, expiry, delivered, flags) in saved_under(disk, "event/"):
        after.keeping.restore(body, expiry, delivered, flags, 10.0)
    assert after.keeping.held() == [event_id(1, 1, 1), event_id(1, 1, 2)]
    assert list(after.keeping.refused) == [event_id(1, 1, 2)]
