"""What of a session survives a restart."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapard.core.effects import Save
from chapard.core.outlet import Outlet
from chapard.core.session import Session, Waiting
from chapard.core.session_disk import SessionDisk, restored
from chapard.core.store import Store

NOW = 100.0


def body(number: int, **kind: float) -> bytes:
    return Event(subject="x", **kind).accepted(id=event_id(5, 1, number), chain=number if kind else 0).encode()  # type: ignore[arg-type]  # lifetime is a float


class Paper:
    """A session's disk, and what is on it."""

    def __init__(self) -> None:
        self.outlet = Outlet()
        self.disk = SessionDisk(Store(self.outlet))
        self.content: dict[str, bytes] = {}

    def read(self) -> list[Session]:
        for effect in self.outlet.drain():
            assert isinstance(effect, Save)
            if effect.value is None:
                self.content.pop(effect.key, None)
            else:
                self.content[effect.key] = effect.value
        return restored(self.content, NOW)


def test_a_session_comes_back_as_it_was() -> None:
    """Subscriptions, queue in order, what was given, receipts; OFF, and heard of just now."""
    paper, session = Paper(), Session("c", 0, 7, is_lasting=False)
    session.subscriptions = {1: Filter(subject="x"), 4: Filter(where="a > 1")}
    session.taken = {event_id(5, 1, 9): inf, event_id(5, 1, 10): 120.0}
    session.latest, session.unsaved = {5: event_id(5, 1, 30)}, {5}
    session.published = 12
    session.receipts.append((3, event_id(1, 1, 3), 10, True))
    paper.disk.save(session)
    for run in (
        Waiting(8, (body(8),), is_memorised=False, expiry=inf, hops=2, via="realtime", since=90.0),
        Waiting(9, (body(9, lifetime=5.0), body(10, lifetime=5.0)), True, 130.0, 0, "memorised", 91.0),  # noqa: FBT003 - is_memorised
    ):
        paper.disk.save_waiting(session, run)
    for taken, expiry in session.taken.items():
        paper.disk.save_taken(session, taken, expiry)
    paper.disk.save_latest(session)
    paper.disk.save_published(session)
    (again,) = paper.read()
    assert (again.client, again.epoch, again.is_lasting, again.is_on, again.heard) == ("c", 7, False, False, NOW)
    assert again.subscriptions == session.subscriptions
    assert (again.taken, again.latest, again.unsaved) == (session.taken, session.latest, set())
    assert (again.published, again.receipts) == (session.published, session.receipts)
    assert [(each.number, each.is_memorised, each.expiry) for each in again.queue] == [
        (8, False, inf),
        (9, True, 130.0),
        (10, True, 130.0),
    ]
    assert (again.number, again.events, again.expires, again.saved) == (10, 3, 130.0, {8, 9, 10})
    assert again.bytes == sum(len(each.bodies[0]) for each in again.queue)


def test_what_is_done_with_is_forgotten() -> None:
    """Deliveries one by one, a session with all that is its own; what was never saved costs nothing."""
    paper, session = Paper(), Session("c", 0, 7, is_lasting=True)
    session.taken = {event_id(5, 1, 9): inf}
    session.latest, session.unsaved = {5: event_id(5, 1, 30)}, {5}
    run = Waiting(1, (body(1), body(2), body(3)), is_memorised=False, expiry=inf, hops=0, via="realtime", since=1.0)
    paper.disk.forget_waiting(session, 1, 3)
    assert paper.outlet.drain() == []
    paper.disk.save(session)
    paper.disk.save_waiting(session, run)
    paper.disk.save_taken(session, event_id(5, 1, 9), inf)
    paper.disk.save_latest(session)
    paper.disk.save_published(session)
    paper.disk.forget_waiting(session, 1, 2)
    (again,) = paper.read()
    assert [each.number for each in again.queue] == [3]
    paper.disk.forget_waiting(session, 3, 1)
    paper.disk.forget(session)
    assert paper.read() == []
    assert paper.content == {}


@given(st.lists(st.integers(1, 50), max_size=6), st.integers(0, 50))
def test_what_waits_counts_as_given(waiting: list[int], mark: int) -> None:
    """Even if the mark that says so was not saved before the crash: the latest of both counts."""
    paper, session = Paper(), Session("c", 0, 7, is_lasting=True)
    if mark:
        session.latest, session.unsaved = {5: event_id(5, 1, mark)}, {5}
    paper.disk.save(session)
    paper.disk.save_latest(session)
    for number, sequence in enumerate(sorted(set(waiting)), 1):
        run = Waiting(number, (body(sequence),), is_memorised=False, expiry=inf, hops=0, via="realtime", since=1.0)
        paper.disk.save_waiting(session, run)
    (again,) = paper.read()
    latest = max([*waiting, mark])
    assert again.latest == ({5: event_id(5, 1, latest)} if latest else {})
