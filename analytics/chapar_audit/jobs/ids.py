"""Filter ids: 32-bit hashes of subject, content, sender, type and group that a filter asks for, 0 where it does not.

The content stands for all conditions on attributes; which events satisfy them, an id does not tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def may_cover(filter_ids: Iterable[bytes]) -> bool:
    """Whether any of these filters may cover another: those that ask for one subject, or any whatever the subject."""
    subjects = [filter_id[:ELEMENT] for filter_id in filter_ids]
    return len(subjects) > 1 and (NOTHING in subjects or len(set(subjects)) < len(subjects))


def asks_for(filter_id: bytes, subject: str | None) -> bool:
    """Whether events of this subject can match."""
    asked = filter_id[:ELEMENT]
    return asked == NOTHING or (subject is not None and asked == element(subject))
