"""What keeps the comparison of brokers fair: a window that no publisher exceeds, and counters that processes share."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from benchmarks.load import BURST, PAYLOAD, WINDOW, Task, counter, rhythm, stamped, timer
from benchmarks.tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

TURNS = 10 * WINDOW // BURST


def published_in(tally: Tally, turns: int) -> int:
    return sum(count for count, _ in islice(rhythm(tally, 0), turns))


def test_a_publisher_stays_within_the_window(tmp_path: Path) -> None:
    """Without deliveries it publishes one window and then waits; the slowest subscriber alone makes room again."""
    tally = Tally.create(tmp_path / "tally", 2, 0)
    tally.open()
    assert published_in(tally, TURNS) == tally.published == WINDOW
    fast, slow = counter(tally, 0), counter(tally, 1)
    for _ in range(WINDOW):
        fast()
    assert published_in(tally, TURNS) == 0
    for _ in range(BURST):
        slow()
    assert published_in(tally, TURNS) == BURST


def test_a_publisher_that_waits_for_room_gives_way(tmp_path: Path) -> None:
    """With the window full, every turn is a pause, so that the others get the processor."""
    tally = Tally.create(tmp_path / "tally", 1, 0)
    tally.open()
    published_in(tally, TURNS)
    assert all(count == 0 and pause > 0 for count, pause in islice(rhythm(tally, 0), 5))


def test_nothing_is_published_out_of_turn(tmp_path: Path) -> None:
    """A tally that is closed, before or in the middle, stops full load and single messages alike."""
    tally = Tally.create(tmp_path / "tally", 1, 0)
    for rate in (0, 1000):
        turns = rhythm(tally, rate)
        assert next(turns)[0] == 0
        tally.open()
        assert next(turns)[0] > 0
        tally.close()
        assert next(turns)[0] == 0


def test_at_a_rate_messages_go_one_at_a_time(tmp_path: Path) -> None:
    """Each turn is one message, and a pause no longer than the rate allows."""
    tally = Tally.create(tmp_path / "tally", 1, 0)
    tally.open()
    turns = list(islice(rhythm(tally, 10), 3))
    assert [count for count, _ in turns] == [1, 1, 1]
    assert all(0 <= pause <= 0.1 * len(turns) for _, pause in turns)


def test_processes_share_the_counters(tmp_path: Path) -> None:
    """What one maps and counts, another sees: deliveries, readiness, the gate."""
    here = Tally.create(tmp_path / "tally", 2, 0)
    there = Tally(tmp_path / "tally")
    counter(there, 1)()
    there.connected()
    there.subscribed(0)
    assert (here.delivered(), here.are_ready) == ([0, 1], False)
    there.subscribed(1)
    here.open()
    assert (here.are_ready, there.is_open) == (True, True)


def test_what_is_lost_is_counted_and_not_waited_for(tmp_path: Path) -> None:
    """Deliveries that are missing count for each subscriber, and a run goes on without them."""
    tally = Tally.create(tmp_path / "tally", 2, 0)
    tally.published = 10
    first = counter(tally, 0)
    for _ in range(7):
        first()
    assert tally.under_way() == 10
    tally.forgive()
    assert (tally.under_way(), tally.lost()) == (0, 13)


def test_latency_is_the_time_since_the_payload_was_made(tmp_path: Path) -> None:
    """Samples are nanoseconds, one for each message, and end where the room for them does."""
    tally = Tally.create(tmp_path / "tally", 1, 2)
    came = timer(tally, 0)
    began = time.monotonic_ns()
    payload = stamped()
    room = len(tally.words) - tally.samples_at
    for _ in range(room + 5):
        came(payload)
    elapsed = time.monotonic_ns() - began
    samples = tally.samples()
    assert len(payload) == PAYLOAD
    assert len(samples) == room
    assert all(0 < sample <= elapsed for sample in samples)


def test_a_task_survives_the_command_line(tmp_path: Path) -> None:
    """Every field that a process needs is among its arguments; a publisher is told from the first subscriber."""
    publisher = Task(1883, tmp_path, 1, 1000, None)
    first = publisher._replace(subscriber=0)
    assert Task.parse(publisher.arguments()) == publisher
    assert Task.parse(first.arguments()) == first
