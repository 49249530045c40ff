"""Every error Chapar raises, and whose mistake each one is.

    ChaparError
    ├── EventError   (ValueError)  our caller built an event that cannot exist
    ├── FilterError  (ValueError)  our caller wrote a filter that means nothing
    └── WireError                  a peer sent bytes that are not the protocol

The first two carry one line for a person: where it went wrong and what to write instead. The last one is counted
under its `reason` and the bytes are dropped; nobody is there to read a sentence.
"""

from __future__ import annotations

from enum import StrEnum


class ChaparError(Exception):
    """Base of all errors raised by Chapar."""


class EventError(ChaparError, ValueError):
    """Misuse: this event cannot exist."""


class FilterError(ChaparError, ValueError):
    """Misuse: this filter means nothing."""


class WireReason(StrEnum):
    """Why foreign bytes were refused: the label of a counter, so the set is small and fixed."""

    TRUNCATED = "truncated"
    OVERSIZED = "oversized"
    MALFORMED = "malformed"
    """Not msgpack at all."""
    VERSION = "version"
    KIND = "kind"
    SHAPE = "shape"
    """Wrong number of fields."""
    TYPE = "type"
    RANGE = "range"
    """Right type, forbidden value."""
    TRAILING = "trailing"
    UTF8 = "utf8"
    SENDER = "sender"
    """Frames of one datagram that name different senders."""


class WireError(ChaparError):
    """A peer's bytes are not the protocol. `reason` says how; `detail` is for whoever debugs that peer."""

    def __init__(self, reason: WireReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
