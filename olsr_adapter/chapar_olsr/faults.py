"""What can be wrong with what a routing daemon says: each kind is counted, told now and then, and ignored.

Whoever can send us bytes chooses how often this happens, so a fault costs a counter, and a line in the log once per
kind and `TOLD_EVERY`.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

TOLD_EVERY: Final = 60.0
"""Seconds between two lines about one kind of fault."""
LONGEST_DETAIL: Final = 200
"""Characters that are told of one fault."""


class Fault(StrEnum):
    """The kinds. They are label values of a metric: a name here outlives the code that counts it."""

    # An answer as a whole: it gives no view.
    UNREACHABLE = "unreachable"
    """No connection, or one that broke or stalled."""
    TRUNCATED = "truncated"
    """It ended early."""
    TOO_LARGE = "too_large"
    NOT_HTTP = "not_http"
    """No HTTP answer, or a status other than 200."""
    CONTENT_TYPE = "content_type"
    SYNTAX = "syntax"
    """No JSON, or no line of the protocol that was expected."""
    MISSING = "missing"
    """A key that every known version has."""

    # One entry of an answer: the rest still counts.
    BAD_VALUE = "bad_value"
    """Of another type than expected, or an absurd number."""
    BAD_ADDRESS = "bad_address"
    OUTSIDE_PREFIX = "outside_prefix"
    """A host that is no node of this network."""
    DUPLICATE = "duplicate"
    """A destination that was there before."""
    LOOP = "loop"
    """A route to ourselves, or over somebody who is no neighbour."""

    # An OLSR packet, or a message in it.
    PACKET_LENGTH = "packet_length"
    MESSAGE_LENGTH = "message_length"
    BAD_SEQUENCE = "bad_sequence"
    """Older than what is known (RFC 3626, 9.5)."""
    SPOOFED = "spoofed"
    """In our own name, or in the name of somebody it cannot come from."""
    FULL = "full"
    """One more than a table holds."""


class Faults:
    """The faults of one source since it was made."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self._told: dict[Fault, float] = {}
        self._detail: dict[Fault, str] = {}
        """The newest example of each kind that was not told yet."""

    def add(self, fault: Fault, detail: str = "") -> None:
        """Count one. `detail` is for a person: what was wrong, shortly."""
        self.counts[fault] += 1
        self._detail[fault] = detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]}…"

    def news(self, now: float) -> list[tuple[Fault, int, str]]:
        """What to log now: each kind with its count so far and an example, once per `TOLD_EVERY`."""
        due = [each for each in self._detail if now - self._told.get(each, -TOLD_EVERY) >= TOLD_EVERY]
        self._told.update(dict.fromkeys(due, now))
        return [(each, self.counts[each], self._detail.pop(each)) for each in due]
