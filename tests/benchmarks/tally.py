"""Counters that the processes of one load run share: what was published, what each subscriber has got, how late it was.

They live in a file that every process maps, so that counting costs a store into memory and no message. The publisher
reads them to keep what is under way within a window, which makes the run loss-free for every system alike.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

WORD = 8
LINE = 8
"""Words from one counter to the next: a cache line each, so that no process slows another by counting."""
_PUBLISHED, _OPEN, _FORGIVEN, _SUBSCRIBERS, _CONNECTED = range(0, 5 * LINE, LINE)
_FIRST_READY = 5 * LINE


class Tally:
    """The counters of one run; `create` makes the file, `Tally(path)` maps it in another process."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self.words = memoryview(self._map).cast("Q")
        """For those who count in a tight loop; the counter of subscriber `n` is the word `place(n)`."""
        self.subscribers = self.words[_SUBSCRIBERS]
        self._counters = tuple(map(self.place, range(self.subscribers)))
        self.samples_at = self.place(self.subscribers)
        """The word at which latencies begin, in nanoseconds, in the order in which the messages came."""

    @classmethod
    def create(cls, path: Path, subscribers: int, samples: int) -> Self:
        words = bytearray(WORD * (_FIRST_READY + LINE * 2 * (subscribers + 1) + samples))
        memoryview(words).cast("Q")[_SUBSCRIBERS] = subscribers
        path.write_bytes(words)
        return cls(path)

    def place(self, subscriber: int) -> int:
        return _FIRST_READY + LINE * (2 * subscriber + 1)

    def subscribed(self, subscriber: int) -> None:
        """From here on, this subscriber gets everything."""
        self.words[self.place(subscriber) - LINE] = 1

    def connected(self) -> None:
        """From here on, the publisher publishes whenever it is its turn."""
        self.words[_CONNECTED] = 1

    @property
    def are_ready(self) -> bool:
        """Whether all have subscribed and the publisher is there."""
        return bool(self.words[_CONNECTED]) and all(self.words[place - LINE] for place in self._counters)

    @property
    def published(self) -> int:
        return self.words[_PUBLISHED]

    @published.setter
    def published(self, count: int) -> None:
        self.words[_PUBLISHED] = count

    def delivered(self) -> list[int]:
        """What each subscriber has got."""
        return [self.words[place] for place in self._counters]

    def under_way(self) -> int:
        """What was published and has not reached the slowest subscriber, but may."""
        return self.published - min(self.delivered()) - self.words[_FORGIVEN]

    def forgive(self) -> None:
        """What is under way now will not arrive any more: go on without it."""
        self.words[_FORGIVEN] += self.under_way()

    def lost(self) -> int:
        """Deliveries that are missing, once nothing is under way."""
        return self.subscribers * self.published - sum(self.delivered())

    @property
    def is_open(self) -> bool:
        """Whether the publisher is to publish."""
        return self.words[_OPEN] != 0

    def open(self) -> None:
        self.words[_OPEN] = 1

    def close(self) -> None:
        self.words[_OPEN] = 0

    def samples(self) -> list[int]:
        """The latencies of what the only subscriber has got, in nanoseconds."""
        return self.words[self.samples_at : self.samples_at + self.delivered()[0]].tolist()
