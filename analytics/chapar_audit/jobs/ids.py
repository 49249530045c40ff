"""Filter ids: 32-bit hashes of subject, content, sender, type and group that a filter asks for, 0 where it does not.

The content stands for all conditions on attributes; which events satisfy them, an id does not tell.
"""

from __future__ import annotations

import mmh3

ELEMENT = 4
"""Bytes of a hash."""
NOTHING = bytes(ELEMENT)


def class_of(filter_id: bytes) -> bytes:
    """Filters that ask for the same subject and type, whatever else they ask for."""
    return filter_id[:ELEMENT] + filter_id[3 * ELEMENT : 4 * ELEMENT]


def element(text: str) -> bytes:
    return int(mmh3.hash(text.encode(), signed=False) or 1).to_bytes(ELEMENT, "big")


def sender(node: int) -> bytes:
    """What a filter asks for that wants the events of this node."""
    return (mmh3.hash(node.to_bytes(2, "big"), signed=False) or 1).to_bytes(ELEMENT, "big")


def is_plain(filter_id: bytes) -> bool:
    """Whether it asks for a subject at most."""
    return not any(filter_id[ELEMENT:])


def asks_for(filter_id: bytes, subject: str | None) -> bool:
    """Whether events of this subject can match."""
    asked = filter_id[:ELEMENT]
    return asked == NOTHING or (subject is not None and asked == element(subject))
