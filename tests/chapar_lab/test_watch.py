"""What is seen of a daemon from outside; the daemon is a set of pages."""

from __future__ import annotations

import asyncio
from typing import Any

from chapar.event import event_id
from chapar.filter import Filter
from chapar_lab.watch import Watch, in_order
from chapar_sim.trace import RecordedLoss, Reroute, Snapshot, Trace

FIRST, SECOND = event_id(1, 1_700_000_000, 1), event_id(1, 1_700_000_000, 2)


class Daemon:
    """The pages of node 3, and which were asked for."""

    index = 3

    def __init__(self) -> None:
        self.is_up = True
        self.asked: list[str] = []
        self.losses: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {
            "node": {"incarnation": 1_700_000_000},
            "role": {"role": "broker", "broker": 3},
            "routes": {"version": 5},
            "losses": {},
            "drops": {},
            "sizes": {"met": [2, 100]},
        }
        self.pages: dict[str, dict[str, Any]] = {
            "fmt": {"homes": [{"home": 2, "filters": ['subject = "a"']}]},
            "met": {"events": [{"id": "1.1700000000.1", "delivered": [2, 4]}]},
        }

    async def status(self, part: str = "") -> dict[str, Any] | None:
        self.asked.append(part)
        if not self.is_up:
            return None
        if part == "losses":
            return {"total": len(self.losses), "losses": list(reversed(self.losses))}
        return self.pages[part] if part else self.summary

    def lose(self, sequence: int, seconds_ago: float) -> None:
        number = len(self.losses) + 1
        text = f"1.1700000000.{sequence}"
        one = {"number": number, "id": text, "homes": [2], "reason": "expired", "seconds_ago": seconds_ago}
        self.losses.append(one)
        self.summary["losses"] = {"expired": number}

    def start_again(self) -> None:
        self.losses.clear()
        self.summary |= {"node": {"incarnation": 1_700_000_100}, "routes": {"version": 1}, "losses": {}}


def seen(daemon: Daemon, *changes: Any, trace: Trace | None = None) -> tuple[Watch, Trace]:
    """Looked at before, between and after the changes, at 1, 2, 3 s and so on."""
    trace = trace or Trace()
    watch = Watch(daemon, trace)  # type: ignore[arg-type]  # a node, as far as it is watched
    asyncio.run(watch.look(1.0))
    for now, change in enumerate(changes, start=2):
        change()
        asyncio.run(watch.look(float(now)))
    return watch, trace


def nothing() -> None:
    pass


def test_its_role_is_what_it_said_last() -> None:
    """Also when it does not answer any more."""
    daemon = Daemon()
    watch, _ = seen(daemon)
    assert (watch.is_broker, watch.broker) == (True, 3)
    daemon.summary["role"] = {"role": "regular", "broker": 2}
    asyncio.run(watch.look(2.0))
    daemon.is_up = False
    asyncio.run(watch.look(3.0))
    assert (watch.is_broker, watch.broker) == (False, 2)


def test_before_it_has_answered_nothing_is_known() -> None:
    """And nothing goes into the trace."""
    daemon = Daemon()
    daemon.is_up = False
    watch, trace = seen(daemon, nothing)
    assert watch.is_broker is None
    assert trace == Trace()


def test_a_change_of_routes_is_noted_at_both_ends_of_its_time() -> None:
    """It has happened somewhere between two looks; routes that did not change are none."""
    daemon = Daemon()
    _, trace = seen(daemon, nothing, lambda: daemon.summary["routes"].update(version=6), nothing)
    assert trace.reroutes == [Reroute(2.0, 3), Reroute(3.0, 3)]


def test_the_time_of_a_change_begins_when_it_last_answered() -> None:
    """A look without an answer sees nothing."""
    daemon = Daemon()

    def hang() -> None:
        daemon.is_up = False

    def wake() -> None:
        daemon.is_up = True
        daemon.summary["routes"]["version"] = 6

    _, trace = seen(daemon, hang, wake)
    assert trace.reroutes == [Reroute(1.0, 3), Reroute(3.0, 3)]


def test_the_routes_of_a_new_life_are_no_change() -> None:
    """It counts them from the start; the checkers know that it was down."""
    daemon = Daemon()
    _, trace = seen(daemon, daemon.start_again)
    assert trace.reroutes == []


def test_losses_are_entered_once_at_their_own_time() -> None:
    """As long ago as the daemon says, but not before the start, and the oldest first."""
    daemon = Daemon()

    def lose() -> None:
        daemon.lose(1, 9.0)
        daemon.lose(2, 0.5)

    _, trace = seen(daemon, lose, nothing)
    assert trace.losses == [
        RecordedLoss(0.0, 3, FIRST, (2,), "expired"),
        RecordedLoss(1.5, 3, SECOND, (2,), "expired"),
    ]


def test_the_losses_of_a_new_life_are_new() -> None:
    """Though their numbers are not."""
    daemon = Daemon()

    def again() -> None:
        daemon.start_again()
        daemon.lose(2, 0.0)

    _, trace = seen(daemon, lambda: daemon.lose(1, 0.0), again)
    assert [(row.t, row.event_id) for row in trace.losses] == [(2.0, FIRST), (3.0, SECOND)]


def test_a_daemon_that_lost_nothing_is_not_asked_for_losses() -> None:
    """A look is one page."""
    daemon = Daemon()
    seen(daemon, nothing)
    assert daemon.asked == ["", ""]


def test_a_snapshot_is_of_its_tables() -> None:
    """With what it has dropped; none of a daemon that does not answer."""
    daemon = Daemon()
    daemon.summary["drops"] = {"stale": 2}
    watch, trace = seen(daemon)
    filters = {2: frozenset({Filter.parse('subject = "a"')})}
    wanted = Snapshot(7.0, 3, is_broker=True, fmt=filters, met={FIRST: frozenset({2, 4})}, sizes={"met": (2, 100)})
    assert asyncio.run(watch.snapshot(7.0)) == wanted
    assert trace.drops == {(3, "stale"): 2}
    daemon.is_up = False
    assert asyncio.run(watch.snapshot(8.0)) is None


def test_what_it_sent_over_its_tree_is_entered_at_the_end() -> None:
    """Of the life that it is in, by what was said."""
    daemon = Daemon()
    daemon.summary["routing"] = {"mode": "tree", "sent": {"refresh": 3, "subscribe": 1}}
    watch, trace = seen(daemon)
    asyncio.run(watch.snapshot(7.0))
    assert trace.messages == {"refresh": 3, "subscribe": 1}


def test_rows_of_many_nodes_are_put_in_order() -> None:
    """Of time."""
    rows = [Reroute(3.0, 1), Reroute(1.0, 2)]
    losses = [RecordedLoss(2.0, 1, FIRST, (), "x"), RecordedLoss(1.0, 2, FIRST, (), "x")]
    trace = Trace(reroutes=rows[:], losses=losses[:])
    in_order(trace)
    assert (trace.reroutes, trace.losses) == (rows[::-1], losses[::-1])
