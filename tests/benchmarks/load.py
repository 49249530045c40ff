"""What the load generators of all systems have in common: the task on their command line, and the rhythm of publishing.

A publisher at full load sends in bursts as long as no more than WINDOW messages are under way; at a rate it sends one
message at a time. Every message is PAYLOAD bytes, the first eight of which are the time at which it was published.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.tally import Tally

PAYLOAD = 64
STAMP = 8
WINDOW = 3000
"""Messages under way: less than any of the brokers drops at, enough to keep one busy."""
BURST = 50
PAUSE = 0.0005
"""Seconds a publisher waits for room in the window."""
IDLE = 0.02
"""Seconds between two looks at whether it is a publisher's turn."""
TOPIC = "bench/load"
_PADDING = bytes(PAYLOAD - STAMP)


class Task(NamedTuple):
    """What one process of a run is to do. `subscriber` is None for the publisher; `rate` 0 means at full load."""

    port: int
    tally: Path
    qos: int
    rate: int
    subscriber: int | None

    def arguments(self) -> list[str]:
        words = ["--port", str(self.port), "--tally", str(self.tally), "--qos", str(self.qos), "--rate", str(self.rate)]
        return words if self.subscriber is None else [*words, "--subscriber", str(self.subscriber)]

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> Self:
        """The task that a command line states, that of this process if none is given."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--tally", type=Path, required=True)
        parser.add_argument("--qos", type=int, required=True)
        parser.add_argument("--rate", type=int, required=True)
        parser.add_argument("--subscriber", type=int)
        return cls(**vars(parser.parse_args(arguments)))


def stamped() -> bytes:
    """A payload published now."""
    return time.monotonic_ns().to_bytes(STAMP, "little") + _PADDING


def rhythm(tally: Tally, rate: int) -> Iterator[tuple[int, float]]:
    """How many messages to publish now and how many seconds to wait then, without an end."""
    turns = _paced(tally, rate) if rate else _windowed(tally)
    while True:
        yield next(turns) if tally.is_open else (0, IDLE)


def _paced(tally: Tally, rate: int) -> Iterator[tuple[int, float]]:
    due = time.monotonic()
    while True:
        due = max(due + 1 / rate, time.monotonic())
        tally.published += 1
        yield 1, max(0.0, due - time.monotonic())


def _windowed(tally: Tally) -> Iterator[tuple[int, float]]:
    while True:
        if tally.under_way() > WINDOW - BURST:
            yield 0, PAUSE
        else:
            tally.published += BURST
            yield BURST, 0


def counter(tally: Tally, subscriber: int) -> Callable[[], None]:
    """What a subscriber at full load calls for each message."""
    words, place = tally.words, tally.place(subscriber)
    count = 0

    def arrived() -> None:
        nonlocal count
        count += 1
        words[place] = count

    return arrived


def timer(tally: Tally, subscriber: int) -> Callable[[bytes], None]:
    """What a subscriber that measures latency calls with each payload."""
    words, at, arrived = tally.words, tally.samples_at, counter(tally, subscriber)
    room = len(words) - at
    clock = time.monotonic_ns
    count = 0

    def came(payload: bytes) -> None:
        nonlocal count
        if count < room:
            words[at + count] = clock() - int.from_bytes(payload[:STAMP], "little")
            count += 1
            arrived()

    return came
