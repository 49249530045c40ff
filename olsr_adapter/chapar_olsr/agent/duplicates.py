"""The duplicate set (RFC 3626, 3.4): which messages were read and relayed already.

A sender can make up any number of messages, so the set is bounded: the oldest goes first, and at worst a message that
was seen long ago is relayed once more.
"""

from __future__ import annotations

from typing import Final

from chapar_olsr.agent.config import DUPLICATE_HOLD
from chapar_olsr.agent.expiring import Expiring

MAX_DUPLICATES: Final = 16_384
"""Messages remembered: 500 nodes that each say one thing a second, for the hold time."""


class Duplicates:
    """Messages by originator and sequence number: whether each was relayed, and where it came in."""

    def __init__(self, limit: int = MAX_DUPLICATES) -> None:
        self._seen: Expiring[tuple[int, int], tuple[bool, frozenset[int]]] = Expiring(limit)

    def __len__(self) -> int:
        return len(self._seen)

    def is_read(self, originator: int, sequence: int) -> bool:
        """Whether the message was read before."""
        return (originator, sequence) in self._seen

    def may_relay(self, originator: int, sequence: int, interface: int) -> bool:
        """3.4.1, step 2: not relayed yet, and not considered before on this interface."""
        seen = self._seen.get((originator, sequence))
        return seen is None or (not seen[0] and interface not in seen[1])

    def note(self, originator: int, sequence: int, interface: int, *, relayed: bool, now: float) -> None:
        """3.4.1, step 5."""
        key = (originator, sequence)
        seen = self._seen.get(key)
        was_relayed, interfaces = seen if seen is not None else (False, frozenset())
        entry = (was_relayed or relayed, interfaces | {interface})
        if self._seen.put(key, entry, now + DUPLICATE_HOLD) is None:
            oldest = self._seen.oldest()
            assert oldest is not None, "a full set has an oldest entry"
            self._seen.remove([oldest])
            self._seen.put(key, entry, now + DUPLICATE_HOLD)

    def expire(self, now: float) -> None:
        self._seen.expire(now)

    @property
    def deadline(self) -> float:
        return self._seen.deadline
